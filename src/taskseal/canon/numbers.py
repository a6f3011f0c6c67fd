"""JSON numbers: which tokens have a canonical form, and how a double is written.

Source: RFC 8785 section 3.2.2.3 (ECMAScript Number::toString), SPEC section 1.2.
"""

from __future__ import annotations

from taskseal.errors import Reason

MAX_SAFE_INTEGER = 2**53 - 1
"""The greatest integer that every reader of JSON keeps exact."""
MAX_PLAIN_DIGITS = 21
"""A double below 10^21 is written without an exponent."""
_EXPONENT_FROM = 10.0**MAX_PLAIN_DIGITS
# Below this the fast engine and ECMAScript lay zeros and exponents out differently.
_PLAIN_FROM = 1e-4
_SURE_DIGITS = 15
_MAX_INTEGER_CHARS = len(str(-MAX_SAFE_INTEGER))
_MIN_LEADING_ZEROS = -6
# More digits than this in an exponent decide by its sign alone: no text is long enough to
# bring such a number back into range with the zeros of its mantissa.
_EXPONENT_DIGITS = 18


class NumberRefused(Exception):
    """A number token that SPEC section 1.2 refuses; never leaves this room."""

    def __init__(self, code: Reason, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail)


def read_integer(token: str) -> int:
    """The value of a JSON number token without fraction and exponent; ``-0`` is 0.

    Raises:
        NumberRefused: ``integer_out_of_range`` outside ±(2^53−1), however long it is.
    """
    if len(token) <= _SURE_DIGITS:
        return int(token)
    if len(token) <= _MAX_INTEGER_CHARS:
        number = int(token)
        if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
            return number
    raise NumberRefused(Reason.INTEGER_OUT_OF_RANGE, "the integer lies outside ±(2^53−1)")


def read_fraction(token: str, exact: bool) -> int | float:
    """The value of a JSON number token with a fraction or an exponent.

    An integral value below 2^53 in magnitude becomes an ``int``.

    Args:
        token: the number as it stands in the text.
        exact: also refuse integral values whose canonical form would not be read back.

    Raises:
        NumberRefused: ``number_out_of_range`` when no finite double is near,
            ``number_not_exact`` when the double is integral and the value is not,
            ``integer_out_of_range`` from 2^53 to below 10^21 in magnitude when ``exact``.
    """
    number = float(token)
    if not number.is_integer():
        if number - number != 0:
            raise NumberRefused(Reason.NUMBER_OUT_OF_RANGE, "the number has no finite double")
        return number
    digits, exponent = _decimal(token)
    if digits and exponent < 0:
        raise NumberRefused(
            Reason.NUMBER_NOT_EXACT, "the fraction is lost in a double: it becomes an integer"
        )
    if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
        return int(number)
    if exact and len(digits) + exponent <= MAX_PLAIN_DIGITS:
        raise NumberRefused(
            Reason.INTEGER_OUT_OF_RANGE,
            "the integral number lies between 2^53 and 10^21, where no integer is exact",
        )
    return number


def _decimal(token: str) -> tuple[str, int]:
    """Significant digits without outer zeros, and the power of ten of the last one."""
    mantissa, _, power = token.lower().lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    magnitude = power.lstrip("+-0")
    shift = int(magnitude or "0") if len(magnitude) <= _EXPONENT_DIGITS else 10**_EXPONENT_DIGITS
    if power.startswith("-"):
        shift = -shift
    return significant, shift - len(fraction) + len(digits) - len(significant)


def is_plain(number: float) -> bool:
    """Whether the fast engine writes ``number`` exactly as RFC 8785 does."""
    return not number.is_integer() and abs(number) >= _PLAIN_FROM and number - number == 0


def is_large_integral(number: float) -> bool:
    """Whether ``number`` is an integral double from 2^53 to below 10^21 in magnitude."""
    magnitude = abs(number)
    return MAX_SAFE_INTEGER < magnitude < _EXPONENT_FROM


def write_float(number: float) -> str:
    """A finite double as ECMAScript writes it; both zeros are ``0``."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    # repr gives the shortest digits that read back, and the nearest of several such: the
    # very digits that ECMAScript asks for. Only their layout differs.
    mantissa, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(power or "0")
    digits = digits.rstrip("0")
    if len(digits) <= point <= MAX_PLAIN_DIGITS:
        return sign + digits.ljust(point, "0")
    if 0 < point <= MAX_PLAIN_DIGITS:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if _MIN_LEADING_ZEROS < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"

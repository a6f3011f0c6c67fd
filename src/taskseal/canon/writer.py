"""Two engines that write checked values in canonical form: orjson, and a careful one of ours.

orjson is used where its bytes are proven to be those of RFC 8785; such a value is called
*plain*. It has no integral float, none below 1e-4 in magnitude, and no object whose names
the order by code point sorts otherwise than the order by UTF-16 code unit.

Source: RFC 8785 section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any

import orjson

from taskseal.canon.locate import MAX_DEPTH
from taskseal.canon.numbers import MAX_SAFE_INTEGER, write_float
from taskseal.canon.values import refusal

FAST_OPTIONS: int = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
"""What makes orjson's output RFC 8785 for plain values, and nothing else pass through it."""

Arrange = Callable[[Iterable[str]], list[str]]


def encode(value: object, *, plain: bool) -> bytes:
    """The RFC 8785 bytes of a value from :func:`taskseal.canon.strictjson.parse`, or a part.

    It is not checked again.

    Args:
        value: what ``parse`` gave.
        plain: what ``parse`` said of it.

    Raises:
        InputError: ``lone_surrogate`` and the like when ``value`` came from elsewhere.
    """
    if plain:
        try:
            return orjson.dumps(value, option=FAST_OPTIONS)
        except TypeError:
            raise refusal(value) from None
    return write(value)


def any_names_differ_in_order(value: object) -> bool:
    """Whether :func:`names_differ_in_order` holds for any object of a checked value."""
    pending = [value]
    while pending:
        item = pending.pop()
        if type(item) is dict:
            if names_differ_in_order(item):
                return True
            pending.extend(item.values())
        elif type(item) is list:
            pending.extend(item)
    return False


def names_differ_in_order(members: dict[str, Any]) -> bool:
    """Whether code points and UTF-16 code units may sort the names of one object apart.

    That takes both a character from U+E000 to U+FFFF and one beyond.
    """
    names = "".join(members)
    if names.isascii():
        return False
    return max(names) >= "\U00010000" and any("\ue000" <= mark <= "\uffff" for mark in names)


def by_code_unit(names: Iterable[str]) -> list[str]:
    """``names`` in the order of RFC 8785 section 3.2.3."""
    listed = list(names)
    if "".join(listed).isascii():
        return sorted(listed)
    return sorted(listed, key=_code_units)


def _code_units(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def write(value: object, arrange: Arrange = by_code_unit) -> bytes:
    """The careful engine: any checked value, with members in the order that ``arrange`` gives.

    Iterative, so that the caller's own stack does not matter.

    Raises:
        InputError: for what it meets in a value that was not checked; names are taken to be
            ``str``.
    """
    pieces: list[str] = []
    put = pieces.append
    enclosing: list[tuple[Iterator[tuple[str, Any]], str]] = []
    pending: Iterator[tuple[str, Any]] = iter((("", value),))
    closing = ""
    while True:
        for lead, item in pending:
            put(lead)
            kind = type(item)
            if kind is dict or kind is list:
                if len(enclosing) >= MAX_DEPTH:
                    raise refusal(value)
                enclosing.append((pending, closing))
                if kind is dict:
                    put("{")
                    pending, closing = _members(item, arrange), "}"
                else:
                    put("[")
                    pending, closing = _elements(item), "]"
                break
            text = _scalar(item)
            if text is None:
                raise refusal(value)
            put(text)
        else:
            put(closing)
            if not enclosing:
                break
            pending, closing = enclosing.pop()
    try:
        return "".join(pieces).encode("utf-8")
    except UnicodeEncodeError:
        raise refusal(value) from None


def _members(item: dict[str, Any], arrange: Arrange) -> Iterator[tuple[str, Any]]:
    comma = ""
    for name in arrange(item):
        yield f"{comma}{encode_basestring(name)}:", item[name]
        comma = ","


def _elements(item: list[Any]) -> Iterator[tuple[str, Any]]:
    comma = ""
    for element in item:
        yield comma, element
        comma = ","


def _scalar(item: Any) -> str | None:
    kind = type(item)
    if kind is str:
        return encode_basestring(item)
    if item is None:
        return "null"
    if kind is bool:
        return "true" if item else "false"
    if kind is int:
        return str(item) if -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER else None
    if kind is float:
        return write_float(item) if item - item == 0 else None
    return None

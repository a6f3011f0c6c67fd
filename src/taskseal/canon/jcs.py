"""The canonical bytes of a Python value or of a JSON text.

Source: RFC 8785 (JCS), SPEC section 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from taskseal.canon.locate import MAX_DEPTH
from taskseal.canon.numbers import MAX_SAFE_INTEGER, is_large_integral, is_plain
from taskseal.canon.strictjson import parse
from taskseal.canon.values import first_where, refusal
from taskseal.canon.writer import encode, names_differ_in_order
from taskseal.errors import InputError, Reason

__all__ = ["canonicalise", "cross_check", "encode", "first_large_integral", "recanonicalise"]

_STRINGS = {str}


def canonicalise(value: object) -> bytes:
    """The RFC 8785 bytes of a Python value.

    Takes dict (with str names), list, str, int, float, bool and None, exactly these types.

    Raises:
        InputError: with the pointer: ``unsupported_type`` (any other type, subclasses
            included; the hint is the cure), ``integer_out_of_range`` (an int outside
            ±(2^53−1)), ``number_out_of_range`` (NaN, infinity), ``lone_surrogate``,
            ``nesting_too_deep`` (more than 128 open containers, or a cycle).
    """
    plain = _survey(value)
    if plain is None:
        raise refusal(value)
    return encode(value, plain=plain)


def recanonicalise(data: bytes) -> bytes:
    """The RFC 8785 bytes of one JSON text.

    Raises:
        InputError: as :func:`taskseal.canon.strictjson.parse` with ``exact=False``.
    """
    parsed = parse(data, exact=False)
    return bytes(data) if parsed.canonical else encode(parsed.value, plain=parsed.plain)


def cross_check(value: object) -> bytes:
    """The canonical bytes, after the reference engine ``rfc8785`` has given the same ones.

    Raises:
        InputError: as :func:`canonicalise`; ``engines_disagree`` when the reference gives
            other bytes or none at all.
    """
    ours = canonicalise(value)
    import rfc8785

    try:
        theirs = rfc8785.dumps(value)  # type: ignore[arg-type]
    except (ValueError, RecursionError) as error:
        raise InputError(
            Reason.ENGINES_DISAGREE, f"the reference engine gave up: {type(error).__name__}"
        ) from None
    if ours != theirs:
        raise InputError(Reason.ENGINES_DISAGREE)
    return ours


def first_large_integral(value: object) -> str | None:
    """The pointer of the first integral float from 2^53 to below 10^21, or None.

    Such a number prints, but what it prints is refused when it is read back, so that it
    must not be signed (SPEC section 1.2).
    """
    return first_where(value, lambda item: type(item) is float and is_large_integral(item))


def _survey(value: object) -> bool | None:
    """Whether the fast engine may write ``value``; None when the value is refused.

    Lone surrogates are left to the engines, which meet them anyway.
    """
    plain = True
    pending: list[Iterator[Any]] = [iter((value,))]
    while pending:
        for item in pending[-1]:
            kind = type(item)
            if kind is str or item is None or kind is bool:
                continue
            if kind is dict or kind is list:
                if len(pending) > MAX_DEPTH:
                    return None
                if kind is list:
                    pending.append(iter(item))
                    break
                if item and set(map(type, item)) != _STRINGS:
                    return None
                plain = plain and not names_differ_in_order(item)
                pending.append(iter(item.values()))
                break
            if kind is int:
                if not -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
                    return None
            elif kind is float:
                if not is_plain(item):
                    if item - item != 0:
                        return None
                    plain = False
            else:
                return None
        else:
            pending.pop()
    return plain

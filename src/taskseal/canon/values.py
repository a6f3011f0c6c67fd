"""Why a Python value has no canonical form, where, and what to do about it.

Like :mod:`.locate` for texts, this runs only when something was refused already.

Source: SPEC section 1.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from taskseal.canon.locate import MAX_DEPTH
from taskseal.canon.numbers import MAX_SAFE_INTEGER
from taskseal.canon.pointer import join
from taskseal.errors import InputError, Reason

_CURES = {
    "enum.Enum": "give its .value",
    "decimal.Decimal": "give str(value), or an int or a float if that is exact enough",
    "fractions.Fraction": "give str(value), or a float if that is exact enough",
    "uuid.UUID": "give str(value)",
    "datetime.date": "give RFC 3339 text such as 2026-09-01T08:35:00Z",
    "datetime.time": "give it as text",
    "datetime.timedelta": "give the number of seconds",
    "builtins.bytes": "give base64url or hexadecimal text",
    "builtins.bytearray": "give base64url or hexadecimal text",
    "builtins.memoryview": "give base64url or hexadecimal text",
    "builtins.tuple": "give list(value)",
    "builtins.set": "give sorted(value)",
    "builtins.frozenset": "give sorted(value)",
    "pathlib.PurePath": "give str(value)",
    "builtins.str": "give str(value): subclasses are not taken",
    "builtins.int": "give int(value): subclasses are not taken",
    "builtins.float": "give float(value): subclasses are not taken",
    "builtins.dict": "give dict(value): subclasses are not taken",
    "builtins.list": "give list(value): subclasses are not taken",
}


def refusal(value: object) -> InputError:
    """The first fault of ``value``, in the order in which its containers hold it."""
    for path, item in walk(value):
        found = _fault(item, len(path))
        if found is not None:
            code, detail, hint = found
            return InputError(code, detail, pointer=join(path), hint=hint)
    return InputError(Reason.UNSUPPORTED_TYPE, "the value changed while it was read", pointer="")


def first_where(value: object, test: Callable[[object], bool]) -> str | None:
    """The pointer of the first part of ``value`` that passes ``test``, or None."""
    for path, item in walk(value):
        if test(item):
            return join(path)
        if len(path) > MAX_DEPTH:
            return None
    return None


def walk(value: object) -> Iterator[tuple[list[str | int], object]]:
    """Every part of ``value`` with the tokens that lead there, outer parts first.

    The list of tokens is one and the same, changed in place. Iterative; a caller that stops
    at a path longer than :data:`MAX_DEPTH` is safe from cycles.
    """
    path: list[str | int] = []
    pending: list[Iterator[tuple[Any, Any]]] = [iter(((None, value),))]
    while pending:
        for token, item in pending[-1]:
            if len(pending) > 1:
                path[len(pending) - 2 :] = [token]
            yield path, item
            if type(item) is dict:
                pending.append(iter(item.items()))
                break
            if type(item) is list:
                pending.append(iter(enumerate(item)))
                break
        else:
            pending.pop()
            del path[max(len(pending) - 1, 0) :]


def _fault(item: Any, depth: int) -> tuple[Reason, str, str | None] | None:
    kind = type(item)
    if kind is str:
        return _text_fault(item)
    if item is None or kind is bool:
        return None
    if kind is int:
        if -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
            return None
        return Reason.INTEGER_OUT_OF_RANGE, "the integer lies outside ±(2^53−1)", None
    if kind is float:
        if item - item == 0:
            return None
        return Reason.NUMBER_OUT_OF_RANGE, f"{item} is not a JSON number", None
    if kind is dict or kind is list:
        if depth >= MAX_DEPTH:
            detail = f"more than {MAX_DEPTH} containers are open here"
            return Reason.NESTING_TOO_DEEP, detail, "flatten the value; a cycle cannot be written"
        return _names_fault(item) if kind is dict else None
    return Reason.UNSUPPORTED_TYPE, f"{kind.__name__} has no JSON type of its own", _cure(kind)


def _names_fault(item: dict[Any, Any]) -> tuple[Reason, str, str | None] | None:
    for name in item:
        if type(name) is not str:
            return (
                Reason.UNSUPPORTED_TYPE,
                f"a member name is of type {type(name).__name__}",
                "member names are str, exactly that type",
            )
        found = _text_fault(name)
        if found is not None:
            return found
    return None


def _text_fault(text: str) -> tuple[Reason, str, str | None] | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return Reason.LONE_SURROGATE, "half of a surrogate pair stands alone", None
    return None


def _cure(kind: type) -> str | None:
    # By the package: where a class stands within its own changes from one Python to the next.
    bases = {f"{base.__module__.partition('.')[0]}.{base.__qualname__}" for base in kind.__mro__}
    # The first in the table wins: an enumeration of strings is an enumeration first.
    return next((cure for base, cure in _CURES.items() if base in bases), None)

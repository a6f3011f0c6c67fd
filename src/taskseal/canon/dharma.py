"""How Dharma's own canonicaliser orders members, and where that is not RFC 8785.

It sorts names by a locale collation; the JavaScript object that it builds then moves names
that are array indices to the front, in numeric order. Within ASCII the order is exact. Names
with other characters are undecidable here, and names equal under the order are a tie, whose
order depends on how the object was built. An object with one member is always portable.

Source: SPEC section 1, "Dharma's real canonicaliser is not RFC 8785".
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from taskseal.canon.pointer import join
from taskseal.canon.values import walk
from taskseal.canon.writer import by_code_unit, write

Verdict = Literal["same", "differs", "undecidable"]

_ORDER = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
# From each ASCII character to its place in the order, written as a character so that whole
# names compare at once; upper case has the place of lower case, the rest is ignored.
_PLACES: dict[int, str | None] = {
    code: chr(_ORDER.index(chr(code).lower())) if chr(code).lower() in _ORDER else None
    for code in range(128)
}
# The second level, read only between names equal at the first: lower case before upper.
_CASES: dict[int, str | None] = {
    code: None if place is None else str(int(chr(code).isupper()))
    for code, place in _PLACES.items()
}
_MAX_INDEX = 2**32 - 2
_MAX_INDEX_DIGITS = len(str(_MAX_INDEX))


class Portability(NamedTuple):
    """Whether Dharma writes a value as RFC 8785 does.

    Args:
        verdict: ``same``; ``differs``, with ``form``; or ``undecidable`` (a name outside
            ASCII beside others, or a tie).
        form: Dharma's bytes when they are known and different, else None.
        pointer: the object that is the reason, None when ``same``.
        names: the two members of it that are the reason.
    """

    verdict: Verdict
    form: bytes | None
    pointer: str | None
    names: tuple[str, str] | None

    @property
    def said(self) -> str:
        """Why the two differ, or cannot be compared, in words."""
        names = " and ".join(repr(name[:60]) for name in self.names or ())
        return f"Dharma orders {names} in another way, or in none that is defined"


_SAME = Portability("same", None, None, None)


def portability(value: object) -> Portability:
    """Compares Dharma's form of ``value`` with RFC 8785.

    An undecidable object anywhere outweighs one that merely differs.

    Args:
        value: what the strict reader gave, or a value that was canonicalised before.
    """
    if not _suspects(value):
        return _SAME
    differing: Portability | None = None
    for path, item in walk(value):
        if type(item) is not dict or _orders_agree(item):
            continue
        pair = _undecidable(item)
        if pair is not None:
            return Portability("undecidable", None, join(path), pair)
        if differing is None:
            pair = _first_difference(item)
            if pair is not None:
                differing = Portability("differs", None, join(path), pair)
    if differing is None:
        return _SAME
    return differing._replace(form=write(value, _arrange))


def _suspects(value: object) -> bool:
    """Whether any object of ``value`` fails the quick test; keeps no paths."""
    pending = [value]
    while pending:
        item = pending.pop()
        if type(item) is dict:
            if not _orders_agree(item):
                return True
            pending.extend(item.values())
        elif type(item) is list:
            pending.extend(item)
    return False


def _orders_agree(members: dict[str, Any]) -> bool:
    """A quick proof that both orders agree on ``members``; False proves nothing.

    Among ASCII letters the collation is the order of the lower-cased names while these are
    distinct. Digits come before letters in both orders, and an underscore before letters;
    digits and underscores together do not agree, and a name that begins with a digit may be
    an array index.
    """
    if len(members) < 2:
        return True
    joined = "".join(members)
    if not joined.isascii():
        return False
    if not joined.isalpha() and not joined.replace("_", "").isalpha() and not joined.isalnum():
        return False
    names = sorted(members)
    if names[0] < ":":
        return False
    if joined.islower():
        return True
    lowered = [name.lower() for name in names]
    return lowered == sorted(lowered) and len(set(lowered)) == len(lowered)


def _undecidable(members: dict[str, Any]) -> tuple[str, str] | None:
    """Two names whose order is not known: one outside ASCII and another, or a tie."""
    names = by_code_unit(members)
    for name in names:
        if not name.isascii():
            other = next(each for each in names if each != name)
            return (name, other)
    named = _collated(name for name in names if _index(name) is None)
    for one, other in pairwise(named):
        if _rank(one) == _rank(other):
            return (one, other)
    return None


def _first_difference(members: dict[str, Any]) -> tuple[str, str] | None:
    """The two names that each order puts in the first place where they differ."""
    pairs = zip(by_code_unit(members), _arrange(members), strict=True)
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def _arrange(names: Iterable[str]) -> list[str]:
    """ASCII ``names`` as a JavaScript object holds them after the sort."""
    indices: list[tuple[int, str]] = []
    named: list[str] = []
    for name in names:
        index = _index(name)
        if index is None:
            named.append(name)
        else:
            indices.append((index, name))
    return [name for _, name in sorted(indices)] + _collated(named)


def _collated(names: Iterable[str]) -> list[str]:
    return sorted(names, key=_rank)


def _rank(name: str) -> tuple[str, str]:
    return name.translate(_PLACES), name.translate(_CASES)


def _index(name: str) -> int | None:
    """The array index that ``name`` is in canonical decimal, or None."""
    if not (name.isascii() and name.isdigit() and len(name) <= _MAX_INDEX_DIGITS):
        return None
    if name[0] == "0" and name != "0":
        return None
    index = int(name)
    return index if index <= _MAX_INDEX else None

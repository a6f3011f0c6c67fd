"""What a user's pattern may not hold, because the linear engine has none of it or means another.

The engine takes look-around and back-references for errors itself; named here are they too,
for a better sentence. The rest it would take with a meaning that ECMA-262 does not give.

Source: ECMA-262 section 22.2 (with the ``u`` flag); JSON Schema 2020-12, core section 6.4.
"""

from __future__ import annotations

import re

_LETTERS = "dDwWsSfnrtv"
_ESCAPE = re.compile(
    rf"\\(?:[{_LETTERS}]|c[A-Za-z]|x[0-9A-Fa-f]{{2}}|u[0-9A-Fa-f]{{4}}|u\{{[0-9A-Fa-f]+\}}"
    r"|[pP]\{[A-Za-z_=0-9]+\}|[!-/:;=?@\[-`{-~ ])"
)
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_GROUP = re.compile(r"\(\?(?::|<[A-Za-z_$])")
_REPEAT = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_CLASS_ONLY_HERE = ("[", "&&", "--", "~~")


def foreign(pattern: str) -> str | None:
    """What in ``pattern`` cannot be taken, as a sentence; None when all can."""
    at, repeated = 0, False
    while at < len(pattern):
        here = pattern[at]
        if here == "\\":
            found = _ESCAPE.match(pattern, at)
            if found is None:
                return _escape_fault(pattern[at : at + 2])
            at, repeated = found.end(), False
        elif here == "[":
            end, fault = _class(pattern, at + 1)
            if fault is not None:
                return fault
            at, repeated = end, False
        elif here == "(" and pattern.startswith("(?", at):
            if pattern.startswith(_LOOK_AROUND, at):
                return "look-around is not taken: patterns run on a linear engine"
            if _GROUP.match(pattern, at) is None:
                return f"{pattern[at : at + 4]!a} begins no group of ECMA-262"
            at, repeated = pattern.index("?", at) + 1, False
        else:
            repeat = _REPEAT.match(pattern, at)
            if repeat is None:
                at, repeated = at + 1, False
            elif repeated:
                return "a repetition is repeated; put it into a group"
            else:
                at, repeated = repeat.end(), True
                at += pattern.startswith("?", at)
    return None


def _class(pattern: str, at: int) -> tuple[int, str | None]:
    """Where the class that begins before ``at`` ends, or what in it cannot be taken."""
    if pattern.startswith(("]", "^]"), at):
        return at, "an empty class is not taken; escape the bracket if it is meant"
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\":
            found = _ESCAPE.match(pattern, at)
            if found is None:
                return at, _escape_fault(pattern[at : at + 2])
            at = found.end()
        elif pattern.startswith(_CLASS_ONLY_HERE, at):
            return at, f"escape {pattern[at]} in a class: engines differ in what it means there"
        else:
            at += 1
    return at + 1, None


def _escape_fault(escape: str) -> str:
    if escape[1:] and escape[1] in "123456789k":
        return "a back-reference is not taken: patterns run on a linear engine"
    if escape[1:] and escape[1] in "bB":
        return f"{escape} is not taken: engines differ in what a word is; spell its edge out"
    return f"{escape!a} is no escape that ECMA-262 and the engine both know"

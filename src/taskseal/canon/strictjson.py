"""The strict reader: one text, one value, or a refusal that names code, place and byte.

The fast way reads with orjson, writes the value again and proves from the two texts that
nothing was lost: they hold the same number of strings, so there were no duplicate members,
and no number in what was written needs care. A text that fails a proof is read with the
standard library's hooks; a refused one once more with :mod:`.locate`.

Source: RFC 8259, RFC 8785, SPEC section 1.2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

import orjson

from taskseal.canon import locate
from taskseal.canon.locate import MAX_DEPTH
from taskseal.canon.numbers import NumberRefused, is_plain, read_fraction, read_integer
from taskseal.canon.writer import FAST_OPTIONS, any_names_differ_in_order, write
from taskseal.errors import InputError, Reason

_NUMBER = re.compile(rb"-?[0-9][-+.0-9eE]*")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ASTRAL_LEADS = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")

# Cut down by these two, a text shows its numbers alone: brackets, colons and commas all
# become commas, digits, signs and letters go (but for e, s and u: true is "ue"), and a
# number with a fraction or an exponent is what is left between two commas. For a first look
# the e becomes a point too: only such a number begins with one.
_AS_COMMAS = bytes(ord(",") if byte in b"[]{}:" else byte for byte in range(256))
_AS_POINTS = _AS_COMMAS.replace(b"e", b".")
_CUT = b"0123456789+-_abcdfghijklmnopqrtvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FRACTION = re.compile(rb",(?:\.e?|e),")
_EXPONENT = re.compile(rb",\.?e,")
_INTEGRAL = re.compile(rb"\.0[],}]")
_TINY = b"0.0000"


class Parsed(NamedTuple):
    """A value that SPEC section 1.2 lets in.

    Args:
        value: dict, list, str, int, float, bool or None. Integral numbers below 2^53 are ints.
        canonical: the text received already is its RFC 8785 form.
        plain: the fast engine writes this value, and every part of it, as RFC 8785 does.
    """

    value: Any
    canonical: bool
    plain: bool


class _Refused(Exception):
    """The hooks met a duplicate member or a word that is no JSON."""

    def __init__(self, code: Reason) -> None:
        self.code = code


def parse(data: bytes, *, exact: bool = True, search: int | None = None) -> Parsed:
    """Reads one JSON text.

    Args:
        data: UTF-8, without a byte order mark.
        search: up to how many bytes of text a refusal may be searched for its place, which takes
            about a microsecond a byte; None for any length. A longer text is refused with its
            code alone: a stranger must not choose how long a receiver looks.
        exact: refuse integral numbers written with a fraction or an exponent from 2^53 to
            below 10^21, whose canonical form could not be read back. Signing and verifying
            do; only printing a canonical form does not.

    Raises:
        InputError: ``malformed_json``, ``not_utf8``, ``duplicate_member``, ``lone_surrogate``,
            ``number_not_exact``, ``number_out_of_range``, ``integer_out_of_range`` or
            ``nesting_too_deep``, with pointer and byte offset; ``unsupported_type`` when
            ``data`` is not bytes.
    """
    if type(data) is not bytes:
        data = as_bytes(data)
    refuse = _refuse if search is None or len(data) <= search else _refuse_unsearched
    try:
        value = orjson.loads(data)
        written = orjson.dumps(value, option=FAST_OPTIONS)
    except (ValueError, TypeError):
        refuse(data, exact)
    if _openings(written) > MAX_DEPTH and _depth(written) > MAX_DEPTH:
        refuse(data, exact)
    same = written == data
    if (same or _strings(written) == _strings(data)) and _numbers_are_plain(written):
        if written.isascii() or not (_mixes_planes(written) and any_names_differ_in_order(value)):
            return Parsed(value, same, True)
        return Parsed(value, write(value) == data, False)
    return _read_carefully(data, exact, refuse)


def as_bytes(data: object) -> bytes:
    """The bytes of anything that holds bytes.

    Raises:
        InputError: ``unsupported_type`` for everything else, text included.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise InputError(
        Reason.UNSUPPORTED_TYPE,
        f"JSON text comes as bytes, not as {type(data).__name__}",
        pointer="",
        hint="encode the text as UTF-8, or give a Python value to canonicalise",
    )


def _refuse(data: bytes, exact: bool) -> NoReturn:
    found = locate.refusal(data, exact)
    if found is None:
        # The two readers differ: whichever is right, the text is not safe to sign or trust.
        raise InputError(
            Reason.MALFORMED_JSON, "the readers do not agree on the text", pointer="", offset=0
        )
    raise found


def _refuse_unsearched(data: bytes, exact: bool) -> NoReturn:
    """Refuses with the code alone, as far as one pass of the standard library's reader tells it."""
    code, offset = Reason.MALFORMED_JSON, None
    try:
        text = data.decode("utf-8")
        json.loads(text, **_hooks(exact))
        # That reader takes what is deep, and halves of surrogate pairs; the fast one does not.
        code = Reason.NESTING_TOO_DEEP if _depth(data) > MAX_DEPTH else Reason.LONE_SURROGATE
    except UnicodeDecodeError as fault:
        code, offset = Reason.NOT_UTF8, fault.start
    except (NumberRefused, _Refused) as fault:
        code = fault.code
    except RecursionError:
        code = Reason.NESTING_TOO_DEEP
    except ValueError:
        code = Reason.NOT_UTF8 if data.startswith(b"\xef\xbb\xbf") else code
    raise InputError(code, offset=offset, hint="its place was not looked for in so long a text")


def _openings(written: bytes) -> int:
    # Replacing runs at the speed of memchr, counting does not.
    return len(written) - len(written.replace(b"[", b"").replace(b"{", b""))


def _depth(written: bytes) -> int:
    """The greatest number of open containers in a well-formed text."""
    brackets = b"".join(_unquoted(written).split(b'"')[::2]).translate(None, _NOT_BRACKETS)
    return max(accumulate(1 if mark in b"[{" else -1 for mark in brackets), default=0)


def _strings(text: bytes) -> int:
    """Twice the number of strings in a well-formed text.

    A reader that lets the last of two members win loses at least the name of the first, so
    that equal numbers before and after prove that there was no duplicate.
    """
    return _unquoted(text).count(b'"')


def _unquoted(text: bytes) -> bytes:
    """``text`` without the quotation marks inside strings."""
    if b"\\" not in text or b'\\"' not in text:
        return text
    return text.replace(b"\\\\", b"").replace(b'\\"', b"")


def _numbers_are_plain(written: bytes) -> bool:
    """Whether each number that the fast engine wrote is written as RFC 8785 asks.

    What a string holds may look like such a number; then the exact, slower look decides.
    """
    if written[0] in b"{[" and b",." not in written.translate(_AS_POINTS, _CUT):
        return True
    cut = written.translate(_AS_COMMAS, _CUT)
    if _FRACTION.search(cut) is None:
        return cut[:1] == b"," or written[:1] not in b"-0123456789"
    if _EXPONENT.search(cut) is None and _TINY not in written and _INTEGRAL.search(written) is None:
        return True
    outside = b" ".join(_unquoted(written).split(b'"')[::2])
    return all(
        is_plain(float(token))
        for token in _NUMBER.findall(outside)
        if b"." in token or b"e" in token
    )


def _mixes_planes(written: bytes) -> bool:
    """Whether characters from U+E000 to U+FFFF and characters beyond occur at all.

    If not, all names are in one order, whether by code point or by UTF-16 code unit.
    """
    return (b"\xee" in written or b"\xef" in written) and any(
        lead in written for lead in _ASTRAL_LEADS
    )


def _read_carefully(data: bytes, exact: bool, refuse: Callable[[bytes, bool], NoReturn]) -> Parsed:
    """Reads any other spelling of a text that orjson takes and that is not too deep."""
    fractions: list[int | float] = []
    try:
        value = json.loads(data.decode("utf-8"), **_hooks(exact, fractions))
    except (NumberRefused, _Refused, ValueError):
        refuse(data, exact)
    except RecursionError:
        # The text is not too deep; the caller's own stack leaves no room for it.
        raise InputError(
            Reason.NESTING_TOO_DEEP, "the call stack leaves no room to read this", pointer=""
        ) from None
    if all(type(number) is int or is_plain(number) for number in fractions):
        written = orjson.dumps(value, option=FAST_OPTIONS)
        if not _mixes_planes(written) or not any_names_differ_in_order(value):
            return Parsed(value, written == data, True)
    return Parsed(value, write(value) == data, False)


def _hooks(exact: bool, fractions: list[int | float] | None = None) -> dict[str, Any]:
    """What the standard library's reader asks at members, numbers and other words.

    Every number that had a fraction or an exponent is added to ``fractions``.
    """

    def fraction(token: str) -> int | float:
        number = read_fraction(token, exact)
        if fractions is not None:
            fractions.append(number)
        return number

    return {
        "object_pairs_hook": _members,
        "parse_float": fraction,
        "parse_int": read_integer,
        "parse_constant": _constant,
    }


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused(Reason.DUPLICATE_MEMBER)
    return members


def _constant(_: str) -> NoReturn:
    raise _Refused(Reason.MALFORMED_JSON)

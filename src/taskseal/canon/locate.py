"""The slow pass over a refused text: what is wrong, where, and at which byte.

It runs only when the fast pass has refused, is iterative (no text is deep enough to exhaust
a stack) and reads with its own scanner, so that it also checks the fast one in the tests.

Source: RFC 8259, SPEC section 1.2.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from taskseal.canon.numbers import NumberRefused, read_fraction, read_integer
from taskseal.canon.pointer import join
from taskseal.errors import InputError, Reason

MAX_DEPTH = 128
"""How many arrays and objects may be open at once."""

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
# The inside of a string as far as it is well-formed, surrogates in pairs only. In bounded
# steps, so that a string of any length takes no memory. Nothing is possessive here: the first
# releases of Python 3.11 match that wrongly.
_INSIDE = re.compile(
    r'(?:[^"\\\x00-\x1f]+|\\["\\/bfnrt]|\\u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2}'
    r"|[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})){0,4096}"
)
_SURROGATE = re.compile(r"\\u[Dd][89A-Fa-f][0-9A-Fa-f]{2}")
_BLANK = r"[ \t\n\r]*"
_INTEGER = r"-?(?:0|[1-9][0-9]{0,14})(?![0-9.eE])"
# What follows in an array, or one member that follows in an object, where nothing can be
# wrong with it: most of a text is passed over in a few steps.
_ELEMENTS = re.compile(
    rf'(?:,{_BLANK}(?:{_INTEGER}|true|false|null|"[^"\\\x00-\x1f,]*"){_BLANK}(?=[],])){{0,4096}}'
)
_MEMBER = re.compile(
    rf',{_BLANK}"([^"\\\x00-\x1f]*)"{_BLANK}:{_BLANK}'
    rf'(?:{_INTEGER}|true|false|null|"[^"\\\x00-\x1f]*"){_BLANK}(?=[}},])'
)
_WORDS = ("true", "false", "null")
_NOT_JSON = ("NaN", "Infinity", "-Infinity")


def refusal(data: bytes, exact: bool) -> InputError | None:
    """The first fault of ``data`` in text order, or None when SPEC section 1.2 takes it.

    Args:
        data: the text as received.
        exact: as for :func:`taskseal.canon.strictjson.parse`.
    """
    if data.startswith(_BOM):
        return InputError(
            Reason.NOT_UTF8,
            "the text begins with a byte order mark",
            pointer="",
            offset=0,
            hint="save the file as UTF-8 without a byte order mark",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return InputError(
            Reason.NOT_UTF8, f"not UTF-8: {error.reason}", pointer="", offset=error.start
        )
    try:
        _Scanner(text, exact).document()
    except InputError as error:
        return error
    return None


class _Open:
    """One open array or object: the token of its current element, and the names seen."""

    __slots__ = ("names", "token")

    def __init__(self, is_object: bool) -> None:
        self.names: set[str] | None = set() if is_object else None
        self.token: str | int | None = None if is_object else 0


class _Scanner:
    def __init__(self, text: str, exact: bool) -> None:
        self.text = text
        self.exact = exact
        self.at = 0
        self.stack: list[_Open] = []

    def document(self) -> None:
        self._space()
        self._value()
        while self.stack:
            self._space()
            self._continue()
        self._space()
        if self.at < len(self.text):
            self._malformed("something follows the end of the value")

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        if found is not None:
            self.at = found.end()

    def _value(self) -> None:
        """Reads a scalar, or opens a container and reads as far as its first element."""
        text, at = self.text, self.at
        first = text[at : at + 1]
        if first == '"':
            self._string()
        elif first in ("{", "["):
            self._open(first)
        elif first == "-" or "0" <= first <= "9":
            self._number()
        else:
            for word in _WORDS:
                if text.startswith(word, at):
                    self.at = at + len(word)
                    return
            self._no_value()

    def _no_value(self) -> NoReturn:
        for word in _NOT_JSON:
            if self.text.startswith(word, self.at):
                self._malformed(f"{word} is not JSON")
        if self.at >= len(self.text):
            self._malformed("the text ends where a value is due")
        self._malformed("a value is due here")

    def _open(self, bracket: str) -> None:
        if len(self.stack) >= MAX_DEPTH:
            self._fail(Reason.NESTING_TOO_DEEP, self.at, f"more than {MAX_DEPTH} are open here")
        self.at += 1
        self._space()
        closing = "}" if bracket == "{" else "]"
        if self.text.startswith(closing, self.at):
            self.at += 1
            return
        self.stack.append(_Open(bracket == "{"))
        self._element()

    def _element(self) -> None:
        """Reads the name, if there is one, and the start of the next element."""
        here = self.stack[-1]
        if here.names is not None:
            here.token = None
            start = self.at
            if not self.text.startswith('"', start):
                self._malformed("a member name is due here")
            name = self._string()
            if "\\" in name:
                name = json.loads(self.text[start : self.at])
            here.token = name
            if name in here.names:
                self._fail(Reason.DUPLICATE_MEMBER, start, "the name stands here again")
            here.names.add(name)
            self._space()
            if not self.text.startswith(":", self.at):
                self._malformed("a colon is due here")
            self.at += 1
            self._space()
        self._value()

    def _continue(self) -> None:
        """After an element: closes the container, or goes to the next element."""
        here = self.stack[-1]
        self._pass_over(here)
        mark = self.text[self.at : self.at + 1]
        if mark == ("]" if here.names is None else "}"):
            self.stack.pop()
            self.at += 1
            return
        if mark != ",":
            self._malformed("a comma or the end of the container is due here")
        self.at += 1
        self._space()
        if isinstance(here.token, int):
            here.token += 1
        self._element()

    def _pass_over(self, here: _Open) -> None:
        """Passes over elements or members that follow and are plainly well."""
        text, at = self.text, self.at
        if here.names is None:
            found = _ELEMENTS.match(text, at)
            if found is not None and isinstance(here.token, int):
                here.token += text.count(",", at, found.end())
                self.at = found.end()
            return
        found = _MEMBER.match(text, at)
        while found is not None and found[1] not in here.names:
            here.token = found[1]
            here.names.add(found[1])
            at = found.end()
            found = _MEMBER.match(text, at)
        self.at = at

    def _number(self) -> None:
        start = self.at
        found = _NUMBER.match(self.text, start)
        if found is None:
            self._no_value()
        try:
            if found[1]:
                read_fraction(found[0], self.exact)
            else:
                read_integer(found[0])
        except NumberRefused as error:
            self._fail(error.code, start, error.detail)
        self.at = found.end()

    def _string(self) -> str:
        """Passes over a string; gives what stands between the quotation marks, still escaped."""
        start = self.at + 1
        end, found = start, _INSIDE.match(self.text, start)
        while found is not None and found.end() > end:
            end = found.end()
            found = _INSIDE.match(self.text, end)
        if self.text.startswith('"', end):
            self.at = end + 1
            return self.text[start:end]
        self.at = end
        if end == len(self.text):
            self._malformed("the string does not end")
        if self.text[end] != "\\":
            self._malformed("a control character must be escaped")
        if _SURROGATE.match(self.text, end):
            self._fail(Reason.LONE_SURROGATE, end, "half of a surrogate pair stands alone")
        self._malformed("the escape is not one of JSON's")

    def _malformed(self, detail: str) -> NoReturn:
        self._fail(Reason.MALFORMED_JSON, self.at, detail)

    def _fail(self, code: Reason, at: int, detail: str) -> NoReturn:
        # A member whose name is not read yet has no pointer; its object has.
        tokens = [here.token for here in self.stack if here.token is not None]
        offset = len(self.text[:at].encode("utf-8"))
        raise InputError(code, detail, pointer=join(tokens), offset=offset)

"""JSON Pointers: escaping, joining, splitting and following them (RFC 6901)."""

from __future__ import annotations

import pytest

from taskseal.canon.pointer import MISSING, escape, join, resolve, split
from taskseal.errors import InputError, Reason

# RFC 6901 section 5.
DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_the_examples_of_the_rfc_resolve(pointer: str, expected: object) -> None:
    assert resolve(DOCUMENT, pointer) == expected


@pytest.mark.parametrize(
    "pointer",
    [
        *["/nothing", "/foo/2", "/foo/-", "/foo/-1", "/foo/01", "/foo/+1", "/foo/1.0", "/foo/١"],
        *["/ /x", "/foo/" + "9" * 5000, "/foo/bar", "//x"],
    ],
)
def test_what_is_not_there_gives_the_default(pointer: str) -> None:
    assert resolve(DOCUMENT, pointer) is MISSING
    assert resolve(DOCUMENT, pointer, default=None) is None


def test_a_null_is_not_missing() -> None:
    assert resolve({"a": None}, "/a") is None
    assert resolve({"a": None}, "/b") is MISSING


def test_escape_and_split_undo_each_other() -> None:
    tokens = ("~1", "/", "~", "", "a/~b", "0")
    assert split(join(tokens)) == tokens
    assert escape("~/") == "~0~1"
    assert join([]) == ""
    assert join(["a", 0, "b"]) == "/a/0/b"
    assert split("") == ()


@pytest.mark.parametrize("pointer", ["a", "a/b", "/~", "/~2", "/a~", "~0", "#/a", "/~~0"])
def test_a_malformed_pointer_is_a_usage_error(pointer: str) -> None:
    with pytest.raises(InputError) as caught:
        split(pointer)
    assert caught.value.code is Reason.USAGE
    assert "RFC 6901" in caught.value.hint

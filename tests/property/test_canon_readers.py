"""The fast reader and the slow one agree on which texts are refused, and nothing else escapes."""

from __future__ import annotations

import json
from typing import Any

import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from taskseal.canon import locate
from taskseal.canon.pointer import split
from taskseal.canon.strictjson import parse
from taskseal.canon.writer import encode
from taskseal.errors import InputError, Reason

PARTS: list[bytes] = [
    *[b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\n", b"\x00", b"\x1f", b"\x7f"],
    *[b"0", b"-0", b"1", b"-", b"+", b".", b"e", b"E", b"01", b"1.0", b"0.5", b"-0.0", b"5e-1"],
    *[b"1e5", b"1E400", b"1e-400", b"1e21", b"1e20", b"1e-7", b"0.00001", b"0.0001", b"123.456"],
    *[b"9007199254740991", b"9007199254740992", b"9007199254740991.0", b"9007199254740992.0"],
    *[b"9007199254740990.9", b"18446744073709551615", b"18446744073709551616", b"1" * 400],
    *[b"1" * 320 + b"e-319", b"0e" + b"9" * 30, b"1e-" + b"9" * 30, b"999999999999999999999.0"],
    *[b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity", b"nul", b"True"],
    *[b'"a"', b'"b"', b'"a":', b'"\\u0061":', b'"b":', b'"\\"":', b'""', b'"\\\\"', b'"\\\\\\""'],
    *[b'"1e5"', b'"[1.0,"', b'", 1.5,"', b'"\\ud83d\\ude00"', b'"\\ud83d"', b'"\\ude00"'],
    *[b'"\\u00e9"', b'"\\x"', b'"\\u12"', b'"\\/"', b"\xef\xbb\xbf", b"\xff", b"\xc0\x80"],
    *[b"\xed\xa0\x80", "é".encode(), "😀".encode(), "\ue000".encode(), "\u2028".encode()],
    *['"😀":'.encode(), '"\ue000":'.encode(), b"/**/", b"[[[[", b"]]]]", b'{"a":{"a":', b"}}"],
]
pieces = st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join)
numbers = st.from_regex(rb"\A-?[0-9]{1,25}(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?\Z")
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(), max_size=5),
)
names = st.sampled_from(["a", "b", "", '"', "é", "😀", "\ue000", "\\"])
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=15,
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A text that was well-formed once, with a few pieces put in, taken out or written over."""
    text = draw(documents.map(lambda value: json.dumps(value, ensure_ascii=False)))
    data = text.encode("utf-8", "surrogatepass")
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.integers(0, 4))
        data = data[:at] + draw(st.sampled_from([b"", *PARTS]) | numbers) + data[at + cut :]
    return data


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def agree(data: bytes) -> None:
    for exact in (True, False):
        slow = locate.refusal(data, exact)
        try:
            parsed = parse(data, exact=exact)
        except InputError as error:
            assert slow is not None, "only the fast reader refuses"
            assert (error.code, error.pointer, error.offset) == (
                *(slow.code, slow.pointer, slow.offset),
            )
            assert error.offset is not None and 0 <= error.offset <= len(data)
            assert error.pointer is not None
            split(error.pointer)
            continue
        assert slow is None, "only the slow reader refuses"
        plainly = json.loads(data, object_pairs_hook=members)
        written = encode(parsed.value, plain=parsed.plain)
        assert written == rfc8785.dumps(plainly)
        assert parsed.canonical == (written == data)


@settings(max_examples=600)
@given(mutated())
def test_the_readers_agree_on_mutated_texts(data: bytes) -> None:
    agree(data)


@settings(max_examples=400)
@given(pieces)
def test_the_readers_agree_on_anything_put_together(data: bytes) -> None:
    agree(data)


@settings(max_examples=200)
@given(numbers)
def test_the_readers_agree_on_numbers(number: bytes) -> None:
    agree(number)
    agree(b'{"n":[' + number + b"]}")


@settings(max_examples=150)
@given(st.binary(max_size=40))
def test_the_readers_agree_on_bytes(data: bytes) -> None:
    agree(data)


@settings(max_examples=100)
@given(st.integers(120, 136), st.lists(st.booleans(), min_size=136, max_size=136), st.booleans())
def test_the_readers_agree_on_depth(depth: int, kinds: list[bool], scalar: bool) -> None:
    openings = [b'{"a":' if kind else b"[" for kind in kinds[:depth]]
    closings = [b"}" if kind else b"]" for kind in reversed(kinds[:depth])]
    data = b"".join([*openings, b'"[{"' if scalar else b"{}", *closings])
    agree(data)
    open_at_once = depth + (not scalar)
    found = locate.refusal(data, True)
    assert (found is not None and found.code is Reason.NESTING_TOO_DEEP) == (open_at_once > 128)

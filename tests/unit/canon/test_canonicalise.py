"""Canonical bytes of Python values and of texts: what is written, what is refused and why."""

from __future__ import annotations

import enum
import sys
import types
from collections import OrderedDict, defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from taskseal.canon.jcs import (
    canonicalise,
    cross_check,
    encode,
    first_large_integral,
    recanonicalise,
)
from taskseal.canon.strictjson import parse
from taskseal.canon.writer import write
from taskseal.errors import InputError, Reason

R = Reason


PRINTS_ONLY = [1e20, 2.0**53, 123456789012345680000.0]
"""Integral doubles whose canonical form is refused when it is read back."""


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    ONE = 1


class Text(str):
    pass


class Count(int):
    pass


class Ratio(float):
    pass


class Items(list[Any]):
    pass


class Pair(NamedTuple):
    left: int


def refused(value: object) -> InputError:
    with pytest.raises(InputError) as caught:
        canonicalise(value)
    with pytest.raises(InputError) as checked:
        cross_check(value)
    assert checked.value.code is caught.value.code
    return caught.value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, b"null"),
        (True, b"true"),
        (False, b"false"),
        ([True, 1, False, 0], b"[true,1,false,0]"),
        ("", b'""'),
        ({}, b"{}"),
        ([], b"[]"),
        ([{}, [[]]], b"[{},[[]]]"),
        (-0.0, b"0"),
        (0.0, b"0"),
        (1.0, b"1"),
        (1e20, b"100000000000000000000"),
        (1e21, b"1e+21"),
        (9007199254740992.0, b"9007199254740992"),
        (2**53 - 1, b"9007199254740991"),
        (-(2**53) + 1, b"-9007199254740991"),
        (1e-6, b"0.000001"),
        (1e-7, b"1e-7"),
        (1.5e-7, b"1.5e-7"),
        (123456789012345680000.0, b"123456789012345680000"),
        (333333333.33333329, b"333333333.3333333"),
        (5e-324, b"5e-324"),
        (sys.float_info.max, b"1.7976931348623157e+308"),
        ({"b": 1, "a": 2}, b'{"a":2,"b":1}'),
        ({"": 1, "\u0000": 2}, b'{"":1,"\\u0000":2}'),
        ({"\u20ac": 1, "\r": 2, "1": 3, "\ufb33": 4, "\U0001f600": 5, "\x80": 6, "ö": 7},
         '{"\\r":2,"1":3,"\x80":6,"ö":7,"€":1,"😀":5,"\ufb33":4}'.encode()),
        ('\x00\x08\t\n\x0b\x0c\r\x1f"\\/\x7f\u2028\u2029é😀',
         '"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\"\\\\/\x7f\u2028\u2029é😀"'.encode()),
        ("e\u0301", '"e\u0301"'.encode()),
    ],
)  # fmt: skip
def test_a_value_has_one_form_in_every_engine(value: object, expected: bytes) -> None:
    assert canonicalise(value) == expected
    assert write(value) == expected
    assert cross_check(value) == expected
    if value not in PRINTS_ONLY:
        assert recanonicalise(expected) == expected


@pytest.mark.parametrize(
    ("value", "pointer", "cure"),
    [
        ({"a": [Decimal("1")]}, "/a/0", "str(value)"),
        ({"a": Fraction(1, 2)}, "/a", "str(value)"),
        ({"a": UUID(int=0)}, "/a", "str(value)"),
        ({"a": datetime.now(UTC)}, "/a", "RFC 3339"),
        ({"a": date.today()}, "/a", "RFC 3339"),
        ({"a": b"x"}, "/a", "base64url"),
        ({"a": bytearray(b"x")}, "/a", "base64url"),
        ([(1, 2)], "/0", "list(value)"),
        ([Pair(1)], "/0", "list(value)"),
        ([{1}], "/0", "sorted(value)"),
        ([frozenset()], "/0", "sorted(value)"),
        ([PurePosixPath("/")], "/0", "str(value)"),
        ([Colour.RED], "/0", ".value"),
        ([Size.ONE], "/0", ".value"),
        ([Text("x")], "/0", "str(value)"),
        ([Count(1)], "/0", "int(value)"),
        ([Ratio(1.5)], "/0", "float(value)"),
        ([OrderedDict(a=1)], "/0", "dict(value)"),
        ([defaultdict(list)], "/0", "dict(value)"),
        ([Items()], "/0", "list(value)"),
        ({"a/b": {"~": [types.MappingProxyType({})]}}, "/a~1b/~0/0", "convert it"),
        (object(), "", "convert it"),
        ([1j], "/0", "convert it"),
        ([...], "/0", "convert it"),
        ({"a": {1: 2}}, "/a", "member names"),
        ({"a": {None: 2}}, "/a", "member names"),
        ({"a": {True: 2}}, "/a", "member names"),
        ({"a": {Text("x"): 2}}, "/a", "member names"),
        ({"a": {"b": 1, Colour.RED: 2}}, "/a", "member names"),
        ({"a": {b"x": 2}}, "/a", "member names"),
    ],
)
def test_other_types_are_refused_with_the_place_and_the_cure(
    value: object, pointer: str, cure: str
) -> None:
    error = refused(value)
    assert (error.code, error.pointer) == (R.UNSUPPORTED_TYPE, pointer)
    assert cure in error.hint
    assert error.detail


@pytest.mark.parametrize(
    ("value", "code", "pointer"),
    [
        ([2**53], R.INTEGER_OUT_OF_RANGE, "/0"),
        ([-(2**53)], R.INTEGER_OUT_OF_RANGE, "/0"),
        ([10**5000], R.INTEGER_OUT_OF_RANGE, "/0"),
        ({"a": 1, "b": 2**64}, R.INTEGER_OUT_OF_RANGE, "/b"),
        ([float("nan")], R.NUMBER_OUT_OF_RANGE, "/0"),
        ([float("inf")], R.NUMBER_OUT_OF_RANGE, "/0"),
        ([1.0, -float("inf")], R.NUMBER_OUT_OF_RANGE, "/1"),
        ({"a": "\ud800"}, R.LONE_SURROGATE, "/a"),
        ({"a": ["x", "a\udfff"]}, R.LONE_SURROGATE, "/a/1"),
        ({"a": {"\udc00": 1}}, R.LONE_SURROGATE, "/a"),
        ({"a": {"\ud83d\ude00": 1}}, R.LONE_SURROGATE, "/a"),
        ([1.0, "\ud800"], R.LONE_SURROGATE, "/1"),
        ({"\ud800": 1.0}, R.LONE_SURROGATE, ""),
    ],
)
def test_what_json_cannot_hold_is_refused_with_the_place(
    value: object, code: Reason, pointer: str
) -> None:
    error = refused(value)
    assert (error.code, error.pointer) == (code, pointer)
    with pytest.raises(InputError) as again:
        write(value)
    assert (again.value.code, again.value.pointer) == (code, pointer)


def nested(depth: int, inner: object = 1) -> object:
    value = inner
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def test_128_open_containers_are_written_and_one_more_is_refused() -> None:
    deepest: object = nested(128)
    assert canonicalise(deepest) == write(deepest) == cross_check(deepest)
    error = refused(nested(129))
    assert error.code is R.NESTING_TOO_DEEP
    assert error.pointer is not None and error.pointer.count("/") == 128


def test_a_very_deep_value_and_a_cycle_are_refused() -> None:
    loop: list[object] = []
    loop.append({"self": loop, "again": loop})
    for value in (nested(100_000), loop, nested(100_000, float("nan"))):
        assert refused(value).code is R.NESTING_TOO_DEEP
        with pytest.raises(InputError) as caught:
            write(value)
        assert caught.value.code is R.NESTING_TOO_DEEP


def test_a_value_used_twice_is_no_cycle() -> None:
    shared = {"x": [1.5]}
    assert canonicalise([shared, shared]) == b'[{"x":[1.5]},{"x":[1.5]}]'


def test_the_argument_is_left_as_it_was() -> None:
    value = {"b": [1.0, -0.0], "a": {"z": 1, "y": 2}}
    canonicalise(value)
    assert list(value) == ["b", "a"]
    assert str(value["b"]) == "[1.0, -0.0]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b' {"b" : 1.0e0, "a": "\\u0041"} ', b'{"a":"A","b":1}'),
        (b"9007199254740992.0", b"9007199254740992"),
        (b"[-0, 0e1, -0.0]", b"[0,0,0]"),
        (b"1e20", b"100000000000000000000"),
        (b"1000000000000000000000.0", b"1e+21"),
        (b'{"\\ud83d\\ude00":1,"\\ue000":2}', '{"😀":1,"\ue000":2}'.encode()),
        ('{"\ue000":2,"😀":[1.5]}'.encode(), '{"😀":[1.5],"\ue000":2}'.encode()),
        (b'{"a":1}', b'{"a":1}'),
        (bytearray(b'{"a":1}'), b'{"a":1}'),
    ],
)
def test_a_text_is_written_again_in_canonical_form(text: bytes, expected: bytes) -> None:
    written = recanonicalise(text)
    assert written == expected
    assert type(written) is bytes


def test_the_canonical_form_of_a_large_integral_number_is_refused_when_read_back() -> None:
    written = recanonicalise(b"9007199254740992.0")
    with pytest.raises(InputError) as caught:
        recanonicalise(written)
    assert caught.value.code is R.INTEGER_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"a": [1, 2.0**53]}, "/a/1"),
        (-(2.0**53), ""),
        ([2.0**69], "/0"),
        ([1e21, 0.5, 2.0**53 - 1, {"a": 3}], None),
        ([999999999999999868928.0], "/0"),
        ({"a/b": {"c": [None, "x", 1e20]}}, "/a~1b/c/2"),
        ("9007199254740992.0", None),
    ],
)
def test_the_first_large_integral_float_is_found(value: object, pointer: str | None) -> None:
    assert first_large_integral(value) == pointer


def test_looking_for_a_large_integral_float_ends_in_a_cycle() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert first_large_integral(loop) is None


@pytest.mark.parametrize("data", [b'{"b":[1.5],"a":{"c":"x"}}', b'{"b":[1e-9],"a":{"c":"x"}}'])
def test_what_was_parsed_and_its_parts_are_encoded_without_another_check(data: bytes) -> None:
    parsed = parse(data)
    for part in (parsed.value, parsed.value["a"], parsed.value["b"]):
        assert encode(part, plain=parsed.plain) == canonicalise(part)


@pytest.mark.parametrize("plain", [True, False])
def test_encoding_what_was_never_parsed_still_gives_a_typed_error(plain: bool) -> None:
    with pytest.raises(InputError) as caught:
        encode({"a": ["\ud800"]}, plain=plain)
    assert (caught.value.code, caught.value.pointer) == (R.LONE_SURROGATE, "/a/0")


def recurse(value: object) -> bytes:
    return recurse(value)


@pytest.mark.parametrize(
    "reference",
    [
        lambda value: b"{}",
        lambda value: "\ud800".encode(),
        recurse,
    ],
    ids=["other bytes", "a bare UnicodeEncodeError", "RecursionError"],
)
def test_engines_that_disagree_refuse(reference: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import rfc8785

    monkeypatch.setattr(rfc8785, "dumps", reference)
    with pytest.raises(InputError) as caught:
        cross_check({"a": 1})
    assert caught.value.code is R.ENGINES_DISAGREE

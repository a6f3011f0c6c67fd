"""Canonical bytes: idempotent, blind to order, and the same from every engine."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taskseal.canon.jcs import canonicalise, cross_check, encode, recanonicalise
from taskseal.canon.numbers import write_float
from taskseal.canon.strictjson import parse
from taskseal.canon.writer import write

SAFE = 2**53 - 1
# Where the fast engine and the standard may part: planes, escapes, controls.
MARKS = '\x00\x08\t\n\x0c\r\x1f "\\/azAZ09_\x7f\x80é\u2028\u2029\ud7ff\ue000\ufb33\uffff\U00010000😀\U0010ffff'
texts = st.text(st.sampled_from(MARKS) | st.characters(exclude_categories=["Cs"]), max_size=8)
bits = st.integers(0, 2**64 - 1).map(lambda word: struct.unpack(">d", struct.pack(">Q", word))[0])
doubles = st.one_of(
    bits.filter(lambda number: number - number == 0),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**22), 10**22).map(float),
    st.sampled_from([0.0, -0.0, 1.0, 1e-4, 9.9e-5, 1e-6, 1e-7, 1e21, 1e20, 2.0**53, 2.0**53 - 1]),
)
scalars = st.none() | st.booleans() | st.integers(-SAFE, SAFE) | doubles | texts


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5)


values = st.recursive(scalars, nest, max_leaves=25)


def reads_back(value: object) -> bool:
    """Whether no integral double from 2^53 to below 10^21 is in it: such only print."""
    if isinstance(value, dict):
        return all(map(reads_back, value.values()))
    if isinstance(value, list):
        return all(map(reads_back, value))
    return not (isinstance(value, float) and SAFE < abs(value) < 1e21)


def shuffled(value: Any, seed: random.Random) -> Any:
    if isinstance(value, dict):
        members = list(value.items())
        seed.shuffle(members)
        return {name: shuffled(item, seed) for name, item in members}
    return [shuffled(item, seed) for item in value] if isinstance(value, list) else value


@settings(max_examples=200)
@given(values)
def test_all_engines_write_the_same_bytes(value: Any) -> None:
    expected = rfc8785.dumps(value)
    assert canonicalise(value) == write(value) == cross_check(value) == expected


@settings(max_examples=120)
@given(values, st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_show(value: Any, seed: random.Random) -> None:
    assert canonicalise(shuffled(value, seed)) == canonicalise(value)


@settings(max_examples=120)
@given(values.filter(reads_back))
def test_the_canonical_form_is_read_back_and_written_the_same(value: Any) -> None:
    data = canonicalise(value)
    parsed = parse(data)
    assert parsed.canonical
    assert encode(parsed.value, plain=parsed.plain) == data
    assert recanonicalise(data) == data
    assert canonicalise(parsed.value) == data
    assert parsed.value == json.loads(data)


@settings(max_examples=120)
@given(
    values.filter(reads_back),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r\n")]),
)
def test_every_spelling_of_a_value_has_the_same_canonical_form(
    value: Any, indent: int | None, escaped: bool, separators: tuple[str, str]
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=escaped, separators=separators).encode()
    parsed = parse(data)
    expected = canonicalise(value)
    assert encode(parsed.value, plain=parsed.plain) == expected
    assert write(parsed.value) == expected
    assert parsed.canonical == (data == expected)


@settings(max_examples=120)
@given(values.filter(reads_back))
def test_plain_holds_for_every_part(value: Any) -> None:
    parsed = parse(canonicalise(value))
    parts = [parsed.value]
    while parts:
        part = parts.pop()
        assert encode(part, plain=parsed.plain) == write(part)
        if isinstance(part, dict):
            parts.extend(part.values())
        elif isinstance(part, list):
            parts.extend(part)


@settings(max_examples=500)
@given(doubles)
@example(9007199254740993.0)
@example(4.35)
@example(1e23)
@example(9.5367431640625e-07)
def test_a_double_is_written_shortest_and_reads_back(number: float) -> None:
    text = write_float(number)
    assert float(text) == number
    assert text == rfc8785.dumps(number).decode()

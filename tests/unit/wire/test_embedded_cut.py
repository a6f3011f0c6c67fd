"""Cutting the signature out of a canonical text gives what writing it anew gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.wire.embedded import cut_out, without

NAMES = st.sampled_from(["a", "signature", "z", 'x"signature":"AA"', "Signature", "é"]) | st.text(
    max_size=6
)
TEXTS = st.binary(max_size=4).map(b64url_encode) | st.sampled_from(
    ['"signature":"AA"', ',"signature":"AA",', "", "AA"]
)
JSON = st.recursive(
    st.none() | st.integers(-3, 3) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, JSON, max_size=4), TEXTS)
def test_what_is_cut_is_what_is_written_anew(value: dict[str, Any], signature: str) -> None:
    whole = value | {"signature": signature}
    cut = cut_out(canonicalise(whole), whole, "/signature")
    assert cut is None or cut == canonicalise(without(whole, ("/signature",)))


def test_a_plain_text_is_cut_wherever_it_stands() -> None:
    for others in ({}, {"a": 1}, {"z": 1}, {"a": 1, "z": {"y": [2]}}):
        whole = others | {"signature": "AAAA"}
        assert cut_out(canonicalise(whole), whole, "/signature") == canonicalise(others)


def test_what_stands_twice_or_is_no_plain_text_is_left_to_the_writer() -> None:
    twice = {"a": {"signature": "AAAA"}, "signature": "AAAA"}
    for whole in (twice, {"signature": 'a"b'}, {"signature": None}, {"a": 1}):
        assert cut_out(canonicalise(whole), whole, "/signature") is None
    deep = {"proof": {"signature": "AAAA"}}
    assert cut_out(canonicalise(deep), deep, "/proof/signature") is None

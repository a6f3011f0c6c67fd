"""Public keys as did:key: read, written, and refused in any other spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskseal.errors import InputError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.private import PrivateKey
from taskseal.wire.base import Holder
from taskseal.wire.multikey import (
    base58_decode,
    base58_encode,
    holder_of,
    read_did,
    read_multikey,
    write_did,
    write_multikey,
)


@given(st.binary(max_size=80))
def test_base58_reads_what_it_writes(data: bytes) -> None:
    assert base58_decode(base58_encode(data)) == data


@given(st.text(max_size=40) | st.none() | st.integers())
def test_base58_never_raises_and_has_one_spelling(text: object) -> None:
    data = base58_decode(text)
    assert data is None or base58_encode(data) == text


@pytest.mark.parametrize("algorithm", [Algorithm.ED25519, Algorithm.P256])
def test_a_key_comes_back_from_its_did(algorithm: Algorithm) -> None:
    key = PrivateKey.generate(algorithm).public
    found = read_did(write_did(algorithm, key.raw))
    assert found == holder_of(algorithm, key.raw)
    assert found == read_multikey(write_multikey(algorithm, key.raw))
    assert len(found.point) == (32 if algorithm is Algorithm.ED25519 else 33)
    assert holder_of(algorithm, found.point) == found


def test_a_key_without_such_a_text_is_refused() -> None:
    key = PrivateKey.generate(Algorithm.MLDSA65).public
    with pytest.raises(InputError) as caught:
        write_multikey(key.algorithm, key.raw)
    assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, Reason.SIGNATURE_MALFORMED),
        ("", Reason.SIGNATURE_MALFORMED),
        ("z", Reason.SIGNATURE_MALFORMED),
        ("zz", Reason.SIGNATURE_MALFORMED),
        ("u7QEA", Reason.SIGNATURE_MALFORMED),
        (base58_encode(b"\xed\x01" + bytes(31)), Reason.SIGNATURE_MALFORMED),
        (base58_encode(b"\xed\x01" + bytes(33)), Reason.SIGNATURE_MALFORMED),
        (base58_encode(b"\x80\x24" + bytes(65)), Reason.SIGNATURE_MALFORMED),
        (base58_encode(b"\xec\x01" + bytes(32)), Reason.UNSUPPORTED_ALGORITHM),
        (base58_encode(b"\xe7\x01" + bytes(33)), Reason.UNSUPPORTED_ALGORITHM),
    ],
)
def test_what_is_no_key_has_its_reason(text: object, reason: Reason) -> None:
    with pytest.raises(InputError) as caught:
        read_multikey(text)
    assert caught.value.code is reason


@pytest.mark.parametrize("text", [None, "did:key:", "did:web:x", "key:z#z", "did:key:zab"])
def test_what_is_no_verification_method_is_malformed(text: object) -> None:
    with pytest.raises(InputError) as caught:
        read_did(text)
    assert caught.value.code is Reason.SIGNATURE_MALFORMED


def test_a_compressed_point_says_which_half_it_is_on() -> None:
    point = bytes(32) + bytes(31) + b"\x01"
    assert holder_of("ES256", b"\x04" + point) == Holder("ES256", b"\x03" + bytes(32))

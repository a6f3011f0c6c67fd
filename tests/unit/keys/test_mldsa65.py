"""ML-DSA-65: seeds in, hedged signatures out, and no key that anyone could sign for."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import mldsa

from taskseal.canon.encoding import b64url_encode
from taskseal.errors import MaterialError, Reason
from taskseal.keys import mldsa65
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.private import PrivateKey

SEED = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f00112233445566778899aabbccddeeff")
KEY = PrivateKey(SEED, Algorithm.MLDSA65)
RAW = KEY.public.raw
SIGNATURE = KEY.sign(b"m")


def test_a_key_has_1952_bytes_and_a_signature_3309() -> None:
    assert (len(RAW), len(SIGNATURE)) == (1952, 3309)
    assert KEY.public.verify(b"m", SIGNATURE)
    assert not KEY.public.verify(b"n", SIGNATURE)


def test_two_signatures_over_one_message_differ_and_both_verify() -> None:
    other = KEY.sign(b"m")
    assert other != SIGNATURE
    assert KEY.public.verify(b"m", other)


def test_a_changed_bit_of_the_signature_does_not_verify() -> None:
    """One bit of each stretch of 50 bytes, so of the hash, of z and of the hints."""
    for place in range(0, len(SIGNATURE), 50):
        changed = bytearray(SIGNATURE)
        changed[place] ^= 1 << place % 8
        assert not KEY.public.verify(b"m", bytes(changed))


@pytest.mark.parametrize("size", [0, 1, 64, 2420, 3308, 3310, 4627])
def test_a_signature_of_another_size_does_not_verify(size: int) -> None:
    assert not KEY.public.verify(b"m", (SIGNATURE * 2)[:size])


def test_bytes_moved_between_signature_and_message_do_not_verify() -> None:
    signature = KEY.sign(b"message")
    assert not KEY.public.verify(b"essage", signature + b"m")
    assert not KEY.public.verify(signature[-1:] + b"message", signature[:-1])


def test_a_signature_under_a_context_does_not_verify() -> None:
    held = mldsa.MLDSA65PrivateKey.from_seed_bytes(SEED)
    assert KEY.public.verify(b"m", held.sign(b"m"))
    assert not KEY.public.verify(b"m", held.sign(b"m", b"context"))


@pytest.mark.parametrize("head", [bytes(32), RAW[:32], b"\xff" * 32])
def test_a_key_whose_t1_is_zero_is_weak(head: bytes) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey(Algorithm.MLDSA65, head + bytes(1920))
    assert caught.value.code is Reason.WEAK_KEY


@pytest.mark.parametrize("size", [0, 32, 1312, 1951, 1953, 2592])
def test_another_size_is_malformed(size: int) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey(Algorithm.MLDSA65, (RAW * 2)[:size])
    assert caught.value.code is Reason.KEY_MALFORMED


@pytest.mark.parametrize("size", [0, 31, 33, 4032])
def test_a_private_half_is_the_seed_and_nothing_else(size: int) -> None:
    with pytest.raises(MaterialError) as caught:
        PrivateKey((SEED * 200)[:size], Algorithm.MLDSA65)
    assert caught.value.code is Reason.KEY_MALFORMED


def test_the_jwk_is_that_of_rfc_9964_and_comes_back() -> None:
    jwk = KEY.public.jwk()
    assert jwk == {"kty": "AKP", "alg": "ML-DSA-65", "pub": b64url_encode(RAW)}
    for more in ({}, {"use": "sig"}, {"kid": "k"}):
        assert PublicKey.from_jwk(jwk | more) == KEY.public


def test_the_thumbprint_covers_alg_kty_and_pub() -> None:
    """The same rule gives the kid that RFC 9964 prints for its ML-DSA-44 key."""
    text = json.dumps(KEY.public.jwk(), sort_keys=True, separators=(",", ":"))
    assert KEY.public.thumbprint == b64url_encode(sha256(text.encode()).digest())
    zeros = mldsa.MLDSA44PrivateKey.from_seed_bytes(bytes(32)).public_key().public_bytes_raw()
    printed = {"kty": "AKP", "alg": "ML-DSA-44", "pub": b64url_encode(zeros)}
    text = json.dumps(printed, sort_keys=True, separators=(",", ":"))
    kid = "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o"
    assert b64url_encode(sha256(text.encode()).digest()) == kid


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"alg": "ML-DSA-44"}, Reason.UNSUPPORTED_ALGORITHM, "/alg"),
        ({"alg": "ML-DSA-87"}, Reason.UNSUPPORTED_ALGORITHM, "/alg"),
        ({"alg": None}, Reason.KEY_MALFORMED, "/alg"),
        ({"alg": ["ML-DSA-65"]}, Reason.KEY_MALFORMED, "/alg"),
        ({"use": "enc"}, Reason.KEY_MALFORMED, "/use"),
        ({"pub": None}, Reason.KEY_MALFORMED, "/pub"),
        ({"pub": b64url_encode(RAW[:-1])}, Reason.KEY_MALFORMED, "/pub"),
        ({"pub": b64url_encode(RAW) + "="}, Reason.KEY_MALFORMED, "/pub"),
        ({"pub": b64url_encode(bytes(1952))}, Reason.WEAK_KEY, None),
        ({"priv": b64url_encode(SEED)}, Reason.KEY_MALFORMED, "/priv"),
        ({"d": b64url_encode(SEED)}, Reason.KEY_MALFORMED, "/d"),
    ],
)
def test_a_jwk_that_is_no_mldsa65_public_key_is_refused(
    change: dict[str, Any], code: Reason, pointer: str | None
) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey.from_jwk(KEY.public.jwk() | change)
    assert (caught.value.code, caught.value.pointer) == (code, pointer)
    assert b64url_encode(SEED) not in f"{caught.value} {caught.value.hint}"


def test_a_public_key_survives_a_pickle_and_a_private_one_shows_nothing() -> None:
    again = pickle.loads(pickle.dumps(KEY.public))
    assert again == KEY.public
    assert again.verify(b"m", SIGNATURE)
    shown = f"{KEY!r} {KEY}"
    assert KEY.public.thumbprint in shown
    assert SEED.hex()[:8] not in shown
    with pytest.raises(TypeError):
        pickle.dumps(KEY)


def lacking(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: bytes) -> None:
        raise UnsupportedAlgorithm("not here")

    monkeypatch.setattr(getattr(mldsa65, name), "from_seed_bytes", absent, raising=False)
    monkeypatch.setattr(getattr(mldsa65, name), "from_public_bytes", absent, raising=False)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("MLDSA65PrivateKey", lambda: PrivateKey(SEED, Algorithm.MLDSA65)),
        ("MLDSA65PublicKey", lambda: PublicKey(Algorithm.MLDSA65, RAW)),
    ],
)
def test_an_installation_without_the_algorithm_says_so(
    name: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(name, monkeypatch)
    with pytest.raises(MaterialError) as caught:
        use()
    assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM
    assert "cryptography" in caught.value.hint

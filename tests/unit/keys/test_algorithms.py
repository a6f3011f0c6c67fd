"""Ed25519 under one policy, and public keys that are sound or do not exist."""

from __future__ import annotations

import dataclasses
import pickle
from hashlib import sha512
from typing import Any

import pytest
from nacl.bindings import (
    crypto_core_ed25519_add,
    crypto_core_ed25519_scalar_add,
    crypto_core_ed25519_scalar_mul,
    crypto_core_ed25519_scalar_reduce,
    crypto_scalarmult_ed25519_base_noclamp,
)

from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey, named_algorithm
from taskseal.keys.private import PrivateKey

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
SEED = bytes(range(7, 39))
TORSION = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
"""A point of order eight."""
LOW_ORDER = {
    "identity": "01" + "00" * 31,
    "order two": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order four": "00" * 32,
    "order four, other sign": "00" * 31 + "80",
    "order eight a": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "order eight b": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "order eight c": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "order eight d": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
}


def wide(value: bytes) -> bytes:
    reduced: bytes = crypto_core_ed25519_scalar_reduce(value.ljust(64, b"\0"))
    return reduced


def forge(nonce_point: Any, message: bytes = b"m") -> bytes:
    """A signature whose R is ``nonce_point(r·B)`` and whose S fits the hash over that R."""
    digest = bytearray(sha512(SEED).digest()[:32])
    digest[0] &= 248
    digest[31] = digest[31] & 127 | 64
    secret = wide(bytes(digest))
    r = wide(sha512(b"nonce").digest())
    point: bytes = nonce_point(crypto_scalarmult_ed25519_base_noclamp(r))
    k = wide(sha512(point + PrivateKey(SEED).public.raw + message).digest())
    s: bytes = crypto_core_ed25519_scalar_add(r, crypto_core_ed25519_scalar_mul(k, secret))
    return point + s


@pytest.mark.parametrize("raw", LOW_ORDER.values(), ids=LOW_ORDER.keys())
def test_a_low_order_point_is_no_key(raw: str) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey.load(Algorithm.ED25519, bytes.fromhex(raw))
    assert caught.value.code is Reason.WEAK_KEY


@pytest.mark.parametrize("y", range(P, 2**255))
@pytest.mark.parametrize("sign", [0, 0x80])
def test_an_encoding_with_y_of_p_or_more_is_no_key(y: int, sign: int) -> None:
    raw = bytearray(y.to_bytes(32, "little"))
    raw[31] |= sign
    with pytest.raises(MaterialError) as caught:
        PublicKey.load(Algorithm.ED25519, bytes(raw))
    assert caught.value.code is Reason.WEAK_KEY


def test_a_key_with_a_torsion_component_is_no_key() -> None:
    mixed = crypto_core_ed25519_add(PrivateKey(SEED).public.raw, TORSION)
    with pytest.raises(MaterialError) as caught:
        PublicKey.load(Algorithm.ED25519, mixed)
    assert caught.value.code is Reason.WEAK_KEY


def test_bytes_off_the_curve_are_no_key() -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey.load(Algorithm.ED25519, b"\x02" + bytes(31))
    assert caught.value.code is Reason.WEAK_KEY


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_another_size_than_32_bytes_is_malformed(size: int) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey.load(Algorithm.ED25519, b"\x58" * size)
    assert caught.value.code is Reason.KEY_MALFORMED


def test_no_way_of_building_a_key_skips_the_checks() -> None:
    sound = PrivateKey(SEED).public
    with pytest.raises(MaterialError):
        PublicKey(Algorithm.ED25519, bytes(32))
    with pytest.raises(MaterialError):
        dataclasses.replace(sound, raw=bytes(32))
    with pytest.raises(dataclasses.FrozenInstanceError):
        sound.raw = bytes(32)  # type: ignore[misc]


def test_a_signature_verifies_and_any_changed_bit_of_it_does_not() -> None:
    key = PrivateKey(SEED)
    signature = key.sign(b"m")
    assert key.public.verify(b"m", signature)
    assert not key.public.verify(b"n", signature)
    for bit in range(8 * len(signature)):
        changed = bytearray(signature)
        changed[bit // 8] ^= 1 << bit % 8
        assert not key.public.verify(b"m", bytes(changed))


@pytest.mark.parametrize("size", [0, 1, 32, 63, 65, 128])
def test_a_signature_of_another_size_than_64_bytes_does_not_verify(size: int) -> None:
    key = PrivateKey(SEED)
    assert not key.public.verify(b"m", (key.sign(b"m") * 2)[:size])


def test_bytes_moved_between_signature_and_message_do_not_verify() -> None:
    key = PrivateKey(SEED)
    signature = key.sign(b"message")
    assert not key.public.verify(b"essage", signature + b"m")
    assert not key.public.verify(signature[-1:] + b"message", signature[:-1])


def test_the_group_order_added_to_s_does_not_verify() -> None:
    key = PrivateKey(SEED)
    signature = key.sign(b"m")
    s = int.from_bytes(signature[32:], "little")
    for multiple in range(1, 16):
        if s + multiple * L < 2**256:
            moved = signature[:32] + (s + multiple * L).to_bytes(32, "little")
            assert not key.public.verify(b"m", moved)


def test_the_forged_signature_of_this_test_verifies_when_r_is_left_alone() -> None:
    assert PrivateKey(SEED).public.verify(b"m", forge(lambda point: point))


def test_the_equation_is_cofactorless() -> None:
    """With a torsion component in R the equation holds only when multiplied by eight."""
    mixed = forge(lambda point: crypto_core_ed25519_add(point, TORSION))
    assert not PrivateKey(SEED).public.verify(b"m", mixed)


@pytest.mark.parametrize("raw", LOW_ORDER.values(), ids=LOW_ORDER.keys())
def test_an_r_of_low_order_does_not_verify(raw: str) -> None:
    point = bytes.fromhex(raw)
    k = wide(sha512(point + PrivateKey(SEED).public.raw + b"m").digest())
    digest = bytearray(sha512(SEED).digest()[:32])
    digest[0] &= 248
    digest[31] = digest[31] & 127 | 64
    signature = point + crypto_core_ed25519_scalar_mul(k, wide(bytes(digest)))
    assert not PrivateKey(SEED).public.verify(b"m", signature)


def test_the_thumbprint_is_that_of_rfc_8037_appendix_a() -> None:
    key = PublicKey.from_jwk(
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    )
    assert key.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_a_key_survives_its_jwk_and_a_pickle() -> None:
    key = PrivateKey(SEED).public
    assert PublicKey.from_jwk(key.jwk()) == key
    again = pickle.loads(pickle.dumps(key))
    assert again == key
    assert again.verify(b"m", PrivateKey(SEED).sign(b"m"))


def test_members_that_do_not_concern_the_key_are_passed_over() -> None:
    jwk = PrivateKey(SEED).public.jwk()
    for more in ({"alg": "EdDSA"}, {"alg": "Ed25519"}, {"use": "sig"}, {"kid": "x"}):
        assert PublicKey.from_jwk({**jwk, **more}).jwk() == jwk


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"kty": "EC"}, Reason.UNSUPPORTED_ALGORITHM, "/crv"),
        ({"kty": "AKP"}, Reason.KEY_MALFORMED, "/alg"),
        ({"kty": "RSA", "crv": None}, Reason.UNSUPPORTED_ALGORITHM, "/kty"),
        ({"crv": "X25519"}, Reason.UNSUPPORTED_ALGORITHM, "/crv"),
        ({"crv": "Ed448"}, Reason.UNSUPPORTED_ALGORITHM, "/crv"),
        ({"kty": None}, Reason.KEY_MALFORMED, "/kty"),
        ({"kty": ["OKP"]}, Reason.KEY_MALFORMED, "/kty"),
        ({"crv": 1}, Reason.KEY_MALFORMED, "/crv"),
        ({"alg": "ES256"}, Reason.KEY_MALFORMED, "/alg"),
        ({"alg": ["EdDSA"]}, Reason.KEY_MALFORMED, "/alg"),
        ({"use": "enc"}, Reason.KEY_MALFORMED, "/use"),
        ({"x": None}, Reason.KEY_MALFORMED, "/x"),
        ({"x": 7}, Reason.KEY_MALFORMED, "/x"),
        ({"x": ""}, Reason.KEY_MALFORMED, "/x"),
        ({"x": "A" * 43 + "="}, Reason.KEY_MALFORMED, "/x"),
        ({"x": "A" * 42 + "B"}, Reason.KEY_MALFORMED, "/x"),
        ({"x": "é" * 43}, Reason.KEY_MALFORMED, "/x"),
        ({"x": "A" * 43}, Reason.WEAK_KEY, None),
        ({"d": "A" * 43}, Reason.KEY_MALFORMED, "/d"),
        ({"priv": "A" * 43}, Reason.KEY_MALFORMED, "/priv"),
    ],
)
def test_a_jwk_that_is_no_ed25519_public_key_is_refused(
    change: dict[str, Any], code: Reason, pointer: str | None
) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey.from_jwk({**PrivateKey(SEED).public.jwk(), **change})
    assert (caught.value.code, caught.value.pointer) == (code, pointer)


@pytest.mark.parametrize("value", [None, [], "x", 3, True])
def test_a_jwk_that_is_no_object_is_malformed(value: object) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey.from_jwk(value)
    assert caught.value.code is Reason.KEY_MALFORMED


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("Ed25519", Algorithm.ED25519),
        ("EdDSA", Algorithm.ED25519),
        ("ES256", Algorithm.P256),
        ("ML-DSA-65", Algorithm.MLDSA65),
    ],
)
def test_an_algorithm_is_known_by_its_exact_names(name: str, algorithm: Algorithm) -> None:
    assert named_algorithm(name) is algorithm


@pytest.mark.parametrize(
    "name", ["ed25519", "es256", "P-256", "ES384", "ML-DSA-44", "HS256", "none", "", None, [], 7]
)
def test_no_other_name_is_one_of_an_algorithm(name: object) -> None:
    assert named_algorithm(name) is None

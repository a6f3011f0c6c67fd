"""ECDSA over P-256: sound points, signatures in range, one spelling of each."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.errors import MaterialError, Reason
from taskseal.keys import p256
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.p256 import ORDER
from taskseal.keys.private import PrivateKey

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
SCALAR = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f00112233445566778899aabbccddeeff")
KEY = PrivateKey(SCALAR, Algorithm.P256)
RAW = KEY.public.raw
X, Y = RAW[1:33], RAW[33:]
COMPRESSED = bytes([2 + (Y[-1] & 1)]) + X


def refused(raw: Any) -> Reason:
    with pytest.raises(MaterialError) as caught:
        PublicKey(Algorithm.P256, raw)
    return caught.value.code


def pair(r: int, s: int) -> bytes:
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def split(signature: bytes) -> tuple[int, int]:
    return int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")


def test_a_key_is_kept_as_its_uncompressed_point_whichever_way_it_came() -> None:
    assert len(RAW) == 65
    assert RAW[0] == 4
    found = PublicKey(Algorithm.P256, COMPRESSED)
    assert found == KEY.public
    assert found.raw == RAW
    assert found.thumbprint == KEY.public.thumbprint
    assert hash(found) == hash(KEY.public)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x04" + bytes(64),
        b"\x04" + X + bytes(32),
        b"\x04" + X + (int.from_bytes(Y, "big") ^ 1).to_bytes(32, "big"),
        b"\x04" + Y + X,
        b"\x04" + P.to_bytes(32, "big") + Y,
        b"\x04" + b"\xff" * 64,
        b"\x00" * 65,
        bytes([6 + (Y[-1] & 1)]) + X + Y,
        b"\x02" + b"\xff" * 32,
        b"\x05" + X,
        b"\x00" * 33,
        b"\x04" + X,
    ],
)
def test_bytes_that_are_no_point_of_the_curve_are_no_key(raw: bytes) -> None:
    assert refused(raw) is Reason.WEAK_KEY


@pytest.mark.parametrize("raw", [b"", b"\x00", X, RAW[1:], RAW + b"\0", RAW * 2, "x" * 65, None])
def test_another_size_is_malformed(raw: Any) -> None:
    assert refused(raw) is Reason.KEY_MALFORMED


@pytest.mark.parametrize(
    "scalar", [bytes(32), ORDER.to_bytes(32, "big"), b"\xff" * 32, SCALAR[:31], SCALAR + b"\0"]
)
def test_a_scalar_out_of_range_is_no_private_key_and_not_shown(scalar: bytes) -> None:
    with pytest.raises(MaterialError) as caught:
        PrivateKey(scalar, Algorithm.P256)
    assert caught.value.code is Reason.KEY_MALFORMED
    assert scalar.hex() not in f"{caught.value} {caught.value!r} {caught.value.hint}"


@pytest.mark.parametrize("scalar", [1, ORDER - 1])
def test_the_ends_of_the_range_are_private_keys(scalar: int) -> None:
    key = PrivateKey(scalar.to_bytes(32, "big"), Algorithm.P256)
    assert key.public.verify(b"m", key.sign(b"m"))


def test_the_signature_is_that_of_rfc_6979() -> None:
    """Appendix A.2.5, SHA-256."""
    key = PrivateKey(
        bytes.fromhex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"),
        Algorithm.P256,
    )
    assert key.sign(b"sample").hex() == (
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
        "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    )
    assert key.sign(b"test").hex() == (
        "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
        "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
    )


def test_a_signature_verifies_and_any_changed_bit_of_it_does_not() -> None:
    signature = KEY.sign(b"m")
    assert len(signature) == 64
    assert KEY.public.verify(b"m", signature)
    assert not KEY.public.verify(b"n", signature)
    for bit in range(8 * len(signature)):
        changed = bytearray(signature)
        changed[bit // 8] ^= 1 << bit % 8
        assert not KEY.public.verify(b"m", bytes(changed))


@pytest.mark.parametrize("size", [0, 1, 32, 63, 65, 70, 71, 72, 128])
def test_a_signature_of_another_size_than_64_bytes_does_not_verify(size: int) -> None:
    assert not KEY.public.verify(b"m", (KEY.sign(b"m") * 2)[:size])


def test_a_signature_in_der_does_not_verify() -> None:
    der = utils.encode_dss_signature(*split(KEY.sign(b"m")))
    assert not KEY.public.verify(b"m", der)


def test_r_and_s_outside_the_group_do_not_verify() -> None:
    r, s = split(KEY.sign(b"m"))
    out_of_range = (0, ORDER, ORDER + 1, 2**256 - 1)
    for bad in out_of_range:
        assert not KEY.public.verify(b"m", pair(bad, s))
        assert not KEY.public.verify(b"m", pair(r, bad))
        for other in out_of_range:
            assert not KEY.public.verify(b"m", pair(bad, other))
    for moved in (pair(r + ORDER, s) if r + ORDER < 2**256 else b"", pair(s, r)):
        assert not KEY.public.verify(b"m", moved)


def test_an_s_of_either_half_verifies() -> None:
    r, s = split(KEY.sign(b"m"))
    assert KEY.public.verify(b"m", pair(r, ORDER - s))


def test_bytes_moved_between_signature_and_message_do_not_verify() -> None:
    signature = KEY.sign(b"message")
    assert not KEY.public.verify(b"essage", signature + b"m")
    assert not KEY.public.verify(signature[-1:] + b"message", signature[:-1])


def test_another_library_takes_the_signature_and_makes_one_that_is_taken() -> None:
    theirs = ec.derive_private_key(int.from_bytes(SCALAR, "big"), ec.SECP256R1())
    der = utils.encode_dss_signature(*split(KEY.sign(b"m")))
    theirs.public_key().verify(der, b"m", ec.ECDSA(SHA256()))
    made = pair(*utils.decode_dss_signature(theirs.sign(b"n", ec.ECDSA(SHA256()))))
    assert KEY.public.verify(b"n", made)


def test_the_same_message_is_signed_the_same_each_time() -> None:
    assert KEY.sign(b"m") == KEY.sign(b"m") != KEY.sign(b"n")


def test_the_jwk_holds_both_coordinates_and_comes_back() -> None:
    jwk = KEY.public.jwk()
    assert jwk == {"kty": "EC", "crv": "P-256", "x": b64url_encode(X), "y": b64url_encode(Y)}
    for more in ({}, {"alg": "ES256"}, {"use": "sig"}, {"kid": "k"}):
        assert PublicKey.from_jwk(jwk | more) == KEY.public


def test_the_thumbprint_is_that_of_rfc_7638_over_the_key_of_rfc_7515() -> None:
    key = PublicKey.from_jwk(
        {
            "kty": "EC",
            "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        }
    )
    assert key.thumbprint == "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U"


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"crv": "P-384"}, Reason.UNSUPPORTED_ALGORITHM, "/crv"),
        ({"crv": "secp256k1"}, Reason.UNSUPPORTED_ALGORITHM, "/crv"),
        ({"crv": None}, Reason.KEY_MALFORMED, "/crv"),
        ({"alg": "EdDSA"}, Reason.KEY_MALFORMED, "/alg"),
        ({"alg": "ES384"}, Reason.KEY_MALFORMED, "/alg"),
        ({"alg": None}, Reason.KEY_MALFORMED, "/alg"),
        ({"use": "enc"}, Reason.KEY_MALFORMED, "/use"),
        ({"y": None}, Reason.KEY_MALFORMED, "/y"),
        ({"x": b64url_encode(X[:31])}, Reason.KEY_MALFORMED, "/x"),
        ({"y": b64url_encode(b"\0" + Y)}, Reason.KEY_MALFORMED, "/y"),
        ({"x": b64url_encode(X[:31]), "y": b64url_encode(X[31:] + Y)}, Reason.KEY_MALFORMED, "/x"),
        ({"x": b64url_encode(bytes(32))}, Reason.WEAK_KEY, None),
        ({"y": b64url_encode(X)}, Reason.WEAK_KEY, None),
        ({"d": b64url_encode(SCALAR)}, Reason.KEY_MALFORMED, "/d"),
    ],
)
def test_a_jwk_that_is_no_p256_public_key_is_refused(
    change: dict[str, Any], code: Reason, pointer: str | None
) -> None:
    with pytest.raises(MaterialError) as caught:
        PublicKey.from_jwk(KEY.public.jwk() | change)
    assert (caught.value.code, caught.value.pointer) == (code, pointer)
    assert b64url_decode(b64url_encode(SCALAR)) == SCALAR
    assert b64url_encode(SCALAR) not in f"{caught.value} {caught.value.hint}"


def test_an_installation_without_deterministic_signing_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise UnsupportedAlgorithm("not here")

    monkeypatch.setattr(p256, "ECDSA", absent)
    with pytest.raises(MaterialError) as caught:
        PrivateKey(SCALAR, Algorithm.P256)
    assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM


def test_a_public_key_survives_a_pickle_and_a_private_one_shows_nothing() -> None:
    again = pickle.loads(pickle.dumps(KEY.public))
    assert again == KEY.public
    assert again.verify(b"m", KEY.sign(b"m"))
    shown = f"{KEY!r} {KEY} {KEY.public!r}"
    assert KEY.public.thumbprint in shown
    assert "ES256" in shown
    for secret in (SCALAR.hex(), str(int.from_bytes(SCALAR, "big")), b64url_encode(SCALAR)):
        assert secret[:10] not in shown
    with pytest.raises(TypeError):
        pickle.dumps(KEY)

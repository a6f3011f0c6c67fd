"""Key files of P-256 and ML-DSA-65: every form in and out, and a clear no for the others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, mldsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from taskseal.canon.encoding import b64url_encode
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.asn1 import write_plain
from taskseal.keys.formats import (
    FORMS,
    Form,
    read_private_key,
    read_public_key,
    write_private_key,
    write_public_key,
)
from taskseal.keys.private import PrivateKey

SECRET = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f00112233445566778899aabbccddeeff")
POINT = PrivateKey(SECRET, Algorithm.P256)
LATTICE = PrivateKey(SECRET, Algorithm.MLDSA65)
OTHER_POINT = PrivateKey(bytes(range(1, 33)), Algorithm.P256).public.raw
OTHER_LATTICE = PrivateKey(bytes(range(1, 33)), Algorithm.MLDSA65)
EC_P256 = bytes.fromhex("06072a8648ce3d020106082a8648ce3d030107")
MLDSA65 = bytes.fromhex("0609608648016503040312")
PLAIN = NoEncryption()


def item(tag: int, content: bytes) -> bytes:
    if len(content) < 128:
        return bytes([tag, len(content)]) + content
    return bytes([tag, 0x82]) + len(content).to_bytes(2, "big") + content


def sec1(point: bytes | None, scalar: bytes = SECRET, curve: bytes = b"") -> bytes:
    public = b"" if point is None else item(0xA1, item(3, b"\0" + point))
    return item(0x30, b"\2\1\1" + item(4, scalar) + curve + public)


def pkcs8(identifier: bytes, wrapped: bytes, tail: bytes = b"", version: int = 0) -> bytes:
    head = bytes([2, 1, version]) + item(0x30, identifier)
    return item(0x30, head + item(4, wrapped) + tail)


def held_point() -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(SECRET, "big"), ec.SECP256R1())


def compressed() -> bytes:
    return held_point().public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def expanded(key: PrivateKey) -> bytes:
    """As far as it is compared: rho, K, tr; then anything."""
    from hashlib import shake_256

    made = shake_256(key.reveal_secret() + b"\6\5").digest(128)
    return (made[:32] + made[96:] + shake_256(key.public.raw).digest(64)).ljust(4032, b"\7")


def both(seed: bytes, rest: bytes) -> bytes:
    return pkcs8(MLDSA65, item(0x30, item(4, seed) + item(4, rest)))


def jwk(key: PrivateKey, **change: Any) -> bytes:
    secret = "d" if key is POINT else "priv"
    members = {**key.public.jwk(), secret: b64url_encode(SECRET), **change}
    return json.dumps({name: text for name, text in members.items() if text is not None}).encode()


CURVE = item(0xA0, EC_P256[9:])
POINT_FILES = {
    "PKCS#8": pkcs8(EC_P256, sec1(POINT.public.raw)),
    "PKCS#8 without its point": pkcs8(EC_P256, sec1(None)),
    "PKCS#8 with a compressed point": pkcs8(EC_P256, sec1(compressed())),
    "PKCS#8 with the curve twice": pkcs8(EC_P256, sec1(POINT.public.raw, curve=CURVE)),
    "PKCS#8 version 2": pkcs8(EC_P256, sec1(None), item(0x81, b"\0" + POINT.public.raw), 1),
    "PKCS#8 with attributes": pkcs8(EC_P256, sec1(POINT.public.raw), b"\xa0\0"),
    "SEC 1": sec1(POINT.public.raw, curve=CURVE),
    "SEC 1 PEM": held_point().private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, PLAIN),
    "SEC 1 PEM after its parameters": b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n"
    b"-----END EC PARAMETERS-----\n"
    + held_point().private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, PLAIN),
    "OpenSSH": held_point().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, PLAIN),
    "JWK": jwk(POINT),
    "JWK with more": jwk(POINT, alg="ES256", use="sig", kid="k"),
}
LATTICE_FILES = {
    "PKCS#8": pkcs8(MLDSA65, item(0x80, SECRET)),
    "PKCS#8 version 2": pkcs8(
        MLDSA65, item(0x80, SECRET), item(0x81, b"\0" + LATTICE.public.raw), 1
    ),
    "PKCS#8 with the expanded key": both(SECRET, expanded(LATTICE)),
    "JWK": jwk(LATTICE),
    "JWK with more": jwk(LATTICE, use="sig", kid="k"),
}


@pytest.mark.parametrize("data", POINT_FILES.values(), ids=POINT_FILES.keys())
def test_each_form_gives_the_same_p256_key(data: bytes) -> None:
    key = read_private_key(data, b"for another key")
    assert key.algorithm is Algorithm.P256
    assert (key.public, key.reveal_secret()) == (POINT.public, SECRET)


@pytest.mark.parametrize("data", LATTICE_FILES.values(), ids=LATTICE_FILES.keys())
def test_each_form_gives_the_same_mldsa65_key(data: bytes) -> None:
    key = read_private_key(data, b"for another key")
    assert key.algorithm is Algorithm.MLDSA65
    assert (key.public, key.reveal_secret()) == (LATTICE.public, SECRET)


MALFORMED = {
    "PKCS#8 with another point": pkcs8(EC_P256, sec1(OTHER_POINT)),
    "PKCS#8 with another point beside": pkcs8(
        EC_P256, sec1(None), item(0x81, b"\0" + OTHER_POINT), 1
    ),
    "SEC 1 with another point": sec1(OTHER_POINT, curve=CURVE),
    "PKCS#8 of a zero scalar": pkcs8(EC_P256, sec1(None, bytes(32))),
    "PKCS#8 of a scalar beyond the order": pkcs8(EC_P256, sec1(None, b"\xff" * 32)),
    "PKCS#8 of a short scalar": pkcs8(EC_P256, sec1(None, SECRET[:31])),
    "EC JWK without y": jwk(POINT, y=None),
    "EC JWK without d": jwk(POINT, d=None),
    "EC JWK with another y": jwk(POINT, y=b64url_encode(OTHER_POINT[33:])),
    "EC JWK of another point": jwk(
        POINT, x=b64url_encode(OTHER_POINT[1:33]), y=b64url_encode(OTHER_POINT[33:])
    ),
    "EC JWK with a short d": jwk(POINT, d=b64url_encode(SECRET[1:])),
    "EC JWK with a zero d": jwk(POINT, d=b64url_encode(bytes(32))),
    "EC JWK of another algorithm": jwk(POINT, alg="EdDSA"),
    "ML-DSA without its seed": pkcs8(MLDSA65, item(4, expanded(LATTICE))),
    "ML-DSA with another expanded key": both(SECRET, expanded(OTHER_LATTICE)),
    "ML-DSA with a short expanded key": both(SECRET, expanded(LATTICE)[:-1]),
    "ML-DSA with a short seed": pkcs8(MLDSA65, item(0x80, SECRET[1:])),
    "ML-DSA with a bare seed": pkcs8(MLDSA65, SECRET),
    "ML-DSA with another public half": pkcs8(
        MLDSA65, item(0x80, SECRET), item(0x81, b"\0" + OTHER_LATTICE.public.raw), 1
    ),
    "AKP JWK without alg": jwk(LATTICE, alg=None),
    "AKP JWK without pub": jwk(LATTICE, pub=None),
    "AKP JWK without priv": jwk(LATTICE, priv=None),
    "AKP JWK with d": jwk(LATTICE, priv=None, d=b64url_encode(SECRET)),
    "AKP JWK with an expanded priv": jwk(LATTICE, priv=b64url_encode(expanded(LATTICE))),
    "AKP JWK of another key": jwk(LATTICE, pub=b64url_encode(OTHER_LATTICE.public.raw)),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_file_that_holds_no_whole_key_is_malformed_and_shows_nothing(data: bytes) -> None:
    with pytest.raises(MaterialError) as caught:
        read_private_key(data)
    assert caught.value.code is Reason.KEY_MALFORMED
    error = caught.value
    shown = f"{error} {error!r} {error.hint} {error.pointer}".lower()
    for secret in (SECRET.hex(), b64url_encode(SECRET).lower()):
        assert not any(secret[at : at + 8] in shown for at in range(0, len(secret) - 8, 4))


def test_an_mldsa_key_without_a_seed_says_that_the_seed_is_missing() -> None:
    with pytest.raises(MaterialError) as caught:
        read_private_key(MALFORMED["ML-DSA without its seed"])
    assert "without the seed" in caught.value.detail


def test_an_openssh_key_with_another_point_outside_is_malformed() -> None:
    text = POINT_FILES["OpenSSH"].decode().splitlines()
    import base64

    blob = base64.b64decode("".join(text[1:-1]))
    outer = blob.replace(POINT.public.raw, OTHER_POINT, 1)
    throughout = blob.replace(POINT.public.raw, OTHER_POINT)
    for changed in (outer, throughout):
        body = base64.encodebytes(changed).decode()
        with pytest.raises(MaterialError) as caught:
            read_private_key(f"{text[0]}\n{body}{text[-1]}\n".encode())
        assert caught.value.code is Reason.KEY_MALFORMED


def test_an_encrypted_sec1_file_is_refused_with_the_way_out() -> None:
    locked = held_point().private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"p")
    )
    with pytest.raises(MaterialError) as caught:
        read_private_key(locked, b"p")
    assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM
    assert "pkcs8 -topk8" in caught.value.hint


WRITTEN: list[tuple[PrivateKey, Form]] = [
    (POINT, "pem"),
    (POINT, "ssh"),
    (POINT, "jwk"),
    (LATTICE, "pem"),
    (LATTICE, "jwk"),
]


@pytest.mark.parametrize(("key", "form"), WRITTEN)
def test_a_key_survives_each_form_that_it_is_written_in(key: PrivateKey, form: Form) -> None:
    again = read_private_key(write_private_key(key, form))
    assert (again.public, again.reveal_secret()) == (key.public, SECRET)


@pytest.mark.parametrize("key", [POINT, LATTICE])
def test_an_encrypted_pem_opens_with_its_passphrase_only(key: PrivateKey) -> None:
    locked = write_private_key(key, "pem", b"pass")
    assert read_private_key(locked, b"pass").public == key.public
    for passphrase, code in (
        (None, Reason.PASSPHRASE_NEEDED),
        (b"wrong", Reason.PASSPHRASE_WRONG),
    ):
        with pytest.raises(MaterialError) as caught:
            read_private_key(locked, passphrase)
        assert caught.value.code is code


def test_an_encrypted_openssh_key_opens() -> None:
    pytest.importorskip("bcrypt", reason="encrypted OpenSSH keys need the bcrypt extra")
    locked = write_private_key(POINT, "ssh", b"pass")
    assert read_private_key(locked, b"pass").public == POINT.public


def test_a_plain_pem_is_what_openssl_writes() -> None:
    theirs = held_point().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN)
    assert write_private_key(POINT, "pem") == theirs
    lattice = mldsa.MLDSA65PrivateKey.from_seed_bytes(SECRET)
    theirs = lattice.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN)
    assert write_private_key(LATTICE, "pem") == theirs


def test_a_written_structure_is_the_one_that_is_read() -> None:
    assert write_plain(EC_P256, sec1(None)) == pkcs8(EC_P256, sec1(None))
    long = item(4, expanded(LATTICE))
    assert write_plain(MLDSA65, long) == pkcs8(MLDSA65, long)


@pytest.mark.parametrize(("key", "form"), [(POINT, "raw"), (LATTICE, "raw"), (LATTICE, "ssh")])
def test_a_form_that_the_algorithm_does_not_have_is_refused(key: PrivateKey, form: Form) -> None:
    for passphrase in (None, b"pass"):
        with pytest.raises(InputError) as caught:
            write_private_key(key, form, passphrase)
        assert caught.value.code is Reason.USAGE
        assert "pem or jwk" in caught.value.hint


@pytest.mark.parametrize("form", FORMS)
def test_a_public_half_survives_each_form_that_it_is_written_in(form: Form) -> None:
    assert read_public_key(write_public_key(POINT.public, form)) == POINT.public
    if form == "ssh":
        with pytest.raises(InputError) as caught:
            write_public_key(LATTICE.public, form)
        assert caught.value.code is Reason.USAGE
    else:
        assert read_public_key(write_public_key(LATTICE.public, form)) == LATTICE.public


def test_a_compressed_public_half_is_read_from_raw_bytes_and_from_der() -> None:
    point = compressed()
    assert read_public_key(point) == POINT.public
    spki = item(0x30, item(0x30, EC_P256) + item(3, b"\0" + point))
    assert read_public_key(spki) == POINT.public


def test_raw_bytes_of_the_size_of_a_key_that_are_none_are_not_taken_for_one() -> None:
    for data in (b"a" * 1952, ("é" * 976).encode(), b"a" * 65, b"\x05" + bytes(32)):
        with pytest.raises(MaterialError) as caught:
            read_public_key(data)
        assert caught.value.code is Reason.KEY_MALFORMED
    for data in (b"\x04" + bytes(64), b"\x02" + b"\xff" * 32):
        with pytest.raises(MaterialError) as caught:
            read_public_key(data)
        assert caught.value.code is Reason.WEAK_KEY


def test_raw_mldsa_bytes_that_begin_as_der_does_are_still_a_key() -> None:
    raw = b"\x30" + LATTICE.public.raw[1:]
    assert read_public_key(raw).raw == raw

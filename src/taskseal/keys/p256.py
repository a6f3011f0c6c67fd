"""ECDSA over P-256 with SHA-256 (``ES256``) by OpenSSL, imported only when such a key is at hand.

One policy, everywhere: the point is on the curve and not the one at infinity; a signature is r
and s of 32 bytes each, both between 1 and the group order less 1. An s of the upper half is
taken: RFC 7518 does not ask for the lower one, and half of all peers' signatures have the other.
So whoever sees (r, s) can write down (r, n - s), which is as good: nothing here tells messages
apart by their signatures.

Signing is deterministic, as Ed25519's is: no poor randomness gives the key away.

Source: RFC 7518 section 3.4, RFC 6979, SEC 1 section 2.3, SPEC section 4.1.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from taskseal.errors import MaterialError, Reason
from taskseal.keys.core import Sign, Verify

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The number of points of the group (n)."""
SCALAR_SIZE = 32
"""Bytes of a coordinate, of r, of s and of the private half."""
SIGNATURE_SIZE = 2 * SCALAR_SIZE

_VERIFYING = ECDSA(SHA256())


def open_public(raw: bytes) -> tuple[bytes, Verify] | None:
    """The uncompressed point of ``raw``, itself compressed or not, and its verification."""
    try:
        key = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), raw)
    except ValueError:
        return None

    def verify(message: bytes, signature: bytes) -> bool:
        if len(signature) != SIGNATURE_SIZE:
            return False
        r = int.from_bytes(signature[:SCALAR_SIZE], "big")
        s = int.from_bytes(signature[SCALAR_SIZE:], "big")
        if not (0 < r < ORDER and 0 < s < ORDER):
            return False
        try:
            key.verify(encode_dss_signature(r, s), message, _VERIFYING)
        except InvalidSignature:
            return False
        return True

    return _point(key), verify


def open_secret(secret: bytes) -> tuple[bytes, Sign] | None:
    """The public point of a private scalar of 32 bytes, big-endian, and its signing."""
    try:
        key = hold_secret(secret)
    except ValueError:
        return None
    try:
        signing = ECDSA(SHA256(), deterministic_signing=True)
    except UnsupportedAlgorithm:
        raise MaterialError(
            Reason.UNSUPPORTED_ALGORITHM, "the OpenSSL at hand has no deterministic ECDSA"
        ) from None

    def sign(message: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(message, signing))
        return r.to_bytes(SCALAR_SIZE, "big") + s.to_bytes(SCALAR_SIZE, "big")

    return _point(key.public_key()), sign


def new_secret() -> bytes:
    """A new private scalar from the operating system's randomness."""
    return _scalar(generate_private_key(SECP256R1()))


def hold_secret(secret: bytes) -> EllipticCurvePrivateKey:
    """The key as ``cryptography`` holds it; raises ``ValueError`` for a scalar out of range."""
    return derive_private_key(int.from_bytes(secret, "big"), SECP256R1())


def hold_public(raw: bytes) -> EllipticCurvePublicKey:
    """The sound key ``raw`` as ``cryptography`` holds it."""
    return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), raw)


def secret_of(held: object) -> bytes | None:
    """The private scalar of a P-256 key that ``cryptography`` holds, None for other keys."""
    if isinstance(held, EllipticCurvePrivateKey) and isinstance(held.curve, SECP256R1):
        return _scalar(held)
    return None


def public_of(held: object) -> bytes | None:
    """The uncompressed point of a P-256 key that ``cryptography`` holds, None for other keys."""
    if isinstance(held, EllipticCurvePublicKey) and isinstance(held.curve, SECP256R1):
        return _point(held)
    return None


def _scalar(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_numbers().private_value.to_bytes(SCALAR_SIZE, "big")


def _point(key: EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

"""ML-DSA-65 by OpenSSL, imported only when such a key is at hand.

Pure ML-DSA with the empty context; the private half is the 32-byte seed, expanded once when the
key is loaded, which costs a tenth of a signature. Signing is hedged: two signatures over one
message differ. A public key whose t1 is zero is refused: anyone could sign for it.

Source: FIPS 204 sections 3.6, 5.2 and 5.3; RFC 9964; SPEC section 4.1.
"""

from __future__ import annotations

import secrets
from typing import NoReturn

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PrivateKey, MLDSA65PublicKey

from taskseal.errors import MaterialError, Reason
from taskseal.keys.core import Sign, Verify

SEED_SIZE = 32
"""Bytes of a seed, the private half."""
SIGNATURE_SIZE = 3309

_MATRIX_SEED_SIZE = 32  # rho; t1 is the rest of a public key


def open_public(raw: bytes) -> tuple[bytes, Verify] | None:
    """``raw`` (1,952 bytes) and its verification; None when t1 is zero.

    With t1 zero the challenge drops out of the equation that a signature must satisfy.
    """
    if not any(raw[_MATRIX_SEED_SIZE:]):
        return None
    key = hold_public(raw)

    def verify(message: bytes, signature: bytes) -> bool:
        if len(signature) != SIGNATURE_SIZE:
            return False
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    return raw, verify


def open_secret(secret: bytes) -> tuple[bytes, Sign]:
    """The public key of a seed of 32 bytes, and its signing."""
    key = hold_secret(secret)
    return key.public_key().public_bytes_raw(), key.sign


def new_secret() -> bytes:
    """A new seed from the operating system's randomness."""
    return secrets.token_bytes(SEED_SIZE)


def hold_secret(secret: bytes) -> MLDSA65PrivateKey:
    """The key of a seed as ``cryptography`` holds it; raises ``unsupported_algorithm``."""
    try:
        return MLDSA65PrivateKey.from_seed_bytes(secret)
    except UnsupportedAlgorithm:
        _absent()


def hold_public(raw: bytes) -> MLDSA65PublicKey:
    """The key ``raw`` as ``cryptography`` holds it; raises ``unsupported_algorithm``."""
    try:
        return MLDSA65PublicKey.from_public_bytes(raw)
    except UnsupportedAlgorithm:
        _absent()


def secret_of(held: object) -> bytes | None:
    """The seed of an ML-DSA-65 key that ``cryptography`` holds, None for other keys."""
    return held.private_bytes_raw() if isinstance(held, MLDSA65PrivateKey) else None


def public_of(held: object) -> bytes | None:
    """The bytes of an ML-DSA-65 key that ``cryptography`` holds, None for other keys."""
    return held.public_bytes_raw() if isinstance(held, MLDSA65PublicKey) else None


def _absent() -> NoReturn:
    raise MaterialError(
        Reason.UNSUPPORTED_ALGORITHM,
        "the OpenSSL at hand has no ML-DSA",
        hint="install the wheels of cryptography, which bring their own",
    ) from None

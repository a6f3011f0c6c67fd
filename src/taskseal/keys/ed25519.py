"""Ed25519 by libsodium, imported only when such a key is at hand.

``cryptography`` holds such keys for their files only; it never verifies with them.

One policy, everywhere: the public key is canonical and in the prime-order subgroup, R is
canonical and not of low order, S < L, and the equation is the cofactorless one. libsodium
checks all of that but the subgroup while it verifies; the subgroup is checked once, when a
key is loaded. The conformance tests hold the pair to that policy (Wycheproof, CCTV, speccheck).

Source: RFC 8032, SPEC section 4.2.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING

from nacl.bindings import (
    crypto_core_ed25519_is_valid_point,
    crypto_sign,
    crypto_sign_open,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import BadSignatureError

from taskseal.keys.core import Sign, Verify

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SEED_SIZE = 32
"""Bytes of a seed, the private half."""
SIGNATURE_SIZE = 64
"""Bytes of a signature."""


def open_public(raw: bytes) -> tuple[bytes, Verify] | None:
    """``raw`` (32 bytes) and its verification; None unless it is canonical and of prime order."""
    if not crypto_core_ed25519_is_valid_point(raw):
        return None
    return raw, partial(_verify, raw)


def _verify(raw: bytes, message: bytes, signature: bytes) -> bool:
    if len(signature) != SIGNATURE_SIZE:
        return False
    try:
        crypto_sign_open(signature + message, raw)
    except BadSignatureError:
        return False
    return True


def open_secret(secret: bytes) -> tuple[bytes, Sign]:
    """The public key of a seed of 32 bytes, and its signing."""
    raw, expanded = crypto_sign_seed_keypair(secret)

    def sign(message: bytes) -> bytes:
        return crypto_sign(message, expanded)[:SIGNATURE_SIZE]

    return raw, sign


def new_secret() -> bytes:
    """A new seed from the operating system's randomness."""
    return secrets.token_bytes(SEED_SIZE)


def hold_secret(secret: bytes) -> Ed25519PrivateKey:
    """The key of a seed as ``cryptography`` holds it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret)


def hold_public(raw: bytes) -> Ed25519PublicKey:
    """The key ``raw`` as ``cryptography`` holds it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(raw)


def secret_of(held: object) -> bytes | None:
    """The seed of an Ed25519 key that ``cryptography`` holds, None for other keys."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return held.private_bytes_raw() if isinstance(held, Ed25519PrivateKey) else None


def public_of(held: object) -> bytes | None:
    """The bytes of an Ed25519 key that ``cryptography`` holds, None for other keys."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return held.public_bytes_raw() if isinstance(held, Ed25519PublicKey) else None

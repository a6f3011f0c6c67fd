"""Ed25519 by libsodium, imported only when a key is at hand.

One policy, everywhere: the public key is canonical and in the prime-order subgroup, R is
canonical and not of low order, S < L, and the equation is the cofactorless one. libsodium
checks all of that but the subgroup while it verifies; the subgroup is checked once, when a
key is loaded. The conformance tests hold the pair to that policy (Wycheproof, CCTV, speccheck).

Source: RFC 8032, SPEC section 4.2.
"""

from __future__ import annotations

from nacl.bindings import (
    crypto_core_ed25519_is_valid_point,
    crypto_sign,
    crypto_sign_open,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import BadSignatureError

PUBLIC_SIZE = 32
"""Bytes of a public key."""
SEED_SIZE = 32
"""Bytes of a seed, the private half."""
SIGNATURE_SIZE = 64
"""Bytes of a signature."""


def is_sound(raw: bytes) -> bool:
    """Whether 32 bytes are a canonical point of the prime-order subgroup."""
    return bool(crypto_core_ed25519_is_valid_point(raw))


def verify(raw: bytes, message: bytes, signature: bytes) -> bool:
    """Whether ``signature`` (64 bytes) is the key's over ``message``; ``raw`` must be sound."""
    if len(signature) != SIGNATURE_SIZE:
        return False
    try:
        crypto_sign_open(signature + message, raw)
    except BadSignatureError:
        return False
    return True


def expand(seed: bytes) -> tuple[bytes, bytes]:
    """The public key and libsodium's 64-byte secret key (seed and public half) of a seed."""
    raw, secret = crypto_sign_seed_keypair(seed)
    return raw, secret


def sign(secret: bytes, message: bytes) -> bytes:
    """The 64-byte signature over ``message`` by a secret key from :func:`expand`."""
    return crypto_sign(message, secret)[:SIGNATURE_SIZE]

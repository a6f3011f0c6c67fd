"""Private keys in memory, and the signer that holds one.

Source: SPEC sections 4.4 and 4.7.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import NoReturn

from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.entry import KeyEntry


class PrivateKey:
    """A private key; what it prints, and what errors say of it, never holds the secret."""

    __slots__ = ("_secret", "_seed", "_sign", "public")

    def __init__(self, seed: bytes) -> None:
        """The Ed25519 key of a 32-byte seed.

        Raises:
            MaterialError: ``key_malformed`` when ``seed`` is not 32 bytes.
        """
        from taskseal.keys import ed25519

        if type(seed) is not bytes or len(seed) != ed25519.SEED_SIZE:
            raise MaterialError(
                Reason.KEY_MALFORMED, f"an Ed25519 seed has {ed25519.SEED_SIZE} bytes"
            )
        raw, self._secret = ed25519.expand(seed)
        self._seed = seed
        self._sign = ed25519.sign
        self.public = PublicKey(Algorithm.ED25519, raw)

    @classmethod
    def generate(cls) -> PrivateKey:
        """A new key from the operating system's randomness."""
        return cls(secrets.token_bytes(32))

    def sign(self, message: bytes) -> bytes:
        """The signature over exactly ``message``: 64 bytes, the same each time (RFC 8032)."""
        return self._sign(self._secret, message)

    def reveal_seed(self) -> bytes:
        """The secret itself, for writing it down; whoever has these bytes can sign."""
        return self._seed

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.algorithm}, {self.public.thumbprint})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key is written by its own formats only, never pickled")


@dataclass(frozen=True, slots=True)
class KeySigner:
    """A signer whose private key is in this process."""

    entry: KeyEntry
    key: PrivateKey

    def __post_init__(self) -> None:
        if self.entry.key != self.key.public:
            raise MaterialError(
                Reason.KEY_MALFORMED,
                f"the private key is not that of key version {self.entry.key_version!a}",
            )

    def sign(self, message: bytes) -> bytes:
        """The signature of the entry's key over exactly ``message``."""
        return self.key.sign(message)

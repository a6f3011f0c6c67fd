"""Private keys in memory, and the signer that holds one.

Source: SPEC sections 4.1, 4.4 and 4.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import SECRET_SIZE, Algorithm, PublicKey, scheme
from taskseal.keys.entry import KeyEntry


class PrivateKey:
    """A private key; what it prints, and what errors say of it, never holds the secret."""

    __slots__ = ("_secret", "_sign", "public")

    def __init__(self, secret: bytes, algorithm: Algorithm = Algorithm.ED25519) -> None:
        """The key of a 32-byte private half.

        Args:
            secret: the seed (Ed25519, ML-DSA-65) or the big-endian scalar (P-256).
            algorithm: whose key it is.

        Raises:
            MaterialError: ``key_malformed`` when ``secret`` is not 32 bytes, or no scalar of
                P-256; ``unsupported_algorithm`` when this installation lacks the algorithm.
        """
        if type(secret) is not bytes or len(secret) != SECRET_SIZE:
            raise MaterialError(
                Reason.KEY_MALFORMED, f"an {algorithm} private key has {SECRET_SIZE} bytes"
            )
        found = scheme(algorithm).core().open_secret(secret)
        if found is None:
            raise MaterialError(
                Reason.KEY_MALFORMED, f"the {SECRET_SIZE} bytes are no {algorithm} private key"
            )
        # Whatever is costly to derive from the secret lives in this function.
        self._sign = found[1]
        self._secret = secret
        self.public = PublicKey(algorithm, found[0])

    @classmethod
    def generate(cls, algorithm: Algorithm = Algorithm.ED25519) -> PrivateKey:
        """A new key from the operating system's randomness."""
        return cls(scheme(algorithm).core().new_secret(), algorithm)

    @property
    def algorithm(self) -> Algorithm:
        """Whose key it is."""
        return self.public.algorithm

    def sign(self, message: bytes) -> bytes:
        """The signature over exactly ``message``.

        Ed25519 and P-256 give the same 64 bytes each time (RFC 8032, RFC 6979); ML-DSA-65 gives
        other 3,309 bytes each time.
        """
        return self._sign(message)

    def reveal_secret(self) -> bytes:
        """The secret itself, for writing it down; whoever has these bytes can sign."""
        return self._secret

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

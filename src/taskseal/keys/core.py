"""What the module of one algorithm offers.

Source: SPEC section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Verify = Callable[[bytes, bytes], bool]
"""Message and signature → whether the signature is the key's; never raises for bytes."""
Sign = Callable[[bytes], bytes]
"""Message → signature."""


class Core(Protocol):
    """One algorithm; ``ed25519``, ``p256`` and ``mldsa65`` are such modules.

    Each holds its own cryptography, and is imported only when a key of the algorithm is at hand.
    """

    def open_public(self, raw: bytes, /) -> tuple[bytes, Verify] | None:
        """The canonical bytes of a public key of one of its sizes; None when it is not sound."""
        ...

    def open_secret(self, secret: bytes, /) -> tuple[bytes, Sign] | None:
        """The public key of a 32-byte private half; None when it is none."""
        ...

    def new_secret(self) -> bytes:
        """A new private half."""
        ...

    def hold_secret(self, secret: bytes, /) -> Any:
        """The private key as ``cryptography`` holds it."""
        ...

    def hold_public(self, raw: bytes, /) -> Any:
        """The public key as ``cryptography`` holds it."""
        ...

    def secret_of(self, held: object, /) -> bytes | None:
        """The private half of such a key; None for a key of another algorithm."""
        ...

    def public_of(self, held: object, /) -> bytes | None:
        """The canonical bytes of such a public key; None for a key of another algorithm."""
        ...

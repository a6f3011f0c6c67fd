"""What signs: anything that holds a key and its public entry.

Source: SPEC section 4.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from taskseal.keys.entry import KeyEntry


@runtime_checkable
class Signer(Protocol):
    """Holds one key and signs with it; it may be in this process, in a token or far away."""

    @property
    def entry(self) -> KeyEntry:
        """The key as its verifiers know it."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The signature of the entry's key over exactly ``message``.

        Raises:
            Unavailable: when the key cannot be reached now.
        """
        ...

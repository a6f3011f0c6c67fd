"""One pinned key by its version: what an operator was told by another way than the file's.

Source: SPEC section 9 (``--pin V=X``).
"""

from __future__ import annotations

from dataclasses import dataclass

from taskseal.canon.encoding import b64url_decode
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import PublicKey
from taskseal.keys.version import readable_key_version

_THUMBPRINT = "sha256:"
_THUMBPRINT_SIZE = 32


@dataclass(frozen=True, slots=True)
class Pin:
    """A key version and the RFC 7638 thumbprint that its key must have."""

    key_version: str
    thumbprint: str

    @classmethod
    def parse(cls, text: str) -> Pin:
        """The pin of ``V=X``, split at the last ``=``.

        Args:
            text: X is the raw public key in base64url, whose size tells its algorithm, or
                ``sha256:`` and an RFC 7638 thumbprint.

        Raises:
            InputError: ``usage``.
        """
        version, equals, key = text.rpartition("=")
        if not equals or readable_key_version(version) is None:
            raise _unreadable(text, "it is not KEY_VERSION=KEY")
        if key.startswith(_THUMBPRINT):
            thumbprint = key.removeprefix(_THUMBPRINT)
            raw = b64url_decode(thumbprint)
            if raw is None or len(raw) != _THUMBPRINT_SIZE:
                raise _unreadable(text, "a thumbprint has 43 base64url characters")
            return cls(version, thumbprint)
        raw = b64url_decode(key)
        if not raw:
            raise _unreadable(text, "the key is not base64url without padding")
        try:
            return cls(version, PublicKey.of_size(raw).thumbprint)
        except MaterialError as flaw:
            raise _unreadable(text, flaw.detail) from None

    def fits(self, key_version: str, key: PublicKey | None) -> bool:
        """Whether that key under that version is the pinned one."""
        return (
            key is not None
            and key_version == self.key_version
            and key.thumbprint == self.thumbprint
        )

    def __str__(self) -> str:
        return f"{self.key_version}={_THUMBPRINT}{self.thumbprint}"


def _unreadable(text: str, why: str) -> InputError:
    return InputError(
        Reason.USAGE,
        f"the pin {text[:120]!a} is unreadable: {why}",
        hint="write KEY_VERSION=PUBLIC_KEY, or KEY_VERSION=sha256:THUMBPRINT",
    )

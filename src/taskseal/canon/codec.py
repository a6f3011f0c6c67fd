"""Digests: an algorithm and bytes. Text is a codec's business, and never says which codec.

Source: FIPS 180-4 (SHA-256), SPEC section 2.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from taskseal.canon.encoding import b64url_decode, b64url_encode, hex_decode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason

Algorithm = Literal["sha256", "blake3"]

DIGEST_BYTES = 32
"""The length of a digest of either algorithm."""


class _Codec(NamedTuple):
    algorithm: Algorithm
    prefix: str
    encoding: Literal["hex", "b64url"]
    example: str


CODECS: Mapping[str, _Codec] = MappingProxyType(
    {
        "hex": _Codec("sha256", "", "hex", "64 lower-case hexadecimal digits"),
        "sha256:hex": _Codec(
            "sha256", "sha256:", "hex", "sha256: and 64 lower-case hexadecimal digits"
        ),
        "sha256:b64url": _Codec(
            "sha256", "sha256:", "b64url", "sha256: and 43 base64url characters without padding"
        ),
        "blake3:hex": _Codec(
            "blake3", "blake3:", "hex", "blake3: and 64 lower-case hexadecimal digits"
        ),
    }
)
"""The text codecs by name. Which one a member uses follows from its profile alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Digest:
    """The digest of some bytes; compared in constant time.

    Args:
        algorithm: ``sha256`` or ``blake3``.
        value: the 32 bytes.
    """

    algorithm: Algorithm
    value: bytes

    @classmethod
    def of(cls, data: bytes) -> Digest:
        """The SHA-256 digest of ``data``."""
        return cls("sha256", hashlib.sha256(data).digest())

    @classmethod
    def of_json(cls, value: object) -> Digest:
        """The SHA-256 digest of the canonical bytes of ``value``.

        Raises:
            InputError: as :func:`taskseal.canon.jcs.canonicalise`.
        """
        return cls.of(canonicalise(value))

    @classmethod
    def read(cls, text: object, codec: str, *, pointer: str | None = None) -> Digest:
        """The digest that ``text`` spells under ``codec``.

        Args:
            text: what stands in the document.
            codec: a name from :data:`CODECS`; never guessed from the text.
            pointer: where ``text`` stands, for the error.

        Raises:
            InputError: ``digest_malformed`` for anything but the one spelling (spare bits
                included); ``usage`` when no codec has that name.
        """
        rule = _codec(codec)
        value: bytes | None = None
        if type(text) is str and text.startswith(rule.prefix):
            body = text[len(rule.prefix) :]
            value = hex_decode(body) if rule.encoding == "hex" else b64url_decode(body)
        if value is None or len(value) != DIGEST_BYTES:
            raise InputError(
                Reason.DIGEST_MALFORMED,
                f"the digest is not {rule.example}",
                pointer=pointer,
                hint=f"write it as {rule.example}",
            )
        return cls(rule.algorithm, value)

    def text(self, codec: str) -> str:
        """The one spelling of this digest under ``codec``.

        Raises:
            InputError: ``usage`` when no codec has that name, or it is for another algorithm.
        """
        rule = _codec(codec)
        if rule.algorithm != self.algorithm:
            raise InputError(
                Reason.USAGE,
                f"{codec} does not write {self.algorithm} digests",
                hint="a blake3 digest is written with blake3:hex",
            )
        body = self.value.hex() if rule.encoding == "hex" else b64url_encode(self.value)
        return rule.prefix + body

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Digest):
            return NotImplemented
        return self.algorithm == other.algorithm and hmac.compare_digest(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.algorithm, self.value))


def _codec(name: str) -> _Codec:
    rule = CODECS.get(name)
    if rule is None:
        raise InputError(
            Reason.USAGE,
            f"{name!r} is not a digest codec",
            hint=f"one of {', '.join(CODECS)}",
        )
    return rule

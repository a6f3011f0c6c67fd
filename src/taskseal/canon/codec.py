"""Digests: an algorithm and bytes. Text is a codec's business, and never says which codec.

Source: FIPS 180-4 (SHA-256), SPEC section 2.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason

Algorithm = Literal["sha256", "blake3"]


class _Codec(NamedTuple):
    algorithm: Algorithm
    prefix: str
    encoding: Literal["hex", "b64url"]
    spelling: re.Pattern[str]
    example: str


_HEX = "64 lower-case hexadecimal digits"
_B64URL = "43 base64url characters without padding"
# The last of 43 characters carries four bits; the two that are spare must be zero.
_BODY = {"hex": "([0-9a-f]{64})", "b64url": "([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])"}


def _rule(algorithm: Algorithm, prefix: str, encoding: Literal["hex", "b64url"]) -> _Codec:
    body = _HEX if encoding == "hex" else _B64URL
    example = f"{prefix} and {body}" if prefix else body
    return _Codec(algorithm, prefix, encoding, re.compile(prefix + _BODY[encoding]), example)


CODECS: Mapping[str, _Codec] = MappingProxyType(
    {
        "hex": _rule("sha256", "", "hex"),
        "sha256:hex": _rule("sha256", "sha256:", "hex"),
        "sha256:b64url": _rule("sha256", "sha256:", "b64url"),
        "blake3:hex": _rule("blake3", "blake3:", "hex"),
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
        found = rule.spelling.fullmatch(text) if type(text) is str else None
        if found is None:
            raise InputError(
                Reason.DIGEST_MALFORMED,
                f"the digest is not {rule.example}",
                pointer=pointer,
                hint=f"write it as {rule.example}",
            )
        body = found[1]
        value = bytes.fromhex(body) if rule.encoding == "hex" else urlsafe_b64decode(body + "=")
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

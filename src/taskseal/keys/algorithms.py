"""Signature algorithms and public keys.

A new algorithm is one member, one row of the table and one module beside ``ed25519``.

Source: RFC 7517, RFC 7518, RFC 8037 and RFC 9964 (JWK), RFC 7638 (thumbprint), RFC 9864 (names),
SPEC section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.errors import MaterialError, Reason
from taskseal.keys.core import Core, Verify

SECRET_SIZE = 32
"""Bytes of every private half: a seed, or P-256's scalar."""


class Algorithm(StrEnum):
    """A signature algorithm by its fully specified JOSE name."""

    ED25519 = "Ed25519"
    P256 = "ES256"
    MLDSA65 = "ML-DSA-65"


class Scheme(NamedTuple):
    """What the house knows of one algorithm; sizes in bytes.

    ``mark`` is the JWK member that tells the key apart within its ``kty``. A public key is
    ``head`` and then the JWK members of ``parts``, of ``part_size`` each; ``compressed`` is the
    size of another form that is read, or 0. ``secret`` is the JWK member of the private half.
    """

    kty: str
    mark: tuple[str, str]
    jose_names: frozenset[str]
    head: bytes
    parts: tuple[str, ...]
    part_size: int
    compressed: int
    secret: str
    signature_size: int
    core: Callable[[], Core]

    @property
    def public_size(self) -> int:
        """Bytes of a public key in its canonical form."""
        return len(self.head) + len(self.parts) * self.part_size

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of the forms of a public key that are read, the canonical one first."""
        return (self.public_size, self.compressed) if self.compressed else (self.public_size,)

    @property
    def required(self) -> tuple[str, ...]:
        """The JWK members that make a public key, the ones that its thumbprint covers."""
        return ("kty", self.mark[0], *self.parts)


def _ed25519() -> Core:
    # Imported here: libsodium costs more than a whole start-up that verifies nothing.
    from taskseal.keys import ed25519

    return ed25519


def _p256() -> Core:
    from taskseal.keys import p256

    return p256


def _mldsa65() -> Core:
    from taskseal.keys import mldsa65

    return mldsa65


_SCHEMES: Mapping[Algorithm, Scheme] = {
    Algorithm.ED25519: Scheme(
        kty="OKP",
        mark=("crv", "Ed25519"),
        jose_names=frozenset({"Ed25519", "EdDSA"}),
        head=b"",
        parts=("x",),
        part_size=32,
        compressed=0,
        secret="d",
        signature_size=64,
        core=_ed25519,
    ),
    Algorithm.P256: Scheme(
        kty="EC",
        mark=("crv", "P-256"),
        jose_names=frozenset({"ES256"}),
        head=b"\x04",
        parts=("x", "y"),
        part_size=32,
        compressed=33,
        secret="d",
        signature_size=64,
        core=_p256,
    ),
    Algorithm.MLDSA65: Scheme(
        kty="AKP",
        mark=("alg", "ML-DSA-65"),
        jose_names=frozenset({"ML-DSA-65"}),
        head=b"",
        parts=("pub",),
        part_size=1952,
        compressed=0,
        secret="priv",
        signature_size=3309,
        core=_mldsa65,
    ),
}

SECRET_MEMBERS = frozenset(row.secret for row in _SCHEMES.values())
"""The JWK members of private halves."""


def scheme(algorithm: Algorithm) -> Scheme:
    """The row of the table for ``algorithm``."""
    return _SCHEMES[algorithm]


def named_algorithm(name: object) -> Algorithm | None:
    """The algorithm of that JOSE name (``EdDSA`` is one of Ed25519's), or None."""
    for algorithm, row in _SCHEMES.items():
        if isinstance(name, str) and name in row.jose_names:
            return algorithm
    return None


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that was found sound; no other can be built.

    Args:
        algorithm: whose key it is; a message's ``alg`` must match it.
        raw: the key's bytes (Ed25519: 32, ML-DSA-65: 1,952, P-256: the point, 65, or 33 when it
            is compressed; it is kept uncompressed).

    Raises:
        MaterialError: ``key_malformed`` when the size is wrong, ``weak_key`` when the bytes are
            not canonical or no key that is safe to verify with, ``unsupported_algorithm`` when
            this installation lacks the algorithm.
    """

    algorithm: Algorithm
    raw: bytes
    thumbprint: str = field(init=False, compare=False)
    """RFC 7638 over SHA-256, 43 base64url characters."""
    signature_size: int = field(init=False, repr=False, compare=False)
    """Bytes of its signatures."""
    _verify: Verify = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        row = scheme(self.algorithm)
        if type(self.raw) is not bytes or len(self.raw) not in row.sizes:
            raise MaterialError(
                Reason.KEY_MALFORMED,
                f"an {self.algorithm} public key has {row.public_size} bytes",
            )
        found = row.core().open_public(self.raw)
        if found is None:
            raise MaterialError(Reason.WEAK_KEY)
        object.__setattr__(self, "raw", found[0])
        object.__setattr__(self, "signature_size", row.signature_size)
        object.__setattr__(self, "_verify", found[1])
        members = ",".join(f'"{name}":"{text}"' for name, text in sorted(self.jwk().items()))
        digest = sha256(f"{{{members}}}".encode("ascii")).digest()
        object.__setattr__(self, "thumbprint", b64url_encode(digest))

    def __reduce__(self) -> tuple[type[PublicKey], tuple[Algorithm, bytes]]:
        return PublicKey, (self.algorithm, self.raw)

    @classmethod
    def load(cls, algorithm: Algorithm, raw: bytes) -> PublicKey:
        """The key of these bytes; raises as the class does."""
        return cls(algorithm, raw)

    @classmethod
    def of_size(cls, raw: bytes) -> PublicKey:
        """The key of bytes whose size alone tells the algorithm; raises as the class does."""
        for algorithm, row in _SCHEMES.items():
            if len(raw) in row.sizes:
                return cls(algorithm, raw)
        raise MaterialError(
            Reason.KEY_MALFORMED, f"no public key that is used here has {len(raw)} bytes"
        )

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` is this key's over exactly ``message``; never raises for bytes."""
        return self._verify(message, signature)

    def jwk(self) -> dict[str, str]:
        """The key as a public JWK with its required members only."""
        row = scheme(self.algorithm)
        name, value = row.mark
        members = {"kty": row.kty, name: value}
        for index, part in enumerate(row.parts):
            start = len(row.head) + index * row.part_size
            members[part] = b64url_encode(self.raw[start : start + row.part_size])
        return members

    @classmethod
    def from_jwk(cls, value: object) -> PublicKey:
        """The key of a public JWK.

        Raises:
            MaterialError: ``unsupported_algorithm``, ``key_malformed`` (also for a JWK that holds
                a private half, which has no place here) or ``weak_key``; the pointer names the
                member within the JWK.
        """
        members = jwk_members(value)
        for name in sorted(SECRET_MEMBERS & members.keys()):
            raise MaterialError(
                Reason.KEY_MALFORMED,
                "a private JWK stands where a public one belongs",
                pointer=f"/{name}",
                hint=f"remove {name}, and treat the key as compromised if the file was shared",
            )
        algorithm = jwk_algorithm(members)
        return cls(algorithm, jwk_public(members, algorithm))


def jwk_members(value: object) -> Mapping[str, Any]:
    """``value`` as the members of a JWK; raises ``key_malformed`` when it is not an object."""
    if not isinstance(value, Mapping):
        raise MaterialError(Reason.KEY_MALFORMED, "a JWK is a JSON object", pointer="")
    return value


def jwk_algorithm(members: Mapping[str, Any]) -> Algorithm:
    """Which algorithm the key of a JWK has: from kty and crv, or kty and alg for ``AKP``.

    Raises:
        MaterialError: ``unsupported_algorithm``, or ``key_malformed`` also when alg or use
            contradicts the rest.
    """
    kty, at = _jwk_text(members, "kty"), "/kty"
    for algorithm, row in _SCHEMES.items():
        if row.kty != kty:
            continue
        name, value = row.mark
        at = f"/{name}"
        if _jwk_text(members, name) != value:
            continue
        named = members.get("alg", algorithm)
        if not isinstance(named, str) or named not in row.jose_names:
            raise MaterialError(Reason.KEY_MALFORMED, f"alg contradicts {value}", pointer="/alg")
        if members.get("use", "sig") != "sig":
            raise MaterialError(
                Reason.KEY_MALFORMED, "the JWK is not for signatures", pointer="/use"
            )
        return algorithm
    raise MaterialError(
        Reason.UNSUPPORTED_ALGORITHM,
        "the JWK is of a key type that is not used here",
        pointer=at,
    )


def jwk_public(members: Mapping[str, Any], algorithm: Algorithm) -> bytes:
    """The public key's bytes in a JWK of that algorithm; raises ``key_malformed``."""
    row = scheme(algorithm)
    return row.head + b"".join(jwk_bytes(members, part, row.part_size) for part in row.parts)


def jwk_bytes(members: Mapping[str, Any], name: str, size: int) -> bytes:
    """The ``size`` bytes of a base64url member of a JWK; raises ``key_malformed``."""
    text = members.get(name)
    found = b64url_decode(text) if isinstance(text, str) else None
    if found is None or len(found) != size:
        raise MaterialError(
            Reason.KEY_MALFORMED,
            f"{name} is missing, or not {size} bytes in base64url without padding",
            pointer=f"/{name}",
        )
    return found


def _jwk_text(members: Mapping[str, Any], name: str) -> str:
    text = members.get(name)
    if not isinstance(text, str):
        raise MaterialError(Reason.KEY_MALFORMED, f"the JWK has no text {name}", pointer=f"/{name}")
    return text

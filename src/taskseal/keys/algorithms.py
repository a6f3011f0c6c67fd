"""Signature algorithms and public keys.

A new algorithm is one member, one row of the table and one module beside ``ed25519``.

Source: RFC 7517 and RFC 8037 (JWK), RFC 7638 (thumbprint), RFC 9864 (names), SPEC section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.errors import MaterialError, Reason


class Algorithm(StrEnum):
    """A signature algorithm by its fully specified JOSE name."""

    ED25519 = "Ed25519"


class Scheme(NamedTuple):
    """What the house knows of one algorithm; sizes in bytes."""

    kty: str
    crv: str
    jose_names: frozenset[str]
    public_size: int
    signature_size: int
    is_sound: Callable[[bytes], bool]
    verify: Callable[[bytes, bytes, bytes], bool]


@cache
def _ed25519() -> Scheme:
    # Imported here: libsodium costs more than a whole start-up that verifies nothing.
    from taskseal.keys import ed25519

    return Scheme(
        kty="OKP",
        crv="Ed25519",
        jose_names=frozenset({"Ed25519", "EdDSA"}),
        public_size=ed25519.PUBLIC_SIZE,
        signature_size=ed25519.SIGNATURE_SIZE,
        is_sound=ed25519.is_sound,
        verify=ed25519.verify,
    )


_SCHEMES: Mapping[Algorithm, Callable[[], Scheme]] = {Algorithm.ED25519: _ed25519}


def scheme(algorithm: Algorithm) -> Scheme:
    """The row of the table for ``algorithm``."""
    return _SCHEMES[algorithm]()


def read_algorithm(name: object) -> Algorithm:
    """The algorithm of that name.

    Raises:
        MaterialError: ``unsupported_algorithm``.
    """
    try:
        return Algorithm(name)  # type: ignore[arg-type]
    except ValueError:
        shown = repr(name)[:60]
        raise MaterialError(
            Reason.UNSUPPORTED_ALGORITHM, f"{shown} is not an algorithm that keys here may have"
        ) from None


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that was found sound; no other can be built.

    Args:
        algorithm: whose key it is; a message's ``alg`` must match it.
        raw: the key's bytes (Ed25519: 32).

    Raises:
        MaterialError: ``key_malformed`` when the size is wrong, ``weak_key`` when the point is
            not canonical or lies outside the prime-order subgroup.
    """

    algorithm: Algorithm
    raw: bytes
    thumbprint: str = field(init=False, compare=False)
    """RFC 7638 over SHA-256, 43 base64url characters."""
    _verify: Callable[[bytes, bytes, bytes], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        row = scheme(self.algorithm)
        if type(self.raw) is not bytes or len(self.raw) != row.public_size:
            raise MaterialError(
                Reason.KEY_MALFORMED,
                f"an {self.algorithm} public key has {row.public_size} bytes",
            )
        if not row.is_sound(self.raw):
            raise MaterialError(Reason.WEAK_KEY)
        members = f'{{"crv":"{row.crv}","kty":"{row.kty}","x":"{b64url_encode(self.raw)}"}}'
        object.__setattr__(
            self, "thumbprint", b64url_encode(sha256(members.encode("ascii")).digest())
        )
        object.__setattr__(self, "_verify", row.verify)

    @classmethod
    def load(cls, algorithm: Algorithm, raw: bytes) -> PublicKey:
        """The key of these bytes; raises as the class does."""
        return cls(algorithm, raw)

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` is this key's over exactly ``message``; never raises for bytes."""
        return self._verify(self.raw, message, signature)

    def jwk(self) -> dict[str, str]:
        """The key as a public JWK with its required members only (RFC 8037 section 2)."""
        row = scheme(self.algorithm)
        return {"kty": row.kty, "crv": row.crv, "x": b64url_encode(self.raw)}

    @classmethod
    def from_jwk(cls, value: object) -> PublicKey:
        """The key of a public JWK.

        Raises:
            MaterialError: ``unsupported_algorithm``, ``key_malformed`` (also for a JWK that holds
                a private half, which has no place here) or ``weak_key``; the pointer names the
                member within the JWK.
        """
        members = jwk_members(value)
        if "d" in members:
            raise MaterialError(
                Reason.KEY_MALFORMED,
                "a private JWK stands where a public one belongs",
                pointer="/d",
                hint="remove d, and treat the key as compromised if the file was shared",
            )
        return cls(jwk_algorithm(members), jwk_bytes(members, "x"))


def jwk_members(value: object) -> Mapping[str, Any]:
    """``value`` as the members of a JWK; raises ``key_malformed`` when it is not an object."""
    if not isinstance(value, Mapping):
        raise MaterialError(Reason.KEY_MALFORMED, "a JWK is a JSON object", pointer="")
    return value


def jwk_algorithm(members: Mapping[str, Any]) -> Algorithm:
    """Which algorithm the key of a JWK has, from kty, crv and, where present, alg and use.

    Raises:
        MaterialError: ``unsupported_algorithm`` or ``key_malformed``.
    """
    kty, crv = members.get("kty"), members.get("crv")
    for name, member in (("kty", kty), ("crv", crv)):
        if not isinstance(member, str) and (name == "kty" or kty == "OKP"):
            raise MaterialError(
                Reason.KEY_MALFORMED, f"the JWK has no text {name}", pointer=f"/{name}"
            )
    for algorithm in Algorithm:
        row = scheme(algorithm)
        if (kty, crv) == (row.kty, row.crv):
            named = members.get("alg", algorithm)
            if not isinstance(named, str) or named not in row.jose_names:
                raise MaterialError(
                    Reason.KEY_MALFORMED, f"alg contradicts crv {row.crv}", pointer="/alg"
                )
            if members.get("use", "sig") != "sig":
                raise MaterialError(
                    Reason.KEY_MALFORMED, "the JWK is not for signatures", pointer="/use"
                )
            return algorithm
    raise MaterialError(
        Reason.UNSUPPORTED_ALGORITHM,
        "the JWK is of a key type that is not used here",
        pointer="/kty",
    )


def jwk_bytes(members: Mapping[str, Any], name: str) -> bytes:
    """The bytes of a base64url member of a JWK; raises ``key_malformed`` without its content."""
    text = members.get(name)
    found = b64url_decode(text) if isinstance(text, str) else None
    if found is None:
        raise MaterialError(
            Reason.KEY_MALFORMED,
            f"{name} is missing or is not base64url without padding",
            pointer=f"/{name}",
        )
    return found

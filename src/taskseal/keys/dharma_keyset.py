"""A Dharma organisation's signed list of keys, as an operator hands it over.

What is checked here is integrity: the keyset's own signature under a key that it lists. That
the keyset comes from the organisation is the operator's word (SPEC section 4.10).

Source: SPEC section 5.3 (``dharma.server-signing-keyset/v1``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.entry import DHARMA_KEYSET, DHARMA_RECEIPT, DHARMA_TASK, KeyEntry, freeze_bind
from taskseal.keys.pins import refuse_duplicates
from taskseal.keys.shape import Shape
from taskseal.keys.version import MAX_KEY_VERSION
from taskseal.validity import DAY, Instant, Window

MAX_KEYS = 20
MAX_ORGANIZATION = 200
"""Characters of the longest organisation id."""
MAX_KEYSET_LIFETIME = 30 * DAY
"""Nanoseconds from a keyset's issuedAt to its expiresAt at most."""
SIGNED_PROFILES = frozenset({DHARMA_TASK, DHARMA_RECEIPT, DHARMA_KEYSET})
"""What every listed key may sign, each with a ``schema`` member that tells it apart."""

MAX_INTEGER = (1 << 53) - 1
TOP_MEMBERS = (
    "schema", "organizationId", "generation", "keys", "signedByKeyVersion",
    "issuedAt", "expiresAt", "signature",
)  # fmt: skip
KEY_MEMBERS = ("keyVersion", "publicKeyEd25519", "status", "notBefore", "notAfter")
KEY_TEXT = (43, 100)
"""Characters of publicKeyEd25519 that the peer's schema lets through."""


@dataclass(frozen=True, slots=True)
class DharmaKeyset:
    """A keyset whose signature holds under one of its own keys; its times may have passed."""

    organization: str
    generation: int
    window: Window
    signed_by: str
    entries: tuple[KeyEntry, ...]

    @property
    def issuer(self) -> str:
        """The organisation id: the issuer of every listed key."""
        return self.organization

    @classmethod
    def load(cls, data: bytes, source: str = "keyset") -> DharmaKeyset:
        """The keyset of a file.

        A weak or undecodable key spoils only its own version, unless it is the one that signed.

        Args:
            data: the file's bytes.
            source: what errors call the file, such as its path.

        Raises:
            MaterialError: ``trust_malformed`` with the pointer, or ``trust_signature_bad``.
        """
        shape = Shape(source, Reason.TRUST_MALFORMED)
        return cls.read(shape.document(data), shape)

    @classmethod
    def read(cls, value: object, shape: Shape) -> DharmaKeyset:
        """The keyset that a parsed file holds; raises as :meth:`load` does."""
        top = shape.members(value, "", TOP_MEMBERS)
        shape.constant(top["schema"], "/schema", DHARMA_KEYSET)
        organization = shape.text(top["organizationId"], "/organizationId", MAX_ORGANIZATION)
        generation = shape.number(top["generation"], "/generation", 1, MAX_INTEGER)
        signed_by = shape.text(top["signedByKeyVersion"], "/signedByKeyVersion", MAX_KEY_VERSION)
        window = _read_window(top, shape)
        entries = tuple(
            replace(
                _read_entry(item, f"/keys/{index}", organization, window, shape),
                generation=generation,
            )
            for index, item in enumerate(shape.items(top["keys"], "/keys", MAX_KEYS))
        )
        refuse_duplicates(entries, shape)
        if not any(item["status"] == "active" for item in top["keys"]):
            raise shape.fault("/keys", "no key is active")
        if type(top["signature"]) is not str:
            raise shape.fault("/signature", "a text belongs here")
        _check_signature(top, signed_by, entries, shape.source)
        return cls(organization, generation, window, signed_by, entries)


def _read_window(top: Mapping[str, Any], shape: Shape) -> Window:
    issued = shape.instant(top["issuedAt"], "/issuedAt")
    expires = shape.instant(top["expiresAt"], "/expiresAt")
    if not issued < expires <= issued + MAX_KEYSET_LIFETIME:
        raise shape.fault("/expiresAt", "a keyset expires after it is issued, within 30 days")
    return Window(issued, expires)


def _read_entry(
    value: object, pointer: str, organization: str, window: Window, shape: Shape
) -> KeyEntry:
    given = shape.members(value, pointer, KEY_MEMBERS)
    version = shape.text(given["keyVersion"], f"{pointer}/keyVersion", MAX_KEY_VERSION)
    text = shape.text(
        given["publicKeyEd25519"], f"{pointer}/publicKeyEd25519", KEY_TEXT[1], KEY_TEXT[0]
    )
    if given["status"] not in ("active", "overlap"):
        raise shape.fault(f"{pointer}/status", "the text active or overlap belongs here")
    not_before, not_after = _read_instants(given, pointer, shape)
    key, flaw = _read_key(text)
    return KeyEntry(
        issuer=organization,
        key_version=version,
        key=key,
        flaw=flaw,
        not_before=not_before,
        sign_from=not_before,
        sign_until=not_after,
        accept_until=not_after,
        profiles=SIGNED_PROFILES,
        bind=freeze_bind({"/organizationId": (organization,)}),
        keyset=window,
    )


def _read_instants(given: Mapping[str, Any], pointer: str, shape: Shape) -> tuple[Instant, Instant]:
    not_before = shape.instant(given["notBefore"], f"{pointer}/notBefore")
    not_after = shape.instant(given["notAfter"], f"{pointer}/notAfter")
    if not_after <= not_before:
        raise shape.fault(f"{pointer}/notAfter", "notAfter lies no later than notBefore")
    return not_before, not_after


def _read_key(text: str) -> tuple[PublicKey | None, Reason | None]:
    raw = b64url_decode(text)
    if raw is None:
        return None, Reason.KEY_MALFORMED
    try:
        return PublicKey.load(Algorithm.ED25519, raw), None
    except MaterialError as error:
        return None, error.code


def _check_signature(
    top: Mapping[str, Any], signed_by: str, entries: tuple[KeyEntry, ...], source: str
) -> None:
    """Raises ``trust_signature_bad`` unless the named key signed the canonical rest."""
    signer = next((entry for entry in entries if entry.key_version == signed_by), None)
    if signer is None or signer.key is None:
        state = "is not listed" if signer is None else f"has an unusable key ({signer.flaw})"
        raise MaterialError(
            Reason.TRUST_SIGNATURE_BAD,
            f"{source}: the signing key version {signed_by!a} {state}",
            pointer="/signedByKeyVersion",
        )
    signature = b64url_decode(top["signature"])
    signed = canonicalise({name: top[name] for name in TOP_MEMBERS if name != "signature"})
    if signature is None or not signer.key.verify(signed, signature):
        raise MaterialError(
            Reason.TRUST_SIGNATURE_BAD,
            f"{source}: the signature does not hold under {signed_by!a}",
            pointer="/signature",
        )

"""Our signed keysets: one issuer's keys, one generation of them, under several signatures.

A keyset travels as a JWS in general JSON. Two kinds of signature stand in it, told apart by
``typ``: those of keys that vouch for the keyset, and those by which a listed key shows that
somebody holds its private half, which count for nothing else.

Source: SPEC section 4.9 (``taskseal.keyset/v1``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import scheme
from taskseal.keys.entry import KEYSET, KeyEntry
from taskseal.keys.pins import MAX_ISSUER, entry_json, read_entry, refuse_duplicates
from taskseal.keys.shape import Shape
from taskseal.validity import Window, write_instant
from taskseal.wire.general import General, is_general, read_general, write_general
from taskseal.wire.jws import Jws, write_protected

MAX_GENERATION = (1 << 53) - 1
MAX_KEYS = 1000
"""Keys that one keyset may list."""
MAX_KEYSET = 1 << 20
"""Bytes of the largest keyset."""

KEYSET_TYP = f"vnd.taskseal.{KEYSET.replace('/', '.')}+jws"
"""The ``typ`` of a signature that vouches for a keyset (SPEC section 6)."""
POSSESSION_TYP = "vnd.taskseal.possession.v1+jws"
"""The ``typ`` of a signature that only shows that somebody holds the key."""

Purpose = Literal["keyset", "possession"]
_PURPOSES: Mapping[str, Purpose] = {KEYSET_TYP: "keyset", POSSESSION_TYP: "possession"}
_TYPS: Mapping[Purpose, str] = {purpose: typ for typ, purpose in _PURPOSES.items()}
_TOP = ("schema", "issuer", "generation", "issuedAt", "expiresAt", "threshold", "keys")


@dataclass(frozen=True, slots=True)
class Keyset:
    """What is signed: the keys of one issuer, and how many of them must sign the keyset."""

    issuer: str
    generation: int
    window: Window
    threshold: int
    entries: tuple[KeyEntry, ...]

    @classmethod
    def read(cls, value: object, shape: Shape) -> Keyset:
        """The keyset that a parsed payload holds; a flawed key keeps its flaw.

        Raises:
            MaterialError: what ``shape`` says, with the pointer of the first fault.
        """
        top = shape.members(value, "", _TOP)
        shape.constant(top["schema"], "/schema", KEYSET)
        issuer = shape.text(top["issuer"], "/issuer", MAX_ISSUER)
        window = Window(
            shape.instant(top["issuedAt"], "/issuedAt"),
            shape.instant(top["expiresAt"], "/expiresAt"),
        )
        if window.expires <= window.issued:
            raise shape.fault("/expiresAt", "the keyset expires no later than it is issued")
        generation = shape.number(top["generation"], "/generation", 1, MAX_GENERATION)
        entries = tuple(
            replace(
                read_entry(item, f"/keys/{index}", issuer, shape),
                keyset=window,
                generation=generation,
            )
            for index, item in enumerate(shape.items(top["keys"], "/keys", MAX_KEYS))
        )
        refuse_duplicates(entries, shape)
        return cls(
            issuer,
            generation,
            window,
            shape.number(top["threshold"], "/threshold", 1, MAX_KEYS),
            entries,
        )

    def to_json(self) -> dict[str, Any]:
        """The payload; raises ``weak_key`` or ``key_malformed`` for an entry without a key."""
        return {
            "schema": KEYSET,
            "issuer": self.issuer,
            "generation": self.generation,
            "issuedAt": write_instant(self.window.issued),
            "expiresAt": write_instant(self.window.expires),
            "threshold": self.threshold,
            "keys": [entry_json(entry) for entry in self.entries],
        }

    def proposal(self) -> bytes:
        """The unsigned keyset, laid out for the people who are to read it before they sign."""
        return (json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n").encode()

    def find(self, key_version: str) -> KeyEntry | None:
        """The entry of that version, or None."""
        for entry in self.entries:
            if entry.key_version == key_version:
                return entry
        return None

    def signers(self) -> tuple[KeyEntry, ...]:
        """The keys that may sign keysets, standing or not."""
        return tuple(entry for entry in self.entries if KEYSET in entry.profiles)


class Signed(NamedTuple):
    """One signature in a keyset: which version made it, and for what."""

    key_version: str
    purpose: Purpose
    jws: Jws

    def holds(self, entry: KeyEntry | None) -> bool:
        """Whether it is that key's over the keyset; no other key is ever tried."""
        if entry is None or entry.key is None or entry.key_version != self.key_version:
            return False
        if self.jws.header.alg not in scheme(entry.key.algorithm).jose_names:
            return False
        return entry.key.verify(self.jws.signing_input(b""), self.jws.signature)


@dataclass(frozen=True, slots=True)
class SignedKeyset:
    """A keyset with its signatures; :meth:`load` gives none whose own do not hold."""

    keyset: Keyset
    payload: bytes
    signatures: tuple[Signed, ...] = ()

    @classmethod
    def load(cls, data: bytes, source: str = "keyset") -> SignedKeyset:
        """The keyset of a file that an operator trusts by their own word: integrity, not origin.

        Raises:
            MaterialError: ``trust_malformed`` with the pointer; ``trust_signature_bad`` unless
                its signatures hold and its own keys meet its threshold.
        """
        shape = Shape(source, Reason.TRUST_MALFORMED)
        return cls.read(shape.document(data), shape).checked(source)

    @classmethod
    def read(cls, value: object, shape: Shape) -> SignedKeyset:
        """The keyset of a parsed file as it stands, its signatures read but not checked.

        Raises:
            MaterialError: what ``shape`` says. An unsigned proposal is not a keyset.
        """
        if not is_general(value):
            raise shape.fault(
                "",
                "this is no signed keyset: payload and signatures belong here",
                "sign the proposal with `taskseal keyset sign`",
            )
        assert isinstance(value, dict)
        general = _general(value, shape)
        payload = b64url_decode(general.payload)
        if payload is None:
            raise shape.fault("/payload", "the payload is not base64url in its one spelling")
        inner = Shape(f"{shape.source} (payload)", shape.code)
        document = inner.document(payload)
        keyset = Keyset.read(document, inner)
        signatures = tuple(
            _signed(jws, keyset.issuer, f"/signatures/{index}", shape)
            for index, jws in enumerate(general.signatures)
        )
        return cls(keyset, payload, signatures)

    @classmethod
    def unsigned(cls, keyset: Keyset) -> SignedKeyset:
        """A proposal that nobody has signed so far."""
        return cls(keyset, canonicalise(keyset.to_json()))

    @property
    def issuer(self) -> str:
        """Whose keys these are."""
        return self.keyset.issuer

    @property
    def generation(self) -> int:
        """Rises from each keyset of an issuer to the next."""
        return self.keyset.generation

    @property
    def entries(self) -> tuple[KeyEntry, ...]:
        """The listed keys."""
        return self.keyset.entries

    @property
    def digest(self) -> str:
        """SHA-256 of the payload, in hexadecimal: what tells two keysets apart."""
        return sha256(self.payload).hexdigest()

    def made_by(self, purpose: Purpose, entries: Iterable[KeyEntry]) -> frozenset[str]:
        """The versions among ``entries`` whose good signature for ``purpose`` is there."""
        known = {entry.key_version: entry for entry in entries}
        return frozenset(
            each.key_version
            for each in self.signatures
            if each.purpose == purpose and each.holds(known.get(each.key_version))
        )

    def checked(self, source: str) -> SignedKeyset:
        """This keyset; raises ``trust_signature_bad`` unless it holds under its own entries."""
        for index, each in enumerate(self.signatures):
            entry = self.keyset.find(each.key_version)
            # A key of an older generation may have signed too; it proves nothing here.
            if entry is not None and not each.holds(entry):
                raise MaterialError(
                    Reason.TRUST_SIGNATURE_BAD,
                    f"{source}: the signature of {each.key_version!a} does not hold",
                    pointer=f"/signatures/{index}",
                )
        made, wanted = self.made_by("keyset", self.keyset.signers()), self.keyset.threshold
        if len(made) < wanted:
            raise MaterialError(
                Reason.TRUST_SIGNATURE_BAD,
                f"{source}: {len(made)} of its own keyset keys signed it, {wanted} must",
                pointer="/signatures",
            )
        return self

    def with_signature(self, purpose: Purpose, key_version: str, jws: Jws) -> SignedKeyset:
        """This keyset with a signature more; one that is there already is replaced."""
        kept = [
            each
            for each in self.signatures
            if (each.key_version, each.purpose) != (key_version, purpose)
        ]
        added = [*kept, Signed(key_version, purpose, jws)]
        return replace(self, signatures=tuple(sorted(added, key=_order)))

    def merged(self, other: SignedKeyset) -> SignedKeyset:
        """This keyset with the signatures of another copy of it.

        Raises:
            InputError: ``usage`` when the two copies are not of one keyset.
        """
        if other.payload != self.payload:
            raise InputError(
                Reason.USAGE,
                "the files are not copies of one keyset",
                hint="let every holder sign the same proposal",
            )
        merged = self
        for each in other.signatures:
            merged = merged.with_signature(each.purpose, each.key_version, each.jws)
        return merged

    def to_json(self) -> bytes:
        """The file, in canonical form with one line end."""
        pairs = [(each.jws.protected, each.jws.signature) for each in self.signatures]
        return write_general(self.payload, pairs) + b"\n"


def protected_header(entry: KeyEntry, purpose: Purpose) -> str:
    """The header of a signature over a keyset, as it travels; the same each time."""
    assert entry.key is not None
    return write_protected(
        {
            "alg": entry.key.algorithm.value,
            "kid": entry.key_version,
            "iss": entry.issuer,
            "typ": _TYPS[purpose],
        }
    )


def _order(each: Signed) -> tuple[str, str]:
    return each.purpose, each.key_version


def _general(value: dict[str, Any], shape: Shape) -> General:
    try:
        return read_general(value)
    except InputError as fault:
        raise shape.fault(fault.pointer or "", f"{fault.detail} ({fault.code})") from None


def _signed(jws: Jws, issuer: str, at: str, shape: Shape) -> Signed:
    """What a signature says of itself; times and audiences have no place in it."""
    header, where = jws.header, f"{at}/protected"
    purpose = _PURPOSES.get(header.typ or "")
    if purpose is None:
        raise shape.fault(where, f"typ is neither {KEYSET_TYP} nor {POSSESSION_TYP}")
    if header.kid is None or header.iss != issuer:
        raise shape.fault(where, "kid names the key version, and iss the issuer of the keyset")
    if header.iat is not None or header.aud or header.nonce is not None or not header.b64:
        raise shape.fault(where, "no iat, exp, nonce, aud or b64 belongs into this header")
    return Signed(header.kid, purpose, jws)

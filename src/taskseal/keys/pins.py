"""Pins: the keys that an operator trusts by their own word, in one local, unsigned file.

Source: SPEC sections 4.8 and 4.10 (``taskseal.pins/v1``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from taskseal.canon.pointer import join, split
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import SECRET_MEMBERS, Algorithm, PublicKey, scheme
from taskseal.keys.entry import Bind, KeyEntry, Scalar, freeze_bind, is_profile_id, order_fault
from taskseal.keys.shape import Shape
from taskseal.keys.version import MAX_KEY_VERSION
from taskseal.validity import write_instant

PINS_SCHEMA = "taskseal.pins/v1"
MAX_ISSUER = 500
"""Characters of the longest issuer and of the longest principal."""
TRUST_FILE_LIMIT = 1 << 20
"""Bytes of the largest pins file or keyset."""

_REQUIRED = ("keyVersion", "alg", "publicKey", "notBefore", "acceptUntil", "profiles")
_OPTIONAL = ("signFrom", "signUntil", "revokedAt", "principal", "bind")
_JWK_OPTIONAL = ("alg", "use", "key_ops", "kid")
_MAX_JWK_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Pins:
    """The pinned keys of one issuer, in file order; ``notes`` say what a person should know."""

    issuer: str
    entries: tuple[KeyEntry, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, data: bytes, source: str = "pins") -> Pins:
        """The pins of a ``taskseal.pins/v1`` file.

        A weak or undecodable public key does not fail the file: its entry bears the ``flaw``,
        and a message that names it is refused for that.

        Args:
            data: the file's bytes.
            source: what errors call the file, such as its path.

        Raises:
            MaterialError: ``trust_malformed`` with the pointer of the first fault.
        """
        shape = Shape(source, Reason.TRUST_MALFORMED)
        return cls.read(shape.document(data), shape)

    @classmethod
    def read(cls, value: object, shape: Shape) -> Pins:
        """The pins that a parsed file holds; raises as :meth:`load` does."""
        top = shape.members(value, "", ("schema", "issuer", "keys"))
        shape.constant(top["schema"], "/schema", PINS_SCHEMA)
        issuer = shape.text(top["issuer"], "/issuer", MAX_ISSUER)
        entries = tuple(
            read_entry(item, f"/keys/{index}", issuer, shape)
            for index, item in enumerate(shape.items(top["keys"], "/keys"))
        )
        refuse_duplicates(entries, shape)
        return cls(issuer, entries, _notes(entries))

    @classmethod
    def of(cls, entries: Iterable[KeyEntry]) -> Pins:
        """Pins made of entries of one issuer.

        Raises:
            MaterialError: ``trust_malformed`` when there is none, when two issuers are among
                them, or when they could not be read back from a file; ``weak_key`` or
                ``key_malformed`` when an entry has no usable key.
        """
        given = tuple(entries)
        shape = Shape("pins", Reason.TRUST_MALFORMED)
        issuers = sorted({entry.issuer for entry in given})
        if len(issuers) != 1:
            raise shape.fault("/issuer", f"pins are of one issuer, here are {len(issuers)}")
        made = cls(issuers[0], given, _notes(given))
        cls.load(made.to_json())
        return made

    def to_json(self) -> bytes:
        """The file, laid out for people, who are to read it before they trust it.

        Raises:
            MaterialError: ``weak_key`` or ``key_malformed`` when an entry has no usable key.
        """
        document = {
            "schema": PINS_SCHEMA,
            "issuer": self.issuer,
            "keys": [entry_json(entry) for entry in self.entries],
        }
        return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode(
            errors="surrogatepass"  # refused when it is read, with the pointer
        )


def entry_json(entry: KeyEntry) -> dict[str, Any]:
    """``entry`` as the member of a pins file; instants in UTC."""
    if entry.key is None:
        raise MaterialError(
            entry.flaw or Reason.KEY_MALFORMED,
            f"key version {entry.key_version!a} has no usable key",
        )
    written: dict[str, Any] = {
        "keyVersion": entry.key_version,
        "alg": entry.key.algorithm.value,
        "publicKey": entry.key.jwk(),
        "notBefore": write_instant(entry.not_before),
    }
    if entry.sign_from != entry.not_before:
        written["signFrom"] = write_instant(entry.sign_from)
    written["signUntil"] = write_instant(entry.sign_until)
    written["acceptUntil"] = write_instant(entry.accept_until)
    if entry.revoked_at is not None:
        written["revokedAt"] = write_instant(entry.revoked_at)
    written["profiles"] = sorted(entry.profiles)
    if entry.principal is not None:
        written["principal"] = entry.principal
    if entry.bind:
        written["bind"] = {pointer: list(values) for pointer, values in entry.bind.items()}
    return written


def read_entry(value: object, pointer: str, issuer: str, shape: Shape) -> KeyEntry:
    """The entry that a member of ``keys`` holds; raises what ``shape`` says."""
    given = shape.members(value, pointer, _REQUIRED, _OPTIONAL)
    version = shape.text(given["keyVersion"], f"{pointer}/keyVersion", MAX_KEY_VERSION)
    key, flaw = _read_key(given, pointer, shape)
    instants = {
        name: shape.instant(given[name], f"{pointer}/{name}")
        for name in ("notBefore", "signFrom", "signUntil", "acceptUntil", "revokedAt")
        if name in given
    }
    not_before, accept_until = instants["notBefore"], instants["acceptUntil"]
    sign_from = instants.get("signFrom", not_before)
    sign_until = instants.get("signUntil", accept_until)
    disorder = order_fault(not_before, sign_from, sign_until, accept_until)
    if disorder is not None:
        # An absent signUntil is acceptUntil, which then is the one to blame.
        member = disorder[0] if disorder[0] in given else "acceptUntil"
        raise shape.fault(f"{pointer}/{member}", f"{member} lies before {disorder[1]}")
    return KeyEntry(
        issuer=issuer,
        key_version=version,
        key=key,
        flaw=flaw,
        not_before=not_before,
        sign_from=sign_from,
        sign_until=sign_until,
        accept_until=accept_until,
        revoked_at=instants.get("revokedAt"),
        profiles=_read_profiles(given["profiles"], f"{pointer}/profiles", shape),
        principal=shape.text(given["principal"], f"{pointer}/principal", MAX_ISSUER)
        if "principal" in given
        else None,
        bind=read_bind(given.get("bind", {}), f"{pointer}/bind", shape),
    )


def _read_key(
    given: Mapping[str, Any], pointer: str, shape: Shape
) -> tuple[PublicKey | None, Reason | None]:
    """The public key of an entry, or the flaw that keeps it from verifying anything."""
    try:
        algorithm = Algorithm(given["alg"])
    except ValueError:
        known = ", ".join(Algorithm)
        raise shape.fault(
            f"{pointer}/alg", "the algorithm is not one that is used here", f"known are {known}"
        ) from None
    row = scheme(algorithm)
    at = f"{pointer}/publicKey"
    jwk = given["publicKey"]
    for secret in sorted(SECRET_MEMBERS & jwk.keys()) if isinstance(jwk, Mapping) else ():
        raise shape.fault(
            f"{at}/{secret}",
            "a private key stands in a file that is made to be shared",
            f"remove {secret}; treat the key as compromised if the file was shared",
        )
    mark, value = row.mark
    optional = tuple(name for name in _JWK_OPTIONAL if name != mark)
    jwk = shape.members(jwk, at, row.required, optional)
    shape.constant(jwk["kty"], f"{at}/kty", row.kty)
    shape.constant(jwk[mark], f"{at}/{mark}", value)
    for part in row.parts:
        shape.text(jwk[part], f"{at}/{part}", _MAX_JWK_TEXT, 0)
    try:
        return PublicKey.from_jwk(jwk), None
    except MaterialError as error:
        if error.pointer not in (None, *(f"/{part}" for part in row.parts)):
            raise shape.fault(f"{at}{error.pointer}", error.detail) from None
        return None, error.code


def _read_profiles(value: object, pointer: str, shape: Shape) -> frozenset[str]:
    """The profile ids that a key may sign, at least one."""
    found = set()
    for index, item in enumerate(shape.items(value, pointer)):
        if not is_profile_id(item):
            raise shape.fault(
                f"{pointer}/{index}", "a profile id belongs here", "such as dharma.task/v1"
            )
        found.add(item)
    return frozenset(found)


def read_bind(value: object, pointer: str, shape: Shape) -> Bind:
    """Pointers into a message with the values allowed there, an array or one value alone."""
    if not isinstance(value, Mapping):
        raise shape.fault(pointer, "an object of pointers and allowed values belongs here")
    bind: dict[str, tuple[Scalar, ...]] = {}
    for target, values in value.items():
        at = pointer + join([target])
        try:
            tokens = split(target)
        except InputError:
            tokens = ()
        if not tokens:
            raise shape.fault(at, "a JSON pointer names the member, such as /organizationId")
        allowed = (values,) if isinstance(values, str) else shape.items(values, at)
        for index, item in enumerate(allowed):
            if item is not None and type(item) not in (str, int, bool):
                raise shape.fault(f"{at}/{index}", "a text, an integer, true, false or null")
        bind[target] = tuple(allowed)
    return freeze_bind(bind)


def refuse_duplicates(entries: Iterable[KeyEntry], shape: Shape) -> None:
    """Raises what ``shape`` says when one version stands twice."""
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.key_version in seen:
            raise shape.fault(
                f"/keys/{index}/keyVersion",
                f"the key version {entry.key_version!a} stands here twice",
                "give each key a version of its own",
            )
        seen.add(entry.key_version)


def _notes(entries: Iterable[KeyEntry]) -> tuple[str, ...]:
    """What is allowed but worth a person's look: a key under two versions, keys without use."""
    notes = []
    first: dict[str, str] = {}
    for entry in entries:
        if entry.key is None:
            notes.append(f"the key of version {entry.key_version!a} is unusable: {entry.flaw}")
            continue
        other = first.setdefault(entry.key.thumbprint, entry.key_version)
        if other != entry.key_version:
            notes.append(f"versions {other!a} and {entry.key_version!a} are one key")
    return tuple(notes)

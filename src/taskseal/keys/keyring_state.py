"""The public side of a keyring as one value: what ``keyring.json`` holds.

Source: SPEC section 4.11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.entry import KeyEntry, profiles_fault
from taskseal.keys.pins import MAX_ISSUER, entry_json, read_entry, refuse_duplicates
from taskseal.keys.shape import Shape
from taskseal.validity import Instant, write_instant

KEYRING_SCHEMA = "taskseal.keyring/v1"
STATE_LIMIT = 1 << 24
"""Bytes of the largest ``keyring.json``."""

_SUCCESSOR = (
    "`taskseal keys rotate VERSION` makes the key that follows it, `taskseal keys new` another"
)

_MAX_REVISION = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class State:
    """The keys of one issuer, and how many changes made them."""

    issuer: str
    revision: int = 0
    entries: tuple[KeyEntry, ...] = ()

    @classmethod
    def load(cls, data: bytes, source: str) -> State:
        """The state that a file holds.

        Raises:
            MaterialError: ``keyring_malformed`` with the pointer.
        """
        shape = Shape(source, Reason.KEYRING_MALFORMED)
        top = shape.members(shape.document(data), "", ("schema", "issuer", "revision", "keys"))
        shape.constant(top["schema"], "/schema", KEYRING_SCHEMA)
        issuer = shape.text(top["issuer"], "/issuer", MAX_ISSUER)
        revision = shape.number(top["revision"], "/revision", 0, _MAX_REVISION)
        listed = shape.items(top["keys"], "/keys") if top["keys"] != [] else ()
        entries = tuple(
            _read_own(item, f"/keys/{index}", issuer, shape) for index, item in enumerate(listed)
        )
        refuse_duplicates(entries, shape)
        return cls(issuer, revision, entries)

    def to_json(self) -> bytes:
        """The file, in canonical form with one line end."""
        keys = [entry_json(entry) for entry in self.entries]
        about = {"schema": KEYRING_SCHEMA, "issuer": self.issuer, "revision": self.revision}
        return canonicalise({**about, "keys": keys}) + b"\n"

    def find(self, key_version: str) -> KeyEntry:
        """The key of that version.

        Raises:
            MaterialError: ``unknown_key``.
        """
        for entry in self.entries:
            if entry.key_version == key_version:
                return entry
        raise MaterialError(
            Reason.UNKNOWN_KEY,
            f"the keyring holds no key version {key_version!a}",
            hint=f"it holds {_names(self.entries)}" if self.entries else "it is empty",
        )

    def with_issuer(self, issuer: str) -> State:
        """The state of a keyring for ``issuer``, which its first key fixes.

        Raises:
            InputError: ``usage`` when keys of another issuer are there.
        """
        if issuer == self.issuer:
            return self
        if self.entries:
            raise InputError(
                Reason.USAGE,
                f"this keyring is of the issuer {self.issuer!a}, not {issuer!a}",
                hint="keep one keyring an issuer: name another one with --keyring DIR",
            )
        return replace(self, issuer=issuer)

    def with_entry(self, entry: KeyEntry) -> State:
        """The state with one key more.

        Raises:
            MaterialError: ``key_version_taken`` when the version or the very key is there; one
                key under two versions could sign bare bytes for two profiles.
        """
        for known in self.entries:
            if known.key_version == entry.key_version:
                raise MaterialError(Reason.KEY_VERSION_TAKEN)
            if known.key == entry.key:
                raise MaterialError(
                    Reason.KEY_VERSION_TAKEN,
                    f"this key is in the keyring already, as version {known.key_version!a}",
                    hint="sign with that version, or make a new key",
                )
        return replace(self, revision=self.revision + 1, entries=(*self.entries, entry))

    def with_changes(self, changed: Iterable[KeyEntry]) -> State:
        """The state with entries in the place of those of their versions, and new ones added.

        Raises:
            MaterialError: as :meth:`with_entry`.
        """
        given = {entry.key_version: entry for entry in changed}
        entries = tuple(given.pop(known.key_version, known) for known in self.entries)
        if not given and entries == self.entries:
            return self
        state = replace(self, entries=entries)
        for entry in given.values():
            state = state.with_entry(entry)
        return replace(state, revision=self.revision + 1)

    def choose(self, profile: str | None, key_version: str | None, at: Instant) -> KeyEntry:
        """The key that is to sign ``profile`` at ``at``; the named one, or the only one.

        Raises:
            MaterialError: ``unknown_key``, ``key_wrong_profile``, ``key_revoked``,
                ``key_not_signing`` for a named one; ``no_signing_key``,
                ``several_signing_keys`` otherwise.
        """
        if key_version is not None:
            return _may_sign(self.find(key_version), profile, at)
        able = [entry for entry in self.entries if profile is None or profile in entry.profiles]
        standing = [entry for entry in able if entry.may_sign(at) is None]
        if len(standing) == 1:
            return standing[0]
        what = profile or "anything"
        if standing:
            raise MaterialError(
                Reason.SEVERAL_SIGNING_KEYS, f"{_names(standing)} may sign {what} now"
            )
        if able:
            when = write_instant(at)
            raise MaterialError(
                Reason.NO_SIGNING_KEY,
                f"{_names(able)} may sign {what}, but not at {when}",
                hint=_SUCCESSOR,
            )
        raise MaterialError(Reason.NO_SIGNING_KEY, f"no key of the keyring may sign {what}")


def _may_sign(entry: KeyEntry, profile: str | None, at: Instant) -> KeyEntry:
    """``entry`` when it may sign ``profile`` at ``at``; raises why not otherwise."""
    name = f"key version {entry.key_version!a}"
    if profile is not None and profile not in entry.profiles:
        may = ", ".join(sorted(entry.profiles))
        raise MaterialError(
            Reason.KEY_WRONG_PROFILE, f"{name} may not sign {profile}", hint=f"it may sign {may}"
        )
    fault = entry.may_sign(at)
    if fault is Reason.KEY_REVOKED and entry.revoked_at is not None:
        since = write_instant(entry.revoked_at)
        raise MaterialError(fault, f"{name} is revoked since {since}", hint=_SUCCESSOR)
    if fault is not None:
        span = f"{write_instant(entry.sign_from)} to {write_instant(entry.sign_until)}"
        raise MaterialError(fault, f"{name} signs from {span}; now is {write_instant(at)}")
    return entry


def _read_own(value: Mapping[str, object], pointer: str, issuer: str, shape: Shape) -> KeyEntry:
    """An entry of a key that this keyring signs with, and so is bound to the rules of signing."""
    entry = read_entry(value, pointer, issuer, shape)
    if entry.flaw is not None:
        raise shape.fault(f"{pointer}/publicKey", f"the public key is unusable: {entry.flaw}")
    fault = profiles_fault(entry.profiles)
    if fault is not None:
        raise shape.fault(f"{pointer}/profiles", fault)
    return entry


def _names(entries: Iterable[KeyEntry]) -> str:
    return ", ".join(ascii(entry.key_version) for entry in entries)

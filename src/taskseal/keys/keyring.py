"""The keyring: the only door to secrets on disk.

What lies where, and in which order it is written, :mod:`taskseal.keys.keyring_folder` knows. A
crash leaves the old state or the new one.

Source: SPEC sections 4.4, 4.7, 4.11 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from taskseal import storage
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys import formats, vault
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.entry import KeyEntry
from taskseal.keys.keyring_folder import KeyringFolder
from taskseal.keys.keyring_state import State
from taskseal.keys.lineage import find_lineage
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.keys.rotation import Rotation, Wish, plan_rotation
from taskseal.keys.terms import Terms, When, draft
from taskseal.keys.version import check_name
from taskseal.storage import REAL_DISK, Disk
from taskseal.validity import Instant, to_instant

DEFAULT_ISSUER = "local"
"""The issuer of a keyring whose first key names none."""

Unlock = bytes | None | Callable[[], bytes | None]
"""A passphrase, none, or what asks for one when it turns out to be needed."""


class Keyring:
    """A folder of private keys and what they may do; open it with :meth:`open`."""

    lock_wait = storage.LOCK_WAIT
    """Seconds that a change waits for another process's."""

    def __init__(self, folder: KeyringFolder, state: State, passphrase: Unlock) -> None:
        self.path = folder.path
        self._folder = folder
        self._state = state
        self._passphrase = passphrase

    @classmethod
    def create(
        cls,
        path: str | Path,
        issuer: str = DEFAULT_ISSUER,
        *,
        passphrase: Unlock = None,
        disk: Disk = REAL_DISK,
    ) -> Keyring:
        """A new, empty keyring.

        Args:
            path: its folder, made with its missing parents (0700).
            issuer: whose keys it will hold; the first key may still name another.
            passphrase: what unlocks keys for signing and export, unless they are told.
            disk: the calls to make.

        Raises:
            InputError: ``usage``, ``file_exists``, ``file_unwritable``.
        """
        state = State(check_name(issuer, "issuer"))
        folder = KeyringFolder(Path(path), disk)
        folder.make(state)
        return cls(folder, state, passphrase)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        passphrase: Unlock = None,
        disk: Disk = REAL_DISK,
    ) -> Keyring:
        """The keyring in a folder; arguments as for :meth:`create`.

        Raises:
            MaterialError: ``keyring_missing``, ``keyring_malformed``.
            InputError: ``file_unreadable``.
        """
        folder = KeyringFolder(Path(path), disk)
        return cls(folder, folder.read(), passphrase)

    @classmethod
    def open_or_create(
        cls,
        path: str | Path,
        issuer: str = DEFAULT_ISSUER,
        *,
        passphrase: Unlock = None,
        disk: Disk = REAL_DISK,
    ) -> Keyring:
        """The keyring in a folder, made when there is none; as :meth:`create` and :meth:`open`."""
        try:
            return cls.open(path, passphrase=passphrase, disk=disk)
        except MaterialError as absent:
            if absent.code is not Reason.KEYRING_MISSING:
                raise
        try:
            return cls.create(path, issuer, passphrase=passphrase, disk=disk)
        except InputError as present:
            # Another process was faster.
            if present.code is not Reason.FILE_EXISTS:
                raise
        return cls.open(path, passphrase=passphrase, disk=disk)

    @property
    def issuer(self) -> str:
        """Whose keys these are."""
        return self._state.issuer

    def entries(self) -> tuple[KeyEntry, ...]:
        """The public side of every key, oldest first."""
        return self._state.entries

    def show(self, key_version: str) -> KeyEntry:
        """The public side of one key; raises ``unknown_key``."""
        return self._state.find(key_version)

    def pins(self) -> Pins:
        """Pins of every key, for receivers; raises ``no_signing_key`` when there is none."""
        if not self._state.entries:
            raise MaterialError(Reason.NO_SIGNING_KEY, "the keyring is empty: nothing to pin")
        return Pins.of(self._state.entries)

    def new(
        self,
        key_version: str,
        profiles: Iterable[str],
        algorithm: Algorithm = Algorithm.ED25519,
        **terms: Unpack[Terms],
    ) -> KeyEntry:
        """Makes a key and keeps it.

        Args:
            key_version: its name, 1 to 500 characters.
            profiles: the profile ids that it may sign, at least one; Dharma's take Ed25519.
            algorithm: what it signs with.
            terms: its instants and the rest, see :class:`Terms`.

        Raises:
            InputError: ``usage`` for a version, profiles, instants or a passphrase that no key
                may have; ``file_unwritable``.
            MaterialError: ``passphrase_needed``, ``key_version_taken``, ``keyring_malformed``.
            Unavailable: ``keyring_busy``.
        """
        return self._add(PrivateKey.generate(algorithm), key_version, profiles, terms)

    def import_key(
        self,
        key: PrivateKey,
        key_version: str,
        profiles: Iterable[str],
        **terms: Unpack[Terms],
    ) -> KeyEntry:
        """Keeps a key that exists; arguments and errors as for :meth:`new`.

        A published key may be kept; it is refused where it would sign.
        """
        return self._add(key, key_version, profiles, terms)

    def rotate(
        self,
        name: str | None = None,
        *,
        at: When,
        wish: Wish | None = None,
        dry_run: bool = False,
        passphrase: Unlock = None,
        allow_plain: bool = False,
        cost: vault.Cost = vault.COST,
    ) -> Rotation:
        """Lets one key hand over to the next, in one write.

        One that is under way is found and given back, so that this may be called at any time;
        :func:`taskseal.keys.rotation.plan_rotation` says when one is.

        Args:
            name: a key version, or what comes before its number; None where there is one such.
            at: the instant of the rotation.
            wish: how fast, and past whom.
            dry_run: say what would be done, and do nothing.
            passphrase: what seals the new private half; asked for only when there is one.
            allow_plain: keep it in the clear where there is no passphrase.
            cost: of a guess at the passphrase.

        Raises:
            MaterialError: ``unknown_key``, ``no_signing_key``, ``key_version_taken``,
                ``receivers_behind``, ``passphrase_needed``, ``keyring_malformed``.
            InputError: ``usage``, ``file_unwritable``.
            Unavailable: ``keyring_busy``.
        """
        now = to_instant(at)

        def planned(entries: tuple[KeyEntry, ...]) -> Rotation:
            return plan_rotation(*find_lineage(entries, name, now), now, wish or Wish())

        plan = planned(self._folder.read().entries)
        if dry_run:
            return plan
        # Before the lock: asking and sealing take their time.
        made = plan.begins and self._successor(plan.old, passphrase, allow_plain, cost)
        with self._folder.locked(self.lock_wait) as before:
            plan, secrets = planned(before.entries), {}
            if plan.begins:
                key, sealed = made or self._successor(plan.old, passphrase, allow_plain, cost)
                plan = plan.with_key(key.public)
                secrets = {plan.new: sealed}
            self._change(before, before.with_changes(plan.changed), secrets)
        return plan

    def revoke(self, key_version: str, *, at: When) -> KeyEntry:
        """Revokes a key from ``at`` on, for whoever reads pins or a keyset made from now on.

        One that is revoked already stays so, from the earlier of the two instants.

        Args:
            key_version: which key.
            at: from when on nothing by it counts.

        Raises:
            MaterialError, InputError, Unavailable: as :meth:`rotate`.
        """
        since = to_instant(at)
        with self._folder.locked(self.lock_wait) as before:
            entry = before.find(key_version)
            if entry.revoked_at is None or since < entry.revoked_at:
                entry = replace(entry, revoked_at=since)
            self._change(before, before.with_changes([entry]), {})
        return entry

    def is_sealed(self, key_version: str) -> bool:
        """Whether the private half of that key needs a passphrase."""
        return vault.is_sealed(*self._folder.read_private(self.show(key_version)))

    def signer(
        self,
        profile: str | None,
        *,
        key_version: str | None = None,
        at: Instant,
        passphrase: Unlock = None,
    ) -> KeySigner:
        """The signer for a profile.

        Args:
            profile: what is to be signed; None for whatever the key may sign.
            key_version: which key; without it the one key that may sign ``profile`` at ``at``.
            at: the instant of signing.
            passphrase: what unlocks the key, instead of what the keyring was opened with.

        Raises:
            MaterialError: ``no_signing_key``, ``several_signing_keys``, ``unknown_key``,
                ``key_wrong_profile``, ``key_not_signing``, ``key_revoked``,
                ``passphrase_needed``, ``passphrase_wrong``, ``keyring_malformed``.
        """
        entry = self._state.choose(profile, key_version, at)
        return KeySigner(entry, self._unlock(entry, passphrase))

    def holder(self, key_version: str, passphrase: Unlock = None) -> KeySigner:
        """What proves that the keyring holds a key, also before and after it may sign messages.

        Args:
            key_version: which key.
            passphrase: what unlocks it, instead of what the keyring was opened with.

        Raises:
            MaterialError: ``unknown_key``, ``passphrase_needed``, ``passphrase_wrong``,
                ``keyring_malformed``.
        """
        entry = self.show(key_version)
        return KeySigner(entry, self._unlock(entry, passphrase))

    def export(
        self,
        key_version: str,
        form: formats.Form,
        *,
        private: bool = False,
        passphrase: Unlock = None,
        lock_with: bytes | None = None,
    ) -> bytes:
        """One key as a file.

        Args:
            key_version: which key.
            form: ``pem``, ``ssh``, ``jwk`` or ``raw``.
            private: the private half; the public one otherwise.
            passphrase: what unlocks the private half here.
            lock_with: the passphrase of the exported file; None writes it in the clear.

        Raises:
            MaterialError: ``unknown_key``, ``passphrase_needed``, ``passphrase_wrong``,
                ``keyring_malformed``, ``extra_missing``.
            InputError: ``usage`` when the form cannot be locked, or the algorithm has no such.
        """
        entry = self.show(key_version)
        formats.check_form(_public(entry).algorithm, form, private=private)
        if private:
            return formats.write_private_key(self._unlock(entry, passphrase), form, lock_with)
        return formats.write_public_key(_public(entry), form)

    def _add(
        self, key: PrivateKey, key_version: str, profiles: Iterable[str], terms: Terms
    ) -> KeyEntry:
        # Everything slow or refusable comes before the lock.
        drafted = draft(key, key_version, profiles, self.issuer, terms)
        passphrase, plain = terms.get("passphrase"), terms.get("allow_plain", False)
        sealed = vault.seal_new(key, passphrase, plain, terms.get("cost", vault.COST))
        with self._folder.locked(self.lock_wait) as before:
            with_issuer = before.with_issuer(terms.get("issuer") or before.issuer)
            entry = replace(drafted, issuer=with_issuer.issuer)
            self._change(before, with_issuer.with_entry(entry), {entry: sealed})
        return entry

    def _change(self, before: State, after: State, secrets: Mapping[KeyEntry, bytes]) -> None:
        if after is not before:
            self._folder.write(before, after, secrets)
        self._state = after

    def _successor(
        self, old: KeyEntry, passphrase: Unlock, allow_plain: bool, cost: vault.Cost
    ) -> tuple[PrivateKey, bytes]:
        """A new key of the old one's algorithm, and the file that keeps it."""
        given = passphrase() if callable(passphrase) else passphrase
        key = PrivateKey.generate(_public(old).algorithm)
        return key, vault.seal_new(key, given, allow_plain, cost)

    def _unlock(self, entry: KeyEntry, passphrase: Unlock) -> PrivateKey:
        data, source = self._folder.read_private(entry)
        given = self._passphrase if passphrase is None else passphrase
        if callable(given):
            given = given() if vault.is_sealed(data, source) else None
        return vault.unseal(data, _public(entry), given, source)


def _public(entry: KeyEntry) -> PublicKey:
    """The key of an entry of a keyring, which holds sound ones only."""
    if entry.key is None:
        raise MaterialError(entry.flaw or Reason.KEY_MALFORMED)
    return entry.key

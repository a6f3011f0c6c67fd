"""The keyring: the only door to secrets on disk.

A folder ``{keyring.json, lock, private/<thumbprint>.key, history/NNNN.json}``. A change is made
under the lock in this order: the private file, the state before as history, the new state. A
crash in between leaves the old state; a private file that nothing names yet does no harm.

Source: SPEC sections 4.4, 4.7 and 4.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from taskseal import storage
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys import formats, vault
from taskseal.keys.algorithms import PublicKey
from taskseal.keys.entry import KeyEntry
from taskseal.keys.keyring_state import STATE_LIMIT, State
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.keys.terms import Terms, draft
from taskseal.keys.version import check_name
from taskseal.storage import REAL_DISK, Disk
from taskseal.validity import Instant

DEFAULT_ISSUER = "local"
"""The issuer of a keyring whose first key names none."""

Unlock = bytes | None | Callable[[], bytes | None]
"""A passphrase, none, or what asks for one when it turns out to be needed."""


class Keyring:
    """A folder of private keys and what they may do; open it with :meth:`open`."""

    lock_wait = storage.LOCK_WAIT
    """Seconds that a change waits for another process's."""

    def __init__(self, path: Path, state: State, passphrase: Unlock, disk: Disk) -> None:
        self.path = path
        self._state = state
        self._passphrase = passphrase
        self._disk = disk

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
        folder = Path(path)
        for each in (folder, folder / "private", folder / "history"):
            storage.make_folder(each, disk=disk)
        storage.write_atomic(folder / "keyring.json", state.to_json(), disk=disk)
        return cls(folder, state, passphrase, disk)

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
        folder = Path(path)
        return cls(folder, _read_state(folder), passphrase, disk)

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

    def new(self, key_version: str, profiles: Iterable[str], **terms: Unpack[Terms]) -> KeyEntry:
        """Makes a key and keeps it.

        Args:
            key_version: its name, 1 to 500 characters.
            profiles: the profile ids that it may sign, at least one.
            terms: its instants and the rest, see :class:`Terms`.

        Raises:
            InputError: ``usage`` for a version, profiles, instants or a passphrase that no key
                may have; ``file_unwritable``.
            MaterialError: ``passphrase_needed``, ``key_version_taken``, ``keyring_malformed``.
            Unavailable: ``keyring_busy``.
        """
        return self._add(PrivateKey.generate(), key_version, profiles, terms)

    def import_key(
        self,
        key: PrivateKey,
        key_version: str,
        profiles: Iterable[str],
        **terms: Unpack[Terms],
    ) -> KeyEntry:
        """Keeps a key that exists; arguments and errors as for :meth:`new`.

        A published key may be kept: it is refused where it would sign.
        """
        return self._add(key, key_version, profiles, terms)

    def is_sealed(self, key_version: str) -> bool:
        """Whether the private half of that key needs a passphrase."""
        path = self._private_path(self.show(key_version))
        return vault.is_sealed(_read_own_file(path, vault.VAULT_LIMIT), str(path))

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
            InputError: ``usage`` when the form cannot be locked.
        """
        entry = self.show(key_version)
        if private:
            return formats.write_private_key(self._unlock(entry, passphrase), form, lock_with)
        return formats.write_public_key(_public(entry), form)

    def _add(
        self, key: PrivateKey, key_version: str, profiles: Iterable[str], terms: Terms
    ) -> KeyEntry:
        passphrase = terms.get("passphrase")
        if passphrase is None and not terms.get("allow_plain", False):
            raise MaterialError(
                Reason.PASSPHRASE_NEEDED, "a new private key is kept under a passphrase"
            )
        # Everything slow or refusable comes before the lock.
        drafted = draft(key, key_version, profiles, self.issuer, terms)
        sealed = vault.seal(key, passphrase, terms.get("cost", vault.COST))
        with storage.lock(self.path, wait=self.lock_wait, disk=self._disk):
            before = _read_state(self.path)
            with_issuer = before.with_issuer(terms.get("issuer") or before.issuer)
            entry = replace(drafted, issuer=with_issuer.issuer)
            after = with_issuer.with_entry(entry)
            for each in (self.path, self.path / "private", self.path / "history"):
                storage.sweep(each, disk=self._disk)
            # No entry names this key yet, so a file of its name is one that a crash left.
            storage.write_atomic(self._private_path(entry), sealed, overwrite=True, disk=self._disk)
            self._write_state(before, after)
        return entry

    def _write_state(self, before: State, after: State) -> None:
        past = self.path / "history" / f"{before.revision:04d}.json"
        storage.write_atomic(past, before.to_json(), overwrite=True, disk=self._disk)
        storage.write_atomic(
            self.path / "keyring.json", after.to_json(), overwrite=True, disk=self._disk
        )
        self._state = after

    def _private_path(self, entry: KeyEntry) -> Path:
        return self.path / "private" / f"{_public(entry).thumbprint}.key"

    def _unlock(self, entry: KeyEntry, passphrase: Unlock) -> PrivateKey:
        path = self._private_path(entry)
        data = _read_own_file(path, vault.VAULT_LIMIT)
        given = self._passphrase if passphrase is None else passphrase
        if callable(given):
            given = given() if vault.is_sealed(data, str(path)) else None
        return vault.unseal(data, _public(entry), given, str(path))


def _public(entry: KeyEntry) -> PublicKey:
    """The key of an entry of a keyring, which holds sound ones only."""
    if entry.key is None:
        raise MaterialError(entry.flaw or Reason.KEY_MALFORMED)
    return entry.key


def _read_state(folder: Path) -> State:
    path = folder / "keyring.json"
    try:
        data = storage.read_file(path, STATE_LIMIT)
    except InputError as error:
        if error.code is Reason.FILE_MISSING:
            raise MaterialError(
                Reason.KEYRING_MISSING, f"there is no keyring at {str(folder)!a}"
            ) from None
        raise
    return State.load(data, str(path))


def _read_own_file(path: Path, limit: int) -> bytes:
    """A file that the keyring should hold; its absence is the keyring's fault."""
    try:
        return storage.read_file(path, limit)
    except InputError as error:
        if error.code in (Reason.FILE_MISSING, Reason.TOO_LARGE):
            raise MaterialError(Reason.KEYRING_MALFORMED, error.detail) from None
        raise

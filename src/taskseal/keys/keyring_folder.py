"""The files of a keyring, and the order in which a change writes them.

``{keyring.json, lock, private/<thumbprint>.key, history/NNNN.json}``. A change is made under the
lock: the private files under names that a sweep would remove, the state before as history, the
new state, and then the private files get their own names. Until the new state is there, nobody
has a use for the new private halves, and the next change sweeps them away; from then on, the next
change gives them their names. So none is lost, and none is left that nothing names.

Source: SPEC section 4.11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from taskseal import storage
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.keyring_state import STATE_LIMIT, State
from taskseal.keys.vault import VAULT_LIMIT
from taskseal.storage import Disk


class KeyringFolder:
    """Where one keyring lies; ``disk`` are the calls to make."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self._disk = disk

    def make(self, state: State) -> None:
        """Makes the folder with a first state; raises ``file_exists``, ``file_unwritable``."""
        data = self._readable(state)
        for each in (self.path, self.path / "private", self.path / "history"):
            storage.make_folder(each, disk=self._disk)
        storage.write_atomic(self._state_path, data, disk=self._disk)

    def read(self) -> State:
        """The state that counts.

        Raises:
            MaterialError: ``keyring_missing``, ``keyring_malformed``.
            InputError: ``file_unreadable``.
        """
        try:
            data = storage.read_file(self._state_path, STATE_LIMIT)
        except InputError as error:
            if error.code is Reason.FILE_MISSING:
                raise MaterialError(
                    Reason.KEYRING_MISSING, f"there is no keyring at {str(self.path)!a}"
                ) from None
            raise
        return State.load(data, str(self._state_path))

    @contextmanager
    def locked(self, wait: float) -> Iterator[State]:
        """Holds the lock, clears up after a crash, and gives the state to change.

        Args:
            wait: seconds to wait for another process.

        Raises:
            Unavailable: ``keyring_busy``.
            MaterialError, InputError: as :meth:`read`; ``file_unwritable``.
        """
        with storage.lock(self.path, wait=wait, disk=self._disk):
            state = self.read()
            self._settle(state.entries)
            for each in (self.path, self.path / "private", self.path / "history"):
                storage.sweep(each, disk=self._disk)
            yield state

    def write(self, before: State, after: State, secrets: Mapping[KeyEntry, bytes]) -> None:
        """Puts ``after`` in the place of ``before``; call it under the lock.

        Args:
            before: the state that stands.
            after: the state that is to stand.
            secrets: the private files of the entries that ``after`` has more.

        Raises:
            MaterialError: ``keyring_malformed`` when ``after`` could not be read again; nothing
                is written.
            InputError: ``file_unwritable``; ``before`` still stands, or ``after`` does.
        """
        data = self._readable(after)
        for entry, sealed in secrets.items():
            storage.write_atomic(self._pending(entry), sealed, overwrite=True, disk=self._disk)
        past = self.path / "history" / f"{before.revision:04d}.json"
        storage.write_atomic(past, before.to_json(), overwrite=True, disk=self._disk)
        storage.write_atomic(self._state_path, data, overwrite=True, disk=self._disk)
        self._settle(secrets)

    def read_private(self, entry: KeyEntry) -> tuple[bytes, str]:
        """The private file of ``entry``, and what errors call it.

        Raises:
            MaterialError: ``keyring_malformed`` when it is gone or too large.
            InputError: ``file_unreadable``.
        """
        path = self._private(entry)
        if not path.exists() and self._pending(entry).exists():
            path = self._pending(entry)
        try:
            return storage.read_file(path, VAULT_LIMIT), str(path)
        except InputError as error:
            if error.code in (Reason.FILE_MISSING, Reason.TOO_LARGE):
                raise MaterialError(Reason.KEYRING_MALFORMED, error.detail) from None
            raise

    def _readable(self, state: State) -> bytes:
        """The file that holds ``state``, once :meth:`read` is sure to take it."""
        source = f"the next state of {self._state_path}"
        try:
            data = state.to_json()
        except OverflowError:
            raise MaterialError(
                Reason.KEYRING_MALFORMED, f"{source} would hold an instant after the year 9999"
            ) from None
        if len(data) > STATE_LIMIT:
            raise MaterialError(
                Reason.KEYRING_MALFORMED, f"{source} would be above {STATE_LIMIT} bytes"
            )
        State.load(data, source)
        return data

    def _settle(self, entries: Iterable[KeyEntry]) -> None:
        """Gives the private files of entries that count their own names."""
        for entry in entries:
            if self._pending(entry).exists():
                storage.move(self._pending(entry), self._private(entry), disk=self._disk)

    @property
    def _state_path(self) -> Path:
        return self.path / "keyring.json"

    def _private(self, entry: KeyEntry) -> Path:
        assert entry.key is not None
        return self.path / "private" / f"{entry.key.thumbprint}.key"

    def _pending(self, entry: KeyEntry) -> Path:
        path = self._private(entry)
        return path.with_name(storage.TEMPORARY + path.name)

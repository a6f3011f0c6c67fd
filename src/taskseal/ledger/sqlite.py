"""The ledger in one SQLite file: shared by threads and processes, durable before the answer.

Source: SPEC section 8, item 7.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import TIMEOUT_MAX, Lock
from typing import TypeVar
from weakref import WeakSet

from taskseal.errors import Reason, Unavailable
from taskseal.ledger.checks import checked_whole
from taskseal.ledger.sqlite_file import Identity, identify, make
from taskseal.ledger.sqlite_shelf import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, SqliteShelf
from taskseal.ledger.store import Store

SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)
"""What every connection is set to. FULL: a commit is on the disk before it is answered."""

SQLITE_FAULTS = (sqlite3.Error, UnicodeError)
"""What SQLite's module raises; the second where a damaged file puts bytes into its very words."""

_NANOSECONDS = 1_000_000_000
_PAUSE = 0.001
"""Seconds between two attempts, give or take a half."""
_making = Lock()
"""Held while a file is made and opened, since closing the new file drops SQLite's locks on it."""
Attempted = TypeVar("Attempted")
_open_ledgers: WeakSet[SqliteLedger] = WeakSet()

_HINTS = {
    sqlite3.SQLITE_BUSY: "another process holds the file: offer the message again",
    sqlite3.SQLITE_FULL: "make space on the disk and offer the message again",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable for this user",
    sqlite3.SQLITE_CANTOPEN: "check the path and the permissions of the folder",
    sqlite3.SQLITE_CORRUPT: "restore a backup; to start empty is to accept old messages again",
    sqlite3.SQLITE_NOTADB: "name the ledger's own file; if this was it, restore a backup",
}


class SqliteLedger(Store):
    """A ledger in the file at ``path``.

    Threads take turns on one connection. Python's ``os.fork`` is prepared for: SQLite's
    connections must not cross it, so they are closed before and opened again on both sides.

    Args:
        path: the file, made (0600) when it is missing.
        max_records: how many records may stand at once, or None for no bound but the disk.
        create_folder: make a missing folder too (0700).
        busy_timeout: nanoseconds that a call waits for others before it is unavailable.
    """

    def __init__(
        self, path: str, *, max_records: int | None, create_folder: bool, busy_timeout: int
    ) -> None:
        super().__init__(max_records)
        checked_whole("busy_timeout", busy_timeout)
        self._patience = min(busy_timeout / _NANOSECONDS, TIMEOUT_MAX)
        self._lock = Lock()
        self._closed = False
        self._frozen = False
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._path = path
        self._identity: Identity | None = None
        with self._faults():
            # Not normalised: `..` behind a linked folder means what the system says it means.
            self._path = os.path.join(os.getcwd(), path)
            with _making:
                make(self._path, create_folder=create_folder)
                self._identity = identify(self._path)
                self._connection = self._retried(self._connect)
        _open_ledgers.add(self)

    @contextmanager
    def _write(self) -> Iterator[SqliteShelf]:
        with self._transaction(("BEGIN IMMEDIATE",)) as connection:
            shelf = SqliteShelf(connection, self._max_records)
            yield shelf
            shelf.flush()

    @contextmanager
    def _read(self) -> Iterator[SqliteShelf]:
        # The second statement takes the snapshot, so that a wait for it happens here.
        with self._transaction(("BEGIN", "SELECT last FROM tally")) as connection:
            yield SqliteShelf(connection, self._max_records)

    def close(self) -> None:
        if os.getpid() != self._process:
            self._closed = True
            return
        with self._turn():
            self._closed = True
            self._disconnect()

    @contextmanager
    def _transaction(self, begin: tuple[str, ...]) -> Iterator[sqlite3.Connection]:
        with self._turn(), self._faults():
            if self._closed:
                raise self._unavailable("it is closed", "open it again")
            if self._connection is None:
                self._connection = self._retried(self._connect)
            connection = self._connection
            try:
                self._retried(lambda: _begin(connection, begin))
                # A file that was replaced under its name is another ledger to everyone else.
                self._check_identity()
                yield connection
                connection.execute("COMMIT")
            except BaseException as fault:
                self._undo(connection, fault)
                raise

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if os.getpid() != self._process:
            # A fork that Python did not see: connection and lock belong to the other process.
            raise self._unavailable("it was opened by another process", "open it after the fork")
        if not self._lock.acquire(timeout=self._patience):
            raise self._unavailable("other threads hold it", "offer the message again")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn what SQLite and the system raise into the one error that a ledger has."""
        try:
            yield
        except SQLITE_FAULTS as fault:
            raise self._unavailable(_said(fault), _HINTS.get(_primary_code(fault))) from fault
        except OSError as fault:
            hint = "make the folder, or name another path" if _is_missing(fault) else None
            raise self._unavailable(fault.strerror or str(fault), hint) from fault

    def _unavailable(self, why: str, hint: str | None) -> Unavailable:
        return Unavailable(Reason.LEDGER_UNAVAILABLE, f"the ledger {self._path}: {why}", hint=hint)

    def _retried(self, attempt: Callable[[], Attempted]) -> Attempted:
        """What ``attempt`` gives once no other process is in its way.

        SQLite's own wait sleeps ever longer, up to 100 ms, and loses every race against a process
        that writes without a pause; some of its steps do not wait at all.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return attempt()
            except sqlite3.OperationalError as fault:
                if _primary_code(fault) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE * (0.5 + random.random()))

    def _check_identity(self) -> None:
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            raise self._unavailable(
                "its file is gone", "put it back: to begin anew is to accept old messages again"
            ) from None
        if (found.st_dev, found.st_ino) != self._identity:
            raise self._unavailable(
                "another file stands there now", "open it again if that is meant"
            )

    def _undo(self, connection: sqlite3.Connection, fault: BaseException) -> None:
        with suppress(*SQLITE_FAULTS):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if isinstance(fault, SQLITE_FAULTS) and _primary_code(fault) != sqlite3.SQLITE_BUSY:
            # Whatever went wrong, the next call looks at the file with fresh eyes.
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*SQLITE_FAULTS):
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        """A connection to the file that this ledger was opened on, never to a new one."""
        self._check_identity()
        connection = sqlite3.connect(
            self._path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            for setting in SETTINGS:
                connection.execute(setting)
            # Before the file is changed in any way, it is looked at.
            is_ours = self._is_ours(connection)
            self._use_log(connection)
            if not is_ours:
                self._make_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have made them in between.
        if not self._is_ours(connection):
            for statement in SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is a ledger; False when it is empty.

        Raises:
            Unavailable: it is something else, or of another version.
        """
        application, version, tables = connection.execute(
            "SELECT (SELECT application_id FROM pragma_application_id),"
            " (SELECT user_version FROM pragma_user_version),"
            " (SELECT count(*) FROM sqlite_schema)"
        ).fetchone()
        if (application, version, tables) == (0, 0, 0):
            return False
        if application != APPLICATION_ID:
            raise self._unavailable(
                "it is another program's database", "name a file of the ledger's own"
            )
        if version != SCHEMA_VERSION:
            raise self._unavailable(
                f"its schema is version {version}, and only {SCHEMA_VERSION} is known here",
                "use the taskseal that wrote it, or a newer one",
            )
        return True

    def _use_log(self, connection: sqlite3.Connection) -> None:
        """Switch to the write-ahead log, which stays on in the file once it is."""
        if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise self._unavailable(
                "it cannot have a write-ahead log here", "keep it on a local disk"
            )

    def before_fork(self) -> None:
        """Close the connection and keep everybody from opening one."""
        if os.getpid() == self._process and self._lock.acquire(timeout=self._patience):
            self._frozen = True
            self._disconnect()

    def after_fork_in_parent(self) -> None:
        """Let the threads go on; the first to come opens a connection."""
        if self._frozen:
            self._frozen = False
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """Make the ledger the child's own, if its connection was closed in time."""
        if self._frozen:
            self._frozen = False
            self._lock = Lock()
            self._process = os.getpid()


def _begin(connection: sqlite3.Connection, statements: tuple[str, ...]) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    for statement in statements:
        connection.execute(statement)


def _primary_code(fault: Exception) -> int:
    """The error code without its extension; a text that cannot be read is damage."""
    if isinstance(fault, UnicodeError):
        return sqlite3.SQLITE_CORRUPT
    return int(getattr(fault, "sqlite_errorcode", 0) or 0) & 0xFF


def _said(fault: Exception) -> str:
    """What SQLite said, in printable characters: it may quote what it read in the file."""
    if isinstance(fault, UnicodeError):
        return "it is damaged"
    return "".join(letter if letter.isprintable() else "?" for letter in str(fault))


def _is_missing(fault: OSError) -> bool:
    return isinstance(fault, FileNotFoundError | NotADirectoryError)


def _before_fork() -> None:
    _making.acquire()
    for ledger in list(_open_ledgers):
        ledger.before_fork()


def _after_fork_in_parent() -> None:
    for ledger in list(_open_ledgers):
        ledger.after_fork_in_parent()
    _making.release()


def _after_fork_in_child() -> None:
    for ledger in list(_open_ledgers):
        ledger.after_fork_in_child()
    _making.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)

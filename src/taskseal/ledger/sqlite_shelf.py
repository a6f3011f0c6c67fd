"""The tables of a SQLite ledger, and the shelf that one transaction on them is.

Source: SPEC section 8.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from taskseal.ledger.base import Instant, ReplayId
from taskseal.ledger.records import Counter, Phase, Record

APPLICATION_ID = 0x74736C31
"""Marks the file as a ledger of ours (the bytes ``tsl1``)."""
SCHEMA_VERSION = 1

# No CHECK constraints: they cost a third of an insert, and what is read is checked anyway.
SCHEMA = (
    """CREATE TABLE record (
        seq INTEGER PRIMARY KEY,
        profile TEXT NOT NULL,
        scope_1 TEXT, value_1 TEXT, scope_2 TEXT, value_2 TEXT,
        fingerprint BLOB NOT NULL,
        expires_at INTEGER NOT NULL,
        keep_until INTEGER NOT NULL,
        counter_scope TEXT, counter_value INTEGER,
        phase INTEGER NOT NULL,
        lease_at INTEGER NOT NULL,
        lease_for INTEGER NOT NULL,
        token TEXT,
        fence INTEGER NOT NULL,
        acceptance BLOB,
        due_at INTEGER
    ) STRICT""",
    "CREATE INDEX record_due ON record (due_at) WHERE due_at IS NOT NULL",
    "CREATE UNIQUE INDEX record_token ON record (token) WHERE token IS NOT NULL",
    """CREATE TABLE replay_id (
        scope TEXT NOT NULL, value TEXT NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (scope, value)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE horizon (
        profile TEXT PRIMARY KEY, at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE counter (
        scope TEXT PRIMARY KEY, value INTEGER NOT NULL, reopened BLOB
    ) STRICT, WITHOUT ROWID""",
    "CREATE TABLE tally (last INTEGER NOT NULL, records INTEGER NOT NULL) STRICT",
    "INSERT INTO tally VALUES (0, 0)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

_COLUMNS = (
    "seq, profile, scope_1, value_1, scope_2, value_2, fingerprint, expires_at, keep_until,"
    " counter_scope, counter_value, phase, lease_at, lease_for, token, fence, acceptance"
)
_BY_SEQ = f"SELECT {_COLUMNS} FROM record WHERE seq = ?"
_BY_TOKEN = f"SELECT {_COLUMNS} FROM record WHERE token = ?"
_BY_ID = "SELECT seq FROM replay_id WHERE scope = ? AND value = ?"
_DUE = f"SELECT {_COLUMNS} FROM record WHERE due_at <= ? ORDER BY due_at, seq LIMIT ?"
_ADD = f"INSERT INTO record ({_COLUMNS}, due_at) VALUES ({', '.join('?' * 18)})"
_ALTER = (
    "UPDATE record SET expires_at = ?, keep_until = ?, phase = ?, lease_at = ?, lease_for = ?,"
    " fence = ?, acceptance = ?, due_at = ? WHERE seq = ?"
)
_SET_HORIZON = (
    "INSERT INTO horizon VALUES (?, ?) ON CONFLICT (profile) DO UPDATE SET at = excluded.at"
)
_SET_COUNTER = (
    "INSERT INTO counter VALUES (?, ?, ?) ON CONFLICT (scope)"
    " DO UPDATE SET value = excluded.value, reopened = excluded.reopened"
)


_PHASES = {int(phase): phase for phase in Phase}


class SqliteShelf:
    """The ledger as one transaction sees it.

    The tally and the horizons are read once and written once a transaction, by :meth:`flush`.
    """

    def __init__(self, connection: sqlite3.Connection, max_records: int | None) -> None:
        self._execute = connection.execute
        self._max_records = max_records
        self._tally: tuple[int, int] | None = None
        self._tally_changed = False
        self._horizons: dict[str, Instant | None] = {}
        self._raised: dict[str, Instant] = {}
        self._nothing_due_at: Instant = -1

    def held(self, ids: tuple[ReplayId, ...]) -> list[Record]:
        seqs: dict[int, None] = {}
        for replay_id in ids:
            row = self._execute(_BY_ID, replay_id).fetchone()
            if row is not None:
                seqs[row[0]] = None
        return [self._by_seq(seq) for seq in seqs]

    def holder(self, token: str) -> Record | None:
        row = self._execute(_BY_TOKEN, (token,)).fetchone()
        return None if row is None else _record(row)

    def due(self, now: Instant, limit: int) -> list[Record]:
        # Asked once for every claim of a batch, and most of the time there is nothing.
        if now == self._nothing_due_at:
            return []
        found = [_record(row) for row in self._execute(_DUE, (now, limit)).fetchall()]
        if not found:
            self._nothing_due_at = now
        return found

    def horizon(self, profile: str) -> Instant | None:
        if profile not in self._horizons:
            row = self._execute("SELECT at FROM horizon WHERE profile = ?", (profile,)).fetchone()
            if row is not None:
                _check_whole(*row)
            self._horizons[profile] = None if row is None else row[0]
        return self._horizons[profile]

    def counter(self, scope: str) -> Counter | None:
        row = self._execute(
            "SELECT value, reopened FROM counter WHERE scope = ?", (scope,)
        ).fetchone()
        if row is None:
            return None
        _check_whole(row[0])
        return Counter(*row)

    def room(self) -> int | None:
        return None if self._max_records is None else self._max_records - self._counts()[1]

    def number(self) -> int:
        last, records = self._counts()
        self._set_counts(last + 1, records)
        return last + 1

    def add(self, record: Record) -> None:
        self._note_due(record)
        self._execute(_ADD, _row(record))
        for scope, value in record.ids:
            self._execute("INSERT INTO replay_id VALUES (?, ?, ?)", (scope, value, record.seq))
        last, records = self._counts()
        self._set_counts(last, records + 1)

    def alter(self, old: Record, new: Record) -> None:
        self._note_due(new)
        changed = (
            *(new.expires_at, new.keep_until, int(new.phase), new.lease_at, new.lease_for),
            *(new.fence, new.acceptance, new.due, old.seq),
        )
        self._execute(_ALTER, changed)

    def drop(self, record: Record) -> None:
        self._execute("DELETE FROM record WHERE seq = ?", (record.seq,))
        for replay_id in record.ids:
            self._execute("DELETE FROM replay_id WHERE scope = ? AND value = ?", replay_id)
        last, records = self._counts()
        self._set_counts(last, records - 1)

    def raise_horizon(self, profile: str, at: Instant) -> None:
        before = self.horizon(profile)
        if before is None or at > before:
            self._horizons[profile] = self._raised[profile] = at

    def set_counter(self, scope: str, counter: Counter) -> None:
        self._execute(_SET_COUNTER, (scope, *counter))

    def flush(self) -> None:
        """Write what was kept back. Before the commit, and only then."""
        if self._tally_changed:
            self._execute("UPDATE tally SET last = ?, records = ?", self._counts())
        for raised in self._raised.items():
            self._execute(_SET_HORIZON, raised)

    def _note_due(self, record: Record) -> None:
        if record.due is not None and record.due <= self._nothing_due_at:
            self._nothing_due_at = -1

    def _by_seq(self, seq: int) -> Record:
        row = self._execute(_BY_SEQ, (seq,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("a replay id belongs to no record")
        return _record(row)

    def _counts(self) -> tuple[int, int]:
        if self._tally is None:
            row = self._execute("SELECT last, records FROM tally").fetchone()
            if row is None:
                raise sqlite3.DatabaseError("the tally is missing")
            _check_whole(*row)
            self._tally = (row[0], row[1])
        return self._tally

    def _set_counts(self, last: int, records: int) -> None:
        self._tally = (last, records)
        self._tally_changed = True


def _record(row: tuple[Any, ...]) -> Record:
    """The record of a row.

    Raises:
        sqlite3.DatabaseError: the row is none that was written here.
    """
    seq, profile, scope_1, value_1, scope_2, value_2, fingerprint = row[:7]
    expires_at, keep_until, counter_scope, counter_value, phase, lease_at, lease_for = row[7:14]
    token, fence, acceptance = row[14:]
    _check_whole(seq, expires_at, keep_until, phase, lease_at, lease_for, fence)
    if phase not in _PHASES or type(fingerprint) is not bytes:
        raise sqlite3.DatabaseError("a record is malformed")
    pairs = ((scope_1, value_1), (scope_2, value_2))
    return Record(
        seq,
        profile,
        tuple(ReplayId(scope, value) for scope, value in pairs if scope is not None),
        fingerprint,
        expires_at,
        keep_until,
        None if counter_scope is None else (counter_scope, counter_value),
        _PHASES[phase],
        lease_at,
        lease_for,
        token or "",
        fence,
        acceptance,
    )


def _check_whole(*numbers: object) -> None:
    """A damaged page may hold anything where a number was, and SQLite would not say so.

    Raises:
        sqlite3.DatabaseError: one is no whole number.
    """
    if any(type(number) is not int for number in numbers):
        raise sqlite3.DatabaseError("a number is malformed")


_NO_ID = (None, None)


def _row(record: Record) -> tuple[Any, ...]:
    ids = record.ids
    return (
        record.seq,
        record.profile,
        *(ids[0] if ids else _NO_ID),
        *(ids[1] if len(ids) > 1 else _NO_ID),
        record.fingerprint,
        record.expires_at,
        record.keep_until,
        *(record.advance or _NO_ID),
        int(record.phase),
        record.lease_at,
        record.lease_for,
        record.token or None,
        record.fence,
        record.acceptance,
        record.due,
    )

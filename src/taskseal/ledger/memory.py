"""The ledger of one process: nothing survives it, nothing is shared with another.

Source: SPEC section 8, item 7.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from threading import Lock

from taskseal.errors import Reason, Unavailable
from taskseal.ledger.base import Instant, ReplayId
from taskseal.ledger.records import Counter, Record
from taskseal.ledger.store import Store

MEMORY_MAX_RECORDS = 1_000_000
"""How many records a memory ledger keeps unless told (about half a gigabyte)."""


class MemoryLedger(Store):
    """A ledger in memory, for tests and for receivers whose replay memory may end with them.

    It belongs to the process that made it: a forked child gets ``ledger_unavailable``, since two
    copies would each accept the same message.

    Args:
        max_records: how many records may stand at once.
    """

    def __init__(self, max_records: int = MEMORY_MAX_RECORDS) -> None:
        super().__init__(max_records)
        self._shelf: MemoryShelf | None = MemoryShelf(max_records)
        self._lock = Lock()
        self._process = os.getpid()

    @contextmanager
    def _write(self) -> Iterator[MemoryShelf]:
        # Before the lock: a child may have inherited it locked, by a thread that it lacks.
        if os.getpid() != self._process:
            raise Unavailable(
                Reason.LEDGER_UNAVAILABLE,
                "a memory ledger cannot be used by a forked process",
                hint="open sqlite:PATH, which processes share",
            )
        with self._lock:
            if self._shelf is None:
                raise Unavailable(
                    Reason.LEDGER_UNAVAILABLE, "the ledger is closed", hint="open it again"
                )
            yield self._shelf

    _read = _write

    def close(self) -> None:
        self._shelf = None


class MemoryShelf:
    """Records in dicts, and a heap of when they are due."""

    def __init__(self, max_records: int) -> None:
        self._max_records = max_records
        self._records: dict[int, Record] = {}
        self._by_id: dict[ReplayId, int] = {}
        self._by_token: dict[str, int] = {}
        # An entry whose record has gone or is due at another time is stale, and is passed over
        # when it comes to the top.
        self._due: list[tuple[Instant, int]] = []
        self._horizons: dict[str, Instant] = {}
        self._counters: dict[str, Counter] = {}
        self._last = 0

    def held(self, ids: tuple[ReplayId, ...]) -> list[Record]:
        seqs = dict.fromkeys(self._by_id.get(replay_id, 0) for replay_id in ids)
        return [self._records[seq] for seq in seqs if seq]

    def holder(self, token: str) -> Record | None:
        seq = self._by_token.get(token)
        return None if seq is None else self._records[seq]

    def due(self, now: Instant, limit: int) -> list[Record]:
        found: dict[int, Record] = {}
        while self._due and self._due[0][0] <= now and len(found) < limit:
            at, seq = heappop(self._due)
            record = self._records.get(seq)
            if record is not None and record.due == at:
                found[seq] = record
        for record in found.values():
            self._push(record)
        return list(found.values())

    def horizon(self, profile: str) -> Instant | None:
        return self._horizons.get(profile)

    def counter(self, scope: str) -> Counter | None:
        return self._counters.get(scope)

    def room(self) -> int:
        return self._max_records - len(self._records)

    def number(self) -> int:
        self._last += 1
        return self._last

    def add(self, record: Record) -> None:
        self._records[record.seq] = record
        for replay_id in record.ids:
            self._by_id[replay_id] = record.seq
        if record.token:
            self._by_token[record.token] = record.seq
        self._push(record)

    def alter(self, old: Record, new: Record) -> None:
        self._records[new.seq] = new
        if new.due != old.due:
            self._push(new)

    def drop(self, record: Record) -> None:
        # In this order, and forgiving, so that an interrupt in between (Ctrl-C) does no harm.
        for replay_id in record.ids:
            self._by_id.pop(replay_id, None)
        self._by_token.pop(record.token, None)
        self._records.pop(record.seq, None)

    def raise_horizon(self, profile: str, at: Instant) -> None:
        self._horizons[profile] = max(at, self._horizons.get(profile, 0))

    def set_counter(self, scope: str, counter: Counter) -> None:
        self._counters[scope] = counter

    def _push(self, record: Record) -> None:
        due = record.due
        if due is not None:
            heappush(self._due, (due, record.seq))

"""The ledger as one pure function: (state, event, now) → (state′, outcome).

The rules are those of :mod:`taskseal.ledger.transitions`, which every store runs; here they run
on a frozen state, so that a program can try every event in every state. Tokens come with the
events, since nothing here is random.

Source: SPEC section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from taskseal.ledger import transitions
from taskseal.ledger.base import Claim, Decision, Instant, Outcome, ReplayId
from taskseal.ledger.checks import LARGEST
from taskseal.ledger.records import Counter, Record, Shelf

Answer = Outcome | bool | int | None


class State(NamedTuple):
    """Everything that a ledger knows; equal states behave alike for ever.

    ``records`` are in the order of seq, ``horizons`` and ``counters`` in the order of name;
    ``last`` is the last number given.
    """

    records: tuple[Record, ...] = ()
    horizons: tuple[tuple[str, Instant], ...] = ()
    counters: tuple[tuple[str, Counter], ...] = ()
    last: int = 0
    max_records: int | None = None


@dataclass(frozen=True, slots=True)
class LookUp:
    """:meth:`Ledger.lookup`."""

    ids: tuple[ReplayId, ...]
    fingerprint: bytes

    def on(self, shelf: Shelf, now: Instant) -> Answer:
        return transitions.lookup(shelf, self.ids, self.fingerprint, now)


@dataclass(frozen=True, slots=True)
class Offer:
    """:meth:`Ledger.claim`."""

    claim: Claim

    def on(self, shelf: Shelf, now: Instant) -> Answer:
        return transitions.claim(shelf, self.claim, now)


@dataclass(frozen=True, slots=True)
class Reserve:
    """:meth:`Ledger.reserve`."""

    claim: Claim
    lease: int
    token: str

    def on(self, shelf: Shelf, now: Instant) -> Answer:
        return transitions.reserve(shelf, self.claim, now, self.lease, self.token)


@dataclass(frozen=True, slots=True)
class Start:
    """:meth:`Ledger.start`."""

    token: str

    def on(self, shelf: Shelf, now: Instant) -> Answer:
        return transitions.start(shelf, self.token, now)


@dataclass(frozen=True, slots=True)
class Commit:
    """:meth:`Ledger.commit`."""

    token: str
    fence: int
    acceptance: bytes | None = None

    def on(self, shelf: Shelf, _: Instant) -> Answer:
        return transitions.commit(shelf, self.token, self.fence, self.acceptance)


@dataclass(frozen=True, slots=True)
class Release:
    """:meth:`Ledger.release`."""

    token: str

    def on(self, shelf: Shelf, _: Instant) -> Answer:
        return transitions.release(shelf, self.token)


@dataclass(frozen=True, slots=True)
class Abandon:
    """:meth:`Ledger.abandon`."""

    token: str

    def on(self, shelf: Shelf, now: Instant) -> Answer:
        return transitions.abandon(shelf, self.token, now)


@dataclass(frozen=True, slots=True)
class Resolve:
    """:meth:`Ledger.resolve`."""

    ids: tuple[ReplayId, ...]
    decision: Decision

    def on(self, shelf: Shelf, now: Instant) -> Answer:
        return transitions.resolve(shelf, self.ids, self.decision, now)


@dataclass(frozen=True, slots=True)
class Advance:
    """:meth:`Ledger.advance`."""

    scope: str
    number: int

    def on(self, shelf: Shelf, _: Instant) -> Answer:
        return transitions.advance(shelf, self.scope, self.number)


@dataclass(frozen=True, slots=True)
class Purge:
    """One transaction of :meth:`Ledger.purge`."""

    limit: int

    def on(self, shelf: Shelf, now: Instant) -> Answer:
        return transitions.purge(shelf, now, self.limit)


Event = LookUp | Offer | Reserve | Start | Commit | Release | Abandon | Resolve | Advance | Purge


def step(state: State, event: Event, now: Instant) -> tuple[State, Answer]:
    """What ``event`` at ``now`` makes of ``state``, and what is answered.

    The state that comes back is the very same object when nothing changed.
    """
    draft = Draft(state)
    answer = event.on(draft, now)
    return draft.state(), answer


def _due(record: Record) -> Instant:
    at = record.due
    return LARGEST + 1 if at is None else at


class Draft:
    """A shelf over a frozen state: reads it, and notes what becomes of it."""

    def __init__(self, state: State) -> None:
        self._before = state
        self._records = state.records
        self._horizons = state.horizons
        self._counters = state.counters
        self._last = state.last

    def state(self) -> State:
        """The state as it is now."""
        before = self._before
        if (
            self._records is before.records
            and self._horizons is before.horizons
            and self._counters is before.counters
            and self._last == before.last
        ):
            return before
        return State(self._records, self._horizons, self._counters, self._last, before.max_records)

    def held(self, ids: tuple[ReplayId, ...]) -> list[Record]:
        found: list[Record] = []
        for replay_id in ids:
            for record in self._records:
                if replay_id in record.ids and record not in found:
                    found.append(record)
        return found

    def holder(self, token: str) -> Record | None:
        for record in self._records:
            if record.token == token:
                return record
        return None

    def due(self, now: Instant, limit: int) -> list[Record]:
        ripe = [record for record in self._records if _due(record) <= now]
        # Stable, and the records stand in the order of seq.
        return sorted(ripe, key=_due)[:limit]

    def horizon(self, profile: str) -> Instant | None:
        return dict(self._horizons).get(profile)

    def counter(self, scope: str) -> Counter | None:
        return dict(self._counters).get(scope)

    def room(self) -> int | None:
        most = self._before.max_records
        return None if most is None else most - len(self._records)

    def number(self) -> int:
        self._last += 1
        return self._last

    def add(self, record: Record) -> None:
        self._records = (*self._records, record)

    def alter(self, old: Record, new: Record) -> None:
        self._records = tuple(new if record == old else record for record in self._records)

    def drop(self, record: Record) -> None:
        self._records = tuple(other for other in self._records if other != record)

    def raise_horizon(self, profile: str, at: Instant) -> None:
        horizons = dict(self._horizons)
        if at > horizons.get(profile, -1):
            horizons[profile] = at
            self._horizons = tuple(sorted(horizons.items()))

    def set_counter(self, scope: str, counter: Counter) -> None:
        counters = dict(self._counters)
        counters[scope] = counter
        self._counters = tuple(sorted(counters.items()))

"""What a ledger keeps, and what a store must be able to do with it.

Source: SPEC section 8, items 2 and 4.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Protocol

from taskseal.ledger.base import Instant, ReplayId
from taskseal.ledger.checks import LARGEST


class Phase(IntEnum):
    """How far a record has come. A released record is no record any more."""

    RESERVED = 0
    STARTED = 1
    COMMITTED = 2


class Record(NamedTuple):
    """One message in a ledger.

    ``seq`` names the record and rises from one to the next, ``fence`` is 0 until the start, and
    ``token`` is empty where the message was claimed in one step. The lease counts from
    ``lease_at`` for ``lease_for`` nanoseconds.
    """

    seq: int
    profile: str
    ids: tuple[ReplayId, ...]
    fingerprint: bytes
    expires_at: Instant
    keep_until: Instant
    advance: tuple[str, int] | None
    phase: Phase
    lease_at: Instant = 0
    lease_for: int = 0
    token: str = ""
    fence: int = 0
    acceptance: bytes | None = None

    @property
    def lease_end(self) -> Instant:
        """When the lease ends by a clock that runs forward."""
        return min(self.lease_at + self.lease_for, LARGEST)

    def leased(self, now: Instant) -> bool:
        """Whether the lease still counts.

        It counts within its own length of the instant it was given, on both sides: a clock that
        has stepped back by more than that proves nothing about the holder, and a lease given
        while the clock ran far ahead must not bind the message until the clock is there again.
        """
        return abs(now - self.lease_at) < self.lease_for

    def lapsed(self, now: Instant) -> bool:
        """Whether it was reserved, never started, and its ids are free again."""
        return self.phase is Phase.RESERVED and not self.leased(now)

    def in_doubt(self, now: Instant) -> bool:
        """Whether it was started and nobody knows how it ended."""
        return self.phase is Phase.STARTED and not self.leased(now)

    @property
    def due(self) -> Instant | None:
        """From when on it may be forgotten, or None for never.

        What was started stays until it is decided, however long that takes. Only where it has
        no ids, so that nobody could ever name it, does it go like the others.
        """
        if self.phase is Phase.RESERVED:
            return self.lease_end
        if self.phase is Phase.COMMITTED:
            return self.keep_until
        return None if self.ids else max(self.lease_end, self.keep_until)


class Counter(NamedTuple):
    """A strictly rising counter.

    ``reopened`` is the fingerprint of the message that took ``value`` and was then released:
    this one message may take the same value again, or it would be lost.
    """

    value: int
    reopened: bytes | None = None


class Shelf(Protocol):
    """A store held still for one transition: what it shows, and how it is changed.

    Whoever provides the shelf makes the changes of one transition atomic.
    """

    def held(self, ids: tuple[ReplayId, ...]) -> list[Record]:
        """The records that hold any of ``ids``, each once, in the order of ``ids``."""

    def holder(self, token: str) -> Record | None:
        """The record that was reserved with ``token``."""

    def due(self, now: Instant, limit: int) -> list[Record]:
        """Up to ``limit`` records whose ``due`` is no later than ``now``, by (due, seq)."""

    def horizon(self, profile: str) -> Instant | None:
        """The horizon of ``profile``."""

    def counter(self, scope: str) -> Counter | None:
        """The counter of ``scope``."""

    def room(self) -> int | None:
        """How many more records fit, or None for as many as there are."""

    def number(self) -> int:
        """A number above every number given before."""

    def add(self, record: Record) -> None:
        """Keep a new record, all of whose ids are free."""

    def alter(self, old: Record, new: Record) -> None:
        """Put ``new`` in the place of ``old``; they share seq, profile, ids and token."""

    def drop(self, record: Record) -> None:
        """Forget ``record`` and free its ids."""

    def raise_horizon(self, profile: str, at: Instant) -> None:
        """Move the horizon of ``profile`` up to ``at`` unless it is there already."""

    def set_counter(self, scope: str, counter: Counter) -> None:
        """Put ``counter`` in the place of what stood at ``scope``."""

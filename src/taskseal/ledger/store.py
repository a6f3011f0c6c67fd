"""A ledger over any shelf: checks what it is given, and runs one transition at a time.

Source: SPEC section 8.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from taskseal.errors import InputError, Reason, Unavailable
from taskseal.ledger import transitions
from taskseal.ledger.base import (
    Claim,
    ClaimOutcome,
    Committed,
    Decision,
    FenceStale,
    Full,
    InDoubt,
    Instant,
    Known,
    Ledger,
    Lost,
    NotInDoubt,
    Released,
    ReplayId,
    ReserveOutcome,
    Started,
)
from taskseal.ledger.checks import (
    checked_acceptance,
    checked_fingerprint,
    checked_ids,
    checked_instant,
    checked_text,
    checked_whole,
)
from taskseal.ledger.records import Shelf

PURGE_CHUNK = 1000
"""How many records one transaction of a purge forgets, so that claims get their turn between."""
TOKEN_BYTES = 16


class Store(Ledger):
    """The verbs of a ledger, given a shelf to read and a shelf to write.

    Args:
        max_records: how many records may stand at once, or None for no bound.
    """

    def __init__(self, max_records: int | None) -> None:
        if max_records is not None:
            checked_whole("max_records", max_records, 1)
        self._max_records = max_records

    @abstractmethod
    def _read(self) -> AbstractContextManager[Shelf]:
        """A shelf that stands still until the end of the block and is not changed."""

    @abstractmethod
    def _write(self) -> AbstractContextManager[Shelf]:
        """A shelf that nobody else sees changing: all changes of the block last, or, after an
        exception, none."""

    def lookup(self, ids: Sequence[ReplayId], fingerprint: bytes, now: Instant) -> Known | None:
        once, at = checked_ids(ids), checked_instant("now", now)
        checked_fingerprint(fingerprint)
        if not once:
            return None
        with self._read() as shelf:
            return transitions.lookup(shelf, once, fingerprint, at)

    def claim_many(self, claims: Sequence[Claim], now: Instant) -> list[ClaimOutcome | Full]:
        at = checked_instant("now", now)
        if not claims:
            return []
        with self._write() as shelf:
            return [transitions.claim(shelf, message, at) for message in claims]

    def claim(self, claim: Claim, now: Instant) -> ClaimOutcome:
        at = checked_instant("now", now)
        with self._write() as shelf:
            outcome = transitions.claim(shelf, claim, at)
        if isinstance(outcome, Full):
            raise self._no_room()
        return outcome

    def reserve(self, claim: Claim, now: Instant, lease: int) -> ReserveOutcome:
        at = checked_instant("now", now)
        checked_whole("a lease", lease, 1)
        token = os.urandom(TOKEN_BYTES).hex()
        with self._write() as shelf:
            outcome = transitions.reserve(shelf, claim, at, lease, token)
        if isinstance(outcome, Full):
            raise self._no_room()
        return outcome

    def start(self, token: str, now: Instant) -> Started | FenceStale | Lost:
        at = checked_instant("now", now)
        with self._write() as shelf:
            return transitions.start(shelf, _checked_token(token), at)

    def commit(
        self, token: str, fence: int, acceptance: bytes | None, now: Instant
    ) -> Committed | Lost:
        checked_instant("now", now)
        checked_whole("a fence", fence)
        checked_acceptance(acceptance)
        with self._write() as shelf:
            return transitions.commit(shelf, _checked_token(token), fence, acceptance)

    def release(self, token: str, now: Instant) -> Released | Lost:
        checked_instant("now", now)
        with self._write() as shelf:
            return transitions.release(shelf, _checked_token(token))

    def abandon(self, token: str, now: Instant) -> Released | InDoubt | Lost:
        at = checked_instant("now", now)
        with self._write() as shelf:
            return transitions.abandon(shelf, _checked_token(token), at)

    def resolve(
        self, ids: Sequence[ReplayId], decision: Decision, now: Instant
    ) -> Committed | Released | NotInDoubt:
        once, at = checked_ids(ids), checked_instant("now", now)
        if not isinstance(decision, Decision):
            raise InputError(Reason.USAGE, f"{decision!r} is no Decision")
        with self._write() as shelf:
            return transitions.resolve(shelf, once, decision, at)

    def advance(self, scope: str, number: int) -> bool:
        checked_text("a counter's scope", scope)
        checked_whole("a counter's number", number)
        with self._write() as shelf:
            return transitions.advance(shelf, scope, number)

    def counter(self, scope: str) -> int | None:
        checked_text("a counter's scope", scope)
        with self._read() as shelf:
            counter = shelf.counter(scope)
        return None if counter is None else counter.value

    def purge(self, now: Instant) -> int:
        at = checked_instant("now", now)
        total = 0
        while True:
            with self._write() as shelf:
                gone = transitions.purge(shelf, at, PURGE_CHUNK)
            total += gone
            if gone < PURGE_CHUNK:
                return total

    def horizon(self, profile: str) -> Instant | None:
        checked_text("the profile", profile)
        with self._read() as shelf:
            return shelf.horizon(profile)

    def _no_room(self) -> Unavailable:
        return Unavailable(
            Reason.LEDGER_UNAVAILABLE,
            f"the ledger is full: {self._max_records} records, each still needed",
            hint="raise max_records, resolve what is in doubt, or offer the message again later;"
            " nothing was accepted",
        )


def _checked_token(token: object) -> str:
    """Any text but the empty one, which every record claimed in one step has."""
    text = checked_text("a token", token)
    if not text:
        raise InputError(Reason.USAGE, "the token is empty")
    return text

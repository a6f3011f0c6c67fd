"""What a ledger is asked and what it answers: the values, and the interface of every store.

Every ``now`` is nanoseconds since 1970-01-01T00:00:00Z and always comes from the real clock.
A time that somebody chose (``--at``) never reaches a ledger: it neither purges nor claims.

Source: SPEC section 8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Literal, NamedTuple, NoReturn, Self

from taskseal.errors import InputError, Reason
from taskseal.ledger.checks import (
    checked_acceptance,
    checked_fingerprint,
    checked_ids,
    checked_instant,
    checked_text,
    checked_whole,
)

Instant = int
"""Nanoseconds since 1970-01-01T00:00:00Z."""


class ReplayId(NamedTuple):
    """What may be taken once: ``value`` within ``scope`` (both opaque text here).

    The scope is the unambiguous joined text of profile, issuer and the named member's value.
    """

    scope: str
    value: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A verified message, as a ledger sees it.

    Args:
        profile: the profile id; each profile has a horizon of its own.
        ids: the replay ids, taken all or none. None at all means replay "none": such a message
            is not remembered, but may still ``advance`` a counter.
        fingerprint: SHA-256 of the canonical envelope without signature and key version.
        expires_at: the effective expiry without skew. Where one message may be signed several
            times, give the latest that any signing of it may have (the message's own expiry):
            the ledger forgets, and refuses what it forgot, by this instant.
        keep_until: until when the record is kept at least: ``expires_at`` + past skew, or
            longer where acceptances are kept longer.
        advance: (scope, number): a strictly rising counter, taken in the transaction that wins
            or starts the message. The number is 0 to 2^63−1.
        acceptance: what a claim in one step keeps for whoever offers the message again, stored
            in the transaction that wins it. A reservation passes it over: there the commit
            brings it.

    Raises:
        InputError: ``usage`` or ``lone_surrogate`` when a member is not of its shape.

    Source: SPEC section 8, items 1, 2, 4 and 6.
    """

    profile: str
    ids: tuple[ReplayId, ...]
    fingerprint: bytes
    expires_at: Instant
    keep_until: Instant
    advance: tuple[str, int] | None = None
    acceptance: bytes | None = None

    def __post_init__(self) -> None:
        checked_text("the profile", self.profile)
        object.__setattr__(self, "ids", checked_ids(self.ids))
        checked_fingerprint(self.fingerprint)
        expires_at = checked_instant("expires_at", self.expires_at)
        keep_until = checked_instant("keep_until", self.keep_until)
        object.__setattr__(self, "expires_at", expires_at)
        object.__setattr__(self, "keep_until", keep_until)
        if self.keep_until < self.expires_at:
            raise InputError(Reason.USAGE, "keep_until is before expires_at")
        if self.advance is not None:
            checked_text("a counter's scope", self.advance[0])
            checked_whole("a counter's number", self.advance[1])
        checked_acceptance(self.acceptance)


class Outcome:
    """What every outcome shares: it has no truth value, so that none is mistaken for a yes."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} has no truth value: match its type")


@dataclass(frozen=True, slots=True)
class Won(Outcome):
    """The message is this caller's, once and for all. ``fence`` rises with every record; it is
    None for a message without replay ids, of which there is no record."""

    fence: int | None


@dataclass(frozen=True, slots=True)
class Duplicate(Outcome):
    """The same message was accepted before; ``acceptance`` is what was stored then, if it was."""

    acceptance: bytes | None


@dataclass(frozen=True, slots=True)
class Conflict(Outcome):
    """Another message holds ``id``."""

    id: ReplayId


@dataclass(frozen=True, slots=True)
class BeforeHorizon(Outcome):
    """The message expired at or before ``horizon``: it may have been accepted and forgotten."""

    horizon: Instant


@dataclass(frozen=True, slots=True)
class Busy(Outcome):
    """The same message is in another's hands: reserved, or ``started``, with a lease that ends
    at ``until``."""

    until: Instant
    started: bool


@dataclass(frozen=True, slots=True)
class InDoubt(Outcome):
    """The same message was started under ``fence``, and its lease ended at ``since`` without a
    word: nobody knows whether it was done. Only :meth:`Ledger.resolve` decides."""

    fence: int
    since: Instant


@dataclass(frozen=True, slots=True)
class FenceStale(Outcome):
    """The counter that the claim would advance stands at ``last`` and would not rise."""

    last: int


@dataclass(frozen=True, slots=True)
class Full(Outcome):
    """There is no room: as many records as may be are needed still, and none is evicted."""


@dataclass(frozen=True, slots=True)
class Reserved(Outcome):
    """The message is this caller's to start until ``until``; ``token`` proves it."""

    token: str
    until: Instant


@dataclass(frozen=True, slots=True)
class Started(Outcome):
    """The message may be done now; ``fence`` is above every fence given before."""

    fence: int


@dataclass(frozen=True, slots=True)
class Committed(Outcome):
    """The message is accepted, once and for all."""


@dataclass(frozen=True, slots=True)
class Released(Outcome):
    """The message is free again: whoever offers it next may win it."""


@dataclass(frozen=True, slots=True)
class NotInDoubt(Outcome):
    """The ids do not belong to one record that is in doubt; nothing was changed."""


Loss = Literal["unknown", "lapsed", "started", "not_started", "stale", "decided"]


@dataclass(frozen=True, slots=True)
class Lost(Outcome):
    """The token does not allow this; nothing was changed. ``why``:

    ``unknown``: no record has this token (released, taken over, purged, or decided otherwise);
    ``lapsed``: the lease ended before the start; ``started``: it was started once already;
    ``not_started``: it cannot be committed yet; ``stale``: the fence is not the record's;
    ``decided``: it is committed.
    """

    why: Loss


class Decision(StrEnum):
    """What a person or a policy says of a message in doubt: it was done, or it was not."""

    COMMITTED = "committed"
    RELEASED = "released"


Known = Duplicate | Busy | InDoubt
"""What is known of a message that was offered before."""
Refusal = Known | Conflict | BeforeHorizon | FenceStale
ClaimOutcome = Won | Refusal
ReserveOutcome = Reserved | Refusal


class Ledger(ABC):
    """What this receiver has accepted. Safe to use from several threads.

    Every method raises :class:`taskseal.errors.Unavailable` (``ledger_unavailable``) when the
    store does not answer (locked, missing, full, corrupt, closed): nothing was accepted then.
    Only authenticated messages may be brought here.

    Source: SPEC section 8.
    """

    @abstractmethod
    def lookup(self, ids: Sequence[ReplayId], fingerprint: bytes, now: Instant) -> Known | None:
        """What is known of this very message, also after its expiry; changes nothing.

        None when it is unknown, and when another message holds an id: then the claim decides.
        """

    @abstractmethod
    def claim_many(self, claims: Sequence[Claim], now: Instant) -> list[ClaimOutcome | Full]:
        """Claim each in turn, all in one transaction; the outcomes in order.

        Each claim stands for itself, as if made alone. One that found no room is ``Full``.
        """

    @abstractmethod
    def claim(self, claim: Claim, now: Instant) -> ClaimOutcome:
        """Reserve, start and commit in one atomic step: of all who ever claim it, one wins."""

    @abstractmethod
    def reserve(self, claim: Claim, now: Instant, lease: int) -> ReserveOutcome:
        """Take the message for ``lease`` nanoseconds (1 at least), to be started within."""

    @abstractmethod
    def start(self, token: str, now: Instant) -> Started | FenceStale | Lost:
        """Say that the message is about to be done. Only once, and only within the lease.

        From here on the message is never given to another without a commit, a release or a
        decision. ``FenceStale``: its counter was overtaken; the reservation is gone.
        """

    @abstractmethod
    def commit(
        self, token: str, fence: int, acceptance: bytes | None, now: Instant
    ) -> Committed | Lost:
        """Say that the message is done, and keep ``acceptance`` for whoever offers it again.

        Also after the lease, as long as nobody decided otherwise: the one who did it knows.
        The same commit again answers the same.
        """

    @abstractmethod
    def release(self, token: str, now: Instant) -> Released | Lost:
        """Say that the message was not done and is free for another."""

    @abstractmethod
    def abandon(self, token: str, now: Instant) -> Released | InDoubt | Lost:
        """End the lease at once: what was not started is free, what was started is in doubt."""

    @abstractmethod
    def resolve(
        self, ids: Sequence[ReplayId], decision: Decision, now: Instant
    ) -> Committed | Released | NotInDoubt:
        """Decide a message in doubt, named by one or all of its ids."""

    @abstractmethod
    def advance(self, scope: str, number: int) -> bool:
        """Raise the counter of ``scope`` to ``number``; False when it would not rise."""

    @abstractmethod
    def counter(self, scope: str) -> int | None:
        """Where the counter of ``scope`` stands, or None when it never rose."""

    @abstractmethod
    def purge(self, now: Instant) -> int:
        """Forget every record that need not be kept any longer; how many they were.

        Not needed for safety or for room: every claim that wins forgets up to two such records.
        """

    @abstractmethod
    def horizon(self, profile: str) -> Instant | None:
        """The greatest effective expiry of any accepted record purged, or None."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store. Every other method is unavailable from then on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

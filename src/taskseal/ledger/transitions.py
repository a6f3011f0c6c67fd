"""The rules of the ledger: every transition, written once for every store.

Each function looks at a :class:`~taskseal.ledger.records.Shelf`, decides, and only then changes
it. None reads a clock, makes a token or does I/O, so that the same calls on the same shelf
always end the same.

Source: SPEC section 8.
"""

from __future__ import annotations

from taskseal.ledger.base import (
    BeforeHorizon,
    Busy,
    Claim,
    ClaimOutcome,
    Committed,
    Conflict,
    Decision,
    Duplicate,
    FenceStale,
    Full,
    InDoubt,
    Instant,
    Known,
    Lost,
    NotInDoubt,
    Refusal,
    Released,
    ReplayId,
    Reserved,
    ReserveOutcome,
    Started,
    Won,
)
from taskseal.ledger.records import Counter, Phase, Record, Shelf

PURGE_PER_CLAIM = 2
"""How many records that are due a claim forgets when it wins: more than it adds, so that due
records never pile up, and few enough that no claim waits for others' past."""


def lookup(
    shelf: Shelf, ids: tuple[ReplayId, ...], fingerprint: bytes, now: Instant
) -> Known | None:
    """What is known of the message with these ids and this fingerprint."""
    live = [record for record in shelf.held(ids) if not record.lapsed(now)]
    if not live or _other_holder(live, ids, fingerprint) is not None:
        return None
    return _known(max(live, key=_phase), now)


def claim(shelf: Shelf, message: Claim, now: Instant) -> ClaimOutcome | Full:
    """Reserve, start and commit ``message`` in one step."""
    held = shelf.held(message.ids)
    refusal = _refusal(shelf, held, message, now)
    if refusal is not None:
        return refusal
    if not message.ids:
        _take_counter(shelf, message.advance)
        return Won(None)
    if not _make_room(shelf, held, now):
        return Full()
    seq = shelf.number()
    record = _record(message, seq, Phase.COMMITTED)
    shelf.add(record._replace(fence=seq, acceptance=message.acceptance))
    _take_counter(shelf, message.advance)
    return Won(seq)


def reserve(
    shelf: Shelf, message: Claim, now: Instant, lease: int, token: str
) -> ReserveOutcome | Full:
    """Take ``message`` for ``lease`` nanoseconds under ``token``, which is new.

    Its counter is compared but not taken: a reservation that lapses must leave no trace, or the
    message could not be offered again.
    """
    held = shelf.held(message.ids)
    refusal = _refusal(shelf, held, message, now)
    if refusal is not None:
        return refusal
    if not _make_room(shelf, held, now):
        return Full()
    record = _record(message, shelf.number(), Phase.RESERVED)
    record = record._replace(lease_at=now, lease_for=lease, token=token)
    shelf.add(record)
    return Reserved(token, record.lease_end)


def start(shelf: Shelf, token: str, now: Instant) -> Started | FenceStale | Lost:
    """Begin what was reserved under ``token``."""
    record = shelf.holder(token)
    if record is None:
        return Lost("unknown")
    if record.phase is not Phase.RESERVED:
        return Lost("started" if record.phase is Phase.STARTED else "decided")
    if not record.leased(now):
        return Lost("lapsed")
    stale = _stale(shelf, record.advance, record.fingerprint)
    if stale is not None:
        shelf.drop(record)
        return stale
    fence = shelf.number()
    shelf.alter(record, record._replace(phase=Phase.STARTED, fence=fence))
    _take_counter(shelf, record.advance)
    return Started(fence)


def commit(shelf: Shelf, token: str, fence: int, acceptance: bytes | None) -> Committed | Lost:
    """End what was started under ``token`` and ``fence`` as done."""
    record = shelf.holder(token)
    if record is None:
        return Lost("unknown")
    if record.phase is Phase.RESERVED:
        return Lost("not_started")
    if record.fence != fence:
        return Lost("stale")
    if record.phase is Phase.COMMITTED:
        return Committed() if record.acceptance == acceptance else Lost("decided")
    if record.ids:
        shelf.alter(record, record._replace(phase=Phase.COMMITTED, acceptance=acceptance))
    else:
        shelf.drop(record)
    return Committed()


def release(shelf: Shelf, token: str) -> Released | Lost:
    """Free what was reserved or started under ``token``."""
    record = shelf.holder(token)
    if record is None:
        return Lost("unknown")
    if record.phase is Phase.COMMITTED:
        return Lost("decided")
    return _free(shelf, record)


def abandon(shelf: Shelf, token: str, now: Instant) -> Released | InDoubt | Lost:
    """End the lease held under ``token`` at ``now``."""
    record = shelf.holder(token)
    if record is None:
        return Lost("unknown")
    if record.phase is Phase.COMMITTED:
        return Lost("decided")
    if record.phase is Phase.RESERVED:
        return _free(shelf, record)
    if record.leased(now):
        ended = record._replace(lease_at=now, lease_for=0)
        shelf.alter(record, ended)
        record = ended
    return InDoubt(record.fence, record.lease_end)


def resolve(
    shelf: Shelf, ids: tuple[ReplayId, ...], decision: Decision, now: Instant
) -> Committed | Released | NotInDoubt:
    """Decide the one record in doubt that holds all of ``ids``."""
    held = shelf.held(ids)
    if len(held) != 1 or not held[0].in_doubt(now) or not set(ids) <= set(held[0].ids):
        return NotInDoubt()
    record = held[0]
    if decision is Decision.RELEASED:
        return _free(shelf, record)
    shelf.alter(record, record._replace(phase=Phase.COMMITTED))
    return Committed()


def advance(shelf: Shelf, scope: str, number: int) -> bool:
    """Raise the counter of ``scope`` to ``number``, if that is a rise."""
    counter = shelf.counter(scope)
    if counter is not None and number <= counter.value:
        return False
    shelf.set_counter(scope, Counter(number))
    return True


def purge(shelf: Shelf, now: Instant, limit: int) -> int:
    """Forget up to ``limit`` records that are due; how many they were."""
    due = shelf.due(now, limit)
    for record in due:
        _forget(shelf, record)
    return len(due)


def _record(message: Claim, seq: int, phase: Phase) -> Record:
    return Record(
        seq,
        message.profile,
        message.ids,
        message.fingerprint,
        message.expires_at,
        message.keep_until,
        message.advance,
        phase,
    )


def _phase(record: Record) -> Phase:
    return record.phase


def _known(record: Record, now: Instant) -> Known:
    if record.phase is Phase.COMMITTED:
        return Duplicate(record.acceptance)
    if record.in_doubt(now):
        return InDoubt(record.fence, record.lease_end)
    return Busy(record.lease_end, record.phase is Phase.STARTED)


def _other_holder(
    live: list[Record], ids: tuple[ReplayId, ...], fingerprint: bytes
) -> ReplayId | None:
    for replay_id in ids:
        for record in live:
            if record.fingerprint != fingerprint and replay_id in record.ids:
                return replay_id
    return None


def _refusal(shelf: Shelf, held: list[Record], message: Claim, now: Instant) -> Refusal | None:
    """Why ``message`` cannot be had now; what is known of it comes before what it asks for."""
    live = [record for record in held if not record.lapsed(now)]
    if live:
        taken = _other_holder(live, message.ids, message.fingerprint)
        if taken is not None:
            return Conflict(taken)
        record = max(live, key=_phase)
        _stretch(shelf, record, message)
        return _known(record, now)
    if message.ids:
        horizon = shelf.horizon(message.profile)
        if horizon is not None and message.expires_at <= horizon:
            return BeforeHorizon(horizon)
    return _stale(shelf, message.advance, message.fingerprint)


def _stretch(shelf: Shelf, record: Record, message: Claim) -> None:
    """Keep the record as long as this offer of its message asks for: a copy that was signed
    again and lives longer must not outlive what is known of it."""
    expires_at = max(record.expires_at, message.expires_at)
    keep_until = max(record.keep_until, message.keep_until)
    if (expires_at, keep_until) != (record.expires_at, record.keep_until):
        shelf.alter(record, record._replace(expires_at=expires_at, keep_until=keep_until))


def _stale(shelf: Shelf, advance: tuple[str, int] | None, fingerprint: bytes) -> FenceStale | None:
    if advance is None:
        return None
    scope, number = advance
    counter = shelf.counter(scope)
    if counter is None or number > counter.value:
        return None
    if number == counter.value and counter.reopened == fingerprint:
        return None
    return FenceStale(counter.value)


def _take_counter(shelf: Shelf, advance: tuple[str, int] | None) -> None:
    if advance is not None:
        shelf.set_counter(advance[0], Counter(advance[1]))


def _make_room(shelf: Shelf, lapsed: list[Record], now: Instant) -> bool:
    """Forget the lapsed records in the way and a few that are due, if one more fits then."""
    leaving = {record.seq: record for record in (*lapsed, *shelf.due(now, PURGE_PER_CLAIM))}
    room = shelf.room()
    if room is not None and room + len(leaving) < 1:
        return False
    for record in leaving.values():
        _forget(shelf, record)
    return True


def _forget(shelf: Shelf, record: Record) -> None:
    """Drop ``record``; if it was accepted, move the horizon over it in the same breath."""
    if record.phase is Phase.COMMITTED:
        shelf.raise_horizon(record.profile, record.expires_at)
    shelf.drop(record)


def _free(shelf: Shelf, record: Record) -> Released:
    """Drop ``record`` as not done, and let its message take its counter again."""
    shelf.drop(record)
    if record.phase is Phase.STARTED and record.advance is not None:
        scope, number = record.advance
        counter = shelf.counter(scope)
        if counter is not None and counter.value == number:
            shelf.set_counter(scope, Counter(number, record.fingerprint))
    return Released()

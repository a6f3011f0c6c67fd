"""Every history of a small ledger, tried: clocks that jump, workers that crash and come back.

A world is a ledger's state, a clock, and what each worker holds. From each world every event is
tried: a clock that steps either way or leaps ahead and back, offers in one step and in two, starts,
commits, releases and their repetitions, decisions on what is in doubt, purges. A worker that
crashes is one that does nothing more; one that was paused does its next thing much later; both are
among the histories, since any worker may be the next to act, and none must be.

Beside the ledger stands a plain note of what really happened to each message, which no rule of the
ledger reads. Each outcome is held against it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from taskseal.ledger import (
    BeforeHorizon,
    Busy,
    Claim,
    Committed,
    Conflict,
    Decision,
    Duplicate,
    FenceStale,
    Full,
    InDoubt,
    Lost,
    NotInDoubt,
    Released,
    ReplayId,
    Reserved,
    Started,
    Won,
)
from taskseal.ledger.model import (
    Abandon,
    Commit,
    Event,
    Offer,
    Purge,
    Release,
    Reserve,
    Resolve,
    Start,
    State,
    step,
)
from taskseal.ledger.store import PURGE_CHUNK

TIMES = (10, 12, 14, 16, 1000)
"""What the clock may read: before, around and after the expiries, and far ahead."""
AFTER_ALL_LEASES = 10**6
LEASE = 3


class Message(NamedTuple):
    """A message of the small world; ``tries`` is how many reservations of it may ever be made."""

    claim: Claim
    tries: int


class Note(NamedTuple):
    """What really happened to one message."""

    accepted: bool = False
    running: str = ""
    """The token under which it runs, or ran without a word about how it ended."""


class Situation(NamedTuple):
    """A world but for its clock: since the clock may leap at any moment, each situation is met
    at each reading."""

    state: State
    hands: tuple[tuple[int, ...], ...]
    """For each message, for each reservation made: 0 reserved, its fence once started, −1 done."""
    notes: tuple[Note, ...]
    taker: int = -1
    """The message that took the counter last."""


Trail = tuple[Any, Event, int] | None
"""How a situation came about: the trail before, the last event, and when."""


def claim(*names: str, profile: str = "p", expires: int, keep: int, **more: Any) -> Claim:
    fingerprint = bytes([len(names), expires, keep]).ljust(32, b".")
    ids = tuple(ReplayId("s", name) for name in names)
    return Claim(profile, ids, fingerprint, expires, keep, **more)


# Two ids, one of which the last message wants too; acceptances kept beyond expiry; a counter.
WIDE = (
    Message(claim("x", "y", expires=14, keep=14), tries=2),
    Message(claim("z", expires=14, keep=16, advance=("c", 1)), tries=2),
    Message(claim("y", expires=16, keep=16), tries=0),
)
# Two messages race for one id and a counter, a third for the room of the one record there may be.
TIGHT = (
    Message(claim("x", expires=14, keep=14, advance=("c", 1)), tries=2),
    Message(claim("x", "y", expires=16, keep=16, advance=("c", 2)), tries=1),
    Message(claim("w", expires=16, keep=17), tries=0),
)
# Nothing but a counter holds the first one back.
BARE = (
    Message(claim(expires=14, keep=14, advance=("c", 1)), tries=2),
    Message(claim("y", expires=16, keep=16, advance=("c", 1)), tries=2),
)


QUIET = frozenset(
    {BeforeHorizon, Busy, Conflict, Duplicate, FenceStale, Full, InDoubt, Lost, NotInDoubt, int}
)
"""What is answered where nothing happens to a message, unless the ledger changed nevertheless."""


def token_of(message: int, attempt: int) -> str:
    return f"{message}/{attempt}"


class Explorer:
    """Walks every world that the messages allow, once."""

    def __init__(self, messages: tuple[Message, ...], max_records: int | None = None) -> None:
        self.messages = messages
        self.start = Situation(
            State(max_records=max_records), ((),) * len(messages), (Note(),) * len(messages)
        )
        self.offers = [Offer(message.claim) for message in messages]
        self.worlds = 0
        self.outcomes: set[type] = set()

    def walk(self, most: int, visit: Callable[[Trail], None] | None = None) -> None:
        """Meet up to ``most`` worlds, each once, whichever way they are reached."""
        # Of a situation that was seen only its 64-bit hash is kept: among a million, the chance
        # that any two share one is below one in a million.
        seen = {hash(self.start)}
        waiting: deque[tuple[Situation, Trail]] = deque([(self.start, None)])
        while waiting and self.worlds < most:
            here, trail = waiting.popleft()
            self.worlds += len(TIMES)
            self.probe(here)
            if visit is not None:
                visit(trail)
            for event, now, number, attempt in self.events(here):
                state, outcome = step(here.state, event, now)
                self.outcomes.add(type(outcome))
                if state is here.state and type(outcome) in QUIET:
                    continue
                after = self.judge(here, state, event, outcome, number, attempt)
                mark = hash(after)
                if mark not in seen:
                    seen.add(mark)
                    waiting.append((after, (trail, event, now)))

    def events(self, here: Situation) -> Iterator[tuple[Event, int, int, int]]:
        """Everything that anybody might do at any time: (event, now, message, attempt).

        What cannot depend on the time is done at one time only.
        """
        timed: list[tuple[Event, int, int]] = [(Purge(PURGE_CHUNK), 0, 0)]
        for number, message in enumerate(self.messages):
            timed.append((self.offers[number], number, 0))
            hands = here.hands[number]
            if len(hands) < message.tries:
                token = token_of(number, len(hands))
                timed.append((Reserve(message.claim, LEASE, token), number, len(hands)))
            if hands and message.claim.ids:
                for decision in Decision:
                    resolve = Resolve(message.claim.ids, decision)
                    if here.notes[number].running:
                        timed.append((resolve, number, 0))
                    else:
                        yield resolve, TIMES[0], number, 0
            for attempt, hand in enumerate(hands):
                if hand >= 0:
                    token = token_of(number, attempt)
                    timed.append((Start(token), number, attempt))
                    if hand > 0:
                        timed.append((Abandon(token), number, attempt))
                    # These never look at the clock.
                    yield Commit(token, hand), TIMES[0], number, attempt
                    yield Commit(token, hand + 1), TIMES[0], number, attempt
                    yield Release(token), TIMES[0], number, attempt
        for now in TIMES:
            for event, number, attempt in timed:
                yield event, now, number, attempt

    def judge(
        self,
        here: Situation,
        state: State,
        event: Event,
        outcome: object,
        number: int,
        attempt: int,
    ) -> Situation:
        """The situation after ``event``; fails when the outcome breaks a promise."""
        note = here.notes[number]
        token = token_of(number, attempt)
        hand: int | None = None
        taker = here.taker
        if isinstance(outcome, Won | Started) and self.messages[number].claim.advance:
            taker = number
        match outcome:
            case Won():
                assert not note.accepted, "accepted twice"
                assert not note.running, "ran again without a decision"
                note = Note(accepted=True)
            case Reserved():
                if self.messages[number].claim.ids:
                    assert not note.accepted, "given out although accepted"
                    assert not note.running, "given out although started"
                hand = 0
            case Started(fence):
                assert not note.accepted, "started although accepted"
                assert not note.running, "ran again without a decision"
                assert fence > max((max(hands, default=0) for hands in here.hands), default=0)
                note, hand = Note(running=token), fence
            case Committed() if isinstance(event, Commit):
                assert event.fence == here.hands[number][attempt], "committed with another's fence"
                # Or a person said so before, and the worker agrees.
                agreed = note.accepted and state is here.state
                assert note.running == token or agreed, "committed what another runs, or nobody"
                note, hand = Note(accepted=True), -1
            case Committed() | Released() if isinstance(event, Resolve):
                number = self.resolved(here.state, event)
                assert here.notes[number].running, "decided what was never started"
                note = Note(accepted=event.decision is Decision.COMMITTED)
            case Released():
                note = Note() if note.running == token else note
                hand = -1
            case FenceStale() if isinstance(event, Start):
                hand = -1
        hands = here.hands
        if hand is not None:
            own = list(hands[number])
            own[attempt : attempt + 1] = [hand]
            hands = (*hands[:number], tuple(own), *hands[number + 1 :])
        notes = (*here.notes[:number], note, *here.notes[number + 1 :])
        return Situation(state, hands, notes, taker)

    def resolved(self, state: State, event: Resolve) -> int:
        """The message whose record stands under the ids: not always the one that was meant."""
        (record,) = [r for r in state.records if set(r.ids) >= set(event.ids)]
        marks = [message.claim.fingerprint for message in self.messages]
        return marks.index(record.fingerprint)

    def probe(self, here: Situation) -> None:
        """What each message would meet if it were offered once every lease has ended: what was
        accepted or runs is known or lies before the horizon, and everything else can be won."""
        state, notes = here.state, here.notes
        horizons = dict(state.horizons)
        accepted = [m.claim for m, note in zip(self.messages, notes, strict=True) if note.accepted]
        for profile, horizon in horizons.items():
            latest = max(one.expires_at for one in accepted if one.profile == profile)
            assert horizon <= latest, "the horizon ran ahead of what was accepted"
        for number, (message, note) in enumerate(zip(self.messages, notes, strict=True)):
            one = message.claim
            _, outcome = step(state, self.offers[number], AFTER_ALL_LEASES)
            horizon = horizons.get(one.profile, -1) if one.ids else -1
            kept = [record for record in state.records if set(record.ids) & set(one.ids)]
            others = [r for r in kept if r.fingerprint != one.fingerprint and r.phase]
            if note.running and one.ids:
                assert isinstance(outcome, InDoubt), outcome
            elif note.accepted and one.ids:
                assert isinstance(outcome, Duplicate | BeforeHorizon | Conflict), outcome
                assert isinstance(outcome, Duplicate) or horizon >= one.expires_at
            elif others:
                assert isinstance(outcome, Conflict), outcome
            elif horizon >= one.expires_at:
                assert isinstance(outcome, BeforeHorizon), outcome
            elif self.overtaken(here, number):
                assert isinstance(outcome, FenceStale), outcome
            elif not self.has_room(state, one):
                assert outcome == Full()
            else:
                assert isinstance(outcome, Won), f"an honest message is lost: {outcome}"

    def overtaken(self, here: Situation, number: int) -> bool:
        """Whether the counter was taken by another message, or by this one for good."""
        advance, note = self.messages[number].claim.advance, here.notes[number]
        counter = dict(here.state.counters).get(advance[0]) if advance else None
        if advance is None or counter is None or advance[1] > counter.value:
            return False
        for_good = note.accepted or bool(note.running)
        return advance[1] < counter.value or here.taker != number or for_good

    def has_room(self, state: State, one: Claim) -> bool:
        lasting = [r for r in state.records if r.due is None or r.due > AFTER_ALL_LEASES]
        return state.max_records is None or not one.ids or len(lasting) < state.max_records


def steps_of(trail: Trail) -> list[tuple[Event, int]]:
    steps = []
    while trail is not None:
        trail, event, now = trail
        steps.append((event, now))
    return steps[::-1]

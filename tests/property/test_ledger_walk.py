"""Random walks over clock, claims, crashes and purges: every store answers as the model does, and
no message is accepted twice."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from taskseal.errors import Unavailable
from taskseal.ledger import (
    Claim,
    Committed,
    Decision,
    Ledger,
    ReplayId,
    Reserved,
    Started,
    Won,
    open_ledger,
)
from taskseal.ledger.model import (
    Abandon,
    Advance,
    Commit,
    Event,
    LookUp,
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
from taskseal.testing.ledger_replay import Replay

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files cost no wait for a disk: how durable they are is not what is tested here."""
SOON = 40
YEAR = 10_000
times = st.one_of(st.integers(0, SOON), st.integers(0, SOON), st.integers(YEAR, YEAR + SOON))
profiles = st.sampled_from(["p/v1", "q/v1"])
values = st.sampled_from("abcd")
tokens = st.sampled_from([f"t{n}" for n in range(6)])
scopes = st.sampled_from(["c", "d"])
numbers = st.integers(0, 4)
acceptances = st.sampled_from([None, b"", b"yes"])


def ids_of(profile: str, names: list[str]) -> tuple[ReplayId, ...]:
    return tuple(ReplayId(f"{profile} {place}", name) for place, name in enumerate(names))


@st.composite
def claims(draw: st.DrawFn, *, one_expiry: bool = False) -> Claim:
    """A message; with ``one_expiry`` all copies of one message expire together, as is asked for
    where a message may be signed several times."""
    profile = draw(profiles)
    ids = ids_of(profile, draw(st.lists(values, max_size=2)))
    content = draw(st.sampled_from(b"xyz"))
    advance = draw(st.none() | st.tuples(scopes, numbers))
    expires = draw(st.integers(0, SOON))
    if one_expiry:
        ids = ids or ids_of(profile, ["a"])
        expires = (len(profile) + sum(ord(one.value) * 7 for one in ids) + content) % SOON
        advance = None
    mark = hashlib.sha256(repr((profile, ids, content, advance)).encode()).digest()
    keep = expires + draw(st.sampled_from([0, 0, 5, YEAR]))
    return Claim(profile, ids, mark, expires, keep, advance, draw(acceptances))


leases = st.integers(1, 12)


def events(offered: st.SearchStrategy[Claim]) -> st.SearchStrategy[Event]:
    fences = st.integers(0, 12)
    some_ids = st.builds(ids_of, profiles, st.lists(values, max_size=2))
    return st.one_of(
        st.builds(Offer, offered),
        st.builds(Offer, offered),
        st.builds(Reserve, offered, leases, tokens),
        st.builds(Reserve, offered, leases, tokens),
        st.builds(Start, tokens),
        st.builds(Start, tokens),
        st.builds(Commit, tokens, fences, acceptances),
        st.builds(Release, tokens),
        st.builds(Abandon, tokens),
        st.builds(Resolve, some_ids, st.sampled_from(Decision)),
        st.builds(Resolve, offered.map(lambda one: one.ids), st.sampled_from(Decision)),
        st.builds(LookUp, some_ids, offered.map(lambda one: one.fingerprint)),
        st.builds(Advance, scopes, numbers),
        st.just(Purge(PURGE_CHUNK)),
    )


@contextmanager
def stores(max_records: int | None) -> Iterator[tuple[list[Ledger], str]]:
    """A memory and a SQLite ledger, and the URL of the latter."""
    query = "" if max_records is None else f"?max_records={max_records}"
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        url = f"sqlite:{Path(folder) / 'l.db'}{query}"
        with open_ledger(f"memory:{query}") as memory, open_ledger(url) as sqlite:
            yield [memory, sqlite], url


def with_its_fence(event: Event, fences: dict[str, int], chance: int) -> Event:
    """Mostly a worker commits with the fence that it was given; sometimes with any other."""
    if isinstance(event, Commit) and chance and event.token in fences:
        return Commit(event.token, fences[event.token], event.acceptance)
    return event


steps = st.tuples(events(claims()), times, st.integers(0, 4))


@given(st.lists(steps, min_size=15, max_size=60), st.sampled_from([None, None, 1, 3]))
def test_every_store_answers_as_the_model_does(
    walk: list[tuple[Event, int, int]], max_records: int | None
) -> None:
    state, fences, used = State(max_records=max_records), dict[str, int](), set[str]()
    with stores(max_records) as (ledgers, url):
        replays = [Replay(ledger) for ledger in ledgers]
        for drawn, now, chance in walk:
            if isinstance(drawn, Reserve):
                if drawn.token in used:
                    continue
                used.add(drawn.token)
            event = with_its_fence(drawn, fences, chance)
            state, expected = step(state, event, now)
            if isinstance(event, Start) and isinstance(expected, Started):
                fences[event.token] = expected.fence
            answers = [replay.answer(event, now) for replay in replays]
            assert answers == [expected, expected]
        with open_ledger(url) as again:
            for ledger in (*ledgers, again):
                for profile in ("p/v1", "q/v1"):
                    assert ledger.horizon(profile) == dict(state.horizons).get(profile)
                for scope in ("c", "d"):
                    counter = dict(state.counters).get(scope)
                    assert ledger.counter(scope) == (counter.value if counter else None)


MESSAGES = [
    Claim("p/v1", ids_of("p/v1", names), mark * 32, expires, expires + longer)
    for names, mark, expires, longer in (
        (["a", "x"], b"0", 10, 0),
        (["b"], b"1", 14, 6),
        (["c", "x"], b"2", 20, 0),
        (["d"], b"3", 30, 0),
    )
]
"""Few enough that a walk meets each again and again; two want the same id."""


class Workers:
    """Workers on one ledger, and a note of what really happened to each message."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.accepted: set[int] = set()
        self.running: dict[int, str] = {}
        self.tokens: dict[int, list[str]] = {number: [] for number in range(len(MESSAGES))}
        self.fences: dict[str, int] = {}

    def act(self, kind: str, number: int, which: int, now: int) -> None:
        """Do one thing with a message; ``which`` of its reservations, counted from the last."""
        ledger, held = self.ledger, self.tokens[number]
        token = held[-1 - which] if which < len(held) else "none"
        match kind:
            case "claim":
                if isinstance(ledger.claim(MESSAGES[number], now), Won):
                    self.begin(number)
                    self.accepted.add(number)
            case "reserve":
                reserved = ledger.reserve(MESSAGES[number], now, 5)
                if isinstance(reserved, Reserved):
                    held.append(reserved.token)
            case "start":
                started = ledger.start(token, now)
                if isinstance(started, Started):
                    self.begin(number)
                    self.running[number] = token
                    self.fences[token] = started.fence
            case "commit":
                fence = self.fences.get(token, 1)
                if isinstance(ledger.commit(token, fence, b"yes", now), Committed):
                    assert self.running.pop(number, token) == token
                    self.accepted.add(number)
            case "abandon":
                ledger.abandon(token, now)
            case "leap":
                # The clock reads next year, somebody purges, and the clock is mended.
                ledger.purge(now + YEAR)

    def begin(self, number: int) -> None:
        assert number not in self.accepted, "accepted twice"
        assert number not in self.running, "ran again without a decision"


# One message is met more often than the others, and the clock mostly stands, so that a worker often
# comes to do the next thing while its lease still holds.
numbers_drawn = st.sampled_from([0, 0, 0, 1, 2, 3])
kinds = st.sampled_from(["claim", "reserve", "start", "start", "commit", "abandon", "leap"])
moves = st.sampled_from([0] * 14 + [1, 2, -1, 6, -6, YEAR, -YEAR])
acts = st.tuples(kinds, numbers_drawn, st.sampled_from([0, 0, 1]), moves)


@given(st.lists(acts, min_size=30, max_size=120), st.sampled_from([None, 2]))
def test_no_walk_of_clock_claims_and_purges_accepts_a_message_twice(
    walk: list[tuple[str, int, int, int]], max_records: int | None
) -> None:
    with stores(max_records) as (ledgers, _):
        for workers in map(Workers, ledgers):
            now = 0
            for kind, number, which, move in walk:
                now = max(0, now + move)
                with suppress(Unavailable):  # it is full at times
                    workers.act(kind, number, which, now)

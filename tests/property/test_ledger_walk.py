"""Random walks over clock, claims, crashes and purges: every store answers as the model does, and
no message is accepted twice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from taskseal.ledger import (
    Claim,
    Committed,
    Decision,
    Ledger,
    ReplayId,
    Started,
    Won,
    open_ledger,
)
from taskseal.ledger.model import (
    Abandon,
    Advance,
    Answer,
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

SOON = 40
YEAR = 10_000
times = st.one_of(st.integers(0, SOON), st.integers(0, SOON), st.integers(YEAR, YEAR + SOON))
profiles = st.sampled_from(["p/v1", "q/v1"])
values = st.sampled_from("abcd")
tokens = st.sampled_from([f"t{n}" for n in range(6)])
scopes = st.sampled_from(["c", "d"])
numbers = st.integers(0, 4)


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
    mark = repr((profile, ids, content, advance)).encode()[-32:].ljust(32, b".")
    keep = expires + draw(st.sampled_from([0, 0, 5, YEAR]))
    return Claim(profile, ids, mark, expires, keep, advance)


leases = st.integers(1, 12)
acceptances = st.sampled_from([None, b"", b"yes"])


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
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:{Path(folder) / 'l.db'}{query}"
        with open_ledger(f"memory:{query}") as memory, open_ledger(url) as sqlite:
            yield [memory, sqlite], url


def with_its_fence(event: Event, fences: dict[str, int], chance: int) -> Event:
    """Mostly a worker commits with the fence that it was given; sometimes with any other."""
    if isinstance(event, Commit) and chance and event.token in fences:
        return Commit(event.token, fences[event.token], event.acceptance)
    return event


steps = st.tuples(events(claims()), times, st.integers(0, 4))


@given(st.lists(steps, max_size=40), st.sampled_from([None, None, 1, 3]))
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


class Run:
    """What really happened to each message, by its fingerprint."""

    def __init__(self) -> None:
        self.accepted: set[bytes] = set()
        self.running: dict[bytes, str] = {}
        self.claims: dict[str, Claim] = {}

    def note(self, event: Event, answer: Answer) -> None:
        """Write down what happened; fails when it must not have."""
        if isinstance(event, Offer) and isinstance(answer, Won):
            self.begin(event.claim.fingerprint)
            self.accepted.add(event.claim.fingerprint)
        elif isinstance(event, Reserve):
            self.claims[event.token] = event.claim
        elif isinstance(event, Start) and isinstance(answer, Started):
            mark = self.claims[event.token].fingerprint
            self.begin(mark)
            self.running[mark] = event.token
        elif isinstance(event, Commit) and isinstance(answer, Committed):
            mark = self.claims[event.token].fingerprint
            assert self.running.pop(mark, event.token) == event.token
            self.accepted.add(mark)

    def begin(self, mark: bytes) -> None:
        assert mark not in self.accepted, "accepted twice"
        assert mark not in self.running, "ran again without a decision"


workers = st.one_of(
    st.builds(Offer, claims(one_expiry=True)),
    st.builds(Reserve, claims(one_expiry=True), leases, tokens),
    st.builds(Start, tokens),
    st.builds(Commit, tokens, st.just(0), acceptances),
    st.builds(Abandon, tokens),
    st.just(Purge(PURGE_CHUNK)),
)


@given(st.lists(st.tuples(workers, times), max_size=60), st.sampled_from([None, 2]))
def test_no_walk_of_clock_claims_and_purges_accepts_a_message_twice(
    walk: list[tuple[Event, int]], max_records: int | None
) -> None:
    with stores(max_records) as (ledgers, _):
        for ledger in ledgers:
            replay, run, used, fences = Replay(ledger), Run(), set[str](), dict[str, int]()
            for drawn, now in walk:
                if isinstance(drawn, Reserve):
                    if drawn.token in used:
                        continue
                    used.add(drawn.token)
                event = with_its_fence(drawn, fences, 1)
                answer = replay.answer(event, now)
                if isinstance(event, Start) and isinstance(answer, Started):
                    fences[event.token] = answer.fence
                run.note(event, answer)

"""No history of a small ledger breaks a promise, and the stores live through the same histories.

``ledger_worlds`` says what is tried and what is promised.
"""

from __future__ import annotations

import gc
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger_worlds import BARE, TIGHT, WIDE, Explorer, Message, Trail, steps_of

from taskseal.ledger import (
    BeforeHorizon,
    Committed,
    Conflict,
    Full,
    InDoubt,
    Lost,
    Released,
    Reserved,
    Started,
    Won,
    open_ledger,
)
from taskseal.ledger.model import Event, State, step
from taskseal.testing.ledger_replay import Replay


def explore(explorer: Explorer, most: int, keep: int = 0) -> list[list[tuple[Event, int]]]:
    """Walk up to ``most`` worlds; some of the histories, ``keep`` of them, evenly drawn."""
    chance = random.Random(explorer.worlds + keep)
    kept: list[Trail] = []
    met = 0

    def visit(trail: Trail) -> None:
        nonlocal met
        met += 1
        if len(kept) < keep:
            kept.append(trail)
        elif keep and (place := chance.randrange(met)) < keep:
            kept[place] = trail

    gc.disable()  # nothing here forms a cycle, and a million tuples are slow to look through
    try:
        explorer.walk(most, visit)
    finally:
        gc.enable()
    return [steps_of(trail) for trail in kept]


def test_every_history_of_two_messages_that_race_for_one_place_keeps_the_promises() -> None:
    explorer = Explorer(TIGHT, max_records=1)
    explore(explorer, 10**6)
    assert 10_000 < explorer.worlds < 10**6, "the whole space was walked"
    assert explorer.outcomes >= {Won, Committed, Released, Conflict, InDoubt, BeforeHorizon, Full}


@pytest.mark.parametrize(("messages", "most"), [(BARE, 20_000), (WIDE, 20_000)])
def test_the_nearest_histories_of_every_kind_of_message_keep_the_promises(
    messages: tuple[Message, ...], most: int
) -> None:
    explorer = Explorer(messages)
    explore(explorer, most)
    assert explorer.worlds == most
    assert explorer.outcomes >= {Won, Reserved, Started, Committed, Released, Lost, InDoubt}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_million_worlds_keep_the_promises() -> None:
    explorer = Explorer(WIDE)
    explore(explorer, 10**6)
    assert explorer.worlds == 10**6
    assert explorer.outcomes >= {Won, Committed, Released, Conflict, InDoubt, BeforeHorizon}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: how durable a ledger is is not tested here."""
    shared = Path("/dev/shm")
    if not shared.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as name:
        yield Path(name)


@pytest.mark.parametrize(
    ("messages", "max_records"), [(TIGHT, 1), (WIDE, None), (BARE, None)], ids="TWB"
)
def test_the_stores_replay_what_was_explored(
    messages: tuple[Message, ...], max_records: int | None, folder: Path
) -> None:
    histories = explore(Explorer(messages, max_records), 20_000, keep=40)
    longest = 0
    for number, history in enumerate(histories):
        url = f"sqlite:{folder}/{number}.db"
        query = "" if max_records is None else f"?max_records={max_records}"
        with open_ledger(f"memory:{query}") as memory, open_ledger(url + query) as sqlite:
            replays = [Replay(memory), Replay(sqlite)]
            state = State(max_records=max_records)
            for event, now in history:
                state, expected = step(state, event, now)
                assert [replay.answer(event, now) for replay in replays] == [expected, expected]
        longest = max(longest, len(history))
    assert len(histories) == 40
    assert longest >= 5

"""The three shelves show and change the same things in the same way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from taskseal.ledger.base import ReplayId
from taskseal.ledger.memory import MemoryShelf
from taskseal.ledger.model import Draft, State
from taskseal.ledger.records import Counter, Phase, Record, Shelf
from taskseal.ledger.sqlite_shelf import SCHEMA, SqliteShelf

A, B, C = (ReplayId("s", name) for name in "abc")


def record(shelf: Shelf, *ids: ReplayId, keep_until: int = 10, token: str = "") -> Record:
    seq = shelf.number()
    phase = Phase.RESERVED if token else Phase.COMMITTED
    one = Record(seq, "p", ids, b"f" * 32, 5, keep_until, None, phase, 0, keep_until, token)
    shelf.add(one)
    return one


@pytest.fixture(params=["model", "memory", "sqlite"])
def shelf(request: pytest.FixtureRequest) -> Iterator[Shelf]:
    if request.param == "model":
        yield Draft(State(max_records=3))
    elif request.param == "memory":
        yield MemoryShelf(3)
    else:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        for statement in SCHEMA:
            connection.execute(statement)
        yield SqliteShelf(connection, 3)
        connection.close()


def test_records_are_found_in_the_order_of_the_ids_each_once(shelf: Shelf) -> None:
    first, second = record(shelf, A, B), record(shelf, C)
    assert shelf.held((C, B, A)) == [second, first]
    assert shelf.held((B,)) == [first]
    assert shelf.held((ReplayId("t", "a"),)) == shelf.held(()) == []


def test_what_is_due_comes_by_due_and_then_by_seq_and_comes_again(shelf: Shelf) -> None:
    late, early, twin = (record(shelf, one, keep_until=at) for one, at in ((A, 9), (B, 8), (C, 9)))
    for _ in range(2):
        assert shelf.due(7, 5) == []
        assert shelf.due(8, 5) == [early]
        assert shelf.due(9, 2) == [early, late]
        assert shelf.due(9, 5) == [early, late, twin]


def test_an_altered_record_is_due_when_it_is_due_now(shelf: Shelf) -> None:
    one = record(shelf, A, keep_until=8)
    assert shelf.due(7, 5) == []
    sooner = one._replace(keep_until=6)
    shelf.alter(one, sooner)
    assert shelf.due(7, 5) == [sooner]
    later = one._replace(keep_until=20)
    shelf.alter(sooner, later)
    assert shelf.due(19, 5) == []
    assert shelf.due(20, 5) == [later]
    started = later._replace(phase=Phase.STARTED)
    shelf.alter(later, started)
    assert shelf.due(10**9, 5) == []
    assert shelf.held((A,)) == [started]


def test_a_new_record_that_is_due_already_is_found_at_once(shelf: Shelf) -> None:
    assert shelf.due(10, 5) == []
    one = record(shelf, A, keep_until=10)
    assert shelf.due(10, 5) == [one]


def test_a_dropped_record_leaves_nothing_behind(shelf: Shelf) -> None:
    one = record(shelf, A, B, token="t")
    assert shelf.holder("t") == one
    assert shelf.room() == 2
    shelf.drop(one)
    assert shelf.held((A, B)) == []
    assert shelf.holder("t") is None
    assert shelf.due(10**9, 5) == []
    assert shelf.room() == 3


def test_numbers_rise_whatever_is_dropped(shelf: Shelf) -> None:
    one = record(shelf, A)
    shelf.drop(one)
    assert shelf.number() > one.seq


def test_a_horizon_only_moves_up(shelf: Shelf) -> None:
    assert shelf.horizon("p") is None
    for at, stands in ((5, 5), (3, 5), (7, 7), (7, 7)):
        shelf.raise_horizon("p", at)
        assert shelf.horizon("p") == stands
    assert shelf.horizon("q") is None


def test_a_counter_is_what_was_set_last(shelf: Shelf) -> None:
    assert shelf.counter("c") is None
    for counter in (Counter(5), Counter(5, b"f" * 32), Counter(6)):
        shelf.set_counter("c", counter)
        assert shelf.counter("c") == counter

"""A SQLite ledger that cannot answer says so, accepts nothing, and goes on once it can."""

from __future__ import annotations

import random
import resource
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from taskseal.errors import InputError, Reason, Unavailable
from taskseal.ledger import Claim, Duplicate, Outcome, ReplayId, Won, open_ledger
from taskseal.ledger import sqlite as store

NOW = 1_800_000_000_000_000_000
SHORT = 20_000_000
"""Nanoseconds of patience where a lock is not going to be let go."""


def claim(name: str, *, profile: str = "p/v1") -> Claim:
    return Claim(profile, (ReplayId("s", name),), b"f" * 32, NOW + 10, NOW + 10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def filled(path: Path, count: int) -> list[Claim]:
    """A ledger at ``path`` that has accepted ``count`` messages, and what they are."""
    claims = [claim(f"{n:04}") for n in range(count)]
    with open_ledger(f"sqlite:{path}") as ledger:
        ledger.claim_many(claims, NOW)
    return claims


def test_a_ledger_that_another_process_holds_is_unavailable_after_a_bounded_wait(
    path: Path,
) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    with open_ledger(f"sqlite:{path}", busy_timeout=SHORT) as ledger:
        ledger.claim(claim("a"), NOW)
        other.execute("BEGIN IMMEDIATE")
        for call in (
            lambda: ledger.claim(claim("b"), NOW),
            lambda: ledger.claim_many([claim("b")], NOW),
            lambda: ledger.advance("s", 1),
            lambda: ledger.purge(NOW),
        ):
            with pytest.raises(Unavailable, match="locked") as caught:
                call()
            assert caught.value.code is Reason.LEDGER_UNAVAILABLE
            assert "offer the message again" in caught.value.hint
        # Reading waits for nobody.
        assert ledger.lookup(claim("a").ids, b"f" * 32, NOW) == Duplicate(None)
        other.execute("ROLLBACK")
        assert isinstance(ledger.claim(claim("b"), NOW), Won)
    other.close()


def test_a_ledger_that_is_let_go_in_time_answers(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with open_ledger(f"sqlite:{path}") as ledger, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        waiting = pool.submit(ledger.claim, claim("a"), NOW)
        other.execute("ROLLBACK")
        assert isinstance(waiting.result(), Won)
    other.close()


def test_a_held_file_cannot_be_made_a_ledger(path: Path) -> None:
    path.touch()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Unavailable, match="locked"):
        open_ledger(f"sqlite:{path}", busy_timeout=SHORT)
    other.execute("ROLLBACK")
    other.close()
    open_ledger(f"sqlite:{path}", busy_timeout=SHORT).close()


def test_threads_wait_for_each_other_no_longer_than_their_patience(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, done = Event(), Event()

    def slow(*_: object) -> Outcome:
        inside.set()
        assert done.wait(60)
        return Duplicate(None)

    with open_ledger(f"sqlite:{path}", busy_timeout=SHORT) as ledger, ThreadPoolExecutor(1) as pool:
        with monkeypatch.context() as patched:
            patched.setattr("taskseal.ledger.transitions.claim", slow)
            holding = pool.submit(ledger.claim, claim("a"), NOW)
            assert inside.wait(60)
            with pytest.raises(Unavailable, match="other threads hold it"):
                ledger.lookup(claim("a").ids, b"f" * 32, NOW)
            done.set()
            holding.result()
        assert isinstance(ledger.claim(claim("a"), NOW), Won)


def test_a_full_disk_is_unavailable_and_loses_nothing_that_was_answered(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_ledger(f"sqlite:{path}").close()
    pages = ("PRAGMA max_page_count = 24",)
    monkeypatch.setattr(store, "SETTINGS", store.SETTINGS + pages)
    won = []
    with open_ledger(f"sqlite:{path}") as ledger:
        with pytest.raises(Unavailable, match="full") as caught:
            for n in range(10_000):
                outcome = ledger.claim(claim(f"{n}"), NOW)
                assert isinstance(outcome, Won)
                won.append(n)
        assert "space" in caught.value.hint
        with pytest.raises(Unavailable):
            ledger.claim_many([claim(f"batch {n}") for n in range(500)], NOW)
        assert ledger.claim(claim("0"), NOW) == Duplicate(None)
    monkeypatch.undo()
    with open_ledger(f"sqlite:{path}") as ledger:
        known = ledger.claim_many([claim(f"{n}") for n in won], NOW)
        assert known == [Duplicate(None)] * len(won)
        refused = [claim(f"{len(won)}"), *(claim(f"batch {n}") for n in range(500))]
        assert all(isinstance(one, Won) for one in ledger.claim_many(refused, NOW))


FILL = """
import resource, sys
from taskseal.errors import Unavailable
from taskseal.ledger import Claim, ReplayId, Won, open_ledger
ledger = open_ledger("sqlite:" + sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
won = 0
try:
    for n in range(100_000):
        claim = Claim("p/v1", (ReplayId("s", str(n)),), b"f" * 32, 10**18, 10**18)
        assert isinstance(ledger.claim(claim, 1), Won)
        won += 1
except Unavailable as fault:
    print(won, fault.code)
"""


@pytest.mark.parametrize("limit", [60_000, 200_000])
def test_a_write_that_the_system_refuses_is_unavailable_and_loses_nothing(
    limit: int, path: Path
) -> None:
    assert resource.RLIMIT_FSIZE is not None
    open_ledger(f"sqlite:{path}").close()
    done = subprocess.run(
        [sys.executable, "-c", FILL, path, str(limit)], capture_output=True, text=True, check=True
    )
    won, code = done.stdout.split()
    assert code == "ledger_unavailable"
    assert int(won) > 0
    claims = [
        Claim("p/v1", (ReplayId("s", str(n)),), b"f" * 32, 10**18, 10**18) for n in range(int(won))
    ]
    with open_ledger(f"sqlite:{path}") as ledger:
        assert ledger.claim_many(claims, 1) == [Duplicate(None)] * int(won)


def test_a_ledger_cut_short_is_unavailable(path: Path) -> None:
    claims = filled(path, 2000)
    whole = path.read_bytes()
    for kept in (len(whole) // 2 // 4096 * 4096, len(whole) - 4096, 4096, 2048, 100, 17):
        path.write_bytes(whole[:kept])
        with pytest.raises(Unavailable), open_ledger(f"sqlite:{path}") as ledger:
            ledger.claim_many(claims, NOW)


def test_a_damaged_ledger_never_raises_anything_but_unavailable(path: Path) -> None:
    claims = filled(path, 300)
    whole = path.read_bytes()
    chance = random.Random(8785)
    unavailable = 0
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 8, 64))):
            start = chance.randrange(len(damaged))
            damaged[start : start + chance.choice((1, 4, 200))] = chance.randbytes(1)
        path.write_bytes(damaged)
        try:
            with open_ledger(f"sqlite:{path}") as ledger:
                ledger.claim_many(chance.sample(claims, 40), NOW)
                ledger.purge(NOW + 20)
                ledger.claim_many([claim("new"), claim("other", profile="q/v1")], NOW)
                ledger.advance("s", 1)
        except Unavailable as fault:
            assert fault.code is Reason.LEDGER_UNAVAILABLE
            unavailable += 1
    assert unavailable > 30


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM tally",
        "DELETE FROM record",
        "DROP TABLE record",
        "DROP TABLE replay_id",
        "DROP TABLE horizon",
        "UPDATE record SET phase = 7",
        "ALTER TABLE tally RENAME COLUMN last TO first",
    ],
)
def test_a_ledger_that_somebody_edited_is_unavailable(damage: str, path: Path) -> None:
    (known,) = filled(path, 1)
    editor = sqlite3.connect(path)
    editor.execute(damage)
    editor.commit()
    editor.close()
    with open_ledger(f"sqlite:{path}") as ledger, pytest.raises(Unavailable):
        ledger.claim_many([known, claim("new")], NOW)


@pytest.mark.parametrize("column", ["expires_at", "keep_until", "lease_at", "lease_for", "fence"])
def test_a_number_that_became_something_else_is_unavailable(column: str, path: Path) -> None:
    (known,) = filled(path, 1)
    editor = sqlite3.connect(path, isolation_level=None)
    editor.execute("PRAGMA writable_schema = ON")
    editor.execute("UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '')")
    editor.execute(f"UPDATE sqlite_schema SET sql = replace(sql, '{column} INTEGER', '{column}')")
    editor.close()
    editor = sqlite3.connect(path)
    editor.execute(f"UPDATE record SET {column} = 'text'")
    editor.commit()
    editor.close()
    with open_ledger(f"sqlite:{path}") as ledger, pytest.raises(Unavailable, match="malformed"):
        ledger.claim(known, NOW)


def test_an_exception_in_the_middle_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with open_ledger(f"sqlite:{path}") as ledger:
        with monkeypatch.context() as patched:
            patched.setattr("taskseal.ledger.sqlite_shelf.SqliteShelf.flush", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.claim(claim("a"), NOW)
        assert isinstance(ledger.claim(claim("a"), NOW), Won)


def test_a_file_system_without_a_write_ahead_log_is_unavailable(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WithoutLog(sqlite3.Connection):
        """SQLite where there is no shared memory: it answers the mode that it stays in."""

        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            asked = "SELECT 'delete'" if "journal_mode" in statement else statement
            return super().execute(asked, *values)

    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **more: real(*args, **more, factory=WithoutLog)
    )
    with pytest.raises(Unavailable, match="write-ahead log") as caught:
        open_ledger(f"sqlite:{path}")
    assert "local disk" in caught.value.hint


def test_a_ledger_that_another_process_is_making_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.touch()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits = []

    def let_go(_: float) -> None:
        waits.append(1)
        if other.in_transaction:
            other.execute("ROLLBACK")

    monkeypatch.setattr("time.sleep", let_go)
    with open_ledger(f"sqlite:{path}") as ledger:
        assert isinstance(ledger.claim(claim("a"), NOW), Won)
    assert waits
    other.close()


@pytest.mark.parametrize("timeout", [0, 2**63 - 1])
def test_any_patience_from_none_to_the_longest_is_understood(timeout: int, path: Path) -> None:
    with open_ledger(f"sqlite:{path}", busy_timeout=timeout) as ledger:
        assert isinstance(ledger.claim(claim("a"), NOW), Won)


@pytest.mark.parametrize("timeout", [-1, 1.5, 2**63, None])
def test_a_patience_that_is_no_span_is_the_callers_fault(timeout: Any, path: Path) -> None:
    with pytest.raises(InputError):
        open_ledger(f"sqlite:{path}", busy_timeout=timeout)
    assert not path.exists()


def test_a_ledger_that_failed_once_answers_again_when_it_is_mended(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(f"sqlite:{path}") as ledger:
        ledger.claim(claim("a"), NOW)
        with monkeypatch.context() as patched:
            patched.setattr(
                "taskseal.ledger.sqlite_shelf.SqliteShelf.flush",
                lambda _: (_ for _ in ()).throw(sqlite3.OperationalError("disk I/O error")),
            )
            with pytest.raises(Unavailable, match="disk I/O error"):
                ledger.claim(claim("b"), NOW)
        assert ledger.claim(claim("a"), NOW) == Duplicate(None)
        assert isinstance(ledger.claim(claim("b"), NOW), Won)

"""The ledger contract: races of threads and processes, crashes and restarts."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier as ProcessBarrier
from threading import Barrier

from taskseal.ledger import (
    BeforeHorizon,
    Busy,
    Committed,
    Conflict,
    Decision,
    Duplicate,
    FenceStale,
    InDoubt,
    Lost,
    Released,
    Reserved,
    Started,
    Won,
)
from taskseal.testing.ledger_messages import (
    LEASE,
    NOW,
    PROFILE,
    LedgerFactory,
    message,
    replay_ids,
)
from taskseal.validity import DAY

THREADS = 8
MESSAGES = 1000
PATIENCE = 120
"""Seconds after which a process that is waited for counts as hung."""

# Fresh interpreters: a forked copy of a test runner with threads is no honest second process.
_processes = multiprocessing.get_context("spawn")


class ThreadRules:
    """What threads that share one ledger see."""

    def test_of_many_threads_that_claim_a_message_one_wins(
        self, ledger_factory: LedgerFactory
    ) -> None:
        names = [f"m {n}" for n in range(100)]
        line = Barrier(THREADS)
        with ledger_factory() as ledger, ThreadPoolExecutor(THREADS) as pool:

            def claim_all(_: int) -> list[str]:
                line.wait()
                return [n for n in names if isinstance(ledger.claim(message(n), NOW), Won)]

            won = [name for one in pool.map(claim_all, range(THREADS)) for name in one]
        assert sorted(won) == sorted(names)

    def test_of_two_messages_under_crossed_ids_at_most_one_is_won(
        self, ledger_factory: LedgerFactory
    ) -> None:
        line = Barrier(2)
        with ledger_factory() as ledger, ThreadPoolExecutor(2) as pool:

            def claim_all(which: int) -> list[bool]:
                line.wait()
                claims = [
                    message(f"{which} {n}", ids=(f"m {n + which}", f"n {n}")) for n in range(50)
                ]
                return [isinstance(ledger.claim(one, NOW), Won) for one in claims]

            first, second = pool.map(claim_all, range(2))
        assert not any(a and b for a, b in zip(first, second, strict=True))
        assert any(first + second)

    def test_of_many_threads_one_starts_each_message(self, ledger_factory: LedgerFactory) -> None:
        names = [f"m {n}" for n in range(50)]
        line = Barrier(THREADS)
        with ledger_factory() as ledger, ThreadPoolExecutor(THREADS) as pool:

            def run_all(_: int) -> list[tuple[str, int]]:
                line.wait()
                ran = []
                for name in names:
                    reserved = ledger.reserve(message(name), NOW, LEASE)
                    if isinstance(reserved, Reserved):
                        started = ledger.start(reserved.token, NOW)
                        assert isinstance(started, Started)
                        ran.append((name, started.fence))
                        ledger.commit(reserved.token, started.fence, name.encode(), NOW)
                return ran

            ran = [pair for one in pool.map(run_all, range(THREADS)) for pair in one]
            assert ledger.claim(message(names[0]), NOW) == Duplicate(names[0].encode())
        assert sorted(name for name, _ in ran) == sorted(names)
        assert len({fence for _, fence in ran}) == len(names)


class RestartRules:
    """What outlives the process, and what processes that share one store see."""

    def test_everything_is_still_known_after_a_restart(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("old", expires_at=NOW + 1), NOW)
            ledger.purge(NOW + 1)
            ledger.claim(message("plain", advance=("s", 7)), NOW)
            tokens = {}
            for name in ("reserved", "started", "committed"):
                reserved = ledger.reserve(message(name, ids=(name, "n " + name)), NOW, LEASE)
                assert isinstance(reserved, Reserved)
                tokens[name] = reserved.token
            doubtful = ledger.start(tokens["started"], NOW)
            started = ledger.start(tokens["committed"], NOW)
            assert isinstance(started, Started)
            assert isinstance(doubtful, Started)
            ledger.commit(tokens["committed"], started.fence, b"receipt", NOW)
        with ledger_factory() as ledger:
            assert ledger.horizon(PROFILE) == NOW + 1
            assert ledger.counter("s") == 7
            assert ledger.claim(message("old", expires_at=NOW + 1), NOW) == BeforeHorizon(NOW + 1)
            assert ledger.claim(message("plain"), NOW) == Duplicate(None)
            assert ledger.claim(message("new", advance=("s", 7)), NOW) == FenceStale(7)
            (taken,) = replay_ids("plain")
            assert ledger.claim(message("plain", content="x"), NOW) == Conflict(taken)
            for name, known in (
                ("reserved", Busy(NOW + LEASE, started=False)),
                ("started", Busy(NOW + LEASE, started=True)),
                ("committed", Duplicate(b"receipt")),
            ):
                assert ledger.claim(message(name, ids=(name, "n " + name)), NOW) == known
            again = ledger.start(tokens["reserved"], NOW)
            assert isinstance(again, Started)
            assert again.fence > started.fence
            assert ledger.commit(tokens["started"], doubtful.fence, None, NOW) == Committed()

    def test_two_processes_that_claim_the_same_messages_win_each_once(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory():
            pass
        line = _processes.Barrier(2)
        ends = [_started(_claim_all, ledger_factory, line, MESSAGES) for _ in range(2)]
        won = [_finished(*end) for end in ends]
        assert len(won[0]) + len(won[1]) == MESSAGES
        assert set(won[0]) | set(won[1]) == set(range(MESSAGES))

    def test_processes_that_open_a_new_store_at_once_share_it(
        self, ledger_factory: LedgerFactory
    ) -> None:
        line = _processes.Barrier(4)
        ends = [_started(_claim_all, ledger_factory, line, 5) for _ in range(4)]
        won = [number for end in ends for number in _finished(*end)]
        assert sorted(won) == list(range(5))

    def test_a_worker_killed_before_its_start_loses_nothing(
        self, ledger_factory: LedgerFactory
    ) -> None:
        _kill_after(ledger_factory, starts=False)
        with ledger_factory() as ledger:
            assert ledger.claim(message("job"), NOW) == Busy(NOW + LEASE, started=False)
            assert isinstance(ledger.claim(message("job"), NOW + LEASE), Won)

    def test_a_worker_killed_after_its_start_leaves_its_message_in_doubt(
        self, ledger_factory: LedgerFactory
    ) -> None:
        token = _kill_after(ledger_factory, starts=True)
        with ledger_factory() as ledger:
            later = NOW + LEASE
            assert ledger.claim(message("job"), NOW) == Busy(later, started=True)
            assert isinstance(ledger.claim(message("job"), later), InDoubt)
            assert isinstance(ledger.claim(message("job"), NOW + 400 * DAY), InDoubt)
            assert ledger.resolve(replay_ids("job"), Decision.RELEASED, later) == Released()
            assert isinstance(ledger.claim(message("job"), later), Won)
            assert ledger.start(token, NOW) == Lost("unknown")


def _started(
    work: Callable[..., None], *arguments: object
) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    """A new process that does ``work``, and the end of a pipe that it answers through."""
    ours, theirs = _processes.Pipe()
    process = _processes.Process(target=work, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _finished(process: multiprocessing.process.BaseProcess, answers: Connection) -> list[int]:
    """What the process answered."""
    with answers:
        assert answers.poll(PATIENCE), "the other process is silent"
        answer = answers.recv()
    process.join(PATIENCE)
    assert process.exitcode == 0
    process.close()
    assert isinstance(answer, list)
    return answer


def _claim_all(
    answers: Connection, factory: LedgerFactory, line: ProcessBarrier, count: int
) -> None:
    line.wait(PATIENCE)
    with factory() as ledger:
        won = [n for n in range(count) if isinstance(ledger.claim(message(f"{n}"), NOW), Won)]
    answers.send(won)


def _kill_after(factory: LedgerFactory, *, starts: bool) -> str:
    """Have a process reserve a message, start it or not, and be killed; the token that it had."""
    process, answers = _started(_hold, factory, starts)
    with answers:
        assert answers.poll(PATIENCE), "the worker is silent"
        token = answers.recv()
        process.kill()
        process.join(PATIENCE)
    process.close()
    assert isinstance(token, str)
    return token


def _hold(answers: Connection, factory: LedgerFactory, starts: bool) -> None:
    ledger = factory()
    reserved = ledger.reserve(message("job"), NOW, LEASE)
    assert isinstance(reserved, Reserved)
    if starts:
        ledger.start(reserved.token, NOW)
    answers.send(reserved.token)
    answers.poll(PATIENCE)

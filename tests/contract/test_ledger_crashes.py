"""Workers that are killed at any point of their work, again and again: each message is done once,
and none is lost.

Run as a script, this file is such a worker.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from taskseal.ledger import (
    Claim,
    Committed,
    Decision,
    Duplicate,
    InDoubt,
    Ledger,
    Released,
    ReplayId,
    Reserved,
    Started,
    open_ledger,
)
from taskseal.validity import HOUR, SECOND

BEGIN = 1_800_000_000 * SECOND
LEASE = 60 * SECOND
ROUND = 2 * LEASE
"""From one round to the next: every lease of a round has ended by the next."""
POINTS = ("offered", "reserved", "started", "done", "committed")
PATIENCE = 550


def claim(number: int) -> Claim:
    ids = (ReplayId("task", str(number)), ReplayId("nonce", f"n{number}"))
    expires = BEGIN + HOUR
    return Claim("p/v1", ids, number.to_bytes(32, "big"), expires, expires)


def work(url: str, done: str, now: int, seed: int, killed: bool, numbers: list[int]) -> None:
    """Offer ``numbers``, do what is won, and write each down in the file ``done``; if it is to
    be ``killed``, die at a point that ``seed`` decides. Seed 0 dies with its first message begun,
    so that whoever wins which message, one is left in doubt."""
    chance = random.Random(seed)
    chance.shuffle(numbers)
    last = chance.choice(numbers[len(numbers) // 4 :]) if killed else None
    where = chance.choice(POINTS)

    def at(point: str, number: int) -> None:
        first = killed and seed == 0 and point == "started"
        if first or (number == last and point == where):
            os.kill(os.getpid(), signal.SIGKILL)

    log = os.open(done, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open_ledger(url, busy_timeout=120 * SECOND) as ledger:
        for number in numbers:
            at("offered", number)
            reserved = ledger.reserve(claim(number), now, LEASE)
            if not isinstance(reserved, Reserved):
                continue
            at("reserved", number)
            started = ledger.start(reserved.token, now)
            assert isinstance(started, Started)
            at("started", number)
            os.write(log, b"%d\n" % number)
            at("done", number)
            acceptance = b"done %d" % number
            assert ledger.commit(reserved.token, started.fence, acceptance, now) == Committed()
            at("committed", number)


def done_in(folder: Path) -> list[int]:
    return [int(line) for log in folder.glob("*.log") for line in log.read_text().split()]


def decide(ledger: Ledger, count: int, done: set[int], now: int) -> int:
    """Settle what is in doubt by what was written down; how many there were."""
    doubts = 0
    for number in range(count):
        one = claim(number)
        if isinstance(ledger.lookup(one.ids, one.fingerprint, now), InDoubt):
            doubts += 1
            decision = Decision.COMMITTED if number in done else Decision.RELEASED
            outcome = ledger.resolve(one.ids, decision, now)
            assert isinstance(outcome, Committed if number in done else Released)
    return doubts


def one_round(
    folder: Path, number: int, shares: list[list[int]], *, killed: bool
) -> list[subprocess.Popen[bytes]]:
    """Start a worker for each share."""
    workers = []
    for index, share in enumerate(shares):
        name = f"{number}-{index}"
        (folder / f"{name}.txt").write_text(" ".join(map(str, share)))
        arguments = [f"sqlite:{folder}/ledger.db", f"{folder}/{name}.log", f"{folder}/{name}.txt"]
        arguments += [str(BEGIN + number * ROUND), str(1000 * number + index), str(int(killed))]
        workers.append(subprocess.Popen([sys.executable, __file__, *arguments]))
    return workers


@pytest.mark.parametrize(
    ("processes", "count"),
    [(4, 200), pytest.param(8, 50_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
)
def test_each_message_is_done_once_and_none_is_lost_whoever_is_killed(
    processes: int, count: int, tmp_path: Path
) -> None:
    chance = random.Random(count)
    doubts = 0
    for number in range(3):
        # Whose share a message is in changes from round to round; each round offers all of them.
        order = list(range(count))
        chance.shuffle(order)
        shares = [order[index::processes] for index in range(processes)]
        if number == 0:
            # Neighbours overlap: two workers race for some of the messages.
            shares = [one + shares[index - 1][:20] for index, one in enumerate(shares)]
        killed = number < 2
        workers = one_round(tmp_path, number, shares, killed=killed)
        codes = {worker.wait(PATIENCE if count < 1000 else None) for worker in workers}
        assert codes <= ({-signal.SIGKILL, 0} if killed else {0})
        with open_ledger(f"sqlite:{tmp_path}/ledger.db") as ledger:
            after = BEGIN + number * ROUND + LEASE
            doubts += decide(ledger, count, set(done_in(tmp_path)), after)
    # Two rounds of killed workers may have left a message to a decision, but never to oblivion.
    left = sorted(set(range(count)) - set(done_in(tmp_path)))
    (worker,) = one_round(tmp_path, 3, [left or [0]], killed=False)
    assert worker.wait() == 0
    assert Counter(done_in(tmp_path)) == Counter(range(count))
    assert doubts > 0
    with open_ledger(f"sqlite:{tmp_path}/ledger.db") as ledger:
        for number in range(count):
            one = claim(number)
            assert ledger.claim(one, BEGIN) in (Duplicate(b"done %d" % number), Duplicate(None))


if __name__ == "__main__":
    store, file, todo, present, kind, dies = sys.argv[1:]
    shares_text = Path(todo).read_text(encoding="ascii").split()
    work(store, file, int(present), int(kind), dies == "1", [int(one) for one in shares_text])

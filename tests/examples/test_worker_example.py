"""The worker of examples/ is run, killed between its steps, and given every task twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from taskseal import Pins, Verifier, verify_acceptance
from taskseal.verify import Accepted

TASKS = 3
LEASE_AND_MORE = 11 * 60 * 10**9

RUN = """
import os, runpy, signal, sys, time

point, ahead, script, *arguments = sys.argv[1:]
true_clock = time.time_ns
time.time_ns = lambda: true_clock() + int(ahead)
from taskseal.ledger.sqlite import SqliteLedger

def kill(name, after):
    step = getattr(SqliteLedger, name)
    def killed(self, *given):
        if after:
            step(self, *given)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(SqliteLedger, name, killed)

if point != "never":
    when, _, name = point.partition(" ")
    kill(name, when == "after")
sys.argv[:] = [script, *arguments]
sys.path.insert(0, os.path.dirname(script))
runpy.run_path(script, run_name="__main__")
"""
"""Runs a script with its clock that many nanoseconds ahead, and kills it at a step of the ledger."""

KILLED_AT = {
    "before reserve": "free",
    "after reserve": "free when the lease is over",
    "before start": "free when the lease is over",
    "after start": "in doubt, not done",
    "before commit": "in doubt, done",
    "after commit": "done",
}


class Place:
    """The folder of one run."""

    def __init__(self, examples: Path, home: Path) -> None:
        self.examples, self.home = examples, home

    def run(self, script: str, *arguments: str, point: str = "never", ahead: int = 0) -> int:
        command = [sys.executable, "-c", RUN, point, str(ahead), str(self.examples / script)]
        done = subprocess.run(
            [*command, str(self.home), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    def names(self, folder: str) -> list[str]:
        return sorted(path.name for path in (self.home / folder).iterdir())

    @property
    def worked(self) -> list[str]:
        """The ids of the tasks that were done, in order, each as often as it was done."""
        log = self.home / "work.log"
        return log.read_text().split() if log.exists() else []

    def sent(self) -> dict[str, bytes]:
        """Every task by its id, as it was sealed."""
        blobs = [path.read_bytes() for path in sorted((self.home / "sent").iterdir())]
        return {json.loads(blob)["taskId"]: blob for blob in blobs}


@pytest.fixture
def place(root: Path, tmp_path: Path) -> Place:
    found = Place(root / "examples" / "worker", tmp_path)
    assert found.run("sender.py", str(TASKS)) == 0
    return found


def test_every_task_that_came_twice_is_done_once_and_answered_twice(place: Place) -> None:
    assert len(place.names("queue")) == 2 * TASKS
    assert place.run("worker.py") == 0
    assert place.names("queue") == place.names("doubt") == place.names("dead") == []
    assert place.worked == list(place.sent())
    verifier = Verifier(Pins.load((place.home / "worker-pins.json").read_bytes()))
    for number, blob in enumerate(place.sent().values()):
        answers = {path.read_bytes() for path in (place.home / "answers").glob(f"{number:03}.*")}
        (acceptance,) = answers
        outcome = json.dumps({"taskId": json.loads(blob)["taskId"], "done": True}).encode()
        found = verify_acceptance(blob, acceptance, verifier, artefacts={"outcome": outcome})
        assert isinstance(found, Accepted), found


@pytest.mark.parametrize("point", KILLED_AT)
def test_killed_at_any_step_no_task_is_lost_and_none_is_silently_done_twice(
    place: Place, point: str
) -> None:
    first, *others = place.sent()
    assert place.run("worker.py", point=point) == -signal.SIGKILL
    assert place.run("worker.py") == 0
    what = KILLED_AT[point]
    begun = "before" if what in ("free", "done", "in doubt, done") else "after"
    assert place.worked == ([first, *others] if begun == "before" else others)
    # While the lease lasts, the task stays in the queue, both deliveries of it.
    waiting = [] if what in ("free", "done") else ["000.1.json", "000.2.json"]
    assert place.names("queue") == waiting

    assert place.run("worker.py", ahead=LEASE_AND_MORE) == 0
    assert place.names("queue") == place.names("dead") == []
    doubtful = place.names("doubt")
    assert doubtful == (["000.1.json", "000.2.json"] if "in doubt" in what else [])
    assert sorted(place.worked) == sorted(others if what == "in doubt, not done" else place.sent())

    for name in doubtful:
        word = "done" if first in place.worked else "again"
        assert place.run("decide.py", name, word, ahead=LEASE_AND_MORE) == 0
    assert place.run("worker.py", ahead=LEASE_AND_MORE) == 0
    for folder in ("queue", "doubt", "dead"):
        assert place.names(folder) == [], folder
    assert sorted(place.worked) == sorted(place.sent())
    assert len(place.names("answers")) == 2 * TASKS


def test_a_forged_delivery_goes_to_the_dead_letters_and_the_others_are_done(place: Place) -> None:
    forged = place.home / "queue" / "000.0.json"
    good = (place.home / "queue" / "000.1.json").read_bytes()
    forged.write_bytes(good.replace(b"Verify", b"Delete"))
    assert place.run("worker.py") == 0
    assert place.names("dead") == ["000.0.json"]
    assert place.worked == list(place.sent())


def test_the_worker_is_no_longer_than_a_page(root: Path) -> None:
    text = (root / "examples" / "worker" / "worker.py").read_text()
    body = text.partition("def receiver_at")[2]
    assert len([line for line in body.splitlines() if line.strip()]) <= 55

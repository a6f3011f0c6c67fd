"""Nothing is accepted twice and nothing is lost, whoever crashes: 50,000 messages, each offered
three times by eight processes that are killed and started again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import liveness_crowd as crowd
import pytest
from receiving import JOB, signer_for
from support import pins_of

from taskseal.ledger import Committed, Decision, Duplicate, Ledger, Released, open_ledger
from taskseal.receiver import Duplicate as Done
from taskseal.receiver import InDoubt, Job

ARTEFACTS = {"plan": b"# The plan\n", "data": b"rows\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Everything signed, and an empty ledger."""
    sender = signer_for(JOB.id)
    blobs = [crowd.sealed(number, sender) for number in range(crowd.SEALED)]
    (tmp_path / "messages").write_bytes(b"\n".join(blobs))
    (tmp_path / "pins.json").write_bytes(pins_of(sender).to_json())
    (tmp_path / "began").write_text(str(time.time_ns()))
    open_ledger(f"sqlite:{tmp_path / 'ledger.db'}").close()
    return tmp_path


def start(folder: Path, worker: int, incarnation: int) -> subprocess.Popen[bytes]:
    script = Path(crowd.__file__)
    return subprocess.Popen(
        [sys.executable, str(script), str(folder), str(worker), str(incarnation)],
        env={**os.environ, "PYTHONPATH": str(script.parent)},
        stderr=subprocess.PIPE,
    )


def run_the_crowd(folder: Path) -> int:
    """Runs all workers to their ends, starting each again when it was killed; how often that was."""
    running = {worker: (0, start(folder, worker, 0)) for worker in range(crowd.WORKERS)}
    crashes = 0
    try:
        while running:
            worker, (incarnation, process) = next(iter(running.items()))
            try:
                _, errors = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                running[worker] = running.pop(worker)  # the next in turn
                continue
            del running[worker]
            if process.returncode == -9:
                crashes += 1
                running[worker] = (incarnation + 1, start(folder, worker, incarnation + 1))
            else:
                assert process.returncode == 0, errors.decode()
    finally:
        for _, process in running.values():
            process.kill()
            process.communicate()
    return crashes


def finish(folder: Path, ledger: Ledger) -> Counter[str]:
    """What a person does when the crowd has gone: looks into each doubt, offers all once more."""
    told: Counter[str] = Counter()
    receiver = crowd.receiver_of(folder, ledger, lambda: crowd.AFTERWARDS)
    done = set(notes(folder, "done"))
    for number, blob in enumerate((folder / "messages").read_bytes().splitlines()):
        found = receiver.receive(blob, artefacts=ARTEFACTS)
        if isinstance(found, InDoubt):
            assert found.until is None
            word = Decision.COMMITTED if number in done else Decision.RELEASED
            assert receiver.resolve(found.replay_ids, word) in (Committed(), Released())
            told[f"in doubt, {word}"] += 1
            found = receiver.receive(blob, artefacts=ARTEFACTS)
        if isinstance(found, Job):
            with found:
                crowd.Notes(folder / "done.last").write(number)
            told["done at last"] += 1
            found = receiver.receive(blob, artefacts=ARTEFACTS)
        assert isinstance(found, Done), found
    return told


def notes(folder: Path, kind: str) -> list[int]:
    return [number for path in folder.glob(f"{kind}.*") for number in crowd.noted(path)]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_message_is_accepted_exactly_once_and_none_is_lost(folder: Path) -> None:
    crashes = run_the_crowd(folder)
    assert crashes >= crowd.WORKERS
    with open_ledger(f"sqlite:{folder / 'ledger.db'}") as ledger:
        told = finish(folder, ledger)
        # Two phases: what was worked on was worked on once, whatever was in doubt in between.
        done = Counter(notes(folder, "done"))
        assert done == Counter(range(crowd.ONE_STEP, crowd.SEALED))
        # One step: whoever was told that it won was the only one; a crash may have kept it from
        # being told, but the ledger knows.
        won = Counter(notes(folder, "won"))
        assert set(won.values()) == {1}
        untold = crowd.ONE_STEP + crowd.CLAIMED - len(won)
        assert untold <= crashes * crowd.BATCH
        known = ledger.claim_many(
            [crowd.claim(n) for n in range(crowd.SEALED, crowd.SEALED + crowd.CLAIMED)],
            crowd.AFTERWARDS,
        )
        assert known == [Duplicate(None)] * crowd.CLAIMED
    # Doubt is what this is about: a run without any shows nothing.
    assert told["in doubt, committed"] and told["in doubt, released"], told

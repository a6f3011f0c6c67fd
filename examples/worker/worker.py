"""The worker: takes what lies in its queue, does each task once, and hands an acceptance back.

Run it as: python worker.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from taskseal import (
    Accepted,
    Duplicate,
    Identity,
    InDoubt,
    Keyring,
    Pins,
    Receiver,
    Refused,
    Verifier,
    open_ledger,
)

ACCEPTANCE = "taskseal.acceptance/v1"


def receiver_at(home: Path) -> Receiver:
    """The receiver whose trust, ledger and key lie in ``home``."""
    keys = home / "worker-keys"
    if not keys.exists():
        now = datetime.now(UTC)
        made = Keyring.create(keys, "worker")
        made.new("worker/1", [ACCEPTANCE], not_before=now, allow_plain=True)
    ring = Keyring.open(keys)
    (home / "worker-pins.json").write_bytes(ring.pins().to_json())
    verifier = Verifier(Pins.load((home / "sender-pins.json").read_bytes()))
    me = Identity(organisation="org_example", workspace="ws_example", device="dev_example")
    signer = ring.signer(ACCEPTANCE, key_version=None, at=verifier.clock())
    return Receiver(verifier, open_ledger(f"sqlite:{home / 'ledger.db'}"), me, signer=signer)


def do(home: Path, task: Mapping[str, Any]) -> dict[str, Any]:
    """The work itself; here it leaves a line behind, so that everyone can count."""
    with (home / "work.log").open("a") as log:
        log.write(task["taskId"] + "\n")
    return {"taskId": task["taskId"], "done": True}


def take(home: Path, receiver: Receiver, letter: Path) -> None:
    """One delivery, from the queue to where it belongs."""
    answers = home / "answers"
    match receiver.receive(letter.read_bytes()):
        case Accepted() as job:
            with job:  # an exception in here leaves the task in doubt, and never redone unasked
                acceptance = job.commit(do(home, job.envelope))
            (answers / letter.name).write_bytes(acceptance or b"")
            letter.unlink()
        case Duplicate(acceptance=stored):
            (answers / letter.name).write_bytes(stored or b"")
            letter.unlink()
        case InDoubt(until=None):
            letter.rename(home / "doubt" / letter.name)  # decide.py
        case InDoubt() | Refused(disposition="retry"):
            print(letter.name, "stays for later")
        case Refused() as refused:
            print(letter.name, "is refused:", refused)
            letter.rename(home / "dead" / letter.name)


def main(home: Path) -> None:
    for name in ("answers", "doubt", "dead"):
        (home / name).mkdir(exist_ok=True)
    receiver = receiver_at(home)
    for letter in sorted((home / "queue").glob("*.json")):
        take(home, receiver, letter)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A person's word on a task in doubt: it was done, or it is to be done again.

Run it as: python decide.py FOLDER NAME done|again
"""

from __future__ import annotations

import sys
from pathlib import Path

from worker import receiver_at

from taskseal import Accepted, Decision, InDoubt

DECISIONS = {"done": Decision.COMMITTED, "again": Decision.RELEASED}


def main(home: Path, name: str, word: str) -> None:
    letter, receiver = home / "doubt" / name, receiver_at(home)
    match receiver.receive(letter.read_bytes()):
        case InDoubt() as found:
            print(receiver.resolve(found.replay_ids, DECISIONS[word]))
        case Accepted() as job:  # released before, by the word on its other delivery
            job.release()
    # Back into the queue in either case: the ledger knows by now what to make of it.
    letter.rename(home / "queue" / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])

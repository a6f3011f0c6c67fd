"""One of many workers on one ledger: offers its share of the messages until it is done or killed.

Run as a process: ``liveness_crowd.py FOLDER WORKER INCARNATION``. It goes on where its last incarnation
stopped; all but the last incarnation are killed (SIGKILL) at a moment of no one's choosing.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from receiving import PROFILES, T0, job
from support import embed

from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner
from taskseal.ledger import Claim, Full, Ledger, ReplayId, Won, open_ledger
from taskseal.receiver import Duplicate, InDoubt, Job, Outcome, Receiver
from taskseal.validity import HOUR, SECOND, Instant, write_instant
from taskseal.verify import Identity, Refused, Verifier

WORKERS = 8
OFFERS = 3
"""How often every message is offered, beside what crashes repeat."""
SEALED = 4_000
"""Messages that are signed, verified and taken by a receiver: the first of all."""
ONE_STEP = 1_000
"""Those of them, the first again, that are accepted in one step."""
CLAIMED = 46_000
"""Messages that are claimed of the ledger itself, in batches: a receiver's signature checks would
cost minutes and show nothing more about the ledger."""
BATCH = 50
LIVES = 6
"""Incarnations of a worker that are killed."""
LEASE = 20 * SECOND
END = write_instant(T0 + 20 * HOUR)
"""When the signed messages expire: no machine is so slow."""
AFTERWARDS = T0 + 10 * HOUR
"""When the crowd has gone, and all its leases have ended."""


class Trouble(Exception):
    """What a worker runs into now and then."""


def sealed(number: int, sender: KeySigner) -> bytes:
    """The signed message of that number."""
    return embed(job(str(number), expiresAt=END), sender, "proof")


def claim(number: int) -> Claim:
    """The claim of a message beyond the signed ones."""
    ids = (ReplayId("crowd message", str(number)), ReplayId("crowd nonce", str(number)))
    end = T0 + 20 * HOUR
    return Claim("crowd/v1", ids, sha256(b"%d" % number).digest(), end, end)


def shares() -> list[list[int]]:
    """What each worker offers, in its order: every message as often as it is offered at all."""
    offers = [number for number in range(SEALED + CLAIMED) for _ in range(OFFERS)]
    random.Random(11).shuffle(offers)
    return [offers[worker::WORKERS] for worker in range(WORKERS)]


def receiver_of(folder: Path, ledger: Ledger, clock: Callable[[], Instant]) -> Receiver:
    """The receiver that all workers are, each for itself."""
    pins = Pins.load((folder / "pins.json").read_bytes())
    verifier = Verifier(pins, profiles=PROFILES, clock=clock)
    return Receiver(verifier, ledger, Identity.ANY, lease=LEASE, clock=clock)


class Notes:
    """Lines that are on record as soon as they are written, whatever becomes of the process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, *numbers: int) -> None:
        os.write(self._file, "".join(f"{number}\n" for number in numbers).encode())


def noted(path: Path) -> list[int]:
    """What stands in a file of notes."""
    return [int(line) for line in path.read_text().split()] if path.exists() else []


class Worker:
    """Does what comes out of the receiver, and notes what it did before it says so."""

    def __init__(self, folder: Path, worker: int, incarnation: int) -> None:
        self.folder = folder
        self.dice = random.Random(f"{worker} {incarnation}")
        self.done = Notes(folder / f"done.{worker}")
        self.won = Notes(folder / f"won.{worker}")
        self.at = Notes(folder / f"at.{worker}")
        self.ledger = open_ledger(f"sqlite:{folder / 'ledger.db'}", busy_timeout=60 * SECOND)
        # Messages are from 2026; leases run by a clock that runs.
        self.receiver = receiver_of(folder, self.ledger, clock(folder))
        self.messages = (folder / "messages").read_bytes().splitlines()

    def run(self, share: list[int]) -> None:
        start = max(noted(self.folder / f"at.{sys.argv[2]}"), default=0)
        for position, numbers in batches(share, start):
            claimed = [number for number in numbers if number >= SEALED]
            outcomes = self.ledger.claim_many([claim(n) for n in claimed], self.receiver.clock())
            self.won.write(*(n for n, o in zip(claimed, outcomes, strict=True) if type(o) is Won))
            assert not any(isinstance(outcome, Full) for outcome in outcomes)
            for number in numbers:
                if number < SEALED:
                    self.offer(number)
            self.at.write(position)

    def offer(self, number: int) -> None:
        blob, artefacts = self.messages[number], {"plan": b"# The plan\n", "data": b"rows\n"}
        call = self.receiver.accept if number < ONE_STEP else self.receiver.receive
        found: Outcome = call(blob, artefacts=artefacts)
        match found:
            case Job() if number < ONE_STEP:
                self.won.write(number)
            case Job():
                self.work(number, found)
            case Duplicate() | InDoubt():
                pass
            case Refused():
                # Reserved, and held up for so long that the lease ended: somebody offers it again.
                assert found.disposition == "retry", found

    def work(self, number: int, found: Job) -> None:
        """The work, now and then in trouble before or after it, now and then given back."""
        fate = self.dice.random()
        try:
            with found:
                if fate < 0.02:
                    raise Trouble
                if fate < 0.04:
                    found.release()
                    return
                self.done.write(number)
                if fate > 0.98:
                    raise Trouble
        except Trouble:
            pass


def batches(share: list[int], start: int) -> Iterator[tuple[int, list[int]]]:
    """The share from ``start`` on in batches, each with the position behind it."""
    for first in range(start, len(share), BATCH):
        yield first + BATCH, share[first : first + BATCH]


def clock(folder: Path) -> Callable[[], Instant]:
    """A clock that begins at the messages' time and runs like the real one, for all alike."""
    began = int((folder / "began").read_text())
    return lambda: T0 + (time.time_ns() - began)


def main(folder: Path, worker: int, incarnation: int) -> None:
    me = Worker(folder, worker, incarnation)
    if incarnation < LIVES:
        moment = me.dice.uniform(0.05, 2.5)
        end = threading.Timer(moment, os.kill, (os.getpid(), signal.SIGKILL))
        end.daemon = True
        end.start()
    me.run(shares()[worker])
    os._exit(0)  # done before its time came: the end must not find it on its way out


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

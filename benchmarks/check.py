"""How dear a verification is beside the signature check that it cannot do without.

Over distinct pre-signed Dharma tasks of about 3 KB: bare PyNaCl over the bytes signed,
`Verifier.check` of the canonical text, of another spelling, and of a forgery. A round goes over
all messages once, a hundred at a time by each in turn, so that a busy moment of the machine is
shared by all; the ratios are taken within a round, and every verdict is asserted. Only the
ratios mean anything.

    python benchmarks/check.py [messages] [rounds]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from uuid import UUID

from nacl.bindings import crypto_sign_open

from taskseal import Accepted, Pins, Refused, Verifier, sign
from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.private import PrivateKey
from taskseal.signers import signer_from_seed
from taskseal.validity import SECOND, to_instant

AT = "2026-09-01T08:35:00Z"
BATCH = 100
"""Messages that one kind of check goes over before it is the next one's turn."""
SKILLS = 1
"""As many as the largest of the peer's own vectors has; each is one more digest to read."""


def task(number: int) -> dict[str, object]:
    """A task of about 3 KB."""
    return {
        "schema": "dharma.task/v1",
        "taskId": str(UUID(int=number)),
        "organizationId": "org_bench",
        "workspaceId": "ws_1",
        "taskType": "external_request",
        "target": {"deviceId": "dev_1", "provider": "codex"},
        "skillBundle": None,
        "instructions": "Compare the rows and report each difference. " * 40,
        "requiredSkills": [
            {
                "skillId": f"skill/{index}",
                "version": "1.2.3",
                "commit": f"{index:040x}",
                "contentHash": f"sha256:{index:064x}",
            }
            for index in range(SKILLS)
        ],
        "authority": {
            "readPaths": ["src", "docs"],
            "writePaths": ["src"],
            "commands": [{"commandId": f"verify-{index}"} for index in range(6)],
            "network": "deny",
            "git": "task_branch",
        },
        "execution": {
            "isolation": "git_worktree",
            "timeoutSeconds": 600,
            "leaseSeconds": 900,
            "maximumConcurrentAgents": 1,
        },
        "acceptance": {"commands": [{"commandId": "verify"}], "requiredArtifacts": ["report.md"]},
        "budget": {"mode": "byok_local", "maximumDharmaCostCents": 0},
    }


Work = Callable[[bytes], object]


def timed(work: Work, messages: list[bytes]) -> float:
    """Seconds in all."""
    begin = time.perf_counter()
    for message in messages:
        work(message)
    return time.perf_counter() - begin


def one_round(kinds: dict[str, tuple[Work, list[bytes]]], messages: int) -> dict[str, float]:
    """Microseconds a message, by kind."""
    spent, order = dict.fromkeys(kinds, 0.0), list(kinds)
    for begin in range(0, messages, BATCH):
        for name in order:
            work, all_of_them = kinds[name]
            spent[name] += timed(work, all_of_them[begin : begin + BATCH])
        order.append(order.pop(0))  # each is first in its turn
    return {name: seconds / messages * 1e6 for name, seconds in spent.items()}


def main(messages: int = 2000, rounds: int = 7) -> None:
    """Prints one line a kind of message: microseconds, and the ratio to the bare check."""
    key = PrivateKey.generate()
    signer = signer_from_seed(key.reveal_secret(), "bench/1", ["dharma.task/v1"])
    # Each is issued at an instant of its own, within the ten minutes before.
    now = to_instant(AT)
    blobs = [
        sign(task(number), signer, at=now - number % 600 * SECOND).blob
        for number in range(messages)
    ]
    spelt = [json.dumps(json.loads(blob), indent=1).encode() for blob in blobs]
    forged = [blob.replace(b"Compare the", b"Compare The", 1) for blob in blobs]
    bare = []
    for blob in blobs:
        value = json.loads(blob)
        signature = b64url_decode(value.pop("signature"))
        assert signature is not None
        bare.append(signature + canonicalise(value))
    public = key.public.raw
    verifier = Verifier(Pins.of([signer.entry]), clock=lambda: now)

    def check(verdict: type) -> Work:
        def work(message: bytes) -> None:
            assert type(verifier.check(message)) is verdict

        return work

    kinds: dict[str, tuple[Work, list[bytes]]] = {
        "bare PyNaCl": (lambda message: crypto_sign_open(message, public), bare),
        "check, canonical": (check(Accepted), blobs),
        "check, indented": (check(Accepted), spelt),
        "check, forged": (check(Refused), forged),
    }
    found = [one_round(kinds, messages) for _ in range(rounds)]
    print(f"{messages} distinct tasks of {len(blobs[0])} bytes, median of {rounds} rounds")
    for name in kinds:
        ratios = sorted(times[name] / times["bare PyNaCl"] for times in found)
        middle = statistics.median(times[name] for times in found)
        print(
            f"{name:18} {middle:7.1f} µs  {statistics.median(ratios):5.2f} ×"
            f"  ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

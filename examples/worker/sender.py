"""The sender: seals tasks and puts them into the worker's queue, each of them twice.

Run it as: python sender.py FOLDER [COUNT]
"""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from taskseal import Keyring, sign


def keyring(folder: Path) -> Keyring:
    """The sender's keys. They are kept in the clear here, which is for examples only."""
    if folder.exists():
        return Keyring.open(folder)
    ring = Keyring.create(folder, "sender")
    now = datetime.now(UTC)
    ring.new("tasks/1", ["dharma.task/v1"], not_before=now, allow_plain=True)
    return ring


def task(number: int) -> dict[str, Any]:
    """A task. What it lacks (times, nonce, key version) is filled in when it is sealed."""
    return {
        "schema": "dharma.task/v1",
        "taskId": str(uuid.uuid4()),
        "organizationId": "org_example",
        "workspaceId": "ws_example",
        "taskType": "external_request",
        "target": {"deviceId": "dev_example", "provider": "codex"},
        "skillBundle": None,
        "instructions": f"Verify repository {number}.",
        "requiredSkills": [],
        "authority": {"readPaths": ["."], "writePaths": [], "commands": [], "network": "deny",
                      "git": "task_branch"},
        "execution": {"isolation": "git_worktree", "timeoutSeconds": 60, "leaseSeconds": 120,
                      "maximumConcurrentAgents": 1},
        "acceptance": {"commands": [], "requiredArtifacts": []},
        "budget": {"mode": "byok_local", "maximumDharmaCostCents": 0},
    }  # fmt: skip


def main(home: Path, count: int) -> None:
    ring = keyring(home / "sender-keys")
    (home / "sender-pins.json").write_bytes(ring.pins().to_json())
    queue, sent = home / "queue", home / "sent"
    queue.mkdir(exist_ok=True)
    sent.mkdir(exist_ok=True)
    for number in range(count):
        blob = sign(task(number), ring).blob
        (sent / f"{number:03}.json").write_bytes(blob)
        for delivery in (1, 2):  # a queue that delivers at least once
            (queue / f"{number:03}.{delivery}.json").write_bytes(blob)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3)

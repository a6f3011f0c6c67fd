"""What the tests of the command line share: how a command ended, and a desk to work at."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support import VECTORS, load

MAIN = [sys.executable, "-c", "from taskseal.cli import main; main()"]
"""The installed command, as it starts."""

AISA, DHARMA, ORBIPLEX = "aisa.message/v1", "dharma.task/v1", "orbiplex.turn-request/v1"
ME = "worker-1"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        (only,) = self.jsons
        return only

    @property
    def jsons(self) -> list[Any]:
        """Every line of standard output as an object; nothing else may stand there."""
        found = [json.loads(line) for line in self.text.splitlines()]
        assert all(isinstance(each, dict) for each in found)
        return found


Cli = Callable[..., Ended]


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with a keyring, its pins, and documents that are fresh now."""

    folder: Path
    ring: Path
    pins: Path
    task: Path
    plan: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


def moment(seconds: int = 0) -> str:
    """The instant that many seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def minimal_task() -> dict[str, Any]:
    """A Dharma task without what `sign` fills in."""
    vectors = load(VECTORS / "dharma" / "task-envelopes.json")["vectors"]
    (found,) = [v["input"] for v in vectors if v["name"] == "task-external-request-minimal"]
    filled = ("createdAt", "expiresAt", "nonce", "signature", "signerKeyVersion")
    return {name: value for name, value in found.items() if name not in filled}


CONTROLLED = """
import fcntl, os, sys, termios
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
"""Makes the terminal on a descriptor the process's own, then becomes the command."""


def run_on_terminal(
    arguments: list[str],
    typed: list[str] | None = None,
    *,
    env: dict[str, str] | None = None,
    stdin: bytes | None = None,
) -> tuple[int, str]:
    """Runs the command line with a terminal of its own; the exit code and what was shown.

    Args:
        arguments: of the command.
        typed: what is answered, one line a prompt.
        env: beside this process's variables.
        stdin: comes through a pipe instead of the terminal.
    """
    ours, theirs = os.openpty()
    variables = {"TERM": "xterm"} | {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-c", CONTROLLED, str(theirs), *MAIN[1:], *arguments],
        stdin=theirs if stdin is None else subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        pass_fds=[theirs],
        start_new_session=True,
        env=variables | (env or {}),
    )
    os.close(theirs)
    if process.stdin is not None:
        process.stdin.write(stdin or b"")
        process.stdin.close()
    shown = _converse(ours, list(typed or []))
    os.close(ours)
    return process.wait(timeout=60), shown.decode()


def _converse(terminal: int, answers: list[str]) -> bytes:
    """Everything that is shown; each prompt (it ends in a colon and a blank) is answered."""
    shown = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
        if shown.endswith(b": ") and answers:
            os.write(terminal, answers.pop(0).encode() + b"\n")
    return shown

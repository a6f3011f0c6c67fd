"""The four outcomes are one union: a type checker names the one that was left out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
from typing import assert_never
from taskseal import Accepted, Duplicate, InDoubt, Outcome, Receiver, Refused

def tell(receiver: Receiver, data: bytes) -> str:
    found = receiver.receive(data)
    match found:
        case Accepted() as job:
            with job:
                answer: bytes | None = job.commit({"done": True})
            return str(answer)
        case Duplicate(acceptance=acceptance):
            return str(acceptance)
        case Refused(reason=reason):
            return reason.value
"""
WHOLE = """
        case InDoubt(until=until):
            return str(until)
"""
TAIL = """
        case _:
            assert_never(found)

def again(receiver: Receiver, data: bytes) -> Outcome:
    return receiver.accept(data)

async def later(receiver: Receiver, data: bytes) -> Outcome:
    return await receiver.areceive(data)
"""
MISUSE = """
from taskseal import Receiver

def tell(receiver: Receiver, data: bytes) -> None:
    with receiver.receive(data):
        print("it was not asked what it is")
"""


def checked(text: str, folder: Path, root: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy", reason="mypy is not installed, so types were not checked")
    file = folder / "snippet.py"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    return subprocess.run(
        [*command, "--config-file", os.devnull, "--cache-dir", str(folder / "cache"), str(file)],
        env={**os.environ, "MYPYPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_match_over_all_four_outcomes_passes_and_one_that_lacks_one_does_not(
    tmp_path: Path, root: Path
) -> None:
    whole = checked(HEAD + WHOLE + TAIL, tmp_path, root)
    assert (whole.returncode, whole.stdout) == (0, ""), whole.stdout + whole.stderr
    partial = checked(HEAD + TAIL, tmp_path, root)
    assert partial.returncode == 1
    assert "InDoubt" in partial.stdout and "Never" in partial.stdout
    misused = checked(MISUSE, tmp_path, root)
    assert misused.returncode == 1
    assert "__exit__" in misused.stdout

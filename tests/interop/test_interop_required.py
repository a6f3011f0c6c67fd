"""That what is missing is never passed over in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from interop_support import HERE, REQUIRED

Outcome = Callable[..., tuple[int, str]]

TESTS = """
import pytest

def test_that_needs_what_is_not_here(needs):
    needs("ssh-keygen", "openssl", "node")
    raise AssertionError("it ran")

def test_that_is_skipped_for_another_reason():
    pytest.skip("because")

def test_that_runs():
    pass
"""


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    """Runs three tests under this folder's conftest.py, with no software on PATH at all."""
    folder = tmp_path / "interop"
    folder.mkdir()
    shutil.copy(HERE / "conftest.py", folder)
    (folder / "test_three.py").write_text(TESTS)
    environment = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    environment |= {"PATH": str(tmp_path / "nothing"), "PYTHONPATH": str(HERE.parent)}

    def run(**variables: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", folder]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def test_where_it_is_not_required_a_test_says_what_it_missed(outcome: Outcome) -> None:
    code, said = outcome()
    assert code == 0, said
    assert "1 passed, 2 skipped" in said
    assert "ssh-keygen of version 9.1 or later is not on PATH, so this test" in said


def test_where_it_is_required_every_skip_fails_the_run(outcome: Outcome) -> None:
    code, said = outcome(**{REQUIRED: "required"})
    assert code == 1, said
    assert "2 failed, 1 passed" in said
    assert "skipped, and TASKSEAL_INTEROP=required" in said

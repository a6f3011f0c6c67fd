"""The command line in this process and as a process of its own, and a desk to work at."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_support import AISA, DHARMA, MAIN, ME, ORBIPLEX, Cli, Ended, Place, minimal_task, moment
from click.testing import CliRunner
from support import SAMPLES, load

from taskseal.cli.main import taskseal as program


@pytest.fixture
def cli() -> Cli:
    """Runs the command line in this process; an exit code other than ``code`` fails the test."""

    def run(*arguments: str | Path, code: int = 0, stdin: bytes = b"") -> Ended:
        result = CliRunner().invoke(program, [str(each) for each in arguments], input=stdin)
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        assert "Traceback" not in result.stderr
        return Ended(result.exit_code, result.stdout_bytes, result.stderr)

    return run


@pytest.fixture
def process() -> Cli:
    """Runs the command line as a process, without a terminal anywhere."""

    def run(
        *arguments: str | Path | bytes, code: int = 0, stdin: bytes = b"", **options: Any
    ) -> Ended:
        done = subprocess.run(
            [*MAIN, *(each if isinstance(each, bytes) else str(each) for each in arguments)],
            input=stdin,
            capture_output=True,
            start_new_session=True,
            timeout=120,
            check=False,
            **options,
        )
        ended = Ended(done.returncode, done.stdout, done.stderr.decode(errors="replace"))
        assert ended.code == code, ended
        assert "Traceback" not in ended.err
        return ended

    return run


@pytest.fixture
def place(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The desk: keys ``tasks/1``, ``messages/1``, ``turns/1`` of the issuer ``desk``."""
    folder = tmp_path / "desk"
    folder.mkdir()
    found = Place(
        folder, folder / "ring", folder / "pins.json", folder / "task.json", folder / "plan.json"
    )
    monkeypatch.setenv("TASKSEAL_KEYRING", str(found.ring))
    monkeypatch.chdir(folder)
    past = ["--not-before", "2026-01-01T00:00:00Z", "--no-passphrase"]
    for version, profile in (("tasks/1", DHARMA), ("messages/1", AISA), ("turns/1", ORBIPLEX)):
        cli("keys", "new", version, "--for", profile, "--issuer", "desk", *past)
    cli("keys", "pin", "-o", found.pins)
    found.task.write_text(json.dumps(minimal_task()))
    plan = load(SAMPLES / "aisa" / "plan.json") | {"occurred_on": moment(-60)}
    found.plan.write_text(json.dumps(plan))
    return found


@pytest.fixture
def sealed(place: Place, cli: Cli) -> Path:
    """The plan, signed for ``worker-1``."""
    cli("sign", place.plan, "--audience", ME, "-o", place / "sealed.json")
    return place / "sealed.json"


@pytest.fixture
def plain_user() -> None:
    """The test needs permissions that mean something."""
    if os.geteuid() == 0:
        pytest.skip("root may read and write everything, so that permissions cannot be tested")

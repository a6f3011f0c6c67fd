"""Cases 48 and 50, through the command line and a custom profile."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from cli_support import DHARMA, Cli
from support import CASES, case_pins, load

CASE = CASES / "50-exit-codes"
MISSING_FILE = 6
"""What the case's exit 2 for a missing file is here."""


@pytest.mark.parametrize("step", load(CASE / "scenario.json")["steps"], ids=lambda s: s["run"])
def test_the_exit_code_of_verify_is_what_scripts_gate_on(
    tmp_path: Path,
    process: Cli,
    vectors: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: dict[str, object],
) -> None:
    for name in ("good.json", "tampered.json"):
        shutil.copy(CASE / name, tmp_path)
    (tmp_path / "pins.json").write_bytes(case_pins(CASE.name).to_json())
    monkeypatch.chdir(tmp_path)
    command, _, source = str(step["run"]).partition(" < ")
    code = MISSING_FILE if "missing" in command else step["expect_exit"]
    done = process(
        *command.split(),
        *("--profile", vectors / "neutral.profile.toml", "--trust", "pins.json"),
        *("--at", load(CASE / "scenario.json")["now"], "--allow-published-keys"),
        stdin=Path(source).read_bytes() if source else b"",
        code=code,
    )
    if code and len(command.split()) == 2:
        assert "accepted" not in done.text, "a script could take it for success"


@pytest.mark.parametrize("step", load(CASES / "48-key-file-mode" / "scenario.json")["steps"][:2])
def test_a_private_key_is_0600_whatever_the_umask(
    tmp_path: Path, process: Cli, step: dict[str, str]
) -> None:
    umask = int(step["run"].partition(";")[0].split()[1], 8)
    ring, out = tmp_path / "ring", tmp_path / "k.pem"
    options = ["--keyring", ring, "--no-passphrase"]
    process("keys", "new", "k", "--for", DHARMA, *options, umask=umask)
    process("keys", "export", "k", "--as", "pem", "--private", "-o", out, *options, umask=umask)
    wanted = int(step["expect_mode"], 8)
    files = [out, *(path for path in ring.rglob("*") if path.is_file())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {wanted}
    assert {stat.S_IMODE(path.stat().st_mode) for path in [ring, ring / "private"]} == {0o700}


def test_a_private_key_is_0600_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    made: list[tuple[str, int]] = []
    real = os.open

    def watched(path: object, flags: int, mode: int = 0o777, **options: object) -> int:
        if flags & os.O_CREAT:
            made.append((os.fspath(path), mode))  # type: ignore[call-overload]
        return real(path, flags, mode, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", watched)
    options = ["--keyring", tmp_path / "ring", "--no-passphrase"]
    cli("keys", "new", "k", "--for", DHARMA, *options)
    cli("keys", "export", "k", "--as", "raw", "--private", "-o", tmp_path / "k.raw", *options)
    assert made
    assert {mode for _, mode in made} == {0o600}

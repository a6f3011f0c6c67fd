"""Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = frozenset(
    {"bcrypt", "blake3", "cryptography", "hypothesis", "jsonschema", "jsonschema_rs", "nacl"}
    | {"orjson", "pytest", "referencing", "rfc8785", "rich", "rpds", "setuptools", "sqlite3"}
)
"""Roots of packages; besides, `importlib.metadata` alone costs as much as all of click."""

RUN = """
import json, sys
sys.argv = ["taskseal", *{arguments!r}]
from taskseal.cli import main
try:
    code = main()
except SystemExit as ended:
    code = ended.code
print(json.dumps([code or 0, sorted(sys.modules)]))
"""


def imported_by(*arguments: str) -> tuple[str, set[str]]:
    """What the command printed, and every module that it had loaded when it ended."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        check=True,
    )
    *printed, last = done.stdout.splitlines()
    code, loaded = json.loads(last)
    assert code == 0, done.stderr
    return "\n".join(printed), set(loaded)


def heavy(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.partition(".")[0] in HEAVY} | (
        loaded & {"importlib.metadata"}
    )


def test_the_version_is_printed_without_any_heavy_import() -> None:
    printed, loaded = imported_by("--version")
    assert printed.startswith("taskseal")
    assert heavy(loaded) == set()


@pytest.mark.parametrize("command", ["verify", "sign", "canon"])
def test_the_help_of_a_command_needs_no_heavy_import(command: str) -> None:
    printed, loaded = imported_by(command, "--help")
    assert command in printed
    assert heavy(loaded) == set()


def test_importing_the_package_loads_nothing_but_itself() -> None:
    script = "import sys; old = set(sys.modules); import taskseal; print(*(set(sys.modules) - old))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert heavy(set(done.stdout.split())) == set()
    assert "taskseal" in done.stdout.split()

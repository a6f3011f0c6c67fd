"""What README.md shows is what happens: its commands and its Python are run, in order.

Commands. A block fenced as ``console`` in which a line begins with ``$ taskseal`` is run in bash,
one command a ``$`` line. A line that ends in a backslash goes on below, there with ``> `` before
it. What stands below a command is everything that it prints, on standard output and standard
error in the order of printing. In it ``…`` stands for any text within the line, and a line of
``…`` alone for any lines, also none. A last line ``[exit 7]`` is the exit code, which is 0
otherwise. Other commands in such a block are run as well.

Python. Blocks fenced as ``python`` are one script: a later one knows the names of the earlier
ones. Where it makes a ``verdict``, that is an acceptance.

Given, in one folder for the whole file: a keyring ``keys`` whose key ``tasks/1`` may sign Dharma
tasks; in Python ``task``, such a task without what `sign` fills in, and ``pins``, the bytes of the
keyring's pins; ``finding.json``, an AISA message of a minute ago; and copies of ``keys-example/``,
``examples/``, ``schemas/`` and ``tests/vectors/samples/``, so that paths from the top of the
repository work. Blocks of any other language are for reading.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from cli_support import DHARMA, MAIN, Cli, minimal_task, moment
from support import SAMPLES, load

from taskseal.profiles.custom import custom_profile

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("keys-example", "examples", "schemas", "tests/vectors/samples")
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY = "…"
EXIT = re.compile(r"^\[exit ([0-9]+)\]\n?\Z", re.MULTILINE)

SCRIPT = """
import json, sys
blocks = json.load(open(sys.argv[1]))
from taskseal import Accepted, Keyring
names = {"task": json.load(open("task.json")), "pins": Keyring.open("keys").pins().to_json()}
for line, text in blocks:
    # As many lines ahead as stand above it in the file, so that a traceback leads there.
    exec(compile("\\n" * (line - 1) + text, "README.md", "exec"), names)
assert isinstance(names.get("verdict", None), Accepted | None), names["verdict"]
"""
"""Runs the Python blocks as one script."""


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line that it begins at."""

    language: str
    text: str
    line: int


class Shown(NamedTuple):
    """A command and what is said to come of it."""

    command: str
    printed: str
    code: int = 0


def shown(command: str, below: str) -> Shown:
    """A command with what stands below it, the exit code taken off."""
    ended = EXIT.search(below)
    if ended is None:
        return Shown(command, below)
    return Shown(command, below[: ended.start()], int(ended[1]))


def blocks(text: str) -> list[Block]:
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 2)
        for found in FENCE.finditer(text)
    ]


def commands(block: str) -> Iterator[Shown]:
    """The commands of a console block, each with what is printed below it."""
    command, printed = "", ""
    for line in block.splitlines(keepends=True):
        if line.startswith("$ ") or (line.startswith("> ") and command.endswith("\\\n")):
            if line.startswith("$ ") and command:
                yield shown(command, printed)
                command, printed = "", ""
            command += line[2:]
        else:
            printed += line
    if command:
        yield shown(command, printed)


def pattern(printed: str) -> re.Pattern[str]:
    """What matches the text that a block shows."""
    parts = [
        r"(?:[^\n]*\n)*"
        if line.strip() == ANY
        else r"[^\n]*".join(map(re.escape, line.rstrip("\n").split(ANY))) + r"\n?"
        for line in printed.splitlines(keepends=True)
    ]
    return re.compile("".join(parts))


def runs(block: Block) -> bool:
    return block.language == "console" and "\n$ taskseal" in "\n" + block.text


@pytest.fixture(scope="module")
def readme() -> list[Block]:
    return blocks((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Path:
    """The folder that everything runs in, with `taskseal` on the path."""
    folder = tmp_path / "top"
    folder.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
    binary = tmp_path / "bin" / "taskseal"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nexec "{MAIN[0]}" -c "{MAIN[2]}" "$@"\n')
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binary.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(folder)
    cli("keys", "new", "tasks/1", "--for", DHARMA, "--no-passphrase", "--keyring", "keys")
    Path("task.json").write_text(json.dumps(minimal_task()))
    finding = load(SAMPLES / "aisa" / "finding.json") | {"occurred_on": moment(-60)}
    Path("finding.json").write_text(json.dumps(finding))
    return folder


def run(*command: str) -> tuple[int, str]:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


def test_the_commands_of_the_readme_do_what_it_shows(readme: list[Block], top: Path) -> None:
    run_blocks = [block for block in readme if runs(block)]
    if not run_blocks:
        pytest.skip("README.md has no console block of `$ taskseal` commands yet")
    for block in run_blocks:
        for each in commands(block.text):
            code, printed = run("bash", "-c", each.command)
            where = f"README.md:{block.line}: $ {each.command}exit {code}, printed\n{printed}"
            assert code == each.code, where
            assert pattern(each.printed).fullmatch(printed), where


def test_the_python_of_the_readme_runs(readme: list[Block], top: Path) -> None:
    scripts = [(block.line, block.text) for block in readme if block.language == "python"]
    if not scripts:
        pytest.skip("README.md has no block of Python yet")
    (top / "blocks").write_text(json.dumps(scripts))
    code, printed = run(sys.executable, "-c", SCRIPT, "blocks")
    assert code == 0, printed


def test_a_console_block_is_read_as_commands_and_what_they_print() -> None:
    block = "$ taskseal a \\\n> --b\none\ntwo\n[exit 7]\n$ echo c\n$ true\n> kept\n"
    assert list(commands(block)) == [
        Shown("taskseal a \\\n--b\n", "one\ntwo\n", 7),
        Shown("echo c\n", ""),
        Shown("true\n", "> kept\n"),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a…c\n", "abbbc\n", True),
        ("a…c\n", "a\nc\n", False),
        ("a\n…\nz\n", "a\nz\n", True),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("…\n", "", True),
        ("", "a\n", False),
        ("(a.b)\n", "(a.b)\n", True),
        ("(a.b)\n", "(axb)\n", False),
    ],
)
def test_an_ellipsis_stands_for_what_differs_from_run_to_run(
    shown: str, printed: str, same: bool
) -> None:
    assert bool(pattern(shown).fullmatch(printed)) is same


def test_blocks_are_found_with_their_language_and_their_line() -> None:
    text = "# x\n\n```console\n$ taskseal a\n```\n\n```\nplain\n```\n"
    assert blocks(text) == [Block("console", "$ taskseal a\n", 4), Block("", "plain\n", 8)]
    assert [runs(block) for block in blocks(text)] == [True, False]


@pytest.mark.usefixtures("top")
def test_a_block_is_really_run() -> None:
    block = "$ taskseal --version\ntaskseal …\n$ taskseal canon x\n…\n[exit 6]\n"
    for each in commands(block):
        code, printed = run("bash", "-c", each.command)
        assert code == each.code
        assert pattern(each.printed).fullmatch(printed)


def test_the_profile_of_the_readme_loads_and_says_what_it_shows(readme: list[Block]) -> None:
    texts = [block.text for block in readme if block.language == "toml"]
    profiles = [custom_profile(text.encode(), source="README.md") for text in texts]
    assert [profile.id for profile in profiles] == ["acme.order/v1"]
    (binding,) = profiles[0].bindings({})
    assert (binding.pointer, binding.inline) == ("/basketDigest", "/basket")

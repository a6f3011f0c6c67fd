"""The way in and the way out: help, usage, exit codes, broken pipes, colours, completion."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import MAIN, Cli, Place, run_on_terminal
from click.testing import CliRunner
from support import SAMPLES

from taskseal import REASONS, __version__
from taskseal.cli import output
from taskseal.cli.main import taskseal as program

COMMANDS = [
    ["sign"], ["verify"], ["accept"], ["acceptance", "verify"], ["explain"], ["inspect"], ["canon"], ["digest"],
    ["keys", "new"], ["keys", "list"], ["keys", "show"], ["keys", "import"], ["keys", "export"],
    ["keys", "pin"], ["profiles", "list"], ["profiles", "show"], ["profiles", "check"],
    ["errors"], ["init"], ["doctor"], ["demo"],
]  # fmt: skip
SHELL = shlex.join(MAIN)


def test_the_version_is_printed(cli: Cli) -> None:
    assert cli("--version").text == f"taskseal {__version__}\n"
    assert cli("--json", "--version").json == {"version": __version__}


@pytest.mark.parametrize(
    "command", [[], ["acceptance"], ["keys"], ["profiles"], *COMMANDS], ids=" ".join
)
def test_every_command_has_help_that_fits_the_screen(cli: Cli, command: list[str]) -> None:
    text = cli(*command, "--help").text
    assert text.startswith("Usage: taskseal")
    assert "--json" in text
    assert cli(*command, "-h").text == text
    prose = [line for line in text.splitlines() if not line.startswith("    taskseal ")]
    assert max(map(len, prose)) <= 80
    assert "..." not in text.partition("Commands:")[2]


def test_the_help_ends_with_a_real_example(cli: Cli) -> None:
    text = cli("--help").text
    assert "taskseal verify sealed.json --trust pins.json" in text
    assert "_TASKSEAL_COMPLETE" in text


def test_without_a_command_the_help_is_a_usage_error(cli: Cli) -> None:
    done = cli(code=2)
    assert done.out == b""
    assert done.err.startswith("Usage: taskseal")
    assert cli("--json", code=2).json["error"] == "usage"
    assert cli("keys", "--json", code=2).json["error"] == "usage"


@pytest.mark.parametrize(
    "arguments",
    [["verfy"], ["verify"], ["verify", "--nonsense", "x"], ["keys", "nwe"], ["canon", "a", "b"]],
    ids=" ".join,
)
def test_a_usage_error_is_two_lines_or_one_object(cli: Cli, arguments: list[str]) -> None:
    told = cli(*arguments, code=2)
    assert told.out == b""
    assert told.err.startswith("error: usage: ")
    assert "\nhint: see taskseal" in told.err
    assert len(told.err.splitlines()) == 2
    found = cli(*arguments, "--json", code=2)
    assert found.json["error"] == "usage"
    assert found.err == ""


def test_what_there_is_to_choose_from_stands_on_the_same_line(cli: Cli) -> None:
    found = cli("keys", "export", "k", "--json", code=2).json
    assert found["detail"] == "Missing option '--as'. Choose from: jwk, pem, ssh, raw"
    assert "Choose from: jwk, pem, ssh, raw\n" in cli("keys", "export", "k", code=2).err


def test_json_behind_the_end_of_the_options_is_a_name(cli: Cli) -> None:
    done = cli("canon", "--", "--json", code=6)
    assert done.out == b""
    assert "file_missing" in done.err


def test_a_defect_is_one_line_and_no_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise LookupError("deep inside")

    monkeypatch.setattr("taskseal.cli.open.read_input", broken)
    done = cli("canon", "x", code=70)
    assert done.err.startswith("error: internal: LookupError: deep inside\nhint: ")
    assert cli("canon", "x", "--json", code=70).json["error"] == "internal"


def test_a_failing_disk_is_exit_6(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("taskseal.cli.open.read_input", broken)
    assert cli("canon", "x", "--json", code=6).json["error"] == "file_unreadable"


def test_an_interrupt_is_130_and_silent(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("taskseal.cli.open.read_input", interrupted)
    result = CliRunner().invoke(program, ["canon", "x"])
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.strip() == ""
    assert cli("canon", "x", "--json", code=130).json["error"] == "interrupted"


def shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'taskseal() {{ {SHELL} "$@"; }}\n{script}'],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("errors", 0),
        ("errors --json", 0),
        ("canon task.json", 0),
        ("digest task.json", 0),
        ("sign task.json", 0),
        ("keys list", 0),
        ("verify task.json --trust pins.json", 1),
        ("verify task.json missing --trust pins.json --json", 6),
        ("canon missing --json", 6),
        ("--help", 0),
    ],
)
def test_a_closed_pipe_is_silent_and_keeps_the_exit_code(
    place: Place, command: str, code: int
) -> None:
    done = shell(f"taskseal {command} 2>err | head -c0; echo ${{PIPESTATUS[0]}}", place.folder)
    assert done.stdout == f"{code}\n"
    complaints = (place / "err").read_text()
    assert "Traceback" not in complaints
    assert "Broken pipe" not in complaints
    assert "Exception ignored" not in complaints


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "command", ["errors", "errors --json", "canon task.json", "sign task.json"]
)
def test_a_full_disk_under_standard_output_is_exit_6(place: Place, command: str) -> None:
    done = shell(f"taskseal {command} >/dev/full; echo $?", place.folder)
    assert done.stdout == "6\n"
    assert done.stderr.startswith("error: file_unwritable: standard output")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "closed", "code"),
    [
        ("canon task.json", ">&-", 6),
        ("canon task.json --json", ">&-", 6),
        ("verify task.json missing --trust pins.json --json", ">&-", 6),
        ("canon task.json", "2>&-", 0),
        ("canon missing", "2>&-", 6),
        ("canon task.json", "<&-", 0),
        ("canon -", "<&-", 6),
        ("sign task.json -o out.json", ">&- 2>&- <&-", 0),
        ("canon missing", ">&- 2>&- <&-", 6),
    ],
)
def test_closed_standard_streams_are_no_traceback(
    place: Place, command: str, closed: str, code: int
) -> None:
    done = shell(f"taskseal {command} {closed}; echo $? >code", place.folder)
    assert (place / "code").read_text() == f"{code}\n"
    assert "Traceback" not in done.stderr


def test_a_locale_that_knows_only_ascii_ends_no_command(place: Place) -> None:
    (place / "ä.json").write_text('{"ü": "é\U0001f600"}')
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell("taskseal canon *.json >out; taskseal inspect ?*.json", place.folder, **ascii_only)
    assert "Traceback" not in done.stderr
    for command in ("digest ./*.json", "inspect ./*.json", "verify ./*.json --trust pins.json"):
        assert "Traceback" not in shell(f"taskseal {command}", place.folder, **ascii_only).stderr


def test_colours_are_for_a_terminal_without_no_color(place: Place) -> None:
    verify = ["verify", str(place.plan), "--trust", str(place.pins)]
    code, shown = run_on_terminal(verify)
    assert code == 1
    assert "\x1b[31m\x1b[1mrefused\x1b[0m" in shown
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, shown = run_on_terminal(verify, env=plain)
        assert code == 1
        assert "\x1b" not in shown
        assert "refused" in shown
    _, shown = run_on_terminal(verify, env={"NO_COLOR": ""})
    assert "\x1b[31m" in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("taskseal ver", "plain,verify"),
        ("taskseal keys sh", "plain,show"),
        ("taskseal errors replayed", "plain,replayed"),
        ("taskseal verify x", "file,x"),
        ("taskseal sign --format emb", "plain,embedded"),
        ("taskseal verify --trust p", "file,p"),
    ],
)
def test_shells_complete_commands_options_and_files(words: str, expected: str) -> None:
    variables = {
        "_TASKSEAL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        MAIN, env=os.environ | variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [expected]


def test_the_exit_code_of_several_is_the_first_that_occurred_in_the_order() -> None:
    order = (2, 3, 4, 5, 6, 1, 7, 0)
    for place, code in enumerate(order):
        assert output.worst(order[place:]) == code
        assert output.worst(reversed(order[place:])) == code
    assert output.worst([]) == 0
    assert {entry.exit_code for entry in REASONS.values()} <= set(order)


def test_every_command_takes_json_and_answers_with_one_object(place: Place, cli: Cli) -> None:
    files: dict[str, list[Any]] = {
        "sign": [place.task],
        "verify": [place.task, "--trust", place.pins],
        "accept": [place.task, "--trust", place.pins, "--any-audience"],
        "acceptance verify": [place.task, place.task, "--trust", place.pins],
        "explain": ["expired"],
        "inspect": [place.task],
        "canon": [place.task],
        "digest": [place.task],
        "keys new": ["new/1", "--for", "aisa.message/v1", "--no-passphrase"],
        "keys show": ["tasks/1"],
        "keys import": [place.task, "k", "--for", "aisa.message/v1", "--no-passphrase"],
        "keys export": ["tasks/1", "--as", "jwk"],
        "profiles show": ["dharma.task/v1"],
        "profiles check": [place.task],
    }
    refused = {
        "verify": 1,
        "accept": 1,
        "acceptance verify": 3,
        "keys import": 4,
        "profiles check": 3,
        "doctor": 2,
    }
    for command in COMMANDS:
        name = " ".join(command)
        done = cli(*command, *files.get(name, []), "--json", code=refused.get(name, 0))
        assert isinstance(done.json, dict), name
        assert done.err == "", name


def test_only_the_needed_is_imported_for_a_usage_error() -> None:
    script = (
        "import sys\nfrom taskseal.cli import main\nsys.argv = ['taskseal', 'verify']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([n for n in ('nacl', 'orjson', 'jsonschema_rs', 'sqlite3') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_json_is_ascii_whatever_the_message_says(place: Place, cli: Cli) -> None:
    (place / "ü.json").write_text("{}")
    out = cli("verify", "ü.json", "\udcff.json", "--trust", place.pins, "--json", code=6).out
    assert out.isascii()
    names = [line.get("file") for line in map(json.loads, out.splitlines())]
    assert names == [None, "\\udcff.json"]
    assert SAMPLES.is_dir()

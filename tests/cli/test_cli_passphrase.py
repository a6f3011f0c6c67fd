"""Where passphrases come from, and that nothing ever waits for one that cannot come."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import DHARMA, Cli, Place, run_on_terminal

NEW = ["keys", "new", "k/1", "--for", DHARMA, "--keyring", "locked"]


@pytest.fixture
def locked(place: Place, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A keyring ``locked`` whose key is kept under the passphrase ``sesame``."""
    monkeypatch.setenv("TASKSEAL_PASSPHRASE", "sesame")
    cli(*NEW)
    monkeypatch.delenv("TASKSEAL_PASSPHRASE")
    monkeypatch.setenv("TASKSEAL_KEYRING", str(place / "locked"))
    return place


def test_without_a_terminal_and_a_source_a_new_key_is_exit_2_at_once(
    place: Place, process: Cli
) -> None:
    done = process(*NEW, code=2)
    assert done.err.startswith("error: passphrase_needed: ")
    assert "--passphrase-file" in done.err
    assert process(*NEW, "--json", code=2).json["error"] == "passphrase_needed"
    assert not (place / "locked").exists()


def test_without_a_terminal_and_a_source_a_locked_key_is_exit_2_at_once(
    locked: Place, process: Cli
) -> None:
    done = process("sign", locked.task, code=2)
    assert done.err.startswith("error: passphrase_needed: ")
    assert "TASKSEAL_PASSPHRASE" in done.err
    process("sign", "-", stdin=locked.task.read_bytes(), code=2)
    process("keys", "export", "k/1", "--as", "pem", "--private", code=2)


def test_what_needs_no_secret_asks_for_none(locked: Place, process: Cli) -> None:
    process("keys", "list")
    process("keys", "pin")
    process("keys", "export", "k/1", "--as", "pem")
    assert process("keys", "show", "k/1", "--json").json["sealed"] is True


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_passphrase_file_loses_exactly_one_line_end(locked: Place, cli: Cli, end: bytes) -> None:
    Path("pass").write_bytes(b"sesame" + end)
    cli("sign", locked.task, "--passphrase-file", "pass")
    Path("pass").write_bytes(b"sesame\n" + (end or b"\n"))
    cli("sign", locked.task, "--passphrase-file", "pass", code=4)


def test_the_sources_have_an_order(
    locked: Place, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("right").write_bytes(b"sesame")
    Path("wrong").write_bytes(b"wrong")
    monkeypatch.setenv("TASKSEAL_PASSPHRASE_FILE", "right")
    cli("sign", locked.task)
    monkeypatch.setenv("TASKSEAL_PASSPHRASE", "wrong")
    assert cli("sign", locked.task, "--json", code=4).json["error"] == "passphrase_wrong"
    cli("sign", locked.task, "--passphrase-file", "right")
    monkeypatch.setenv("TASKSEAL_PASSPHRASE", "")
    cli("sign", locked.task)
    monkeypatch.setenv("TASKSEAL_PASSPHRASE_FILE", "")
    cli("sign", locked.task, code=2)


@pytest.mark.parametrize(
    ("content", "error", "code"),
    [(b"", "passphrase_needed", 2), (b"\n", "passphrase_needed", 2), (b"x" * 5000, "too_large", 3)],
    ids=["empty", "line end", "long"],
)
def test_a_passphrase_file_that_holds_none_is_refused(
    locked: Place, cli: Cli, content: bytes, error: str, code: int
) -> None:
    Path("pass").write_bytes(content)
    given = ["--passphrase-file", "pass", "--json"]
    assert cli("sign", locked.task, *given, code=code).json["error"] == error
    made = cli("keys", "new", "k/2", "--for", DHARMA, *given, code=code)
    assert made.json["error"] == error


def test_a_passphrase_may_come_from_standard_input_unless_the_document_does(
    locked: Place, cli: Cli
) -> None:
    cli("sign", locked.task, "--passphrase-file", "-", stdin=b"sesame\n")
    cli("sign", "-", "--passphrase-file", "-", stdin=b"sesame\n", code=2)
    cli("keys", "new", "k/2", "--for", DHARMA, "--passphrase-file", "-", stdin=b"other\n")
    cli("sign", locked.task, "--passphrase-file", "missing", "--key-version", "k/1", code=6)


def test_a_passphrase_need_not_be_text(
    place: Place, process: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKSEAL_PASSPHRASE", "\udcff\udcfe")
    process(*NEW)
    monkeypatch.delenv("TASKSEAL_PASSPHRASE")
    Path("pass").write_bytes(b"\xff\xfe\n")
    process("sign", place.task, "--keyring", "locked", "--passphrase-file", "pass")


def test_at_a_terminal_a_new_passphrase_is_asked_for_twice_and_not_shown(place: Place) -> None:
    code, shown = run_on_terminal(NEW, ["sesame", "sesame"])
    assert code == 0, shown
    assert "New passphrase for key version k/1: " in shown
    assert "The same again: " in shown
    assert "sesame" not in shown
    assert "under a passphrase" in shown
    code, shown = run_on_terminal(
        ["sign", str(place.task), "--keyring", "locked", "-o", "out.json"], ["sesame"]
    )
    assert code == 0, shown
    assert "Passphrase of the key: " in shown


@pytest.mark.parametrize(
    ("typed", "why"), [(["a", "b"], "differ"), ([""], "protects nothing")], ids=["two", "none"]
)
def test_a_passphrase_typed_wrong_makes_no_key(place: Place, typed: list[str], why: str) -> None:
    code, shown = run_on_terminal(NEW, typed)
    assert code == 2
    assert why in shown
    assert not (place / "locked").exists()


def test_a_wrong_passphrase_is_exit_4(locked: Place) -> None:
    code, shown = run_on_terminal(["sign", str(locked.task)], ["wrong", "wrong", "wrong", "sesame"])
    assert code == 4
    assert "passphrase_wrong" in shown
    assert shown.count("Passphrase of the key: ") == 3


OTHER = ["--no-passphrase", "--keyring", "other"]


@pytest.mark.parametrize(
    "command",
    [
        ["sign", "task.json", "-o", "out"],
        ["keys", "export", "k/1", "--as", "jwk", "--private", "--no-passphrase", "-o", "out"],
        ["keys", "import", "locked.pem", "i/1", "--for", DHARMA, *OTHER],
    ],
    ids=lambda command: command[1],
)
def test_a_passphrase_typed_wrong_may_be_typed_again(
    locked: Place, cli: Cli, command: list[str]
) -> None:
    Path("pass").write_bytes(b"sesame")
    export = ["keys", "export", "k/1", "--as", "pem", "--private", "--passphrase-file", "pass"]
    cli(*export, "-o", "locked.pem")
    code, shown = run_on_terminal(command, ["wrong", "wrong", "sesame"])
    assert code == 0, shown
    assert shown.count("try again") == 2


def test_a_passphrase_from_a_source_is_not_tried_again(locked: Place) -> None:
    Path("pass").write_bytes(b"wrong")
    sign = ["sign", str(locked.task)]
    for more, env in ((["--passphrase-file", "pass"], {}), ([], {"TASKSEAL_PASSPHRASE": "no"})):
        code, shown = run_on_terminal([*sign, *more], env=env)
        assert code == 4
        assert "Passphrase of" not in shown


def test_the_end_of_input_at_the_prompt_is_exit_2(locked: Place) -> None:
    code, shown = run_on_terminal(["sign", str(locked.task)], ["\x04"])
    assert code == 2
    assert "passphrase_needed" in shown


def test_an_interrupt_at_the_prompt_is_exit_130(locked: Place) -> None:
    code, shown = run_on_terminal(["sign", str(locked.task)], ["\x03"])
    assert code == 130
    assert "Traceback" not in shown


def test_a_document_through_a_pipe_leaves_the_terminal_for_the_prompt(locked: Place) -> None:
    arguments = ["sign", "-", "-o", "out.json"]
    code, shown = run_on_terminal(arguments, ["sesame"], stdin=locked.task.read_bytes())
    assert code == 0, shown
    assert Path("out.json").exists()


def test_no_passphrase_means_that_nobody_is_asked(locked: Place) -> None:
    code, shown = run_on_terminal(["sign", str(locked.task), "--no-passphrase"])
    assert code == 2
    assert "passphrase_needed" in shown


def test_private_halves_and_raw_bytes_never_go_to_a_terminal(place: Place) -> None:
    for form in ("pem", "ssh", "jwk", "raw"):
        export = ["keys", "export", "tasks/1", "--as", form, "--private", "--no-passphrase"]
        code, shown = run_on_terminal(export)
        assert code == 2
        assert "terminal" in shown
        assert "PRIVATE" not in shown
    code, shown = run_on_terminal(["keys", "export", "tasks/1", "--as", "raw"])
    assert code == 2
    code, shown = run_on_terminal(["keys", "export", "tasks/1", "--as", "pem"])
    assert code == 0
    assert "BEGIN PUBLIC KEY" in shown


def test_exporting_at_a_terminal_opens_the_key_before_it_asks_for_the_files_lock(
    locked: Place,
) -> None:
    export = ["keys", "export", "k/1", "--as", "pem", "--private", "-o", "out.pem"]
    code, shown = run_on_terminal(export, ["sesame", "file", "file"])
    assert code == 0, shown
    assert shown.index("Passphrase of key version k/1") < shown.index("New passphrase")
    again = ["keys", "import", "out.pem", "k/1", "--for", DHARMA, "--keyring", "other"]
    code, shown = run_on_terminal(again, ["file", "new", "new"])
    assert code == 0, shown
    assert shown.index("Passphrase of out.pem") < shown.index("New passphrase")


def test_a_prompt_shows_no_control_characters_of_a_name(place: Place, cli: Cli) -> None:
    cli(*NEW, "--no-passphrase")
    name = "evil\x1b[31m.pem"
    export = ["keys", "export", "k/1", "--as", "pem", "--private", "--keyring", "locked"]
    Path("pass").write_bytes(b"x")
    cli(*export, "--passphrase-file", "pass", "-o", name)
    again = ["keys", "import", name, "k/2", "--for", DHARMA, "--keyring", "other"]
    code, shown = run_on_terminal(again, ["x", "y", "y"], env={"NO_COLOR": "1"})
    assert code == 0, shown
    assert "\x1b" not in shown

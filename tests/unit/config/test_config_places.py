"""Where a configuration is looked for, and where never."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from configs import Desk

from taskseal import InputError, MaterialError, Reason, load_config
from taskseal.config import places


@pytest.fixture
def own(home: Path) -> Path:
    """The user's own configuration."""
    folder = home / ".config" / "taskseal"
    folder.mkdir(parents=True)
    path = folder / "taskseal.toml"
    path.write_text('[receiver]\naudience = "own"\n')
    path.chmod(0o600)
    return path


def audience() -> str | None:
    identity = load_config().identity
    return None if identity is None else identity.audience


def test_what_is_named_comes_before_the_variable_and_that_before_the_users_own(
    own: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert audience() == "own"
    monkeypatch.setenv("TASKSEAL_CONFIG", "")
    assert audience() == "own"
    desk.write("taskseal.toml", '[receiver]\naudience = "variable"\n')
    monkeypatch.setenv("TASKSEAL_CONFIG", str(desk.file))
    assert audience() == "variable"
    assert load_config(own).identity != load_config(desk.file).identity


def test_the_working_directory_is_never_looked_at(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("taskseal.toml", "[receiver]\nany = true\n")
    (desk.path / "taskseal").mkdir()
    desk.write("taskseal/taskseal.toml", "[receiver]\nany = true\n")
    monkeypatch.chdir(desk.path)
    for folder in (None, ".", "", "taskseal/.."):
        if folder is not None:
            monkeypatch.setenv("XDG_CONFIG_HOME", folder)
        assert places.config_file(None) is None
        with pytest.raises(InputError) as caught:
            load_config()
        assert caught.value.code is Reason.FILE_MISSING
        assert "taskseal init" in caught.value.hint


def test_a_variable_that_leaves_it_to_the_working_directory_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("taskseal.toml", "[receiver]\nany = true\n")
    monkeypatch.chdir(desk.path)
    monkeypatch.setenv("TASKSEAL_CONFIG", "taskseal.toml")
    with pytest.raises(MaterialError) as caught:
        load_config()
    assert caught.value.code is Reason.CONFIG_UNSAFE


def test_a_named_file_that_is_missing_is_a_fault_and_not_the_next_place(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKSEAL_CONFIG", str(own.parent / "other.toml"))
    with pytest.raises(InputError) as caught:
        load_config()
    assert caught.value.code is Reason.FILE_MISSING


def test_a_link_that_leads_nowhere_is_a_fault_and_not_no_configuration(own: Path) -> None:
    own.unlink()
    own.symlink_to("nowhere.toml")
    with pytest.raises(InputError) as caught:
        load_config()
    assert caught.value.code is Reason.FILE_MISSING
    assert "nowhere" in caught.value.detail or "taskseal.toml" in caught.value.detail


def test_a_folder_that_cannot_be_looked_into_is_a_fault(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "lstat", refuse)
    with pytest.raises(InputError) as caught:
        load_config()
    assert caught.value.code is Reason.FILE_UNREADABLE


def test_keyring_and_ledger_have_their_usual_places(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert places.keyring_folder(None) == home / ".local/share/taskseal/keyring"
    state = home / ".local/state/taskseal"
    assert places.ledger_url(None) == (f"sqlite:{state}/ledger.sqlite3", True)
    assert places.trust_folder(None) == home / ".local/share/taskseal/trust"
    assert places.trust_marks() == state / "trust-marks"
    monkeypatch.setenv("TASKSEAL_KEYRING", "/k")
    monkeypatch.setenv("TASKSEAL_LEDGER", "sqlite:/l.db")
    assert places.keyring_folder(None) == Path("/k")
    assert places.ledger_url(None) == ("sqlite:/l.db", False)
    assert places.ledger_url("memory:") == ("memory:", False)
    monkeypatch.setenv("TASKSEAL_LEDGER", "memory:?max_records=9")
    with pytest.raises(InputError) as caught:
        places.ledger_url(None)
    assert caught.value.code is Reason.USAGE
    assert places.keyring_folder("/named") == places.trust_folder("/named") == Path("/named")


def test_no_variable_takes_the_place_of_what_the_file_says(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKSEAL_LEDGER", "memory:")
    found = desk.load("[receiver]\nledger = 'sqlite:l.db'\n")
    with found.open_ledger():
        pass
    assert (desk.path / "l.db").is_file()

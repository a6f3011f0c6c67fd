"""`--config`: what the file says holds, and what options add to it or put in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import AISA, DHARMA, ME, Cli, Place

CONFIG = f"""
[receiver]
audience = "{ME}"
ledger = "sqlite:accepted.db"

[[trust]]
pins = "pins.json"
"""


@pytest.fixture
def config(place: Place) -> Path:
    """A configuration that trusts the desk and is ``worker-1``."""
    path = place / "taskseal.toml"
    path.write_text(CONFIG)
    path.chmod(0o600)
    return path


def rewrite(config: Path, text: str) -> None:
    config.write_text(CONFIG + text)


def test_trust_and_identity_come_from_the_configuration(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    found = cli("verify", sealed, "--config", config, "--json").json
    assert found["verdict"] == "accepted"
    assert {"check": "audience", "result": "passed"}.items() <= next(
        row for row in found["checks"] if row["check"] == "audience"
    ).items()
    assert cli("explain", sealed, "--config", config, "--json").json["verdict"] == "accepted"
    assert not (place / "accepted.db").exists()


def test_accept_takes_identity_and_ledger_from_it(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    cli("accept", sealed, "--config", config)
    assert (place / "accepted.db").is_file()
    found = cli("accept", sealed, "--config", config, "--json", code=7).json
    assert found["verdict"] == "duplicate"


def test_a_configuration_in_the_working_directory_is_not_looked_at(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    assert Path.cwd() == place.folder == config.parent
    assert "trust_missing" in cli("verify", sealed, code=2).err


def test_the_variable_and_the_users_own_configuration_are_read(
    cli: Cli, sealed: Path, config: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKSEAL_CONFIG", str(config))
    cli("verify", sealed)
    monkeypatch.delenv("TASKSEAL_CONFIG")
    own = home / ".config" / "taskseal"
    own.mkdir(parents=True)
    (own / "taskseal.toml").symlink_to(config)
    cli("verify", sealed)
    cli("accept", sealed)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--audience", "worker-2"], 1),
        (["--audience", ME], 0),
        (["--any-audience"], 0),
        (["--organization", "org_1"], 0),
    ],
)
def test_identity_options_take_the_place_of_what_is_configured(
    cli: Cli, sealed: Path, config: Path, options: list[str], code: int
) -> None:
    cli("verify", sealed, "--config", config, *options, code=code)


def test_any_audience_and_a_configured_name_do_not_mix(
    cli: Cli, place: Place, config: Path
) -> None:
    cli("sign", place.plan, "-o", place / "unaddressed.json")
    found = cli("verify", place / "unaddressed.json", "--config", config, "--json", code=1).json
    assert found["reason"] == "audience_missing"
    cli("verify", place / "unaddressed.json", "--config", config, "--any-audience")


def test_a_ledger_option_takes_its_place_and_a_variable_does_not(
    cli: Cli, place: Place, sealed: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKSEAL_LEDGER", "memory:")
    cli("accept", sealed, "--config", config)
    cli("accept", sealed, "--config", config, code=7)
    cli("accept", sealed, "--config", config, "--ledger", f"sqlite:{place / 'other.db'}")


def test_trust_options_add_to_it(cli: Cli, place: Place, sealed: Path, config: Path) -> None:
    other = place / "ring-2"
    cli("keys", "new", "messages/9", "--for", AISA, "--keyring", other, "--no-passphrase")
    cli("keys", "pin", "--keyring", other, "-o", place / "pins-2.json")
    cli("sign", place.plan, "--keyring", other, "--audience", ME, "-o", place / "second.json")
    cli("verify", place / "second.json", "--config", config, code=1)
    cli("verify", place / "second.json", sealed, "--config", config, "--trust", "pins-2.json")


def test_its_policy_holds_and_allow_form_adds_to_it(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    rewrite(config, f'[policy."{AISA}"]\nforms = ["jws-detached"]\n')
    found = cli("verify", sealed, "--config", config, "--json", code=1).json
    assert found["reason"] == "form_not_allowed"
    cli("verify", sealed, "--config", config, "--allow-form", "jws")


def test_a_ceiling_refuses_a_task_where_it_exceeds(cli: Cli, place: Place, config: Path) -> None:
    cli("sign", place.task, "-o", place / "sealed-task.json")
    rewrite(config, f'[policy."{DHARMA}"]\nceiling = "ceiling.json"\n')
    budget = {"properties": {"maximumDharmaCostCents": {"maximum": 0}}}
    (place / "ceiling.json").write_text(json.dumps({"properties": {"budget": budget}}))
    cli("verify", place / "sealed-task.json", "--config", config)
    paths = {"properties": {"readPaths": {"maxItems": 0}}}
    (place / "ceiling.json").write_text(json.dumps({"properties": {"authority": paths}}))
    found = cli("verify", place / "sealed-task.json", "--config", config, "--json", code=1).json
    assert (found["reason"], found["pointer"]) == ("ceiling_exceeded", "/authority/readPaths")
    assert found["signer"]["keyVersion"] == "tasks/1"


NOTE = """
id = "acme.note/v1"
discriminator = { pointer = "/kind", constant = "acme.note" }
detached = true
replay_ids = ["/noteId"]
"""


def test_its_profiles_are_recognised_by_every_command(cli: Cli, place: Place, config: Path) -> None:
    (place / "note.toml").write_text(NOTE)
    (place / "note.json").write_text('{"kind": "acme.note", "noteId": "n-1"}')
    ring = ["--keyring", place / "ring-3"]
    cli("keys", "new", "notes/1", "--for", place / "note.toml", *ring, "--no-passphrase")
    cli("keys", "pin", *ring, "-o", place / "note-pins.json")
    given = ["--profile", place / "note.toml", "--audience", ME]
    cli("sign", place / "note.json", *given, *ring, "-o", place / "sealed-note.json")
    note = place / "sealed-note.json"
    cli("verify", note, "--config", config, code=1)
    rewrite(config, '[[trust]]\npins = "note-pins.json"\n[[profile]]\nfile = "note.toml"\n')
    artefact = ["--artefact", f"x={place.task}"]
    ended = cli("verify", note, "--config", config, "--json", *artefact)
    assert ended.json["profile"] == "acme.note/v1"
    assert "no artefact x" in ended.err
    cli("verify", note, "--config", config, "--profile", "acme.note/v1")
    assert cli("inspect", note, "--config", config, "--json").json["profile"] == "acme.note/v1"
    cli("accept", note, "--config", config)
    assert cli("inspect", note, "--json").json["profile"] is None


def test_acceptances_are_signed_by_the_key_that_it_names(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    ring = place / "receiver-ring"
    cli("keys", "new", "receiver/1", "--for", "taskseal.acceptance/v1", "--keyring", ring,
        "--no-passphrase")  # fmt: skip
    text = config.read_text().replace("[[trust]]", 'keyring = "receiver-ring"\n[[trust]]')
    config.write_text(text.replace("[[trust]]", 'sign_with = "receiver/1"\n[[trust]]'))
    first = cli("accept", sealed, "--config", config, "--json").json
    assert first["acceptance"]["signature"]
    again = cli("accept", sealed, "--config", config, "--json", code=7).json
    assert again["acceptance"] == first["acceptance"]


@pytest.mark.parametrize("command", ["verify", "accept", "explain", "inspect", "doctor"])
def test_a_configuration_that_cannot_be_used_stops_every_command(
    cli: Cli, place: Place, sealed: Path, config: Path, command: str
) -> None:
    given = [] if command == "doctor" else [sealed]
    config.chmod(0o666)
    assert cli(command, *given, "--config", config, "--json", code=6).json["error"] == (
        "config_unsafe"
    )
    config.chmod(0o600)
    rewrite(config, "[polixy]\n")
    found = cli(command, *given, "--config", config, "--json", code=3).json
    assert (found["error"], found["pointer"]) == ("config_malformed", "/polixy")
    assert "did you mean policy?" in found["hint"]
    cli(command, *given, "--config", place / "none.toml", code=6)


def test_a_relative_variable_is_refused(
    cli: Cli, sealed: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKSEAL_CONFIG", config.name)
    assert "config_unsafe" in cli("verify", sealed, code=6).err


def test_without_any_configuration_accept_still_needs_an_identity(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    assert "--audience" in cli("accept", sealed, "--trust", place.pins, code=2).err
    config.write_text('[[trust]]\npins = "pins.json"\n')
    assert "--audience" in cli("accept", sealed, "--config", config, code=2).err

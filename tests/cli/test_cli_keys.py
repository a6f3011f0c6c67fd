"""`keys`: what goes into the keyring, what it shows, and what may leave it."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from cli_support import AISA, DHARMA, ORBIPLEX, Cli, Place
from support import CASES, load

from taskseal import Pins
from taskseal.cli import keys, keys_new
from taskseal.keys import Algorithm
from taskseal.keys.formats import FORMS, read_private_key, read_public_key
from taskseal.keys.private import PrivateKey

PLAIN = ["--no-passphrase"]


def test_the_choices_of_the_options_are_those_of_the_library() -> None:
    assert set(keys.FORMS) == set(FORMS)
    assert set(keys_new.ALGORITHMS) == set(Algorithm)


def test_a_new_key_has_the_windows_that_the_defaults_give(cli: Cli, home: Path) -> None:
    given = ["--for", DHARMA, *PLAIN, "--not-before", "2026-01-01T00:00:00Z"]
    found = cli("keys", "new", "kms/1", *given, "--json").json
    assert found["issuer"] == "local"
    assert found["alg"] == "Ed25519"
    assert found["profiles"] == [DHARMA]
    assert found["signUntil"] == "2027-01-01T00:00:00Z"
    assert found["acceptUntil"] == "2027-01-31T00:00:00Z"
    assert found["sealed"] is False
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", found["thumbprint"])
    assert (home / ".local/share/taskseal/keyring/keyring.json").is_file()


def test_what_is_said_of_a_key_is_kept(cli: Cli) -> None:
    windows = ["2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z"]
    options = sum(zip(["--not-before", "--sign-until", "--accept-until"], windows, strict=True), ())
    bind = ["--bind", "/organizationId=a", "--bind", "/organizationId=b=c", "--bind", "/x="]
    who = ["--issuer", "org", "--principal", "bot", *bind]
    cli("keys", "new", "k", "--for", AISA, "--for", ORBIPLEX, *options, *who, *PLAIN)
    found = cli("keys", "show", "k", "--json").json
    assert [found[name] for name in ("notBefore", "signUntil", "acceptUntil")] == windows
    assert found["profiles"] == [AISA, ORBIPLEX]
    assert found["bind"] == {"/organizationId": ["a", "b=c"], "/x": [""]}
    assert (found["issuer"], found["principal"], found["state"]) == ("org", "bot", "not yet")
    text = cli("keys", "show", "k").text
    assert "/organizationId = a or b=c" in text
    assert "in the clear" in text


@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        (["k"], "usage", 2),
        (["--for", DHARMA], "usage", 2),
        (["", "--for", DHARMA], "usage", 2),
        (["a\nb", "--for", DHARMA], "usage", 2),
        ([" k", "--for", DHARMA], "usage", 2),
        (["k" * 501, "--for", DHARMA], "usage", 2),
        (["k", "--for", "no.such/v1"], "usage", 2),
        (["k", "--for", "missing.toml"], "file_missing", 6),
        (["k", "--for", ""], "file_missing", 6),
        (["k", "--for", DHARMA, "--for", "dharma.action-decision-receipt/v1"], "usage", 2),
        (["k", "--for", "taskseal.keyset/v1", "--for", AISA], "usage", 2),
        (["k", "--for", DHARMA, "--alg", "RSA"], "usage", 2),
        (["k", "--for", DHARMA, "--not-before", "now"], "usage", 2),
        (["k", "--for", DHARMA, "--not-before", "9999-12-31T00:00:00Z"], "usage", 2),
        (["k", "--for", DHARMA, "--sign-until", "2020-01-01T00:00:00Z"], "usage", 2),
        (["k", "--for", DHARMA, "--accept-until", "2020-01-01T00:00:00Z"], "usage", 2),
        (["k", "--for", DHARMA, "--bind", "x"], "usage", 2),
        (["k", "--for", DHARMA, "--bind", "x=y"], "usage", 2),
        (["k", "--for", DHARMA, "--issuer", " "], "usage", 2),
        (["k", "--for", DHARMA, "--principal", "\x00"], "usage", 2),
    ],
    ids=str,
)
def test_a_key_that_must_not_be_is_not_made(
    cli: Cli, tmp_path: Path, arguments: list[str], error: str, code: int
) -> None:
    ring = ["--keyring", tmp_path / "ring"]
    done = cli("keys", "new", *arguments, *ring, *PLAIN, "--json", code=code)
    assert done.json["error"] == error
    if (tmp_path / "ring").exists():
        assert cli("keys", "list", *ring, "--json").json["keys"] == []


def test_a_version_is_taken_once_and_an_issuer_is_fixed(place: Place, cli: Cli) -> None:
    again = ["keys", "new", "tasks/1", "--for", DHARMA, *PLAIN]
    assert cli(*again, "--json", code=4).json["error"] == "key_version_taken"
    other = ["keys", "new", "tasks/2", "--for", DHARMA, "--issuer", "other", *PLAIN]
    assert cli(*other, "--json", code=2).json["error"] == "usage"


def test_a_custom_profile_that_signs_in_place_counts_as_bare(
    place: Place, cli: Cli, vectors: Path
) -> None:
    neutral = vectors / "neutral.profile.toml"
    both = ["--for", neutral, "--for", DHARMA]
    assert cli("keys", "new", "n/1", *both, *PLAIN, "--json", code=2).json["error"] == "usage"
    found = cli("keys", "new", "n/1", "--for", neutral, "--for", AISA, *PLAIN, "--json").json
    assert found["profiles"] == [AISA, "cases.neutral/v1"]


def test_the_list_is_a_table_that_fits_the_screen(place: Place, cli: Cli) -> None:
    text = cli("keys", "list").text
    assert re.search(r"^KEY VERSION +STATE +SIGNS FROM", text, re.MULTILINE)
    assert re.search(rf"^tasks/1 +signing +2026-01-01 .*\n  {DHARMA}$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80
    found = cli("keys", "list", "--json").json
    assert found["issuer"] == "desk"
    assert [key["keyVersion"] for key in found["keys"]] == ["tasks/1", "messages/1", "turns/1"]


def test_the_list_says_how_each_private_half_is_kept(place: Place, cli: Cli) -> None:
    Path("pass").write_bytes(b"sesame")
    cli("keys", "new", "locked/1", "--for", AISA, "--passphrase-file", "pass")
    rows = cli("keys", "list", "--json").json["keys"]
    assert [row["sealed"] for row in rows] == [False, False, False, True]
    text = cli("keys", "list").text
    assert re.search(r"^tasks/1 .* plain$", text, re.MULTILINE)
    assert re.search(r"^locked/1 .* sealed$", text, re.MULTILINE)
    for file in (place.ring / "private").iterdir():
        file.unlink()
    assert {row["sealed"] for row in cli("keys", "list", "--json").json["keys"]} == {None}
    assert " lost\n" in cli("keys", "list").text


@pytest.mark.parametrize("more", [[], ["--key-version", "tasks/1"]], ids=["any", "named"])
def test_after_a_revocation_sign_names_the_way_to_another_key(
    place: Place, cli: Cli, more: list[str]
) -> None:
    cli("keys", "revoke", "tasks/1")
    found = cli("sign", place.task, *more, "--json", code=4).json
    assert "keys rotate" in found["hint"]
    assert "keys new" in found["hint"]
    cli("keys", "rotate", "tasks/1", *PLAIN)
    cli("sign", place.task)


def test_the_state_follows_from_the_instants(cli: Cli) -> None:
    windows = {
        "past": ("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", "2020-03-01T00:00:00Z"),
        "old": ("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", "2099-03-01T00:00:00Z"),
        "now": ("2020-01-01T00:00:00Z", "2099-02-01T00:00:00Z", "2099-03-01T00:00:00Z"),
        "next": ("2098-01-01T00:00:00Z", "2099-02-01T00:00:00Z", "2099-03-01T00:00:00Z"),
    }
    names = ["--not-before", "--sign-until", "--accept-until"]
    for version, window in windows.items():
        cli(
            "keys", "new", version, "--for", AISA, *PLAIN, *sum(zip(names, window, strict=True), ())
        )
    states = {key["keyVersion"]: key["state"] for key in cli("keys", "list", "--json").json["keys"]}
    assert states == {"past": "expired", "old": "retired", "now": "signing", "next": "not yet"}


def test_an_empty_keyring_lists_nothing_and_pins_nothing(cli: Cli) -> None:
    cli("keys", "new", "k", "--for", DHARMA, "--bind", "x=y", *PLAIN, code=2)
    assert cli("keys", "list").text == "issuer local\nno keys yet\n"
    assert cli("keys", "pin", "--json", code=4).json["error"] == "no_signing_key"


@pytest.mark.parametrize(
    "command", [["list"], ["show", "k"], ["pin"], ["export", "k", "--as", "jwk"]]
)
def test_a_missing_keyring_is_exit_4(cli: Cli, command: list[str]) -> None:
    assert cli("keys", *command, "--json", code=4).json["error"] == "keyring_missing"


def test_a_broken_keyring_is_exit_4(place: Place, cli: Cli) -> None:
    (place.ring / "keyring.json").write_text("{")
    assert cli("keys", "list", "--json", code=4).json["error"] == "keyring_malformed"


def test_an_unknown_version_is_named_with_those_that_are_there(place: Place, cli: Cli) -> None:
    found = cli("keys", "show", "none", "--json", code=4).json
    assert found["error"] == "unknown_key"
    assert "tasks/1" in found["hint"]


def test_pins_go_to_standard_output_or_a_file(place: Place, cli: Cli) -> None:
    printed = cli("keys", "pin")
    assert Pins.load(printed.out).issuer == "desk"
    assert printed.out == place.pins.read_bytes()
    assert stat.S_IMODE(place.pins.stat().st_mode) == 0o644
    assert "private" not in printed.text
    cli("keys", "pin", "-o", place.pins, code=6)
    written = cli("keys", "pin", "-o", place.pins, "--force", "--json").json
    assert written == {
        "written": str(place.pins),
        "issuer": "desk",
        "keyVersions": ["tasks/1", "messages/1", "turns/1"],
    }
    assert cli("keys", "pin", "--json").json["pins"] == load(place.pins)


@pytest.mark.parametrize("form", keys.FORMS)
def test_a_public_half_leaves_in_every_form(place: Place, cli: Cli, form: str) -> None:
    shown = cli("keys", "show", "tasks/1", "--json").json
    content = cli("keys", "export", "tasks/1", "--as", form).out
    assert read_public_key(content).thumbprint == shown["thumbprint"]
    found = cli("keys", "export", "tasks/1", "--as", form, "--json").json
    assert found["thumbprint"] == shown["thumbprint"]
    assert (found["written"], found["private"], found["as"]) == (None, False, form)
    assert found["key"]


@pytest.mark.parametrize("form", keys.FORMS)
def test_a_private_half_leaves_in_the_clear_only_when_that_was_said(
    place: Place, cli: Cli, form: str
) -> None:
    export = ["keys", "export", "tasks/1", "--as", form, "--private", "-o", "out.key"]
    cli(*export, code=2)
    assert not Path("out.key").exists()
    cli(*export, *PLAIN)
    assert stat.S_IMODE(Path("out.key").stat().st_mode) == 0o600
    key = read_private_key(Path("out.key").read_bytes())
    assert key.public.thumbprint == cli("keys", "show", "tasks/1", "--json").json["thumbprint"]
    cli(*export, *PLAIN, code=6)
    cli(*export, *PLAIN, "--force")


def test_a_private_half_goes_into_a_pipe_but_never_into_json(place: Place, cli: Cli) -> None:
    export = ["keys", "export", "tasks/1", "--as", "pem", "--private", *PLAIN]
    assert read_private_key(cli(*export).out)
    found = cli(*export, "--json", code=2)
    assert found.json["error"] == "usage"
    written = cli(*export, "--json", "-o", "out.pem").json
    assert written.keys() == {"written", "keyVersion", "thumbprint", "as", "private"}


def test_a_private_half_is_locked_by_the_passphrase_given(
    place: Place, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKSEAL_PASSPHRASE", "open sesame")
    cli("keys", "export", "tasks/1", "--as", "pem", "--private", "-o", "out.pem")
    assert b"ENCRYPTED" in Path("out.pem").read_bytes()
    assert read_private_key(Path("out.pem").read_bytes(), b"open sesame")
    found = cli("keys", "export", "tasks/1", "--as", "jwk", "--private", "--json", code=2).json
    assert found["error"] == "usage"
    cli("keys", "import", "out.pem", "again", "--for", DHARMA, "--keyring", "other")
    assert cli("keys", "show", "again", "--keyring", "other", "--json").json["sealed"] is True
    monkeypatch.setenv("TASKSEAL_PASSPHRASE", "wrong")
    again = ["keys", "import", "out.pem", "k2", "--for", DHARMA, "--keyring", "third", "--json"]
    assert cli(*again, code=4).json["error"] == "passphrase_wrong"
    monkeypatch.delenv("TASKSEAL_PASSPHRASE")
    assert cli(*again, *PLAIN, code=2).json["error"] == "passphrase_needed"


@pytest.mark.parametrize("name", ["lf.pem", "crlf.pem", "bom.pem", "preamble.pem"])
def test_key_files_of_every_make_are_imported(cli: Cli, name: str) -> None:
    case = CASES / "18-pem-crlf"
    found = cli("keys", "import", case / name, "k", "--for", DHARMA, *PLAIN, "--json").json
    assert found["publicKey"]["x"] == (case / "expected-public.b64url").read_text().strip()


def test_a_key_comes_from_standard_input(cli: Cli) -> None:
    seed = (CASES / "21-seed-32-or-64" / "seed32.bin").read_bytes()
    found = cli("keys", "import", "-", "k", "--for", DHARMA, *PLAIN, "--json", stdin=seed).json
    assert found["publicKey"] == PrivateKey(seed).public.jwk()


@pytest.mark.parametrize(
    ("content", "error", "code"),
    [
        (b"", "key_malformed", 4),
        (b"x" * 31, "key_malformed", 4),
        (b"x" * 65, "key_malformed", 4),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "key_malformed", 4),
        (b"{}", "key_malformed", 4),
        (b"\x30\x80", "key_malformed", 4),
        (b"x" * 70_000, "too_large", 3),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_key_is_refused_without_showing_it(
    cli: Cli, content: bytes, error: str, code: int
) -> None:
    done = cli(
        "keys", "import", "-", "k", "--for", DHARMA, *PLAIN, "--json", stdin=content, code=code
    )
    assert done.json["error"] == error
    assert "xxxx" not in done.text + done.err


def test_no_secret_is_ever_printed(place: Place, cli: Cli) -> None:
    (secret, *_) = [load(path)["seed"] for path in (place.ring / "private").iterdir()]
    for command in (
        ["keys", "list"],
        ["keys", "list", "--json"],
        ["keys", "show", "tasks/1"],
        ["keys", "pin"],
        ["sign", place.task, "--json"],
    ):
        done = cli(*command)
        assert secret not in done.text + done.err


def test_json_of_a_key_is_an_entry_that_pins_can_hold(place: Place, cli: Cli) -> None:
    found: dict[str, Any] = cli("keys", "show", "tasks/1", "--json").json
    for name in ("issuer", "thumbprint", "state", "sealed"):
        del found[name]
    pins = {"schema": "taskseal.pins/v1", "issuer": "desk", "keys": [found]}
    assert Pins.load(json.dumps(pins).encode()).entries[0].key_version == "tasks/1"

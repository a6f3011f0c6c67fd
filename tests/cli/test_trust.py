"""``trust``: whom a machine follows, and how a running receiver sees it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_support import AISA, ME, Cli, Place

KEYSET = "taskseal.keyset/v1"
PAST = ["--not-before", "2026-01-01T00:00:00Z", "--no-passphrase"]


def publish(cli: Cli, name: str, *more: Any, current: Path | None = None) -> Path:
    """The next keyset of the desk's keyring, signed and published as ``name``."""
    against = [] if current is None else ["--current", current]
    cli("keyset", "propose", *against, *more, "-o", f"draft-{name}")
    cli("keyset", "sign", f"draft-{name}")
    cli("keyset", "publish", f"draft-{name}", *against, "-o", name)
    return Path(name).resolve()


@pytest.fixture
def first(place: Place, cli: Cli) -> Path:
    cli("keys", "new", "root/1", "--for", KEYSET, *PAST)
    return publish(cli, "1.json")


@pytest.fixture
def pin(first: Path, cli: Cli) -> list[str]:
    shown = cli("keys", "show", "root/1", "--json").json
    return ["--pin", f"root/1={shown['publicKey']['x']}"]


@pytest.fixture
def store(place: Place, first: Path, pin: list[str], cli: Cli) -> list[Any]:
    """The store's option, once the desk is followed."""
    option = ["--store", place / "trust"]
    found = cli("trust", "add", first, *pin, *option, "--json").json
    assert found["changes"][0]["taken"] is True
    return option


def test_no_pin_no_trust(first: Path, place: Place, cli: Cli) -> None:
    option = ["--store", place / "trust"]
    assert cli("trust", "add", first, *option, "--json", code=2).json["error"] == "usage"
    wrong = ["--pin", "messages/1=sha256:" + "A" * 43]
    found = cli("trust", "add", first, *wrong, *option, "--json", code=1).json
    assert found["reason"] == "untrusted_initial_signer"
    assert not (place / "trust").exists()
    assert cli("trust", "show", *option, "--json", code=6).json["error"] == "file_missing"


def test_a_message_is_verified_and_accepted_against_the_store(
    place: Place, store: list[Any], sealed: Path, cli: Cli
) -> None:
    trust = ["--trust", place / "trust"]
    assert cli("verify", sealed, *trust, "--json").json["signer"]["keyVersion"] == "messages/1"
    cli("accept", sealed, *trust, "--audience", ME, "--ledger", f"sqlite:{place / 'l.db'}")


def test_pins_beside_the_store_are_refused(
    place: Place, store: list[Any], sealed: Path, first: Path, cli: Cli
) -> None:
    for other in (place.pins, first):
        options = ["--trust", place / "trust", "--trust", other, "--json"]
        assert cli("verify", sealed, *options, code=4).json["error"] == "trust_conflict"


def test_updates_are_taken_in_sequence_and_shown(
    place: Place, store: list[Any], first: Path, cli: Cli
) -> None:
    second = publish(cli, "2.json", current=first)
    third = publish(cli, "3.json", current=second)
    found = cli("trust", "update", third, first, second, *store, "--json").json
    taken = {each["generation"]: each["taken"] for each in found["changes"]}
    assert taken == {1: False, 2: True, 3: True}
    assert "known already" in cli("trust", "update", third, *store).text
    shown = cli("trust", "show", *store, "--json").json
    (desk,) = shown["issuers"]
    assert (desk["issuer"], desk["generation"], desk["signedBy"]) == ("desk", 3, ["root/1"])
    assert [step["how"] for step in desk["history"]] == ["added", "updated", "updated"]
    assert "generation 2" in cli("trust", "show", *store).text
    back = cli("trust", "update", second, *store, "--json", code=1).json
    assert back["reason"] == "keyset_rollback"


def test_a_revocation_counts_at_the_next_verification(
    place: Place, store: list[Any], first: Path, sealed: Path, cli: Cli
) -> None:
    second = publish(cli, "2.json", "--revoke", "messages/1", current=first)
    cli("trust", "update", second, *store)
    found = cli("verify", sealed, "--trust", place / "trust", "--json", code=1).json
    assert found["reason"] == "key_revoked"


def test_the_fast_forward_limit_is_an_option(
    place: Place, store: list[Any], first: Path, cli: Cli
) -> None:
    far = publish(cli, "9.json", "--generation", "9", current=first)
    limited = cli("trust", "update", far, "--fast-forward", "7", *store, "--json", code=1).json
    assert limited["reason"] == "keyset_fast_forward"
    cli("trust", "update", far, "--fast-forward", "8", *store)


def test_a_restored_backup_is_noticed_until_it_is_updated(
    place: Place, store: list[Any], first: Path, sealed: Path, cli: Cli
) -> None:
    second = publish(cli, "2.json", current=first)
    shutil.copytree(place / "trust", place / "backup")
    cli("trust", "update", second, *store)
    shutil.rmtree(place / "trust")
    shutil.move(place / "backup", place / "trust")
    options = ["--trust", place / "trust", "--json"]
    assert cli("verify", sealed, *options, code=4).json["error"] == "keyset_rollback"
    assert cli("trust", "show", *store, "--json", code=4).json["error"] == "keyset_rollback"
    cli("trust", "update", second, *store)
    cli("verify", sealed, *options)


def test_breaking_the_glass_needs_a_pin_and_a_reason_and_is_recorded(
    place: Place, store: list[Any], first: Path, cli: Cli
) -> None:
    """The sole keyset key was stolen: the owner starts anew with another one."""
    cli("keys", "new", "root/2", "--for", KEYSET, *PAST)
    cli("keyset", "propose", "--current", first, "--revoke", "root/1", "-o", "draft.json")
    cli("keyset", "sign", "draft.json")
    refused = cli("keyset", "publish", "draft.json", "--current", first, "--json", code=1).json
    assert refused["reason"] == "threshold_not_met"
    rescue = Path("draft.json")
    assert cli("trust", "update", rescue, *store, "--json", code=1).json["reason"] == (
        "threshold_not_met"
    )
    shown = cli("keys", "show", "root/2", "--json").json
    key = ["--pin", f"root/2={shown['publicKey']['x']}"]
    assert cli("trust", "replace", rescue, *key, *store, "--json", code=2).json["error"] == "usage"
    cli("trust", "replace", rescue, *key, "--reason", "root/1 was stolen", *store)
    (desk,) = cli("trust", "show", *store, "--json").json["issuers"]
    last = desk["history"][-1]
    assert (last["how"], last["reason"], desk["generation"]) == ("replaced", "root/1 was stolen", 2)
    assert last["pins"] == [f"root/2=sha256:{shown['thumbprint']}"]
    assert "root/1 was stolen" in " ".join(cli("trust", "show", *store).text.split())


def test_the_store_stands_in_the_user_data_directory_by_default(
    first: Path, pin: list[str], home: Path, cli: Cli
) -> None:
    cli("trust", "add", first, *pin)
    assert (home / ".local/share/taskseal/trust/store.json").is_file()
    (desk,) = cli("trust", "show", "--json").json["issuers"]
    assert desk["issuer"] == "desk"


def test_a_folder_that_is_no_store_is_missing_a_file(place: Place, sealed: Path, cli: Cli) -> None:
    (place / "empty").mkdir()
    found = cli("verify", sealed, "--trust", place / "empty", "--json", code=6).json
    assert found["error"] == "file_missing"


def test_another_issuers_keyset_is_not_what_was_meant(
    first: Path, pin: list[str], place: Place, cli: Cli
) -> None:
    option = ["--store", place / "trust", "--organization", "other", "--json"]
    found = cli("trust", "add", first, *pin, *option, code=1).json
    assert found["reason"] == "organization_mismatch"


def test_a_signature_that_does_not_hold_is_told_apart_from_a_wrong_form(
    first: Path, pin: list[str], place: Place, sealed: Path, cli: Cli
) -> None:
    document = json.loads(first.read_bytes())
    document["signatures"][0]["signature"] = "A" * 86
    first.write_text(json.dumps(document))
    option = ["--store", place / "trust", "--json"]
    assert cli("trust", "add", first, *pin, *option, code=1).json["reason"] == "bad_signature"
    found = cli("verify", sealed, "--trust", first, "--json", code=4).json
    assert found["error"] == "trust_signature_bad"
    assert AISA not in found["detail"]

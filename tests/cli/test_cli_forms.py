"""The forms on the command line: signed, verified, looked at, and handed to OpenSSH."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli_support import AISA, Cli, Place

from taskseal.wire.forms import FORMATS

OUTER = [name for name in FORMATS if name not in ("embedded", "a2a")]
CARD = {"name": "n", "capabilities": {"extensions": []}, "skills": [], "description": ""}


def checked(place: Place, cli: Cli, format: str, *more: str, code: int = 0) -> Any:
    """The verdict on ``out.FORMAT``, which goes with the plan."""
    beside = FORMATS[format].place == "beside"
    subject = [place.plan, "--signature", place / "out"] if beside else [place / "out"]
    return cli("verify", *subject, "--trust", place.pins, *more, "--json", code=code).json


@pytest.mark.parametrize("format", OUTER)
def test_a_form_is_signed_and_verified_when_it_is_allowed(
    place: Place, cli: Cli, format: str
) -> None:
    cli("sign", place.plan, "--format", format, "-o", place / "out")
    name = FORMATS[format].name
    found = checked(place, cli, format, "--allow-form", name)
    assert (found["verdict"], found["form"]) == ("accepted", name)
    if name not in ("jws", "jws-detached"):
        assert checked(place, cli, format, code=1)["reason"] == "form_not_allowed"


@pytest.mark.parametrize("format", OUTER)
def test_inspect_reads_every_form(place: Place, cli: Cli, format: str) -> None:
    cli("sign", place.plan, "--format", format, "-o", place / "out")
    beside = FORMATS[format].place == "beside"
    subject = [place.plan, "--signature", place / "out"] if beside else [place / "out"]
    found = cli("inspect", *subject, "--json").json
    assert (found["form"], found["profile"], found["faults"]) == (FORMATS[format].name, AISA, [])
    shown = FORMATS[format].name in ("eddsa-jcs-2022", "sshsig", "ed25519+domain-v1")
    assert found["keyVersion"] == (None if shown else "messages/1")


def test_a_message_is_signed_twice_and_the_threshold_asks_for_both(place: Place, cli: Cli) -> None:
    cli("keys", "new", "messages/2", "--for", AISA, "--no-passphrase")
    cli("keys", "pin", "-o", place.pins, "--force")
    first = ["--format", "dsse", "--key-version"]
    cli("sign", place.plan, *first, "messages/1", "-o", place / "one")
    cli("sign", place / "one", *first, "messages/2", "-o", place / "out")
    how = ("--allow-form", "dsse", "--threshold", "2")
    found = checked(place, cli, "dsse", *how)
    assert [each["keyVersion"] for each in found["signers"]] == ["messages/1", "messages/2"]
    alone = cli("verify", place / "one", "--trust", place.pins, *how, "--json", code=1).json
    assert alone["reason"] == "threshold_not_met"
    told = cli("verify", place / "out", "--trust", place.pins, "--allow-form", "dsse").text
    assert "messages/2 of desk" in told
    cli("verify", place / "out", "--trust", place.pins, "--threshold", "0", code=2)


def test_a_card_is_recognised_signed_and_looked_at(place: Place, cli: Cli) -> None:
    cli("keys", "new", "cards/1", "--for", "a2a.agent-card/v1", "--no-passphrase")
    cli("keys", "pin", "-o", place.pins, "--force")
    (place / "card.json").write_text(json.dumps(CARD))
    cli("sign", place / "card.json", "-o", place / "out")
    found = cli("verify", place / "out", "--trust", place.pins, "--json").json
    assert (found["verdict"], found["form"], found["profile"]) == (
        "accepted",
        "a2a",
        "a2a.agent-card/v1",
    )
    seen = cli("inspect", place / "out", "--json").json
    assert (seen["form"], seen["keyVersion"], seen["faults"]) == ("a2a", "cards/1", [])
    assert seen["digest"] == found["digest"]
    bare = cli("inspect", place / "card.json", "--json").json
    assert bare["form"] is None
    assert bare["digest"] == found["digest"]
    changed = json.loads((place / "out").read_text()) | {"name": "m"}
    (place / "out").write_text(json.dumps(changed))
    assert cli("verify", place / "out", "--trust", place.pins, "--json", code=1).json["reason"] == (
        "bad_signature"
    )


def test_pins_become_allowed_signers_and_pins_again(place: Place, cli: Cli) -> None:
    from_ring = cli("keys", "pin", "--as", "allowed_signers").out
    cli("keys", "pin", place.pins, "--as", "allowed_signers", "-o", place / "allowed_signers")
    assert (place / "allowed_signers").read_bytes() == from_ring
    assert from_ring.count(b"\n") == 3
    cli("keys", "pin", place / "allowed_signers", "-o", place / "back.json")
    back, pins = (json.loads((place / name).read_text()) for name in ("back.json", "pins.json"))
    kept = ("keyVersion", "alg", "publicKey", "profiles")
    assert [[key[name] for name in kept] for key in back["keys"]] == [
        [key[name] for name in kept] for key in pins["keys"]
    ]
    told = cli("keys", "pin", "--as", "allowed_signers", "--json").json
    assert told["allowedSigners"] == from_ring.decode()
    assert told["keyVersions"] == ["tasks/1", "messages/1", "turns/1"]


def test_a_key_that_openssh_cannot_use_is_noted(place: Place, cli: Cli) -> None:
    cli("keys", "new", "pq/1", "--for", AISA, "--alg", "ML-DSA-65", "--no-passphrase")
    ended = cli("keys", "pin", "--as", "allowed_signers")
    assert b"pq/1" not in ended.out
    assert "pq/1" in ended.err


def test_a_file_and_a_keyring_are_not_pinned_at_once(place: Place, cli: Cli) -> None:
    found = cli("keys", "pin", place.pins, "--keyring", place.ring, "--json", code=2).json
    assert found["error"] == "usage"
    (place / "other").write_text("hello")
    found = cli("keys", "pin", place / "other", "--json", code=3).json
    assert found["error"] == "trust_malformed"


def test_a_document_that_ssh_keygen_could_not_check_as_it_is_is_noted(
    place: Place, cli: Cli
) -> None:
    told = cli("sign", place.plan, "--format", "sshsig", "-o", place / "out").err
    assert "taskseal canon" in told
    (place / "canonical").write_bytes(cli("canon", place.plan).out)
    told = cli("sign", place / "canonical", "--format", "sshsig", "-o", place / "more").err
    assert "taskseal canon" not in told

"""`accept` with a key, and `acceptance verify`: pairs that belong together, and those that do not."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cli_support import DHARMA, ME, Cli, Place
from support import load

from taskseal import Identity, Keyring, Pins, Receiver, Verifier, open_ledger
from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import recanonicalise
from taskseal.ledger import Won
from taskseal.ledger.base import Claim, ReplayId

ACCEPTANCE = "taskseal.acceptance/v1"
PLAN = "papers/plan.md"


@pytest.fixture
def trust(place: Place) -> list[Any]:
    return ["--trust", place.pins]


@pytest.fixture
def mine(place: Place, cli: Cli) -> list[Any]:
    """The options with which this receiver signs; its pins are ``receiver.json``."""
    ring = place / "mine"
    new = ["keys", "new", "receiver/1", "--for", ACCEPTANCE, "--issuer", ME, "--no-passphrase"]
    cli(*new, "--not-before", "2026-01-01T00:00:00Z", "--keyring", ring)
    cli("keys", "pin", "--keyring", ring, "-o", "receiver.json")
    return ["--keyring", ring]


@pytest.fixture
def accept(sealed: Path, trust: list[Any], mine: list[Any], vectors: Path) -> list[Any]:
    """The command that accepts the plan with its artefact."""
    file = load(vectors / "samples/context.json")["aisa"]["artefact_files"][PLAN]
    artefact = f"{PLAN}={vectors / 'samples' / file}"
    return ["accept", sealed, *trust, *mine, "--audience", ME, "--artefact", artefact]


def kept(found: Any, name: str = "acceptance.json") -> Path:
    """What was printed of the acceptance, in a file of another spelling."""
    Path(name).write_text(json.dumps(found["acceptance"], indent=1))
    return Path(name)


VERIFY = ["acceptance", "verify"]
BY_RECEIVER = ["--trust", "receiver.json"]


def test_an_accepted_message_brings_an_acceptance_that_belongs_to_it(
    sealed: Path, accept: list[Any], cli: Cli
) -> None:
    found = cli(*accept, "--json").json
    assert set(found["acceptance"]) == {"payload", "protected", "signature"}
    file = kept(found)
    told = cli(*VERIFY, sealed, file, *BY_RECEIVER)
    assert told.text.startswith("accepted  acceptance.json\n")
    assert f"receiver/1 of {ME}" in told.text
    verdict = cli(*VERIFY, sealed, file, *BY_RECEIVER, "--json").json
    assert (verdict["verdict"], verdict["profile"]) == ("accepted", ACCEPTANCE)
    assert verdict["signer"]["keyVersion"] == "receiver/1"
    # As a message among others it verifies too.
    assert cli("verify", file, *BY_RECEIVER, "--json").json["profile"] == ACCEPTANCE


def test_a_repetition_gets_the_same_acceptance_whoever_asks_without_a_key(
    sealed: Path, accept: list[Any], trust: list[Any], cli: Cli
) -> None:
    first = cli(*accept, "--json").json
    again = cli(*accept, "--json", code=7).json
    assert (again["verdict"], again["acceptance"]) == ("duplicate", first["acceptance"])
    keyless = cli("accept", sealed, *trust, "--audience", ME, "--json", code=7).json
    assert keyless["acceptance"] == first["acceptance"]
    told = cli("accept", sealed, *trust, "--audience", ME, code=7)
    assert "acceptance" in told.text


def test_without_a_key_no_acceptance_is_printed(
    sealed: Path, trust: list[Any], cli: Cli, place: Place
) -> None:
    """The keyring in the environment is the sender's; it is not asked for."""
    bare = ["accept", sealed, *trust, "--audience", ME]
    assert cli(*bare, "--json").json["acceptance"] is None
    assert cli(*bare, "--json", code=7).json["acceptance"] is None
    assert "acceptance" not in cli(*bare, code=7).text
    refused = cli("accept", place.task, *trust, "--audience", ME, "--json", code=1).json
    assert refused["acceptance"] is None


def test_a_text_block_says_that_there_is_an_acceptance(accept: list[Any], cli: Cli) -> None:
    assert "signed and kept" in cli(*accept).text


def test_a_keyring_without_a_key_for_it_is_refused_before_anything_is_accepted(
    place: Place, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    bare = ["accept", sealed, *trust, "--audience", ME]
    for options in (["--keyring", place.ring], ["--key-version", "tasks/1"]):
        found = cli(*bare, *options, "--json", code=4).json
        assert found["error"] in ("no_signing_key", "key_wrong_profile")
    found = cli(*bare, "--keyring", place / "nothing", "--json", code=4).json
    assert found["error"] == "keyring_missing"
    assert cli(*bare, "--json").json["verdict"] == "accepted"


def test_the_acceptance_of_another_message_is_swapped(
    place: Place, sealed: Path, accept: list[Any], trust: list[Any], mine: list[Any], cli: Cli
) -> None:
    cli("sign", place.task, "-o", "task.sealed")
    other = cli("accept", "task.sealed", *trust, *mine, "--any-audience", "--json").json
    cli(*accept)
    done = cli(*VERIFY, sealed, kept(other), *BY_RECEIVER, "--json", code=1).json
    assert (done["verdict"], done["reason"]) == ("refused", "acceptance_swapped")
    assert "acceptance_swapped" in cli(*VERIFY, sealed, kept(other), *BY_RECEIVER, code=1).text


def test_the_acceptance_of_an_earlier_attempt_is_stale(
    place: Place, trust: list[Any], mine: list[Any], cli: Cli
) -> None:
    for name in ("first", "second"):
        cli("sign", place.task, "-o", name)
    first = cli("accept", "first", *trust, *mine, "--any-audience", "--json").json
    cli(*VERIFY, "first", kept(first), *BY_RECEIVER)
    found = cli(*VERIFY, "second", kept(first), *BY_RECEIVER, "--json", code=1).json
    assert found["reason"] == "acceptance_stale"


def test_an_acceptance_from_which_the_artefact_was_left_out_is_partial(
    sealed: Path, accept: list[Any], cli: Cli
) -> None:
    file = kept(cli(*accept[:-2], "--json").json)
    found = cli(*VERIFY, sealed, file, *BY_RECEIVER, "--json", code=1).json
    assert found["reason"] == "acceptance_partial"
    assert "/artefact/hash" in found["detail"]
    cli(*VERIFY, sealed, file, *BY_RECEIVER, "--allow-partial")


def test_an_altered_acceptance_is_a_bad_signature_or_a_malformed_one(
    sealed: Path, accept: list[Any], cli: Cli
) -> None:
    found = cli(*accept, "--json").json["acceptance"]
    said = b64url_decode(found["payload"]) or b""
    other = said.replace(b'"authorised":null', b'"authorised":true')
    assert other != said
    changes = {
        "bad_signature": {"payload": b64url_encode(other)},
        "signature_malformed": {"signature": found["signature"] + "="},
        "malformed_json": None,
    }
    for reason, change in changes.items():
        text = "{" if change is None else json.dumps(found | change)
        Path("altered.json").write_text(text)
        done = cli(*VERIFY, sealed, "altered.json", *BY_RECEIVER, "--json", code=1).json
        assert (done["reason"], done["signer"]) == (reason, None)


def test_trust_and_the_caller_s_own_files_are_the_caller_s(
    sealed: Path, accept: list[Any], trust: list[Any], cli: Cli
) -> None:
    file = kept(cli(*accept, "--json").json)
    assert cli(*VERIFY, sealed, file, "--json", code=2).json["error"] == "trust_missing"
    unknown = cli(*VERIFY, sealed, file, *trust, "--json", code=1).json
    assert unknown["reason"] == "unknown_key"
    Path("broken").write_text("{")
    broken = cli(*VERIFY, "broken", file, *BY_RECEIVER, "--json", code=3).json
    assert broken["error"] == "malformed_json"
    for pair in (["missing", file], [sealed, "missing"]):
        assert cli(*VERIFY, *pair, *BY_RECEIVER, "--json", code=6).json["error"] == "file_missing"
    cli(*VERIFY, "-", "-", *BY_RECEIVER, code=2)
    told = cli(*VERIFY, "-", file, *BY_RECEIVER, stdin=sealed.read_bytes())
    assert told.text.startswith("accepted")


def test_a_request_with_its_signature_beside_it_is_named_by_both_files(
    place: Place, mine: list[Any], trust: list[Any], cli: Cli
) -> None:
    cli("sign", place.plan, "--audience", ME, "--format", "jws-detached", "-o", "plan.sig")
    beside = ["--signature", "plan.sig"]
    options = [*trust, *mine, *beside, "--audience", ME, "--json"]
    file = kept(cli("accept", place.plan, *options).json)
    pair = [*VERIFY, place.plan, file, *BY_RECEIVER, "--allow-partial"]
    cli(*pair, *beside)
    assert cli(*pair, "--json", code=3).json["error"] == "signature_missing"


def test_a_custom_request_is_named_by_its_profile(
    place: Place, mine: list[Any], trust: list[Any], cli: Cli
) -> None:
    Path("note.toml").write_text(
        'id = "my.note/v1"\ndetached = true\nreplay_ids = ["/id"]\n'
        'discriminator = { pointer = "/kind", constant = "note" }\n'
    )
    custom = ["--profile", "note.toml"]
    cli("keys", "new", "notes/1", "--for", "note.toml", "--no-passphrase", "--keyring", "notes")
    cli("keys", "pin", "--keyring", "notes", "-o", "notes.json")
    Path("note.json").write_text('{"kind":"note","id":"1"}')
    cli("sign", "note.json", *custom, "--keyring", "notes", "-o", "note.sealed")
    given = ["--trust", "notes.json", *mine, *custom, "--any-audience", "--json"]
    file = kept(cli("accept", "note.sealed", *given).json)
    cli(*VERIFY, "note.sealed", file, *BY_RECEIVER, *custom)
    assert cli(*VERIFY, "note.sealed", file, *BY_RECEIVER, "--json", code=3).json["error"] == (
        "unknown_profile"
    )


def test_what_came_back_beside_it_is_held_against_the_acceptance(
    place: Place, mine: list[Any], cli: Cli
) -> None:
    """Work in two phases through the library, checked by the sender on the command line."""
    cli("sign", place.task, "-o", "sealed")
    verifier = Verifier(Pins.load(place.pins.read_bytes()))
    signer = Keyring.open(mine[1]).signer(ACCEPTANCE, key_version=None, at=verifier.clock())
    with open_ledger("sqlite:two.db") as ledger:
        receiver = Receiver(verifier, ledger, Identity(organisation="org_test"), signer=signer)
        job = receiver.receive(Path("sealed").read_bytes())
        with job:  # type: ignore[union-attr]  # it is a Job
            acceptance = job.commit({"done": True})  # type: ignore[union-attr]  # as above
    assert acceptance is not None
    Path("acceptance.json").write_bytes(acceptance)
    Path("answer.json").write_text('{ "done": true }')
    Path("other.json").write_text('{ "done": false }')
    pair = [*VERIFY, "sealed", "acceptance.json", *BY_RECEIVER]
    assert "outcome" in cli(*pair, "--json").json["unchecked"]
    whole = cli(*pair, "--artefact", "outcome=answer.json", "--json").json
    assert whole["unchecked"] == ["audience"]
    other = cli(*pair, "--artefact", "outcome=other.json", "--json", code=1).json
    assert other["reason"] == "digest_mismatch"


def test_a_message_that_a_worker_holds_is_in_doubt_and_exit_5(
    place: Place, trust: list[Any], cli: Cli
) -> None:
    cli("sign", place.task, "-o", "sealed")
    verifier = Verifier(Pins.load(place.pins.read_bytes()))
    with open_ledger("sqlite:two.db") as ledger:
        receiver = Receiver(verifier, ledger, Identity(organisation="org_test"))
        receiver.receive(Path("sealed").read_bytes())
    accept = ["accept", "sealed", *trust, "--organization", "org_test", "--ledger", "sqlite:two.db"]
    found = cli(*accept, "--json", code=5).json
    assert (found["verdict"], found["reason"]) == ("in_doubt", "in_doubt")
    assert (found["acceptance"], found["duplicate"]) == (None, False)
    assert found["replayIds"]
    assert cli(*accept, code=5).text.startswith("in_doubt  sealed\n")


@pytest.mark.parametrize("stored", [b"\xff", b"[]", b"no json"])
def test_what_other_software_kept_as_an_acceptance_is_passed_over(
    place: Place, trust: list[Any], cli: Cli, stored: bytes
) -> None:
    cli("sign", place.task, "-o", "sealed")
    accept = ["accept", "sealed", *trust, "--organization", "org_test"]
    found = cli(*accept, "--ledger", "memory:", "--json").json
    ids = tuple(ReplayId(**each) for each in found["replayIds"])
    verifier = Verifier(Pins.load(place.pins.read_bytes()))
    exam = verifier.verify(Path("sealed").read_bytes())
    with open_ledger("sqlite:other.db") as ledger:
        claim = Claim(DHARMA, ids, fingerprint(exam.envelope), exam.expires, exam.expires)
        assert isinstance(ledger.claim(replace(claim, acceptance=stored), exam.issued), Won)
    again = cli(*accept, "--ledger", "sqlite:other.db", "--json", code=7).json
    assert again["acceptance"] is None
    cli(*accept, "--ledger", "sqlite:other.db", code=7)


def fingerprint(envelope: Any) -> bytes:
    outside = ("signature", "signerKeyVersion")
    bare = {name: item for name, item in envelope.items() if name not in outside}
    return sha256(recanonicalise(json.dumps(bare).encode())).digest()

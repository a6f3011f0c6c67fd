"""`verify`, `accept`, `explain` and `inspect`: verdicts, their exit codes and their JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_support import DHARMA, ME, Cli, Place, minimal_task, moment
from support import SAMPLES, load

from taskseal import REASONS, Reason
from taskseal.cli import options
from taskseal.verify.policy import FORMS

MEMBERS = [
    "verdict", "reason", "detail", "pointer", "profile", "signer", "form", "canonical", "digest",
    "issuedAt", "expiresAt", "authorised", "unchecked", "checks", "answer",
]  # fmt: skip
PLAN_FILE = SAMPLES / "aisa" / "artefacts" / "plan.md"


def test_the_forms_that_the_option_takes_are_those_of_the_library() -> None:
    assert options.ARRIVING_FORMS == FORMS


@pytest.fixture
def trust(place: Place) -> list[str | Path]:
    return ["--trust", place.pins]


@pytest.fixture
def tampered(place: Place, sealed: Path) -> Path:
    """The sealed plan with one character of its payload changed."""
    blob = load(sealed)
    middle = len(blob["payload"]) // 2
    other = "A" if blob["payload"][middle] != "A" else "B"
    blob["payload"] = blob["payload"][:middle] + other + blob["payload"][middle + 1 :]
    path = place / "tampered.json"
    path.write_text(json.dumps(blob))
    return path


def test_an_accepted_message_is_told_in_a_block_that_ends_with_what_was_not_done(
    sealed: Path, trust: list[Any], cli: Cli
) -> None:
    text = cli("verify", sealed, *trust).text
    assert text.startswith(f"accepted  {sealed}\n")
    assert text.endswith("\nreplay: not claimed\n")
    for word in ("aisa.message/v1, jws", "messages/1 of desk", "sha256:", "'papers/plan.md'"):
        assert word in text
    assert all(len(line) <= 80 for line in text.splitlines()[1:])


def test_the_json_of_a_verdict_has_exactly_its_members(
    sealed: Path, tampered: Path, trust: list[Any], cli: Cli
) -> None:
    accepted = cli("verify", sealed, *trust, "--json").json
    assert list(accepted) == MEMBERS
    assert accepted["verdict"] == "accepted"
    assert list(accepted["signer"]) == ["issuer", "keyVersion", "principal", "thumbprint"]
    assert list(accepted["checks"][0]) == ["check", "result", "reason", "detail", "pointer"]
    assert accepted["unchecked"] == ["audience", "artefact"]
    refused = cli("verify", tampered, *trust, "--json", code=1).json
    assert list(refused) == MEMBERS
    assert refused["verdict"] == "refused"
    assert refused["signer"] is None
    assert refused["answer"] is None


def test_a_refusal_says_why_where_and_what_to_do(
    tampered: Path, trust: list[Any], cli: Cli
) -> None:
    done = cli("verify", tampered, *trust, code=1)
    assert done.text.startswith(f"refused  {tampered}\n")
    assert re.search(r"\n  reason +bad_signature\n", done.text)
    assert re.search(r"\n  where +/signature\n", done.text)
    assert re.search(r"\n  to do +treat the message as forged", done.text)
    assert done.err == ""


def test_standard_input_is_a_message(sealed: Path, trust: list[Any], cli: Cli) -> None:
    assert cli("verify", "-", *trust, stdin=sealed.read_bytes()).text.startswith("accepted  -\n")
    assert cli("verify", "-", *trust, "--json", stdin=b"", code=1).json["reason"]


def test_standard_input_can_be_named_once(place: Place, sealed: Path, cli: Cli) -> None:
    done = cli("verify", "-", "--trust", "-", "--json", stdin=place.pins.read_bytes(), code=2)
    assert done.json["error"] == "usage"
    both = cli("verify", "-", "-", "--trust", place.pins, stdin=sealed.read_bytes(), code=2)
    assert "named twice" in both.err
    assert "accepted" in both.text


def test_trust_may_come_from_standard_input(place: Place, sealed: Path, cli: Cli) -> None:
    cli("verify", sealed, "--trust", "-", stdin=place.pins.read_bytes())


def test_several_files_are_a_line_each_and_a_missing_one_does_not_stop_the_others(
    sealed: Path, tampered: Path, trust: list[Any], cli: Cli
) -> None:
    files = [sealed, "missing.json", tampered, sealed]
    done = cli("verify", *files, *trust, "--json", code=6)
    assert [line.get("verdict", line.get("error")) for line in done.jsons] == [
        "accepted",
        "file_missing",
        "refused",
        "accepted",
    ]
    assert done.jsons[1]["file"] == "missing.json"
    told = cli("verify", *files, *trust, code=6)
    assert told.text.count("accepted  ") == 2
    assert told.text.count("refused  ") == 1
    assert told.err.startswith("error: missing.json: file_missing: ")


def test_the_code_of_several_files_is_the_gravest(
    place: Place, sealed: Path, tampered: Path, trust: list[Any], cli: Cli
) -> None:
    cli("verify", sealed, sealed, *trust, code=0)
    cli("verify", sealed, tampered, *trust, code=1)
    cli("verify", tampered, "missing", *trust, code=6)
    cli("verify", "missing", "-", "-", *trust, code=2)


def test_a_detached_signature_belongs_to_one_file(
    place: Place, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    found = cli("verify", sealed, sealed, *trust, "--signature", "s", "--json", code=2).json
    assert found["error"] == "usage"
    assert cli("verify", sealed, *trust, "--signature", "missing", "--json", code=6).json["error"]


@pytest.mark.parametrize(
    "junk",
    [b"", b"\n", b"x", b"{}", b"null", b"\x00", b"a..b", b"[" * 70_000, b"\xff" * 100],
    ids=lambda junk: repr(junk[:8]),
)
def test_a_messages_bytes_give_no_other_code_than_refused(
    place: Place, trust: list[Any], cli: Cli, junk: bytes
) -> None:
    cli("verify", "-", *trust, stdin=junk, code=1)
    cli("accept", "-", *trust, "--any-audience", stdin=junk, code=1)
    Path("junk").write_bytes(junk)
    cli("verify", place.plan, *trust, "--signature", "junk", code=1)


def test_a_message_too_large_to_read_is_refused_as_such(
    place: Place, trust: list[Any], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskseal.cli.open.MESSAGE_LIMIT", 1000)
    Path("large").write_bytes(b" " * 1001)
    for command in (["verify"], ["accept", "--any-audience"]):
        found = cli(*command, "large", *trust, "--json", code=1).json
        assert found["reason"] == "too_large"
        assert found["checks"][-1]["check"] == "size"
    cli("verify", "-", *trust, stdin=b" " * 1001, code=1)
    assert cli("inspect", "large", "--json", code=3).json["error"] == "too_large"


@pytest.mark.parametrize(
    ("trusted", "error", "code"),
    [
        (None, "trust_missing", 2),
        (b"{", "trust_malformed", 3),
        (b"{}", "trust_malformed", 3),
        (b'{"schema":"taskseal.pins/v1"}', "trust_malformed", 3),
    ],
)
def test_what_is_wrong_with_trust_has_its_own_code(
    sealed: Path, cli: Cli, trusted: bytes | None, error: str, code: int
) -> None:
    if trusted is not None:
        Path("trust.json").write_bytes(trusted)
    given = [] if trusted is None else ["--trust", "trust.json"]
    found = cli("verify", sealed, *given, "--json", code=code).json
    assert found["error"] == error
    assert cli("accept", sealed, *given, "--any-audience", "--json", code=code).json == found


def test_trust_that_cannot_be_read_conflicts_or_is_broken(
    place: Place, sealed: Path, cli: Cli, vectors: Path
) -> None:
    cli("verify", sealed, "--trust", "missing", code=6)
    cli("verify", sealed, "--trust", place.folder, code=6)
    other = load(place.pins)
    first, second, *_ = other["keys"]
    first["publicKey"] = second["publicKey"]
    Path("other.json").write_text(json.dumps(other))
    both = ["--trust", place.pins, "--trust", "other.json"]
    assert cli("verify", sealed, *both, "--json", code=4).json["error"] == "trust_conflict"
    keysets = load(vectors / "dharma" / "keysets.json")["vectors"]
    (keyset,) = [v["input"]["keyset"] for v in keysets if v["name"] == "keyset-gen1-initial-ok"]
    keyset["signature"] = keyset["signature"][::-1]
    Path("keyset.json").write_text(json.dumps(keyset))
    broken = cli("verify", sealed, "--trust", "keyset.json", "--json", code=4).json
    assert broken["error"] == "trust_signature_bad"


def test_one_key_under_two_versions_is_noted(place: Place, sealed: Path, cli: Cli) -> None:
    pins = load(place.pins)
    pins["keys"].append(pins["keys"][0] | {"keyVersion": "again"})
    place.pins.write_text(json.dumps(pins))
    assert "note: " in cli("verify", sealed, "--trust", place.pins).err


def test_the_audience_is_compared_only_when_one_is_given(
    sealed: Path, trust: list[Any], cli: Cli
) -> None:
    right = cli("verify", sealed, *trust, "--audience", ME, "--json").json
    assert right["unchecked"] == ["artefact"]
    wrong = cli("verify", sealed, *trust, "--audience", "other", "--json", code=1).json
    assert wrong["reason"] == "audience_mismatch"
    cli("verify", sealed, *trust, "--any-audience")


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ("--organization", "/organizationId"),
        ("--workspace", "/workspaceId"),
        ("--device", "/target/deviceId"),
    ],
)
def test_a_dharma_task_is_for_its_organisation_workspace_and_device(
    place: Place, trust: list[Any], cli: Cli, wrong: str, pointer: str
) -> None:
    cli("sign", place.task, "-o", "task.sealed")
    right = {"--organization": "org_test", "--workspace": "ws_1", "--device": "dev_1"}
    cli("verify", "task.sealed", *trust, *sum(right.items(), ()))
    given = sum((right | {wrong: "other"}).items(), ())
    found = cli("verify", "task.sealed", *trust, *given, "--json", code=1).json
    assert (found["reason"], found["pointer"]) == ("audience_mismatch", pointer)


@pytest.mark.parametrize(
    "given",
    [
        ["--any-audience", "--audience", "a"],
        ["--any-audience", "--organization", "o"],
        ["--audience", ""],
        ["--organization", ""],
        ["--unversioned-key", ""],
        ["--at", "2026-13-01T00:00:00Z"],
        ["--at", ""],
        ["--allow-form", "pgp"],
        ["--profile", "no.such/v1"],
        ["--artefact", "x"],
    ],
    ids=str,
)
def test_options_that_contradict_or_mean_nothing_are_usage(
    sealed: Path, trust: list[Any], cli: Cli, given: list[str]
) -> None:
    assert cli("verify", sealed, *trust, *given, "--json", code=2).json["error"] == "usage"


def test_the_profile_can_be_named(sealed: Path, trust: list[Any], cli: Cli) -> None:
    cli("verify", sealed, *trust, "--profile", "aisa.message/v1")
    found = cli("verify", sealed, *trust, "--profile", DHARMA, "--json", code=1).json
    assert found["reason"] == "schema_invalid"


def test_a_form_is_taken_when_it_is_allowed(place: Place, trust: list[Any], cli: Cli) -> None:
    cli("sign", place.task, "--format", "jws", "-o", "task.jws")
    found = cli("verify", "task.jws", *trust, "--json", code=1).json
    assert found["reason"] == "form_not_allowed"
    cli("verify", "task.jws", *trust, "--allow-form", "jws")


def test_an_unversioned_message_needs_a_key_that_the_operator_names(
    place: Place, trust: list[Any], cli: Cli
) -> None:
    cli("sign", place.task, "--no-fill", code=1)
    task = minimal_task() | {"createdAt": moment(), "expiresAt": moment(600), "nonce": "n-1"}
    place.task.write_text(json.dumps(task))
    cli("sign", place.task, "--no-fill", "-o", "bare.json")
    assert "signerKeyVersion" not in load(place / "bare.json")
    found = cli("verify", "bare.json", *trust, "--json", code=1).json
    assert found["reason"] == "key_version_missing"
    cli("verify", "bare.json", *trust, "--unversioned-key", "tasks/1")


def test_an_artefact_is_held_against_its_digest(
    place: Place, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    good = cli("verify", sealed, *trust, "--artefact", f"papers/plan.md={PLAN_FILE}", "--json")
    assert "artefact" not in good.json["unchecked"]
    bad = cli("verify", sealed, *trust, "--artefact", f"papers/plan.md={sealed}", "--json", code=1)
    assert bad.json["reason"] == "digest_mismatch"
    folder = cli("verify", sealed, *trust, "--artefact", "papers/plan.md=ring", "--json", code=1)
    assert folder.json["reason"] == "digest_mismatch"
    noted = cli("verify", sealed, *trust, "--artefact", f"other={PLAN_FILE}")
    assert noted.err == "note: the message names no artefact other; it is ignored\n"


def test_the_context_is_read_with_paths_relative_to_it(
    place: Place, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    found = cli("verify", sealed, *trust, "--context", SAMPLES / "context.json", "--json").json
    assert found["unchecked"] == ["audience"]


@pytest.mark.parametrize(
    ("context", "error", "code"),
    [
        (b"", "context_malformed", 3),
        (b"[]", "context_malformed", 3),
        (b'{"surplus": 1}', "context_malformed", 3),
        (b'{"aisa": {"surplus": 1}}', "context_malformed", 3),
        (b'{"aisa": {"artefact_files": {"papers/plan.md": "missing"}}}', "file_missing", 6),
        (b'{"aisa": {"artefact_files": {"papers/plan.md": "\\u0000"}}}', "file_unreadable", 6),
        (b'{"orbiplex": {"binding": "missing.json"}}', "file_missing", 6),
        (b'{"orbiplex": {"binding": "context.json"}}', "context_malformed", 3),
        (b'{"orbiplex": {"binding": "\\u0000"}}', "file_missing", 6),
        (b'{"orbiplex": {"binding": {}}}', "context_malformed", 3),
    ],
    ids=str,
)
def test_a_context_that_cannot_be_used_blames_the_receivers_own_file(
    sealed: Path, trust: list[Any], cli: Cli, context: bytes, error: str, code: int
) -> None:
    Path("context.json").write_bytes(context)
    done = cli("verify", sealed, *trust, "--context", "context.json", "--json", code=code)
    assert done.json["error"] == error


def test_a_message_is_accepted_once(sealed: Path, trust: list[Any], cli: Cli) -> None:
    who = ["--audience", ME]
    first = cli("accept", sealed, *trust, *who, "--json").json
    assert list(first) == [*MEMBERS, "duplicate", "replayIds", "acceptance"]
    assert (first["verdict"], first["duplicate"]) == ("accepted", False)
    assert [each["value"] for each in first["replayIds"]] == ['"msg-2026-0002"']
    again = cli("accept", sealed, *trust, *who, "--json", code=7).json
    assert list(again) == [*MEMBERS, "duplicate", "replayIds", "acceptance"]
    assert (again["verdict"], again["reason"], again["duplicate"]) == (
        "duplicate",
        "replayed",
        True,
    )
    assert again["replayIds"] == first["replayIds"]
    told = cli("accept", sealed, *trust, *who, code=7)
    assert told.text.startswith(f"duplicate  {sealed}\n")
    assert "replayed" in told.text
    cli("verify", sealed, *trust)


def test_another_message_under_a_taken_id_is_a_conflict(
    place: Place, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    cli("accept", sealed, *trust, "--audience", ME)
    plan = load(place.plan) | {"occurred_on": moment(-50)}
    place.plan.write_text(json.dumps(plan))
    cli("sign", place.plan, "--audience", ME, "-o", "other.json")
    found = cli("accept", "other.json", *trust, "--audience", ME, "--json", code=1).json
    assert (found["reason"], found["duplicate"], found["replayIds"]) == (
        "replay_conflict",
        False,
        [],
    )


def test_accepting_needs_an_identity(sealed: Path, trust: list[Any], cli: Cli) -> None:
    found = cli("accept", sealed, *trust, "--json", code=2).json
    assert found["error"] == "usage"
    assert "--audience" in found["hint"]
    assert cli("accept", sealed, *trust, "--at", moment(), "--any-audience", code=2)


def test_the_ledger_is_the_options_the_environments_or_the_users_own(
    place: Place,
    sealed: Path,
    trust: list[Any],
    cli: Cli,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accept = ["accept", sealed, *trust, "--audience", ME]
    cli(*accept)
    own = home / ".local" / "state" / "taskseal" / "ledger.sqlite3"
    assert own.stat().st_mode & 0o777 == 0o600
    assert own.parent.stat().st_mode & 0o777 == 0o700
    cli(*accept, "--ledger", "sqlite:mine.db")
    cli(*accept, "--ledger", "sqlite:mine.db", code=7)
    monkeypatch.setenv("TASKSEAL_LEDGER", "sqlite:theirs.db")
    cli(*accept)
    cli(*accept, code=7)
    cli(*accept, "--ledger", "sqlite:mine.db", code=7)
    monkeypatch.setenv("TASKSEAL_LEDGER", "memory:")  # no variable switches the memory off
    cli(*accept, code=2)
    cli(*accept, "--ledger", "memory:")


@pytest.mark.parametrize(
    ("url", "error", "code"),
    [
        ("sqlite:missing/x.db", "ledger_unavailable", 5),
        ("sqlite:pins.json", "ledger_unavailable", 5),
        ("sqlite:ring", "ledger_unavailable", 5),
        ("sqlite:", "usage", 2),
        ("mine.db", "usage", 2),
        ("redis://x", "usage", 2),
        ("memory:?max_records=x", "usage", 2),
    ],
)
def test_a_ledger_that_does_not_answer_accepts_nothing(
    place: Place, sealed: Path, trust: list[Any], cli: Cli, url: str, error: str, code: int
) -> None:
    accept = ["accept", sealed, *trust, "--audience", ME, "--ledger", url]
    assert cli(*accept, "--json", code=code).json["error"] == error
    assert f"error: {error}" in cli(*accept, code=code).err


def test_a_full_ledger_is_exit_5_and_may_be_tried_again(
    place: Place, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    ledger = ["--ledger", "sqlite:small.db?max_records=1"]
    cli("accept", sealed, *trust, "--audience", ME, *ledger)
    cli("sign", place.task, "-o", "task.sealed")
    found = cli("accept", "task.sealed", *trust, "--any-audience", *ledger, "--json", code=5).json
    assert (found["verdict"], found["reason"]) == ("refused", "ledger_unavailable")


def test_explain_tells_the_cause_the_remedy_and_every_check(
    tampered: Path, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    found = cli("explain", tampered, *trust, "--json", code=1).json
    assert list(found) == [*MEMBERS, "cause", "remedy"]
    entry = REASONS[Reason.BAD_SIGNATURE]
    assert (found["cause"], found["remedy"]) == (entry.text, entry.remedy)
    told = cli("explain", tampered, *trust, code=1).text
    assert entry.text in told
    assert "checks, in order" in told
    assert re.search(r"FAILED +signature +bad_signature", told)
    good = cli("explain", sealed, *trust, "--json").json
    assert (good["cause"], good["remedy"]) == (None, None)
    assert re.search(r"skipped +audience", cli("explain", sealed, *trust).text)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_can_be_explained(cli: Cli, reason: Reason) -> None:
    found = cli("explain", reason.value, "--json").json
    assert found["reason"] == reason
    assert found["cause"]
    assert found["remedy"]
    text = cli("explain", reason.value).text
    assert text.startswith(f"{reason}\n")


def test_a_code_wins_over_a_file_of_that_name(sealed: Path, trust: list[Any], cli: Cli) -> None:
    Path("expired").write_bytes(sealed.read_bytes())
    assert cli("explain", "expired").text.startswith("expired\n")
    assert cli("explain", "./expired", *trust).text.startswith("accepted")


def test_what_is_neither_a_reason_nor_a_file_is_explained_as_that(cli: Cli) -> None:
    found = cli("explain", "key_retird", "--json", code=2).json
    assert (found["error"], found["hint"]) == ("usage", "did you mean key_retired?")
    assert found["detail"] == "'key_retird' is neither a reason nor a file"
    assert "errors" in cli("explain", "zzz", "--json", code=2).json["hint"]
    for path in ("gone.json", "./key_retired", "", "a\0b.json", "x." * 2000):
        found = cli("explain", path, "--json", code=6).json
        assert (found["error"], "neither" in found["detail"]) == ("file_missing", True), path


@pytest.mark.parametrize("option", ["--signature", "--trust", "--context"])
@pytest.mark.parametrize(
    "text", ['{"a": 1}', " [1]", '"' + "x" * 5000 + '"', "eyJh.." + "x" * 86, "-----BEGIN SSH", ""]
)
def test_an_option_that_was_given_a_files_text_says_so(
    place: Place, trust: list[Any], cli: Cli, option: str, text: str
) -> None:
    for command in (["verify"], ["accept", "--any-audience", "--ledger", "memory:"]):
        found = cli(*command, place.plan, *trust, option, text, "--json", code=6).json
        assert found["hint"] == "give the file, not its text"
        assert option in found["detail"]
        assert "xxx" not in found["detail"]
    missing = cli("verify", place.plan, *trust, option, "gone.json", "--json", code=6).json
    assert "not its text" not in missing["hint"]


def test_an_acceptance_that_compared_nothing_says_so(
    place: Place, sealed: Path, trust: list[Any], cli: Cli
) -> None:
    cli("sign", place.task, "-o", "task.sealed")
    organization = json.loads(Path("task.sealed").read_bytes())["organizationId"]
    accept = ["accept", *trust, "--ledger", "memory:"]
    (told,) = cli(*accept, "task.sealed", "--audience", ME).err.splitlines()
    assert told == (
        "note: nothing in the message was compared with the identity: "
        "add --organization, --workspace or --device"
    )
    assert cli(*accept, "task.sealed", "--organization", organization).err == ""
    assert cli(*accept, "task.sealed", "--any-audience").err == ""
    assert cli(*accept, sealed, "--audience", ME).err == ""
    cli("sign", place.plan, "-o", "plan.sealed")
    assert "it names no receiver" in cli(*accept, "plan.sealed", "--organization", "o").err


AISA_SAMPLES = sorted((SAMPLES / "aisa").glob("*.json"))


@pytest.mark.parametrize("path", AISA_SAMPLES, ids=lambda path: path.stem)
def test_an_unsigned_message_with_a_payload_of_its_own_is_inspected_as_unsigned(
    cli: Cli, path: Path
) -> None:
    found = cli("inspect", path, "--json").json
    assert (found["form"], found["profile"], found["faults"]) == (None, "aisa.message/v1", [])
    assert "unsigned" in cli("inspect", path).text


def test_inspect_shows_what_stands_there_and_says_that_nothing_is_verified(
    place: Place, sealed: Path, tampered: Path, cli: Cli
) -> None:
    text = cli("inspect", sealed).text
    assert text.startswith("NOT VERIFIED")
    for word in ("aisa.message/v1", "messages/1", "msg-2026-0002", "sha256:", f"aud {ME}"):
        assert word in text
    found = cli("inspect", sealed, "--json").json
    assert found["verified"] is False
    assert found["header"]["kid"] == "messages/1"
    assert found["replayIds"] == [{"pointer": "/message_id", "value": "msg-2026-0002"}]
    (digest,) = found["digests"]
    assert (digest["pointer"], digest["covers"]) == ("/artefact/hash", "papers/plan.md")
    verified = cli("verify", sealed, "--trust", place.pins, "--json").json
    assert found["digest"] == verified["digest"]


def test_inspect_takes_the_options_of_verify_and_asks_no_trust(place: Place, cli: Cli) -> None:
    cli("sign", place.plan, "--format", "jws-detached", "-o", "plan.sig")
    options = ["--trust", "missing", "--any-audience", "--at", moment(), "--context", "missing"]
    found = cli("inspect", place.plan, "--signature", "plan.sig", *options, "--json").json
    assert (found["form"], found["keyVersion"]) == ("jws-detached", "messages/1")
    cli("sign", place.task, "-o", "task.sealed")
    embedded = cli("inspect", "task.sealed", "--json").json
    assert (embedded["form"], embedded["keyVersion"]) == ("embedded", "tasks/1")
    verified = cli("verify", "task.sealed", "--trust", place.pins, "--json").json
    assert embedded["digest"] == verified["digest"]
    unsigned = cli("inspect", place.task, "--json").json
    assert unsigned["form"] is None
    assert unsigned["faults"][0]["error"] == "schema_invalid"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"null", "unknown_profile"),
        (b'{"schema":"dharma.task/v1"}', "schema_invalid"),
        (b'{"schema":"dharma.task/v1","requiredSkills":[1],"skillBundle":7}', "schema_invalid"),
        (b'{"payload":1,"protected":"","signature":""}', "signature_malformed"),
        (b'{"payload":"e30","protected":"e30","signature":"AA"}', "signature_malformed"),
    ],
    ids=str,
)
def test_inspect_goes_as_far_as_there_is_something_to_read(
    cli: Cli, text: bytes, fault: str
) -> None:
    found = cli("inspect", "-", "--json", stdin=text).json
    assert found["faults"][0]["error"] == fault
    assert fault in cli("inspect", "-", stdin=text).text


def test_inspecting_what_is_no_json_is_exit_3(cli: Cli) -> None:
    assert cli("inspect", "-", "--json", stdin=b"{", code=3).json["error"] == "malformed_json"


def test_what_a_message_says_never_reaches_the_terminal_as_it_is(
    place: Place, trust: list[Any], cli: Cli
) -> None:
    plan = load(place.plan) | {"message_id": "\x1b[2J\u202eevil\x07"}
    place.plan.write_text(json.dumps(plan))
    Path("evil\x1b[31m.json").write_bytes(place.plan.read_bytes())
    for arguments in (
        ["inspect", place.plan],
        ["verify", "evil\x1b[31m.json", *trust],
        ["explain", "evil\x1b[31m.json", *trust],
        ["sign", place.plan],
        ["digest", "evil\x1b[31m.json", "gone\x1b"],
    ):
        code = {"inspect": 0, "digest": 6}.get(str(arguments[0]), 1)
        done = cli(*arguments, code=code)
        shown = done.text.replace("\n", "") + done.err.replace("\n", "")
        assert shown.isprintable(), arguments

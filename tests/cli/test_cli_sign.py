"""`sign`: one blob, where it was asked for, or nothing at all."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from cli_support import AISA, DHARMA, ME, Cli, Place
from support import SAMPLES, VECTORS, load

from taskseal.cli import sign as sign_command
from taskseal.signing import FORMATS

PLAN_FILE = SAMPLES / "aisa" / "artefacts" / "plan.md"


def test_the_formats_that_the_option_takes_are_those_of_the_library() -> None:
    assert sign_command.FORMATS == FORMATS


def test_the_blob_alone_goes_to_standard_output(place: Place, cli: Cli) -> None:
    done = cli("sign", place.task)
    assert json.loads(done.out)["signerKeyVersion"] == "tasks/1"
    assert done.out.endswith(b"}")
    assert done.err == ""


def test_a_document_comes_from_standard_input(place: Place, cli: Cli) -> None:
    done = cli("sign", "-", stdin=place.task.read_bytes())
    assert json.loads(done.out)["schema"] == DHARMA


@pytest.mark.parametrize("out", ["sealed.json", "-"])
def test_json_says_what_was_written_and_by_whom(place: Place, cli: Cli, out: str) -> None:
    found = cli("sign", place.task, "--json", "-o", out).json
    names = {"written", "profile", "signer", "digest", "expiresAt"}
    assert found["profile"] == DHARMA
    assert found["signer"]["keyVersion"] == "tasks/1"
    assert found["digest"].startswith("sha256:")
    if out == "-":
        assert found.keys() == names | {"blob"}
        assert found["written"] is None
        assert json.loads(found["blob"])["schema"] == DHARMA
    else:
        assert found.keys() == names
        assert found["written"] == out
        assert json.loads(Path(out).read_bytes())["schema"] == DHARMA


@pytest.mark.parametrize("form", ["jws-detached", "jws-compact", "sshsig"])
def test_a_detached_signature_that_fills_nothing_says_so(place: Place, cli: Cli, form: str) -> None:
    found = cli("sign", place.task, "--format", form, "--json", code=1).json
    assert (found["error"], found["pointer"]) == ("schema_invalid", "/createdAt")
    assert "add it, or sign without --format" in found["hint"]
    task = json.loads(cli("sign", place.task).out) | {"createdAt": 7}
    del task["signature"]
    place.task.write_text(json.dumps(task))
    found = cli("sign", place.task, "--format", form, "--json", code=1).json
    assert "without --format" not in found["hint"]
    assert "fills nothing" in cli("sign", "--help").text


def test_a_form_that_receivers_have_to_allow_is_noted(place: Place, cli: Cli) -> None:
    told = cli("sign", place.task, "--format", "jws", "-o", "out").err
    assert "note: receivers need --allow-form jws\n" in told
    assert "allow-form" not in cli("sign", place.task, "--format", "embedded", "-o", "b").err
    assert "allow-form" not in cli("sign", place.plan, "--format", "jws", "-o", "c").err


def test_json_holds_the_blob_where_no_file_was_named(place: Place, cli: Cli) -> None:
    found = cli("sign", place.task, "--json").json
    assert found["written"] is None
    assert json.loads(found["blob"])["schema"] == DHARMA


def test_a_file_is_replaced_only_by_force(place: Place, cli: Cli) -> None:
    target = place / "sealed.json"
    target.write_text("precious")
    done = cli("sign", place.task, "-o", target, code=6)
    assert "file_exists" in done.err
    assert "--force" in done.err
    assert target.read_text() == "precious"
    cli("sign", place.task, "-o", target, "--force")
    assert json.loads(target.read_bytes())["schema"] == DHARMA


def test_a_link_is_never_written_through(place: Place, cli: Cli) -> None:
    (place / "target").write_text("precious")
    (place / "link").symlink_to("target")
    cli("sign", place.task, "-o", place / "link", "--force", code=6)
    assert (place / "target").read_text() == "precious"


@pytest.mark.parametrize("out", ["missing/sealed.json", "task.json/sealed.json", "", "ring"])
def test_a_file_that_cannot_be_written_is_exit_6(place: Place, cli: Cli, out: str) -> None:
    if out:
        assert cli("sign", place.task, "-o", out, "--json", code=6).json["error"] in (
            "file_unwritable",
            "file_missing",
        )
    else:
        cli("sign", place.task, "-o", out, code=6)


@pytest.mark.parametrize(("umask", "mode"), [(0o000, 0o644), (0o022, 0o644), (0o077, 0o600)])
def test_the_umask_holds_for_what_is_sent(
    place: Place, process: Cli, umask: int, mode: int
) -> None:
    process("sign", place.task, "-o", place / "out.json", umask=umask)
    assert stat.S_IMODE((place / "out.json").stat().st_mode) == mode


@pytest.mark.usefixtures("plain_user")
def test_a_read_only_folder_is_exit_6_and_stays_as_it_was(place: Place, cli: Cli) -> None:
    folder = place / "locked"
    folder.mkdir(mode=0o500)
    cli("sign", place.task, "-o", folder / "out.json", code=6)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("form", ["jws-detached", "jws-compact", "jws-unencoded"])
def test_a_detached_format_writes_the_signature_that_verify_takes(
    place: Place, cli: Cli, form: str
) -> None:
    cli("sign", place.plan, "--format", form, "-o", "plan.sig")
    trust = ["--trust", place.pins, "--signature", "plan.sig"]
    assert cli("verify", place.plan, *trust, "--json").json["form"] == "jws-detached"
    Path("plan.sig").write_bytes(Path("plan.sig").read_bytes() + b"\n")
    cli("verify", place.plan, *trust)


def test_a_detached_signature_does_not_cover_what_nobody_has(place: Place, cli: Cli) -> None:
    """What the document lacks is filled in beside a payload, never beside a file."""
    plan = load(place.plan)
    del plan["artefact"]["hash"]
    place.plan.write_text(json.dumps(plan))
    given = ["--artefact", f"papers/plan.md={PLAN_FILE}"]
    refused = cli("sign", place.plan, *given, "--format", "jws-detached", "--json", code=1).json
    assert (refused["reason"], refused["pointer"]) == ("schema_invalid", "/artefact/hash")
    cli("sign", place.plan, *given)


def test_what_the_receiver_would_refuse_is_refused_and_nothing_is_printed(
    place: Place, cli: Cli
) -> None:
    task = load(place.task) | {"surplus": 1}
    place.task.write_text(json.dumps(task))
    done = cli("sign", place.task, "-o", "out.json", code=1)
    assert done.out == b""
    assert done.err.startswith("refused: schema_invalid at /surplus")
    assert "hint: " in done.err
    assert not Path("out.json").exists()
    found = cli("sign", place.task, "--json", code=1).json
    assert (found["error"], found["reason"], found["verdict"]) == (
        "schema_invalid",
        "schema_invalid",
        "refused",
    )
    assert found["pointer"] == "/surplus"
    assert found["hint"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "malformed_json"),
        (b"{", "malformed_json"),
        (b"\xff", "not_utf8"),
        (b"\xef\xbb\xbf{}", "not_utf8"),
        (b'{"a":1,"a":2}', "duplicate_member"),
        (b'{"a":1e400}', "number_out_of_range"),
        (b'{"a":"\\ud800"}', "lone_surrogate"),
        (b"[" * 5000, "nesting_too_deep"),
    ],
    ids=str,
)
def test_malformed_json_is_exit_3_with_its_place(
    place: Place, cli: Cli, text: bytes, code: str
) -> None:
    found = cli("sign", "-", "--json", stdin=text, code=3).json
    assert found["error"] == code
    assert found["offset"] is not None
    assert f"error: {code}" in cli("sign", "-", stdin=text, code=3).err


@pytest.mark.parametrize("text", [b"null", b"1", b"[]", b"{}", b'"x"', b'{"schema":"x/v1"}'])
def test_a_document_of_no_known_kind_is_refused(place: Place, cli: Cli, text: bytes) -> None:
    assert cli("sign", "-", "--json", stdin=text, code=1).json["error"] == "unknown_profile"


def test_a_signed_document_is_not_signed_again(place: Place, cli: Cli) -> None:
    cli("sign", place.task, "-o", "once.json")
    assert cli("sign", "once.json", "--json", code=3).json["error"] == "already_signed"
    cli("sign", place.plan, "-o", "once.jws")
    assert cli("sign", "once.jws", "--json", code=3).json["error"] == "already_signed"


def test_several_keys_are_named_and_one_can_be_chosen(place: Place, cli: Cli) -> None:
    cli("keys", "new", "tasks/2", "--for", DHARMA, "--no-passphrase")
    found = cli("sign", place.task, "--json", code=2).json
    assert found["error"] == "several_signing_keys"
    assert "tasks/1" in found["detail"]
    assert "tasks/2" in found["detail"]
    chosen = cli("sign", place.task, "--key-version", "tasks/2", "--json").json
    assert chosen["signer"]["keyVersion"] == "tasks/2"


@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        (["--key-version", "none/1"], "unknown_key", 4),
        (["--key-version", "messages/1"], "key_wrong_profile", 4),
        (["--at", "2025-01-01T00:00:00Z"], "no_signing_key", 4),
        (["--keyring", "nowhere"], "keyring_missing", 4),
        (["--at", "yesterday"], "usage", 2),
        (["--expires-in", "soon"], "usage", 2),
        (["--expires-in", "0s"], "usage", 2),
        (["--expires-in", "-5m"], "usage", 2),
        (["--audience", ""], "usage", 2),
        (["--audience", "a"], "usage", 2),
        (["--format", "pgp"], "usage", 2),
        (["--profile", "no.such/v1"], "usage", 2),
        (["--profile", "no-such.toml"], "file_missing", 6),
        (["--artefact", "papers"], "usage", 2),
        (["--artefact", "=x"], "usage", 2),
        (["--artefact", "x="], "usage", 2),
        (["--artefact", "x=nowhere"], "file_missing", 6),
        (["--artefact", "x=pins.json", "--artefact", "x=pins.json"], "usage", 2),
        (["--context", "nowhere"], "file_missing", 6),
        (["--context", "pins.json"], "context_malformed", 3),
        (["--passphrase-file", "nowhere", "--key-version", "locked"], "unknown_key", 4),
        (["--nonsense"], "usage", 2),
    ],
    ids=str,
)
def test_a_fault_of_the_caller_has_its_exit_code(
    place: Place, cli: Cli, arguments: list[str], error: str, code: int
) -> None:
    found = cli("sign", place.task, *arguments, "--json", code=code).json
    assert found["error"] == error
    assert found["hint"]
    assert {"detail", "pointer"} <= found.keys()
    told = cli("sign", place.task, *arguments, code=code)
    assert told.out == b""
    assert told.err.startswith(f"error: {error}")
    assert "\nhint: " in told.err
    assert len(told.err.splitlines()) == 2


def test_the_longest_span_that_can_be_written_is_no_defect(place: Place, cli: Cli) -> None:
    found = cli("sign", place.plan, "--expires-in", "999999999d", "--json", code=1).json
    assert found["reason"] == "invalid_lifetime"


@pytest.mark.parametrize("name", ["nowhere.json", "", "ring", "task.json/x", "."])
def test_a_document_that_cannot_be_read_is_exit_6(place: Place, cli: Cli, name: str) -> None:
    assert cli("sign", name, "--json", code=6).json["error"].startswith("file_")


def test_an_artefact_that_the_message_does_not_name_is_noted_and_ignored(
    place: Place, cli: Cli
) -> None:
    given = ["--artefact", f"papers/plan.md={PLAN_FILE}", "--artefact", f"other={PLAN_FILE}"]
    done = cli("sign", place.plan, *given)
    assert done.err == "note: the message names no artefact other; it is ignored\n"


def test_an_artefact_is_split_at_the_first_equals_sign(place: Place, cli: Cli) -> None:
    Path("a=b").write_text("x")
    done = cli("sign", place.plan, "--artefact", "ref=a=b")
    assert "no artefact ref;" in done.err


def test_a_swapped_artefact_is_refused(place: Place, cli: Cli) -> None:
    given = ["--artefact", f"papers/plan.md={place.task}"]
    assert cli("sign", place.plan, *given, "--json", code=1).json["reason"] == "digest_mismatch"


def test_an_artefact_may_come_from_standard_input(place: Place, cli: Cli) -> None:
    given = ["--artefact", "papers/plan.md=-"]
    cli("sign", place.plan, *given, stdin=PLAN_FILE.read_bytes())
    cli("sign", place.plan, *given, stdin=b"other", code=1)
    assert cli("sign", "-", *given, "--json", code=2).json["error"] == "usage"


def test_without_filling_a_missing_member_is_refused(place: Place, cli: Cli) -> None:
    found = cli("sign", place.task, "--no-fill", "--json", code=1).json
    assert (found["reason"], found["pointer"]) == ("schema_invalid", "/createdAt")


def test_the_samples_sign_at_their_instant_with_their_context(place: Place, cli: Cli) -> None:
    options = ["--context", SAMPLES / "context.json", "--at", "2026-09-01T08:35:00Z"]
    for sample in sorted(SAMPLES.glob("aisa/*.json")):
        done = cli("sign", sample, *options, "--audience", ME)
        assert json.loads(done.out).keys() == {"payload", "protected", "signature"}
    for name in ("start", "continue"):
        cli("sign", SAMPLES / "orbiplex" / f"{name}.json", *options)


def test_a_published_key_signs_only_when_it_is_allowed_to(place: Place, cli: Cli) -> None:
    seed = load(VECTORS / "dharma" / "keys.json")["keys"]["server-root"]["privateSeedHex"]
    options = ["--keyring", "known", "--for", DHARMA, "--no-passphrase"]
    done = cli("keys", "import", "-", "kms/1", *options, stdin=seed.encode())
    assert "anyone can read" in done.err
    ring = ["--keyring", "known"]
    assert cli("sign", place.task, *ring, "--json", code=4).json["error"] == "published_key"
    cli("sign", place.task, *ring, "--allow-published-keys", "-o", "out.json")
    cli("keys", "pin", *ring, "-o", "known.json")
    trust = ["--trust", "known.json"]
    found = cli("verify", "out.json", *trust, "--json", code=1).json
    assert found["reason"] == "published_key"
    cli("verify", "out.json", *trust, "--allow-published-keys")


def test_a_custom_profile_signs_what_it_describes(place: Place, cli: Cli) -> None:
    Path("p").mkdir()
    Path("p/my.toml").write_text(
        'id = "my.messages/v1"\nschema = "my.schema.json"\nsignature = "/sig"\n'
        'key_version = "/kid"\nreplay_ids = ["/n"]\nissued = "/iat"\nexpires = "/exp"\n'
        'discriminator = { pointer = "/kind", constant = "mine" }\n'
    )
    Path("p/my.schema.json").write_text('{"required": ["n"]}')
    cli("keys", "new", "mine/1", "--for", "p/my.toml", "--no-passphrase")
    Path("doc.json").write_text('{"kind":"mine","n":1}')
    found = cli("sign", "doc.json", "--profile", "p/my.toml", "-o", "out.json", "--json").json
    assert found["profile"] == "my.messages/v1"
    cli("keys", "pin", "-o", "mine.json")
    accepted = cli("verify", "out.json", "--profile", "p/my.toml", "--trust", "mine.json").text
    assert "my.messages/v1, embedded" in accepted
    Path("p/my.schema.json").unlink()
    missing = cli("sign", "doc.json", "--profile", "p/my.toml", "--json", code=6).json
    assert missing["error"] == "file_missing"
    assert found["profile"] != AISA


@pytest.mark.parametrize("name", ["-x.json", "a b.json", "ä.json", "new\nline.json", "--json"])
def test_odd_file_names_are_file_names(place: Place, cli: Cli, name: str) -> None:
    os.rename(place.task, place / name)
    done = cli("sign", "-o", f"{name}.out", "--", name)
    assert json.loads((place / f"{name}.out").read_bytes())["schema"] == DHARMA
    assert len(done.err.splitlines()) == 1

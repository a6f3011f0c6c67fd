"""`keys rotate`, `keys revoke` and the timeline: what they do, say, and leave alone."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from cli_support import AISA, DHARMA, ME, Cli, Place

PLAIN = "--no-passphrase"


def test_a_rotation_says_what_happens_next_and_when(place: Place, cli: Cli) -> None:
    done = cli("keys", "rotate", "tasks", PLAIN, "--json").json
    assert (done["changed"], done["phase"], done["dryRun"]) == (True, "lead", False)
    assert done["new"]["keyVersion"] == "tasks/2"
    assert done["new"]["signFrom"] == done["old"]["signUntil"] == done["switchAt"]
    assert done["old"]["acceptUntil"] == done["overlapEndsAt"]
    events = [(each["event"], each["keyVersion"]) for each in done["next"]]
    assert events == [
        ("accepted", "tasks/2"),
        ("signs", "tasks/2"),
        ("signs_no_more", "tasks/1"),
        ("accepted_no_more", "tasks/1"),
        ("signs_no_more", "tasks/2"),
    ]
    again = cli("keys", "rotate", "tasks", "--json").json
    assert again["changed"] is False
    assert again["new"] == done["new"]
    assert again["old"] == done["old"]


def test_a_rotation_in_words_fits_the_terminal(place: Place, cli: Cli) -> None:
    first = cli("keys", "rotate", "tasks", PLAIN)
    assert "tasks/1 -> tasks/2" in first.text
    assert "keys pin" in first.err
    again = cli("keys", "rotate", "tasks/1")
    assert "as it was" in again.text
    assert again.err == ""
    assert max(map(len, first.text.splitlines())) <= 80


def test_a_dry_run_needs_no_passphrase_and_changes_nothing(place: Place, cli: Cli) -> None:
    before = (place.ring / "keyring.json").read_bytes()
    told = cli("keys", "rotate", "tasks", "--dry-run", "--json").json
    assert (told["dryRun"], told["changed"]) == (True, True)
    assert told["new"].keys() & {"thumbprint", "publicKey"} == set()
    assert (place.ring / "keyring.json").read_bytes() == before


def test_a_rotation_without_a_passphrase_is_told_at_once(place: Place, cli: Cli) -> None:
    assert "passphrase" in cli("keys", "rotate", "tasks", code=2).err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nothing"], 4),
        (["tasks", "--lead", "soon"], 2),
        (["tasks", "--lead", "-1h"], 2),
        (["tasks", "--overlap", "999999999d"], 2),
        (["tasks", "--lag", "x", "--rehearse", "."], 2),
        (["tasks", "--receivers", "nowhere"], 6),
        (["tasks", "--current", "nowhere"], 6),
        (["tasks", "--rehearse", "nowhere"], 6),
        ([], 2),
    ],
)
def test_a_rotation_that_is_not_understood_changes_nothing(
    arguments: list[str], code: int, place: Place, cli: Cli
) -> None:
    before = (place.ring / "keyring.json").read_bytes()
    found = cli("keys", "rotate", *arguments, "--json", code=code).json
    assert found["hint"]
    assert (place.ring / "keyring.json").read_bytes() == before


def test_what_was_signed_before_during_and_after_verifies(place: Place, cli: Cli) -> None:
    """Sender and receiver over one publication: the old key, then the new one at once."""
    cli("sign", place.plan, "--audience", ME, "-o", "before.json")
    switch = cli("keys", "rotate", "messages", "--lead", "0s", PLAIN, "--json").json["switchAt"]
    cli("keys", "pin", "--force", "-o", place.pins)
    sign = ["sign", place.plan, "--audience", ME, "--at", switch, "-o", "after.json", "--json"]
    assert cli(*sign).json["signer"]["keyVersion"] == "messages/2"
    for name in ("before.json", "after.json"):
        cli("verify", name, "--trust", place.pins, "--at", switch)


def test_a_revoked_key_is_refused_at_the_next_verification(place: Place, cli: Cli) -> None:
    cli("sign", place.plan, "--audience", ME, "-o", "sealed.json")
    told = cli("keys", "revoke", "messages/1")
    assert "keys rotate" in told.err
    cli("verify", "sealed.json", "--trust", place.pins)
    cli("keys", "pin", "--force", "-o", place.pins)
    found = cli("verify", "sealed.json", "--trust", place.pins, "--json", code=1).json
    assert found["reason"] == "key_revoked"
    assert cli("sign", place.plan, "--json", code=4).json["error"] == "no_signing_key"


def test_a_revocation_is_never_taken_back(place: Place, cli: Cli) -> None:
    early, late = "2026-02-01T00:00:00Z", "2999-01-01T00:00:00Z"
    assert cli("keys", "revoke", "tasks/1", "--at", early, "--json").json["revokedAt"] == early
    again = cli("keys", "revoke", "tasks/1", "--at", late)
    assert early in again.text
    assert "that stands" in again.err
    assert cli("keys", "show", "tasks/1", "--json").json["state"] == "revoked"
    assert cli("keys", "revoke", "tasks/9", "--json", code=4).json["error"] == "unknown_key"
    assert cli("keys", "revoke", "tasks/1", "--at", "now", code=2).err


def test_a_lead_waits_for_receivers_that_are_behind(place: Place, cli: Cli) -> None:
    cli("keys", "rotate", "tasks", PLAIN)
    folder = place / "receivers"
    folder.mkdir()
    for name, generation in (("a", 4), ("b", 3)):
        seen = {"issuer": "desk", "generation": generation, "seenAt": "2999-01-01T00:00:00Z"}
        (folder / f"{name}.json").write_text(json.dumps(seen))
    hurry = ["keys", "rotate", "tasks", "--lead", "1h", "--receivers", folder]
    refused = cli(*hurry, "--json", code=4).json
    assert refused["error"] == "receivers_behind"
    assert "b.json" in refused["detail"]
    assert "a.json" not in refused["detail"]
    cli("keys", "rotate", "tasks", "--receivers", folder)
    assert cli(*hurry, "--force", "--json").json["changed"] is True
    (folder / "c.json").write_text("{}")
    assert cli(*hurry, "--json", code=3).json["error"] == "trust_malformed"


def test_the_store_of_a_receiver_reports_what_a_rotation_asks(place: Place, cli: Cli) -> None:
    """From `trust update --report` to `keys rotate --receivers`, with the keyset that counts."""
    past = ["--not-before", "2026-01-01T00:00:00Z", PLAIN]
    root = cli("keys", "new", "root/1", "--for", "taskseal.keyset/v1", *past, "--json").json
    cli("keyset", "propose", "-o", "one.json")
    cli("keyset", "sign", "one.json")
    (place / "seen").mkdir()
    pin = f"root/1=sha256:{root['thumbprint']}"
    store = ["--store", "store", "--report", "seen"]
    cli("trust", "add", "one.json", "--pin", pin, *store)
    (report,) = (place / "seen").iterdir()
    assert json.loads(report.read_bytes()).keys() == {"issuer", "generation", "seenAt"}
    cli("keys", "rotate", "tasks", PLAIN)
    cli("keyset", "propose", "--current", "one.json", "-o", "two.json")
    cli("keyset", "sign", "two.json", "--current", "one.json")
    hurry = ["keys", "rotate", "tasks", "--lead", "1h", "--receivers", "seen"]
    for current in ([], ["--current", "two.json"], ["--current", "one.json"]):
        assert cli(*hurry, *current, "--json", code=4).json["error"] == "receivers_behind"
    cli("trust", "update", "two.json", *store)
    assert json.loads(report.read_bytes())["generation"] == 2
    assert cli(*hurry, "--current", "two.json", "--json").json["changed"] is True


def corpus(place: Place, cli: Cli) -> Path:
    folder = place / "live"
    (folder / "below").mkdir(parents=True)
    for name, span in (("short.json", "1h"), ("below/long.json", "20h")):
        cli("sign", place.plan, "--expires-in", span, "-o", folder / name)
    cli("sign", place.plan, "--format", "jws-detached", "-o", folder / "pair.json.sig")
    (folder / "pair.json").write_bytes(place.plan.read_bytes())
    return folder


def test_a_rehearsal_names_what_would_be_lost_and_changes_nothing(place: Place, cli: Cli) -> None:
    folder = corpus(place, cli)
    before = (place.ring / "keyring.json").read_bytes()
    safe = cli("keys", "rotate", "messages", "--rehearse", folder, "--json").json["rehearsal"]
    assert (safe["live"], safe["byOldKey"], safe["lost"], safe["notLive"]) == (3, 3, [], [])
    risky = ["keys", "rotate", "messages", "--lead", "2h", "--overlap", "1h", "--rehearse", folder]
    found = cli(*risky, "--lag", "10m", "--json", code=1).json
    assert [each["message"] for each in found["rehearsal"]["lost"]] == ["below/long.json"]
    assert found["rehearsal"]["lost"][0]["at"] == found["overlapEndsAt"]
    text = cli(*risky, code=1).text
    assert "below/long.json: key_expired" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert (place.ring / "keyring.json").read_bytes() == before


def test_a_rehearsal_takes_lines_one_document_or_a_folder(place: Place, cli: Cli) -> None:
    folder = corpus(place, cli)
    blobs = [(folder / name).read_bytes() for name in ("short.json", "below/long.json")]
    (place / "live.jsonl").write_bytes(b"\n".join(blobs) + b"\n\n")
    pretty = json.dumps(json.loads(blobs[0]), indent=1)
    (place / "one.json").write_text(pretty)
    rehearse = ["keys", "rotate", "messages", "--json", "--rehearse"]
    assert cli(*rehearse, "live.jsonl").json["rehearsal"]["live"] == 2
    assert cli(*rehearse, "one.json").json["rehearsal"]["live"] == 1
    (place / "live.jsonl").write_bytes(blobs[0] + b"\nnoise\n")
    found = cli(*rehearse, "live.jsonl").json["rehearsal"]
    assert [each["message"] for each in found["notLive"]] == ["live.jsonl:2"]
    (place / "empty").mkdir()
    assert cli(*rehearse, "empty", code=2).json["error"] == "usage"


@pytest.fixture
def busy(place: Place, cli: Cli) -> Place:
    """Keys in every stage, one with a long name that XML and terminals would obey."""
    past = ["--not-before", "2026-03-01T00:00:00Z", PLAIN]
    cli("keys", "new", "a & b <c> \"d\" 'e' of a very long name/1", "--for", AISA, *past)
    cli("keys", "new", "ключ/1", "--for", DHARMA, *past)
    cli("keys", "rotate", "tasks", PLAIN)
    cli("keys", "rotate", "messages", "--lead", "0s", PLAIN)
    cli("keys", "revoke", "turns/1", "--at", "2026-04-01T00:00:00Z")
    return place


def test_the_timeline_fits_80_columns_and_shows_every_stage(busy: Place, cli: Cli) -> None:
    text = cli("keys", "list", "--timeline").text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert text.isprintable() or set(text) - set("\n") == {c for c in text if c.isprintable()}
    bars = {
        line.split()[0]: line for line in text.splitlines() if line.startswith(("tasks", "turns"))
    }
    assert set(bars["tasks/1"].replace("tasks/1", "")) == set(" =|~")
    assert set(bars["tasks/2"].replace("tasks/2", "")) == set(" -=|~")
    assert "x" in bars["turns/1"]
    assert len({line.index("|") for line in bars.values()}) == 1, "now is one column"
    assert "tasks/1 signs no more" in text


def test_the_timeline_as_json_has_spans_without_gaps(busy: Place, cli: Cli) -> None:
    found = cli("keys", "list", "--timeline", "--json").json
    for key in found["keys"]:
        spans = key["spans"]
        assert spans[0]["from"] == key["notBefore"]
        assert spans[-1]["until"] == key["acceptUntil"]
        assert all(a["until"] == b["from"] for a, b in pairwise(spans))
    assert any("now" in each["events"] for each in found["timeline"])


def test_the_picture_is_valid_xml_and_tells_its_times(busy: Place, cli: Cli) -> None:
    cli("keys", "list", "--svg", "keys.svg")
    svg = "{http://www.w3.org/2000/svg}"
    root = ET.fromstring((busy / "keys.svg").read_text())
    assert root.tag == f"{svg}svg"
    titles = [each.text or "" for each in root.iter(f"{svg}title")]
    assert any("tasks/2: accepted, does not sign yet, " in title for title in titles)
    assert any("a & b <c>" in title for title in titles)
    width = float(root.get("width", "0"))
    for rect in root.iter(f"{svg}rect"):
        assert float(rect.get("x", "0")) >= 0
        assert float(rect.get("x", "0")) + float(rect.get("width", "0")) <= width
    for stage in ("waiting", "signing", "overlap", "revoked"):
        assert len(root.findall(f".//{svg}rect[@class='{stage}']")) >= 2, stage
    assert "prefers-color-scheme: dark" in (busy / "keys.svg").read_text()


def test_a_picture_is_not_replaced_unless_that_is_said(place: Place, cli: Cli) -> None:
    (place / "keys.svg").write_text("mine")
    assert cli("keys", "list", "--svg", "keys.svg", "--json", code=6).json["error"] == "file_exists"
    assert (place / "keys.svg").read_text() == "mine"
    assert cli("keys", "list", "--svg", "keys.svg", "--force", "--json").json["written"]
    assert cli("keys", "list", "--svg", "-").text.startswith("<svg ")


def test_an_empty_keyring_has_an_empty_timeline(tmp_path: Path, cli: Cli) -> None:
    from taskseal import Keyring

    Keyring.create(tmp_path / "ring")
    assert "no keys yet" in cli("keys", "list", "--timeline", "--keyring", tmp_path / "ring").text
    cli("keys", "list", "--svg", tmp_path / "k.svg", "--keyring", tmp_path / "ring")
    ET.parse(tmp_path / "k.svg")

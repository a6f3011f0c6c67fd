"""`profiles`, `errors` and `demo`: what there is, and the proof that it works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_support import Cli, run_on_terminal

from taskseal import BUILT_IN, REASONS, Reason, Refused
from taskseal.cli import demo


def test_the_errors_are_listed_with_cause_remedy_and_codes(cli: Cli) -> None:
    text = cli("errors").text
    assert max(map(len, text.splitlines())) <= 80
    listed = [line.split()[0] for line in text.splitlines() if not line.startswith(" ")]
    assert listed == list(REASONS)
    entry = REASONS[Reason.KEY_REVOKED]
    shown = f"key_revoked  exit 1, HTTP 401\n  why  {entry.text}\n  do   {entry.remedy}\n"
    assert shown in text


def test_the_errors_as_json_hold_the_whole_table(cli: Cli) -> None:
    rows = cli("errors", "--json").json["reasons"]
    assert [row["reason"] for row in rows] == list(REASONS)
    assert rows[0].keys() == {"reason", "cause", "remedy", "exit", "http", "retryable", "fault"}


def test_one_error_is_told_in_full(cli: Cli) -> None:
    text = cli("errors", "key_retired").text
    entry = REASONS[Reason.KEY_RETIRED]
    assert entry.remedy in text
    assert cli("errors", "key_retired", "--json").json["exit"] == entry.exit_code
    found = cli("errors", "key_retird", "--json", code=2).json
    assert found["error"] == "usage"
    assert "key_retired" in found["hint"]
    assert "errors" in cli("errors", "zzz", code=2).err


def test_the_profiles_are_listed(cli: Cli) -> None:
    text = cli("profiles", "list").text
    assert max(map(len, text.splitlines())) <= 80
    for profile in BUILT_IN:
        assert profile in text
    assert [row["id"] for row in cli("profiles", "list", "--json").json["profiles"]] == list(
        BUILT_IN
    )


@pytest.mark.parametrize("profile", BUILT_IN)
def test_a_profile_shows_where_things_stand(cli: Cli, profile: str) -> None:
    text = cli("profiles", "show", profile).text
    assert text.startswith(f"{profile}\n")
    assert max(map(len, text.splitlines())) <= 80
    found = cli("profiles", "show", profile, "--json").json
    assert found["id"] == profile
    assert found["typ"].endswith("+jws")
    assert found["sizeLimit"] == BUILT_IN[profile].size_limit
    assert found["schema"] is True


def test_a_profile_shows_what_it_binds_and_whether_it_has_a_schema(
    cli: Cli, tmp_path: Path
) -> None:
    digest = '[[digests]]\npointer = "/h"\ncodec = "hex"\nmaterial = "a.md"\n'
    path = tmp_path / "my.toml"
    path.write_text(
        f'id = "my.x/v1"\ndetached = true\nreplay_ids = ["/id"]\nscope = "/s"\n{digest}'
    )
    told = " ".join(cli("profiles", "check", path).text.split())
    for words in ("digests /h = hex of a.md (bytes)", "schema no", "replay ids /id", "scope /s"):
        assert words in told
    found = cli("profiles", "show", path, "--json").json
    assert found["digests"] == [
        {"pointer": "/h", "codec": "hex", "material": "a.md", "kind": "bytes"}
    ]
    assert found["schema"] is False


def test_a_profile_of_ones_own_is_checked_and_shown(cli: Cli, vectors: Path) -> None:
    path = vectors / "neutral.profile.toml"
    text = cli("profiles", "check", path).text
    assert text.startswith("cases.neutral/v1\n")
    assert "--profile only" in text
    found = cli("profiles", "check", path, "--json").json
    assert (found["keyVersion"], found["pastSkew"], found["detected"]) == (
        ["/kid", "/key_version"],
        "1m",
        False,
    )
    assert cli("profiles", "show", path, "--json").json == found


DETACHED = b'detached = true\nreplay = "none"\n'


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        (b"", "/id"),
        (b"id", ""),
        (b"\xff", ""),
        (b'id = "x"\n' + DETACHED, "/id"),
        (b'id = "dharma.task/v1"\n' + DETACHED, "/id"),
        (b'id = "my.x/v1"\nsurplus = 1', "/surplus"),
        (b'id = "my.x/v1"\nsignature = "s"', "/signature"),
        (b'id = "my.x/v1"\ndetached = true\nreplay = "some"', "/replay"),
    ],
    ids=str,
)
def test_a_profile_that_cannot_be_used_is_exit_3_with_its_place(
    cli: Cli, tmp_path: Path, text: bytes, pointer: str
) -> None:
    path = tmp_path / "my.toml"
    path.write_bytes(text)
    found = cli("profiles", "check", path, "--json", code=3).json
    assert found["error"] == "profile_malformed"
    assert found["pointer"] == pointer


def test_a_profile_that_is_not_there_is_exit_6_or_usage(cli: Cli) -> None:
    assert cli("profiles", "check", "missing", "--json", code=6).json["error"] == "file_missing"
    assert cli("profiles", "show", "no.such/v1", "--json", code=2).json["error"] == "usage"


REFUSALS = {
    "a tampered body": "bad_signature",
    "a swapped artefact": "digest_mismatch",
    "an expired envelope": "expired",
    "a wrong key": "bad_signature",
    "a key for another profile": "key_wrong_profile",
    "a replay": "replayed",
}


def test_the_demo_shows_every_system_and_every_refusal(cli: Cli) -> None:
    found = cli("demo", "--json").json
    assert found["ok"] is True
    steps = {step["what"]: step for step in found["steps"]}
    assert all(step["ok"] and step["got"] == step["expected"] for step in steps.values())
    for profile in (BUILT_IN[name] for name in demo.KEYS):
        for what, word in (
            ("signed", "signed"),
            ("verified", "accepted"),
            ("accepted", "accepted"),
        ):
            assert steps[f"{profile.title} {what}"]["got"] == word
    assert {what: steps[what]["got"] for what in REFUSALS} == REFUSALS


def test_the_demo_is_a_table_that_fits_the_screen(cli: Cli) -> None:
    text = cli("demo").text
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[-1] == "15 of 15 as expected"
    columns = {line.rindex("  ") for line in text.splitlines() if line.endswith("  yes")}
    assert len(columns) == 1
    code, shown = run_on_terminal(["demo"], env={"NO_COLOR": "1"})
    assert code == 0
    assert shown.replace("\r\n", "\n") == text


def test_the_demo_leaves_nothing_behind(
    process: Cli, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    process("demo")
    assert os.listdir(tmp_path) == ["tmp"]
    assert os.listdir(tmp_path / "tmp") == []
    assert os.listdir(home) == []


def test_the_demo_fails_when_a_verdict_is_another_one(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lenient(stage: demo.Stage) -> object:
        return Refused(Reason.EXPIRED)

    monkeypatch.setattr(demo.Stage, "_check_forged", lenient)
    text = cli("demo", code=1).text
    assert "a wrong key                     bad_signature      expired            NO" in text
    assert text.splitlines()[-1] == "14 of 15 as expected"
    assert cli("demo", "--json", code=1).json["ok"] is False


def test_the_demo_goes_on_when_a_step_breaks(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "KEYS", {**demo.KEYS, demo.AISA: "tasks/1"})
    steps = cli("demo", "--json", code=4).json
    assert steps["error"] == "key_version_taken"


def test_an_installation_without_samples_says_so(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(demo, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    assert cli("demo", "--json", code=6).json["error"] == "file_missing"

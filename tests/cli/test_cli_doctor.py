"""`doctor` says in words what a configuration allows; `init` writes one to begin with."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from cli_support import AISA, DHARMA, ME, Cli, Place, moment

from taskseal import load_config, open_ledger
from taskseal.cli.diagnosis import diagnose
from taskseal.ledger import Claim, ReplayId
from taskseal.validity import DAY, system_clock

CONFIG = f"""
[receiver]
audience = "{ME}"
ledger = "sqlite:accepted.db"
keyring = "ring"
sign_with = "receiver/1"

[[trust]]
pins = "pins.json"
profiles = ["{DHARMA}", "{AISA}"]
bind = {{ "/organizationId" = ["org_1", "org_2"] }}

[policy]
past_skew = "30s"

[policy."{DHARMA}"]
forms = ["embedded"]
max_lifetime = "1h"
require_artefacts = true
require_receipt = true
ceiling = "ceiling.json"

[policy."{AISA}"]
allow_truncated = true
"""


@pytest.fixture
def config(place: Place, cli: Cli) -> Path:
    cli("keys", "new", "receiver/1", "--for", "taskseal.acceptance/v1", "--no-passphrase")
    (place / "ceiling.json").write_text('{"properties": {}}')
    path = place / "taskseal.toml"
    path.write_text(CONFIG)
    return path


def doctor(cli: Cli, config: Path, code: int = 0) -> Any:
    return cli("doctor", "--config", config, "--json", code=code).json


def faults(cli: Cli, config: Path, code: int) -> list[str]:
    found = doctor(cli, config, code)
    assert found["sound"] is False
    return [each["error"] for each in found["faults"]]


def test_a_sound_configuration_is_told_in_words(cli: Cli, place: Place, config: Path) -> None:
    text = cli("doctor", "--config", config).text
    told = " ".join(text.split())
    assert text.startswith(f"sound  {config}\n")
    for words in (
        f"audience {ME}",
        "organization not compared",
        "tasks/1 of desk for dharma.task/v1 now counts",
        "says only /organizationId = org_1 or org_2",
        "takes dharma.task/v1 comes as embedded lives 1h at most clock at most 5m ahead",
        "taken until 30s after its end",
        "needs every artefact that is bound a decision to release it",
        "truncated taken",
        "state not there yet",
        "answers signed with receiver/1, in the clear",
        "7d beyond a message's end",
    ):
        assert words in told, words
    assert str(place / "ceiling.json") in text
    assert all(len(line) <= 80 or "/" in line for line in text.splitlines())
    assert not (place / "accepted.db").exists(), "nothing is changed"


def test_the_same_as_json(cli: Cli, place: Place, config: Path) -> None:
    found = doctor(cli, config)
    assert found["sound"] is True
    assert found["config"] == str(config)
    assert found["receiver"]["audience"] == ME
    assert found["sources"] == [str(place.pins)]
    keys = {row["keyVersion"]: row for row in found["trust"]}
    assert keys["tasks/1"]["stands"] is True
    assert keys["tasks/1"]["profiles"] == [DHARMA]
    assert keys["turns/1"]["reason"] == "key_wrong_profile"
    rules = {row["profile"]: row for row in found["policy"]}
    assert rules.keys() == {DHARMA, AISA}
    assert rules[DHARMA]["forms"] == ["embedded"]
    assert rules[DHARMA]["maxLifetime"] == "1h"
    assert rules[DHARMA]["ceiling"] == str(place / "ceiling.json")
    assert rules[AISA]["requireReceipt"] is False
    assert found["ledger"] == {
        "url": f"sqlite:{place / 'accepted.db'}",
        "state": "not there yet",
        "mode": None,
    }
    assert found["acceptances"] == {
        "signedWith": "receiver/1",
        "keyring": str(place.ring),
        "sealed": False,
        "keptFor": "7d",
    }
    assert found["faults"] == found["notes"] == []


def test_a_ledger_that_is_there_is_reached(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    config.write_text(CONFIG.replace("bind =", "# bind ="))
    cli("accept", sealed, "--config", config)
    found = doctor(cli, config)["ledger"]
    assert (found["state"], found["mode"]) == ("reachable", "0600")


def test_a_ledger_that_others_may_write_is_a_fault(
    cli: Cli, place: Place, sealed: Path, config: Path
) -> None:
    config.write_text(CONFIG.replace("bind =", "# bind ="))
    cli("accept", sealed, "--config", config)
    (place / "accepted.db").chmod(0o666)
    assert faults(cli, config, 6) == ["config_unsafe"]


@pytest.mark.parametrize("url", ["sqlite:none/l.db", "sqlite:pins.json", "sqlite:ring"])
def test_a_ledger_that_cannot_be_reached_is_a_fault(cli: Cli, config: Path, url: str) -> None:
    config.write_text(CONFIG.replace("sqlite:accepted.db", url))
    assert faults(cli, config, 5)[0] == "ledger_unavailable"


def test_a_ledger_in_memory_is_pointed_out(cli: Cli, config: Path) -> None:
    config.write_text(CONFIG.replace("sqlite:accepted.db", "memory:"))
    (note,) = doctor(cli, config)["notes"]
    assert "forgotten" in note


def test_who_trusts_nobody_is_told_so(cli: Cli, config: Path) -> None:
    config.write_text("[receiver]\nany = true\nledger = 'memory:'\n")
    ended = cli("doctor", "--config", config, code=2)
    assert ended.text.startswith("not sound")
    told = " ".join(ended.text.split())
    assert "is anyone: what a message says of its receiver is not compared" in told
    assert "trusts nobody" in told
    assert "add a [[trust]] table" in told
    assert "answers with no signed acceptance" in told


def test_keys_of_which_none_stands_are_a_fault(cli: Cli, place: Place, config: Path) -> None:
    pins = json.loads(place.pins.read_bytes())
    for key in pins["keys"]:
        key["revokedAt"] = moment(-60)
    place.pins.write_text(json.dumps(pins))
    assert faults(cli, config, 2) == ["trust_missing"]
    assert "does not count: key_revoked" in cli("doctor", "--config", config, code=2).text


def test_a_weak_key_does_not_stop_the_doctor(cli: Cli, place: Place, config: Path) -> None:
    pins = json.loads(place.pins.read_bytes())
    pins["keys"][0]["publicKey"]["x"] = "A" * 43
    place.pins.write_text(json.dumps(pins))
    found = doctor(cli, config)
    assert found["trust"][0]["reason"] == "weak_key"
    assert any("unusable" in note for note in found["notes"])


def test_keys_that_end_soon_are_pointed_out_and_retired_ones_shown(
    cli: Cli, place: Place, config: Path
) -> None:
    pins = json.loads(place.pins.read_bytes())
    pins["keys"][0] |= {"signUntil": moment(-60), "acceptUntil": moment(5 * DAY // 10**9)}
    place.pins.write_text(json.dumps(pins))
    found = doctor(cli, config)
    assert found["trust"][0]["retired"] is True
    assert found["notes"] == ["tasks/1 of desk ends within 14 days"]
    assert "before it retired" in cli("doctor", "--config", config).text


def test_published_keys_are_pointed_out(cli: Cli, config: Path) -> None:
    config.write_text(CONFIG.replace("[policy]\n", "[policy]\nallow_published_keys = true\n"))
    assert any("anyone may sign" in note for note in doctor(cli, config)["notes"])


def test_a_policy_for_what_nobody_may_sign_is_pointed_out(cli: Cli, config: Path) -> None:
    config.write_text(
        CONFIG.replace(f'profiles = ["{DHARMA}", "{AISA}"]', f'profiles = ["{AISA}"]')
    )
    (note,) = doctor(cli, config)["notes"]
    assert DHARMA in note


@pytest.mark.parametrize(
    ("version", "error"), [("none/1", "unknown_key"), ("tasks/1", "key_wrong_profile")]
)
def test_a_key_that_cannot_sign_acceptances_is_a_fault(
    cli: Cli, config: Path, version: str, error: str
) -> None:
    config.write_text(CONFIG.replace("receiver/1", version))
    assert faults(cli, config, code_of_first(config)) == [error]


def code_of_first(config: Path) -> int:
    """The exit code of the first fault, by the table of reasons."""
    return diagnose(load_config(config), system_clock()).faults[0].exit_code


def test_a_keyring_that_is_not_there_is_a_fault(cli: Cli, config: Path) -> None:
    config.write_text(CONFIG.replace('keyring = "ring"', 'keyring = "none"'))
    assert faults(cli, config, 4) == ["keyring_missing"]


@pytest.mark.parametrize("which", ["folder", "private", "key"])
def test_a_keyring_that_others_may_look_into_is_a_fault(
    cli: Cli, place: Place, config: Path, which: str
) -> None:
    if which == "folder":
        place.ring.chmod(0o777)
    elif which == "private":
        (place.ring / "private").chmod(0o777)
    else:
        for key in (place.ring / "private").glob("*.key"):
            key.chmod(0o644)
    named = faults(cli, config, 6)
    assert set(named) == {"config_unsafe"}
    assert "chmod go-rwx" in cli("doctor", "--config", config, code=6).text


def test_a_clock_that_is_behind_is_pointed_out(cli: Cli, config: Path) -> None:
    ahead = config.stat().st_mtime + 4000
    os.utime(config, (ahead, ahead))
    found = doctor(cli, config)
    assert found["clock"]["behind"] is True
    assert "the clock is behind" in found["notes"][0]


def test_a_clock_that_was_ahead_once_is_pointed_out(cli: Cli, place: Place, config: Path) -> None:
    later = system_clock() + DAY
    claim = Claim(AISA, (ReplayId("scope", "value"),), bytes(32), later, later)
    with open_ledger(f"sqlite:{place / 'accepted.db'}") as ledger:
        ledger.claim(claim, later - 1)
        assert ledger.purge(later + 1) == 1
    (note,) = doctor(cli, config)["notes"]
    assert "the clock was ahead once" in note
    assert AISA in note


def test_without_a_configuration_the_doctor_says_where_to_begin(cli: Cli) -> None:
    found = cli("doctor", "--json", code=6).json
    assert found["error"] == "file_missing"
    assert "taskseal init" in found["hint"]


def test_init_writes_the_users_own_configuration_for_its_owner_alone(cli: Cli, home: Path) -> None:
    path = home / ".config" / "taskseal" / "taskseal.toml"
    assert cli("init", "--json").json == {"written": str(path), "keyring": None}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert cli("doctor", "--json", code=2).json["faults"][0]["error"] == "trust_missing"


def test_init_overwrites_nothing_without_force(cli: Cli, place: Place) -> None:
    path = place / "mine.toml"
    path.write_text("[receiver]\n")
    cli("init", "--config", path, code=6)
    assert path.read_text() == "[receiver]\n"
    cli("init", "--config", path, "--force")
    assert path.read_text() != "[receiver]\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_init_makes_a_keyring_when_asked(cli: Cli, place: Place) -> None:
    text = cli("init", "--config", "mine.toml", "--keyring", "fresh").text
    assert text.endswith("\ntaskseal doctor --config mine.toml\n")
    assert "made  the keyring fresh\n" in text
    assert 'keyring = "fresh"\n' in (place / "mine.toml").read_text()
    assert load_config(place / "mine.toml").keyring == place / "fresh"
    assert (place / "fresh" / "keyring.json").is_file()
    again = cli("init", "--config", "mine.toml", "--keyring", "fresh", "--force").text
    assert "names  the keyring fresh\n" in again


def test_a_keyring_elsewhere_is_named_in_full(cli: Cli, place: Place, tmp_path: Path) -> None:
    cli("init", "--config", "a b.toml", "--keyring", tmp_path / "away")
    assert load_config(place / "a b.toml").keyring == tmp_path / "away"
    again = cli("init", "--config", "a b.toml", "--force").text
    assert again.endswith("taskseal doctor --config 'a b.toml'\n")


def test_of_a_fresh_configuration_the_doctor_says_what_is_missing(cli: Cli, place: Place) -> None:
    cli("init", "--config", "mine.toml")
    told = " ".join(cli("doctor", "--config", "mine.toml", code=2).text.split())
    assert "has no [[trust]] table, so it trusts nobody" in told
    assert "name an audience, organization, workspace or device in [receiver]" in told


def test_a_keyring_with_an_odd_name_is_written_as_toml_reads_it(cli: Cli, place: Place) -> None:
    odd = place / 'a"b\\c\x7f\u0001é'
    cli("init", "--config", place / "mine.toml", "--keyring", odd)
    assert load_config(place / "mine.toml").keyring == odd


def test_every_member_of_the_template_may_be_put_in_force(place: Place, cli: Cli) -> None:
    """The template explains what there is: each of its lines is one that the reader knows."""
    cli("init", "--config", place / "mine.toml")
    lines = (place / "mine.toml").read_text().splitlines()
    left = ("any =", "store =", "pin =", "min_generation =")
    told = [
        line.removeprefix("# ")
        for line in lines
        if line.startswith("# ")
        and (" = " in line or line.startswith("# ["))
        and not line.removeprefix("# ").startswith(left)
    ]
    (place / "my.profile.toml").write_text('id = "a.b/v1"\ndetached = true\nreplay = "none"\n')
    (place / "ceiling.json").write_text("{}")
    text = "[receiver]\n" + "\n".join(line for line in told if "taskseal doctor" not in line)
    (place / "whole.toml").write_text(text)
    found = load_config(place / "whole.toml")
    assert found.identity is not None and found.identity.aisa is not None
    assert found.policy.per_profile[DHARMA].ceiling is not None
    assert "a.b/v1" in found.profiles
    assert found.sign_with == "receiver/1"

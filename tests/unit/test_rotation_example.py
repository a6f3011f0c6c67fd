"""The example rotates for real: its script once as it stands, its years with a moved clock."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from crash_worker import next_keyset
from support import SAMPLES, load

from taskseal.keys.keyring import Keyring
from taskseal.keys.keyset import Keyset
from taskseal.keys.pin import Pin
from taskseal.keys.succession import read_offer
from taskseal.keys.trust import Trust
from taskseal.keys.trust_store import TrustStore
from taskseal.signing import sign
from taskseal.validity import DAY, HOUR, MINUTE, read_instant, write_instant
from taskseal.verify import Accepted, Verifier

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rotation"
AISA, KEYSET = "aisa.message/v1", "taskseal.keyset/v1"
START = read_instant("2026-09-01T08:35:00Z") or 0


def test_the_script_has_ten_lines() -> None:
    assert len((EXAMPLE / "rotate.sh").read_text().splitlines()) == 10


@pytest.fixture
def sender(tmp_path: Path) -> Iterator[Path]:
    """A folder with a keyring, its first keyset, and the command on the path."""
    if shutil.which("sh") is None:
        pytest.skip("there is no shell to run the script")
    place = tmp_path / "bin"
    place.mkdir()
    command = place / "taskseal"
    command.write_text(f"#!{sys.executable}\nfrom taskseal.cli import main\nmain()\n")
    command.chmod(0o755)
    yield tmp_path


def test_the_script_rotates_and_receivers_follow(sender: Path) -> None:
    env = {
        **os.environ,
        "PATH": f"{sender / 'bin'}:{os.environ['PATH']}",
        "TASKSEAL_KEYRING": str(sender / "ring"),
        "TASKSEAL_PASSPHRASE": "correct horse",
        "XDG_STATE_HOME": str(sender / "state"),
        "LEAD": "0s",
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            arguments, cwd=sender, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done
        return done.stdout

    past = ["--not-before", "2026-01-01T00:00:00Z", "--json"]
    root = json.loads(run("taskseal", "keys", "new", "root/1", "--for", KEYSET, *past))
    run("taskseal", "keys", "new", "kms/messages/1", "--for", AISA, *past)
    run("taskseal", "keyset", "propose", "-o", "keyset.json")
    run("taskseal", "keyset", "sign", "keyset.json")
    pin = f"root/1={root['publicKey']['x']}"
    run("taskseal", "trust", "add", "keyset.json", "--pin", pin, "--store", "store")
    plan = load(SAMPLES / "aisa/plan.json")
    script = ["sh", str(EXAMPLE / "rotate.sh"), "kms/messages", "keyset.json"]
    first = json.loads(run(*script).splitlines()[0])
    again = json.loads(run(*script).splitlines()[0])
    assert (first["changed"], again["changed"]) == (True, False)
    assert not (sender / "keyset.json.next").exists()
    at = first["switchAt"]
    (sender / "plan.json").write_text(json.dumps(plan | {"occurred_on": at}))
    told = json.loads(run("taskseal", "sign", "plan.json", "--at", at, "-o", "new.json", "--json"))
    assert told["signer"]["keyVersion"] == "kms/messages/2"
    run("taskseal", "trust", "update", "keyset.json", "--store", "store")
    run("taskseal", "verify", "new.json", "--trust", "store", "--at", at)


def test_two_years_of_weekly_runs_lose_no_message(tmp_path: Path) -> None:
    """What the timer does, each step as the script does it; messages of every hour that counts."""
    ring = Keyring.create(tmp_path / "ring", "desk")
    for version, profile in (("root/1", KEYSET), ("kms/messages/1", AISA)):
        ring.new(
            version, [profile], not_before=START, sign_until=START + 900 * DAY, allow_plain=True
        )
    store = TrustStore(tmp_path / "store", mark=tmp_path / "mark")
    keyset: Keyset | None = None
    plan = load(SAMPLES / "aisa/plan.json")
    used = set()
    for week in range(0, 104, 4):
        now = START + week * 7 * DAY
        if week:
            ring.rotate("kms/messages", at=now, allow_plain=True)
        signed = next_keyset(ring, keyset, now)
        keyset = signed.keyset
        offer = read_offer(signed.to_json(), "keyset.json")
        if week:
            store.update([offer], now)
        else:
            root = ring.show("root/1").key
            assert root is not None
            store.add(offer, [Pin("root/1", root.thumbprint)], now)
        verifier = Verifier(Trust.of(store))
        for hours in (0, 1, 47, 48, 49, 71, 72, 73, 400):
            at = now + hours * HOUR + MINUTE
            message = sign(plan | {"occurred_on": write_instant(at)}, ring, at=at)
            for late in (0, 14 * MINUTE):
                found = verifier.check(message.blob, at=at + late)
                assert isinstance(found, Accepted), (week, hours, found)
                used.add(found.signer.key_version)
    assert used == {f"kms/messages/{number}" for number in range(1, 27)}


def test_the_units_run_the_script_and_hold_no_secret() -> None:
    service, timer = configparser.ConfigParser(strict=False), configparser.ConfigParser()
    for parser in (service, timer):
        parser.optionxform = str  # type: ignore[assignment,method-assign]  # systemd tells case apart
    service.read(EXAMPLE / "taskseal-rotate.service")
    timer.read(EXAMPLE / "taskseal-rotate.timer")
    script, name, keyset = service["Service"]["ExecStart"].split()
    assert Path(script).name == "rotate.sh"
    assert name == "kms/tasks"
    assert keyset.endswith("keyset.json")
    assert service["Service"]["Type"] == "oneshot"
    assert "LoadCredential" in service["Service"]
    assert timer["Timer"]["Persistent"] == "yes"

"""Three keys, each handing over to the next, with messages in flight and issued too late of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import SAMPLES, load, sign_anyway

from taskseal.errors import Reason
from taskseal.keys.keyring import Keyring
from taskseal.profiles import BUILT_IN
from taskseal.validity import DAY, HOUR, MINUTE, Instant, read_instant, write_instant
from taskseal.verify import Accepted, Policy, Refused, Verifier

AISA = "aisa.message/v1"
START = read_instant("2026-09-01T08:35:00Z") or 0
PERIOD = 30 * DAY
SWITCHES = [START + number * PERIOD + 48 * HOUR for number in (1, 2)]


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    """Keys 1, 2 and 3, made over two months."""
    ring = Keyring.create(tmp_path / "ring")
    ring.new("m/1", [AISA], not_before=START, allow_plain=True)
    for number in (1, 2):
        ring.rotate("m", at=START + number * PERIOD, allow_plain=True)
    return ring


def verdict(
    ring: Keyring, version: str, issued: Instant, at: Instant, hours: int = 20
) -> Reason | None:
    """What a receiver with the present pins says of a message, also of one made by a thief."""
    signer = ring.holder(version)
    plan = load(SAMPLES / "aisa/plan.json") | {"occurred_on": write_instant(issued)}
    blob = sign_anyway(
        plan, signer, BUILT_IN[AISA], at=write_instant(issued), lifetime=hours * 3600
    )
    found = Verifier(ring.pins(), Policy()).check(blob, at=at)
    assert isinstance(found, Accepted | Refused)
    return found.reason if isinstance(found, Refused) else None


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_in_flight_at_a_switch_arrives(number: int, ring: Keyring) -> None:
    switch, old, new = SWITCHES[number - 1], f"m/{number}", f"m/{number + 1}"
    for late in (0, 1, HOUR, 20 * HOUR - MINUTE - 1):
        assert verdict(ring, old, switch - MINUTE, switch + late) is None
    assert verdict(ring, new, switch, switch) is None
    assert verdict(ring, old, switch - MINUTE, switch - MINUTE) is None


@pytest.mark.parametrize("number", [1, 2])
def test_what_an_old_key_issues_after_the_switch_is_refused(number: int, ring: Keyring) -> None:
    switch, old = SWITCHES[number - 1], f"m/{number}"
    for late in (0, 1, HOUR, 24 * HOUR - MINUTE):
        issued = switch + late // (60 * 10**9) * 60 * 10**9
        assert verdict(ring, old, issued, issued + 1) is Reason.KEY_RETIRED


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_by_an_old_key_is_taken_after_the_overlap(number: int, ring: Keyring) -> None:
    end, old = SWITCHES[number - 1] + 24 * HOUR, f"m/{number}"
    for issued in (end - 24 * HOUR - MINUTE, end, end + PERIOD):
        assert verdict(ring, old, issued, max(issued, end), hours=24) is Reason.KEY_EXPIRED


@pytest.mark.parametrize("number", [1, 2])
def test_a_new_key_is_accepted_from_its_making_and_not_before(number: int, ring: Keyring) -> None:
    made, new = START + number * PERIOD, f"m/{number + 1}"
    assert verdict(ring, new, made, made) is None
    assert verdict(ring, new, made - MINUTE, made - MINUTE) is Reason.KEY_NOT_YET_VALID


def test_each_generation_signs_in_its_own_time(ring: Keyring) -> None:
    for at, version in (
        (START, "m/1"),
        (SWITCHES[0] - 1, "m/1"),
        (SWITCHES[0], "m/2"),
        (SWITCHES[1] - 1, "m/2"),
        (SWITCHES[1], "m/3"),
    ):
        assert ring.signer(AISA, at=at).entry.key_version == version

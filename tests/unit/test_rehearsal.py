"""A rotation tried out on live messages costs what it says, and says what it would cost."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support import NOW as AT
from support import SAMPLES, instant, load

from taskseal.errors import Reason
from taskseal.keys.keyring import Keyring
from taskseal.keys.rotation import Wish
from taskseal.rehearsal import Live, Rehearsal, rehearse
from taskseal.signing import sign
from taskseal.validity import DAY, HOUR, MINUTE, SECOND, write_instant
from taskseal.verify import Accepted, Policy, Verifier
from taskseal.verify.policy import ProfilePolicy

NOW = instant(AT)
AISA = "aisa.message/v1"


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    ring = Keyring.create(tmp_path / "ring")
    ring.new("m/1", [AISA], not_before=NOW - 10 * DAY, allow_plain=True)
    return ring


def message(ring: Keyring, name: str, hours: int, *, at: int = NOW, version: str = "m/1") -> Live:
    """A live message that expires ``hours`` after ``at``."""
    plan = load(SAMPLES / "aisa/plan.json") | {"occurred_on": write_instant(at)}
    done = sign(
        plan,
        ring,
        key_version=version,
        expires_in=timedelta(hours=hours),
        policy=Policy(max_lifetime={AISA: 1000 * DAY}),
        at=at,
    )
    return Live(name, done.blob)


def tried(ring: Keyring, *corpus: Live, lag: int = 0, **wish: Any) -> Rehearsal:
    policy = wish.pop("policy", None)
    plan = ring.rotate("m", at=NOW, wish=Wish(**wish), dry_run=True)
    return rehearse(corpus, ring.entries(), plan, NOW, lag=lag, policy=policy)


def test_what_expires_before_the_overlap_ends_is_not_lost(ring: Keyring) -> None:
    found = tried(ring, message(ring, "a", 1), message(ring, "b", 60))
    assert (found.live, found.by_old, found.lost, found.dead) == (2, 2, (), ())
    assert found.instants == (NOW, NOW + 48 * HOUR, NOW + 72 * HOUR)
    assert found.latest_expiry == NOW + 60 * HOUR
    assert found.safe_end == NOW + 60 * HOUR


def test_what_outlives_the_overlap_is_lost_at_its_end(ring: Keyring) -> None:
    found = tried(ring, message(ring, "a", 1), message(ring, "b", 9), lead=2 * HOUR, overlap=HOUR)
    (lost,) = found.lost
    assert (lost.name, lost.at, lost.reason) == ("b", NOW + 3 * HOUR, Reason.KEY_EXPIRED)
    assert (lost.key_version, lost.expires) == ("m/1", NOW + 9 * HOUR)
    assert found.safe_end == NOW + 9 * HOUR


@pytest.mark.parametrize("lead", [0, HOUR, 48 * HOUR])
def test_the_safe_end_is_safe_and_nothing_earlier_is(lead: int, ring: Keyring) -> None:
    corpus = [message(ring, str(hours), hours, at=NOW - SECOND) for hours in (1, 30, 55)]
    safe = tried(ring, *corpus, lead=lead).safe_end
    assert safe is not None
    assert tried(ring, *corpus, lead=lead, overlap=safe - NOW - lead).lost == ()
    assert len(tried(ring, *corpus, lead=lead, overlap=safe - NOW - lead - HOUR).lost) == 1


def test_the_safe_end_counts_the_lag_and_the_receivers_skew(ring: Keyring) -> None:
    policy = Policy(per_profile={AISA: ProfilePolicy(past_skew=7 * MINUTE)})
    found = tried(ring, message(ring, "a", 90), lag=5 * MINUTE, policy=policy)
    assert found.safe_end == NOW + 90 * HOUR + 12 * MINUTE


def test_without_live_messages_the_overlap_may_end_with_the_switch(ring: Keyring) -> None:
    found = tried(ring, message(ring, "a", 1))
    assert found.safe_end == NOW + 48 * HOUR, "not before the old key has signed its last"
    assert tried(ring).safe_end is None


def test_later_messages_that_live_as_long_need_their_time_after_the_switch(ring: Keyring) -> None:
    found = tried(ring, message(ring, "a", 60), lag=HOUR)
    assert found.later_safe_end is not None
    assert found.longest_life is not None
    assert found.later_safe_end == NOW + 48 * HOUR + found.longest_life + HOUR


def test_what_does_not_verify_now_is_told_and_not_counted(ring: Keyring, tmp_path: Path) -> None:
    other = Keyring.create(tmp_path / "other")
    other.new("m/1", [AISA], not_before=NOW - DAY, allow_plain=True)
    other.new("m/7", [AISA], not_before=NOW - DAY, allow_plain=True)
    found = tried(
        ring,
        message(ring, "old", 1, at=NOW - 2 * HOUR),
        message(other, "forged", 1),
        message(other, "stranger", 1, version="m/7"),
        Live("noise", b"{"),
        Live("bytes", b"\xff"),
        Live("deep", b"[" * 100_000),
    )
    assert (found.live, found.lost) == (0, ())
    assert [(each.name, each.reason) for each in found.dead] == [
        ("old", Reason.EXPIRED),
        ("forged", Reason.BAD_SIGNATURE),
        ("stranger", Reason.UNKNOWN_KEY),
        ("noise", Reason.MALFORMED_JSON),
        ("bytes", Reason.NOT_UTF8),
        ("deep", Reason.NESTING_TOO_DEEP),
    ]


def test_messages_of_another_key_are_left_in_peace(ring: Keyring) -> None:
    ring.new("n/1", [AISA], not_before=NOW - DAY, allow_plain=True)
    other = message(ring, "n", 500, version="n/1")
    found = tried(ring, other, lead=0, overlap=0)
    assert (found.live, found.by_old, found.lost, found.safe_end) == (1, 0, (), None)


def test_a_rehearsal_foretells_what_the_real_rotation_does(ring: Keyring) -> None:
    corpus = [message(ring, str(hours), hours) for hours in (1, 5, 20, 40)]
    found = tried(ring, *corpus, lead=2 * HOUR, overlap=8 * HOUR)
    ring.rotate("m", at=NOW, wish=Wish(2 * HOUR, 8 * HOUR), allow_plain=True)
    policy = Policy(max_lifetime={AISA: 100 * DAY})
    verifier = Verifier(ring.pins(), policy)
    for at in found.instants:
        refused = {
            each.name
            for each in corpus
            if getattr(verifier.check(each.data, at=at), "reason", None) is Reason.KEY_EXPIRED
        }
        expired = {each.name for each in corpus if NOW + int(each.name) * HOUR <= at}
        assert refused - expired == {loss.name for loss in found.lost if loss.at <= at}
    assert isinstance(verifier.check(corpus[3].data, at=found.instants[0]), Accepted)


def test_nothing_is_changed_by_a_rehearsal(ring: Keyring) -> None:
    before = {path: path.read_bytes() for path in ring.path.rglob("*") if path.is_file()}
    tried(ring, message(ring, "a", 1))
    assert {path: path.read_bytes() for path in ring.path.rglob("*") if path.is_file()} == before

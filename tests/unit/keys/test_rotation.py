"""One key hands over to the next: what is planned, what is found again, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskseal.errors import InputError, MaterialError, Reason, TasksealError
from taskseal.keys import keyring
from taskseal.keys.entry import ACCEPTING_SPAN, SIGNING_SPAN
from taskseal.keys.keyring import Keyring
from taskseal.keys.lineage import find_lineage, lineages, split_version
from taskseal.keys.receivers import Receivers, Sighting
from taskseal.keys.rotation import LEAD, OVERLAP, Rotation, Wish
from taskseal.keys.vault import Cost
from taskseal.validity import DAY, HOUR, SECOND, read_instant

NOW = read_instant("2026-09-01T08:35:00Z") or 0
TASK, AISA = "dharma.task/v1", "aisa.message/v1"
PLAIN: dict[str, Any] = {"not_before": NOW - 10 * DAY, "allow_plain": True}


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    ring = Keyring.create(tmp_path / "ring", "desk")
    ring.new("k/1", [TASK], principal="me", bind={"/organizationId": ["o"]}, **PLAIN)
    return ring


def rotate(ring: Keyring, name: str | None = None, *, at: int = NOW, **wish: Any) -> Rotation:
    return ring.rotate(name, at=at, wish=Wish(**wish), allow_plain=True)


def refused(call: Callable[[], object], kind: type[TasksealError] = MaterialError) -> TasksealError:
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def in_order(ring: Keyring) -> bool:
    return all(
        e.not_before <= e.sign_from <= e.sign_until <= e.accept_until
        for e in Keyring.open(ring.path).entries()
    )


def files(ring: Keyring) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in ring.path.rglob("*") if path.is_file()}


def versions(ring: Keyring) -> list[str]:
    return [entry.key_version for entry in ring.entries()]


def test_a_rotation_is_one_publication_that_needs_no_second(ring: Keyring) -> None:
    plan = rotate(ring)
    old, new = ring.show("k/1"), ring.show("k/2")
    assert (plan.old, plan.new) == (old, new)
    assert new.not_before == NOW
    assert new.sign_from == old.sign_until == plan.switch == NOW + LEAD
    assert old.accept_until == plan.end == NOW + LEAD + OVERLAP
    assert new.sign_until == NOW + LEAD + SIGNING_SPAN
    assert new.accept_until == new.sign_until + ACCEPTING_SPAN
    assert (new.profiles, new.principal, dict(new.bind)) == (old.profiles, "me", dict(old.bind))
    assert new.key is not None
    assert new.key != old.key
    assert Keyring.open(ring.path).entries() == (old, new)


def test_exactly_one_key_signs_at_every_instant_of_a_rotation(ring: Keyring) -> None:
    rotate(ring)
    for after, version in ((0, "k/1"), (LEAD - 1, "k/1"), (LEAD, "k/2"), (LEAD + OVERLAP, "k/2")):
        assert ring.signer(TASK, at=NOW + after).entry.key_version == version


def test_a_rotation_is_one_change_of_the_keyring(ring: Keyring) -> None:
    rotate(ring)
    assert len(list((ring.path / "history").iterdir())) == 2


@pytest.mark.parametrize("name", [None, "k", "k/", "k/1"])
@pytest.mark.parametrize("after", [0, HOUR, LEAD - 1, LEAD, LEAD + OVERLAP - 1])
def test_a_rotation_under_way_is_found_and_left(
    name: str | None, after: int, ring: Keyring
) -> None:
    first = rotate(ring, name)
    before = (ring.path / "keyring.json").read_bytes()
    again = rotate(ring, name, at=NOW + after, lead=LEAD, overlap=OVERLAP)
    assert (again.old, again.new, again.changed) == (first.old, first.new, ())
    assert (ring.path / "keyring.json").read_bytes() == before
    assert ring.rotate(name, at=NOW + after).changed == (), "nor is a passphrase needed"


@pytest.mark.parametrize("name", [None, "k"])
def test_the_newest_rotates_again_once_the_overlap_is_over(name: str | None, ring: Keyring) -> None:
    rotate(ring)
    plan = rotate(ring, name, at=NOW + LEAD + OVERLAP)
    assert (plan.old.key_version, plan.new.key_version) == ("k/2", "k/3")
    assert versions(ring) == ["k/1", "k/2", "k/3"]


def test_a_key_that_has_handed_over_never_does_so_again(ring: Keyring) -> None:
    rotate(ring, "k/1")
    late = NOW + 100 * DAY
    plan = rotate(ring, "k/1", at=late, lead=0, overlap=0)
    assert (plan.new.key_version, plan.changed, plan.phase(late)) == ("k/2", (), "done")
    assert versions(ring) == ["k/1", "k/2"]


def test_without_lead_and_overlap_a_second_run_still_changes_nothing(ring: Keyring) -> None:
    for _ in range(3):
        plan = rotate(ring, "k", lead=0, overlap=0)
    assert plan.changed == ()
    assert versions(ring) == ["k/1", "k/2"]


def test_a_named_key_in_its_own_overlap_may_hand_over(ring: Keyring) -> None:
    rotate(ring)
    later = NOW + LEAD + HOUR
    assert rotate(ring, "k/2", at=later).new.key_version == "k/3"
    assert rotate(ring, "k/2", at=later).changed == ()


def test_a_dry_run_says_all_of_it_and_does_nothing(ring: Keyring) -> None:
    before = {path: path.read_bytes() for path in ring.path.rglob("*") if path.is_file()}
    plan = ring.rotate(at=NOW, dry_run=True)
    assert {path: path.read_bytes() for path in ring.path.rglob("*") if path.is_file()} == before
    real = rotate(ring)
    assert plan.begins
    assert not real.begins
    assert replace(real.new, key=None) == plan.new
    assert real.old == plan.old


@pytest.mark.parametrize(
    ("version", "following"),
    [
        ("k/1", "k/2"),
        ("k/9", "k/10"),
        ("k-09", "k-10"),
        ("k099", "k100"),
        ("7", "8"),
        ("2026-08", "2026-09"),
        ("K/1", "K/2"),
        ("a/1/v" + "9" * 30, "a/1/v1" + "0" * 30),
    ],
)
def test_the_next_name_has_the_trailing_integer_one_higher(
    version: str, following: str, tmp_path: Path
) -> None:
    ring = Keyring.create(tmp_path / "ring")
    ring.new(version, [TASK], **PLAIN)
    assert rotate(ring).new.key_version == following


@pytest.mark.parametrize("version", ["release", "v1-final", "k/²", "k/١", "1a"])
def test_a_version_without_a_trailing_integer_has_no_next(version: str, tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "ring")
    ring.new(version, [TASK], **PLAIN)
    for name in (None, version):
        error = refused(lambda name=name: rotate(ring, name), InputError)  # type: ignore[misc]
        assert error.code is Reason.USAGE
    assert versions(ring) == [version]


def test_a_name_that_would_be_too_long_is_refused(tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "ring")
    ring.new("k" * 499 + "9", [TASK], **PLAIN)
    assert refused(lambda: rotate(ring), InputError).code is Reason.USAGE


def test_a_twin_in_other_letters_is_another_lineage(ring: Keyring) -> None:
    ring.new("K/1", [TASK], **PLAIN)
    assert refused(lambda: rotate(ring), InputError).code is Reason.USAGE
    assert rotate(ring, "k").new.key_version == "k/2"
    assert rotate(ring, "K/1").new.key_version == "K/2"
    assert ring.show("K/1").sign_until == NOW + LEAD


def test_names_that_mean_several_or_none_are_refused(ring: Keyring) -> None:
    ring.new("k-1", [AISA], **PLAIN)
    several = refused(lambda: rotate(ring, "k"), InputError)
    assert several.code is Reason.USAGE
    assert "'k-'" in several.detail
    assert "'k/'" in several.detail
    assert rotate(ring, "k-").new.key_version == "k-2"
    for name in ("", "kk", "k/3", "K", "1"):
        assert refused(lambda name=name: rotate(ring, name)).code is Reason.UNKNOWN_KEY  # type: ignore[misc]


def test_an_empty_keyring_has_nothing_to_rotate(tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "ring")
    assert refused(lambda: rotate(ring)).code is Reason.NO_SIGNING_KEY


def test_a_lineage_without_a_future_does_not_stand_in_the_way(ring: Keyring) -> None:
    ring.new("old/1", [AISA], sign_until=NOW - DAY, **PLAIN)
    assert rotate(ring).new.key_version == "k/2"
    ring.revoke("k/1", at=NOW)
    ring.revoke("k/2", at=NOW)
    assert refused(lambda: rotate(ring), InputError).code is Reason.USAGE


def test_a_shorter_lead_brings_the_switch_forward_with_its_overlap(ring: Keyring) -> None:
    rotate(ring)
    plan = rotate(ring, at=NOW + HOUR, lead=2 * HOUR)
    assert plan.switch == plan.old.sign_until == NOW + 3 * HOUR
    assert plan.end == plan.switch + OVERLAP
    assert ring.entries() == (plan.old, plan.new)
    assert rotate(ring, at=NOW + 2 * HOUR, lead=HOUR).changed == ()


def test_a_longer_lead_never_moves_the_switch_back(ring: Keyring) -> None:
    rotate(ring)
    assert rotate(ring, at=NOW + HOUR, lead=1000 * HOUR).changed == ()


def test_the_overlap_grows_when_asked_and_shrinks_only_by_force(ring: Keyring) -> None:
    rotate(ring)
    assert rotate(ring, overlap=72 * HOUR).end == NOW + LEAD + 72 * HOUR
    kept = rotate(ring, overlap=HOUR)
    assert (kept.changed, len(kept.notes)) == ((), 1)
    assert rotate(ring, at=NOW + LEAD, overlap=HOUR, force=True).end == NOW + LEAD + HOUR


def test_a_key_that_ends_sooner_makes_the_lead_shorter_and_leaves_no_gap(tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "ring")
    ring.new("k/1", [TASK], sign_until=NOW + HOUR, **PLAIN)
    plan = rotate(ring)
    assert plan.switch == plan.old.sign_until == NOW + HOUR
    assert plan.end == NOW + HOUR + OVERLAP
    assert len(plan.notes) == 1
    assert rotate(ring, lead=LEAD, overlap=OVERLAP).changed == ()


@pytest.mark.parametrize("ended", [{"sign_until": NOW}, {"sign_until": NOW - DAY}])
def test_where_nobody_signs_any_more_the_new_key_signs_at_once(
    ended: dict[str, Any], tmp_path: Path
) -> None:
    ring = Keyring.create(tmp_path / "ring")
    before = ring.new("k/1", [TASK], **PLAIN, **ended)
    plan = rotate(ring)
    assert plan.switch == NOW
    assert plan.old == before, "what it signed is accepted as long as it was"
    assert ring.signer(TASK, at=NOW).entry.key_version == "k/2"
    assert rotate(ring).changed == ()


def test_a_revoked_key_is_followed_at_once(ring: Keyring) -> None:
    ring.revoke("k/1", at=NOW)
    plan = rotate(ring)
    assert (plan.new.key_version, plan.switch) == ("k/2", NOW)
    assert ring.signer(TASK, at=NOW).entry.key_version == "k/2"
    for name in (None, "k/1"):
        assert rotate(ring, name).changed == ()


def test_a_key_that_is_revoked_in_its_lead_hands_over_at_the_next_run(ring: Keyring) -> None:
    rotate(ring)
    ring.revoke("k/1", at=NOW + HOUR)
    plan = rotate(ring, at=NOW + HOUR)
    assert plan.switch == NOW + HOUR
    assert ring.signer(TASK, at=NOW + HOUR).entry.key_version == "k/2"
    assert versions(ring) == ["k/1", "k/2"]
    assert rotate(ring, at=NOW + 2 * HOUR).changed == ()


def test_a_key_that_will_be_revoked_in_its_lead_hands_over_then(ring: Keyring) -> None:
    rotate(ring)
    ring.revoke("k/1", at=NOW + 5 * HOUR)
    plan = rotate(ring, at=NOW + HOUR)
    assert plan.switch == NOW + 5 * HOUR
    assert ring.signer(TASK, at=NOW + 5 * HOUR - 1).entry.key_version == "k/1"
    assert ring.signer(TASK, at=NOW + 5 * HOUR).entry.key_version == "k/2"
    assert rotate(ring, at=NOW + 2 * HOUR).changed == ()


def test_the_newest_that_will_be_revoked_hands_over_by_then(ring: Keyring) -> None:
    rotate(ring)
    later = NOW + LEAD + HOUR
    ring.revoke("k/2", at=later + HOUR)
    plan = rotate(ring, at=later)
    assert (plan.old.key_version, plan.new.key_version) == ("k/2", "k/3")
    assert plan.switch == later + HOUR
    assert rotate(ring, at=later).changed == ()
    assert ring.signer(TASK, at=later).entry.key_version == "k/2"


def test_a_successor_that_will_never_sign_is_replaced_at_once(ring: Keyring) -> None:
    rotate(ring)
    ring.revoke("k/1", at=NOW)
    ring.revoke("k/2", at=NOW + DAY)
    plan = rotate(ring)
    assert (plan.new.key_version, plan.switch) == ("k/3", NOW)
    assert rotate(ring).changed == ()


def test_a_chain_of_keys_revoked_before_they_sign_keeps_its_instants_in_order(
    ring: Keyring,
) -> None:
    rotate(ring)
    ring.revoke("k/1", at=NOW)
    ring.revoke("k/2", at=NOW + DAY)
    rotate(ring)
    ring.revoke("k/3", at=NOW + DAY)
    assert rotate(ring).switch == NOW + DAY
    ring.revoke("k/3", at=NOW)
    plan = rotate(ring)
    assert (plan.old.key_version, plan.new.key_version) == ("k/1", "k/4")
    assert plan.switch == NOW, "nobody signs meanwhile"
    assert in_order(ring)
    assert rotate(ring).changed == ()
    assert ring.signer(TASK, at=NOW).entry.key_version == "k/4"


@pytest.mark.parametrize("name", [None, "k/2"])
def test_the_overlap_of_a_revoked_key_is_left_as_it_is(name: str | None, ring: Keyring) -> None:
    rotate(ring)
    ring.revoke("k/1", at=NOW)
    ring.revoke("k/2", at=NOW + DAY)
    before = ring.show("k/1"), ring.show("k/2")
    wish = {"lead": 48 * HOUR, "overlap": 72 * HOUR}
    assert rotate(ring, name, **wish).new.key_version == "k/3"
    assert rotate(ring, name, **wish).changed == ()
    assert (ring.show("k/1"), ring.show("k/2")) == before


def test_a_named_key_that_never_signs_leaves_the_switch_to_the_one_that_does(
    ring: Keyring,
) -> None:
    rotate(ring)
    ring.revoke("k/2", at=NOW + DAY)
    plan = rotate(ring, "k/2")
    assert (plan.old.key_version, plan.switch) == ("k/1", NOW + LEAD)
    assert rotate(ring, "k/2").changed == ()
    assert ring.signer(TASK, at=NOW).entry.key_version == "k/1"


def test_a_named_key_that_is_hurried_does_not_hand_over_in_the_same_second(ring: Keyring) -> None:
    rotate(ring)
    assert rotate(ring, "k/2", lead=0).switch == NOW
    assert rotate(ring, "k/2", lead=0).changed == ()
    assert rotate(ring, "k/2", at=NOW + SECOND).new.key_version == "k/3"


@pytest.mark.parametrize("revoked", [NOW, NOW + HOUR, NOW + DAY])
def test_a_named_key_whose_successor_never_signs_gets_another(revoked: int, ring: Keyring) -> None:
    rotate(ring)
    ring.revoke("k/2", at=revoked)
    plan = rotate(ring, "k/1")
    assert (plan.old.key_version, plan.new.key_version) == ("k/1", "k/3")
    for name in (None, "k/1", "k/2"):
        assert rotate(ring, name).changed == ()
    assert ring.signer(TASK, at=plan.switch).entry.key_version == "k/3"


def test_a_switch_never_comes_before_the_new_key_is_accepted(tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "ring")
    ring.new("k/1", [TASK], **PLAIN, sign_until=NOW + 12 * DAY)
    later = {"not_before": NOW + 10 * DAY, "sign_from": NOW + 12 * DAY}
    ring.new("k/2", [TASK], allow_plain=True, **later)
    assert rotate(ring, lead=0).switch == NOW + 10 * DAY
    assert rotate(ring, lead=0).changed == ()
    ring.revoke("k/1", at=NOW)
    assert rotate(ring, lead=0).changed == ()
    assert in_order(ring)


def test_an_end_within_this_second_is_where_the_new_key_begins(ring: Keyring) -> None:
    ring.revoke("k/1", at=NOW + SECOND // 3)
    now = NOW + SECOND // 2
    assert rotate(ring, at=now).switch == NOW + SECOND // 3
    assert rotate(ring, at=now).changed == ()


@pytest.mark.parametrize("overlap", [0, HOUR, 72 * HOUR])
def test_the_overlap_of_a_key_that_ends_right_now_is_moved_once(
    overlap: int, tmp_path: Path
) -> None:
    ring = Keyring.create(tmp_path / "ring")
    ring.new("k/1", [TASK], **PLAIN, sign_until=NOW)
    plan = rotate(ring, overlap=overlap, force=True)
    assert plan.end == max(NOW + overlap, NOW + SECOND)
    assert rotate(ring, overlap=overlap, force=True).changed == ()


def test_an_overlap_that_is_cut_off_begins_no_other_rotation(ring: Keyring) -> None:
    rotate(ring, overlap=72 * HOUR)
    later = NOW + LEAD + 30 * HOUR
    assert rotate(ring, at=later, overlap=HOUR, force=True).end == later + SECOND
    assert rotate(ring, at=later, overlap=HOUR, force=True).changed == ()


@pytest.mark.parametrize(
    "flaw", [{"sign_until": NOW - 20 * DAY}, {"sign_until": 1 << 70}, {"principal": "p" * 9999}]
)
def test_a_plan_that_could_not_be_read_again_is_not_written(
    flaw: dict[str, Any], ring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(ring)
    real = keyring.plan_rotation

    def flawed(*given: Any) -> Rotation:
        plan = real(*given)
        broken = replace(plan.old, **flaw)
        return replace(plan, old=broken, changed=(broken, *plan.changed[1:]))

    monkeypatch.setattr(keyring, "plan_rotation", flawed)
    assert refused(lambda: rotate(ring)).code is Reason.KEYRING_MALFORMED
    assert files(ring) == before
    assert versions(Keyring.open(ring.path)) == versions(ring) == ["k/1"]


def test_an_end_that_is_near_hurries_past_receivers_since_waiting_helps_nobody(
    ring: Keyring,
) -> None:
    rotate(ring)
    ring.revoke("k/1", at=NOW + HOUR)
    behind = Receivers((seen(1),))
    assert rotate(ring, at=NOW + HOUR, receivers=behind).switch == NOW + HOUR


def test_a_switch_within_a_second_leaves_the_signatures_of_that_second(ring: Keyring) -> None:
    """A header says whole seconds: what was signed in this one says its beginning."""
    plan = rotate(ring, at=NOW + SECOND // 3, lead=0)
    assert plan.new.not_before == NOW
    assert plan.switch == NOW + SECOND
    assert plan.old.retired_fault(plan.switch, NOW) is None
    assert rotate(ring, at=NOW + SECOND // 2, lead=0).changed == ()


def test_a_revoked_successor_is_replaced_before_the_old_key_ends(ring: Keyring) -> None:
    rotate(ring)
    ring.revoke("k/2", at=NOW + HOUR)
    plan = rotate(ring, at=NOW + HOUR)
    assert (plan.old.key_version, plan.new.key_version) == ("k/1", "k/3")
    assert plan.switch == NOW + LEAD, "a key never signs longer than it was said to"
    assert rotate(ring, at=NOW + HOUR).changed == ()


def test_a_settled_key_whose_successor_was_revoked_gets_another(ring: Keyring) -> None:
    rotate(ring)
    later = NOW + LEAD + HOUR
    rotate(ring, "k/2", at=later)
    ring.revoke("k/3", at=later)
    assert rotate(ring, at=later).new.key_version == "k/4"


def test_a_version_that_overlaps_by_hand_is_not_taken_for_a_rotation(ring: Keyring) -> None:
    ring.new("k/2", [TASK], **PLAIN)
    assert refused(lambda: rotate(ring, "k/1")).code is Reason.KEY_VERSION_TAKEN
    plan = rotate(ring, "k")
    assert (plan.old.key_version, plan.new.key_version) == ("k/2", "k/3")
    assert any("k/1" in note for note in plan.notes)


def test_a_key_that_does_not_sign_yet_cannot_hand_over(tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "ring")
    ring.new("k/1", [TASK], not_before=NOW + 10 * DAY, allow_plain=True)
    assert refused(lambda: rotate(ring), InputError).code is Reason.USAGE


@pytest.mark.parametrize("wish", [{"lead": -1}, {"overlap": -SECOND}, {"lead": 10**30}])
def test_spans_that_no_rotation_has_are_refused(wish: dict[str, int], ring: Keyring) -> None:
    assert refused(lambda: rotate(ring, **wish), InputError).code is Reason.USAGE
    assert versions(ring) == ["k/1"]


def test_a_new_key_wants_a_passphrase_or_the_word_that_it_needs_none(ring: Keyring) -> None:
    assert refused(lambda: ring.rotate(at=NOW)).code is Reason.PASSPHRASE_NEEDED
    cheap = Cost(passes=1, memory=1 << 13)
    asked = []

    def ask() -> bytes:
        asked.append(1)
        return b"pass"

    for _ in range(2):
        ring.rotate(at=NOW, passphrase=ask, cost=cheap)
    assert len(asked) == 1
    assert ring.is_sealed("k/2")
    assert ring.holder("k/2", b"pass").entry == ring.show("k/2")


def seen(generation: int, at: int = NOW - DAY, issuer: str = "desk") -> Sighting:
    return Sighting(issuer, generation, at, f"r{generation}")


def test_a_lead_under_way_is_not_shortened_past_a_receiver_that_is_behind(ring: Keyring) -> None:
    rotate(ring)
    later = NOW + HOUR
    behind = [
        Receivers((seen(3),)),
        Receivers((seen(3, later), seen(2, later))),
        Receivers((seen(3, later),), current=4, lists=frozenset({"k/2"})),
        Receivers((seen(4, later),), current=4, lists=frozenset({"k/1"})),
    ]
    for receivers in behind:
        error = refused(
            lambda receivers=receivers: rotate(ring, at=later, lead=0, receivers=receivers)  # type: ignore[misc]
        )
        assert error.code is Reason.RECEIVERS_BEHIND
        assert "r" in error.detail
    assert ring.show("k/2").sign_from == NOW + LEAD
    assert rotate(ring, at=later, receivers=behind[0]).changed == (), "it is not shortened"
    forced = rotate(ring, at=later, lead=0, receivers=behind[0], force=True)
    assert forced.switch == later


@pytest.mark.parametrize(
    "receivers",
    [
        Receivers(),
        Receivers((seen(3, NOW + SECOND), seen(3, NOW + HOUR))),
        Receivers((seen(1, issuer="other"),)),
        Receivers((seen(4, NOW - DAY),), current=4, lists=frozenset({"k/2"})),
    ],
)
def test_a_lead_is_shortened_when_nobody_is_behind(receivers: Receivers, ring: Keyring) -> None:
    rotate(ring)
    assert rotate(ring, at=NOW + HOUR, lead=0, receivers=receivers).switch == NOW + HOUR


def test_a_rotation_does_not_begin_with_a_short_lead_past_one_that_lags(ring: Keyring) -> None:
    lagging = Receivers((seen(3), seen(2)))
    assert refused(lambda: rotate(ring, lead=HOUR, receivers=lagging)).code is (
        Reason.RECEIVERS_BEHIND
    )
    assert versions(ring) == ["k/1"]
    assert rotate(ring, receivers=lagging).switch == NOW + LEAD


def test_a_revocation_stands_and_only_ever_moves_back(ring: Keyring) -> None:
    assert ring.revoke("k/1", at=NOW).revoked_at == NOW
    before = (ring.path / "keyring.json").read_bytes()
    assert ring.revoke("k/1", at=NOW).revoked_at == NOW
    assert ring.revoke("k/1", at=NOW + DAY).revoked_at == NOW
    assert (ring.path / "keyring.json").read_bytes() == before
    assert ring.revoke("k/1", at=NOW - DAY).revoked_at == NOW - DAY
    assert Keyring.open(ring.path).show("k/1").revoked_at == NOW - DAY
    assert refused(lambda: ring.signer(TASK, key_version="k/1", at=NOW)).code is Reason.KEY_REVOKED
    assert ring.pins().entries[0].revoked_at == NOW - DAY


def test_a_key_that_is_not_there_cannot_be_revoked(ring: Keyring) -> None:
    assert refused(lambda: ring.revoke("k/2", at=NOW)).code is Reason.UNKNOWN_KEY


def test_lineages_are_told_apart_by_all_but_the_number(ring: Keyring) -> None:
    for version in ("k/10", "k/2", "k2", "z"):
        ring.new(version, [TASK], **PLAIN)
    found = {each.stem: [e.key_version for e in each.entries] for each in lineages(ring.entries())}
    assert found == {"k/": ["k/1", "k/2", "k/10"], "k": ["k2"]}
    lineage, named = find_lineage(ring.entries(), "k/2", NOW)
    assert (lineage.next_version(), named) == ("k/11", ring.show("k/2"))
    assert split_version("a1b") is None


def test_a_sighting_survives_its_file_and_a_bad_one_is_refused() -> None:
    assert Sighting.load(seen(7).to_json(), "r7") == seen(7)
    for text in ("", "[]", '{"issuer": "a", "generation": 1}', '{"issuer": 1}'):
        error = refused(lambda text=text: Sighting.load(text.encode(), "f"))  # type: ignore[misc]
        assert error.code is Reason.TRUST_MALFORMED

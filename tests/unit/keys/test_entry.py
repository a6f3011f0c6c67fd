"""What a key may do at an instant, at every edge, and what one key may sign."""

from __future__ import annotations

from typing import Any

import pytest

from taskseal.errors import Reason
from taskseal.keys.entry import (
    BARE_PROFILES,
    KeyEntry,
    is_profile_id,
    order_fault,
    profiles_fault,
)
from taskseal.keys.private import PrivateKey
from taskseal.validity import SECOND, Window

PUBLIC = PrivateKey(bytes(range(32))).public


def entry(**members: Any) -> KeyEntry:
    given: dict[str, Any] = {
        "issuer": "i",
        "key_version": "v",
        "key": PUBLIC,
        "not_before": 100,
        "sign_from": 150,
        "sign_until": 200,
        "accept_until": 300,
        "profiles": frozenset({"dharma.task/v1"}),
    }
    return KeyEntry(**(given | members))


@pytest.mark.parametrize(
    ("now", "fault"),
    [
        (99, Reason.KEY_NOT_YET_VALID),
        (100, None),
        (299, None),
        (300, Reason.KEY_EXPIRED),
    ],
)
def test_the_gate_opens_at_not_before_and_closes_at_accept_until(
    now: int, fault: Reason | None
) -> None:
    assert entry().gate_fault(now) is fault


@pytest.mark.parametrize("now", [50, 120, 400])
def test_revocation_comes_first_whatever_the_window_says(now: int) -> None:
    assert entry(revoked_at=50).gate_fault(now) is Reason.KEY_REVOKED


def test_a_revocation_counts_from_its_own_instant() -> None:
    assert entry(revoked_at=160).gate_fault(159) is None
    assert entry(revoked_at=160).gate_fault(160) is Reason.KEY_REVOKED
    assert entry(revoked_at=160).may_sign(159) is None
    assert entry(revoked_at=160).may_sign(160) is Reason.KEY_REVOKED


@pytest.mark.parametrize(
    ("now", "issued", "fault"),
    [
        (199, None, None),
        (199, 250, None),
        (200, 199, None),
        (200, 200, Reason.KEY_RETIRED),
        (200, None, Reason.KEY_RETIRED),
        (299, 150, None),
        (299, 201, Reason.KEY_RETIRED),
    ],
)
def test_in_the_overlap_a_message_must_be_from_before_it(
    now: int, issued: int | None, fault: Reason | None
) -> None:
    assert entry().retired_fault(now, issued) is fault
    assert entry().state(now, issued) is fault


def test_the_states_come_in_the_order_of_the_contract() -> None:
    assert entry(revoked_at=0).state(400, None) is Reason.KEY_REVOKED
    assert entry().state(400, None) is Reason.KEY_EXPIRED
    assert entry().state(50, None) is Reason.KEY_NOT_YET_VALID
    assert entry().state(250, None) is Reason.KEY_RETIRED


@pytest.mark.parametrize(
    ("now", "fault"),
    [
        (149, Reason.KEY_NOT_SIGNING),
        (150, None),
        (199, None),
        (200, Reason.KEY_NOT_SIGNING),
    ],
)
def test_a_key_signs_from_sign_from_until_sign_until(now: int, fault: Reason | None) -> None:
    assert entry().may_sign(now) is fault


def test_an_unusable_key_neither_verifies_nor_signs() -> None:
    flawed = entry(key=None, flaw=Reason.WEAK_KEY)
    assert flawed.gate_fault(160) is Reason.WEAK_KEY
    assert flawed.may_sign(160) is Reason.WEAK_KEY


def test_a_keyset_stands_from_five_minutes_before_its_issue_to_its_expiry() -> None:
    issued, expires = 1000 * SECOND, 2000 * SECOND
    listed = entry(keyset=Window(issued, expires))
    early = issued - 300 * SECOND
    assert listed.keyset_fault(early - 1) is Reason.KEYSET_NOT_YET_VALID
    assert listed.keyset_fault(early) is None
    assert listed.keyset_fault(expires - 1) is None
    assert listed.keyset_fault(expires) is Reason.KEYSET_EXPIRED
    assert entry().keyset_fault(expires) is None


def test_entries_are_values() -> None:
    assert entry() == entry()
    assert len({entry(), entry()}) == 1
    with pytest.raises(TypeError):
        entry().bind["/x"] = ()  # type: ignore[index]


@pytest.mark.parametrize(
    ("instants", "member"),
    [
        ((1, 1, 1, 1), None),
        ((1, 2, 3, 4), None),
        ((2, 1, 3, 4), "signFrom"),
        ((1, 3, 2, 4), "signUntil"),
        ((1, 2, 4, 3), "acceptUntil"),
    ],
)
def test_the_first_instant_out_of_order_is_named(
    instants: tuple[int, int, int, int], member: str | None
) -> None:
    fault = order_fault(*instants)
    assert (fault[0] if fault else None) == member


@pytest.mark.parametrize(
    "profiles",
    [
        {"dharma.task/v1"},
        {"aisa.message/v1", "orbiplex.turn-request/v1"},
        {"dharma.task/v1", "aisa.message/v1"},
        {"taskseal.keyset/v1"},
        {"dharma.server-signing-keyset/v1"},
    ],
)
def test_one_bare_profile_beside_separated_ones_is_allowed(profiles: set[str]) -> None:
    assert profiles_fault(profiles) is None


@pytest.mark.parametrize(
    "profiles",
    [
        set(),
        {"dharma.task/v1", "dharma.action-decision-receipt/v1"},
        {"dharma.task/v1", "dharma.server-signing-keyset/v1"},
        {"taskseal.keyset/v1", "aisa.message/v1"},
        {"taskseal.keyset/v1", "dharma.server-signing-keyset/v1"},
    ],
)
def test_two_bare_profiles_or_a_keyset_with_anything_else_are_not(profiles: set[str]) -> None:
    assert profiles_fault(profiles) is not None


def test_a_custom_embedded_profile_counts_as_bare_when_it_is_named() -> None:
    both = {"dharma.task/v1", "cases.neutral/v1"}
    assert profiles_fault(both) is None
    assert profiles_fault(both, BARE_PROFILES | {"cases.neutral/v1"}) is not None


@pytest.mark.parametrize("text", ["dharma.task/v1", "a/v0", "a-b.c-1/v12"])
def test_a_profile_id_has_dotted_names_and_a_version(text: str) -> None:
    assert is_profile_id(text)


@pytest.mark.parametrize(
    "value",
    ["", "dharma.task", "Dharma.task/v1", "a/v", "a/v1\n", "a..b/v1", "a/v1/v2", "a/v١", None, 3],
)
def test_anything_else_is_no_profile_id(value: object) -> None:
    assert not is_profile_id(value)

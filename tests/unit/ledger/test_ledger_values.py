"""What a ledger is given is checked before any store is touched; what it answers has no truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from taskseal.errors import InputError, Reason
from taskseal.ledger import (
    BeforeHorizon,
    Busy,
    Claim,
    Committed,
    Conflict,
    Duplicate,
    FenceStale,
    Full,
    InDoubt,
    Ledger,
    Lost,
    NotInDoubt,
    Outcome,
    Released,
    ReplayId,
    Reserved,
    Started,
    Won,
    open_ledger,
)

NOW = 1_800_000_000_000_000_000
ID = ReplayId("s", "a")
GOOD: dict[str, Any] = {
    "profile": "p/v1",
    "ids": (ID,),
    "fingerprint": b"f" * 32,
    "expires_at": NOW,
    "keep_until": NOW,
}
SURROGATE = "\ud800"
IN_9999 = 253_402_300_799_000_000_000


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [
        ("profile", None, Reason.USAGE),
        ("profile", b"p/v1", Reason.USAGE),
        ("profile", SURROGATE, Reason.LONE_SURROGATE),
        ("ids", (ID, ReplayId("s", "b"), ReplayId("s", "c")), Reason.USAGE),
        ("ids", (ReplayId("s", SURROGATE),), Reason.LONE_SURROGATE),
        ("ids", (ReplayId(SURROGATE, "a"),), Reason.LONE_SURROGATE),
        ("ids", (ReplayId("s", 1),), Reason.USAGE),  # type: ignore[arg-type]
        ("fingerprint", b"f" * 31, Reason.USAGE),
        ("fingerprint", b"f" * 33, Reason.USAGE),
        ("fingerprint", "f" * 32, Reason.USAGE),
        ("fingerprint", bytearray(32), Reason.USAGE),
        ("expires_at", -1, Reason.USAGE),
        ("expires_at", 1.5, Reason.USAGE),
        ("expires_at", True, Reason.USAGE),
        ("expires_at", None, Reason.USAGE),
        ("keep_until", NOW - 1, Reason.USAGE),
        ("keep_until", "2026-09-01T08:35:00Z", Reason.USAGE),
        ("advance", (SURROGATE, 1), Reason.LONE_SURROGATE),
        ("advance", ("s", -1), Reason.USAGE),
        ("advance", ("s", 2**63), Reason.USAGE),
        ("advance", ("s", True), Reason.USAGE),
        ("acceptance", "yes", Reason.USAGE),
        ("acceptance", bytearray(b"yes"), Reason.USAGE),
    ],
)
def test_a_claim_with_a_member_of_another_shape_is_the_callers_fault(
    member: str, value: object, code: Reason
) -> None:
    with pytest.raises(InputError) as caught:
        Claim(**(GOOD | {member: value}))
    assert caught.value.code is code


def test_an_id_that_stands_twice_counts_once() -> None:
    assert Claim(**(GOOD | {"ids": (ID, ID)})).ids == (ID,)


def test_a_claim_does_not_change() -> None:
    claim = Claim(**GOOD)
    with pytest.raises(FrozenInstanceError):
        claim.profile = "other/v1"  # type: ignore[misc]


@pytest.fixture(params=["memory:", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    url = f"sqlite:{tmp_path}/l.db" if request.param == "sqlite" else request.param
    with open_ledger(url) as opened:
        yield opened


def test_a_message_that_expires_in_the_year_9999_is_kept_for_as_long_as_a_ledger_can(
    ledger: Ledger,
) -> None:
    claim = Claim(**(GOOD | {"expires_at": IN_9999, "keep_until": IN_9999 + 1}))
    assert isinstance(ledger.claim(claim, NOW), Won)
    assert ledger.claim(claim, NOW) == Duplicate(None)
    assert ledger.purge(2**63 - 2) == 0
    assert ledger.purge(IN_9999) == 1
    assert isinstance(ledger.claim(claim, NOW), BeforeHorizon)


def test_the_longest_lease_is_no_overflow(ledger: Ledger) -> None:
    reserved = ledger.reserve(Claim(**GOOD), NOW, 2**63 - 1)
    assert isinstance(reserved, Reserved)
    assert reserved.until == 2**63 - 1
    assert isinstance(ledger.start(reserved.token, IN_9999), Started | Lost)


CALLS: dict[str, Callable[[Ledger], object]] = {
    "now is negative": lambda ledger: ledger.claim(Claim(**GOOD), -1),
    "now is a float": lambda ledger: ledger.claim(Claim(**GOOD), 1.5),  # type: ignore[arg-type]
    "now is no time": lambda ledger: ledger.purge(None),  # type: ignore[arg-type]
    "no lease": lambda ledger: ledger.reserve(Claim(**GOOD), NOW, 0),
    "lease too long": lambda ledger: ledger.reserve(Claim(**GOOD), NOW, 2**63),
    "empty token": lambda ledger: ledger.start("", NOW),
    "token of bytes": lambda ledger: ledger.release(b"t", NOW),  # type: ignore[arg-type]
    "token of half a character": lambda ledger: ledger.abandon(SURROGATE, NOW),
    "fence beyond": lambda ledger: ledger.commit("t", 2**63, None, NOW),
    "acceptance of text": lambda ledger: ledger.commit("t", 1, "yes", NOW),  # type: ignore[arg-type]
    "short fingerprint": lambda ledger: ledger.lookup((ID,), b"f", NOW),
    "three ids": lambda ledger: ledger.lookup([ReplayId("s", n) for n in "abc"], b"f" * 32, NOW),
    "decision of text": lambda ledger: ledger.resolve((ID,), "released", NOW),  # type: ignore[arg-type]
    "counter of text": lambda ledger: ledger.advance("s", "1"),  # type: ignore[arg-type]
    "scope of bytes": lambda ledger: ledger.counter(b"s"),  # type: ignore[arg-type]
    "profile of half a character": lambda ledger: ledger.horizon(SURROGATE),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_an_argument_of_another_shape_is_the_callers_fault_in_every_store(
    ledger: Ledger, call: Callable[[Ledger], object]
) -> None:
    with pytest.raises(InputError):
        call(ledger)
    assert isinstance(ledger.claim(Claim(**GOOD), NOW), Won)


@pytest.mark.parametrize(
    "outcome",
    [
        *(Won(1), Duplicate(None), Conflict(ID), BeforeHorizon(1), Busy(1, False), InDoubt(1, 1)),
        *(FenceStale(1), Full(), Reserved("t", 1), Started(1), Committed(), Released()),
        *(NotInDoubt(), Lost("unknown")),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_no_outcome_has_a_truth_value(outcome: Outcome) -> None:
    with pytest.raises(TypeError, match=type(outcome).__name__):
        bool(outcome)


def test_outcomes_of_different_kinds_are_never_equal() -> None:
    bare: list[object] = [Full(), Committed(), Released(), NotInDoubt()]
    assert [[one == other for other in bare] for one in bare] == [
        [one is other for other in bare] for one in bare
    ]


@pytest.mark.parametrize("most", [0, -1, True, 1.5, "1"])
def test_max_records_is_a_whole_number_from_one(most: Any) -> None:
    from taskseal.ledger import MemoryLedger

    with pytest.raises(InputError):
        MemoryLedger(most)

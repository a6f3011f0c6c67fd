"""AISA messages against what the receiver knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskseal.errors import MaterialError, Reason
from taskseal.profiles import AISA_MESSAGE, Check, Context, Facts

Sample = Callable[[str], dict[str, Any]]

NOTHING: dict[str, Any] = {}


def _relations(message: dict[str, Any], aisa: Any, **facts: Any) -> list[Check]:
    return list(AISA_MESSAGE.relations(Facts(message, 0, Context(aisa=aisa), **facts)))


def _one(message: dict[str, Any], aisa: Any, **facts: Any) -> tuple[str, Reason | None, str | None]:
    (check,) = _relations(message, aisa, **facts)
    return check.result, check.reason, check.pointer


HOLDS = ("passed", None, None)
NOT_MADE = ("skipped", None, None)
MISMATCH = ("failed", Reason.REPLY_MISMATCH, "/payload/in_reply_to")
STALE = ("failed", Reason.FENCE_STALE, "/payload/fence_epoch")


@pytest.mark.parametrize(
    ("name", "own", "other"),
    [
        ("answer", "question_message_ids", "consult_message_ids"),
        ("consult-reply", "consult_message_ids", "question_message_ids"),
    ],
)
def test_a_reply_answers_a_known_message_of_the_right_kind(
    name: str, own: str, other: str, sample: Sample
) -> None:
    message = sample(f"aisa/{name}")
    answered = message["payload"]["in_reply_to"]
    assert _one(message, {own: ["msg-other-1", answered]}) == HOLDS
    assert _one(message, {own: [answered], other: [answered]}) == HOLDS
    assert _one(message, {own: {answered}}) == HOLDS
    assert _one(message, {own: []}) == MISMATCH
    assert _one(message, {own: [], "known_message_ids": [answered]}) == MISMATCH
    assert _one(message, {own: ["msg-other-1"], other: [answered]}) == MISMATCH
    assert _one(message, {other: [answered]}) == MISMATCH
    assert _one(message, {"known_message_ids": ["msg-other-1"]}) == MISMATCH
    assert _one(message, {"known_message_ids": [answered]}) == NOT_MADE
    assert _one(message, {other: ["msg-other-1"]}) == NOT_MADE
    assert _one(message, NOTHING) == NOT_MADE


@pytest.mark.parametrize(
    ("epoch", "expected"), [(6, STALE), (7, STALE), (8, HOLDS), (2**53 - 1, HOLDS)]
)
def test_a_fence_epoch_rises_above_the_last_one(epoch: int, expected: Any, sample: Sample) -> None:
    message = sample("aisa/cancel")
    message["payload"]["fence_epoch"] = epoch
    assert _one(message, {"last_fence_epoch": {"task-survey-01": 7}}) == expected


def test_the_first_epoch_of_a_task_may_be_zero(sample: Sample) -> None:
    message = sample("aisa/cancel")
    message["payload"]["fence_epoch"] = 0
    assert _one(message, {"last_fence_epoch": {"task-other-01": 7}}) == HOLDS
    assert _one(message, {"last_fence_epoch": {"task-survey-01": 0}}) == STALE


def test_a_fence_is_skipped_where_there_is_nothing_to_compare(sample: Sample) -> None:
    message = sample("aisa/cancel")
    assert _one(message, NOTHING) == NOT_MADE
    del message["recipient_task_id"]
    assert _one(message, {"last_fence_epoch": {"task-survey-01": 7}}) == NOT_MADE


def test_a_fence_that_the_ledger_compares_is_left_to_it(sample: Sample) -> None:
    message = sample("aisa/cancel")
    stale = {"last_fence_epoch": {"task-survey-01": 9}}
    assert _one(message, stale, fence_in_ledger=True) == NOT_MADE
    assert _one(message, stale) == STALE


def _spawn(message: dict[str, Any], **parent: Any) -> list[tuple[str, str, str | None]]:
    made = _relations(message, {"parent": parent})
    return [(check.check, check.result, check.pointer) for check in made]


def test_a_child_gets_no_grant_that_its_parent_lacks(sample: Sample) -> None:
    message = sample("aisa/spawn")
    message["payload"]["grant_subset"] = ["grant-read-tariff", "grant-write-tariff"]
    both = ["grant-write-tariff", "grant-read-tariff"]
    assert _spawn(message, grants=both)[0] == ("grants", "passed", None)
    assert _spawn(message, grants=both[1:])[0] == (
        "grants",
        "failed",
        "/payload/grant_subset/1",
    )
    assert _spawn(message, grants=[])[0][2] == "/payload/grant_subset/0"
    message["payload"]["grant_subset"] = []
    assert _spawn(message, grants=[])[0][1] == "passed"


@pytest.mark.parametrize(
    ("remaining", "result"),
    [(12.5, "passed"), (13, "passed"), (12.4, "failed"), (0, "failed"), (-1, "failed")],
)
def test_a_child_gets_no_more_minutes_than_its_parent_has(
    remaining: float, result: str, sample: Sample
) -> None:
    made = _relations(sample("aisa/spawn"), {"parent": {"remaining_minutes": remaining}})
    assert [(check.check, check.result) for check in made] == [
        ("grants", "skipped"),
        ("budget", result),
    ]
    if result == "failed":
        assert (made[1].reason, made[1].pointer) == (
            Reason.CEILING_EXCEEDED,
            "/payload/budget_minutes",
        )


def test_ceilings_are_skipped_where_the_parent_is_not_supplied(sample: Sample) -> None:
    made = _relations(sample("aisa/spawn"), NOTHING)
    assert [(check.check, check.result) for check in made] == [
        ("grants", "skipped"),
        ("budget", "skipped"),
    ]
    assert _one(sample("aisa/consult"), NOTHING) == NOT_MADE


@pytest.mark.parametrize(
    ("minutes", "holds"), [(41, True), (41.5, True), (40, False), (40.99, False), (0, False)]
)
def test_a_consult_ends_within_the_requester_s_minutes(
    minutes: float, holds: bool, sample: Sample
) -> None:
    """The sample's deadline is 41 minutes after it occurred."""
    found = _one(sample("aisa/consult"), {"requester_remaining_minutes": minutes})
    assert found == (HOLDS if holds else ("failed", Reason.CEILING_EXCEEDED, "/deadline"))


@pytest.mark.parametrize("name", ["plan", "result", "question", "finding", "verdict", "dead-end"])
def test_other_kinds_are_held_against_nothing(name: str, sample: Sample) -> None:
    assert _relations(sample(f"aisa/{name}"), {"question_message_ids": 7}) == []


@pytest.mark.parametrize(
    ("name", "aisa", "where"),
    [
        ("answer", {"question_message_ids": "msg-2026-0004"}, "/aisa/question_message_ids"),
        ("answer", {"consult_message_ids": {}}, "/aisa/consult_message_ids"),
        ("answer", {"known_message_ids": 4}, "/aisa/known_message_ids"),
        ("cancel", {"last_fence_epoch": [7]}, "/aisa/last_fence_epoch"),
        (
            "cancel",
            {"last_fence_epoch": {"task-survey-01": "7"}},
            "/aisa/last_fence_epoch/task-survey-01",
        ),
        (
            "cancel",
            {"last_fence_epoch": {"task-survey-01": True}},
            "/aisa/last_fence_epoch/task-survey-01",
        ),
        ("spawn", {"parent": []}, "/aisa/parent"),
        ("spawn", {"parent": {"grants": "grant"}}, "/aisa/parent/grants"),
        (
            "spawn",
            {"parent": {"remaining_minutes": float("nan")}},
            "/aisa/parent/remaining_minutes",
        ),
        (
            "spawn",
            {"parent": {"remaining_minutes": float("inf")}},
            "/aisa/parent/remaining_minutes",
        ),
        ("consult", {"requester_remaining_minutes": "41"}, "/aisa/requester_remaining_minutes"),
    ],
)
def test_a_malformed_context_is_the_receiver_s_fault(
    name: str, aisa: dict[str, Any], where: str, sample: Sample
) -> None:
    with pytest.raises(MaterialError) as caught:
        _relations(sample(f"aisa/{name}"), aisa)
    assert (caught.value.code, caught.value.pointer) == (Reason.CONTEXT_MALFORMED, where)

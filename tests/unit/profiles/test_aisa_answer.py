"""The ready DeadEnd: for whom, with what in it, and never more of the message than fits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from taskseal.errors import Reason
from taskseal.profiles import AISA_MESSAGE, AisaIdentity, Facts

Sample = Callable[[str], dict[str, Any]]

ME = AisaIdentity("task-survey-01", "survey.worker", 3, "root/survey", "rt-1.4")
NOW = 1_788_251_700_000_000_000
TYPE, VERSION = Reason.UNKNOWN_MESSAGE_TYPE, Reason.UNKNOWN_MESSAGE_VERSION


def _answer(
    message: dict[str, Any], reason: Reason = TYPE, me: AisaIdentity = ME, now: int = NOW
) -> dict[str, Any] | None:
    return AISA_MESSAGE.answer(Facts(message, now), reason, me)


@pytest.fixture
def unknown(sample: Sample) -> dict[str, Any]:
    return sample("aisa/spawn") | {"type": "Merge"}


def test_an_unknown_type_gets_a_dead_end_of_that_name(unknown: dict[str, Any]) -> None:
    answer = _answer(unknown)
    assert answer is not None
    message_id = answer.pop("message_id")
    assert answer == {
        "type": "DeadEnd",
        "version": 1,
        "case_id": "case-2026-0001",
        "task_path": "root/survey",
        "sender": {
            "task_id": "task-survey-01",
            "profile_key": "survey.worker",
            "profile_version": 3,
            "runtime_version": "rt-1.4",
        },
        "occurred_on": "2026-09-01T08:35:00Z",
        "trust_class": "derived",
        "recipient_task_id": "task-root-0001",
        "payload": {
            "reason": "unknown_message_type",
            "checked": ["Merge"],
            "minutes_used": 0,
            "would_need": "a receiver that knows this type",
        },
    }
    assert message_id != unknown["message_id"]


def test_an_unknown_version_gets_one_too(sample: Sample) -> None:
    answer = _answer(sample("aisa/plan") | {"version": 2}, VERSION)
    assert answer is not None
    assert answer["payload"] == {
        "reason": "unknown_message_version",
        "checked": ["2"],
        "minutes_used": 0,
        "would_need": "a receiver that knows this version",
    }


@pytest.mark.parametrize("reason", [TYPE, VERSION])
def test_an_answer_passes_every_hook_itself(reason: Reason, sample: Sample, walk: Any) -> None:
    answer = _answer(sample("aisa/plan") | {"version": 2}, reason)
    assert answer is not None
    made = walk(AISA_MESSAGE, answer)
    assert made
    assert all(check.result == "passed" for check in made)


def test_an_identity_without_runtime_version_names_none(unknown: dict[str, Any]) -> None:
    answer = _answer(unknown, me=replace(ME, runtime_version=None))
    assert answer is not None
    assert "runtime_version" not in answer["sender"]


def test_a_dead_end_is_never_answered(sample: Sample) -> None:
    assert _answer(sample("aisa/dead-end") | {"version": 2}, VERSION) is None


@pytest.mark.parametrize("reason", [each for each in Reason if each not in (TYPE, VERSION)])
def test_no_other_reason_is_answered(reason: Reason, unknown: dict[str, Any]) -> None:
    assert _answer(unknown, reason) is None


def test_the_same_message_at_the_same_instant_gets_the_same_answer(
    unknown: dict[str, Any],
) -> None:
    assert _answer(unknown) == _answer(dict(reversed(unknown.items())))


def test_answers_that_differ_never_share_an_id(unknown: dict[str, Any]) -> None:
    answers = [
        _answer(unknown),
        _answer(unknown, now=NOW + 1_000_000_000),
        _answer(unknown, me=replace(ME, task_id="task-survey-02")),
        _answer(unknown | {"message_id": "msg-2026-0099"}),
        _answer(unknown, VERSION),
    ]
    ids = [answer and answer["message_id"] for answer in answers]
    assert None not in ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    "seen",
    ["", " ", "a b", "x" * 65, "Merge\n", "<script>", "żółć", 'a"b', "\x00", "a/b"],
)
def test_a_seen_value_that_is_no_plain_word_stands_as_its_digest(
    seen: str, unknown: dict[str, Any]
) -> None:
    answer = _answer(unknown | {"type": seen})
    assert answer is not None
    assert answer["payload"]["checked"] == [hashlib.sha256(seen.encode()).hexdigest()]


@pytest.mark.parametrize("seen", ["M", "x" * 64, "a.b_c-D9"])
def test_a_plain_word_stands_as_it_is(seen: str, unknown: dict[str, Any]) -> None:
    answer = _answer(unknown | {"type": seen})
    assert answer is not None
    assert answer["payload"]["checked"] == [seen]


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "short",
        "x" * 65,
        "case 2026-0001",
        "case-2026-0001\n",
        '","x":"',
        "case/2026/1",
        None,
        7,
        [],
        {},
    ],
)
def test_nothing_of_a_hostile_message_breaks_out_into_the_answer(
    hostile: Any, unknown: dict[str, Any]
) -> None:
    assert _answer(unknown | {"case_id": hostile}) is None
    assert _answer(unknown | {"sender": unknown["sender"] | {"task_id": hostile}}) is None
    assert _answer(unknown | {"sender": hostile}) is None


def test_a_message_without_case_or_sender_gets_none(unknown: dict[str, Any]) -> None:
    for member in ("case_id", "sender"):
        assert _answer({name: unknown[name] for name in unknown if name != member}) is None


def test_what_else_the_message_holds_does_not_matter(unknown: dict[str, Any]) -> None:
    answer = _answer(unknown | {"payload": None, "occurred_on": "yesterday", "task_path": "../.."})
    assert answer is not None
    assert answer["task_path"] == "root/survey"


def test_a_message_that_has_no_canonical_form_gets_none(unknown: dict[str, Any]) -> None:
    assert _answer(unknown | {"type": "\udc00"}) is None
    assert _answer(unknown | {"payload": 2**53}) is None


def test_an_identity_that_does_not_fit_sends_nothing(unknown: dict[str, Any]) -> None:
    assert _answer(unknown, me=replace(ME, task_path="root//survey")) is None

"""Which documents are AISA messages, which kinds are known, and what they bind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskseal.errors import MaterialError, Reason
from taskseal.profiles import AISA_MESSAGE, Binding, Check, Context, Facts
from taskseal.profiles.aisa import TYPES

Sample = Callable[[str], dict[str, Any]]
Walk = Callable[..., list[Check]]

HOSTILE = [None, True, 0, -1, 2.5, float("inf"), "", "x", [], [[]], {}, {"type": {}}]


def _known(message: Any, aisa: dict[str, Any] | None = None) -> list[Check]:
    return list(AISA_MESSAGE.known(Facts(message, 0, Context(aisa=aisa or {}))))


@pytest.mark.parametrize("value", HOSTILE)
def test_what_is_no_message_is_not_recognised(value: Any) -> None:
    assert AISA_MESSAGE.recognise(value) is False


@pytest.mark.parametrize("member", ["type", "message_id", "case_id"])
@pytest.mark.parametrize("value", HOSTILE)
def test_a_message_without_its_three_texts_is_not_recognised(
    member: str, value: Any, sample: Sample
) -> None:
    message = sample("aisa/spawn")
    message[member] = value
    assert AISA_MESSAGE.recognise(message) is isinstance(value, str)
    del message[member]
    assert AISA_MESSAGE.recognise(message) is False


def test_a_document_with_a_schema_is_another_s(sample: Sample) -> None:
    assert AISA_MESSAGE.recognise(sample("aisa/spawn") | {"schema": None}) is False


@pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.5, float("nan"), [1], {}])
def test_what_is_no_version_is_recognised_and_left_to_the_schema(
    version: Any, sample: Sample
) -> None:
    message = sample("aisa/spawn") | {"version": version}
    assert AISA_MESSAGE.recognise(message)
    assert _known(message) == []


@pytest.mark.parametrize("version", [0, "1", None, True, 1.5])
def test_the_schema_refuses_what_is_no_version(version: Any, sample: Sample, walk: Walk) -> None:
    last = walk(AISA_MESSAGE, sample("aisa/spawn") | {"version": version})[-1]
    assert (last.reason, last.pointer) == (Reason.SCHEMA_INVALID, "/version")


def test_a_missing_version_is_left_to_the_schema(sample: Sample, walk: Walk) -> None:
    message = sample("aisa/spawn")
    del message["version"]
    last = walk(AISA_MESSAGE, message)[-1]
    assert (last.reason, last.pointer) == (Reason.SCHEMA_INVALID, "/version")


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_the_twelve_kinds_are_known_at_version_1_without_a_context(kind: str) -> None:
    assert [check.result for check in _known({"type": kind, "version": 1})] == ["passed"]


@pytest.mark.parametrize("kind", ["", "spawn", "Spawn ", "Merge", "__class__", "\udc00"])
@pytest.mark.parametrize("version", [1, 2, "1"])
def test_an_unknown_kind_is_named_before_its_version(kind: str, version: Any) -> None:
    (check,) = _known({"type": kind, "version": version})
    assert (check.reason, check.pointer) == (Reason.UNKNOWN_MESSAGE_TYPE, "/type")


@pytest.mark.parametrize("version", [2, 2.0, 2**53 - 1])
def test_an_unknown_version_is_named(version: Any) -> None:
    (check,) = _known({"type": "Plan", "version": version})
    assert (check.reason, check.pointer) == (Reason.UNKNOWN_MESSAGE_VERSION, "/version")


def test_the_context_says_which_kinds_and_versions_the_receiver_knows() -> None:
    aisa = {"known_types_versions": {"Plan": [1, 2], "Cancel": []}}
    assert _known({"type": "Plan", "version": 2}, aisa)[0].result == "passed"
    assert _known({"type": "Plan", "version": 3}, aisa)[0].pointer == "/version"
    assert _known({"type": "Cancel", "version": 1}, aisa)[0].pointer == "/version"
    assert _known({"type": "Spawn", "version": 1}, aisa)[0].pointer == "/type"


@pytest.mark.parametrize(
    ("table", "where"),
    [([], "/aisa/known_types_versions"), ({"Plan": 1}, "/aisa/known_types_versions/Plan")],
)
def test_a_malformed_table_is_the_receiver_s_fault(table: Any, where: str) -> None:
    with pytest.raises(MaterialError) as caught:
        _known({"type": "Plan", "version": 1}, {"known_types_versions": table})
    assert (caught.value.code, caught.value.pointer) == (Reason.CONTEXT_MALFORMED, where)


@pytest.mark.parametrize("value", HOSTILE)
def test_known_leaves_a_document_without_a_kind_to_the_schema(value: Any) -> None:
    message = value if isinstance(value, dict) else {"type": value, "version": value}
    if not isinstance(message.get("type"), str):
        assert _known(message) == []


def test_an_artefact_is_bound_by_hash_and_length(sample: Sample) -> None:
    (binding,) = AISA_MESSAGE.bindings(sample("aisa/plan"))
    assert binding == Binding(
        "artefact",
        "/artefact/hash",
        "hex",
        "bytes",
        ref="papers/plan.md",
        size_pointer="/artefact/byte_length",
    )


def test_a_length_that_is_not_stated_is_not_compared(sample: Sample) -> None:
    message = sample("aisa/plan")
    del message["artefact"]["byte_length"]
    (binding,) = AISA_MESSAGE.bindings(message)
    assert binding.size_pointer is None


def test_where_the_hash_is_still_to_be_filled_so_is_the_length(sample: Sample) -> None:
    message = sample("aisa/plan")
    del message["artefact"]["byte_length"], message["artefact"]["hash"]
    (binding,) = AISA_MESSAGE.bindings(message)
    assert binding.size_pointer == "/artefact/byte_length"


def test_a_consult_binds_its_question(sample: Sample) -> None:
    (binding,) = AISA_MESSAGE.bindings(sample("aisa/consult"))
    assert (binding.pointer, binding.inline, binding.codec, binding.kind) == (
        "/payload/question_hash",
        "/payload/question",
        "hex",
        "text",
    )


def test_a_cancel_moves_the_counter_of_its_recipient_task(sample: Sample) -> None:
    message = sample("aisa/cancel")
    assert AISA_MESSAGE.advance(message) == ("fence:task:task-survey-01", 8)
    message["case_id"] = "case-2026-0002"
    assert AISA_MESSAGE.advance(message) == ("fence:task:task-survey-01", 8)


def test_a_cancel_without_a_task_moves_the_counter_of_its_case(sample: Sample) -> None:
    message = sample("aisa/cancel")
    del message["recipient_task_id"]
    assert AISA_MESSAGE.advance(message) == ("fence:case:case-2026-0001", 8)


@pytest.mark.parametrize("name", ["spawn", "consult", "dead-end"])
def test_no_other_kind_moves_a_counter(name: str, sample: Sample) -> None:
    assert AISA_MESSAGE.advance(sample(f"aisa/{name}")) is None

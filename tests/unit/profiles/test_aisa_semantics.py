"""AISA messages that fit their schema and contradict themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskseal.errors import Reason
from taskseal.profiles import AISA_MESSAGE, Check

Sample = Callable[[str], dict[str, Any]]
Walk = Callable[..., list[Check]]

PAPERS_OUTSIDE = [
    "",
    "   ",
    "/etc/passwd",
    "//server/share",
    "..",
    "../secret",
    "papers/../../secret",
    "papers/..",
    "papers/.. /secret",
    "papers\\plan.md",
    "..\\secret",
    "\\\\server\\share",
    "C:/secret",
    "c:secret",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "https://example.org/plan.md",
    "papers/plan.md\x00.txt",
    "papers/plan\n.md",
    "papers/plan\x7f.md",
]
PAPERS_INSIDE = [
    "plan",
    "papers/new.md",
    "papers/..plan",
    "papers/plan..md",
    "papers/...",
    "./plan.md",
    "paper:2026:1",
    "papers/żółć — «1».md",
]


def _failed(made: list[Check]) -> tuple[Reason | None, str | None]:
    assert made[-1].result == "failed", made
    return made[-1].reason, made[-1].pointer


def _holds(made: list[Check]) -> bool:
    return bool(made) and all(check.result != "failed" for check in made)


@pytest.mark.parametrize(
    "name",
    [
        "spawn",
        "plan",
        "plan-confirmation",
        "question",
        "answer",
        "result",
        "verdict",
        "finding",
        "consult-reply",
        "dead-end",
        "cancel",
    ],
)
def test_only_a_consult_has_a_deadline(name: str, sample: Sample, walk: Walk) -> None:
    message = sample(f"aisa/{name}")
    message["deadline"] = "2026-09-01T09:30:00Z"
    assert _failed(walk(AISA_MESSAGE, message)) == (Reason.SEMANTIC_INVALID, "/deadline")


@pytest.mark.parametrize(
    ("deadline", "holds"),
    [
        ("2026-09-01T08:09:00Z", False),
        ("2026-09-01T08:08:59.999999999Z", False),
        ("2026-09-01T08:09:00.000000001Z", True),
        ("2026-09-01T10:09:00+02:00", False),
        ("2026-09-01T10:09:01+02:00", True),
    ],
)
def test_a_deadline_is_after_occurred_on(
    deadline: str, holds: bool, sample: Sample, walk: Walk
) -> None:
    message = sample("aisa/consult")
    message["deadline"] = deadline
    made = walk(AISA_MESSAGE, message)
    assert _holds(made) if holds else _failed(made) == (Reason.SEMANTIC_INVALID, "/deadline")


@pytest.mark.parametrize("ref", PAPERS_OUTSIDE)
def test_a_paper_ref_never_leads_out_of_the_case(ref: str, sample: Sample, walk: Walk) -> None:
    message = sample("aisa/result")
    message["artefact"]["paper_ref"] = ref
    made = walk(AISA_MESSAGE, message)
    assert _failed(made) == (Reason.SEMANTIC_INVALID, "/artefact/paper_ref")


@pytest.mark.parametrize("ref", PAPERS_INSIDE)
def test_a_paper_ref_within_the_case_passes(ref: str, sample: Sample, walk: Walk) -> None:
    message = sample("aisa/result")
    message["artefact"]["paper_ref"] = ref
    assert _holds(walk(AISA_MESSAGE, message))


def _answered(reply: dict[str, Any], ref: str = "papers/answer.md") -> dict[str, Any]:
    reply["trust_class"] = "derived"
    del reply["payload"]["no_answer"]
    reply["payload"] |= {"outcome": "answered", "answer_paper_ref": ref}
    return reply


@pytest.mark.parametrize("ref", PAPERS_OUTSIDE)
def test_an_answer_s_paper_never_leads_out_either(ref: str, sample: Sample, walk: Walk) -> None:
    made = walk(AISA_MESSAGE, _answered(sample("aisa/consult-reply"), ref))
    assert _failed(made) == (Reason.SEMANTIC_INVALID, "/payload/answer_paper_ref")


def test_trust_is_absent_only_where_there_is_no_answer(sample: Sample, walk: Walk) -> None:
    reply = _answered(sample("aisa/consult-reply"))
    assert _holds(walk(AISA_MESSAGE, reply))
    reply["trust_class"] = "absent"
    assert _failed(walk(AISA_MESSAGE, reply)) == (Reason.SEMANTIC_INVALID, "/trust_class")


def test_a_reply_without_an_answer_may_state_another_trust(sample: Sample, walk: Walk) -> None:
    reply = sample("aisa/consult-reply")
    reply["trust_class"] = "untrusted"
    assert _holds(walk(AISA_MESSAGE, reply))


@pytest.mark.parametrize(
    ("name", "path", "where"),
    [
        ("question", ("payload", "alternatives", 1), "/payload/alternatives/1/a~1b~0c"),
        ("result", ("payload", "reconciliation"), "/payload/reconciliation/a~1b~0c"),
        ("verdict", ("payload", "checks", 0), "/payload/checks/0/a~1b~0c"),
        ("consult-reply", ("payload", "no_answer"), "/payload/no_answer/a~1b~0c"),
    ],
)
def test_nested_objects_take_no_member_that_the_seed_does_not_name(
    name: str, path: tuple[str | int, ...], where: str, sample: Sample, walk: Walk
) -> None:
    message: Any = sample(f"aisa/{name}")
    inner = message
    for step in path:
        inner = inner[step]
    inner["a/b~c"] = None
    assert _failed(walk(AISA_MESSAGE, message)) == (Reason.SCHEMA_INVALID, where)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("result", ("payload", "reconciliation", "steps_planned")),
        ("result", ("payload", "reconciliation", "steps_done")),
        ("result", ("payload", "reconciliation", "assertions_passed")),
        ("result", ("payload", "reconciliation", "assertions_failed")),
        ("consult-reply", ("payload", "no_answer", "waited_s")),
        ("consult-reply", ("payload", "no_answer", "queue_depth")),
        ("dead-end", ("payload", "minutes_used")),
    ],
)
def test_a_count_is_never_negative(
    name: str, path: tuple[str, ...], sample: Sample, walk: Walk
) -> None:
    message: Any = sample(f"aisa/{name}")
    inner = message
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = -1
    where = "/" + "/".join(path)
    assert _failed(walk(AISA_MESSAGE, message)) == (Reason.SEMANTIC_INVALID, where)
    inner[path[-1]] = 0
    assert _holds(walk(AISA_MESSAGE, message))


def test_a_count_that_may_be_absent_may_be_absent(sample: Sample, walk: Walk) -> None:
    message = sample("aisa/consult-reply")
    del message["payload"]["no_answer"]["queue_depth"]
    assert _holds(walk(AISA_MESSAGE, message))


DETAILS = {
    "answered": ("answer_paper_ref", "papers/answer.md"),
    "no_answer": ("no_answer", {"reason": "queue full", "waited_s": 1}),
    "needs_change": ("needs_change_in_module", "support"),
}


@pytest.mark.parametrize("outcome", DETAILS)
@pytest.mark.parametrize("detail", DETAILS)
def test_an_outcome_brings_its_own_detail_and_no_other(
    outcome: str, detail: str, sample: Sample, walk: Walk
) -> None:
    member, value = DETAILS[detail]
    own, own_value = DETAILS[outcome]
    reply = sample("aisa/consult-reply")
    reply["trust_class"] = "derived"
    reply["payload"] = {"in_reply_to": "msg-2026-0009", "outcome": outcome, member: value}
    made = walk(AISA_MESSAGE, reply)
    if outcome == detail:
        assert _holds(made)
    else:
        assert _failed(made) == (Reason.SEMANTIC_INVALID, f"/payload/{own}")
        reply["payload"][own] = own_value
        assert _failed(walk(AISA_MESSAGE, reply)) == (
            Reason.SEMANTIC_INVALID,
            f"/payload/{member}",
        )


def test_a_raised_gate_is_named(sample: Sample, walk: Walk) -> None:
    message = sample("aisa/plan-confirmation")
    message["payload"]["decision"] = "gate_raised"
    assert _failed(walk(AISA_MESSAGE, message)) == (Reason.SEMANTIC_INVALID, "/payload/gate_id")
    message["payload"]["gate_id"] = "gate-0001"
    assert _holds(walk(AISA_MESSAGE, message))
    message["payload"]["decision"] = "amended"
    assert _holds(walk(AISA_MESSAGE, message))


def test_a_human_gate_s_answer_names_the_decision(sample: Sample, walk: Walk) -> None:
    message = sample("aisa/answer")
    del message["payload"]["gate_decision_id"]
    made = walk(AISA_MESSAGE, message)
    assert _failed(made) == (Reason.SEMANTIC_INVALID, "/payload/gate_decision_id")
    message["payload"]["source"] = "policy"
    assert _holds(walk(AISA_MESSAGE, message))


@pytest.mark.parametrize("name", ["plan", "result"])
def test_a_truncated_plan_or_result_is_against_policy(
    name: str, sample: Sample, walk: Walk
) -> None:
    message = sample(f"aisa/{name}")
    message["artefact"]["truncated"] = True
    made = walk(AISA_MESSAGE, message)
    assert _failed(made) == (Reason.POLICY_REFUSED, "/artefact/truncated")
    assert _holds(walk(AISA_MESSAGE, message, allow_truncated=True))
    del message["artefact"]["truncated"]
    assert _holds(walk(AISA_MESSAGE, message))


@pytest.mark.parametrize("name", ["verdict", "finding"])
def test_other_kinds_may_show_a_truncated_artefact(name: str, sample: Sample, walk: Walk) -> None:
    message = sample(f"aisa/{name}")
    message["artefact"]["truncated"] = True
    assert _holds(walk(AISA_MESSAGE, message))

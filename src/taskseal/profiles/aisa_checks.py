"""What must hold within one AISA message beyond its schema.

Source: SPEC section 5.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from taskseal.canon.pointer import join
from taskseal.errors import Reason
from taskseal.profiles.base import Check, Checks, Envelope, Facts, failed, passed
from taskseal.validity import read_instant

_DEADLINE, _PAPER_REF, _TRUST_CLASS = map(passed, ("deadline", "paper_ref", "trust_class"))
_CLOSED, _COUNTS, _OUTCOME, _GATE = map(passed, ("closed", "counts", "outcome", "gate"))

# A drive letter, or a URI whose path begins at a root.
_ROOTED = re.compile(r"[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*:/")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_ALTERNATIVE = frozenset({"option", "consequence"})
_RECONCILIATION = (
    "steps_planned",
    "steps_done",
    "assertions_passed",
    "assertions_failed",
)
_VERDICT_CHECK = frozenset({"check", "result", "failing_item", "evidence_ref"})
_NO_ANSWER = frozenset({"reason", "waited_s", "queue_depth"})
_DETAIL_OF = {
    "answered": "answer_paper_ref",
    "no_answer": "no_answer",
    "needs_change": "needs_change_in_module",
}


def semantics(facts: Facts) -> Checks:
    """The checks that every kind of message meets, then those of its own kind."""
    envelope = facts.envelope
    kind = envelope["type"]
    own = _OF_KIND.get(kind)
    if own is not None:
        yield from own(envelope["payload"])
    yield _deadline(envelope, kind)
    yield _trust_class(envelope, kind)
    artefact = envelope.get("artefact")
    if artefact is not None:
        yield _paper_ref(artefact["paper_ref"], "/artefact/paper_ref")


def _deadline(envelope: Envelope, kind: str) -> Check:
    if "deadline" not in envelope:
        return _DEADLINE
    if kind != "Consult":
        detail = f"a {kind} has no deadline, only a Consult has"
        return failed("deadline", Reason.SEMANTIC_INVALID, detail, "/deadline")
    occurred, deadline = read_instant(envelope["occurred_on"]), read_instant(envelope["deadline"])
    if occurred is None or deadline is None or deadline <= occurred:
        detail = "the deadline is not after occurred_on"
        return failed("deadline", Reason.SEMANTIC_INVALID, detail, "/deadline")
    return _DEADLINE


def _trust_class(envelope: Envelope, kind: str) -> Check:
    """``absent`` is what the runtime writes on a ConsultReply that brings no answer."""
    if envelope["trust_class"] != "absent":
        return _TRUST_CLASS
    if kind == "ConsultReply" and envelope["payload"]["outcome"] == "no_answer":
        return _TRUST_CLASS
    detail = "absent is for a ConsultReply with outcome no_answer"
    return failed("trust_class", Reason.SEMANTIC_INVALID, detail, "/trust_class")


def _paper_ref(ref: str, where: str) -> Check:
    """A paper is named by its id or by a path within the case, and by nothing that leads out."""
    fault = None
    if not ref.strip():
        fault = "it is empty"
    elif ref.startswith("/") or _ROOTED.match(ref):
        fault = "it is absolute"
    elif "\\" in ref:
        fault = "it holds a backslash"
    elif _CONTROL.search(ref):
        fault = "it holds a control character"
    elif any(segment.strip() == ".." for segment in ref.split("/")):
        fault = "it climbs out of the case"
    if fault is None:
        return _PAPER_REF
    return failed("paper_ref", Reason.SEMANTIC_INVALID, fault, where)


def _closed(item: dict[str, Any], members: Iterable[str], *where: str | int) -> Check:
    """A nested object that the schema leaves open has no members but ``members``."""
    surplus = next((name for name in item if name not in members), None)
    if surplus is None:
        return _CLOSED
    detail = "this object takes no further members"
    return failed("closed", Reason.SCHEMA_INVALID, detail, join(("payload", *where, surplus)))


def _all_closed(items: list[dict[str, Any]], members: frozenset[str], name: str) -> Check:
    for index, item in enumerate(items):
        if not item.keys() <= members:
            return _closed(item, members, name, index)
    return _CLOSED


def _counts(item: dict[str, Any], members: Iterable[str], where: str) -> Check:
    for name in members:
        if item.get(name, 0) < 0:
            return failed("counts", Reason.SEMANTIC_INVALID, "it is negative", f"{where}/{name}")
    return _COUNTS


def _needs(payload: dict[str, Any], member: str, because: str) -> Check:
    if member in payload:
        return _GATE
    detail = f"{because} names its {member}"
    return failed("gate", Reason.SEMANTIC_INVALID, detail, f"/payload/{member}")


def _question(payload: dict[str, Any]) -> Iterator[Check]:
    yield _all_closed(payload["alternatives"], _ALTERNATIVE, "alternatives")


def _result(payload: dict[str, Any]) -> Iterator[Check]:
    reconciliation = payload["reconciliation"]
    yield _closed(reconciliation, _RECONCILIATION, "reconciliation")
    yield _counts(reconciliation, _RECONCILIATION, "/payload/reconciliation")


def _verdict(payload: dict[str, Any]) -> Iterator[Check]:
    yield _all_closed(payload["checks"], _VERDICT_CHECK, "checks")


def _plan_confirmation(payload: dict[str, Any]) -> Iterator[Check]:
    if payload["decision"] == "gate_raised":
        yield _needs(payload, "gate_id", "a raised gate")


def _answer(payload: dict[str, Any]) -> Iterator[Check]:
    if payload["source"] == "human_gate":
        yield _needs(payload, "gate_decision_id", "a decision of a human gate")


def _consult_reply(payload: dict[str, Any]) -> Iterator[Check]:
    no_answer = payload.get("no_answer")
    if no_answer is not None:
        yield _closed(no_answer, _NO_ANSWER, "no_answer")
        yield _counts(no_answer, ("waited_s", "queue_depth"), "/payload/no_answer")
    yield _outcome(payload)
    if "answer_paper_ref" in payload:
        yield _paper_ref(payload["answer_paper_ref"], "/payload/answer_paper_ref")


def _outcome(payload: dict[str, Any]) -> Check:
    """Each outcome has its own detail, and no other's."""
    outcome = payload["outcome"]
    own = _DETAIL_OF[outcome]
    if own not in payload:
        detail = f"the outcome {outcome} needs {own}"
        return failed("outcome", Reason.SEMANTIC_INVALID, detail, f"/payload/{own}")
    for member in _DETAIL_OF.values():
        if member != own and member in payload:
            detail = f"it does not belong to the outcome {outcome}"
            return failed("outcome", Reason.SEMANTIC_INVALID, detail, f"/payload/{member}")
    return _OUTCOME


def _dead_end(payload: dict[str, Any]) -> Iterator[Check]:
    yield _counts(payload, ("minutes_used",), "/payload")


def _cancel(payload: dict[str, Any]) -> Iterator[Check]:
    # A double from 10^21 on counts as an integer in JSON Schema; no counter can follow it.
    if type(payload["fence_epoch"]) is not int:
        detail = "the epoch is larger than any counter"
        yield failed("counts", Reason.SEMANTIC_INVALID, detail, "/payload/fence_epoch")
    else:
        yield _COUNTS


_OF_KIND: dict[str, Callable[[dict[str, Any]], Iterator[Check]]] = {
    "Question": _question,
    "Result": _result,
    "Verdict": _verdict,
    "PlanConfirmation": _plan_confirmation,
    "Answer": _answer,
    "ConsultReply": _consult_reply,
    "DeadEnd": _dead_end,
    "Cancel": _cancel,
}

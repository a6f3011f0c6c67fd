"""An AISA message held against what its receiver knows: replies, fence epochs, ceilings.

A context member that is absent leaves its check ``skipped``, with what was missing.

Source: SPEC section 5.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from taskseal.errors import Reason
from taskseal.profiles.base import Check, Checks, Envelope, Facts, failed, passed, skipped
from taskseal.profiles.supplied import listing, mapping, number
from taskseal.validity import MINUTE, read_instant

_REPLIES, _FENCE, _GRANTS, _BUDGET = map(passed, ("replies", "fence", "grants", "budget"))
_NO_REPLIES = skipped("replies", "the known message ids were not supplied")
_NO_KINDS = skipped("replies", "it answers a known message, whose kind was not supplied")
_LEDGER_FENCE = skipped("fence", "the ledger compares it")
_NO_FENCE = skipped("fence", "last_fence_epoch was not supplied")
_NO_TASK = skipped("fence", "the message names no recipient task")
_NO_GRANTS = skipped("grants", "the parent's grants were not supplied")
_NO_REMAINDER = skipped("budget", "the parent's remaining_minutes were not supplied")
_NO_REQUESTER = skipped("budget", "requester_remaining_minutes were not supplied")

# What a reply answers: the context member that lists such messages, and the other one.
_ANSWERS = {
    "Answer": ("Question", "question_message_ids", "consult_message_ids"),
    "ConsultReply": ("Consult", "consult_message_ids", "question_message_ids"),
}


def relations(facts: Facts) -> Checks:
    """The checks against the context, by the message's kind."""
    envelope, known = facts.envelope, facts.context.aisa
    kind = envelope["type"]
    if kind in _ANSWERS:
        yield _replies(kind, envelope["payload"]["in_reply_to"], known)
    elif kind == "Cancel":
        yield _LEDGER_FENCE if facts.fence_in_ledger else _fence(envelope, known)
    elif kind == "Spawn":
        yield from _spawn(envelope["payload"], known)
    elif kind == "Consult":
        yield _consult(envelope, known)


def _replies(kind: str, answered: str, known: Mapping[str, Any]) -> Check:
    """The list of the right kind decides; without it, the other lists can only refuse."""
    wanted, right, wrong = _ANSWERS[kind]
    of_kind = listing(known, "aisa", right)
    if of_kind is not None:
        if answered in of_kind:
            return _REPLIES
        return _mismatch(f"it answers no known {wanted}")
    if answered in (listing(known, "aisa", wrong) or ()):
        return _mismatch(f"what it answers is no {wanted}")
    anything = listing(known, "aisa", "known_message_ids")
    if anything is None:
        return _NO_REPLIES
    return _NO_KINDS if answered in anything else _mismatch("it answers no known message")


def _mismatch(detail: str) -> Check:
    return failed("replies", Reason.REPLY_MISMATCH, detail, "/payload/in_reply_to")


def _fence(envelope: Envelope, known: Mapping[str, Any]) -> Check:
    """The epoch rises above the last one of its recipient task; the first may be any."""
    last_of = mapping(known, "aisa", "last_fence_epoch")
    if last_of is None:
        return _NO_FENCE
    task = envelope.get("recipient_task_id")
    if task is None:
        return _NO_TASK
    last = number(last_of, "aisa", "last_fence_epoch", task)
    if last is not None and envelope["payload"]["fence_epoch"] <= last:
        detail = f"the last epoch for this task was {last}"
        return failed("fence", Reason.FENCE_STALE, detail, "/payload/fence_epoch")
    return _FENCE


def _spawn(payload: dict[str, Any], known: Mapping[str, Any]) -> Iterator[Check]:
    """A child gets no grant that its parent lacks, and no more minutes than the parent has."""
    parent = mapping(known, "aisa", "parent") or {}
    grants = listing(parent, "aisa", "parent", "grants")
    yield _NO_GRANTS if grants is None else _grants(payload["grant_subset"], grants)
    remaining = number(parent, "aisa", "parent", "remaining_minutes")
    if remaining is None:
        yield _NO_REMAINDER
    elif payload["budget_minutes"] > remaining:
        detail = f"the parent has {remaining} minutes left"
        yield failed("budget", Reason.CEILING_EXCEEDED, detail, "/payload/budget_minutes")
    else:
        yield _BUDGET


def _grants(wanted: list[str], held: Any) -> Check:
    for index, grant in enumerate(wanted):
        if grant not in held:
            detail, where = "the parent does not hold it", f"/payload/grant_subset/{index}"
            return failed("grants", Reason.CEILING_EXCEEDED, detail, where)
    return _GRANTS


def _consult(envelope: Envelope, known: Mapping[str, Any]) -> Check:
    """The deadline is within the requester's minutes, counted from ``occurred_on``.

    They are counted from the message and not from the receiver's clock: what the requester may
    still spend was fixed when it asked, and the verdict does not change while the message waits.
    """
    minutes = number(known, "aisa", "requester_remaining_minutes")
    if minutes is None:
        return _NO_REQUESTER
    occurred, deadline = read_instant(envelope["occurred_on"]), read_instant(envelope["deadline"])
    if occurred is None or deadline is None or deadline - occurred > minutes * MINUTE:
        detail = f"the requester had {minutes} minutes left when it asked"
        return failed("budget", Reason.CEILING_EXCEEDED, detail, "/deadline")
    return _BUDGET

"""AISA messages: ``aisa.message/v1``, twelve kinds between tasks, signed from outside.

Source: SPEC sections 0, 2.5 and 5.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from taskseal.errors import Reason
from taskseal.profiles.aisa_answer import answer
from taskseal.profiles.aisa_checks import semantics
from taskseal.profiles.aisa_relations import relations
from taskseal.profiles.base import (
    Binding,
    Check,
    Checks,
    Envelope,
    Facts,
    Profile,
    failed,
    passed,
)
from taskseal.profiles.schema import Schema
from taskseal.profiles.supplied import listing, mapping

SIZE_LIMIT = 256 * 1024
"""Bytes."""
TYPES = frozenset(
    {
        "Spawn",
        "Plan",
        "PlanConfirmation",
        "Question",
        "Answer",
        "Result",
        "Verdict",
        "Finding",
        "Consult",
        "ConsultReply",
        "DeadEnd",
        "Cancel",
    }
)
"""The kinds of message; each stands at version 1."""

_KNOWN, _TRUNCATED = map(passed, ("known", "truncated"))
_VERSIONS = (1,)


def recognise(value: Any) -> bool:
    """Whether ``value`` is meant as an AISA message, of a kind known or not.

    The version is left to :func:`known` and the schema, so that a bad one is named as such.
    """
    return (
        isinstance(value, dict)
        and "schema" not in value
        and isinstance(value.get("type"), str)
        and isinstance(value.get("message_id"), str)
        and isinstance(value.get("case_id"), str)
    )


def known(facts: Facts) -> Checks:
    """Whether this receiver knows the message's kind and its version.

    The context's ``known_types_versions`` stands in place of the twelve kinds at version 1. What
    is no type (a text) or no version (an integer from 1) is left to the schema. Made before the
    schema, on any JSON object.
    """
    kind, version = facts.envelope.get("type"), facts.envelope.get("version")
    if not isinstance(kind, str):
        return
    table = mapping(facts.context.aisa, "aisa", "known_types_versions")
    versions: Collection[Any] | None = _VERSIONS if kind in TYPES else None
    if table is not None:
        versions = listing(table, "aisa", "known_types_versions", kind)
    if versions is None:
        detail = "the receiver knows no message of this type"
        yield failed("known", Reason.UNKNOWN_MESSAGE_TYPE, detail, "/type")
    elif not _is_version(version):
        return
    elif version not in versions:
        detail = f"the receiver knows no version {version} of this type"
        yield failed("known", Reason.UNKNOWN_MESSAGE_VERSION, detail, "/version")
    else:
        yield _KNOWN


def _is_version(value: object) -> bool:
    return isinstance(value, int | float) and value is not True and value >= 1 and value % 1 == 0


def bindings(envelope: Envelope) -> Iterator[Binding]:
    """The artefact by its ``paper_ref``, and the hash of a Consult's question."""
    artefact = envelope.get("artefact")
    if isinstance(artefact, dict):
        ref = artefact.get("paper_ref")
        # Where the hash is still to be filled, so is the length.
        sized = "byte_length" in artefact or "hash" not in artefact
        yield Binding(
            "artefact",
            "/artefact/hash",
            "hex",
            "bytes",
            ref=ref if isinstance(ref, str) else None,
            size_pointer="/artefact/byte_length" if sized else None,
        )
    if envelope.get("type") == "Consult":
        where, inline = "/payload/question_hash", "/payload/question"
        yield Binding("question", where, "hex", "text", inline=inline)


def rules(facts: Facts) -> Iterator[Check]:
    """A Plan or a Result that was cut off is allowed by the standard, and not here."""
    envelope = facts.envelope
    if envelope["type"] in ("Plan", "Result"):
        if envelope["artefact"].get("truncated") is True and not facts.allow_truncated:
            detail = "the artefact was cut off"
            yield failed("truncated", Reason.POLICY_REFUSED, detail, "/artefact/truncated")
        else:
            yield _TRUNCATED


def advance(envelope: Envelope) -> tuple[str, int] | None:
    """The fence counter that a Cancel moves, and its epoch; None for every other kind.

    The counter belongs to the recipient task alone, whoever sends and in whatever case; a
    Cancel that names no task has its case's own counter.
    """
    if envelope.get("type") != "Cancel":
        return None
    task = envelope.get("recipient_task_id")
    scope = f"fence:case:{envelope['case_id']}" if task is None else f"fence:task:{task}"
    epoch: int = envelope["payload"]["fence_epoch"]
    return scope, epoch


AISA_MESSAGE = Profile(
    id="aisa.message/v1",
    title="AISA message",
    recognise=recognise,
    schema=Schema.named("aisa.message.v1"),
    replay=(("message_id", "/message_id"),),
    scope="/case_id",
    issued="/occurred_on",
    expires="/deadline",
    size_limit=SIZE_LIMIT,
    known=known,
    semantics=semantics,
    bindings=bindings,
    relations=relations,
    rules=rules,
    advance=advance,
    answer=answer,
)
"""Messages between AISA tasks, all twelve kinds."""

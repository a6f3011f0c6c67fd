"""The ready DeadEnd with which a receiver answers a message of an unknown kind or version.

Source: SPEC section 5.4.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.profiles.base import AisaIdentity, Facts
from taskseal.profiles.schema import Schema
from taskseal.validity import write_instant

_SCHEMA = Schema.named("aisa.message.v1")
_SHOWN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SEEN = {Reason.UNKNOWN_MESSAGE_TYPE: "type", Reason.UNKNOWN_MESSAGE_VERSION: "version"}
_ID_DIGITS = 48


def answer(facts: Facts, reason: Reason, me: AisaIdentity) -> dict[str, Any] | None:
    """An unsigned DeadEnd to the sender's task, or None where there is none to give.

    Only the two unknown-message reasons are answered, and a DeadEnd never is. Nothing of the
    message goes into the answer unless it fits there, so that a message whose case or sender
    is unusable gets None.

    The ``message_id`` is the digest of both messages: the same verdict at the same instant
    gives the same answer, and no two answers share an id.
    """
    member, envelope = _SEEN.get(reason), facts.envelope
    sender = envelope.get("sender")
    if member is None or envelope.get("type") == "DeadEnd" or not isinstance(sender, dict):
        return None
    reply: dict[str, Any] = {
        "type": "DeadEnd",
        "version": 1,
        "case_id": envelope.get("case_id"),
        "task_path": me.task_path,
        "sender": _sender(me),
        "occurred_on": write_instant(facts.now),
        "trust_class": "derived",
        "recipient_task_id": sender.get("task_id"),
        "payload": {
            "reason": reason.value,
            "checked": [_shown(envelope.get(member))],
            "minutes_used": 0,
            "would_need": f"a receiver that knows this {member}",
        },
    }
    try:
        met = canonicalise(dict(envelope))
        digest = sha256(sha256(met).digest() + canonicalise(reply)).hexdigest()
    except InputError:
        return None
    reply["message_id"] = f"deadend-{digest[:_ID_DIGITS]}"
    return None if _SCHEMA.fault(reply) is not None else reply


def _sender(me: AisaIdentity) -> dict[str, Any]:
    sender: dict[str, Any] = {
        "task_id": me.task_id,
        "profile_key": me.profile_key,
        "profile_version": me.profile_version,
    }
    if me.runtime_version is not None:
        sender["runtime_version"] = me.runtime_version
    return sender


def _shown(value: object) -> str:
    """The value that was seen, or the digest of one that is no plain word."""
    text = str(value)
    return (
        text
        if _SHOWN.fullmatch(text)
        else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    )

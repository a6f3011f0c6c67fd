"""What became of a decided action: Dharma's acknowledgement, which no one signs.

Source: SPEC section 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import InputError, Reason
from taskseal.profiles.base import Check, failed, passed, skipped
from taskseal.profiles.dharma_digest import CODEC, fit, portable_digest
from taskseal.profiles.schema import Schema
from taskseal.validity import SECOND, Instant, to_instant, write_instant

Became = Literal["executed", "contained", "unknown"]
"""Done; kept from having an effect; nobody can tell."""

_SCHEMA = Schema.named("dharma.action-acknowledgement.v1")
_MILLISECOND = SECOND // 1000
# What an acknowledgement repeats of its task, and where the task has it.
_REPEATED = (
    ("taskId", "/taskId"),
    ("endpointId", "/target/endpointId"),
    ("actionDigest", "/actionDecision/actionDigest"),
)


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What an endpoint says became of an action; each member as it is spelt in the JSON.

    Get one by :func:`acknowledge` or :meth:`read`: those check the members.
    """

    task_id: str
    endpoint_id: str
    action_digest: str
    disposition: Became
    external_idempotency_key_hash: str
    result_digest: str
    acknowledged_at: str

    @classmethod
    def read(cls, value: object) -> Acknowledgement:
        """The acknowledgement in a JSON value.

        Raises:
            InputError: ``schema_invalid`` with the pointer of what does not fit.
        """
        fault = _SCHEMA.fault(value)
        if fault is not None:
            raise InputError(Reason.SCHEMA_INVALID, fault.detail, pointer=fault.pointer)
        assert isinstance(value, dict)
        return cls(
            task_id=value["taskId"],
            endpoint_id=value["endpointId"],
            action_digest=value["actionDigest"],
            disposition=value["disposition"],
            external_idempotency_key_hash=value["externalIdempotencyKeyHash"],
            result_digest=value["resultDigest"],
            acknowledged_at=value["acknowledgedAt"],
        )

    def to_json(self) -> dict[str, str]:
        """The JSON object."""
        return {
            "taskId": self.task_id,
            "endpointId": self.endpoint_id,
            "actionDigest": self.action_digest,
            "disposition": self.disposition,
            "externalIdempotencyKeyHash": self.external_idempotency_key_hash,
            "resultDigest": self.result_digest,
            "acknowledgedAt": self.acknowledged_at,
        }

    def refreshed(self, at: datetime | str | Instant) -> Acknowledgement:
        """The same, said again at ``at``: nothing else changes.

        Raises:
            InputError: ``usage`` when ``at`` is no instant.
        """
        return replace(self, acknowledged_at=_milliseconds(at))


def acknowledge(
    *,
    task_id: str,
    endpoint_id: str,
    action_digest: str,
    disposition: Became,
    external_idempotency_key: str,
    result: object,
    at: datetime | str | Instant,
    allow_divergent: bool = False,
) -> Acknowledgement:
    """Says what became of an action.

    Args:
        task_id, endpoint_id: the task's ``taskId`` and ``target.endpointId``.
        action_digest: the decision's ``actionDigest``.
        disposition: what became of it.
        external_idempotency_key: the key under which the outside was asked; its hash is kept.
        result: the result, a JSON value; its digest is kept.
        at: when this is said; written with milliseconds.
        allow_divergent: digest the result also where Dharma's own order gives other bytes.

    Raises:
        InputError: ``schema_invalid`` when a member is not of its kind; ``usage`` when ``at`` is
            no instant; ``not_portable`` or a reason of :func:`taskseal.canonicalise` when the
            result has no digest.
    """
    digest = portable_digest(result, allow_divergent=allow_divergent)
    return Acknowledgement.read(
        {
            "taskId": task_id,
            "endpointId": endpoint_id,
            "actionDigest": action_digest,
            "disposition": disposition,
            "externalIdempotencyKeyHash": _key_hash(external_idempotency_key),
            "resultDigest": digest.text(CODEC),
            "acknowledgedAt": _milliseconds(at),
        }
    )


def check_acknowledgement(
    said: Acknowledgement,
    *,
    task: Mapping[str, Any] | None = None,
    external_idempotency_key: str | None = None,
    result: object = MISSING,
) -> Iterator[Check]:
    """Holds an acknowledgement against what the asker knows; what is not given is skipped.

    Args:
        said: the acknowledgement.
        task: the task as it was sent, with its decision.
        external_idempotency_key: the key under which the outside was to be asked.
        result: the result, a JSON value.

    Raises:
        InputError: when the key or the result has no canonical form.
    """
    told = said.to_json()
    for member, where in _REPEATED:
        known = MISSING if task is None else resolve(task, where)
        if known is MISSING:
            yield skipped(member, "no task that says it was given")
        elif type(known) is not str or known.lower() != told[member].lower():
            yield failed(member, Reason.BINDING_MISMATCH, "the task says another", f"/{member}")
        else:
            yield passed(member)
    name = "externalIdempotencyKeyHash"
    if external_idempotency_key is None:
        yield skipped(name, "no key was given")
    elif _key_hash(external_idempotency_key) != told[name]:
        yield failed(name, Reason.DIGEST_MISMATCH, "it is another key's", f"/{name}")
    else:
        yield passed(name)
    name = "resultDigest"
    if result is MISSING:
        yield skipped(name, "no result was given")
        return
    fault = fit(told[name], result).fault
    yield passed(name) if fault is None else failed(name, *fault, f"/{name}")


def _key_hash(key: str) -> str:
    try:
        return sha256(key.encode()).hexdigest()
    except UnicodeEncodeError:
        raise InputError(
            Reason.LONE_SURROGATE, "the idempotency key is not one that UTF-8 can spell"
        ) from None


def _milliseconds(at: datetime | str | Instant) -> str:
    """``at`` as JavaScript spells it: always three digits of a second."""
    whole, part = divmod(to_instant(at) // _MILLISECOND, 1000)
    return f"{write_instant(whole * SECOND)[:-1]}.{part:03d}Z"

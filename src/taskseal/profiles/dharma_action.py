"""What a Dharma decision decides about: ``dharma.task-action/v1``, known by its digest only.

Source: SPEC section 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.profiles.base import Profile, by_constant
from taskseal.profiles.dharma_digest import portable_digest
from taskseal.profiles.schema import Schema

TASK_ACTION = "dharma.task-action/v1"
SIZE_LIMIT = 1024 * 1024
"""Bytes; an action is made of a task and is no larger."""

_SCHEMA = Schema.named("dharma.task-action.v1")
_TAKEN_OVER = (
    "organizationId",
    "taskId",
    "workspaceId",
    "taskType",
    "instructions",
    "skillBundle",
    "requiredSkills",
    "authority",
    "execution",
    "acceptance",
    "budget",
    "expiresAt",
)
_HANDED_OVER = ("source", "stateEnvelope", "evidenceReferences")
"""Members of an action whose task has a source."""


def task_action(task: Mapping[str, Any], action_id: object) -> dict[str, Any]:
    """The action that ``task`` describes, under the id that its receipt gives it.

    Nothing is checked but the endpoint: a member that the task lacks is missing in the action
    too, and :func:`fitting_action` says so. The members are the task's own values, not copies.

    Raises:
        InputError: ``endpoint_missing`` when the task names no endpoint.
    """
    target = task.get("target")
    endpoint = target.get("endpointId") if isinstance(target, Mapping) else None
    if endpoint is None or endpoint == "":
        raise InputError(Reason.ENDPOINT_MISSING, pointer="/target/endpointId")
    taken = _TAKEN_OVER + (_HANDED_OVER if "source" in task else ())
    action = {"schema": TASK_ACTION, "actionId": action_id, "targetEndpointId": endpoint}
    return action | {name: task[name] for name in taken if name in task}


def fitting_action(action: Mapping[str, Any]) -> Mapping[str, Any]:
    """``action`` itself, which fits its schema.

    Raises:
        InputError: ``action_schema_invalid`` with the pointer into the action.
    """
    fault = _SCHEMA.fault(action)
    if fault is not None:
        raise InputError(Reason.ACTION_SCHEMA_INVALID, fault.detail, pointer=fault.pointer)
    return action


def read_action(action: Mapping[str, Any]) -> Mapping[str, Any]:
    """A copy of ``action``, which fits its schema and which strict JSON could have spelt.

    Raises:
        InputError: ``action_schema_invalid`` with the pointer into the action.
    """
    try:
        copy: dict[str, Any] = parse(canonicalise(fitting_action(action))).value
    except InputError as fault:
        detail = fault.detail
        if fault.code is not Reason.ACTION_SCHEMA_INVALID:
            detail = f"{fault.code}: {detail}"
        raise InputError(Reason.ACTION_SCHEMA_INVALID, detail, pointer=fault.pointer) from None
    return copy


def action_digest(action: Mapping[str, Any], *, allow_divergent: bool = False) -> Digest:
    """What stands as ``actionDigest`` in the receipt about ``action``.

    Args:
        action: a ``dharma.task-action/v1`` object.
        allow_divergent: take the RFC 8785 form also where Dharma's own order gives other bytes.

    Raises:
        InputError: ``action_schema_invalid``; ``not_portable`` where the two forms differ.
    """
    return portable_digest(read_action(action), allow_divergent=allow_divergent)


DHARMA_TASK_ACTION = Profile(
    id=TASK_ACTION,
    title="Dharma task action",
    recognise=by_constant("/schema", TASK_ACTION),
    discriminator=("/schema", TASK_ACTION),
    schema=_SCHEMA,
    schema_reason=Reason.ACTION_SCHEMA_INVALID,
    canonical="dharma",
    forms=(),
    size_limit=SIZE_LIMIT,
)
"""What a decision decides about; digested, never signed."""

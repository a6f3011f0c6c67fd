"""Dharma decisions: ``dharma.action-decision-receipt/v1``, a receipt and its signature around it.

What stands here needs no key and no clock; ``verify.receipt`` has the order of the checks.

Source: SPEC section 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taskseal.errors import Reason
from taskseal.profiles.base import Profile, by_constant
from taskseal.profiles.schema import Schema
from taskseal.validity import RECEIPT_MAX_LIFETIME

DECISION_RECEIPT = "dharma.action-decision-receipt/v1"
SIZE_LIMIT = 64 * 1024
"""Bytes."""
RELEASE = "release"
"""The one outcome that authorises."""

RECEIPT_SCHEMA = Schema.named("dharma.action-decision-receipt.v1")

_OUTSIDE = (("id", "decisionId"), ("keyVersion", "keyVersion"))
_OF_THE_ACTION = ("organizationId", "taskId", "actionId", "targetEndpointId", "workspaceId")


def unbound(
    decision: Mapping[str, Any], receipt: Mapping[str, Any], action: Mapping[str, Any]
) -> str | None:
    """Where ``decision`` contradicts its receipt, or the receipt the action; None if nowhere.

    The pointer is into the decision. Ids compare as they are spelt, as the peer compares them.
    """
    for outer, inner in _OUTSIDE:
        if decision.get(outer) != receipt[inner]:
            return f"/{outer}"
    for member in _OF_THE_ACTION:
        if receipt[member] != action[member]:
            return f"/receipt/{member}"
    return None


DHARMA_ACTION_DECISION = Profile(
    id=DECISION_RECEIPT,
    title="Dharma action decision",
    recognise=by_constant("/receipt/schema", DECISION_RECEIPT),
    schema=Schema.named("dharma.action-decision.v1"),
    schema_reason=Reason.RECEIPT_SCHEMA_INVALID,
    canonical="dharma",
    signature="/signature",
    signed="/receipt",
    forms=("embedded",),
    decision="",
    key_version=("/receipt/keyVersion",),
    replay=(("decisionId", "/receipt/decisionId"), ("nonce", "/receipt/nonce")),
    fold=frozenset({"decisionId"}),
    scope="/receipt/organizationId",
    issued="/receipt/issuedAt",
    expires="/receipt/expiresAt",
    max_lifetime=RECEIPT_MAX_LIFETIME,
    size_limit=SIZE_LIMIT,
    identity={
        "organisation": "/receipt/organizationId",
        "workspace": "/receipt/workspaceId",
    },
    fills={
        "/receipt/issuedAt": "now",
        "/receipt/expiresAt": "expiry",
        "/receipt/nonce": "nonce",
        "/receipt/keyVersion": "key_version",
        "/keyVersion": "key_version",
    },
)
"""The decision about one task: a receipt, and the signature over it."""

"""What a turn request's classification must hold beyond its schema: quarantine and lowered tiers.

Source: SPEC section 5.5, ``classification.v1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from taskseal.errors import Reason
from taskseal.profiles.base import Check, failed, passed
from taskseal.validity import FUTURE_SKEW, SECOND, Instant, read_instant

TIERS = ("Public", "Community", "Personal")
"""From the most open to the most guarded."""
TIER_RANK = {tier: rank for rank, tier in enumerate(TIERS)}

_QUARANTINE, _DECLASSIFICATION = map(passed, ("quarantine", "declassification"))
_EFFECTIVE = "/classification/effective_tier"


def classification_checks(classification: dict[str, Any], now: Instant) -> Iterator[Check]:
    """Nothing is in quarantine, and every step down from the source tier has its fact."""
    yield _quarantine(classification)
    yield _declassification(classification, now)


def _quarantine(classification: dict[str, Any]) -> Check:
    if "quarantine" not in classification:
        return _QUARANTINE
    detail = f"held since it entered for {classification['quarantine']['reason']}"
    return failed("quarantine", Reason.QUARANTINED, detail, "/classification/quarantine")


def _declassification(classification: dict[str, Any], now: Instant) -> Check:
    """Each step from the source tier down has a fact; the schema says that there is no way up."""
    highest = TIER_RANK[classification["source_tier"]]
    lowest = TIER_RANK[classification["effective_tier"]]
    trail = classification["declassify_trail"]
    for rank in range(highest, lowest, -1):
        upper, lower = TIERS[rank], TIERS[rank - 1]
        if not any(_lowers(fact, upper, lower, now) for fact in trail):
            detail = f"no valid, anchored fact takes it from {upper} to {lower}"
            return failed("declassification", Reason.DECLASSIFICATION_MISSING, detail, _EFFECTIVE)
    return _DECLASSIFICATION


def _lowers(fact: dict[str, Any], upper: str, lower: str, now: Instant) -> bool:
    """Whether ``fact`` is for this step, anchored, issued and not expired.

    A persistent fact ends at the earlier of its ``expires_at`` and its ``ttl_seconds``.
    """
    if fact["from"] != upper or fact["to"] != lower or not fact.get("revocation_anchor"):
        return False
    issued = read_instant(fact["issued_at"])
    if issued is None or issued > now + FUTURE_SKEW:
        return False
    ends = []
    if "expires_at" in fact:
        ends.append(read_instant(fact["expires_at"]))
    if "ttl_seconds" in fact["mode"]:
        ends.append(issued + fact["mode"]["ttl_seconds"] * SECOND)
    return all(end is not None and now < end for end in ends)

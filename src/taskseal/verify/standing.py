"""Whether a key may speak: now, under this profile, in this name.

Source: SPEC sections 4.3, 4.6, 4.7 and 4.10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.screening import is_published
from taskseal.validity import Instant
from taskseal.verify.policy import Policy
from taskseal.verify.revocation import Evidence


def key_fault(
    entry: KeyEntry,
    profile: str,
    now: Instant,
    policy: Policy,
    evidence: Sequence[Evidence] | None = None,
) -> tuple[Reason, str] | None:
    """Why the key may not verify a message of ``profile`` at ``now``, or None.

    With ``evidence`` the caller asks later when a revocation was: where there is any, or policy
    looks for it, the revocation is not looked at here. Without, a revoked key verifies nothing.
    """
    assert entry.key is not None
    barred = is_published(entry.key.thumbprint) and not policy.allow_published_keys
    fits = profile in entry.profiles and not barred
    if fits and entry.stands(now):
        return None
    if evidence or (evidence is not None and policy.allow_signed_before_revocation):
        entry = replace(entry, revoked_at=None)
    fault = entry.gate_fault(now) or entry.keyset_fault(now)
    if barred:
        fault = Reason.PUBLISHED_KEY
    if fits and fault is None:
        return None
    who = f"key {entry.key_version[:80]!r} of {entry.issuer!r}"
    if fault is not None:
        return fault, who
    return Reason.KEY_WRONG_PROFILE, f"{who} may not sign {profile}"


def bind_fault(entry: KeyEntry, claims: Mapping[str, Any]) -> tuple[str, str] | None:
    """Where ``claims`` say what the key may not, and why; None when it may say all of it."""
    for pointer, allowed in entry.bind.items():
        value = resolve(claims, pointer)
        if value is MISSING or not any(type(value) is type(ok) and value == ok for ok in allowed):
            return pointer, f"key {entry.key_version!r} may not speak for it"
    return None

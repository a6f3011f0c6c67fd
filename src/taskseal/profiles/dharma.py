"""Dharma tasks: ``dharma.task/v1``, signed in place by a version of the organisation's key.

A task may carry the decision about itself; ``verify.receipt`` holds the two against each other.

Source: SPEC sections 0, 2.6 and 5.1.
"""

from __future__ import annotations

from typing import Any

from taskseal.errors import Reason
from taskseal.profiles.base import (
    Binding,
    Check,
    Envelope,
    Facts,
    Profile,
    by_constant,
    failed,
    passed,
)
from taskseal.profiles.schema import Schema

SIZE_LIMIT = 1024 * 1024
"""Bytes."""

_SKILLS, _NETWORK = map(passed, ("skills", "network"))
_HASH_LENGTH = {"sha256": 64, "blake3": 64}
_COMMIT_LENGTHS = (40, 64)


def semantics(facts: Facts) -> tuple[Check, ...]:
    """What must hold in a task that fits its schema."""
    return _skills(facts.envelope), _network(facts.envelope["authority"])


def _skills(envelope: Envelope) -> Check:
    """Commits and content hashes have a length that fits, which the schema leaves open."""
    for index, skill in enumerate(envelope["requiredSkills"]):
        if len(skill["commit"]) not in _COMMIT_LENGTHS:
            where = f"/requiredSkills/{index}/commit"
            detail = "a commit has 40 or 64 hexadecimal digits"
            return failed("skills", Reason.SEMANTIC_INVALID, detail, where)
        algorithm, _, digits = skill["contentHash"].partition(":")
        wanted = _HASH_LENGTH[algorithm]
        if len(digits) != wanted:
            where = f"/requiredSkills/{index}/contentHash"
            detail = f"a {algorithm} hash has {wanted} hexadecimal digits"
            return failed("skills", Reason.DIGEST_MALFORMED, detail, where)
    return _SKILLS


def _network(authority: dict[str, Any]) -> Check:
    """Domains are listed only where the mode reads them; an empty list is the schema's default."""
    if authority.get("allowlistedDomains") and authority["network"] != "allowlisted_domains":
        detail = f"domains are listed, but network is {authority['network']}"
        where = "/authority/allowlistedDomains"
        return failed("network", Reason.SEMANTIC_INVALID, detail, where)
    return _NETWORK


def bindings(envelope: Envelope) -> list[Binding]:
    """The content hash of every required skill, and the bundle's hash.

    A skill's folder is named by its ``skillId``, the bundle by its ``bundleId``.
    """
    found = []
    skills, bundle = envelope.get("requiredSkills"), envelope.get("skillBundle")
    for index, skill in enumerate(skills if isinstance(skills, list) else ()):
        if isinstance(skill, dict):
            digest, ref = skill.get("contentHash"), skill.get("skillId")
            blake3 = isinstance(digest, str) and digest.startswith("blake3:")
            found.append(
                Binding(
                    "skill",
                    f"/requiredSkills/{index}/contentHash",
                    "blake3:hex" if blake3 else "sha256:hex",
                    "skill",
                    ref if isinstance(ref, str) else None,
                    any_case=True,
                )
            )
    if isinstance(bundle, dict):
        ref = bundle.get("bundleId")
        ref = ref if isinstance(ref, str) else None
        found.append(Binding("bundle", "/skillBundle/bundleHash", "sha256:hex", "bundle", ref))
    return found


DHARMA_TASK = Profile(
    id="dharma.task/v1",
    title="Dharma task",
    recognise=by_constant("/schema", "dharma.task/v1"),
    discriminator=("/schema", "dharma.task/v1"),
    schema=Schema.named("dharma.task.v1"),
    canonical="dharma",
    signature="/signature",
    decision="/actionDecision",
    key_version=("/signerKeyVersion",),
    replay=(("taskId", "/taskId"), ("nonce", "/nonce")),
    fold=frozenset({"taskId"}),
    scope="/organizationId",
    issued="/createdAt",
    expires="/expiresAt",
    size_limit=SIZE_LIMIT,
    identity={
        "organisation": "/organizationId",
        "workspace": "/workspaceId",
        "device": "/target/deviceId",
    },
    fills={
        "/createdAt": "now",
        "/expiresAt": "expiry",
        "/nonce": "nonce",
        "/signerKeyVersion": "key_version",
    },
    semantics=semantics,
    bindings=bindings,
)
"""Tasks of the Dharma fabric."""

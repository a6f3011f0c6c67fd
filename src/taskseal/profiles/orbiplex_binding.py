"""A turn request held against the binding that its receiver made with the agent.

Source: SPEC sections 2.4 and 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from taskseal.canon.digest import Digest, self_digest
from taskseal.canon.pointer import escape
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.profiles.base import Check, Checks, Envelope, Facts, failed, passed, skipped
from taskseal.profiles.orbiplex_classification import TIER_RANK
from taskseal.profiles.schema import Schema
from taskseal.profiles.supplied import mapping
from taskseal.validity import read_instant

BINDING_SCHEMA = Schema.named("orbiplex.binding.v1")
CODEC = "sha256:b64url"
"""How Orbiplex spells every digest."""

_REFS, _DIGEST, _EXPIRY = map(passed, ("binding refs", "binding digest", "binding expiry"))
_CEILINGS, _OFFERS = map(passed, ("ceilings", "offers"))
_NO_BINDING = skipped("binding", "no binding was supplied")

_VISIBILITY_RANK = {"private": 0, "operator": 1, "shared": 2}
_OFFERED = (
    ("prompt-policy/ref", "prompt-policy/refs"),
    ("output-schema/ref", "output-schema/refs"),
)


def relations(facts: Facts) -> Checks:
    """The checks against the context's ``binding`` object, skipped when there is none.

    Raises:
        MaterialError: ``context_malformed`` when the binding does not fit its schema.
    """
    binding = mapping(facts.context.orbiplex, "orbiplex", "binding")
    if binding is None:
        yield _NO_BINDING
        return
    fault = BINDING_SCHEMA.fault(binding)
    if fault is not None:
        where = f"/orbiplex/binding{fault.pointer}"
        raise MaterialError(Reason.CONTEXT_MALFORMED, fault.detail, pointer=where)
    yield _refs(facts.envelope, binding)
    yield _digest(facts.envelope, binding)
    yield _expiry(facts.envelope, binding)
    yield from _ceilings(facts.envelope, binding)
    yield _offers(facts.envelope, binding)


def _refs(envelope: Envelope, binding: Mapping[str, Any]) -> Check:
    for member in ("binding/ref", "agent/id"):
        if envelope[member] != binding[member]:
            detail, where = "the binding supplied names another", f"/{escape(member)}"
            return failed("binding refs", Reason.BINDING_MISMATCH, detail, where)
    return _REFS


def _digest(envelope: Envelope, binding: Mapping[str, Any]) -> Check:
    """The request and the binding both carry the digest that the binding really has."""
    try:
        real = self_digest(dict(binding), "binding/digest")
    except InputError as fault:
        where = f"/orbiplex/binding{fault.pointer or ''}"
        raise MaterialError(Reason.CONTEXT_MALFORMED, fault.detail, pointer=where) from None
    for whose, carrier in (("binding", binding), ("request", envelope)):
        if not _is_digest(carrier["binding/digest"], real):
            detail = f"the {whose} carries another digest than the binding supplied has"
            return failed("binding digest", Reason.DIGEST_MISMATCH, detail, "/binding~1digest")
    return _DIGEST


def _is_digest(text: str, real: Digest) -> bool:
    try:
        return Digest.read(text, CODEC) == real
    except InputError:
        return False


def _expiry(envelope: Envelope, binding: Mapping[str, Any]) -> Check:
    deadline, expires = read_instant(envelope["deadline/at"]), read_instant(binding["expires/at"])
    if deadline is None or expires is None or deadline > expires:
        detail = f"the binding expires at {binding['expires/at']}"
        return failed("binding expiry", Reason.BINDING_MISMATCH, detail, "/deadline~1at")
    return _EXPIRY


def _ceilings(envelope: Envelope, binding: Mapping[str, Any]) -> Iterator[Check]:
    """Passage, visibility, tier and every axis of the budget stay at or below what is bound."""
    for wanted, most, where in _measures(envelope, binding):
        if wanted > most:
            detail = "it is above the binding's ceiling"
            yield failed("ceilings", Reason.CEILING_EXCEEDED, detail, where)
            return
    yield _CEILINGS


def _measures(envelope: Envelope, binding: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    yield envelope["passage/no"], binding["max/passages"], "/passage~1no"
    yield (
        _VISIBILITY_RANK[envelope["visibility"]],
        _VISIBILITY_RANK[binding["visibility/ceiling"]],
        "/visibility",
    )
    yield (
        TIER_RANK[envelope["classification"]["effective_tier"]],
        TIER_RANK[binding["classification/ceiling"]],
        "/classification/effective_tier",
    )
    ceiling = binding["budget/turn-ceiling"]
    for axis, wanted in envelope["budget/reservation"].items():
        yield wanted, ceiling[axis], f"/budget~1reservation/{axis}"


def _offers(envelope: Envelope, binding: Mapping[str, Any]) -> Check:
    for member, offered in _OFFERED:
        if envelope[member] not in binding[offered]:
            detail, where = "the binding does not offer it", f"/{escape(member)}"
            return failed("offers", Reason.BINDING_MISMATCH, detail, where)
    return _OFFERS

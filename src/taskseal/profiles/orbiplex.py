"""Orbiplex turn requests: ``orbiplex.turn-request/v1``, closed, so signed from outside.

Source: SPEC sections 0, 2.4 and 5.5.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from taskseal.canon.digest import Digest
from taskseal.canon.pointer import join
from taskseal.errors import InputError, Reason
from taskseal.profiles.base import (
    Binding,
    Check,
    Checks,
    Envelope,
    Facts,
    Profile,
    by_constant,
    failed,
    passed,
)
from taskseal.profiles.orbiplex_binding import CODEC, relations
from taskseal.profiles.orbiplex_classification import classification_checks
from taskseal.profiles.schema import Schema
from taskseal.validity import read_instant

SIZE_LIMIT = 16 * 1024 * 1024
"""Bytes."""
INSTRUCTION = "instruction"
"""The name under which a caller supplies the instruction material."""

_REFS, _DEADLINE, _OBSERVATION = map(passed, ("refs", "deadline", "observation"))
_DIGEST_TEXT = passed("binding digest text")

_SINGLE_REFS = (
    "turn/ref",
    "binding/ref",
    "agent/id",
    "passage/ref",
    "prompt-policy/ref",
    "output-schema/ref",
    "idempotency/key",
    "admitted/by",
)
# Control, format, surrogate, unassigned, and the three kinds of separator.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"})


def semantics(facts: Facts) -> Checks:
    """What must hold in a turn request that fits its schema."""
    envelope = facts.envelope
    yield _refs(envelope, facts.signing)
    yield _deadline(envelope)
    yield _binding_digest_text(envelope)
    if "observation" in envelope:
        yield _observation(envelope["observation"])
    yield from classification_checks(envelope["classification"], facts.now)


def _refs(envelope: Envelope, signing: bool) -> Check:
    """Refs hold visible characters only; what is signed here holds ASCII ones only.

    Two refs that look alike must not differ. Which characters are assigned is this Python's
    Unicode version to say, so that a newer one is refused by an older Python.
    """
    joined = "".join([ref for _, ref in _each_ref(envelope)])
    if joined.isascii() and joined.isprintable() and " " not in joined:
        return _REFS
    for where, ref in _each_ref(envelope):
        refused = next((char for char in ref if not _takes(char, signing)), None)
        if refused is not None:
            detail = f"U+{ord(refused):04X} may not stand in a ref"
            if signing:
                detail += ": only ! to ~ is signed"
            return failed("refs", Reason.SCHEMA_INVALID, detail, join(where))
    return _REFS


def _each_ref(envelope: Envelope) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for name in _SINGLE_REFS:
        yield (name,), envelope[name]
    for index, ref in enumerate(envelope["parent-product/refs"]):
        yield ("parent-product/refs", index), ref
    for index, part in enumerate(envelope["input/parts"]):
        if part["kind"] == "artifact":
            yield ("input/parts", index, "artifact/ref"), part["artifact/ref"]
    observation = envelope.get("observation")
    if observation is not None:
        for name in ("request/ref", "receipt/ref"):
            if name in observation:
                yield ("observation", name), observation[name]
        for index, ref in enumerate(observation["evidence/refs"]):
            yield ("observation", "evidence/refs", index), ref


def _takes(char: str, signing: bool) -> bool:
    if "!" <= char <= "~":
        return True
    if signing:
        return False
    return unicodedata.category(char) not in _REFUSED


def _deadline(envelope: Envelope) -> Check:
    admitted, deadline = (
        read_instant(envelope["admitted/at"]),
        read_instant(envelope["deadline/at"]),
    )
    if admitted is None or deadline is None or deadline <= admitted:
        detail = "the deadline is not after admitted/at"
        return failed("deadline", Reason.SEMANTIC_INVALID, detail, "/deadline~1at")
    return _DEADLINE


def _binding_digest_text(envelope: Envelope) -> Check:
    """It has one spelling also where no binding is at hand to compare it with."""
    try:
        Digest.read(envelope["binding/digest"], CODEC)
    except InputError as fault:
        check, where = "binding digest text", "/binding~1digest"
        return failed(check, Reason.DIGEST_MALFORMED, fault.detail, where)
    return _DIGEST_TEXT


def _observation(observation: dict[str, Any]) -> Check:
    """What was admitted has completed, and nothing else has."""
    admitted = observation["disposition"] == "admitted"
    if admitted != (observation["reason/code"] == "completed"):
        detail = "admitted goes with completed, refused with every other code"
        where = "/observation/reason~1code"
        return failed("observation", Reason.SEMANTIC_INVALID, detail, where)
    return _OBSERVATION


def bindings(envelope: Envelope) -> Iterator[Binding]:
    """The input parts, every artefact among them by its ref, and the instruction material."""
    yield Binding("input", "/input~1digest", CODEC, "json", inline="/input~1parts")
    parts = envelope.get("input/parts")
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        if isinstance(part, dict) and part.get("kind") == "artifact":
            where, ref = f"/input~1parts/{index}", part.get("artifact/ref")
            yield Binding(
                "artefact",
                f"{where}/artifact~1digest",
                CODEC,
                "bytes",
                ref=ref if isinstance(ref, str) else None,
                size_pointer=f"{where}/artifact~1size-bytes",
            )
    yield Binding("instruction", "/instruction~1hash", CODEC, "nfc-json", ref=INSTRUCTION)


ORBIPLEX_TURN_REQUEST = Profile(
    id="orbiplex.turn-request/v1",
    title="Orbiplex turn request",
    recognise=by_constant("/schema", "agent.external-runtime.turn-request.v1"),
    discriminator=("/schema", "agent.external-runtime.turn-request.v1"),
    schema=Schema.named("orbiplex.turn-request.v1"),
    tag="agent.external-runtime.turn-request.v1",
    replay=(("idempotency/key", "/idempotency~1key"),),
    scope="/agent~1id",
    issued="/admitted~1at",
    expires="/deadline~1at",
    size_limit=SIZE_LIMIT,
    semantics=semantics,
    bindings=bindings,
    relations=relations,
)
"""Turn requests to an external runtime."""

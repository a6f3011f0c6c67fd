"""What a receiver hands back: ``taskseal.acceptance/v1``, always signed as a JWS.

Source: SPEC sections 4.7, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Iterator

from taskseal.errors import Reason
from taskseal.profiles.base import (
    Binding,
    Check,
    Envelope,
    Facts,
    Kind,
    Profile,
    by_constant,
    failed,
    passed,
)
from taskseal.profiles.schema import Schema
from taskseal.validity import read_instant

ACCEPTANCE_ID = "taskseal.acceptance/v1"
SIZE_LIMIT = 1024 * 1024
"""Bytes."""
OUTCOME = "outcome"
"""How the outcome is named among the artefacts of an acceptance."""
CODEC = "sha256:hex"

_TIMES, _LISTS, _NAMES = map(passed, ("acceptance times", "acceptance checks", "artefact names"))


def semantics(facts: Facts) -> Iterator[Check]:
    """What must hold in an acceptance that fits its schema."""
    envelope = facts.envelope
    yield _times(envelope)
    yield _lists(envelope)
    yield _names(envelope)


def _times(envelope: Envelope) -> Check:
    received, accepted = read_instant(envelope["receivedAt"]), read_instant(envelope["acceptedAt"])
    if received is None or accepted is None or accepted < received:
        detail = "it was accepted before it was received"
        return failed("acceptance times", Reason.SEMANTIC_INVALID, detail, "/acceptedAt")
    return _TIMES


def _lists(envelope: Envelope) -> Check:
    skipped = [line["check"] for line in envelope["checks"] if line["result"] == "skipped"]
    if skipped != envelope["unchecked"]:
        detail = "it does not list the checks that were skipped"
        return failed("acceptance checks", Reason.SEMANTIC_INVALID, detail, "/unchecked")
    return _LISTS


def _names(envelope: Envelope) -> Check:
    """Each artefact has a name of its own, and none the outcome's."""
    seen = {OUTCOME}
    for index, artefact in enumerate(envelope["artefacts"]):
        if artefact["name"] in seen:
            where = f"/artefacts/{index}/name"
            return failed("artefact names", Reason.SEMANTIC_INVALID, "it is taken", where)
        seen.add(artefact["name"])
    return _NAMES


def bindings(envelope: Envelope) -> Iterator[Binding]:
    """The outcome, and every artefact by its name."""
    outcome = envelope.get("outcome")
    if isinstance(outcome, dict):
        kind: Kind = "json" if outcome.get("kind") == "json" else "bytes"
        yield Binding("outcome", "/outcome/digest", CODEC, kind, ref=OUTCOME)
    artefacts = envelope.get("artefacts")
    for index, artefact in enumerate(artefacts if isinstance(artefacts, list) else ()):
        if isinstance(artefact, dict) and isinstance(artefact.get("name"), str):
            where = f"/artefacts/{index}/digest"
            yield Binding("artefact", where, CODEC, "bytes", ref=artefact["name"])


ACCEPTANCE = Profile(
    id=ACCEPTANCE_ID,
    title="taskseal acceptance",
    recognise=by_constant("/schema", ACCEPTANCE_ID),
    discriminator=("/schema", ACCEPTANCE_ID),
    schema=Schema.named("taskseal.acceptance.v1"),
    replay=(("fingerprint", "/fingerprint"),),
    issued="/acceptedAt",
    expires="/keptUntil",
    max_lifetime=None,
    size_limit=SIZE_LIMIT,
    semantics=semantics,
    bindings=bindings,
)
"""Acceptances. ``keptUntil`` is their expiry; how long that is, is the receiver's to say."""

"""The samples of AISA and Orbiplex: good ones sign and verify, bad ones are refused in place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import (
    NOW,
    SAMPLES,
    instant,
    load,
    new_signer,
    pins_of,
    sample_artefacts,
    sample_context,
    sign_anyway,
)

from taskseal.errors import InputError, Reason
from taskseal.ledger import open_ledger
from taskseal.profiles import BUILT_IN
from taskseal.receiver import Receiver
from taskseal.signing import sign
from taskseal.verify import Accepted, Identity, Refused, Verifier

GOOD = [*sorted((SAMPLES / "aisa").glob("*.json")), *sorted((SAMPLES / "orbiplex").glob("*.json"))]
ENTRIES = load(SAMPLES / "invalid/manifest.json")["entries"]
PROFILE = {"aisa": "aisa.message/v1", "orbiplex": "orbiplex.turn-request/v1"}

# The manifest's codes are working names; these are the reasons that they became.
REASON = {
    "unknown_message_type": Reason.UNKNOWN_MESSAGE_TYPE,
    "unknown_message_version": Reason.UNKNOWN_MESSAGE_VERSION,
    "payload_kind_mismatch": Reason.SCHEMA_INVALID,
    "deadline_not_allowed": Reason.SEMANTIC_INVALID,
    "deadline_before_occurred": Reason.SEMANTIC_INVALID,
    "artefact_length_mismatch": Reason.DIGEST_MISMATCH,
    "pattern": Reason.SCHEMA_INVALID,
    "question_hash_mismatch": Reason.DIGEST_MISMATCH,
    "const": Reason.SCHEMA_INVALID,
    "fence_epoch_not_monotonic": Reason.FENCE_STALE,
    "integer_out_of_safe_range": Reason.INTEGER_OUT_OF_RANGE,
    "trust_class_absent_misused": Reason.SEMANTIC_INVALID,
    "outcome_detail_missing": Reason.SEMANTIC_INVALID,
    "unexpected_member": Reason.SCHEMA_INVALID,
    "timestamp": Reason.SCHEMA_INVALID,
    "number_not_finite": Reason.NUMBER_OUT_OF_RANGE,
    "digest_noncanonical": Reason.DIGEST_MALFORMED,
    "binding_digest_mismatch": Reason.DIGEST_MISMATCH,
    "required_missing": Reason.SCHEMA_INVALID,
    "binding_expired": Reason.BINDING_MISMATCH,
    "visibility_above_ceiling": Reason.CEILING_EXCEEDED,
    "classification_above_ceiling": Reason.CEILING_EXCEEDED,
    "declassification_required": Reason.DECLASSIFICATION_MISSING,
    "budget_above_ceiling": Reason.CEILING_EXCEEDED,
    "passage_above_max": Reason.CEILING_EXCEEDED,
    "prompt_policy_not_offered": Reason.BINDING_MISMATCH,
    "artifact_size_mismatch": Reason.DIGEST_MISMATCH,
    "idempotency_conflict": Reason.REPLAY_CONFLICT,
    "number_not_exact": Reason.NUMBER_NOT_EXACT,
    "observation_contradiction": Reason.SEMANTIC_INVALID,
}
LEDGER_CODES = {"idempotency_conflict"}


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_a_good_sample_signs_and_verifies_with_nothing_unchecked_but_the_audience(
    path: Any,
) -> None:
    signer = new_signer()
    known = {"artefacts": sample_artefacts(), "context": sample_context(), "at": NOW}
    signed = sign(path.read_bytes(), signer, **known)
    verdict = Verifier(pins_of(signer)).check(signed.blob, **known)
    assert isinstance(verdict, Accepted), verdict
    assert verdict.envelope == load(path)
    assert verdict.digest == signed.digest
    # The context names no parent task and no requester's budget to compare with.
    assert set(verdict.unchecked) <= {"audience", "grants", "budget"}


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_a_good_sample_verifies_with_its_signature_beside_it(path: Any) -> None:
    signer = new_signer()
    known = {"artefacts": sample_artefacts(), "context": sample_context(), "at": NOW}
    for format in ("jws-detached", "jws-compact", "jws-unencoded"):
        signed = sign(path.read_bytes(), signer, format=format, **known)
        verdict = Verifier(pins_of(signer)).check(
            path.read_bytes(), signature=signed.blob + b"\n", **known
        )
        assert isinstance(verdict, Accepted), verdict
        assert verdict.form == "jws-detached"


def fits(pointer: str | None, entry: dict[str, Any]) -> bool:
    if entry["code"] == "payload_kind_mismatch":
        return pointer is not None and pointer.startswith("/payload")
    return pointer == entry["pointer"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_a_bad_sample_is_refused_at_its_pointer_when_signing(entry: dict[str, Any]) -> None:
    if entry["code"] in LEDGER_CODES:
        return  # a signer keeps no ledger; the receiver's test below has it
    data = (SAMPLES / "invalid" / entry["file"]).read_bytes()
    with pytest.raises((Refused, InputError)) as caught:
        sign(
            data,
            new_signer(),
            artefacts=sample_artefacts(),
            context=sample_context(),
            at=NOW,
        )
    assert caught.value.code == REASON[entry["code"]], caught.value
    assert fits(caught.value.pointer, entry), caught.value


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_a_bad_sample_signed_anyway_is_refused_at_its_pointer(entry: dict[str, Any]) -> None:
    data = (SAMPLES / "invalid" / entry["file"]).read_bytes()
    profile = BUILT_IN[PROFILE[entry["system"]]]
    signer = new_signer()
    blob = sign_anyway(data, signer, profile)
    verifier = Verifier(pins_of(signer), clock=lambda: instant(NOW))
    known: dict[str, Any] = {"artefacts": sample_artefacts(), "context": sample_context()}
    if entry["code"] not in LEDGER_CODES:
        verdict = verifier.check(blob, **known)
        assert isinstance(verdict, Refused), verdict
        assert verdict.reason == REASON[entry["code"]], verdict
        assert fits(verdict.pointer, entry), verdict
    with open_ledger("memory:") as ledger:
        receiver = Receiver(verifier, ledger, Identity.ANY, clock=verifier.clock)
        if entry["code"] == "idempotency_conflict":
            first = sign_anyway(load(SAMPLES / "orbiplex/start.json"), signer, profile)
            assert isinstance(receiver.accept(first, **known), Accepted)
        if entry["code"] == "fence_epoch_not_monotonic":
            value = json.loads(data)
            earlier = replace_fence(value, known["context"]["aisa"]["last_fence_epoch"])
            first = sign_anyway(earlier, signer, profile)
            assert isinstance(receiver.accept(first, **known), Accepted)
        received = receiver.accept(blob, **known)
        assert isinstance(received, Refused), received
        assert received.reason == REASON[entry["code"]], received
        assert fits(received.pointer, entry), received


def replace_fence(message: dict[str, Any], last: dict[str, int]) -> dict[str, Any]:
    """The message that the context says was accepted before: same task, its last epoch."""
    (epoch,) = last.values()
    return message | {
        "message_id": "msg-earlier-01",
        "payload": message["payload"] | {"fence_epoch": epoch},
    }


def test_the_table_of_codes_is_complete() -> None:
    assert {entry["code"] for entry in ENTRIES} == REASON.keys()


def test_a_start_that_the_ledger_holds_is_a_duplicate_also_when_expired() -> None:
    signer = new_signer()
    now = [instant(NOW)]
    verifier = Verifier(pins_of(signer), clock=lambda: now[0])
    known: dict[str, Any] = {"artefacts": sample_artefacts(), "context": sample_context()}
    blob = sign((SAMPLES / "orbiplex/start.json").read_bytes(), signer, at=NOW, **known).blob
    with open_ledger("memory:") as ledger:
        receiver = Receiver(verifier, ledger, Identity.ANY, clock=verifier.clock)
        assert isinstance(receiver.accept(blob, **known), Accepted)
        assert type(receiver.accept(blob, **known)).__name__ == "Duplicate"
        rotated = new_signer("test/2")
        again = sign((SAMPLES / "orbiplex/start.json").read_bytes(), rotated, at=NOW, **known).blob
        both = Verifier(pins_of(signer, rotated), clock=verifier.clock)
        second = Receiver(both, ledger, Identity.ANY, clock=verifier.clock)
        assert type(second.accept(again, **known)).__name__ == "Duplicate"

"""A Dharma decision under examination: the peer's order and reasons, then what is checked here.

A decision comes alone, as the document, or as a member of the task that it decides. Either way
it is held against the action: structure, times, bindings, digests, key and signature as the
peer does, text for text; then the key's standing and the state that was judged. What the
outcome allows is asked last, when everything else has held.

Source: SPEC section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import InputError, Reason
from taskseal.keys.algorithms import Algorithm, scheme
from taskseal.keys.entry import KeyEntry
from taskseal.profiles.base import passed, skipped
from taskseal.profiles.dharma_action import fitting_action, read_action, task_action
from taskseal.profiles.dharma_digest import fit
from taskseal.profiles.dharma_receipt import (
    DHARMA_ACTION_DECISION,
    RECEIPT_SCHEMA,
    RELEASE,
    unbound,
)
from taskseal.validity import Window, read_instant
from taskseal.verify.examination import Examination
from taskseal.verify.standing import bind_fault, key_fault

_ACTION, _RECEIPT, _TIMES, _BINDING, _DIGEST, _KEY, _SIGNATURE, _SIGNER, _STATE, _OUTCOME = map(
    passed,
    (
        "action",
        "receipt",
        "receipt times",
        "receipt binding",
        "action digest",
        "receipt key",
        "receipt signature",
        "receipt signer",
        "receipt state",
        "outcome",
    ),
)
_UNSIGNED = "the receiver's keys are not at hand when a task is signed"


@dataclass(frozen=True, slots=True)
class _Decision:
    """A decision, where it stands in the envelope, and the action that it is held against."""

    value: Mapping[str, Any]
    at: str
    action: Mapping[str, Any]

    @property
    def receipt(self) -> Any:
        return self.value.get("receipt")


def check_alone(exam: Examination) -> None:
    """The decision that is the document: held against the action that the receiver supplied.

    It proves who signed. At signing, where nobody has yet, key and signature are left out.

    Raises:
        Refused: at the first step that does not hold.
    """
    known, receipt = exam.context.dharma, exam.envelope.get("receipt")
    given = known.get("action", known.get("task"))
    if given is None:
        exam.fail(
            "action", Reason.ACTION_SCHEMA_INVALID, "neither the action nor its task was supplied"
        )

    def supplied() -> Mapping[str, Any]:
        if "action" in known:
            return read_action(given)
        action_id = receipt.get("actionId") if isinstance(receipt, dict) else None
        return read_action(task_action(given, action_id))

    decision = _Decision(exam.envelope, "", _action(exam, supplied))
    window = _check_claims(exam, decision)
    exam.issued, exam.expires = window
    if not exam.signing:
        exam.entry = _check_signature(exam, decision)
        _check_signer(exam, decision, exam.entry, window)
        exam.signed, exam.authentic = canonicalise(decision.receipt), True
    _check_state(exam, decision)
    exam.outcome = decision.receipt["outcome"]


def check_carried(exam: Examination) -> None:
    """The decision that a task carries: held against that task; or that the task lacks one.

    At signing the keys of the receiver are not known, so that key and signature are skipped.

    Raises:
        Refused: at the first step that does not hold.
    """
    at = exam.kind.decision
    if not at:
        return
    value: Any = resolve(exam.envelope, at)
    if value is MISSING:
        if exam.terms.receipt:
            exam.fail("receipt", Reason.RECEIPT_MISSING, pointer=at)
        return
    action_id = value["receipt"]["actionId"]

    def described() -> Mapping[str, Any]:
        return fitting_action(task_action(exam.envelope, action_id))

    decision = _Decision(value, at, _action(exam, described))
    window = _check_claims(exam, decision)
    if exam.signing:
        _signature(exam, decision)
        exam.add(skipped("receipt key", _UNSIGNED))
        exam.add(skipped("receipt signature", _UNSIGNED))
    else:
        entry = _check_signature(exam, decision)
        _check_signer(exam, decision, entry, window)
    _check_state(exam, decision)
    assert exam.expires is not None
    exam.expires = min(exam.expires, window.expires)
    exam.outcome = decision.receipt["outcome"]


def check_outcome(exam: Examination) -> None:
    """Only a release authorises. Who signs a decision may decide anything.

    Raises:
        Refused: ``not_authorised``.
    """
    alone = exam.kind.decision == ""
    if exam.outcome is None or (alone and exam.signing):
        return
    exam.authorised = exam.outcome == RELEASE
    said = f"the decision is {exam.outcome}"
    if exam.authorised:
        exam.add(_OUTCOME)
    elif exam.policy.allow_unauthorised:
        exam.add(skipped("outcome", f"{said}, and policy lets it pass"))
    else:
        where = f"{exam.kind.decision}/receipt/outcome"
        exam.fail("outcome", Reason.NOT_AUTHORISED, said, where)


def _action(exam: Examination, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    try:
        action = make()
    except InputError as fault:
        # The pointer leads into the action, which is no part of the message.
        where = fault.pointer or "the top"
        exam.fail("action", fault.code, f"{fault.detail} (at {where})")
    exam.add(_ACTION)
    return action


def _check_claims(exam: Examination, decision: _Decision) -> Window:
    """What the peer asks before it looks for a key; the receipt's times."""
    fault = RECEIPT_SCHEMA.fault(decision.receipt)
    if fault is not None:
        where = f"{decision.at}/receipt{fault.pointer}"
        exam.fail("receipt", Reason.RECEIPT_SCHEMA_INVALID, fault.detail, where)
    exam.add(_RECEIPT)
    window = _check_times(exam, decision)
    found = unbound(decision.value, decision.receipt, decision.action)
    if found is not None:
        detail = "the decision, its receipt and the action do not name the same"
        exam.fail("receipt binding", Reason.BINDING_MISMATCH, detail, decision.at + found)
    exam.add(_BINDING)
    _check_digest(exam, decision)
    return window


def _check_times(exam: Examination, decision: _Decision) -> Window:
    receipt = decision.receipt
    issued = _instant(exam, receipt["issuedAt"], f"{decision.at}/receipt/issuedAt")
    expiry_at = f"{decision.at}/receipt/expiresAt"
    expires = _instant(exam, receipt["expiresAt"], expiry_at)
    end = _instant(exam, decision.action["expiresAt"], None)
    if expires > end:
        detail = "it outlives the action"
        exam.fail("receipt times", Reason.INVALID_LIFETIME, detail, expiry_at)
    window = Window(issued, expires)
    fault = window.fault(exam.now, exam.policy.terms(DHARMA_ACTION_DECISION).limits)
    if fault is not None:
        exam.fail("receipt times", *fault, expiry_at)
    exam.add(_TIMES)
    return window


def _instant(exam: Examination, text: object, where: str | None) -> int:
    instant = read_instant(text)
    if instant is None:
        detail = f"time_malformed: {str(text)[:60]!r} is not an RFC 3339 instant"
        exam.fail("receipt times", Reason.INVALID_LIFETIME, detail, where)
    return instant


def _check_digest(exam: Examination, decision: _Decision) -> None:
    """Both digests are the action's."""
    text = decision.receipt["actionDigest"]
    if decision.value.get("actionDigest") != text:
        detail = "it is not the receipt's"
        where = f"{decision.at}/actionDigest"
        exam.fail("action digest", Reason.DIGEST_MISMATCH, detail, where)
    found = fit(text, decision.action)
    if found.fault is not None:
        exam.fail("action digest", *found.fault, f"{decision.at}/receipt/actionDigest")
    if found.canonical == "dharma":
        exam.canonical = "dharma"
    exam.add(_DIGEST)


def _check_signature(exam: Examination, decision: _Decision) -> KeyEntry:
    version, where = decision.receipt["keyVersion"], f"{decision.at}/keyVersion"
    entry = exam.find_key(version)
    if isinstance(entry, Reason):
        exam.fail("receipt key", entry, f"key version {version[:80]!r}", where)
    key = entry.key
    assert key is not None
    if key.algorithm is not Algorithm.ED25519:
        exam.fail("receipt key", Reason.ALGORITHM_MISMATCH, "receipts take Ed25519", where)
    exam.add(_KEY)
    if not key.verify(canonicalise(decision.receipt), _signature(exam, decision)):
        exam.fail("receipt signature", Reason.BAD_SIGNATURE, pointer=f"{decision.at}/signature")
    exam.add(_SIGNATURE)
    return entry


def _signature(exam: Examination, decision: _Decision) -> bytes:
    text, where = decision.value.get("signature"), f"{decision.at}/signature"
    if text is None or text == "":
        exam.fail("receipt signature", Reason.SIGNATURE_MISSING, pointer=where)
    raw = b64url_decode(text)
    if raw is None or len(raw) != scheme(Algorithm.ED25519).signature_size:
        detail = "it is not a signature in its one spelling"
        exam.fail("receipt signature", Reason.BAD_SIGNATURE, detail, where)
    return raw


def _check_signer(exam: Examination, decision: _Decision, entry: KeyEntry, window: Window) -> None:
    """The key of a good signature stands, for receipts, and may speak for whom it does."""
    where = f"{decision.at}/keyVersion"
    fault = key_fault(entry, DHARMA_ACTION_DECISION.id, exam.now, exam.policy)
    if fault is not None:
        exam.fail("receipt signer", *fault, where)
    retired = entry.retired_fault(exam.now, window.issued)
    if retired is not None:
        exam.fail("receipt signer", retired, f"key {entry.key_version!r}", where)
    claim = bind_fault(entry, decision.receipt)
    if claim is not None:
        pointer, detail = claim
        where = f"{decision.at}/receipt{pointer}"
        exam.fail("receipt signer", Reason.PRINCIPAL_MISMATCH, detail, where)
    exam.add(_SIGNER)


def _check_state(exam: Examination, decision: _Decision) -> None:
    """What was judged is what is handed over; a task without source hands nothing over."""
    receipt, action = decision.receipt, decision.action
    if "source" not in action:
        exam.add(skipped("receipt state", "the task has no source, so that it hands no state over"))
        return
    if receipt["evidenceReferences"] != action["evidenceReferences"]:
        detail, where = "it is not the evidence handed over", "/receipt/evidenceReferences"
        exam.fail("receipt state", Reason.STATE_MISMATCH, detail, decision.at + where)
    found = fit(receipt["stateEnvelopeHash"], action["stateEnvelope"])
    if found.fault is not None:
        reason, detail = found.fault
        if reason is Reason.DIGEST_MISMATCH:
            reason = Reason.STATE_MISMATCH
        exam.fail("receipt state", reason, detail, f"{decision.at}/receipt/stateEnvelopeHash")
    exam.add(_STATE)

"""From an authentic envelope to a verdict: schema, sense, time, receiver, bindings, policy.

Source: SPEC sections 2, 3, 5 and 7, order of checks.
"""

from __future__ import annotations

from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import Reason
from taskseal.keys.entry import KeyEntry
from taskseal.profiles.base import Check, failed, passed, skipped
from taskseal.profiles.dharma_receipt import DHARMA_ACTION_DECISION
from taskseal.verify.bindings import check_binding
from taskseal.verify.examination import Examination, Proof
from taskseal.verify.freshness import check_freshness
from taskseal.verify.receipt import check_carried, check_outcome
from taskseal.verify.standing import bind_fault

_SCHEMA, _PRINCIPAL, _AUDIENCE, _CEILING = map(
    passed, ("schema", "principal", "audience", "ceiling")
)
_NO_IDENTITY = skipped("audience", "no receiver identity was given")
_ANYONE = skipped("audience", "anyone will do")
_NO_PLACE = skipped("audience", "the form has no place for an audience")
_NOT_ADDRESSED = skipped("audience", "no audience was given to compare with")


def judge(exam: Examination) -> None:
    """Holds an authentic envelope against its profile, the receiver and what was supplied.

    Raises:
        Refused: at the first check that does not hold.
        InputError, MaterialError: when what the receiver supplied cannot be read.
    """
    check_content(exam)
    check_freshness(exam)
    check_audience(exam)
    check_principal(exam)
    check_bindings(exam)


def check_content(exam: Examination) -> None:
    """Schema and the checks beyond it: all that the message alone can answer."""
    kind = exam.kind
    if kind.known is not None:
        exam.add_all(kind.known(exam))
    if kind.schema is not None:
        fault = kind.schema.fault(exam.envelope)
        if fault is not None:
            exam.fail("schema", kind.schema_reason, fault.detail, fault.pointer)
    exam.checks.append(_SCHEMA)
    if kind.semantics is not None:
        exam.add_all(kind.semantics(exam))
    exam.bindings = tuple(kind.bindings(exam.envelope))
    for binding in exam.bindings:
        if binding.inline is not None:
            exam.add(check_binding(exam, binding))


def check_bindings(exam: Examination) -> None:
    """Decision, digests of artefacts, what the receiver knows, the receiver's own rules.

    What a decision allows is asked last: a refusal for it says that all else has held.
    """
    kind = exam.kind
    check_carried(exam)
    for binding in exam.bindings:
        if binding.inline is None:
            exam.add(check_binding(exam, binding))
    for beyond in (kind.relations, kind.rules):
        if beyond is not None:
            exam.add_all(beyond(exam))
    if exam.policy.per_profile:
        _check_ceilings(exam)
    check_outcome(exam)


def _check_ceilings(exam: Examination) -> None:
    """The message, and the decision that it carries, ask for no more than this receiver allows."""
    laid = [(exam.terms, "")]
    if exam.kind.decision:
        laid.append((exam.policy.terms(DHARMA_ACTION_DECISION), exam.kind.decision))
    for terms, pointer in laid:
        ceiling = terms.ceiling
        if ceiling is None:
            continue
        value = resolve(exam.envelope, pointer)
        if value is MISSING:
            continue
        fault = ceiling.fault(value)
        if fault is not None:
            exam.fail("ceiling", Reason.CEILING_EXCEEDED, fault.detail, pointer + fault.pointer)
        exam.add(_CEILING)


def check_audience(exam: Examination) -> None:
    """The message is for this receiver (SPEC section 7); a member not given is skipped."""
    kind, identity = exam.kind, exam.identity
    if identity is None or identity.any:
        exam.checks.append(_NO_IDENTITY if identity is None else _ANYONE)
        return
    exam.narrow(lambda proof: _addressee(exam, proof))
    mine = {
        "organisation": identity.organisation,
        "workspace": identity.workspace,
        "device": identity.device,
    }
    for member, pointer in kind.identity.items():
        want = mine.get(member)
        if want is None:
            exam.add(skipped(member, f"no {member} was given to compare with"))
        elif not _same(resolve(exam.envelope, pointer), want):
            exam.fail(member, Reason.AUDIENCE_MISMATCH, f"it is not {want!r}", pointer)
        else:
            exam.add(passed(member))


def _addressee(exam: Examination, proof: Proof) -> Check:
    kind, seal, identity = exam.kind, proof.seal, exam.identity
    assert identity is not None
    mine = identity.audience
    named: tuple[object, ...] = ()
    pointer: str | None
    if seal is not None and seal.audience is not None:
        pointer, named = seal.at, seal.audience
    elif kind.audience is not None:
        pointer = kind.audience
        found = resolve(exam.envelope, pointer)
        named = () if found is MISSING or found is None else _as_tuple(found)
        if any(type(name) is not str for name in named):
            detail = "it is neither a text nor a list of texts"
            return failed("audience", Reason.SCHEMA_INVALID, detail, pointer)
    else:
        return _NO_PLACE
    if mine is None and not named:
        return _NOT_ADDRESSED
    if mine is None:
        detail = "it names an audience, and this receiver has none"
        return failed("audience", Reason.AUDIENCE_MISMATCH, detail, pointer)
    if not named:
        return failed("audience", Reason.AUDIENCE_MISSING, f"expected {mine!r}", pointer)
    if not any(_same(name, mine) for name in named):
        return failed("audience", Reason.AUDIENCE_MISMATCH, f"it is not {mine!r}", pointer)
    return _AUDIENCE


def _as_tuple(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _same(value: object, text: str) -> bool:
    return type(value) is str and value == text


def check_principal(exam: Examination) -> None:
    """The signer may claim to be whom the message says (SPEC section 4.7)."""
    if exam.proofs:
        exam.narrow(lambda proof: _principal(exam, proof.entry))
    else:
        assert exam.entry is not None
        exam.add(_principal(exam, exam.entry))


def _principal(exam: Examination, entry: KeyEntry) -> Check:
    kind = exam.kind
    claim = bind_fault(entry, exam.claims) if entry.bind else None
    if claim is not None:
        pointer, detail = claim
        where = (kind.signed or "") + pointer
        return failed("principal", Reason.PRINCIPAL_MISMATCH, detail, where)
    if kind.principal is not None and entry.principal is not None:
        value = resolve(exam.envelope, kind.principal)
        if not _same(value, entry.principal):
            detail = f"key {entry.key_version!r} speaks for {entry.principal!r}"
            return failed("principal", Reason.PRINCIPAL_MISMATCH, detail, kind.principal)
    return _PRINCIPAL

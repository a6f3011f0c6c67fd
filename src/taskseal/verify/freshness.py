"""Whether a message is of this time, and its key had not retired when it was signed.

Source: SPEC sections 3, 4.6 and 7.
"""

from __future__ import annotations

from typing import NamedTuple

from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import Reason
from taskseal.profiles.base import Check, failed, passed, skipped
from taskseal.validity import Instant, Limits, Window, holds, read_instant
from taskseal.verify.examination import Examination, Proof
from taskseal.verify.revocation import dated

_FRESH, _REVOCATION = map(passed, ("freshness", "revocation"))
_TIMELESS = skipped("freshness", "neither document nor signature has times: the key's count")


class _Span(NamedTuple):
    """A window that must hold, by which limits, and where it stands."""

    window: Window
    limits: Limits
    pointer: str | None


def check_freshness(exam: Examination) -> None:
    """Every window holds now, and the key had not retired (SPEC sections 3 and 4.6)."""
    kind = exam.kind
    issued, expires = _instant(exam, kind.issued), _instant(exam, kind.expires)
    if issued is not None and expires is not None and _is_plainly_fresh(exam, issued, expires):
        exam.issued, exam.expires = issued, expires
        exam.checks.append(_FRESH)
        return
    spans = {proof: _spans(exam, proof, issued, expires) for proof in exam.standing}
    _settle(exam, issued, spans)
    if any(proof.entry.is_revoked(exam.now) for proof in exam.standing):
        exam.narrow(lambda proof: _revocation(exam, proof, issued))
    counted = exam.standing
    exam.narrow(lambda proof: _freshness(exam, proof, issued, spans[proof]))
    if exam.standing != counted:
        _settle(exam, issued, spans)


def _is_plainly_fresh(exam: Examination, issued: Instant, expires: Instant) -> bool:
    """Whether the message's own window holds and is all that there is to look at.

    The common case: one signature, inside, without times of its own, by a key of today. What does
    not hold here is looked at again, and named.
    """
    entry, now = exam.entry, exam.now
    return (
        not exam.proofs
        and entry is not None
        and not entry.is_revoked(now)
        and entry.retired_fault(now, issued) is None
        and holds(issued, expires, now, exam.terms.limits)
    )


def _settle(exam: Examination, issued: Instant | None, spans: dict[Proof, list[_Span]]) -> None:
    """When the message was issued, and until when it would be accepted by the keys that count."""
    if len(spans) == 1:
        ((proof, found),) = spans.items()
        begun = found[0].window.issued if found else proof.entry.not_before
        exam.issued = begun if issued is None else issued
        ends_at = [span.window.expires for span in found]
        exam.expires = min(ends_at) if ends_at else proof.entry.accept_until
        return
    ends: dict[str, Instant] = {}
    starts = []
    for proof in exam.standing:
        entry, found = proof.entry, spans[proof]
        assert entry.key is not None
        end = min((span.window.expires for span in found), default=entry.accept_until)
        name = entry.key.thumbprint
        ends[name] = max(end, ends.get(name, end))
        starts.append(found[0].window.issued if found else entry.not_before)
    exam.issued = min(starts) if issued is None else issued
    exam.expires = sorted(ends.values(), reverse=True)[min(exam.threshold, len(ends)) - 1]


def _freshness(
    exam: Examination, proof: Proof, issued: Instant | None, spans: list[_Span]
) -> Check:
    kind = exam.kind
    if not spans and not kind.timeless:
        detail = "neither message nor signature has times"
        return failed("freshness", Reason.INVALID_LIFETIME, detail, None)
    faults = []
    for span in spans:
        fault = span.window.fault(exam.now, span.limits)
        if fault is not None:
            early = fault[0] is Reason.NOT_YET_VALID and span.pointer == kind.expires
            faults.append(failed("freshness", *fault, kind.issued if early else span.pointer))
    if faults:
        # What never held is named before what does not hold now.
        return min(faults, key=lambda line: line.reason is not Reason.INVALID_LIFETIME)
    said = proof.issued if proof.issued is not None else issued
    retired = proof.entry.retired_fault(exam.now, said)
    if retired is not None:
        return failed("freshness", retired, f"key {proof.entry.key_version!r}", kind.issued)
    return _FRESH if spans else _TIMELESS


def _revocation(exam: Examination, proof: Proof, issued: Instant | None) -> Check:
    """When a key is revoked by now, that the message is proven to be older (SPEC section 4.6)."""
    if not proof.entry.is_revoked(exam.now):
        return _REVOCATION
    said = [at for at in (issued, proof.issued) if at is not None]
    reason = dated(
        proof.entry,
        said,
        exam.fingerprint(),
        evidence=exam.evidence,
        trust=exam.trust,
        now=exam.now,
    )
    proven = reason is Reason.SIGNED_BEFORE_REVOCATION
    if proven and exam.policy.allow_signed_before_revocation:
        return _REVOCATION
    detail = f"key {proof.entry.key_version!r}"
    return failed("revocation", reason, detail, exam.kind.issued)


def _spans(
    exam: Examination, proof: Proof, issued: Instant | None, expires: Instant | None
) -> list[_Span]:
    """The message's own window, then the signature's."""
    limits = exam.terms.limits
    seal, signed = proof.seal, None
    if seal is not None and seal.expires is not None:
        start = seal.issued if seal.issued is not None else issued
        # A signature that only says when it ends began no earlier than its key.
        begun = proof.entry.not_before if start is None else start
        signed = _Span(Window(begun, seal.expires), limits, seal.at)
    spans = _own(exam, issued, expires, signed, limits)
    if signed is not None:
        spans.append(signed)
    elif seal is not None and seal.issued is not None and spans:
        # It says only when it was made, which is not in the future; it ends with the message.
        made = Window(seal.issued, max(seal.issued + 1, spans[0].window.expires))
        spans.append(_Span(made, limits._replace(max_lifetime=None), seal.at))
    return spans


def _own(
    exam: Examination,
    issued: Instant | None,
    expires: Instant | None,
    signed: _Span | None,
    limits: Limits,
) -> list[_Span]:
    """The message's own window, by the first of: its expiry, its age, the signature's expiry."""
    kind, pointer = exam.kind, exam.kind.issued
    if issued is None:
        return []
    if expires is not None:
        return [_Span(Window(issued, expires), limits, kind.expires)]
    unbounded = limits._replace(max_lifetime=None)
    if kind.max_age is not None:
        end = issued + kind.max_age
    elif signed is not None:
        # A report may be about yesterday: only the signature's own life is bounded.
        end, pointer = signed.window.expires, signed.pointer
    else:
        end = issued + exam.terms.oldest
    return [_Span(Window(issued, end), unbounded, pointer)]


def _instant(exam: Examination, pointer: str | None) -> Instant | None:
    if pointer is None:
        return None
    text = resolve(exam.envelope, pointer)
    if text is MISSING:
        required = pointer == exam.kind.issued or exam.kind.schema is None
        if required:
            detail = "time_malformed: it is missing"
            exam.fail("freshness", Reason.SCHEMA_INVALID, detail, pointer)
        return None
    instant = read_instant(text)
    if instant is None:
        detail = f"time_malformed: {str(text)[:60]!r} is not an RFC 3339 instant"
        exam.fail("freshness", Reason.SCHEMA_INVALID, detail, pointer)
    return instant

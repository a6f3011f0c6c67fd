"""From an authentic envelope to a verdict: schema, sense, time, receiver, bindings, policy.

Source: SPEC sections 2, 3, 5 and 7, order of checks.
"""

from __future__ import annotations

from taskseal.canon.digest import Digest
from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.profiles.base import Binding, Check, Checks, failed, passed, skipped
from taskseal.profiles.material import Source, measure
from taskseal.validity import SECOND, Instant, Limits, Window, read_instant
from taskseal.verify.examination import Examination
from taskseal.verify.receipt import check_carried, check_outcome
from taskseal.verify.standing import bind_fault

_SCHEMA, _FRESH, _PRINCIPAL, _AUDIENCE = map(
    passed, ("schema", "freshness", "principal", "audience")
)
_NO_IDENTITY = skipped("audience", "no receiver identity was given")
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
    kind, facts = exam.kind, exam.facts
    exam.add_all(kind.known(facts))
    if kind.schema is not None:
        fault = kind.schema.fault(exam.envelope)
        if fault is not None:
            exam.fail("schema", kind.schema_reason, fault.detail, fault.pointer)
    exam.add(_SCHEMA)
    exam.add_all(kind.semantics(facts))
    exam.bindings = tuple(kind.bindings(exam.envelope))
    for binding in exam.bindings:
        if binding.inline is not None:
            exam.add(check_binding(exam, binding))


def check_bindings(exam: Examination) -> None:
    """Decision, digests of artefacts, what the receiver knows, the receiver's own rules.

    What a decision allows is asked last: a refusal for it says that all else has held.
    """
    kind, facts = exam.kind, exam.facts
    check_carried(exam)
    for binding in exam.bindings:
        if binding.inline is None:
            exam.add(check_binding(exam, binding))
    exam.add_all(kind.relations(facts))
    exam.add_all(kind.rules(facts))
    check_outcome(exam)


def check_freshness(exam: Examination) -> None:
    """Every window holds now, and the key had not retired (SPEC sections 3 and 4.6)."""
    kind, limits = exam.kind, exam.policy.limits(exam.kind)
    issued = _instant(exam, kind.issued)
    expires = _instant(exam, kind.expires)
    header = exam.jws.header if exam.jws is not None else None
    signed = None
    if header is not None and header.iat is not None and header.exp is not None:
        signed = Window(header.iat * SECOND, header.exp * SECOND)
    windows = _message_windows(exam, issued, expires, signed, limits)
    if signed is not None:
        windows.append((signed, limits))
    if not windows:
        exam.fail("freshness", Reason.INVALID_LIFETIME, "neither message nor signature has times")
    exam.issued = issued if issued is not None else windows[0][0].issued
    exam.expires = min(window.expires for window, _ in windows)
    for window, lim in windows:
        fault = window.fault(exam.now, lim)
        if fault is not None:
            own = window is not signed
            pointer = (kind.expires or kind.issued) if own else "/protected"
            exam.fail("freshness", *fault, pointer)
    assert exam.entry is not None
    said = signed.issued if signed is not None else issued
    retired = exam.entry.retired_fault(exam.now, said)
    if retired is not None:
        exam.fail("freshness", retired, f"key {exam.entry.key_version!r}", kind.issued)
    exam.add(_FRESH)


def _message_windows(
    exam: Examination,
    issued: Instant | None,
    expires: Instant | None,
    signed: Window | None,
    limits: Limits,
) -> list[tuple[Window, Limits]]:
    """The message's own window, by the first of: its expiry, its age, the signature's expiry."""
    kind = exam.kind
    if issued is None:
        return []
    if expires is not None:
        return [(Window(issued, expires), limits)]
    if kind.max_age is not None:
        return [(Window(issued, issued + kind.max_age), limits._replace(max_lifetime=None))]
    if signed is not None:
        # A report may be about yesterday: only the signature's own life is bounded.
        return [(Window(issued, signed.expires), limits._replace(max_lifetime=None))]
    return [(Window(issued, issued + exam.policy.max_age), limits._replace(max_lifetime=None))]


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


def check_audience(exam: Examination) -> None:
    """The message is for this receiver (SPEC section 7); a member not given is skipped."""
    kind, identity = exam.kind, exam.identity
    if identity is None or identity.any:
        exam.add(_NO_IDENTITY if identity is None else skipped("audience", "anyone will do"))
        return
    exam.add_all(_audience_checks(exam))
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


def _audience_checks(exam: Examination) -> Checks:
    kind, identity = exam.kind, exam.identity
    assert identity is not None
    mine = identity.audience
    named: tuple[object, ...] = ()
    if exam.jws is not None:
        pointer, named = "/protected", exam.jws.header.aud
    elif kind.audience is not None:
        pointer = kind.audience
        found = resolve(exam.envelope, pointer)
        named = () if found is MISSING or found is None else _as_tuple(found)
    else:
        yield _NO_PLACE
        return
    if mine is None and not named:
        yield _NOT_ADDRESSED
    elif mine is None:
        detail = "it names an audience, and this receiver has none"
        yield failed("audience", Reason.AUDIENCE_MISMATCH, detail, pointer)
    elif not named:
        yield failed("audience", Reason.AUDIENCE_MISSING, f"expected {mine!r}", pointer)
    elif not any(_same(name, mine) for name in named):
        yield failed("audience", Reason.AUDIENCE_MISMATCH, f"it is not {mine!r}", pointer)
    else:
        yield _AUDIENCE


def _as_tuple(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _same(value: object, text: str) -> bool:
    return type(value) is str and value == text


def check_principal(exam: Examination) -> None:
    """The signer may claim to be whom the message says (SPEC section 4.7)."""
    entry, kind = exam.entry, exam.kind
    assert entry is not None
    claim = bind_fault(entry, exam.claims)
    if claim is not None:
        pointer, detail = claim
        where = (kind.signed or "") + pointer
        exam.fail("principal", Reason.PRINCIPAL_MISMATCH, detail, where)
    if kind.principal is not None and entry.principal is not None:
        value = resolve(exam.envelope, kind.principal)
        if not _same(value, entry.principal):
            detail = f"key {entry.key_version!r} speaks for {entry.principal!r}"
            exam.fail("principal", Reason.PRINCIPAL_MISMATCH, detail, kind.principal)
    exam.add(_PRINCIPAL)


def check_binding(exam: Examination, binding: Binding) -> Check:
    """The digest is well-formed, and fits its material where that is at hand.

    However it goes, the line of the check list has a pointer: it tells one artefact from another,
    and what was left unchecked from what was not.
    """
    line = _bound(exam, binding)
    return line if line.pointer is not None else line._replace(pointer=binding.pointer)


def _bound(exam: Examination, binding: Binding) -> Check:
    text = resolve(exam.envelope, binding.pointer)
    if text is MISSING:
        return failed(binding.name, Reason.SCHEMA_INVALID, "it is missing", binding.pointer)
    try:
        folded = text.lower() if binding.any_case and isinstance(text, str) else text
        wanted = Digest.read(folded, binding.codec)
    except InputError as fault:
        return failed(binding.name, Reason.DIGEST_MALFORMED, fault.detail, binding.pointer)
    source = None if binding.ref is None else exam.artefacts.get(binding.ref)
    if binding.inline is not None or source is not None:
        return _compare(exam, binding, wanted, source)
    missing = f"{binding.ref!r} was not supplied"
    if exam.policy.require_artefacts:
        return failed(binding.name, Reason.ARTEFACT_MISSING, missing, binding.pointer)
    return skipped(binding.name, missing)


def _compare(exam: Examination, binding: Binding, wanted: Digest, source: Source | None) -> Check:
    try:
        found = measure(binding, exam.envelope, source)
    except InputError as fault:
        if fault.code is not Reason.DIGEST_MISMATCH:
            raise
        return failed(binding.name, fault.code, fault.detail, binding.pointer)
    except MaterialError as fault:
        if fault.code is not Reason.EXTRA_MISSING:
            raise
        return skipped(binding.name, fault.detail)
    if found is None:
        detail = f"what it covers is missing at {binding.inline}"
        return failed(binding.name, Reason.SCHEMA_INVALID, detail, binding.pointer)
    if binding.size_pointer is not None:
        size = resolve(exam.envelope, binding.size_pointer)
        if size is not MISSING and size != found.size:
            detail = f"the artefact has {found.size} bytes, the message says {size}"
            return failed(binding.name, Reason.DIGEST_MISMATCH, detail, binding.size_pointer)
    if found.digest != wanted:
        detail = f"the material's digest is {found.digest.text(binding.codec)}"
        return failed(binding.name, Reason.DIGEST_MISMATCH, detail, binding.pointer)
    return passed(binding.name)

"""Who made the signatures that a message carries: one by one, then whether they are enough.

An embedded signature is the gate's own affair, since only its profile knows where it stands;
here is every other form.

Source: SPEC sections 4.5 and 6, RFC 7515 section 7.2, DSSE protocol (threshold), A2A section 8.4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, NoReturn, TypeVar

from taskseal.canon.jcs import canonicalise, encode
from taskseal.errors import InputError, Reason
from taskseal.keys.entry import KeyEntry
from taskseal.profiles.base import passed
from taskseal.verify.algorithm import algorithm_fault
from taskseal.verify.examination import Examination, Proof
from taskseal.verify.standing import key_fault
from taskseal.wire.base import Form, Received, Subject
from taskseal.wire.multikey import holder_of

T = TypeVar("T")
A = TypeVar("A")

_STAGES = ("header", "key", "signature")
_PASSED = {stage: passed(stage) for stage in _STAGES}


class Fault(NamedTuple):
    """Why a signature proves nothing: at which stage, and what is wrong with it."""

    stage: str
    reason: Reason
    detail: str
    pointer: str | None

    def reached(self) -> int:
        """How far it came."""
        return _STAGES.index(self.stage)


def guarded(exam: Examination, check: str, read: Callable[[A], T], given: A) -> T:
    """What ``read`` makes of ``given``; its :class:`InputError` is the message's fault."""
    try:
        return read(given)
    except InputError as fault:
        refuse(exam, check, fault)


def refuse(exam: Examination, check: str, fault: InputError) -> NoReturn:
    """Refuses the message for what its reader says of it."""
    at = "" if fault.offset is None else f" (byte {fault.offset})"
    exam.fail(check, fault.code, f"{fault.detail}{at}", fault.pointer)


def prove(exam: Examination, form: Form) -> None:
    """Proves who signed, by as many distinct keys as policy asks for.

    One signature that does not hold refuses the message for its own reason. Among several it is
    set aside: what others put beside a good one must not spoil it.

    Raises:
        Refused: too few hold; for the reason of the one that came furthest when none does.
    """
    seals = exam.seals
    _refuse_repeats(exam, seals)
    keys = [_key_of(exam, form, seal) for seal in seals]
    faults: dict[int, Fault] = {}
    for name, subject in _subjects(exam):
        proofs = []
        for index, (seal, key) in enumerate(zip(seals, keys, strict=True)):
            fault = key if isinstance(key, Fault) else _fault(key, seal, subject)
            if fault is None:
                assert isinstance(key, KeyEntry)
                faults.pop(index, None)
                proofs.append(Proof(key, seal))
            else:
                faults[index] = fault
        if proofs:
            exam.canonical, exam.signed = name, subject().payload
            _settle(exam, proofs, list(faults.values()))
            return
    worst = max(faults.values(), key=Fault.reached)  # the first of those that came as far
    _pass_until(exam, worst.stage)
    exam.fail(worst.stage, worst.reason, worst.detail, worst.pointer)


def _refuse_repeats(exam: Examination, seals: tuple[Received, ...]) -> None:
    """The same signature twice is no second signature, and nobody writes it by accident."""
    seen = set()
    for seal in seals:
        if seal.fault is None and seal.signature in seen:
            detail = "the signature stands there twice"
            exam.fail("header", Reason.SIGNATURE_MALFORMED, detail, seal.signature_at)
        seen.add(seal.signature)


def _subjects(exam: Examination) -> Iterator[tuple[str, Callable[[], Subject]]]:
    """What may have been signed, by the name of its canonical rule; each made when it is asked."""
    kind = exam.kind
    if kind.covered is None:

        def whole() -> Subject:
            if exam.written is None:
                exam.written = encode(exam.envelope, plain=exam.plain)
            return Subject(exam.written, exam.envelope, kind.id, kind.domain)

        yield "rfc8785", whole
        return
    for name, value in kind.covered(exam.envelope):
        yield name, partial(Subject, canonicalise(value), value, kind.id, kind.domain)


def _key_of(exam: Examination, form: Form, seal: Received) -> KeyEntry | Fault:
    """The one key that ``seal`` names, when it may sign this; no other is ever tried."""
    if seal.fault is not None:
        return Fault("header", seal.fault.code, seal.fault.detail, seal.fault.pointer)
    mark = form.mark(exam.kind.id)
    if seal.typ != mark:
        return Fault("header", Reason.WRONG_TYP, f"it is not for {mark!r}", seal.at)
    entry = _named(exam, seal)
    if isinstance(entry, Fault):
        return entry
    return _key_fault(exam, entry, seal) or entry


def _named(exam: Examination, seal: Received) -> KeyEntry | Fault:
    holder = seal.holder
    if holder is not None:
        found = exam.find_holder(lambda algorithm, raw: holder_of(algorithm, raw) == holder)
        shown = f"an {holder.algorithm} key that it shows"
    else:
        version = seal.key_version
        if version is None:
            version = exam.policy.unversioned_key
        if not version:
            return Fault("key", Reason.KEY_VERSION_MISSING, "", seal.at)
        found, shown = exam.find_key(version, seal.issuer), f"key version {version[:80]!r}"
    return Fault("key", found, shown, seal.at) if isinstance(found, Reason) else found


def _key_fault(exam: Examination, entry: KeyEntry, seal: Received) -> Fault | None:
    found = key_fault(entry, exam.kind.id, exam.now, exam.policy, exam.evidence)
    if found is not None:
        return Fault("key", *found, seal.at)
    assert entry.key is not None
    mine = entry.key.algorithm
    # Where a form has no name for it, the algorithm is the key's.
    odd = None if seal.alg is None else algorithm_fault(mine, seal.alg, exam.kind.id)
    if odd is not None:
        return Fault("key", *odd, seal.at)
    size = entry.key.signature_size
    if len(seal.signature) != size:
        detail = f"{len(seal.signature)} bytes, an {mine} signature has {size}"
        return Fault("key", Reason.SIGNATURE_MALFORMED, detail, seal.signature_at)
    return None


_NOTHING = Subject(b"", {}, "", "")


def _fault(entry: KeyEntry, seal: Received, subject: Callable[[], Subject]) -> Fault | None:
    """Why the signature does not hold, or None. A forgery of an attached payload costs no writing
    of its canonical form."""
    assert entry.key is not None
    try:
        message = seal.signing_input(_NOTHING if seal.attached else subject())
    except InputError as fault:
        return Fault("header", fault.code, fault.detail, fault.pointer)
    if entry.key.verify(message, seal.signature):
        return None
    return Fault("signature", Reason.BAD_SIGNATURE, "", seal.signature_at)


def _settle(exam: Examination, proofs: list[Proof], faults: list[Fault]) -> None:
    _pass_until(exam, "signature")
    exam.keep(proofs)
    # Of all that hold, also those that other checks will not count.
    exam.issuers = tuple(sorted({proof.entry.issuer for proof in proofs}))
    check_enough(exam)
    exam.authentic = True
    exam.add(_PASSED["signature"])
    for fault in faults:
        exam.set_aside(fault.reason, fault.detail, fault.pointer)


def check_enough(exam: Examination) -> None:
    """As many distinct keys have signed as policy asks for.

    Raises:
        Refused: ``threshold_not_met``.
    """
    if exam.policy.threshold <= 1:
        return
    made, needed = exam.signed_by(exam.standing), exam.threshold
    if made < needed:
        detail = f"{made} of the keys that are trusted for it signed it, {needed} must"
        exam.fail("signature", Reason.THRESHOLD_NOT_MET, detail)


def _pass_until(exam: Examination, stage: str) -> None:
    for before in _STAGES[: _STAGES.index(stage)]:
        exam.add(_PASSED[before])

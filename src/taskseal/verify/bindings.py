"""Digests that the message holds against the material that they cover.

Source: SPEC section 2.
"""

from __future__ import annotations

from taskseal.canon.digest import CODECS, Digest
from taskseal.canon.files import Hashed
from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.profiles.base import Binding, Check, failed, passed
from taskseal.profiles.material import Source, measure
from taskseal.verify.examination import Examination


def check_binding(exam: Examination, binding: Binding) -> Check:
    """The digest is well-formed, and fits its material where that is at hand.

    However it goes, the line of the check list has a pointer: it tells one artefact from another,
    and what was left unchecked from what was not.
    """
    where = binding.pointer
    text = resolve(exam.envelope, where)
    if text is MISSING:
        return failed(binding.name, Reason.SCHEMA_INVALID, "it is missing", where)
    source = None if binding.ref is None else exam.artefacts.get(binding.ref)
    folded = text.lower() if binding.any_case and isinstance(text, str) else text
    rule = CODECS[binding.codec]
    if type(folded) is not str or rule.spelling.fullmatch(folded) is None:
        detail = f"it is not {rule.example}"
        return failed(binding.name, Reason.DIGEST_MALFORMED, detail, where)
    if binding.inline is None and source is None:
        return _unsupplied(exam, binding, f"{binding.ref!r} was not supplied")
    return _compare(exam, binding, Digest.read(folded, binding.codec), source)


def _unsupplied(exam: Examination, binding: Binding, why: str) -> Check:
    if exam.terms.artefacts:
        return failed(binding.name, Reason.ARTEFACT_MISSING, why, binding.pointer)
    return Check(binding.name, "skipped", None, why, binding.pointer)


def _measured(exam: Examination, binding: Binding, source: Source | None) -> Hashed | None:
    """An artefact that is bound at several places is read once: a stream has but one pass."""
    if binding.ref is None:
        return measure(binding, exam.envelope, source)
    name = (binding.ref, binding.kind, binding.codec.partition(":")[0])
    if name not in exam.measured:
        exam.measured[name] = measure(binding, exam.envelope, source)
    return exam.measured[name]


def _compare(exam: Examination, binding: Binding, wanted: Digest, source: Source | None) -> Check:
    try:
        found = _measured(exam, binding, source)
    except InputError as fault:
        if fault.code is not Reason.DIGEST_MISMATCH:
            raise
        return failed(binding.name, fault.code, fault.detail, binding.pointer)
    except MaterialError as fault:
        if fault.code is not Reason.EXTRA_MISSING:
            raise
        return _unsupplied(exam, binding, fault.detail)
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
    return passed(binding.name, binding.pointer)

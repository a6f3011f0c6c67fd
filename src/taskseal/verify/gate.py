"""From bytes to an authentic envelope: size, parse, profile, form, gate, one signature check.

A forged message gets no further than this, and costs no more.

Source: SPEC section 7, order of checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from taskseal.canon.dharma import portability
from taskseal.canon.jcs import encode
from taskseal.canon.pointer import MISSING, resolve
from taskseal.canon.strictjson import Parsed, as_bytes, parse
from taskseal.errors import InputError, Reason
from taskseal.keys.entry import KeyEntry
from taskseal.profiles.base import Profile, passed
from taskseal.verify.algorithm import algorithm_fault
from taskseal.verify.examination import Examination
from taskseal.verify.receipt import check_alone
from taskseal.verify.seals import check_enough, guarded, prove, refuse
from taskseal.verify.standing import key_fault
from taskseal.wire.base import MAX_SEALS, Sealed
from taskseal.wire.embedded import read_signature, without
from taskseal.wire.forms import FORMS, around, read_around, read_beside

_READ = tuple(map(passed, ("size", "text", "profile")))
_FORM = passed("form")
_HEADER, _KEY, _SIGNATURE = map(passed, ("header", "key", "signature"))

# Bytes that are read without asking first how much any profile takes; its own limit comes after.
_SMALL = 64 * 1024

# How long a text is searched for the place of its fault, in bytes; a longer one gets its code.
_SEARCHED = 256 * 1024

# A blob spells its payload in base64 and carries headers and signatures beside it.
_BLOB_OVERHEAD = 16 * 1024 * MAX_SEALS


def authenticate(
    exam: Examination,
    data: bytes,
    profiles: Mapping[str, Profile],
    named: Profile | None,
    signature: bytes | None,
) -> None:
    """Proves who signed ``data``, or refuses.

    Raises:
        Refused: at the first step that does not hold.
    """
    open_message(exam, data, profiles, named, signature)
    form = FORMS[exam.form or ""]
    if exam.kind.decision == "":
        check_alone(exam)
        check_enough(exam)
    elif form.name == "embedded":
        _prove_embedded(exam)
    else:
        if form.read is not None and form.place == "inside":
            _carry(exam, guarded(exam, "header", form.read, exam.envelope))
        prove(exam, form)


def open_message(
    exam: Examination,
    data: bytes,
    profiles: Mapping[str, Profile],
    named: Profile | None,
    signature: bytes | None,
) -> None:
    """Reads ``data``: what it says, of which profile and in which form; nothing is proven yet.

    Raises:
        Refused: it cannot be read.
    """
    if type(data) is not bytes:
        data = guarded(exam, "text", as_bytes, data)
    if len(data) > _SMALL:
        at_hand = (named,) if named is not None else profiles.values()
        largest = max((profile.size_limit for profile in at_hand), default=0)
        blob_limit = largest * 4 // 3 + _BLOB_OVERHEAD
        if len(data) > (largest if signature is not None else blob_limit):
            exam.fail("size", Reason.TOO_LARGE, f"{len(data)} bytes, at most {largest}")
    parsed = _parse(exam, data)
    wrapping = around(parsed.value) if signature is None else None
    if wrapping is not None:
        exam.form = wrapping.name
        sealed = guarded(exam, "header", partial(read_around, wrapping), parsed.value)
        _carry(exam, sealed)
        data = sealed.payload or b""
        parsed = _parse(exam, data)
    kind = exam.take(recognise(exam, parsed.value, profiles, named))
    if len(data) > kind.size_limit:
        exam.fail("size", Reason.TOO_LARGE, f"{len(data)} bytes, at most {kind.size_limit}")
    exam.checks += _READ
    exam.envelope, exam.plain = parsed.value, parsed.plain
    exam.written = data if parsed.canonical else None
    if signature is not None:
        beside, sealed = guarded(exam, "header", read_beside, signature)
        exam.form = beside.name
        _carry(exam, sealed)
    elif wrapping is None:
        if kind.form not in FORMS or FORMS[kind.form].place != "inside":
            exam.fail("form", Reason.SIGNATURE_MISSING)
        exam.form = kind.form
    form = exam.form or ""
    if form not in exam.terms.forms:
        exam.fail("form", Reason.FORM_NOT_ALLOWED, f"{form} is not taken for {kind.id}")
    exam.checks.append(_FORM)


def _carry(exam: Examination, sealed: Sealed) -> None:
    exam.seals = sealed.seals
    exam.jws = sealed.seals[0].jws if len(sealed.seals) == 1 else None


def _parse(exam: Examination, data: bytes) -> Parsed:
    try:
        return parse(data, search=_SEARCHED)
    except InputError as fault:
        refuse(exam, "text", fault)


def recognise(
    exam: Examination, value: Any, profiles: Mapping[str, Profile], named: Profile | None
) -> Profile:
    """The profile of a document: the named one if it fits, else the one that recognises it."""
    if named is None:
        shaped = None
        for profile in profiles.values():
            if profile.detect and profile.recognise(value):
                if profile.discriminator is not None:
                    return profile
                shaped = shaped or profile  # a constant says more than a shape
        return shaped or exam.fail("profile", Reason.UNKNOWN_PROFILE)
    if type(value) is not dict:
        exam.fail("profile", named.schema_reason, "the document is not an object", "")
    if not named.recognise(value) and (named.discriminator is not None or not named.detect):
        exam.take(named)
        pointer, what = foreign(named, value)
        exam.fail("profile", Reason.SCHEMA_INVALID, what, pointer)
    return named


def foreign(profile: Profile, value: Mapping[str, Any]) -> tuple[str, str]:
    """Where and why ``value``, which ``profile`` does not recognise, is not of it."""
    if profile.discriminator is not None:
        pointer, constant = profile.discriminator
        return pointer, f"it is not {constant!r}, the mark of {profile.id}"
    member = "schema" if "schema" in value else "type"
    return "/" + member, f"a document of {profile.id} has no {member}: it is another kind"


def _prove_embedded(exam: Examination) -> None:
    """Proves who made the signature that stands where the profile says."""
    version, alg = _claimed_key(exam)
    found = exam.find_key(version)
    if isinstance(found, Reason):
        exam.fail("key", found, f"key version {version[:80]!r}", _key_place(exam))
    exam.entry = found
    _check_key(exam, found, alg)
    _check_signature(exam, found)
    check_enough(exam)
    exam.authentic = True
    exam.checks.append(_SIGNATURE)


def _claimed_key(exam: Examination) -> tuple[str, str | None]:
    """The key version and the algorithm that the envelope names."""
    kind = exam.kind
    assert kind.signature is not None
    try:
        exam.signature = read_signature(exam.envelope, kind.signature)
    except InputError as fault:
        refuse(exam, "header", fault)
    alg = None if kind.algorithm is None else _embedded_algorithm(exam, kind.algorithm)
    version = _embedded_version(exam)
    if version is None and not _names_a_key(exam):
        version = exam.policy.unversioned_key
    if version is None:
        exam.fail("key", Reason.KEY_VERSION_MISSING, pointer=_key_place(exam) or "")
    exam.checks.append(_HEADER)
    return version, alg


def _key_place(exam: Examination) -> str | None:
    """Where the envelope names the key, if anywhere."""
    return exam.kind.key_version[0] if exam.kind.key_version else None


def _names_a_key(exam: Examination) -> bool:
    """Whether the envelope holds anything where its key version belongs, readable or not."""
    return any(resolve(exam.envelope, pointer) is not MISSING for pointer in exam.kind.key_version)


def _embedded_version(exam: Examination) -> str | None:
    pointers = exam.kind.key_version
    if not pointers:
        return exam.kind.fixed_key_version
    if len(pointers) == 1:
        version = resolve(exam.envelope, pointers[0])
        return version if type(version) is str and version else None
    parts = []
    for pointer in pointers:
        part = resolve(exam.envelope, pointer)
        if type(part) is int:
            part = str(part)
        if type(part) is not str or not part:
            return None
        if "#" in part:
            exam.fail("key", Reason.UNKNOWN_KEY, "a part of the key version holds '#'", pointer)
        parts.append(part)
    return "#".join(parts)


def _embedded_algorithm(exam: Examination, pointer: str) -> str:
    alg = resolve(exam.envelope, pointer)
    if type(alg) is not str:
        exam.fail("header", Reason.UNSUPPORTED_ALGORITHM, "it names no algorithm", pointer)
    return str(alg)


def _check_key(exam: Examination, entry: KeyEntry, alg: str | None) -> None:
    kind, key = exam.kind, entry.key
    assert key is not None
    fault = key_fault(entry, kind.id, exam.now, exam.policy, exam.evidence)
    if fault is not None:
        exam.fail("key", *fault, _key_place(exam))
    odd = algorithm_fault(key.algorithm, alg, kind.id)
    if odd is not None:
        exam.fail("key", *odd, kind.algorithm or _key_place(exam))
    if len(exam.signature) != key.signature_size:
        sizes = f"{len(exam.signature)} bytes, an {key.algorithm} signature has"
        detail = f"{sizes} {key.signature_size}"
        exam.fail("key", Reason.SIGNATURE_MALFORMED, detail, kind.signature)
    exam.checks.append(_KEY)


def _check_signature(exam: Examination, entry: KeyEntry) -> None:
    """Over RFC 8785; where the profile's own rule gives other bytes, over those too."""
    kind, key = exam.kind, entry.key
    assert key is not None and kind.signature is not None
    bare = without(exam.envelope, (kind.signature,))
    exam.signed = encode(bare, plain=exam.plain)
    if key.verify(exam.signed, exam.signature):
        return
    if kind.canonical == "dharma":
        other = portability(bare)
        if other.verdict == "undecidable":
            exam.fail("signature", Reason.NOT_PORTABLE, other.said, other.pointer)
        if other.form is not None and key.verify(other.form, exam.signature):
            exam.signed, exam.canonical = other.form, "dharma"
            return
    exam.fail("signature", Reason.BAD_SIGNATURE, pointer=kind.signature)

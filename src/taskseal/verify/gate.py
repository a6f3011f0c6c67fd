"""From bytes to an authentic envelope: size, parse, profile, form, gate, one signature check.

A forged message gets no further than this, and costs no more.

Source: SPEC section 7, order of checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from taskseal.canon.dharma import portability
from taskseal.canon.jcs import encode
from taskseal.canon.pointer import resolve
from taskseal.canon.strictjson import Parsed, parse
from taskseal.errors import InputError, Reason
from taskseal.keys.algorithms import Algorithm, scheme
from taskseal.keys.entry import KeyEntry
from taskseal.profiles.base import Profile, passed
from taskseal.verify.examination import Examination
from taskseal.verify.receipt import check_alone
from taskseal.verify.standing import key_fault
from taskseal.wire.embedded import read_signature, without
from taskseal.wire.jws import (
    Jws,
    is_flattened,
    payload_bytes,
    read_detached,
    read_flattened,
)

_SIZE, _TEXT, _PROFILE, _FORM = map(passed, ("size", "text", "profile", "form"))
_HEADER, _KEY, _SIGNATURE = map(passed, ("header", "key", "signature"))

T = TypeVar("T")

# A blob spells its payload in base64url and carries a header beside it.
_BLOB_OVERHEAD = 16 * 1024


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
    if exam.kind.decision == "":
        check_alone(exam)
        return
    version, issuer, alg = _claimed_key(exam)
    entry = _find_key(exam, version, issuer)
    _check_key(exam, entry, alg)
    _check_signature(exam, entry)


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
    at_hand = (named,) if named is not None else tuple(profiles.values())
    largest = max((profile.size_limit for profile in at_hand), default=0)
    blob_limit = largest * 4 // 3 + _BLOB_OVERHEAD
    if len(data) > (largest if signature is not None else blob_limit):
        exam.fail("size", Reason.TOO_LARGE, f"{len(data)} bytes, at most {largest}")
    parsed = _parse(exam, data)
    if signature is None and is_flattened(parsed.value):
        exam.form = "jws"
        exam.jws = jws = _guarded(exam, "header", lambda: read_flattened(parsed.value))
        data = _guarded(exam, "header", lambda: payload_bytes(jws))
        parsed = _parse(exam, data)
    exam.profile = kind = recognise(exam, parsed.value, profiles, named)
    if len(data) > kind.size_limit:
        exam.fail("size", Reason.TOO_LARGE, f"{len(data)} bytes, at most {kind.size_limit}")
    exam.add(_SIZE)
    exam.add(_TEXT)
    exam.add(_PROFILE)
    exam.envelope, exam.plain = parsed.value, parsed.plain
    exam.received = data if parsed.canonical else None
    if exam.jws is None and signature is not None:
        exam.form = "jws-detached"
        exam.jws = _guarded(exam, "header", lambda: read_detached(signature))
    elif exam.jws is None and kind.signature is not None:
        exam.form = "embedded"
    elif exam.jws is None:
        exam.fail("form", Reason.SIGNATURE_MISSING)
    form = exam.form or ""
    if not exam.policy.takes(kind, form):
        exam.fail("form", Reason.FORM_NOT_ALLOWED, f"{form} is not taken for {kind.id}")
    exam.add(_FORM)


def _parse(exam: Examination, data: bytes) -> Parsed:
    return _guarded(exam, "text", lambda: parse(data))


def _guarded(exam: Examination, check: str, read: Callable[[], T]) -> T:
    """What ``read`` gives; its :class:`InputError` is the message's fault and refuses it."""
    try:
        return read()
    except InputError as fault:
        at = "" if fault.offset is None else f" (byte {fault.offset})"
        exam.fail(check, fault.code, f"{fault.detail}{at}", fault.pointer)


def recognise(
    exam: Examination, value: Any, profiles: Mapping[str, Profile], named: Profile | None
) -> Profile:
    """The profile of a document: the named one if it fits, else the one that recognises it."""
    if named is None:
        for profile in profiles.values():
            if profile.detect and profile.recognise(value):
                return profile
        exam.fail("profile", Reason.UNKNOWN_PROFILE)
    if type(value) is not dict:
        exam.fail("profile", named.schema_reason, "the document is not an object", "")
    if not named.recognise(value) and (named.discriminator is not None or not named.detect):
        exam.profile = named
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


def _claimed_key(exam: Examination) -> tuple[str, str | None, str | None]:
    """The key version, issuer and algorithm that the message names."""
    kind, jws = exam.kind, exam.jws
    if jws is None:
        assert kind.signature is not None
        pointer = kind.signature
        exam.signature = _guarded(exam, "header", lambda: read_signature(exam.envelope, pointer))
        version, issuer = _embedded_version(exam), None
        alg = _embedded_algorithm(exam)
    else:
        header = jws.header
        if header.typ != kind.typ:
            exam.fail("header", Reason.WRONG_TYP, f"typ is not {kind.typ!r}", "/protected")
        exam.signature, version, issuer, alg = jws.signature, header.kid, header.iss, header.alg
    version = version or exam.policy.unversioned_key
    if version is None:
        where = "/protected" if jws is not None else (kind.key_version or ("",))[0]
        exam.fail("key", Reason.KEY_VERSION_MISSING, pointer=where)
    exam.add(_HEADER)
    return version, issuer, alg


def _embedded_version(exam: Examination) -> str | None:
    kind = exam.kind
    if not kind.key_version:
        return kind.fixed_key_version
    parts = []
    for pointer in kind.key_version:
        part = resolve(exam.envelope, pointer)
        if type(part) is int and len(kind.key_version) > 1:
            part = str(part)
        if type(part) is not str or not part:
            return None
        if len(kind.key_version) > 1 and "#" in part:
            exam.fail("key", Reason.UNKNOWN_KEY, "a part of the key version holds '#'", pointer)
        parts.append(part)
    return "#".join(parts)


def _embedded_algorithm(exam: Examination) -> str | None:
    pointer = exam.kind.algorithm
    if pointer is None:
        return None
    alg = resolve(exam.envelope, pointer)
    if type(alg) is not str:
        exam.fail("header", Reason.UNSUPPORTED_ALGORITHM, "it names no algorithm", pointer)
    return str(alg)


def _find_key(exam: Examination, version: str, issuer: str | None) -> KeyEntry:
    where = "/protected" if exam.jws is not None else (exam.kind.key_version or (None,))[0]
    found = exam.trust.find(version, issuer)
    if isinstance(found, Reason):
        exam.fail("key", found, f"key version {version[:80]!r}", where)
    if found.flaw is not None:
        exam.fail("key", found.flaw, f"key version {version[:80]!r}", where)
    assert found.key is not None
    exam.entry = found
    return found


def _check_key(exam: Examination, entry: KeyEntry, alg: str | None) -> None:
    kind = exam.kind
    where = "/protected" if exam.jws is not None else (kind.key_version or (None,))[0]
    fault = key_fault(entry, kind.id, exam.now, exam.policy)
    if fault is not None:
        exam.fail("key", *fault, where)
    assert entry.key is not None
    mine = entry.key.algorithm
    if alg is not None:
        theirs = _algorithm_named(alg)
        alg_at = "/protected" if exam.jws is not None else kind.algorithm
        if theirs is None:
            exam.fail("key", Reason.UNSUPPORTED_ALGORITHM, f"{alg[:60]!r}", alg_at)
        if theirs is not mine:
            exam.fail("key", Reason.ALGORITHM_MISMATCH, f"the key's is {mine}", alg_at)
    elif mine is not Algorithm.ED25519:
        exam.fail("key", Reason.ALGORITHM_MISMATCH, f"{kind.id} is signed with Ed25519", where)
    size = scheme(mine).signature_size
    if len(exam.signature) != size:
        detail = f"{len(exam.signature)} bytes, an {mine} signature has {size}"
        pointer = "/signature" if exam.jws is not None else kind.signature
        exam.fail("key", Reason.SIGNATURE_MALFORMED, detail, pointer)
    exam.add(_KEY)


def _algorithm_named(name: str) -> Algorithm | None:
    """The algorithm that a JOSE ``alg`` or an envelope's algorithm member names."""
    for algorithm in Algorithm:
        if name in scheme(algorithm).jose_names:
            return algorithm
    return None


def _check_signature(exam: Examination, entry: KeyEntry) -> None:
    assert entry.key is not None
    jws = exam.jws
    if jws is None:
        _check_embedded(exam, entry)
    else:
        _check_jws(exam, entry, jws)
    exam.authentic = True
    exam.add(_SIGNATURE)


def _check_jws(exam: Examination, entry: KeyEntry, jws: Jws) -> None:
    """Over the payload's text as received, or over the canonical form of a file beside it."""
    assert entry.key is not None
    if jws.payload is None:
        exam.signed = _canonical(exam)
    if not entry.key.verify(jws.signing_input(exam.signed), exam.signature):
        exam.fail("signature", Reason.BAD_SIGNATURE, pointer="/signature")
    if jws.payload is not None:
        exam.signed = _canonical(exam)


def _canonical(exam: Examination) -> bytes:
    return exam.received or encode(exam.envelope, plain=exam.plain)


def _check_embedded(exam: Examination, entry: KeyEntry) -> None:
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

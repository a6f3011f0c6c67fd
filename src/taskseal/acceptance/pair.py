"""Whether an acceptance belongs to a request: the receiver's word, held against what was asked.

Source: SPEC sections 7 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from taskseal.acceptance.statement import written_ids
from taskseal.canon.digest import Digest
from taskseal.canon.jcs import encode
from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import InputError, Reason
from taskseal.keys.trust import Trust
from taskseal.profiles import named_profile
from taskseal.profiles.acceptance import ACCEPTANCE, CODEC
from taskseal.profiles.base import Profile, passed
from taskseal.profiles.material import Source
from taskseal.validity import SECOND, Instant, read_instant, write_instant
from taskseal.verify.examination import Examination
from taskseal.verify.gate import authenticate, open_message
from taskseal.verify.judge import judge
from taskseal.verify.policy import FORMS, Policy
from taskseal.verify.result import Accepted, Refused
from taskseal.verify.verifier import Verifier
from taskseal.wire.embedded import without

_PAIR, _TIME, _WHOLE = map(passed, ("request", "time of acceptance", "bound material"))
_ALONE = {ACCEPTANCE.id: ACCEPTANCE}


def verify_acceptance(
    request: bytes,
    acceptance: bytes,
    verifier: Verifier,
    *,
    profile: str | Profile | None = None,
    signature: bytes | None = None,
    artefacts: Mapping[str, Source] | None = None,
    allow_partial: bool = False,
    at: datetime | str | Instant | None = None,
) -> Accepted | Refused:
    """The verdict on an acceptance as the answer to ``request``.

    The acceptance is verified like any message; beyond that it is refused as

    * ``acceptance_swapped`` when it is of another request;
    * ``acceptance_stale`` when it is of another attempt under one of the request's replay ids,
      when the message was received outside the time in which the request was valid, or when the
      acceptance itself has expired;
    * ``acceptance_partial`` when something that the request binds by digest was not checked, or
      what it asks for was taken although nobody released it.

    A request that was signed again is the same request: the acceptance of one copy is that of all.

    Args:
        request: the request as it was sent. Its signature is not verified: it is the caller's own.
        acceptance: what came back.
        verifier: trusts the receiver's keys, and knows the request's profile. Its identity is not
            compared.
        profile: the request's profile or its id, where the request is not to choose.
        signature: the request's detached signature.
        artefacts: what came back beside the acceptance, by name; the answer is ``outcome``.
        allow_partial: take a partial acceptance.
        at: the instant to verify at; the verifier's clock otherwise.

    Raises:
        InputError: the request or an artefact cannot be read.
    """
    exam = verifier.examination(artefacts=artefacts, at=at)
    exam.identity = None
    asked = _read_request(exam, request, signature, profile, verifier.profiles)
    try:
        authenticate(exam, acceptance, _ALONE, ACCEPTANCE, None)
        _judge(exam)
        _check_request(exam, asked)
        _check_time(exam, asked)
        if not allow_partial:
            _check_whole(exam, asked)
    except Refused as refused:
        return refused.as_value()
    return exam.accepted()


def _read_request(
    exam: Examination,
    request: bytes,
    signature: bytes | None,
    profile: str | Profile | None,
    profiles: Mapping[str, Profile],
) -> Examination:
    """What was asked: read, and of its schema; by whom it was signed is not proven.

    Raises:
        InputError: it cannot be read.
    """
    everything = Policy(allow_forms=frozenset(FORMS))
    asked = Examination(trust=Trust((), {}), policy=everything, identity=None, now=exam.now)
    named = named_profile(profile, profiles)
    try:
        open_message(asked, request, profiles, named, signature)
        fault = None if asked.kind.schema is None else asked.kind.schema.fault(asked.envelope)
        if fault is not None:
            asked.fail("schema", asked.kind.schema_reason, fault.detail, fault.pointer)
    except Refused as refused:
        raise InputError(
            refused.reason, f"the request: {refused.detail}", pointer=refused.pointer
        ) from None
    return asked


def _judge(exam: Examination) -> None:
    """As any message; but to have expired is no more than to be stale."""
    try:
        judge(exam)
    except Refused as refused:
        if refused.reason is not Reason.EXPIRED:
            raise
        exam.checks.pop()
        exam.fail("freshness", Reason.ACCEPTANCE_STALE, refused.detail, refused.pointer)


def _check_request(exam: Examination, asked: Examination) -> None:
    """It names this very message, by whichever key version it was signed."""
    said, kind = exam.envelope, asked.kind
    issuer = said["signer"]["issuer"]
    if said["profile"] != kind.id:
        _refuse(exam, f"it is of a {said['profile']}, the request is a {kind.id}", "/profile")
    header = None if asked.jws is None else asked.jws.header
    if header is not None and header.iss not in (None, issuer):
        _refuse(exam, f"the request is of {header.iss!r}", "/signer/issuer")
    if said["fingerprint"] != f"sha256:{asked.fingerprint().hex()}":
        ids = written_ids(asked.replay_ids(issuer) or ())
        if any(each in said["replayIds"] for each in ids):
            detail = "another message was accepted under the request's id"
            exam.fail("request", Reason.ACCEPTANCE_STALE, detail, "/fingerprint")
        _refuse(exam, "the request has another fingerprint", "/fingerprint")
    # A copy that another key version signed has another digest where the version stands inside.
    same_copy = said["signer"]["keyVersion"] == _key_version(asked)
    if same_copy and said["canonical"] == "rfc8785" and said["digest"] != _digest(asked):
        _refuse(exam, "the request has another digest", "/digest")
    exam.add(_PAIR)


def _refuse(exam: Examination, detail: str, pointer: str) -> None:
    exam.fail("request", Reason.ACCEPTANCE_SWAPPED, detail, pointer)


def _key_version(asked: Examination) -> str | None:
    kind = asked.kind
    if asked.jws is not None:
        return asked.jws.header.kid
    parts = [resolve(asked.envelope, pointer) for pointer in kind.key_version]
    return "#".join(map(str, parts)) if parts else kind.fixed_key_version


def _digest(asked: Examination) -> str:
    kind = asked.kind
    bare: Any = asked.envelope
    if kind.signature is not None:
        bare = without(asked.envelope, (kind.signature,))
    if kind.signed is not None:
        bare = resolve(bare, kind.signed)
    return Digest.of(encode(bare, plain=asked.plain)).text(CODEC)


def _check_time(exam: Examination, asked: Examination) -> None:
    """The message was received while the request was valid, by either side's reckoning."""
    limits = exam.policy.terms(asked.kind).limits
    received = read_instant(exam.envelope["receivedAt"])
    assert received is not None
    issued, expires = _validity(asked)
    if issued is not None and received < issued - limits.future_skew:
        detail = f"the request was issued later, {write_instant(issued)}"
        exam.fail("time of acceptance", Reason.ACCEPTANCE_STALE, detail, "/receivedAt")
    if expires is not None and received >= expires + limits.past_skew:
        detail = f"the request had expired, {write_instant(expires)}"
        exam.fail("time of acceptance", Reason.ACCEPTANCE_STALE, detail, "/receivedAt")
    exam.add(_TIME)


def _validity(asked: Examination) -> tuple[Instant | None, Instant | None]:
    """From when to when the request says that it is valid: itself, else by its signature."""
    kind, header = asked.kind, None if asked.jws is None else asked.jws.header
    issued, expires = _instant(asked, kind.issued), _instant(asked, kind.expires)
    ends = [] if expires is None else [expires]
    if issued is not None and expires is None and kind.max_age is not None:
        ends.append(issued + kind.max_age)
    if header is not None and header.iat is not None and header.exp is not None:
        issued = header.iat * SECOND if issued is None else issued
        ends.append(header.exp * SECOND)
    return issued, min(ends, default=None)


def _instant(asked: Examination, pointer: str | None) -> Instant | None:
    return None if pointer is None else read_instant(resolve(asked.envelope, pointer))


def _check_whole(exam: Examination, asked: Examination) -> None:
    """All material that the request binds was at hand, and what it asks for was released."""
    done = {line["pointer"] for line in exam.envelope["checks"] if line["result"] == "passed"}
    for binding in asked.kind.bindings(asked.envelope):
        bound = resolve(asked.envelope, binding.pointer) is not MISSING
        if bound and binding.pointer not in done:
            detail = f"what the request binds at {binding.pointer} was not checked"
            exam.fail("bound material", Reason.ACCEPTANCE_PARTIAL, detail, "/checks")
    if exam.envelope["authorised"] is False:
        detail = "nobody released what the request asks for"
        exam.fail("bound material", Reason.ACCEPTANCE_PARTIAL, detail, "/authorised")
    exam.add(_WHOLE)

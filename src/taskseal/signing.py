"""Signing: the dispatcher's job, from a document to one blob that a receiver accepts.

`sign` fills what the profile names and the document lacks, checks or fills digests from the
artefacts given, and refuses what the receiver would refuse, with the same reasons.

Source: SPEC sections 3, 5, 6 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable

from taskseal.canon.dharma import portability
from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise
from taskseal.canon.pointer import MISSING, resolve
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, MaterialError, Reason, expect
from taskseal.filling import filled
from taskseal.keys.entry import BARE_PROFILES
from taskseal.keys.screening import is_published
from taskseal.keys.trust import Trust
from taskseal.profiles import BUILT_IN, Profile, named_profile
from taskseal.profiles.context import read_context
from taskseal.profiles.material import Source
from taskseal.profiles.roles import foreign_mark
from taskseal.sealing import Request, opened, refuse_unaddressed, refuse_unfit, sealed, timed
from taskseal.signers.base import Signer
from taskseal.validity import (
    SIGNING_LIFETIME,
    Clock,
    Instant,
    system_clock,
    to_instant,
)
from taskseal.verify.algorithm import check_signing_algorithm
from taskseal.verify.examination import Examination
from taskseal.verify.freshness import check_freshness
from taskseal.verify.gate import recognise
from taskseal.verify.judge import check_bindings, check_content, check_principal
from taskseal.verify.policy import Policy
from taskseal.verify.receipt import check_alone
from taskseal.verify.result import SignerInfo
from taskseal.wire.embedded import without
from taskseal.wire.forms import FORMATS as BY_FORMAT

FORMATS: tuple[str, ...] = tuple(BY_FORMAT)
"""What `sign` writes."""

# From what a document says that it is to the profile whose signatures must cover it.
_MARKS = {id: id for id in BARE_PROFILES} | {
    profile.discriminator[1]: profile.id for profile in BUILT_IN.values() if profile.discriminator
}


@runtime_checkable
class SignerSource(Protocol):
    """Something that holds keys and picks the one for a profile: a keyring."""

    def signer(self, profile: str, *, key_version: str | None, at: Instant) -> Signer:
        """The key that may sign ``profile`` at ``at``."""
        ...


@dataclass(frozen=True, slots=True)
class Signed:
    """What `sign` made. ``blob`` is what goes to the receiver: the whole envelope, or the signature
    alone for the formats that stand beside it.

    ``digest`` is over the canonical envelope without an embedded signature; ``expires`` the
    smallest of all expiries, in nanoseconds since 1970.
    """

    blob: bytes
    profile: str
    format: str
    signer: SignerInfo
    digest: Digest
    expires: Instant


def sign(
    document: bytes | str | Mapping[str, Any],
    keys: Signer | SignerSource,
    *,
    profile: str | Profile | None = None,
    profiles: Mapping[str, Profile] | None = None,
    key_version: str | None = None,
    format: str | None = None,
    expires_in: timedelta | None = None,
    audience: str | None = None,
    artefacts: Mapping[str, Source] | None = None,
    context: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    fill: bool = True,
    algorithm_name: str | None = None,
    allow_divergent: bool = False,
    at: datetime | str | Instant | None = None,
    clock: Clock = system_clock,
) -> Signed:
    """Signs ``document`` under its profile; the document itself is never changed.

    Args:
        document: JSON text, or a dict of JSON values.
        keys: a keyring, or one signer.
        profile: a profile or its id, where the document is not to choose.
        profiles: the profiles at hand, by id; the built-in ones otherwise.
        key_version: which key of the keyring; the one that may sign this profile otherwise.
        format: one of :data:`FORMATS`; the profile's own form otherwise.
        expires_in: from now to expiry where the document does not say; 15 minutes otherwise,
            cut to the document's own expiry and the key's acceptUntil.
        audience: for whom it is (``aud``, or a custom profile's audience member).
        artefacts: what the document binds, by the name that it gives it.
        context: what the sender knows beside it, as for verification.
        policy: the receiver's policy, as far as it is known.
        fill: whether members that the profile names are filled where they are absent, and the
            header gets a nonce; present ones are never overwritten. A detached format fills the
            header only, since the document that it stands beside stays as it is.
        algorithm_name: ``EdDSA`` for receivers that do not know RFC 9864's ``Ed25519``.
        allow_divergent: sign a Dharma object although Dharma's own order gives other bytes.
        at: the instant to sign at; the clock's otherwise.

    Raises:
        InputError: the document is not strict JSON, or is signed already.
        MaterialError: no key may sign it, or the key is a published one.
        Refused: the receiver would refuse it.
    """
    value, existing = opened(_read_document(document), format)
    exam = Examination(
        trust=Trust((), {}),
        policy=policy or Policy(),
        identity=None,
        now=clock() if at is None else to_instant(at),
        context=read_context(context),
        artefacts=artefacts or {},
        signing=True,
    )
    kind = exam.take(_profile_of(exam, value, profile, profiles or BUILT_IN))
    request = Request(
        format=_format_of(kind, format, audience),
        lifetime=None if expires_in is None else _nanoseconds(expires_in),
        audience=audience,
        fill=fill,
        algorithm_name=algorithm_name,
        allow_divergent=allow_divergent,
        existing=existing,
    )
    signer = _signer_of(exam, keys, key_version)
    refuse_unfit(kind, signer, request)
    _prepare(exam, value, request)
    return _seal(exam, signer, request)


def _read_document(document: bytes | str | Mapping[str, Any]) -> Any:
    # A Python value goes through its canonical text, so that what is signed is a copy of
    # exactly typed values and nothing that the caller still holds.
    if isinstance(document, str):
        # Half of a surrogate pair is left for the reader to refuse.
        document = document.encode("utf-8", "surrogatepass")
    data = document if isinstance(document, bytes) else canonicalise(document)
    return parse(data).value


def _profile_of(
    exam: Examination,
    value: Any,
    profile: str | Profile | None,
    profiles: Mapping[str, Profile],
) -> Profile:
    kind = recognise(exam, value, profiles, named_profile(profile, profiles))
    # A key's signature under one profile must never pass for another's (SPEC section 4.7).
    mark = resolve(value, "/schema")
    other = _MARKS.get(mark, kind.id) if isinstance(mark, str) else kind.id
    if other != kind.id:
        exam.take(kind)
        detail = f"the document is a {other}, not a {kind.id}"
        exam.fail("profile", Reason.SCHEMA_INVALID, detail, "/schema")
    if kind.bare and kind.id not in BUILT_IN:
        own = None if kind.discriminator is None else kind.discriminator[0]
        foreign = foreign_mark(value, own)
        if foreign is not None:
            exam.take(kind)
            detail = f"the document passes for another kind than {kind.id}"
            exam.fail("profile", Reason.SCHEMA_INVALID, detail, foreign)
    return kind


def _format_of(kind: Profile, format: str | None, audience: str | None) -> str:
    if format is not None and format not in FORMATS:
        raise InputError(Reason.USAGE, f"no format {format!r}", hint=f"known: {', '.join(FORMATS)}")
    chosen = format or kind.form
    form = BY_FORMAT.get(chosen)
    if form is None or not kind.has_form(form.name):
        takes = ", ".join(name for name in FORMATS if kind.has_form(BY_FORMAT[name].name))
        raise InputError(
            Reason.USAGE,
            f"{kind.id} is not signed as {chosen}",
            hint=f"it takes {takes}" if takes else "it is digested: sign what holds its digest",
        )
    if audience is not None and not form.audience and kind.audience is None:
        raise InputError(
            Reason.USAGE,
            f"{kind.id} as {chosen} has no place for an audience",
            hint="leave it away: the envelope names its receiver itself, or choose another format",
        )
    return chosen


def _nanoseconds(span: timedelta) -> int:
    hint = "give e.g. timedelta(minutes=15)"
    expect(span, timedelta, "a timedelta", hint)
    if span <= timedelta(0):
        raise InputError(Reason.USAGE, "expires_in is not positive", hint=hint)
    return span // timedelta(microseconds=1) * 1000


def _signer_of(exam: Examination, keys: Signer | SignerSource, key_version: str | None) -> Signer:
    if isinstance(keys, Signer):
        signer = keys
        fault = signer.entry.may_sign(exam.now)
        if fault is not None:
            raise MaterialError(fault, f"key version {signer.entry.key_version!r}")
        if exam.kind.id not in signer.entry.profiles:
            raise MaterialError(
                Reason.KEY_WRONG_PROFILE,
                f"key version {signer.entry.key_version!r} may not sign {exam.kind.id}",
            )
    else:
        expect(keys, SignerSource, "a signer", "give Keyring.open(folder), or a Signer")
        signer = keys.signer(exam.kind.id, key_version=key_version, at=exam.now)
    key = signer.entry.key
    if key is None or (is_published(key.thumbprint) and not exam.policy.allow_published_keys):
        raise MaterialError(
            Reason.PUBLISHED_KEY, f"key version {signer.entry.key_version!r} is public knowledge"
        )
    exam.entry = signer.entry
    return signer


def _prepare(exam: Examination, value: Any, request: Request) -> None:
    """Fills the document where it may be, and holds it against the key that is to sign it."""
    lifetime = request.lifetime or SIGNING_LIFETIME
    # A signature beside the document leaves that as it is: what was filled in would be lost.
    exam.envelope = filled(exam, value, lifetime, request.audience) if request.fills else value
    refuse_unaddressed(exam, request)
    _check_key_version(exam)
    check_signing_algorithm(exam, request.format, request.algorithm_name)


def _check_key_version(exam: Examination) -> None:
    """The document names the signing key's version or none (SPEC section 5.1)."""
    kind, entry = exam.kind, exam.entry
    assert entry is not None
    found = [resolve(exam.envelope, pointer) for pointer in kind.key_version]
    present = [str(part) for part in found if part is not MISSING]
    if len(kind.key_version) > 1 and len(present) < len(kind.key_version):
        # Only the document can say how a joined version is split into its members.
        missing = kind.key_version[found.index(MISSING)]
        exam.fail("key", Reason.KEY_VERSION_MISSING, "it is missing", missing)
    if present and "#".join(present) != entry.key_version:
        exam.fail(
            "key",
            Reason.KEY_VERSION_MISMATCH,
            f"it says {'#'.join(present)[:80]!r}, the key is {entry.key_version!r}",
            kind.key_version[0],
        )


def _seal(exam: Examination, signer: Signer, request: Request) -> Signed:
    """Runs the receiver's checks, then signs what they were run on."""
    kind, embedded = exam.kind, request.format == "embedded"
    if kind.signature is not None:
        present = resolve(exam.envelope, kind.signature)
        if present is not MISSING and present not in (None, ""):
            raise InputError(
                Reason.ALREADY_SIGNED, "it carries a signature", pointer=kind.signature
            )
    if embedded and kind.signature is not None:
        exam.envelope = without(exam.envelope, (kind.signature,))
    if kind.decision == "":
        check_alone(exam)
    check_content(exam)
    timed(exam, signer, request)
    check_freshness(exam)
    check_principal(exam)
    check_bindings(exam)
    _check_portable(exam, request)
    size = len(canonicalise(exam.envelope))
    if size > kind.size_limit:
        exam.fail("size", Reason.TOO_LARGE, f"{size} bytes, at most {kind.size_limit}")
    blob = sealed(exam, signer, request)
    exam.authentic = True
    info, digest = exam.signer, exam.digest
    assert info is not None and digest is not None and exam.expires is not None
    return Signed(blob, kind.id, request.format, info, digest, exam.expires)


def _check_portable(exam: Examination, request: Request) -> None:
    if exam.kind.canonical != "dharma" or request.allow_divergent:
        return
    found = portability(exam.envelope)
    if found.verdict != "same":
        exam.fail("portable", Reason.NOT_PORTABLE, found.said, found.pointer)

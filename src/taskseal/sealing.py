"""From a checked document to what its receiver gets: one signature in one form.

Source: SPEC sections 3, 4.7 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taskseal.canon.jcs import cross_check
from taskseal.canon.pointer import MISSING, resolve
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.filling import new_nonce
from taskseal.profiles import Profile
from taskseal.signers.base import Signer
from taskseal.validity import SECOND, SIGNING_LIFETIME, read_instant
from taskseal.verify.examination import Examination, Proof
from taskseal.wire.base import MAX_SEALS, Draft, Form, Received, Subject
from taskseal.wire.forms import FORMATS, around, read_around

_GROWING = ("jws-general", "dsse")
"""Formats that take one signature more."""


@dataclass(frozen=True, slots=True)
class Request:
    """How a document is to be signed; ``lifetime`` in nanoseconds, None for what is usual.

    ``existing`` is what the document came in, when it is to be signed once more.
    """

    format: str
    lifetime: int | None
    audience: str | None
    fill: bool
    algorithm_name: str | None
    allow_divergent: bool
    existing: Any = None

    @property
    def form(self) -> Form:
        """The form that the format arrives in."""
        return FORMATS[self.format]

    @property
    def fills(self) -> bool:
        """Whether the document may still change: it stands in the blob, and nobody signed it."""
        inside = self.form.place != "beside"
        return self.fill and inside and self.existing is None


def opened(value: Any, format: str | None) -> tuple[Any, Any]:
    """The document in ``value``, and what it came in when ``format`` adds a signature to that.

    Raises:
        InputError: ``already_signed``; what reading raises when its signatures are malformed.
    """
    form = around(value)
    if form is None:
        return value, None
    if format != form.name or format not in _GROWING:
        hint = f"add a signature with the format {form.name}" if form.name in _GROWING else None
        raise InputError(Reason.ALREADY_SIGNED, f"it is a {form.name} already", hint=hint)
    payload = read_around(form, value).payload
    assert payload is not None
    inner = parse(payload)
    if not inner.canonical:
        detail = "its payload is not in canonical form"
        raise InputError(Reason.SIGNATURE_MALFORMED, detail, pointer="/payload")
    return inner.value, value


def refuse_unfit(kind: Profile, signer: Signer, request: Request) -> None:
    """That the form cannot carry signatures of the key's algorithm.

    Raises:
        MaterialError: ``algorithm_mismatch``.
    """
    key, form = signer.entry.key, request.form
    assert key is not None
    if form.algorithms is not None and key.algorithm.value not in form.algorithms:
        raise MaterialError(
            Reason.ALGORITHM_MISMATCH,
            f"{kind.id} as {form.name} is not signed with {key.algorithm}",
            hint=f"use a key of {' or '.join(sorted(form.algorithms))}, or another format",
        )


def timed(exam: Examination, signer: Signer, request: Request) -> None:
    """Notes when the signature to be made will say that it is made and ends.

    Its end never passes the envelope's own or the key's.
    """
    kind, entry, form = exam.kind, signer.entry, request.form
    issued = expires = None
    if form.times != "none":
        issued = exam.now - exam.now % SECOND
    if form.times == "window":
        own = None if kind.expires is None else read_instant(resolve(exam.envelope, kind.expires))
        ends = [entry.accept_until, *([] if own is None else [own])]
        if request.lifetime is not None or not kind.timeless:
            ends.append(exam.now + (request.lifetime or SIGNING_LIFETIME))
        end = min(ends)
        expires = end - end % SECOND
    exam.keep([Proof(entry, Received(b"", _empty, issued=issued, expires=expires))])


def _empty(_: Subject) -> bytes:
    return b""


def sealed(exam: Examination, signer: Signer, request: Request) -> bytes:
    """Signs what was examined, and writes it as its receiver wants it.

    Raises:
        InputError: ``already_signed``, ``wrong_typ``, ``too_large`` or ``engines_disagree``.
        Unavailable: the key cannot be reached.
    """
    kind, entry, form = exam.kind, signer.entry, request.form
    covered: Mapping[str, Any] = exam.claims
    if kind.covered is not None:
        exam.canonical, covered = next(iter(kind.covered(exam.envelope)))
    exam.signed = cross_check(covered)
    _refuse_crowding(exam, form, request.existing)
    assert entry.key is not None
    (proof,) = exam.standing
    seal = proof.seal
    assert seal is not None
    draft = Draft(
        Subject(exam.signed, exam.envelope, kind.id, kind.domain, kind.signature),
        request.format,
        key_version=entry.key_version,
        issuer=entry.issuer,
        alg=request.algorithm_name or entry.key.algorithm.value,
        algorithm=entry.key.algorithm.value,
        public=entry.key.raw,
        issued=seal.issued,
        expires=seal.expires,
        nonce=new_nonce() if request.fill and not kind.timeless else None,
        audience=request.audience,
        existing=request.existing,
    )
    made = form.write(draft)
    return made.finish(signer.sign(made.signing_input))


def _refuse_crowding(exam: Examination, form: Form, existing: Any) -> None:
    """The signatures that are there are for the same thing, and none is this key's."""
    entry = exam.entry
    assert entry is not None
    if existing is not None:
        seals = read_around(form, existing).seals
    elif form.place == "inside" and form.read is not None and exam.envelope.get("signatures"):
        seals = form.read(exam.envelope).seals
    else:
        return
    if len(seals) >= MAX_SEALS:
        raise InputError(Reason.TOO_LARGE, f"it carries {len(seals)} signatures already")
    for seal in seals:
        if seal.fault is None and seal.typ != form.mark(exam.kind.id):
            detail = f"a signature in it is not for {exam.kind.id}"
            raise InputError(Reason.WRONG_TYP, detail, pointer=seal.at)
        if seal.key_version == entry.key_version and seal.issuer in (None, entry.issuer):
            detail = f"key version {entry.key_version!r} signed it already"
            raise InputError(Reason.ALREADY_SIGNED, detail, pointer=seal.at)


def refuse_unaddressed(exam: Examination, request: Request) -> None:
    """That an audience asked for would stand nowhere.

    Raises:
        InputError: ``usage``.
    """
    place, audience = exam.kind.audience, request.audience
    if audience is None or request.form.audience:
        return
    found = MISSING if place is None else resolve(exam.envelope, place)
    if found != audience and not (isinstance(found, list) and audience in found):
        raise InputError(
            Reason.USAGE,
            f"the document does not name the audience {audience!r}, and its signature cannot",
            pointer=place,
            hint="let the document name it, or choose a form with a place for it, such as jws",
        )

"""JSON Web Signatures as forms: flattened, detached, and general with several signers.

Source: RFC 7515, RFC 7797, RFC 9864; SPEC section 6.
"""

from __future__ import annotations

from typing import Any

from taskseal.canon.encoding import b64url_decode
from taskseal.errors import InputError, Reason
from taskseal.validity import SECOND
from taskseal.wire.base import MAX_SEALS, Draft, Form, Received, Sealed, Sealing, dotted
from taskseal.wire.general import is_general, read_general, write_general
from taskseal.wire.jws import (
    Header,
    Jws,
    is_detached,
    is_flattened,
    payload_bytes,
    read_detached,
    read_flattened,
    signing_input,
    write_compact,
    write_detached,
    write_flattened,
    write_protected,
)

_DETACHED_FORMATS = ("jws-detached", "jws-compact", "jws-unencoded")


def typ_of(profile: str) -> str:
    """The ``typ`` that keeps a profile's signatures apart from all others."""
    return f"vnd.taskseal.{dotted(profile)}+jws"


def received(jws: Jws, within: str = "") -> Received:
    """A JWS as what every form gives; ``within`` points to the object that holds it."""
    header = jws.header
    return Received(
        signature=jws.signature,
        signing_input=lambda subject: jws.signing_input(subject.payload),
        attached=jws.payload is not None,
        key_version=header.kid,
        issuer=header.iss,
        alg=header.alg,
        typ=header.typ,
        issued=None if header.iat is None else header.iat * SECOND,
        expires=None if header.exp is None else header.exp * SECOND,
        audience=header.aud,
        at=within + "/protected",
        signature_at=within + "/signature",
        jws=jws,
    )


def header_of(draft: Draft, typ: str | None) -> Header:
    """The header of a signature to be made; times are cut to whole seconds."""
    return Header(
        alg=draft.alg,
        typ=typ,
        kid=draft.key_version,
        iss=draft.issuer,
        iat=None if draft.issued is None else draft.issued // SECOND,
        exp=None if draft.expires is None else draft.expires // SECOND,
        nonce=draft.nonce,
        aud=() if draft.audience is None else (draft.audience,),
        b64=draft.format != "jws-unencoded",
    )


def protected_of(header: Header) -> str:
    """A header as it travels.

    Raises:
        InputError: ``too_large``.
    """
    members: dict[str, Any] = header._asdict()
    members["aud"] = header.aud[0] if len(header.aud) == 1 else list(header.aud)
    if header.b64:
        del members["b64"]
    else:
        members["crit"] = ["b64"]
    return write_protected(members)


def _read_flattened(value: Any) -> Sealed:
    jws = read_flattened(value)
    return Sealed((received(jws),), payload_bytes(jws))


def _write_flattened(draft: Draft) -> Sealing:
    protected = protected_of(header_of(draft, typ_of(draft.subject.profile)))
    payload = draft.subject.payload
    return Sealing(
        signing_input(protected, payload),
        lambda signature: write_flattened(protected, signature, payload),
    )


def _read_detached(value: Any) -> Sealed:
    return Sealed((received(read_detached(value)),))


def _write_detached(draft: Draft) -> Sealing:
    header = header_of(draft, typ_of(draft.subject.profile))
    protected = protected_of(header)
    write = write_compact if draft.format == "jws-compact" else write_detached
    return Sealing(
        signing_input(protected, draft.subject.payload, b64=header.b64),
        lambda signature: write(protected, signature),
    )


def _read_general(value: Any) -> Sealed:
    general = read_general(value)
    if len(general.signatures) > MAX_SEALS:
        detail = f"{len(general.signatures)} signatures, at most {MAX_SEALS}"
        raise InputError(Reason.SIGNATURE_MALFORMED, detail, pointer="/signatures")
    seals = tuple(
        received(jws, f"/signatures/{index}") for index, jws in enumerate(general.signatures)
    )
    return Sealed(seals, payload_bytes(general.signatures[0]))


def _write_general(draft: Draft) -> Sealing:
    protected = protected_of(header_of(draft, typ_of(draft.subject.profile)))
    payload, others = draft.subject.payload, _others(draft)
    return Sealing(
        signing_input(protected, payload),
        lambda signature: write_general(payload, [*others, (protected, signature)]),
    )


def _others(draft: Draft) -> list[tuple[str, bytes]]:
    """The signatures that stand in the document already; the new one goes beside them."""
    if draft.existing is None:
        return []
    general = read_general(draft.existing)
    if not general.signatures[0].header.b64 or b64url_decode(general.payload) is None:
        raise InputError(Reason.SIGNATURE_MALFORMED, "its payload is not base64url")
    return [(jws.protected, jws.signature) for jws in general.signatures]


JWS = Form(
    name="jws",
    formats=("jws",),
    place="around",
    detect=is_flattened,
    read=_read_flattened,
    write=_write_flattened,
    mark=typ_of,
    times="window",
    audience=True,
)
"""Flattened JSON with payload: one blob."""

JWS_DETACHED = Form(
    name="jws-detached",
    formats=_DETACHED_FORMATS,
    place="beside",
    detect=is_detached,
    read=_read_detached,
    write=_write_detached,
    mark=typ_of,
    times="window",
    audience=True,
)
"""The same without payload, beside the document: JSON, compact, or with ``b64: false``."""

JWS_GENERAL = Form(
    name="jws-general",
    formats=("jws-general",),
    place="around",
    detect=is_general,
    read=_read_general,
    write=_write_general,
    mark=typ_of,
    times="window",
    audience=True,
)
"""General JSON: one payload, several signers."""

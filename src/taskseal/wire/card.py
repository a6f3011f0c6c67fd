"""A2A: the ``signatures`` member of an agent card.

Each signature is a JWS without its payload, over the card without that member and without
what only repeats a default. What is left out is the profile's to say.

Source: A2A specification section 8.4.
"""

from __future__ import annotations

from typing import Any

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.wire.base import MAX_SEALS, Draft, Form, Received, Sealed, Sealing, Subject
from taskseal.wire.jose import header_of, protected_of, received
from taskseal.wire.jws import read_unattached, signing_input

MEMBER = "signatures"
TYP = "JOSE"

_REQUIRED = frozenset({"protected", "signature"})
_ALL = _REQUIRED | {"header"}


def _read(card: dict[str, Any]) -> Sealed:
    listed = card.get(MEMBER)
    if listed is None or listed == []:
        raise InputError(Reason.SIGNATURE_MISSING, "the card is unsigned", pointer=f"/{MEMBER}")
    if type(listed) is not list or len(listed) > MAX_SEALS:
        raise _malformed(f"signatures is no list of 1 to {MAX_SEALS}", f"/{MEMBER}")
    return Sealed(tuple(_read_one(item, f"/{MEMBER}/{index}") for index, item in enumerate(listed)))


def _read_one(item: Any, at: str) -> Received:
    if type(item) is not dict or not _REQUIRED <= item.keys() <= _ALL:
        raise _malformed("a signature holds protected, signature and perhaps header", at)
    if type(item.get("header", {})) is not dict:
        raise _malformed("the unprotected header is not an object", f"{at}/header")
    try:
        jws = read_unattached(item["protected"], item["signature"])
    except InputError as fault:
        # One signature is enough, so that another's header must not spoil the card.
        moved = InputError(fault.code, fault.detail, pointer=at + (fault.pointer or ""))
        return Received(b"", _nothing, at=at, fault=moved)
    # The standard recommends typ and knows no audience; where there is one, it counts.
    header = jws.header
    return received(jws, at)._replace(typ=header.typ or TYP, audience=header.aud or None)


def _nothing(_: Subject) -> bytes:
    return b""


def _write(draft: Draft) -> Sealing:
    card = dict(draft.subject.value)
    protected = protected_of(header_of(draft, TYP))

    def finish(signature: bytes) -> bytes:
        mine = {"protected": protected, "signature": b64url_encode(signature)}
        return canonicalise({**card, MEMBER: [*(card.get(MEMBER) or []), mine]})

    return Sealing(signing_input(protected, draft.subject.payload), finish)


def _malformed(detail: str, pointer: str) -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail, pointer=pointer)


CARD = Form(
    name="a2a",
    formats=("a2a",),
    place="inside",
    read=_read,
    write=_write,
    mark=lambda profile: TYP,
    times="window",
)
"""Signatures in a card; those of others say nothing of time."""

"""DSSE: a payload, its type, and signatures by any number of signers.

What is signed is the pre-authentication encoding, which counts bytes. The ``keyid`` is a hint
outside the signature: it holds the key version alone, since the standard gives it no place for
an issuer.

Source: DSSE 1.0.2 (protocol.md, envelope.md).
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode, urlsafe_b64encode
from typing import Any

from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.wire.base import MAX_SEALS, Draft, Form, Received, Sealed, Sealing, Subject, dotted

_OUTER = frozenset({"payload", "payloadType", "signatures"})
_URL_SAFE = str.maketrans("-_", "+/")


def payload_type(profile: str) -> str:
    """The ``payloadType`` of a profile's messages."""
    return f"application/vnd.taskseal.{dotted(profile)}+json"


def pae(kind: str, body: bytes) -> bytes:
    """The pre-authentication encoding of a payload type and a payload: what is signed."""
    name = kind.encode("utf-8", "surrogatepass")
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(body), body)


def is_dsse(value: Any) -> bool:
    """Whether a JSON value has the members of a DSSE envelope; it may have others."""
    return type(value) is dict and value.keys() >= _OUTER


def _read(value: dict[str, Any]) -> Sealed:
    kind, listed = value["payloadType"], value["signatures"]
    payload = _base64(value["payload"])
    if payload is None:
        raise _malformed("the payload is not base64 in one of its two alphabets", "/payload")
    if type(kind) is not str:
        raise _malformed("payloadType is not a text", "/payloadType")
    if type(listed) is not list or not 1 <= len(listed) <= MAX_SEALS:
        raise _malformed(f"signatures is no list of 1 to {MAX_SEALS}", "/signatures")
    message = pae(kind, payload)

    def covered(_: Subject) -> bytes:
        return message

    seals = []
    for index, item in enumerate(listed):
        signature, keyid = _read_one(item, index)
        seals.append(
            Received(
                signature=signature,
                signing_input=covered,
                attached=True,
                key_version=keyid,
                typ=kind,
                at=f"/signatures/{index}",
                signature_at=f"/signatures/{index}/sig",
            )
        )
    return Sealed(tuple(seals), payload)


def _read_one(item: Any, index: int) -> tuple[bytes, str | None]:
    at = f"/signatures/{index}"
    if type(item) is not dict:
        raise _malformed("a signature is an object", at)
    signature, keyid = _base64(item.get("sig")), item.get("keyid", "")
    if not signature:
        raise _malformed("sig is not base64 in one of its two alphabets", f"{at}/sig")
    if type(keyid) is not str:
        raise _malformed("keyid is not a text", f"{at}/keyid")
    # Unset and empty mean the same.
    return signature, keyid or None


def _base64(text: Any) -> bytes | None:
    """The bytes of base64 text, padded, in the standard or the URL-safe alphabet, not both."""
    if type(text) is not str or not text.isascii():
        return None
    try:
        data = b64decode(text.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        return None
    spellings = b64encode(data).decode(), urlsafe_b64encode(data).decode()
    return data if text in spellings else None


def _write(draft: Draft) -> Sealing:
    kind, payload = payload_type(draft.subject.profile), draft.subject.payload
    others = [] if draft.existing is None else draft.existing["signatures"]

    def finish(signature: bytes) -> bytes:
        mine = {"keyid": draft.key_version, "sig": b64encode(signature).decode()}
        return canonicalise(
            {
                "payload": b64encode(payload).decode(),
                "payloadType": kind,
                "signatures": [*others, mine],
            }
        )

    return Sealing(pae(kind, payload), finish)


def _malformed(detail: str, pointer: str) -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail, pointer=pointer)


DSSE = Form(
    name="dsse",
    formats=("dsse",),
    place="around",
    detect=is_dsse,
    read=_read,
    write=_write,
    mark=payload_type,
)
"""DSSE envelopes; they say nothing of time and of audience."""

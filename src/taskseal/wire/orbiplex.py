"""Orbiplex ``ed25519+domain-v1``: a signature object under a domain tag.

What is signed is the SHA-256 of a wrap of the tag, the schema's name, and the canonical
document; each is preceded by its length.

Source: SPEC section 6; the wrap agrees with Orbiplex's published fixtures.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.wire.base import Draft, Form, Received, Sealed, Sealing, Subject
from taskseal.wire.multikey import DID, read_multikey, write_multikey

ALG = "ed25519+domain-v1"

_MEMBERS = frozenset({"alg", "key/public", "value"})
_MAGIC = b"orbiplex-sig-v1\0"


def wrapped(tag: str, payload: bytes) -> bytes:
    """The 32 bytes signed for ``payload`` under the domain ``tag``."""
    name = tag.encode("utf-8", "surrogatepass")
    body = len(name).to_bytes(4, "big") + name + len(payload).to_bytes(8, "big") + payload
    return sha256(_MAGIC + body).digest()


def _is_object(value: Any) -> bool:
    return type(value) is dict and "key/public" in value


def _read(value: dict[str, Any]) -> Sealed:
    if value.keys() != _MEMBERS:
        raise _malformed("a signature holds alg, key/public and value, nothing else", "")
    if value["alg"] != ALG:
        detail = f"{str(value['alg'])[:60]!r} is not {ALG}"
        raise InputError(Reason.UNSUPPORTED_ALGORITHM, detail, pointer="/alg")
    signature = b64url_decode(value["value"])
    if not signature:
        raise _malformed("the value is not base64url in its one spelling", "/value")
    text = value["key/public"]
    try:
        holder = read_multikey(text.removeprefix(DID) if isinstance(text, str) else text)
    except InputError as fault:
        raise InputError(fault.code, fault.detail, pointer="/key~1public") from None
    seal = Received(
        signature=signature,
        signing_input=lambda subject: wrapped(subject.tag, subject.payload),
        alg="Ed25519",
        holder=holder,
        at="/key~1public",
        signature_at="/value",
    )
    return Sealed((seal,))


def _write(draft: Draft) -> Sealing:
    subject: Subject = draft.subject
    public = write_multikey(draft.algorithm, draft.public)

    def finish(signature: bytes) -> bytes:
        value = b64url_encode(signature)
        return canonicalise({"alg": ALG, "key/public": public, "value": value})

    return Sealing(wrapped(subject.tag, subject.payload), finish)


def _malformed(detail: str, pointer: str) -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail, pointer=pointer)


ORBIPLEX = Form(
    name=ALG,
    formats=(ALG,),
    place="beside",
    detect=_is_object,
    read=_read,
    write=_write,
    algorithms=frozenset({"Ed25519"}),
)
"""Signature objects beside a document; the tag is not in them, so that another one just fails."""

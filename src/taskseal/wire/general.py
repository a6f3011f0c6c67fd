"""JWS general JSON: one payload under several signatures.

What each signature means is not said here: it stands in the ``typ`` of its own header.

Source: RFC 7515 section 7.2.1, RFC 7797 section 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.wire.jws import Jws, read_flattened

MAX_SIGNATURES = 128
"""Signatures that one document may carry."""

_OUTER = frozenset({"payload", "signatures"})
_EACH = frozenset({"protected", "signature"})


class General(NamedTuple):
    """A document in general form as received: the payload's text, and each signature over it."""

    payload: str
    signatures: tuple[Jws, ...]


def is_general(value: Any) -> bool:
    """Whether a JSON value has the outer members of a general JWS, and no other."""
    return type(value) is dict and value.keys() == _OUTER


def read_general(value: dict[str, Any]) -> General:
    """The payload and the signatures of a general JWS that :func:`is_general` knows.

    Raises:
        InputError: ``signature_malformed``, ``unsupported_algorithm`` or
            ``critical_header_unknown`` with the pointer.
    """
    payload, listed = value["payload"], value["signatures"]
    if type(payload) is not str:
        raise _malformed("the payload is not a text", "/payload")
    if type(listed) is not list or not 1 <= len(listed) <= MAX_SIGNATURES:
        raise _malformed(f"signatures is no list of 1 to {MAX_SIGNATURES}", "/signatures")
    signatures = tuple(_read_one(payload, item, index) for index, item in enumerate(listed))
    if len({jws.header.b64 for jws in signatures}) > 1:
        raise _malformed("b64 is the same in every header", "/signatures")
    return General(payload, signatures)


def _read_one(payload: str, item: Any, index: int) -> Jws:
    at = f"/signatures/{index}"
    if type(item) is not dict or item.keys() != _EACH:
        raise _malformed("a signature holds protected and signature, nothing else", at)
    try:
        return read_flattened({"payload": payload, **item})
    except InputError as fault:
        raise InputError(
            fault.code, fault.detail, pointer=at + (fault.pointer or ""), hint=fault.hint
        ) from None


def write_general(payload: bytes, signatures: Iterable[tuple[str, bytes]]) -> bytes:
    """A general JWS in canonical form.

    Args:
        payload: what is signed.
        signatures: each protected header as it travels, with its signature.
    """
    return canonicalise(
        {
            "payload": b64url_encode(payload),
            "signatures": [
                {"protected": protected, "signature": b64url_encode(signature)}
                for protected, signature in signatures
            ],
        }
    )


def _malformed(detail: str, pointer: str) -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail, pointer=pointer)

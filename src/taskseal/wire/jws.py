"""JSON Web Signatures over canonical envelopes: flattened, detached, compact.

The bytes signed are ``BASE64URL(protected) . BASE64URL(payload)``, or with ``b64: false``
``BASE64URL(protected) . payload``. The protected header is strictly parsed; nothing in it is
ever trusted as a key (``jwk``, ``jku``, ``x5u``, ``x5c`` are not read).

Source: RFC 7515, RFC 7797, RFC 8037, RFC 9864; SPEC section 6.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason

MAX_HEADER = 8 * 1024
"""The largest protected header, in bytes of JSON."""
LATEST_EPOCH = 253_402_300_799
"""9999-12-31T23:59:59Z in seconds; ``iat`` and ``exp`` stand between 0 and this."""

_FLATTENED = frozenset({"payload", "protected", "signature"})
_DETACHED = frozenset({"protected", "signature"})
_COMPACT = re.compile(rb"[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]+")


class Header(NamedTuple):
    """A protected header as read; times in whole seconds since 1970."""

    alg: str
    typ: str | None
    kid: str | None
    iss: str | None
    iat: int | None
    exp: int | None
    nonce: str | None
    aud: tuple[str, ...]
    b64: bool


class Jws(NamedTuple):
    """One signature as received. ``payload`` is its text, None when it travels elsewhere."""

    protected: str
    signature: bytes
    payload: str | None
    header: Header

    def signing_input(self, payload: bytes) -> bytes:
        """The bytes signed, over ``payload`` when it travels elsewhere."""
        if self.payload is not None:
            body = self.payload.encode()
        elif self.header.b64:
            body = b64url_encode(payload).encode()
        else:
            body = payload
        return self.protected.encode() + b"." + body


def is_flattened(value: Any) -> bool:
    """Whether a JSON value has the outer members of a flattened JWS with payload, and no other."""
    return type(value) is dict and value.keys() == _FLATTENED


def read_flattened(value: dict[str, Any]) -> Jws:
    """The signature in a flattened JWS with payload.

    Raises:
        InputError: ``signature_malformed``, ``unsupported_algorithm`` or
            ``critical_header_unknown`` with the pointer of the outer member.
    """
    payload = value["payload"]
    if type(payload) is not str:
        raise _malformed("the payload is not a text", "/payload")
    return _read(value["protected"], value["signature"], payload)


def payload_bytes(jws: Jws) -> bytes:
    """The bytes of an attached payload.

    Raises:
        InputError: ``signature_malformed`` when the text is not strict base64url.
    """
    text = jws.payload or ""
    if not jws.header.b64:
        return text.encode()
    data = b64url_decode(text)
    if data is None:
        raise _malformed("the payload is not base64url in its one spelling", "/payload")
    return data


def is_detached(value: Any) -> bool:
    """Whether a JSON value, or the text of a file that is not JSON, is a JWS without payload.

    A JSON value is one by either member, so that one with others is refused as malformed.
    """
    if type(value) is bytes:
        return _COMPACT.fullmatch(value) is not None
    return type(value) is dict and not value.keys().isdisjoint(_DETACHED)


def read_detached(value: Any) -> Jws:
    """The signature in a value that :func:`is_detached` knows.

    Raises:
        InputError: as :func:`read_flattened`.
    """
    if type(value) is bytes:
        protected, _, signature = value.decode().split(".")
        return read_unattached(protected, signature)
    if value.keys() != _DETACHED:
        raise _malformed("a detached signature holds protected and signature, nothing else", "")
    return read_unattached(value["protected"], value["signature"])


def read_unattached(protected: Any, signature: Any) -> Jws:
    """The JWS of a header and a signature whose payload travels elsewhere.

    Raises:
        InputError: as :func:`read_flattened`.
    """
    return _read(protected, signature, None)


def _read(protected: Any, signature: Any, payload: str | None) -> Jws:
    raw = b64url_decode(signature)
    if raw is None or not raw:
        raise _malformed("the signature is not base64url in its one spelling", "/signature")
    return Jws(protected, raw, payload, _read_header(protected))


def _read_header(protected: Any) -> Header:
    text = b64url_decode(protected)
    if text is None:
        raise _malformed("the header is not base64url in its one spelling")
    if len(text) > MAX_HEADER:
        raise _malformed(f"the header is over {MAX_HEADER} bytes")
    try:
        value = parse(text).value
    except InputError as fault:
        raise _malformed(f"the header is not strict JSON: {fault.code}: {fault.detail}") from None
    if type(value) is not dict:
        raise _malformed("the header is not an object")
    if type(value.get("alg")) is not str:
        raise _malformed("the header names no alg")
    b64 = _read_critical(value)
    iat, exp = _epoch(value, "iat"), _epoch(value, "exp")
    if (iat is None) != (exp is None):
        raise _malformed("the header holds only one of iat and exp")
    return Header(
        alg=value["alg"],
        typ=_text(value, "typ"),
        kid=_text(value, "kid"),
        iss=_text(value, "iss"),
        iat=iat,
        exp=exp,
        nonce=_text(value, "nonce"),
        aud=_audience(value),
        b64=b64,
    )


def _read_critical(value: dict[str, Any]) -> bool:
    critical = value.get("crit", [])
    if "crit" in value and (
        type(critical) is not list
        or not critical
        or any(type(name) is not str for name in critical)
        or len(set(critical)) != len(critical)
    ):
        raise _malformed("crit is not a list of distinct names")
    for name in critical:
        if name != "b64":
            raise InputError(
                Reason.CRITICAL_HEADER_UNKNOWN, f"crit names {name[:60]!r}", pointer="/protected"
            )
    b64 = value.get("b64", True)
    if type(b64) is not bool or (critical and "b64" not in value) or (not b64 and not critical):
        raise _malformed("b64 is a boolean, and false only where crit names it")
    return b64


def _epoch(value: dict[str, Any], name: str) -> int | None:
    seconds = value.get(name)
    if seconds is None and name not in value:
        return None
    if type(seconds) is not int or not 0 <= seconds <= LATEST_EPOCH:
        raise _malformed(f"time_malformed: {name} is not whole seconds between 1970 and 9999")
    return seconds


def _text(value: dict[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is None and name not in value:
        return None
    if type(text) is not str:
        raise _malformed(f"{name} is not a text")
    return text


def _audience(value: dict[str, Any]) -> tuple[str, ...]:
    if "aud" not in value:
        return ()
    aud = value["aud"]
    names = [aud] if type(aud) is str else aud
    if type(names) is not list or not names or any(type(name) is not str for name in names):
        raise _malformed("aud is neither a text nor a list of texts")
    return tuple(names)


def _malformed(detail: str, pointer: str | None = "/protected") -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail, pointer=pointer)


def write_protected(header: dict[str, Any]) -> str:
    """The protected header as it travels: BASE64URL of its canonical JSON.

    Members whose value is None or an empty list are left out.

    Raises:
        InputError: ``too_large`` when the header is over 8 KiB.
    """
    kept = {name: value for name, value in header.items() if value not in (None, [])}
    text = canonicalise(kept)
    if len(text) > MAX_HEADER:
        raise InputError(
            Reason.TOO_LARGE,
            f"the header would be over {MAX_HEADER} bytes",
            hint="use a shorter key version, issuer or audience",
        )
    return b64url_encode(text)


def write_flattened(protected: str, signature: bytes, payload: bytes) -> bytes:
    """A flattened JWS with payload, canonical: one blob that carries everything."""
    return canonicalise(
        {
            "payload": b64url_encode(payload),
            "protected": protected,
            "signature": b64url_encode(signature),
        }
    )


def write_detached(protected: str, signature: bytes) -> bytes:
    """A flattened JWS without payload, canonical; it stands beside the envelope."""
    return canonicalise({"protected": protected, "signature": b64url_encode(signature)})


def write_compact(protected: str, signature: bytes) -> bytes:
    """A detached JWS in compact form, ``protected..signature``."""
    return f"{protected}..{b64url_encode(signature)}".encode()


def signing_input(protected: str, payload: bytes, *, b64: bool = True) -> bytes:
    """The bytes that the signer signs (RFC 7515 section 5.1, RFC 7797 section 3)."""
    body = b64url_encode(payload).encode() if b64 else payload
    return protected.encode() + b"." + body

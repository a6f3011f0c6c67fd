"""SSHSIG: what ``ssh-keygen -Y sign`` makes and ``ssh-keygen -Y verify`` checks.

The armoured file stands beside the document and holds the public key, a namespace that is the
profile's, and the signature. What is signed is the digest of the canonical document, so that a
receiver with only OpenSSH can check a document that is in canonical form.

Source: OpenSSH PROTOCOL.sshsig; RFC 4251 section 5, RFC 5656 section 3.1.2, RFC 8709.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode, b64encode
from typing import Any

from taskseal.errors import InputError, Reason
from taskseal.wire.base import Draft, Form, Holder, Received, Sealed, Sealing, Subject, dotted
from taskseal.wire.multikey import holder_of

HASH = "sha512"
"""The hash that is written; sha256 is read as well."""

_BEGIN = b"-----BEGIN SSH SIGNATURE-----"
_END = b"-----END SSH SIGNATURE-----"
_COLUMNS = 70
_MAGIC = b"SSHSIG"
_VERSION = (1).to_bytes(4, "big")
_HASHES = frozenset({b"sha256", b"sha512"})

_ED25519, _P256, _CURVE = b"ssh-ed25519", b"ecdsa-sha2-nistp256", b"nistp256"
_WIDTH = 32
"""Bytes of a P-256 coordinate, and of each half of its signature."""


def namespace_of(profile: str) -> str:
    """The namespace of a profile's signatures: ``taskseal.aisa.message.v1``."""
    return f"taskseal.{dotted(profile)}"


def public_blob(algorithm: str, public: bytes) -> bytes | None:
    """A public key as OpenSSH's wire format has it; None for one that has none there.

    Args:
        algorithm: the JOSE name.
        public: 32 bytes of Ed25519, or the 65 of an uncompressed P-256 point.
    """
    if algorithm == "Ed25519":
        return _string(_ED25519) + _string(public)
    if algorithm == "ES256":
        return _string(_P256) + _string(_CURVE) + _string(public)
    return None


def read_public_blob(blob: bytes) -> Holder:
    """The public key of OpenSSH's wire format.

    Raises:
        InputError: ``signature_malformed``, or ``unsupported_algorithm`` for another kind of key.
    """
    reader = _Reader(blob)
    kind = reader.string()
    if kind == _ED25519:
        point = reader.string()
        reader.end()
        if len(point) != 32:
            raise _malformed("an Ed25519 key has 32 bytes")
        return Holder("Ed25519", point)
    if kind != _P256:
        raise InputError(Reason.UNSUPPORTED_ALGORITHM, f"a key of the kind {kind[:40]!r}")
    curve, point = reader.string(), reader.string()
    reader.end()
    if curve != _CURVE or len(point) != 2 * _WIDTH + 1 or point[:1] != b"\x04":
        raise _malformed("the P-256 key is not an uncompressed point")
    return holder_of("ES256", point)


def armoured(data: Any) -> bool:
    """Whether a file's bytes begin as an armoured SSH signature does."""
    return type(data) is bytes and data.startswith(_BEGIN)


def _read(data: bytes) -> Sealed:
    reader = _Reader(_dearmoured(data))
    if reader.take(len(_MAGIC)) != _MAGIC or reader.take(4) != _VERSION:
        raise _malformed("it is not an SSH signature of version 1")
    holder = read_public_blob(reader.string())
    namespace, reserved = reader.string(), reader.string()
    hash_name, signature = reader.string(), reader.string()
    reader.end()
    if hash_name not in _HASHES:
        raise _malformed(f"the hash is {hash_name[:40]!r}")
    seal = Received(
        signature=_read_signature(signature, holder.algorithm),
        signing_input=lambda subject: _covered(namespace, reserved, hash_name, subject),
        alg=holder.algorithm,
        typ=namespace.decode("utf-8", "replace"),
        holder=holder,
    )
    return Sealed((seal,))


def _dearmoured(data: bytes) -> bytes:
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    if len(lines) < 3 or lines[0] != _BEGIN or lines[-1] != _END:
        raise _malformed("the armour is not whole")
    text = b"".join(lines[1:-1])
    try:
        blob = b64decode(text, validate=True)
    except binascii.Error:
        blob = b""
    if not blob or b64encode(blob) != text:
        raise _malformed("what stands between the armour is not base64 in its one spelling")
    return blob


def _read_signature(blob: bytes, algorithm: str) -> bytes:
    """The raw signature within its own envelope, which names the key's kind again."""
    reader = _Reader(blob)
    kind, body = reader.string(), reader.string()
    reader.end()
    if kind != (_ED25519 if algorithm == "Ed25519" else _P256):
        raise _malformed("the signature is of another kind than the key")
    if algorithm == "Ed25519":
        return body
    halves = _Reader(body)
    r, s = halves.string(), halves.string()
    halves.end()
    return _half(r) + _half(s)


def _half(integer: bytes) -> bytes:
    """A positive mpint in its one spelling, as 32 bytes."""
    bare = integer.removeprefix(b"\0")
    if _integer(bare) != integer or len(bare) > _WIDTH:
        raise _malformed("a half of the signature is no integer of P-256")
    return bare.rjust(_WIDTH, b"\0")


def _integer(bare: bytes) -> bytes:
    bare = bare.lstrip(b"\0")
    return b"\0" + bare if bare[:1] >= b"\x80" else bare


def _covered(namespace: bytes, reserved: bytes, hash_name: bytes, subject: Subject) -> bytes:
    digest = hashlib.new(hash_name.decode("ascii"), subject.payload).digest()
    return _MAGIC + b"".join(map(_string, (namespace, reserved, hash_name, digest)))


def _write(draft: Draft) -> Sealing:
    subject = draft.subject
    namespace, hash_name = namespace_of(subject.profile).encode(), HASH.encode()
    public = public_blob(draft.algorithm, draft.public)
    assert public is not None, "the form's algorithms say which keys come here"

    def finish(signature: bytes) -> bytes:
        kind, body = _ED25519, signature
        if draft.algorithm != "Ed25519":
            halves = (signature[:_WIDTH], signature[_WIDTH:])
            kind, body = _P256, b"".join(_string(_integer(half)) for half in halves)
        parts = (public, namespace, b"", hash_name, _string(kind) + _string(body))
        text = b64encode(_MAGIC + _VERSION + b"".join(map(_string, parts)))
        lines = [text[at : at + _COLUMNS] for at in range(0, len(text), _COLUMNS)]
        return b"\n".join([_BEGIN, *lines, _END, b""])

    return Sealing(_covered(namespace, b"", hash_name, subject), finish)


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class _Reader:
    """RFC 4251 strings, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise _malformed("it is cut short")
        self._at += size
        return found

    def string(self) -> bytes:
        return self.take(int.from_bytes(self.take(4), "big"))

    def end(self) -> None:
        if self._at != len(self._data):
            raise _malformed("something follows its end")


def _malformed(detail: str) -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail)


SSHSIG = Form(
    name="sshsig",
    formats=("sshsig",),
    place="beside",
    detect=armoured,
    read=_read,
    write=_write,
    mark=namespace_of,
    algorithms=frozenset({"Ed25519", "ES256"}),
)
"""OpenSSH's signatures; they say nothing of time and of audience."""

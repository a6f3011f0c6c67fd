"""Key files, in and out.

In: PKCS#8 (PEM or DER, plain or encrypted), SEC 1 (plain), OpenSSH, JWK; of Ed25519 a raw
32-byte seed too (also as 64 hexadecimal or 43 base64url characters), or seed and public half (64
bytes, when they match). Text may have any line ends, a byte order mark, words around the PEM
block, no final line end.
Out: PKCS#8 PEM, OpenSSH (not for ML-DSA), JWK, raw (private halves of Ed25519 only: 32 bytes do
not say whose they are). Nothing that is raised shows what the file held.

Source: SPEC section 4.4; RFC 7468, 5958, 8410, 9881, 7517, 7518, 8037, 9964.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.keys import containers, foreign
from taskseal.keys.algorithms import (
    SECRET_SIZE,
    Algorithm,
    PublicKey,
    jwk_algorithm,
    jwk_bytes,
    jwk_members,
    jwk_public,
    scheme,
)
from taskseal.keys.containers import Passphrase, malformed
from taskseal.keys.private import PrivateKey

KEY_FILE_LIMIT = 1 << 16
"""Bytes of the largest key file that is read."""

Form = Literal["pem", "ssh", "jwk", "raw"]
FORMS: tuple[Form, ...] = ("pem", "ssh", "jwk", "raw")
"""The names of the forms that keys are written in."""

_BOM = b"\xef\xbb\xbf"
_DER = b"\x30"
_HEX = re.compile(rb"[0-9A-Fa-f]{64}")
_B64URL = re.compile(rb"[A-Za-z0-9_-]{43}")
_SSH_LINE = re.compile(rb"(?:ssh|ecdsa|sk)-[a-z0-9@.-]+ ")


def read_private_key(data: bytes, passphrase: Passphrase = None) -> PrivateKey:
    """The private key of a key file.

    Args:
        data: the file's bytes.
        passphrase: what opens it; ignored when the file is not locked.

    Raises:
        MaterialError: ``key_malformed``, ``unsupported_algorithm``, ``passphrase_needed``,
            ``passphrase_wrong``, ``extra_missing`` (an encrypted OpenSSH key without bcrypt).
    """
    raw = _raw(data)
    if raw is not None:
        return PrivateKey(raw)
    if len(data) == 2 * SECRET_SIZE:
        key = PrivateKey(data[:SECRET_SIZE])
        if key.public.raw != data[SECRET_SIZE:]:
            raise malformed("64 bytes are a seed and its public half, and these do not match")
        return key
    if data.startswith(_DER):
        return containers.read_der_private(data, passphrase)
    text = _text(data)
    if b"-----BEGIN " in text:
        return containers.read_pem_private(text, passphrase)
    if text.lstrip().startswith(b"{"):
        return _jwk_private(_jwk(text))
    raise malformed(_unknown("private", data))


def read_public_key(data: bytes) -> PublicKey:
    """The public key of a file: PEM or DER (SPKI), an OpenSSH line, a JWK, or its raw bytes.

    Raises:
        MaterialError: ``key_malformed`` (also for a private key, which is not taken apart
            here), ``weak_key``, ``unsupported_algorithm``.
    """
    raw = _raw(data)
    if raw is not None:
        return PublicKey(Algorithm.ED25519, raw)
    if _is_point(data):
        return PublicKey(Algorithm.P256, data)
    if _is_mldsa(data):
        return PublicKey(Algorithm.MLDSA65, data)
    if data.startswith(_DER):
        return containers.read_der_public(data)
    text = _text(data)
    if b"-----BEGIN " in text:
        return containers.read_pem_public(text)
    if _SSH_LINE.match(text):
        return containers.read_ssh_public(text.strip())
    if text.lstrip().startswith(b"{"):
        return PublicKey.from_jwk(_jwk(text))
    raise malformed(_unknown("public", data))


def write_private_key(key: PrivateKey, form: Form, passphrase: Passphrase = None) -> bytes:
    """``key`` as a file in ``form``; PEM and OpenSSH are encrypted when there is a passphrase.

    Raises:
        InputError: ``usage`` for an empty passphrase, for one with a form that has no lock, or
            for a form that the algorithm does not have.
        MaterialError: ``extra_missing`` when OpenSSH encryption lacks bcrypt.
    """
    check_form(key.algorithm, form, private=True)
    if passphrase is not None:
        _refuse_lock(form, passphrase)
    if form == "pem":
        return containers.write_pkcs8(key, passphrase)
    if form == "ssh":
        return containers.write_openssh(key, passphrase)
    if form == "jwk":
        secret = {scheme(key.algorithm).secret: b64url_encode(key.reveal_secret())}
        return canonicalise({**key.public.jwk(), **secret}) + b"\n"
    return key.reveal_secret()


def write_public_key(key: PublicKey, form: Form) -> bytes:
    """``key`` as a file in ``form``; raises ``usage`` as :func:`check_form`."""
    check_form(key.algorithm, form)
    if form == "pem":
        return foreign.to_spki(key)
    if form == "ssh":
        return foreign.to_ssh_line(key)
    if form == "jwk":
        return canonicalise(key.jwk()) + b"\n"
    return key.raw


def check_form(algorithm: Algorithm, form: Form, *, private: bool = False) -> None:
    """Whether keys of ``algorithm`` are written in ``form``.

    Raises:
        InputError: ``usage`` with the forms that there are.
    """
    if form == "ssh" and algorithm is Algorithm.MLDSA65:
        raise InputError(
            Reason.USAGE, f"OpenSSH has no form for {algorithm} keys", hint="choose pem or jwk"
        )
    if form == "raw" and private and algorithm is not Algorithm.ED25519:
        raise InputError(
            Reason.USAGE,
            f"{SECRET_SIZE} raw bytes do not say that they are an {algorithm} key, and would be "
            f"read as one of {Algorithm.ED25519}",
            hint="choose pem or jwk",
        )


def _refuse_lock(form: Form, passphrase: bytes) -> None:
    if not passphrase:
        raise InputError(Reason.USAGE, "an empty passphrase protects nothing")
    if form in ("jwk", "raw"):
        raise InputError(
            Reason.USAGE,
            f"the form {form} has no encryption",
            hint="choose pem or ssh, or give no passphrase",
        )


def _raw(data: bytes) -> bytes | None:
    """The 32 bytes of a file that holds no more than them, in one of three spellings."""
    if len(data) > KEY_FILE_LIMIT:
        raise malformed(f"no key file is larger than {KEY_FILE_LIMIT} bytes")
    if len(data) == SECRET_SIZE:
        return data
    text = data.removeprefix(_BOM)
    for end in (b"\r\n", b"\n", b"\r"):
        if text.endswith(end):
            text = text.removesuffix(end)
            break
    if _HEX.fullmatch(text):
        return bytes.fromhex(text.decode("ascii"))
    if _B64URL.fullmatch(text):
        found = b64url_decode(text.decode("ascii"))
        if found is None:
            raise malformed("the base64url text has spare bits set")
        return found
    return None


def _is_point(data: bytes) -> bool:
    """Whether these may be the raw bytes of a P-256 key, compressed or not; no text begins so."""
    return (len(data), data[:1]) in {(65, b"\x04"), (33, b"\x02"), (33, b"\x03")}


def _is_mldsa(data: bytes) -> bool:
    """Whether these may be the raw bytes of an ML-DSA-65 key, and neither text nor DER."""
    size = scheme(Algorithm.MLDSA65).public_size
    if len(data) != size or data.startswith(b"\x30\x82" + (size - 4).to_bytes(2, "big")):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _text(data: bytes) -> bytes:
    """``data`` without byte order mark, its lines ending in LF."""
    return data.removeprefix(_BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _jwk(text: bytes) -> Mapping[str, Any]:
    try:
        value = parse(text.strip()).value
    except InputError as error:
        raise malformed(f"the JWK is not one JSON object ({error.code})") from None
    return jwk_members(value)


def _jwk_private(members: Mapping[str, Any]) -> PrivateKey:
    algorithm = jwk_algorithm(members)
    secret = scheme(algorithm).secret
    if secret not in members:
        raise malformed(f"the JWK holds no private half ({secret})")
    key = PrivateKey(jwk_bytes(members, secret, SECRET_SIZE), algorithm)
    if jwk_public(members, algorithm) != key.public.raw:
        raise malformed(f"the JWK's public half is not that of its {secret}")
    return key


def _unknown(half: str, data: bytes) -> str:
    if not data:
        return "the file is empty"
    return f"the {len(data)} bytes are in none of the forms that {half} keys are read from"

"""How a keyring keeps a private half at rest: sealed by a passphrase, or plain on demand.

The file is canonical JSON. Sealed, it names its own parameters: argon2id over the passphrase
gives the key of an XSalsa20-Poly1305 box around the secret, 32 bytes for every algorithm: the
seed, or P-256's scalar. The file does not say whose they are: both halves are checked against the
public key that it must belong to, so another key's file in its place is noticed.

Source: RFC 9106 (argon2id), NaCl's secretbox, SPEC section 4.4.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import SECRET_SIZE, PublicKey
from taskseal.keys.private import PrivateKey
from taskseal.keys.shape import Shape

VAULT_SCHEMA = "taskseal.private-key/v1"
VAULT_LIMIT = 1 << 12
"""Bytes of the largest file of this kind."""

_KDF = "argon2id13"
_CIPHER = "xsalsa20poly1305"
_SEALED = ("schema", "thumbprint", "kdf", "cipher", "nonce", "box")
_PLAIN = ("schema", "thumbprint", "seed")
_SALT_SIZE = 16
_NONCE_SIZE = 24
_MAC_SIZE = 16
_KEY_SIZE = 32
_MAX_PASSES = 16
_MAX_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class Cost:
    """What one guess at a passphrase costs: passes over ``memory`` bytes."""

    passes: int = 3
    memory: int = 64 << 20


COST = Cost()
"""RFC 9106's second recommendation, in the one lane that libsodium has: about 0.2 s."""


def seal(key: PrivateKey, passphrase: bytes | None, cost: Cost = COST) -> bytes:
    """The file that keeps ``key``: sealed by ``passphrase``, or plain when that is None.

    Raises:
        InputError: ``usage`` for an empty passphrase.
    """
    about = {"schema": VAULT_SCHEMA, "thumbprint": key.public.thumbprint}
    if passphrase is None:
        return canonicalise({**about, "seed": b64url_encode(key.reveal_secret())}) + b"\n"
    if not passphrase:
        raise InputError(Reason.USAGE, "an empty passphrase protects nothing")
    from nacl.bindings import crypto_secretbox

    salt, nonce = secrets.token_bytes(_SALT_SIZE), secrets.token_bytes(_NONCE_SIZE)
    box = crypto_secretbox(key.reveal_secret(), nonce, _stretch(passphrase, salt, cost))
    kdf = {
        "name": _KDF,
        "passes": cost.passes,
        "memory": cost.memory,
        "salt": b64url_encode(salt),
    }
    sealed = {"kdf": kdf, "cipher": _CIPHER, "nonce": b64url_encode(nonce)}
    return canonicalise({**about, **sealed, "box": b64url_encode(box)}) + b"\n"


def seal_new(key: PrivateKey, passphrase: bytes | None, allow_plain: bool, cost: Cost) -> bytes:
    """As :func:`seal`, and plain only when ``allow_plain`` says so.

    Raises:
        InputError: ``usage`` for an empty passphrase.
        MaterialError: ``passphrase_needed``.
    """
    if passphrase is None and not allow_plain:
        raise MaterialError(
            Reason.PASSPHRASE_NEEDED, "a new private key is kept under a passphrase"
        )
    return seal(key, passphrase, cost)


def is_sealed(data: bytes, source: str) -> bool:
    """Whether the file needs a passphrase.

    Raises:
        MaterialError: ``keyring_malformed``.
    """
    return "box" in _read(data, Shape(source, Reason.KEYRING_MALFORMED))


def unseal(data: bytes, public: PublicKey, passphrase: bytes | None, source: str) -> PrivateKey:
    """The private key that the file keeps.

    Args:
        data: the file's bytes.
        public: the public key that it must be of.
        passphrase: what opens it; ignored when it is plain.
        source: what errors call the file.

    Raises:
        MaterialError: ``passphrase_needed``, ``passphrase_wrong`` or ``keyring_malformed``.
    """
    shape = Shape(source, Reason.KEYRING_MALFORMED)
    members = _read(data, shape)
    if "box" in members:
        if not passphrase:
            raise MaterialError(Reason.PASSPHRASE_NEEDED)
        at, secret = "/box", _open_box(members, passphrase, shape)
    else:
        at, secret = "/seed", _bytes(members["seed"], "/seed", SECRET_SIZE, shape)
    try:
        key = PrivateKey(secret, public.algorithm)
    except MaterialError as fault:
        if fault.code is not Reason.KEY_MALFORMED:
            raise
        raise shape.fault(at, fault.detail) from None
    if key.public != public or members["thumbprint"] != public.thumbprint:
        raise shape.fault("/thumbprint", "the file keeps another key than its name says")
    return key


def _read(data: bytes, shape: Shape) -> Mapping[str, Any]:
    """The members of either kind of file, each known and none missing."""
    value = shape.document(data)
    kind = _PLAIN if isinstance(value, Mapping) and "seed" in value else _SEALED
    members = shape.members(value, "", kind)
    shape.constant(members["schema"], "/schema", VAULT_SCHEMA)
    return members


def _open_box(members: Mapping[str, Any], passphrase: bytes, shape: Shape) -> bytes:
    from nacl.bindings import crypto_secretbox_open
    from nacl.exceptions import CryptoError

    shape.constant(members["cipher"], "/cipher", _CIPHER)
    kdf = shape.members(members["kdf"], "/kdf", ("name", "passes", "memory", "salt"))
    shape.constant(kdf["name"], "/kdf/name", _KDF)
    cost = Cost(
        shape.number(kdf["passes"], "/kdf/passes", 1, _MAX_PASSES),
        shape.number(kdf["memory"], "/kdf/memory", 1 << 13, _MAX_MEMORY),
    )
    salt = _bytes(kdf["salt"], "/kdf/salt", _SALT_SIZE, shape)
    nonce = _bytes(members["nonce"], "/nonce", _NONCE_SIZE, shape)
    box = _bytes(members["box"], "/box", SECRET_SIZE + _MAC_SIZE, shape)
    try:
        secret: bytes = crypto_secretbox_open(box, nonce, _stretch(passphrase, salt, cost))
    except CryptoError:
        raise MaterialError(Reason.PASSPHRASE_WRONG) from None
    return secret


def _stretch(passphrase: bytes, salt: bytes, cost: Cost) -> bytes:
    """The 32-byte key that argon2id makes of a passphrase."""
    from nacl.pwhash import argon2id

    key: bytes = argon2id.kdf(
        _KEY_SIZE, passphrase, salt, opslimit=cost.passes, memlimit=cost.memory
    )
    return key


def _bytes(value: object, pointer: str, size: int, shape: Shape) -> bytes:
    found = b64url_decode(value)
    if found is None or len(found) != size:
        raise shape.fault(pointer, f"{size} bytes in base64url belong here")
    return found

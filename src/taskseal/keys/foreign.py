"""Keys as ``cryptography`` holds them, for reading and writing what it can wrap.

Source: SPEC section 4.4.
"""

from __future__ import annotations

from typing import Any

from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey, scheme
from taskseal.keys.private import PrivateKey


def private_key(held: object) -> PrivateKey:
    """Our key of a private one; raises ``unsupported_algorithm`` for other types."""
    for algorithm in Algorithm:
        secret = scheme(algorithm).core().secret_of(held)
        if secret is not None:
            return PrivateKey(secret, algorithm)
    raise _other()


def public_key(held: object) -> PublicKey:
    """Our key of a public one; raises ``unsupported_algorithm`` for other types."""
    for algorithm in Algorithm:
        raw = scheme(algorithm).core().public_of(held)
        if raw is not None:
            return PublicKey(algorithm, raw)
    raise _other()


def to_pkcs8(key: PrivateKey) -> bytes:
    """A plain PKCS#8 structure, of the seed alone where there is one."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    written: bytes = _held(key).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return written


def to_openssh(key: PrivateKey, passphrase: bytes | None) -> bytes:
    """OpenSSH's private key form, which knows no ML-DSA."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    lock = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    written: bytes = _held(key).private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, lock)
    return written


def to_spki(key: PublicKey) -> bytes:
    """SubjectPublicKeyInfo PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    held = scheme(key.algorithm).core().hold_public(key.raw)
    written: bytes = held.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return written


def to_ssh_line(key: PublicKey) -> bytes:
    """An OpenSSH ``.pub`` line without comment; OpenSSH knows no ML-DSA."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    held = scheme(key.algorithm).core().hold_public(key.raw)
    line: bytes = held.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return line + b"\n"


def _held(key: PrivateKey) -> Any:
    return scheme(key.algorithm).core().hold_secret(key.reveal_secret())


def _other() -> MaterialError:
    return MaterialError(Reason.UNSUPPORTED_ALGORITHM, "the key is of a type that is not used here")

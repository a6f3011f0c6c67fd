"""What private and public keys come wrapped in: PEM, DER, OpenSSH.

``cryptography`` opens the wrappings. Its errors may quote what they read, so none of them is
passed on or chained.

Source: RFC 7468 (PEM), RFC 5958, 8410, 5915 and 9881 (PKCS#8), OpenSSH's PROTOCOL.key.
"""

from __future__ import annotations

import binascii
import hashlib
import re
import secrets
from collections.abc import Callable
from typing import NoReturn

from taskseal.errors import MaterialError, Reason
from taskseal.keys import asn1, foreign
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.private import PrivateKey

Passphrase = bytes | None

ITERATIONS = 600_000
"""PBKDF2 iterations of the encrypted PKCS#8 files that are written (OWASP, SHA-256)."""
MAX_ITERATIONS = 1 << 22
"""The most iterations (or scrypt's N) by which an encrypted PKCS#8 file may be opened."""
MAX_ROUNDS = 1 << 10
"""The most bcrypt rounds by which an OpenSSH key may be opened; ``ssh-keygen`` writes 24."""

_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----[ \t]*\n(.*?)-----END \1-----", re.DOTALL)
_MAX_BLOCKS = 64
_MLDSA65_SIZES = b"\6\5"
_MLDSA65_EXPANDED = 4032
_SSH_TOKEN = b"sk-"
_PKCS8 = b"PRIVATE KEY"
_PKCS8_LOCKED = b"ENCRYPTED PRIVATE KEY"
_OPENSSH = b"OPENSSH PRIVATE KEY"
_SEC1 = b"EC PRIVATE KEY"
_SPKI = b"PUBLIC KEY"
_SSH_MAGIC = b"openssh-key-v1\0"
_SSH_PLAIN_FIELDS = {b"ssh-ed25519": 1, b"ecdsa-sha2-nistp256": 2}
"""How many strings stand after the type in a public key; the last one is the key itself."""


def malformed(detail: str) -> MaterialError:
    """The error for a key that cannot be read; the caller raises it."""
    return MaterialError(Reason.KEY_MALFORMED, detail)


def read_pem_private(text: bytes, passphrase: Passphrase) -> PrivateKey:
    """The one private key among the PEM blocks of ``text``, whose lines end in LF.

    Raises:
        MaterialError: as :func:`taskseal.keys.formats.read_private_key`.
    """
    from cryptography.hazmat.primitives import serialization

    label, block = _only_block(text, b"PRIVATE KEY")
    if label in (_PKCS8, _PKCS8_LOCKED):
        return read_der_private(_pem_bytes(block), passphrase)
    if label == _OPENSSH:
        blob = _pem_bytes(block)
        rounds, stored = _ssh_clear_part(blob)
        _refuse_work(rounds, MAX_ROUNDS)
        found = _open(serialization.load_ssh_private_key, _pem(label, blob), passphrase)
        return _checked(foreign.private_key(found), stored)
    if label == _SEC1 and b":" not in block:
        return read_der_private(_pem_bytes(block), None)
    raise _other_label(label)


def read_der_private(data: bytes, passphrase: Passphrase) -> PrivateKey:
    """The key of a PKCS#8 structure, plain or encrypted, or of a plain SEC 1 one."""
    from cryptography.hazmat.primitives import serialization

    plain = asn1.read_plain(data)
    if plain is not None:
        return _checked(_of_plain(plain), plain.public)
    _refuse_work(asn1.work_to_open(data), MAX_ITERATIONS)
    return foreign.private_key(_open(serialization.load_der_private_key, data, passphrase))


def _of_plain(plain: asn1.Plain) -> PrivateKey:
    """The private key of a plain PKCS#8 structure."""
    from cryptography.hazmat.primitives import serialization

    if plain.identifier == asn1.ED25519:
        seed = asn1.octets(plain.wrapped)
        if seed is None:
            raise malformed("the key's structure cannot be read")
        return PrivateKey(seed)
    if plain.identifier == asn1.MLDSA65:
        return _of_mldsa(plain.wrapped)
    # What stands beside the private key is checked here, and unknown there.
    alone = asn1.write_plain(plain.identifier, plain.wrapped)
    return foreign.private_key(_open(serialization.load_der_private_key, alone, None))


def _of_mldsa(wrapped: bytes) -> PrivateKey:
    """The key of an ML-DSA seed; an expanded key beside it must begin as the seed's own does.

    It begins with rho, K and a hash of the whole public key, so another key's never passes.
    """
    found = asn1.mldsa_seed(wrapped)
    if found is None:
        raise malformed(f"the {Algorithm.MLDSA65} key is stored without the seed that is needed")
    seed, expanded = found
    key = PrivateKey(seed, Algorithm.MLDSA65)
    if expanded is not None:
        made = hashlib.shake_256(seed + _MLDSA65_SIZES).digest(128)
        mark = hashlib.shake_256(key.public.raw).digest(64)
        if len(expanded) != _MLDSA65_EXPANDED or expanded[:128] != made[:32] + made[96:] + mark:
            raise malformed("the expanded key that is stored with the seed is not its own")
    return key


def read_pem_public(text: bytes) -> PublicKey:
    """The one public key among the PEM blocks of ``text``."""
    label, block = _only_block(text, b"PUBLIC KEY")
    if label != _SPKI:
        raise _other_label(label)
    return read_der_public(_pem_bytes(block))


def read_der_public(data: bytes) -> PublicKey:
    """The key of a SubjectPublicKeyInfo structure."""
    from cryptography.hazmat.primitives import serialization

    found = _open(lambda der, _: serialization.load_der_public_key(der), data, None)
    return foreign.public_key(found)


def read_ssh_public(line: bytes) -> PublicKey:
    """The key of an OpenSSH ``.pub`` line, a certificate's included."""
    from cryptography.hazmat.primitives import serialization

    if line.startswith(_SSH_TOKEN):
        # What a token signs is never the message alone.
        raise MaterialError(
            Reason.UNSUPPORTED_ALGORITHM, "a security token's OpenSSH key signs in its own way"
        )
    found = _open(lambda text, _: serialization.load_ssh_public_key(text), line, None)
    return foreign.public_key(found)


def write_pkcs8(key: PrivateKey, passphrase: Passphrase) -> bytes:
    """PKCS#8 PEM, encrypted when there is a passphrase."""
    plain = foreign.to_pkcs8(key)
    if passphrase is None:
        return _pem(_PKCS8, plain)
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    salt, iv = secrets.token_bytes(16), secrets.token_bytes(16)
    secret = hashlib.pbkdf2_hmac("sha256", passphrase, salt, ITERATIONS)
    padder = PKCS7(128).padder()
    cipher = Cipher(algorithms.AES256(secret), modes.CBC(iv)).encryptor()
    box = cipher.update(padder.update(plain) + padder.finalize()) + cipher.finalize()
    return _pem(_PKCS8_LOCKED, asn1.write_encrypted(salt, ITERATIONS, iv, box))


def write_openssh(key: PrivateKey, passphrase: Passphrase) -> bytes:
    """OpenSSH's own private key form, encrypted when there is a passphrase.

    Raises:
        MaterialError: ``extra_missing`` when encryption needs a package that is not there.
    """
    if passphrase is not None:
        _need_bcrypt()
    return foreign.to_openssh(key, passphrase)


def _other_label(label: bytes) -> MaterialError:
    return MaterialError(
        Reason.UNSUPPORTED_ALGORITHM,
        f"no key labelled {label.decode('ascii')} is read here",
        hint="convert it with `openssl pkcs8 -topk8`, if it is of an algorithm that is used here",
    )


def _only_block(text: bytes, kind: bytes) -> tuple[bytes, bytes]:
    """Label and body of the one block whose label ends in ``kind``."""
    if text.count(b"-----BEGIN ") > _MAX_BLOCKS:
        raise malformed(f"the file has more than {_MAX_BLOCKS} blocks")
    found = [(match[1], match[2]) for match in _PEM.finditer(text) if match[1].endswith(kind)]
    if len(found) == 1:
        return found[0]
    many = "no" if not found else "more than one"
    raise malformed(f"the file has {many} whole {kind.decode('ascii').lower()} block")


def _pem_bytes(body: bytes) -> bytes:
    try:
        return binascii.a2b_base64(b"".join(body.split()), strict_mode=True)
    except binascii.Error:
        raise malformed("the block is not base64") from None


def _pem(label: bytes, content: bytes) -> bytes:
    """A PEM block, alone, in lines of 64 characters."""
    text = binascii.b2a_base64(content, newline=False)
    lines = b"\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (label, lines, label)


def _open(
    load: Callable[[bytes, Passphrase], object], data: bytes, passphrase: Passphrase
) -> object:
    """What ``load`` finds in ``data``, asked without the passphrase first.

    So a plain key loads although the environment holds a passphrase for another.
    """
    try:
        return load(data, None)
    except TypeError:
        pass
    except Exception as error:
        _refuse(error)
    if not passphrase:
        raise MaterialError(Reason.PASSPHRASE_NEEDED)
    try:
        return load(data, passphrase)
    except Exception as error:
        _refuse_locked(error, data)


def _refuse(error: Exception) -> NoReturn:
    from cryptography.exceptions import UnsupportedAlgorithm

    if isinstance(error, UnsupportedAlgorithm):
        raise MaterialError(
            Reason.UNSUPPORTED_ALGORITHM, "the key is of a type that is not used here"
        ) from None
    raise malformed("the key's structure cannot be read") from None


def _refuse_locked(error: Exception, data: bytes) -> NoReturn:
    from cryptography.exceptions import UnsupportedAlgorithm

    if data.startswith(b"-----BEGIN " + _OPENSSH):
        _need_bcrypt()
    if isinstance(error, UnsupportedAlgorithm) or "Unknown" in str(error):
        raise malformed("the key is encrypted in a way that cannot be opened here") from None
    raise MaterialError(
        Reason.PASSPHRASE_WRONG, "the passphrase does not open the key, or the file is damaged"
    ) from None


def _need_bcrypt() -> None:
    try:
        import bcrypt  # noqa: F401
    except ImportError:
        raise MaterialError(
            Reason.EXTRA_MISSING,
            "encrypted OpenSSH keys need the package bcrypt",
            hint="pip install 'taskseal[bcrypt]'",
        ) from None


def _checked(key: PrivateKey, stored_public: bytes | None) -> PrivateKey:
    """``key``, refused when the file says that its public half is another.

    Signing with a public half that is not the private one's own gives the secret away.
    """
    if stored_public is not None and stored_public != key.public.raw:
        raise malformed("the public half that is stored with the key is not its own")
    return key


def _refuse_work(asked: int, most: int) -> None:
    if asked > most:
        raise malformed(f"the file wants its passphrase stretched more than {most} times")


def _ssh_clear_part(blob: bytes) -> tuple[int, bytes | None]:
    """The bcrypt rounds and the public half of an OpenSSH private key; 0, None without."""
    rest = blob.removeprefix(_SSH_MAGIC)
    for _ in ("cipher", "kdf"):
        _, rest = _ssh_string(rest)
    options, rest = _ssh_string(rest)
    _, rounds = _ssh_string(options)  # after the salt
    public, _ = _ssh_string(rest[4:])  # after the number of keys
    kind, rest = _ssh_string(public)
    found = None
    for _ in range(_SSH_PLAIN_FIELDS.get(kind, 0)):
        found, rest = _ssh_string(rest)
    return int.from_bytes(rounds[:4], "big"), found


def _ssh_string(blob: bytes) -> tuple[bytes, bytes]:
    """The length-prefixed string that ``blob`` begins with, and what follows it."""
    end = 4 + int.from_bytes(blob[:4], "big")
    return blob[4:end], blob[end:]

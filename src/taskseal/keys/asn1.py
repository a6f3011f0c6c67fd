"""What ``cryptography`` does not tell of PKCS#8 structures.

Version 2, which carries the public half beside the private one, is beyond it although several
libraries write it, and so are ML-DSA keys that hold seed and expanded key, which OpenSSL writes;
it would grind through any iteration count that a file names; and what it writes is stretched
2,048 times only.

Source: RFC 5958 section 2, RFC 8410 section 7, RFC 9881 section 6, RFC 8018 appendix A, ITU-T
X.690 (DER).
"""

from __future__ import annotations

from typing import NamedTuple

_INTEGER, _BIT_STRING, _OCTET_STRING, _SEQUENCE = 0x02, 0x03, 0x04, 0x30
_ATTRIBUTES, _PUBLIC, _PUBLIC_WRAPPED = 0xA0, 0x81, 0xA1
_PARAMETER_DEPTH = 8
_VERSIONS = (b"\0", b"\1")
_SEED_ONLY = 0x80

ED25519 = bytes.fromhex("06032b6570")
"""The algorithm identifier of Ed25519, without its frame; so the next."""
MLDSA65 = bytes.fromhex("0609608648016503040312")

_PBES2 = bytes.fromhex("06092a864886f70d01050d")
_PBKDF2 = bytes.fromhex("06092a864886f70d01050c")
_HMAC_SHA256 = bytes.fromhex("06082a864886f70d02090500")
_AES_256_CBC = bytes.fromhex("060960864801650304012a")


class Plain(NamedTuple):
    """A plain PKCS#8 structure: whose key, the wrapped key, the public half beside it."""

    identifier: bytes
    wrapped: bytes
    public: bytes | None


def read_plain(data: bytes) -> Plain | None:
    """What a plain PKCS#8 structure of either version holds, None when ``data`` is none."""
    outer = _der_items(data)
    if outer is None or len(outer) != 1 or outer[0][0] != _SEQUENCE:
        return None
    items = _der_items(outer[0][1])
    if (
        items is None
        or len(items) < 3
        or [tag for tag, _ in items[:3]] != [_INTEGER, _SEQUENCE, _OCTET_STRING]
    ):
        return None
    version, identifier, wrapped = (content for _, content in items[:3])
    tail = dict(items[3:])
    if version not in _VERSIONS or len(tail) != len(items) - 3:
        return None
    if tail.keys() - {_ATTRIBUTES, _PUBLIC, _PUBLIC_WRAPPED}:
        return None
    return Plain(identifier, wrapped, _tail_public(tail))


def octets(data: bytes) -> bytes | None:
    """The content of the one OCTET STRING that ``data`` is, else None."""
    items = _der_items(data)
    if items is None or [tag for tag, _ in items] != [_OCTET_STRING]:
        return None
    return items[0][1]


def mldsa_seed(wrapped: bytes) -> tuple[bytes, bytes | None] | None:
    """Seed and expanded key of an ML-DSA private key; None when it holds no seed."""
    items = _der_items(wrapped)
    if items is None or len(items) != 1:
        return None
    tag, content = items[0]
    if tag == _SEED_ONLY:
        return content, None
    both = _der_items(content) if tag == _SEQUENCE else None
    if both is None or [tag for tag, _ in both] != [_OCTET_STRING, _OCTET_STRING]:
        return None
    return both[0][1], both[1][1]


def work_to_open(data: bytes) -> int:
    """The largest count among the parameters of an encrypted PKCS#8 structure, else 0.

    For PBKDF2 these are iterations, for scrypt its N.
    """
    outer = _der_items(data)
    items = _der_items(outer[0][1]) if outer and outer[0][0] == _SEQUENCE else None
    if items is None or [tag for tag, _ in items] != [_SEQUENCE, _OCTET_STRING]:
        return 0
    return _largest_integer(items[0][1], _PARAMETER_DEPTH)


def _largest_integer(data: bytes, depth: int) -> int:
    largest = 0
    for tag, content in (_der_items(data) if depth else None) or ():
        if tag == _INTEGER:
            largest = max(largest, int.from_bytes(content, "big"))
        elif tag == _SEQUENCE:
            largest = max(largest, _largest_integer(content, depth - 1))
    return largest


def write_encrypted(salt: bytes, iterations: int, iv: bytes, box: bytes) -> bytes:
    """An encrypted PKCS#8 structure: PBES2 with PBKDF2-HMAC-SHA256 and AES-256-CBC."""
    count = iterations.to_bytes(iterations.bit_length() // 8 + 1, "big")
    stretch = _item(_OCTET_STRING, salt) + _item(_INTEGER, count) + _item(_SEQUENCE, _HMAC_SHA256)
    derive = _item(_SEQUENCE, _PBKDF2 + _item(_SEQUENCE, stretch))
    cipher = _item(_SEQUENCE, _AES_256_CBC + _item(_OCTET_STRING, iv))
    scheme = _item(_SEQUENCE, _PBES2 + _item(_SEQUENCE, derive + cipher))
    return _item(_SEQUENCE, scheme + _item(_OCTET_STRING, box))


def write_plain(identifier: bytes, wrapped: bytes) -> bytes:
    """A plain PKCS#8 structure, version 1, of an algorithm identifier and a wrapped key."""
    version, algorithm = _item(_INTEGER, b"\0"), _item(_SEQUENCE, identifier)
    return _item(_SEQUENCE, version + algorithm + _item(_OCTET_STRING, wrapped))


def _item(tag: int, content: bytes) -> bytes:
    """One DER item."""
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + content


def _tail_public(tail: dict[int, bytes]) -> bytes | None:
    """The public half from the optional [0] attributes and [1] public key, None without."""
    bits = tail.get(_PUBLIC)
    if _PUBLIC_WRAPPED in tail:
        # Tagged around a whole BIT STRING instead of in its place: some writers do.
        wrapped = _der_items(tail[_PUBLIC_WRAPPED])
        bits = wrapped[0][1] if wrapped and wrapped[0][0] == _BIT_STRING else b""
    return None if bits is None else bits[1:]


def _der_items(data: bytes) -> list[tuple[int, bytes]] | None:
    """Tags and contents of the DER items in ``data``, None unless they fill it exactly."""
    items = []
    while data:
        if len(data) < 2:
            return None
        length, start = data[1], 2
        if length >= 0x80:
            start += length & 0x7F
            if length == 0x80 or start > 6 or len(data) < start:
                return None
            length = int.from_bytes(data[2:start], "big")
        if len(data) < start + length:
            return None
        items.append((data[0], data[start : start + length]))
        data = data[start + length :]
    return items

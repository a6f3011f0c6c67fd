"""What ``cryptography`` does not tell of PKCS#8 structures.

Version 2, which carries the public half beside the seed, is beyond it although several
libraries write it; it would grind through any iteration count that a file names; and what it
writes is stretched 2,048 times only.

Source: RFC 5958 section 2, RFC 8410 section 7, RFC 8018 appendix A, ITU-T X.690 (DER).
"""

from __future__ import annotations

_INTEGER, _BIT_STRING, _OCTET_STRING, _SEQUENCE = 0x02, 0x03, 0x04, 0x30
_ATTRIBUTES, _PUBLIC, _PUBLIC_WRAPPED = 0xA0, 0x81, 0xA1
_PARAMETER_DEPTH = 8
_VERSIONS = (b"\0", b"\1")
_ED25519 = bytes.fromhex("06032b6570")
_PBES2 = bytes.fromhex("06092a864886f70d01050d")
_PBKDF2 = bytes.fromhex("06092a864886f70d01050c")
_HMAC_SHA256 = bytes.fromhex("06082a864886f70d02090500")
_AES_256_CBC = bytes.fromhex("060960864801650304012a")


def read_one_asymmetric_key(data: bytes) -> tuple[bytes, bytes | None] | None:
    """Seed and stored public half of a plain Ed25519 PKCS#8 structure, None for any other."""
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
    if version not in _VERSIONS or identifier != _ED25519 or len(tail) != len(items) - 3:
        return None
    inner = _der_items(wrapped)
    if inner is None or len(inner) != 1 or inner[0][0] != _OCTET_STRING:
        return None
    return _tail_public(inner[0][1], tail)


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


def write_plain(seed: bytes) -> bytes:
    """A plain PKCS#8 structure of an Ed25519 seed, version 1."""
    wrapped = _item(_OCTET_STRING, _item(_OCTET_STRING, seed))
    return _item(_SEQUENCE, _item(_INTEGER, b"\0") + _item(_SEQUENCE, _ED25519) + wrapped)


def _item(tag: int, content: bytes) -> bytes:
    """One DER item of fewer than 256 bytes."""
    size = bytes([len(content)]) if len(content) < 0x80 else bytes([0x81, len(content)])
    return bytes([tag]) + size + content


def _tail_public(seed: bytes, tail: dict[int, bytes]) -> tuple[bytes, bytes | None] | None:
    """``seed`` with the public half from the optional [0] attributes and [1] public key."""
    if tail.keys() - {_ATTRIBUTES, _PUBLIC, _PUBLIC_WRAPPED}:
        return None
    bits = tail.get(_PUBLIC)
    if _PUBLIC_WRAPPED in tail:
        # Tagged around a whole BIT STRING instead of in its place: some writers do.
        wrapped = _der_items(tail[_PUBLIC_WRAPPED])
        bits = wrapped[0][1] if wrapped and wrapped[0][0] == _BIT_STRING else b""
    return (seed, None) if bits is None else (seed, bits[1:])


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

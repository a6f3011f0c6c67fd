"""Strict base64url and hexadecimal: one spelling for each run of bytes, nothing else.

Every reader decodes, encodes again and compares. That refuses padding, the alphabet of
plain base64, white space, upper-case hexadecimal and spare bits, without a rule for each.

Source: RFC 4648 sections 5 and 8, SPEC section 2.2.
"""

from __future__ import annotations

from binascii import Error, a2b_base64, b2a_base64

# Between the two alphabets; what is of the other one only becomes a sign of neither.
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_+/", b"+/\0\0")


def b64url_encode(data: bytes) -> str:
    """``data`` as base64url without padding."""
    return b2a_base64(data, newline=False).translate(_TO_URL, b"=").decode("ascii")


def b64url_decode(text: object) -> bytes | None:
    """The bytes that ``text`` spells in unpadded base64url, or None when it is not that spelling.

    Never raises, whatever ``text`` is.
    """
    if type(text) is not str or not text.isascii():
        return None
    plain = text.encode("ascii").translate(_FROM_URL)
    try:
        data = a2b_base64(plain + b"==")
    except Error:
        return None
    return data if b2a_base64(data, newline=False).rstrip(b"=") == plain else None


def hex_decode(text: object) -> bytes | None:
    """The bytes that ``text`` spells in lower-case hexadecimal, or None.

    Never raises, whatever ``text`` is.
    """
    if type(text) is not str:
        return None
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    return data if data.hex() == text else None

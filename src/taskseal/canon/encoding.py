"""Strict base64url and hexadecimal: one spelling for each run of bytes, nothing else.

Every reader decodes, encodes again and compares. That refuses padding, the alphabet of
plain base64, white space, upper-case hexadecimal and spare bits, without a rule for each.

Source: RFC 4648 sections 5 and 8, SPEC section 2.2.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode


def b64url_encode(data: bytes) -> str:
    """``data`` as base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def b64url_decode(text: object) -> bytes | None:
    """The bytes that ``text`` spells in unpadded base64url, or None when it is not that spelling.

    Never raises, whatever ``text`` is.
    """
    if type(text) is not str or not text.isascii():
        return None
    try:
        data = urlsafe_b64decode(text + "==")
    except (binascii.Error, ValueError):
        return None
    return data if b64url_encode(data) == text else None


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

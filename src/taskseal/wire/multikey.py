"""Public keys as did:key and Multikey spell them: a prefix for the algorithm, then base58.

Source: W3C Controlled Identifiers section 2.2.2 (Multikey), did:key, the multicodec table.
"""

from __future__ import annotations

from taskseal.errors import InputError, Reason
from taskseal.wire.base import Holder

DID = "did:key:"

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_LONGEST = 128
"""Characters of the longest base58 text that is read; an Ed25519 signature has 88."""

_CODES = {"Ed25519": b"\xed\x01", "ES256": b"\x80\x24"}
_SIZES = {"Ed25519": 32, "ES256": 33}


def base58_encode(data: bytes) -> str:
    """``data`` in base58btc, with the ``z`` of multibase before it."""
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    zeros = len(data) - len(data.lstrip(b"\0"))
    return "z" + "1" * zeros + text


def base58_decode(text: object) -> bytes | None:
    """The bytes that ``text`` spells in multibase base58btc, or None; never raises."""
    if type(text) is not str or not text.startswith("z") or len(text) > _LONGEST:
        return None
    number = 0
    for letter in text[1:]:
        value = _VALUES.get(letter)
        if value is None:
            return None
        number = number * 58 + value
    zeros = len(text[1:]) - len(text[1:].lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def write_multikey(algorithm: str, public: bytes) -> str:
    """A public key as Multikey text, ``z6Mk…`` for Ed25519.

    Args:
        algorithm: the JOSE name.
        public: the raw key; a P-256 point is taken compressed or not.

    Raises:
        InputError: ``unsupported_algorithm`` for a key that has no such text here.
    """
    code = _CODES.get(algorithm)
    if code is None:
        raise _unsupported(f"{algorithm} keys are not written as did:key here")
    return base58_encode(code + holder_of(algorithm, public).point)


def read_multikey(text: object) -> Holder:
    """The public key that Multikey text spells.

    Raises:
        InputError: ``signature_malformed`` when it spells no key, ``unsupported_algorithm``
            when the key is of an algorithm that is not verified here.
    """
    data = base58_decode(text)
    if data is None or len(data) < 3:
        raise InputError(Reason.SIGNATURE_MALFORMED, "the key is not multibase base58 (z…)")
    for algorithm, code in _CODES.items():
        if data.startswith(code):
            point = data[len(code) :]
            if len(point) != _SIZES[algorithm]:
                detail = f"an {algorithm} key has {_SIZES[algorithm]} bytes here"
                raise InputError(Reason.SIGNATURE_MALFORMED, detail)
            return Holder(algorithm, point)
    raise _unsupported("the key's multicodec prefix is not one that is verified here")


def write_did(algorithm: str, public: bytes) -> str:
    """The verification method of a public key: ``did:key:z…#z…``."""
    text = write_multikey(algorithm, public)
    return f"{DID}{text}#{text}"


def read_did(text: object) -> Holder:
    """The public key of a ``did:key:z…#z…``; the fragment names the same key.

    Raises:
        InputError: as :func:`read_multikey`.
    """
    if type(text) is not str or not text.startswith(DID):
        raise InputError(Reason.SIGNATURE_MALFORMED, f"it is not a {DID}z…#z…")
    name, _, fragment = text[len(DID) :].partition("#")
    if name != fragment:
        detail = "the part after # is not the did:key's own key"
        raise InputError(Reason.SIGNATURE_MALFORMED, detail)
    return read_multikey(name)


def holder_of(algorithm: str, public: bytes) -> Holder:
    """A raw public key as signatures show it: a point is compressed."""
    if algorithm != "ES256" or len(public) == _SIZES["ES256"]:
        return Holder(algorithm, public)
    point = public[-64:]
    return Holder(algorithm, bytes([2 + (point[63] & 1)]) + point[:32])


def _unsupported(detail: str) -> InputError:
    return InputError(Reason.UNSUPPORTED_ALGORITHM, detail)

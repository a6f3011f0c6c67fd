"""The shapes of what a ledger is given, checked before any store is touched.

Source: SPEC section 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from taskseal.errors import InputError, Reason

LARGEST = 2**63 - 1
"""The largest number that a ledger keeps. Later instants (after the year 2262) count as this."""
FINGERPRINT_SIZE = 32
"""Bytes in a fingerprint (SHA-256)."""
MAX_IDS = 2
"""How many replay ids a message has at most."""

_Id = TypeVar("_Id", bound=tuple[str, str])


def checked_whole(what: str, number: object, least: int = 0) -> int:
    """``number`` when it is a whole number from ``least`` to :data:`LARGEST`.

    Raises:
        InputError: ``usage`` otherwise.
    """
    if type(number) is not int or not least <= number <= LARGEST:
        raise InputError(
            Reason.USAGE,
            f"{what} is {number!r}, not a whole number from {least} to 2^63−1",
            hint="instants and spans are nanoseconds in an int",
        )
    return number


def checked_instant(what: str, at: object) -> int:
    """``at``, or :data:`LARGEST` for anything later, when it is an instant since 1970.

    A message may well say that it expires in the year 9999; that is no fault of the caller.

    Raises:
        InputError: ``usage`` otherwise.
    """
    if type(at) is int and at > LARGEST:
        return LARGEST
    return checked_whole(what, at)


def checked_text(what: str, text: object) -> str:
    """``text`` when it is a str of whole characters.

    Raises:
        InputError: ``usage`` when it is no str, ``lone_surrogate`` when it cannot be stored.
    """
    if type(text) is not str:
        raise InputError(Reason.USAGE, f"{what} is {type(text).__name__}, not str")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(
                Reason.LONE_SURROGATE, f"{what} holds half of a surrogate pair"
            ) from None
    return text


def checked_ids(ids: Iterable[_Id]) -> tuple[_Id, ...]:
    """``ids`` as a tuple, each once, when there are no more than two of whole text.

    Raises:
        InputError: ``usage`` or ``lone_surrogate``.
    """
    once = tuple(dict.fromkeys(ids))
    if len(once) > MAX_IDS:
        raise InputError(Reason.USAGE, f"{len(once)} replay ids; a message has at most {MAX_IDS}")
    for scope, value in once:
        checked_text("a replay id's scope", scope)
        checked_text("a replay id's value", value)
    return once


def checked_fingerprint(fingerprint: object) -> bytes:
    """``fingerprint`` when it is 32 bytes.

    Raises:
        InputError: ``usage`` otherwise.
    """
    if type(fingerprint) is not bytes or len(fingerprint) != FINGERPRINT_SIZE:
        raise InputError(Reason.USAGE, f"a fingerprint is {FINGERPRINT_SIZE} bytes (SHA-256)")
    return fingerprint


def checked_acceptance(acceptance: object) -> bytes | None:
    """``acceptance`` when it is bytes or None.

    Raises:
        InputError: ``usage`` otherwise.
    """
    if acceptance is None or type(acceptance) is bytes:
        return acceptance
    kind = type(acceptance).__name__
    raise InputError(Reason.USAGE, f"an acceptance is {kind}, not bytes")

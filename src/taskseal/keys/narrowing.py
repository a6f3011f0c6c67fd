"""What of a trust file counts, when an operator trusts it for less than it says itself.

Source: SPEC sections 4.10 and 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.entry import Bind
from taskseal.keys.keyset import SignedKeyset
from taskseal.keys.pin import Pin
from taskseal.keys.pins import Pins
from taskseal.keys.trust import TrustFile, both_binds


def narrowed(source: TrustFile, profiles: frozenset[str] | None, bind: Bind) -> TrustFile:
    """``source`` with keys that may sign no other profiles and say nothing beyond ``bind``.

    Args:
        source: pins or a keyset.
        profiles: profile ids; None for all.
        bind: pointer → the values that may stand there.
    """
    entries = tuple(
        replace(
            entry,
            profiles=entry.profiles if profiles is None else entry.profiles & profiles,
            bind=both_binds(entry.bind, bind),
        )
        for entry in source.entries
    )
    if isinstance(source, SignedKeyset):
        return replace(source, keyset=replace(source.keyset, entries=entries))
    return replace(source, entries=entries)


def only_pinned(source: Pins, pins: Sequence[Pin]) -> Pins | None:
    """``source`` with the keys in ``pins`` only; None unless every one of them is in it."""
    kept = tuple(
        entry
        for entry in source.entries
        if any(pin.fits(entry.key_version, entry.key) for pin in pins)
    )
    found = {(entry.key_version, entry.key.thumbprint) for entry in kept if entry.key is not None}
    if found != {(pin.key_version, pin.thumbprint) for pin in pins}:
        return None
    return replace(source, entries=kept)


def signed_by_pinned(source: SignedKeyset | DharmaKeyset, pins: Sequence[Pin]) -> bool:
    """Whether every key in ``pins`` has signed the keyset, whose own signatures hold."""
    if isinstance(source, DharmaKeyset):
        signers = frozenset({source.signed_by})
    else:
        signers = source.made_by("keyset", source.keyset.signers())
    known = {entry.key_version: entry.key for entry in source.entries}
    return all(
        pin.key_version in signers and pin.fits(pin.key_version, known.get(pin.key_version))
        for pin in pins
    )

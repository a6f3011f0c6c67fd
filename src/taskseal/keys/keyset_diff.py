"""What changes from one keyset to another, in words, and what that would break.

Source: SPEC section 9 (``keyset diff``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.entry import KeyEntry
from taskseal.keys.keyset import Keyset
from taskseal.validity import Instant, write_instant

Listing = Keyset | DharmaKeyset

_INSTANTS = (
    ("not_before", "accepted from"),
    ("sign_from", "signs from"),
    ("sign_until", "signs until"),
    ("accept_until", "accepted until"),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Sentences: what is otherwise, and which messages or receivers that would cost."""

    changes: tuple[str, ...]
    breaks: tuple[str, ...]


def difference(old: Listing, new: Listing, now: Instant) -> Difference:
    """What ``new`` makes otherwise than ``old``.

    Args:
        old: the keyset that receivers know.
        new: the one that is to follow it.
        now: the instant, in nanoseconds since 1970.
    """
    return Difference(tuple(_changes(old, new)), tuple(_breaks(old, new, now)))


def _changes(old: Listing, new: Listing) -> Iterator[str]:
    if old.issuer != new.issuer:
        yield f"issuer {old.issuer!a} becomes {new.issuer!a}"
    if old.generation != new.generation:
        yield f"generation {old.generation} becomes {new.generation}"
    for member, words in (("issued", "was issued"), ("expires", "expires")):
        was, becomes = getattr(old.window, member), getattr(new.window, member)
        if was != becomes:
            yield f"it {words} {write_instant(becomes)}, not {write_instant(was)}"
    if isinstance(old, Keyset) and isinstance(new, Keyset) and old.threshold != new.threshold:
        yield f"{new.threshold} keys must sign a keyset, not {old.threshold}"
    before, after = _by_version(old), _by_version(new)
    for version, entry in after.items():
        if version not in before:
            span = f"signs {write_instant(entry.sign_from)} to {write_instant(entry.sign_until)}"
            yield f"{version!a} is new: {span}, for {', '.join(sorted(entry.profiles))}"
        else:
            yield from _changed(before[version], entry)
    for version in before:
        if version not in after:
            yield f"{version!a} is not listed any more"


def _changed(old: KeyEntry, new: KeyEntry) -> Iterator[str]:
    name = ascii(new.key_version)
    if old.key != new.key:
        yield f"{name} is another key"
    for member, words in _INSTANTS:
        was, becomes = getattr(old, member), getattr(new, member)
        if was != becomes:
            yield f"{name} is {words} {write_instant(becomes)}, not {write_instant(was)}".replace(
                "is signs", "signs"
            )
    if old.revoked_at != new.revoked_at:
        at = "not revoked" if new.revoked_at is None else f"revoked {write_instant(new.revoked_at)}"
        yield f"{name} is {at}"
    for profile in sorted(new.profiles - old.profiles):
        yield f"{name} may sign {profile}"
    for profile in sorted(old.profiles - new.profiles):
        yield f"{name} may not sign {profile} any more"
    if old.principal != new.principal:
        yield f"{name} speaks for {new.principal!a}, not {old.principal!a}"
    if dict(old.bind) != dict(new.bind):
        yield f"{name} may put other values into messages ({', '.join(new.bind) or 'any'})"


def _breaks(old: Listing, new: Listing, now: Instant) -> Iterator[str]:
    after = _by_version(new)
    for entry in old.entries:
        name, ends = ascii(entry.key_version), write_instant(entry.accept_until)
        if now >= entry.accept_until or entry.revoked_at is not None:
            continue
        becomes = after.get(entry.key_version)
        if becomes is None:
            yield f"messages by {name} are refused (unknown_key); it was accepted until {ends}"
            continue
        if becomes.key != entry.key:
            yield f"messages by {name} are refused (bad_signature): it is another key"
        if becomes.revoked_at is not None:
            at = write_instant(becomes.revoked_at)
            yield f"every message by {name} is refused from {at} on (key_revoked)"
            continue
        yield from _narrowed(entry, becomes)
    yield from _unsigned(old, new, now)


def _narrowed(old: KeyEntry, new: KeyEntry) -> Iterator[str]:
    name = ascii(new.key_version)
    if new.accept_until < old.accept_until:
        at = write_instant(new.accept_until)
        yield f"messages by {name} that arrive from {at} on are refused (key_expired)"
    if new.sign_until < old.sign_until:
        at = write_instant(new.sign_until)
        yield f"messages that {name} signs from {at} on are refused (key_retired)"
    if new.not_before > old.not_before:
        at = write_instant(new.not_before)
        yield f"messages by {name} are refused until {at} (key_not_yet_valid)"
    lost = sorted(old.profiles - new.profiles)
    if lost:
        yield f"{name} may not sign {', '.join(lost)} (key_wrong_profile)"
    narrower = any(
        pointer not in old.bind or not set(old.bind[pointer]) <= set(values)
        for pointer, values in new.bind.items()
    )
    if narrower or new.principal not in (None, old.principal):
        yield f"{name} may not speak for all that it did (principal_mismatch)"


def _unsigned(old: Listing, new: Listing, now: Instant) -> Iterator[str]:
    """Profiles that somebody could sign, and soon nobody can."""

    def able(listing: Listing) -> set[str]:
        standing = [e for e in listing.entries if e.revoked_at is None and now < e.sign_until]
        return {profile for entry in standing for profile in entry.profiles}

    for profile in sorted(able(old) - able(new)):
        yield f"nobody may sign {profile} any more"


def _by_version(listing: Listing) -> dict[str, KeyEntry]:
    return {entry.key_version: entry for entry in listing.entries}

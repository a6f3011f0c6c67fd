"""Which keyset may be the first, and which may follow which. Pure: nothing is read or kept.

Source: SPEC section 4.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from taskseal.errors import MaterialError, Reason
from taskseal.keys.entry import KEYSET, KeyEntry
from taskseal.keys.keyset import Keyset, SignedKeyset
from taskseal.keys.keyset_history import Count, History, count, is_revoked, stands
from taskseal.keys.pin import Pin
from taskseal.keys.screening import is_published
from taskseal.validity import FUTURE_SKEW, MINUTE, Instant, write_instant

OVERLAP = 10 * MINUTE
"""Nanoseconds that a key which signs keysets stays listed when it leaves."""
FAST_FORWARD = 1000
"""Generations that one update may rise by, unless the receiver says otherwise."""


def check_first(
    offered: SignedKeyset,
    pins: Sequence[Pin],
    now: Instant,
    *,
    issuer: str | None = None,
    allow_published_keys: bool = False,
) -> tuple[str, ...]:
    """Whether ``offered`` may be the first keyset that a receiver knows of its issuer.

    Args:
        offered: the keyset, its signatures unchecked.
        pins: keys that the operator knows by another way; every one must have signed.
        now: the instant, in nanoseconds since 1970.
        issuer: whose keyset it must be, where the receiver knows.
        allow_published_keys: also take keys whose private half anyone can read.

    Returns:
        What a person should know although it is allowed.

    Raises:
        MaterialError: with the reason of the first rule that does not hold.
    """
    _check_sound(offered.keyset)
    if issuer is not None and offered.issuer != issuer:
        raise _fault(Reason.ORGANIZATION_MISMATCH, f"its issuer is {offered.issuer!a}", "/issuer")
    _check_times(offered.keyset, now, last=True)
    _check_pins(offered, pins, now)
    _check_signatures(offered, ())
    _refuse_shortfall(count(offered, None, now))
    _check_published(offered.keyset, allow_published_keys)
    return notes(offered.keyset)


def check_update(
    history: History,
    offered: SignedKeyset,
    now: Instant,
    *,
    last: bool = True,
    fast_forward: int = FAST_FORWARD,
    allow_published_keys: bool = False,
) -> tuple[str, ...]:
    """Whether ``offered`` may follow the current keyset.

    Args:
        history: what the receiver knows.
        offered: the keyset, its signatures unchecked.
        now: the instant, in nanoseconds since 1970.
        last: whether it is to be the current one; a link of a chain may have expired.
        fast_forward: generations that it may rise by.
        allow_published_keys: also take keys whose private half anyone can read.

    Returns:
        What a person should know although it is allowed.

    Raises:
        MaterialError: with the reason of the first rule that does not hold.
    """
    current, keyset = history.current, offered.keyset
    if keyset.issuer != current.issuer:
        detail = f"its issuer is {keyset.issuer!a}, not {current.issuer!a}"
        raise _fault(Reason.ORGANIZATION_MISMATCH, detail, "/issuer")
    _check_generation(keyset.generation, current.generation, fast_forward)
    _check_sound(keyset)
    _check_times(keyset, now, last=False)
    if keyset.window.issued < current.window.issued:
        detail = f"the current one was issued {write_instant(current.window.issued)}"
        raise _fault(Reason.ISSUED_AT_REGRESSED, detail, "/issuedAt")
    _check_bindings(history, keyset)
    _check_signatures(offered, current.entries)
    _check_overlap(current, offered, now)
    _refuse_shortfall(count(offered, history, now))
    _check_times(keyset, now, last=last)
    _check_published(keyset, allow_published_keys)
    return notes(keyset)


def notes(keyset: Keyset) -> tuple[str, ...]:
    """What is allowed in a keyset but worth a person's look."""
    found = []
    folded: dict[str, str] = {}
    for entry in keyset.entries:
        other = folded.setdefault(entry.key_version.casefold(), entry.key_version)
        if other != entry.key_version:
            found.append(f"versions {other!a} and {entry.key_version!a} differ in letter case only")
        if KEYSET in entry.profiles and len(entry.profiles) > 1:
            found.append(f"key version {entry.key_version!a} signs keysets and messages")
    return tuple(found)


def _check_sound(keyset: Keyset) -> None:
    """Nothing about the keyset itself would mislead or lock out whoever takes it."""
    seen: dict[str, str] = {}
    for index, entry in enumerate(keyset.entries):
        if entry.key is None:
            flaw = entry.flaw or Reason.KEY_MALFORMED
            raise _fault(flaw, f"key version {entry.key_version!a}", f"/keys/{index}/publicKey")
        other = seen.setdefault(entry.key.thumbprint, entry.key_version)
        if other != entry.key_version:
            detail = f"{other!a} and {entry.key_version!a} are one key"
            raise _fault(Reason.SAME_KEY_TWICE, detail, f"/keys/{index}/publicKey")
    able = len(keyset.signers())
    if able < keyset.threshold:
        detail = f"{keyset.threshold} must sign, and {able} of its keys may sign keysets"
        raise _fault(Reason.THRESHOLD_NOT_MET, detail, "/threshold")


def _check_times(keyset: Keyset, now: Instant, *, last: bool) -> None:
    issued, expires = keyset.window
    if now < issued - FUTURE_SKEW:
        detail = f"issued {write_instant(issued)}, now {write_instant(now)}"
        raise _fault(Reason.KEYSET_NOT_YET_VALID, detail, "/issuedAt")
    if last and now >= expires:
        detail = f"expired {write_instant(expires)}, now {write_instant(now)}"
        raise _fault(Reason.KEYSET_EXPIRED, detail, "/expiresAt")


def _check_generation(generation: int, current: int, fast_forward: int) -> None:
    if generation <= current:
        detail = f"it is generation {generation}, and {current} is known"
        raise _fault(Reason.KEYSET_ROLLBACK, detail, "/generation")
    if generation - current > fast_forward:
        detail = f"from {current} to {generation}, at most {fast_forward} at once"
        raise _fault(Reason.KEYSET_FAST_FORWARD, detail, "/generation")


def _check_bindings(history: History, keyset: Keyset) -> None:
    """A version is one key for ever, a key one version, and a revocation stands."""
    for index, entry in enumerate(keyset.entries):
        assert entry.key is not None
        name, key, at = entry.key_version, entry.key.thumbprint, f"/keys/{index}"
        if history.thumbprints.get(name, key) != key:
            detail = f"key version {name!a} was another key before"
            raise _fault(Reason.KEY_VERSION_REBOUND, detail, at)
        if history.versions.get(key, name) != name:
            detail = f"{name!a} is the key that was {history.versions[key]!a} before"
            raise _fault(Reason.SAME_KEY_TWICE, detail, at)
        known = history.revoked.get(name)
        if known is not None and (entry.revoked_at is None or entry.revoked_at > known):
            detail = f"key version {name!a} was revoked from {write_instant(known)} on"
            raise _fault(Reason.KEY_REVOKED, detail, at)


def _check_pins(offered: SignedKeyset, pins: Sequence[Pin], now: Instant) -> None:
    if not pins:
        raise _fault(Reason.UNTRUSTED_INITIAL_SIGNER, "no key is pinned", None)
    at = offered.keyset.window.issued
    for pin in pins:
        entry = offered.keyset.find(pin.key_version)
        named = any(
            each.purpose == "keyset" and each.key_version == pin.key_version
            for each in offered.signatures
        )
        if entry is None or not named or not pin.fits(entry.key_version, entry.key):
            state = "another key" if entry is not None and named else "not among its signers"
            detail = f"the pinned key version {pin.key_version!a} is {state}"
            raise _fault(Reason.UNTRUSTED_INITIAL_SIGNER, detail, None)
        if KEYSET not in entry.profiles:
            detail = f"the pinned key version {pin.key_version!a} may not sign keysets"
            raise _fault(Reason.UNTRUSTED_INITIAL_SIGNER, detail, None)
        if not stands(entry, at, now) or now >= entry.accept_until:
            detail = f"the pinned key version {pin.key_version!a} does not stand now"
            raise _fault(Reason.INITIAL_SIGNER_EXPIRED, detail, None)


def _check_signatures(offered: SignedKeyset, older: Iterable[KeyEntry]) -> None:
    """Each signature by a known key holds. What an unknown key signed proves nothing."""
    known = {entry.key_version: entry for entry in (*older, *offered.entries)}
    for index, each in enumerate(offered.signatures):
        entry = known.get(each.key_version)
        if entry is not None and not each.holds(entry):
            detail = f"the signature of {each.key_version!a} ({each.purpose}) does not hold"
            raise _fault(Reason.BAD_SIGNATURE, detail, f"/signatures/{index}")


def _check_overlap(current: Keyset, offered: SignedKeyset, now: Instant) -> None:
    """A key that signs keysets leaves in the open: still listed for a while, or as revoked.

    After a jump only those keys are asked that signed it: another may have left in between.
    """
    keyset, at = offered.keyset, offered.keyset.window.issued
    signed = {each.key_version for each in offered.signatures if each.purpose == "keyset"}
    for entry in current.signers():
        follows = keyset.generation == current.generation + 1
        if not (follows or entry.key_version in signed) or not stands(entry, at, now):
            continue
        listed = keyset.find(entry.key_version)
        if is_revoked(listed, at, now):
            continue
        needed = min(entry.accept_until, at + OVERLAP)
        if listed is None or KEYSET not in listed.profiles or listed.accept_until < needed:
            detail = f"{entry.key_version!a} signs keysets, and must stay until " + write_instant(
                needed
            )
            raise _fault(Reason.ROTATION_OVERLAP_MISSING, detail, "/keys")


def _check_published(keyset: Keyset, allowed: bool) -> None:
    for index, entry in enumerate(keyset.entries):
        if entry.key is not None and is_published(entry.key.thumbprint) and not allowed:
            raise _fault(
                Reason.PUBLISHED_KEY, f"key version {entry.key_version!a}", f"/keys/{index}"
            )


def _refuse_shortfall(counted: Count) -> None:
    short = counted.shortfall()
    if short is not None:
        raise _fault(*short, "/signatures")


def _fault(reason: Reason, detail: str, pointer: str | None) -> MaterialError:
    return MaterialError(reason, detail, pointer=pointer)

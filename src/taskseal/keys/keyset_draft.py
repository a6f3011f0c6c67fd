"""The next keyset of an issuer, unsigned, and the signatures that one keyring can put to it.

Source: SPEC section 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from taskseal.canon.encoding import b64url_encode
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.entry import KEYSET, KeyEntry
from taskseal.keys.keyset import Keyset, Purpose, SignedKeyset, protected_header
from taskseal.keys.keyset_history import is_revoked
from taskseal.keys.screening import is_published
from taskseal.validity import DAY, Instant, Window
from taskseal.wire.general import read_general
from taskseal.wire.jws import signing_input

LIFETIME = 30 * DAY
"""Nanoseconds from a proposal's issuedAt to its expiresAt, unless its maker says otherwise."""


class Holder(Protocol):
    """What signs with one key."""

    def sign(self, message: bytes) -> bytes:
        """The signature over exactly ``message``."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What whoever proposes a keyset decides.

    ``lifetime`` is in nanoseconds. ``threshold`` None keeps the current one, or is 1 at first;
    ``generation`` None is the next. ``revoke`` are versions that are revoked from its issue on,
    ``others`` keys that others hold, from their pins.
    """

    lifetime: int = LIFETIME
    threshold: int | None = None
    generation: int | None = None
    revoke: frozenset[str] = frozenset()
    others: tuple[KeyEntry, ...] = ()


def propose(
    issuer: str,
    own: Sequence[KeyEntry],
    current: Keyset | None,
    issued: Instant,
    plan: Plan,
) -> Keyset:
    """The next keyset of ``issuer``.

    A key counts as the keyring says, else as its own holder's pins say, else as the current
    keyset does. A key of the current keyset that is accepted no more is left out.

    Args:
        issuer: whose keyset it is.
        own: the keyring's keys.
        current: the keyset that it follows; None for the first.
        issued: its issuedAt, in nanoseconds since 1970.
        plan: the rest.

    Raises:
        InputError: ``usage`` for a version that nobody holds, two keys of one version, another
            issuer, a threshold that its keys cannot meet, or no keys at all.
    """
    if current is not None:
        issued = max(issued, current.window.issued)
    listed = {entry.key_version: entry for entry in (current.entries if current else ())}
    for entry in (*plan.others, *own):
        if entry.issuer != issuer:
            raise _usage(f"{entry.key_version!a} is a key of {entry.issuer!a}, not of {issuer!a}")
        known = listed.get(entry.key_version)
        if known is not None and known.key != entry.key:
            raise _usage(f"there are two different keys of version {entry.key_version!a}")
        since = None if known is None else known.revoked_at
        listed[entry.key_version] = entry if since is None else _revoked(entry, since)
    for version in sorted(plan.revoke - listed.keys()):
        raise _usage(f"no key version {version!a} is there to be revoked")
    entries = tuple(
        _revoked(entry, issued) if entry.key_version in plan.revoke else entry
        for entry in listed.values()
        if issued < entry.accept_until
    )
    if not entries:
        raise MaterialError(Reason.NO_SIGNING_KEY, "there is no key to list")
    threshold = plan.threshold or (current.threshold if current else 1)
    able = sum(KEYSET in entry.profiles and entry.revoked_at is None for entry in entries)
    if not 1 <= threshold <= able:
        raise _usage(
            f"{threshold} must sign, and {able} of the keys may sign keysets",
            f"make one with `taskseal keys new VERSION --for {KEYSET}`",
        )
    first = current.generation + 1 if current else 1
    generation = plan.generation or first
    if generation < first:
        raise _usage(f"the next generation is {first}, not {generation}")
    return Keyset(issuer, generation, Window(issued, issued + plan.lifetime), threshold, entries)


def seal(
    offered: SignedKeyset,
    own: Iterable[KeyEntry],
    now: Instant,
    *,
    older: Keyset | None,
    holder: Callable[[KeyEntry, Purpose], Holder],
    allow_published_keys: bool = False,
) -> SignedKeyset:
    """``offered`` with all that a keyring can sign of it; what is signed already stays.

    Its keyset keys that may sign now vouch for it, and every listed key shows that it is held.

    Args:
        offered: the keyset as it stands.
        own: the keyring's keys.
        now: the instant, in nanoseconds since 1970.
        older: the keyset that it follows: a key that it no longer lists may sign too.
        holder: gives what signs with a key, for a purpose.
        allow_published_keys: also sign with keys whose private half anyone can read.

    Raises:
        MaterialError: ``key_version_rebound`` when the keyset lists another key under a version
            of the keyring; ``published_key``; what ``holder`` raises.
    """
    issued = offered.keyset.window.issued
    for entry in own:
        listed = offered.keyset.find(entry.key_version)
        known = listed or (older.find(entry.key_version) if older else None)
        if known is None or entry.issuer != offered.issuer or is_revoked(listed, issued, now):
            continue
        if known.key != entry.key or entry.key is None:
            raise MaterialError(
                Reason.KEY_VERSION_REBOUND,
                f"the keyset lists another key as {entry.key_version!a} than the keyring holds",
            )
        if is_published(entry.key.thumbprint) and not allow_published_keys:
            raise MaterialError(Reason.PUBLISHED_KEY, f"key version {entry.key_version!a}")
        purposes: list[Purpose] = []
        if KEYSET in known.profiles and KEYSET in entry.profiles and entry.may_sign(now) is None:
            purposes.append("keyset")
        if listed is not None:
            purposes.append("possession")
        for purpose in purposes:
            if not offered.made_by(purpose, [known]):
                offered = _signed(offered, entry, purpose, holder(entry, purpose))
    return offered


def _signed(
    offered: SignedKeyset, entry: KeyEntry, purpose: Purpose, holder: Holder
) -> SignedKeyset:
    protected = protected_header(entry, purpose)
    signature = holder.sign(signing_input(protected, offered.payload))
    one = {"protected": protected, "signature": b64url_encode(signature)}
    general = read_general({"payload": b64url_encode(offered.payload), "signatures": [one]})
    return offered.with_signature(purpose, entry.key_version, general.signatures[0])


def _revoked(entry: KeyEntry, at: Instant) -> KeyEntry:
    """``entry`` revoked at ``at``, or at an earlier instant where it is that already."""
    return replace(entry, revoked_at=at if entry.revoked_at is None else min(at, entry.revoked_at))


def _usage(detail: str, hint: str | None = None) -> InputError:
    return InputError(Reason.USAGE, detail, hint=hint)

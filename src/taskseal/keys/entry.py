"""One key as its owner and its verifiers know it: who, which, from when until when, for what.

Instants, not statuses: what a key may do follows from the instant asked about.

Source: SPEC sections 4.5 to 4.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from taskseal.errors import Reason
from taskseal.keys.algorithms import PublicKey
from taskseal.keys.version import KeyVersion
from taskseal.validity import DAY, FUTURE_SKEW, Instant, Window

YEAR = 365 * DAY
SIGNING_SPAN = YEAR
"""Nanoseconds from a new key's signFrom to its signUntil, unless its maker says otherwise."""
ACCEPTING_SPAN = 30 * DAY
"""Nanoseconds from a new key's signUntil to its acceptUntil, unless its maker says otherwise."""

DHARMA_TASK = "dharma.task/v1"
DHARMA_RECEIPT = "dharma.action-decision-receipt/v1"
DHARMA_KEYSET = "dharma.server-signing-keyset/v1"
KEYSET = "taskseal.keyset/v1"

BARE_PROFILES = frozenset({DHARMA_TASK, DHARMA_RECEIPT, DHARMA_KEYSET})
"""The built-in profiles whose signatures cover bare bytes, without domain separation."""
KEYSET_PROFILES = frozenset({KEYSET, DHARMA_KEYSET})
"""The profiles whose keys sign nothing else."""

_PROFILE_ID = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*/v[0-9]+")

Scalar = str | int | bool | None
Bind = Mapping[str, tuple[Scalar, ...]]
"""JSON pointer into a message → the values that the signer may put there."""


def freeze_bind(bind: Mapping[str, Iterable[Scalar]]) -> Bind:
    """``bind`` as entries keep it; an empty one lets the key fill in any name."""
    return MappingProxyType({pointer: tuple(values) for pointer, values in bind.items()})


def is_profile_id(value: object) -> bool:
    """Whether ``value`` has the shape of a profile id, such as ``dharma.task/v1``."""
    return type(value) is str and _PROFILE_ID.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key (issuer, keyVersion) with its instants, profiles and the names it may speak for.

    ``key`` is None when the public key is not one that may verify; ``flaw`` then says why
    (``weak_key`` or ``key_malformed``). ``keyset`` is the window of the signed keyset that
    lists the key and ``generation`` that keyset's, both None for a pinned one.
    """

    issuer: str
    key_version: KeyVersion
    key: PublicKey | None
    not_before: Instant
    sign_from: Instant
    sign_until: Instant
    accept_until: Instant
    profiles: frozenset[str]
    revoked_at: Instant | None = None
    principal: str | None = None
    bind: Bind = field(default_factory=lambda: freeze_bind({}), hash=False)
    flaw: Reason | None = None
    keyset: Window | None = None
    generation: int | None = None
    _span: tuple[Instant, Instant] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        begins, ends = [self.not_before], [self.accept_until]
        if self.flaw is not None:
            ends.append(begins[0])
        if self.revoked_at is not None:
            ends.append(self.revoked_at)
        if self.keyset is not None:
            begins.append(self.keyset.issued - FUTURE_SKEW)
            ends.append(self.keyset.expires)
        object.__setattr__(self, "_span", (max(begins), min(ends)))

    def stands(self, now: Instant) -> bool:
        """Whether neither :meth:`gate_fault` nor :meth:`keyset_fault` has anything to say."""
        begin, end = self._span
        return begin <= now < end

    def gate_fault(self, now: Instant) -> Reason | None:
        """Why the key may verify nothing at ``now``, or None; asked before the signature."""
        if self.flaw is not None:
            return self.flaw
        if self.is_revoked(now):
            return Reason.KEY_REVOKED
        if now < self.not_before:
            return Reason.KEY_NOT_YET_VALID
        if now >= self.accept_until:
            return Reason.KEY_EXPIRED
        return None

    def retired_fault(self, now: Instant, issued: Instant | None) -> Reason | None:
        """``key_retired`` when the overlap has begun and the message is not from before it.

        ``issued`` is what the signed message says of itself (None: nothing), so it may be
        asked only once the signature is good. It is no defence against a stolen key.
        """
        if now < self.sign_until or (issued is not None and issued < self.sign_until):
            return None
        return Reason.KEY_RETIRED

    def state(self, now: Instant, issued: Instant | None) -> Reason | None:
        """Why a message issued at ``issued`` may not verify at ``now``, or None, in one answer."""
        return self.gate_fault(now) or self.retired_fault(now, issued)

    def keyset_fault(self, now: Instant) -> Reason | None:
        """Why the keyset that lists the key does not stand at ``now``, or None."""
        if self.keyset is None:
            return None
        if now < self.keyset.issued - FUTURE_SKEW:
            return Reason.KEYSET_NOT_YET_VALID
        return Reason.KEYSET_EXPIRED if now >= self.keyset.expires else None

    def is_revoked(self, now: Instant) -> bool:
        """Whether the key is revoked at ``now``."""
        return self.revoked_at is not None and now >= self.revoked_at

    def ends_signing(self) -> Instant:
        """The first instant from which the key signs no more: signUntil, or its revocation."""
        if self.revoked_at is None:
            return self.sign_until
        return min(self.sign_until, self.revoked_at)

    def is_stillborn(self) -> bool:
        """Whether its revocation comes before its first signature, so that it never signs."""
        return self.revoked_at is not None and self.revoked_at <= self.sign_from

    def may_sign(self, now: Instant) -> Reason | None:
        """Why the key may not sign at ``now``, or None: signFrom ≤ now < signUntil."""
        if self.flaw is not None:
            return self.flaw
        if self.is_revoked(now):
            return Reason.KEY_REVOKED
        return None if self.sign_from <= now < self.sign_until else Reason.KEY_NOT_SIGNING


def order_fault(
    not_before: Instant, sign_from: Instant, sign_until: Instant, accept_until: Instant
) -> tuple[str, str] | None:
    """The first member that lies before its predecessor, with that, or None."""
    instants = (
        ("notBefore", not_before),
        ("signFrom", sign_from),
        ("signUntil", sign_until),
        ("acceptUntil", accept_until),
    )
    for (earlier, first), (later, second) in pairwise(instants):
        if second < first:
            return later, earlier
    return None


def profiles_fault(profiles: Iterable[str], bare: frozenset[str] = BARE_PROFILES) -> str | None:
    """Why one signing key may not have all these profiles, or None.

    ``bare`` are the profiles that sign bare bytes. Two of them under one key would let a
    signature made for one be offered for the other, so a key has one at most; and a keyset
    key, which can replace every other key, signs nothing else.
    """
    given = sorted(set(profiles))
    if not given:
        return "a key needs at least one profile"
    keysets = [profile for profile in given if profile in KEYSET_PROFILES]
    if keysets and len(given) > 1:
        return f"a key for {keysets[0]} signs nothing else"
    unseparated = [profile for profile in given if profile in bare]
    if len(unseparated) > 1:
        return f"{' and '.join(unseparated)} both sign bare bytes and need a key each"
    return None

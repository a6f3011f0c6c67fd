"""What the ledger contract offers: messages by name, a present, and ways to open a ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from taskseal.ledger import Claim, Ledger, ReplayId, open_ledger
from taskseal.validity import HOUR, SECOND, Instant

NOW: Instant = 1_800_000_000 * SECOND
"""The present of every test: early in 2027. No test asks the clock."""
LEASE = 60 * SECOND
PROFILE = "contract.message/v1"


class LedgerFactory(Protocol):
    """Opens a ledger. Where ledgers outlive their process: the same store, empty at first, every
    time within one test, and a factory that can be pickled."""

    def __call__(self, *, max_records: int | None = None) -> Ledger:
        """A ledger; with ``max_records`` where it is given, else with room for thousands."""


@dataclass(frozen=True, slots=True)
class UrlFactory:
    """The factory of a ledger that :func:`taskseal.ledger.open_ledger` opens by ``url``."""

    url: str

    def __call__(self, *, max_records: int | None = None) -> Ledger:
        query = "" if max_records is None else f"?max_records={max_records}"
        return open_ledger(self.url + query)


def replay_ids(*names: str) -> tuple[ReplayId, ...]:
    """Replay ids of these values, the first in the scope of messages, the second of nonces."""
    scopes = (f"{PROFILE} sender message", f"{PROFILE} sender nonce")
    return tuple(ReplayId(scope, name) for scope, name in zip(scopes, names, strict=False))


def fingerprint_of(content: str) -> bytes:
    """The fingerprint of a message that says ``content``."""
    return hashlib.sha256(content.encode()).digest()


def message(
    name: str,
    *,
    ids: Iterable[str] | None = None,
    content: str | None = None,
    profile: str = PROFILE,
    expires_at: Instant = NOW + HOUR,
    keep_for: int = 0,
    advance: tuple[str, int] | None = None,
    acceptance: bytes | None = None,
) -> Claim:
    """The claim of a message.

    Args:
        name: its one replay id, unless ``ids`` are given.
        ids: the values of its replay ids.
        content: what it says; ``name`` unless given.
        profile: its profile.
        expires_at: its effective expiry, in nanoseconds since 1970.
        keep_for: nanoseconds that it is kept beyond its expiry.
        advance: the counter that it advances.
        acceptance: what a claim of it in one step keeps.
        acceptance: what a claim in one step keeps of it.
    """
    return Claim(
        profile=profile,
        ids=replay_ids(*((name,) if ids is None else ids)),
        fingerprint=fingerprint_of(name if content is None else content),
        expires_at=expires_at,
        keep_until=expires_at + keep_for,
        advance=advance,
        acceptance=acceptance,
    )

"""What is known of an issuer's keysets, and how far the signatures of the next one go.

A signer is judged at the instant that the keyset says it was issued at, so that a receiver that
was away may follow a chain whose links have expired; but a key that is revoked by now, or by the
keyset at hand, counts nowhere.

Source: SPEC section 4.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from taskseal.errors import Reason
from taskseal.keys.entry import KEYSET, KeyEntry
from taskseal.keys.keyset import Keyset, SignedKeyset
from taskseal.validity import Instant


@dataclass(frozen=True, slots=True)
class History:
    """What a receiver knows of an issuer: the current keyset, and every key ever listed."""

    current: Keyset
    thumbprints: Mapping[str, str]
    versions: Mapping[str, str]
    revoked: Mapping[str, Instant]

    @classmethod
    def of(cls, keysets: Sequence[Keyset]) -> History:
        """The history of keysets in their order; the last one is the current."""
        history: History | None = None
        for keyset in keysets:
            history = cls._after(history, keyset)
        assert history is not None, "a history has a keyset at least"
        return history

    def after(self, keyset: Keyset) -> History:
        """The history once ``keyset`` is the current one."""
        return self._after(self, keyset)

    @classmethod
    def _after(cls, before: History | None, keyset: Keyset) -> History:
        pairs = [(entry.key_version, entry.key.thumbprint) for entry in keyset.entries if entry.key]
        revoked = dict(before.revoked) if before else {}
        for entry in keyset.entries:
            if entry.revoked_at is not None:
                revoked[entry.key_version] = entry.revoked_at
        return cls(
            keyset,
            MappingProxyType({**(before.thumbprints if before else {}), **dict(pairs)}),
            MappingProxyType(
                {**(before.versions if before else {}), **{key: name for name, key in pairs}}
            ),
            MappingProxyType(revoked),
        )


@dataclass(frozen=True, slots=True)
class Count:
    """How far a keyset's signatures go: who counts, who could still sign, how many must.

    ``current`` is the threshold of the keyset that it follows, None for a first one.
    """

    own: tuple[frozenset[str], tuple[str, ...], int]
    current: tuple[frozenset[str], tuple[str, ...], int] | None
    unproven: tuple[str, ...]

    def shortfall(self) -> tuple[Reason, str] | None:
        """Why the keyset may not be published, naming who is missing; None when it may."""
        for whose, part in (("the current keyset", self.current), ("the keyset itself", self.own)):
            if part is None:
                continue
            made, able, wanted = part
            if len(made) < wanted:
                signed = _names(sorted(made)) or "nobody"
                missing = [name for name in able if name not in made]
                others = _names(missing) or "nobody else may sign"
                return Reason.THRESHOLD_NOT_MET, (
                    f"{whose} asks for {wanted} signatures; signed: {signed}; missing: {others}"
                )
        if self.unproven:
            return Reason.POSSESSION_MISSING, f"no proof of possession: {_names(self.unproven)}"
        return None


def count(offered: SignedKeyset, history: History | None, now: Instant) -> Count:
    """How far the signatures of ``offered`` go, over ``history`` or as a first keyset."""
    keyset, at = offered.keyset, offered.keyset.window.issued

    def part(listing: Keyset, threshold: int) -> tuple[frozenset[str], tuple[str, ...], int]:
        able = [
            entry
            for entry in listing.signers()
            if stands(entry, at, now) and not is_revoked(keyset.find(entry.key_version), at, now)
        ]
        names = tuple(entry.key_version for entry in able)
        return offered.made_by("keyset", able), names, threshold

    proven = offered.made_by("possession", keyset.entries)
    known: Mapping[str, str] = {} if history is None else history.thumbprints
    # A keyset met at a later generation shows nothing of the keys that came before it.
    newly = () if history is None and keyset.generation > 1 else keyset.entries
    return Count(
        own=part(keyset, keyset.threshold),
        current=None if history is None else part(history.current, history.current.threshold),
        unproven=tuple(
            entry.key_version
            for entry in newly
            if entry.key_version not in known
            and entry.key_version not in proven
            and not is_revoked(entry, at, now)
        ),
    )


def stands(entry: KeyEntry, at: Instant, now: Instant) -> bool:
    """Whether the key counts for a keyset that was issued at ``at``."""
    return (
        KEYSET in entry.profiles
        and entry.key is not None
        and not is_revoked(entry, at, now)
        and entry.not_before <= at < entry.sign_until
    )


def is_revoked(entry: KeyEntry | None, at: Instant, now: Instant) -> bool:
    """Whether a key counts no more for a keyset issued at ``at``, looked at ``now``."""
    return entry is not None and entry.revoked_at is not None and entry.revoked_at <= max(at, now)


def _names(versions: Iterable[str]) -> str:
    return ", ".join(ascii(version) for version in versions)

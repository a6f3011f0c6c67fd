"""What receivers say of themselves: at which generation of an issuer's keysets they stand.

A folder of small files, one a receiver and issuer, that ``trust update --report`` writes and a
rotation reads before it hurries.

Source: SPEC section 9 (``keys rotate``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from taskseal.errors import Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.keyset import MAX_GENERATION
from taskseal.keys.pins import MAX_ISSUER
from taskseal.keys.shape import Shape
from taskseal.validity import SECOND, Instant, write_instant

SIGHTING_LIMIT = 1 << 14
"""Bytes of the largest file of this kind."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One receiver's word: since ``seen_at`` it has stood at ``generation`` of ``issuer``.

    ``source`` names the receiver in what is said to people: the file's name.
    """

    issuer: str
    generation: int
    seen_at: Instant
    source: str = "a receiver"

    @classmethod
    def load(cls, data: bytes, source: str) -> Sighting:
        """The sighting in a file.

        Args:
            data: the file's bytes, ``{issuer, generation, seenAt}``.
            source: what it is called in errors and reports.

        Raises:
            MaterialError: ``trust_malformed`` with the pointer.
        """
        shape = Shape(source, Reason.TRUST_MALFORMED)
        top = shape.members(shape.document(data), "", ("issuer", "generation", "seenAt"))
        return cls(
            shape.text(top["issuer"], "/issuer", MAX_ISSUER),
            shape.number(top["generation"], "/generation", 0, MAX_GENERATION),
            shape.instant(top["seenAt"], "/seenAt"),
            source,
        )

    def to_json(self) -> bytes:
        """The file, with one line end."""
        seen = write_instant(self.seen_at)
        members = {"issuer": self.issuer, "generation": self.generation, "seenAt": seen}
        return json.dumps(members).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Receivers:
    """Those who are known to follow an issuer.

    ``current`` is the generation of the keyset that all should stand at and ``lists`` its key
    versions, where the caller knows it; without it the highest generation that any of them names
    is asked of all.
    """

    sightings: tuple[Sighting, ...] = ()
    current: int | None = None
    lists: frozenset[str] = frozenset()

    def behind(self, issuer: str, new: KeyEntry | None = None) -> tuple[Sighting, ...]:
        """Those who lag, or cannot know a new key.

        Without a current keyset, whoever took nothing since the key was made does not know it.

        Args:
            issuer: whose receivers.
            new: the key that they must know; None where there is none yet.
        """
        mine = [each for each in self.sightings if each.issuer == issuer]
        if self.current is not None:
            if new is not None and new.key_version not in self.lists:
                return tuple(mine)
            return tuple(each for each in mine if each.generation < self.current)
        wanted = max((each.generation for each in mine), default=0)
        since = 0 if new is None else new.not_before + SECOND
        return tuple(each for each in mine if each.generation < wanted or each.seen_at < since)


def told(sightings: Iterable[Sighting]) -> str:
    """``sightings`` in a few words."""
    return ", ".join(
        f"{each.source} (generation {each.generation} since {write_instant(each.seen_at)})"
        for each in sightings
    )

"""The versions of one name, such as ``kms/tasks/1`` and ``kms/tasks/2``: what a rotation extends.

Source: SPEC section 9 (``keys rotate``: next name = trailing integer + 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.version import KeyVersion, check_new_key_version
from taskseal.validity import Instant

_NUMBERED = re.compile(r"(.*?)([0-9]+)", re.DOTALL)
_JOINTS = "/-_.:#@+ "
"""What may stand between a name and its number."""


def split_version(version: KeyVersion) -> tuple[str, str] | None:
    """The stem and the trailing digits of a key version, or None where it ends in no digit."""
    found = _NUMBERED.fullmatch(version)
    return None if found is None else (found[1], found[2])


@dataclass(frozen=True, slots=True)
class Lineage:
    """The keys whose versions differ in the trailing integer only, the lowest first.

    ``stem`` is what stands before the integer, letter for letter: ``Tasks/`` is not ``tasks/``.
    """

    stem: str
    entries: tuple[KeyEntry, ...]

    @property
    def name(self) -> str:
        """What people call it: the stem without the joint before the number."""
        return self.stem.rstrip(_JOINTS) or self.stem

    def newest(self, now: Instant) -> KeyEntry:
        """The highest version that still has something to sign; or that is not revoked; or is."""
        alive = [e for e in self.entries if e.ends_signing() > max(now, e.sign_from)]
        return (alive or [e for e in self.entries if not e.is_revoked(now)] or self.entries)[-1]

    def above(self, entry: KeyEntry, now: Instant) -> tuple[KeyEntry, ...]:
        """The versions above that of ``entry`` that are not revoked, now or before they sign."""
        number = _number(entry)
        return tuple(
            e
            for e in self.entries
            if _number(e) > number and not e.is_revoked(now) and not e.is_stillborn()
        )

    def giver(self, new: KeyEntry) -> KeyEntry | None:
        """The version below ``new`` that hands over to it: the last to sign before it does.

        One that never signs does so only where there is no other.
        """
        below = [
            e
            for e in self.entries
            if _number(e) < _number(new) and (e.is_stillborn() or e.ends_signing() <= new.sign_from)
        ]
        return max(
            reversed(below), key=lambda e: (not e.is_stillborn(), e.ends_signing()), default=None
        )

    def next_version(self) -> KeyVersion:
        """The version above all of these, as wide as the last one: ``k-09`` gives ``k-10``.

        Raises:
            InputError: ``usage`` when it would be too long.
        """
        last = split_version(self.entries[-1].key_version)
        assert last is not None
        return check_new_key_version(self.stem + str(int(last[1]) + 1).zfill(len(last[1])))


def lineages(entries: Iterable[KeyEntry]) -> tuple[Lineage, ...]:
    """Every lineage among ``entries``, in the order of their first keys."""
    found: dict[str, list[KeyEntry]] = {}
    for entry in entries:
        parts = split_version(entry.key_version)
        if parts is not None:
            found.setdefault(parts[0], []).append(entry)
    return tuple(Lineage(stem, tuple(sorted(each, key=_number))) for stem, each in found.items())


def find_lineage(
    entries: Iterable[KeyEntry], name: str | None, now: Instant
) -> tuple[Lineage, KeyEntry | None]:
    """The lineage that ``name`` means, and the one key when it names that.

    Args:
        entries: the keyring's keys.
        name: a key version; or a lineage, with or without the joint at its end; or None for the
            only lineage that has a future.
        now: the instant, in nanoseconds since 1970.

    Raises:
        MaterialError: ``unknown_key``, ``no_signing_key`` for an empty keyring.
        InputError: ``usage`` when several lineages are meant, or the version has no number.
    """
    given = tuple(entries)
    known = lineages(given)
    if name is None:
        return _only(known, given, now), None
    for entry in given:
        if entry.key_version == name:
            return _numbered(known, name), entry
    meant = [each for each in known if name in (each.stem, each.name)]
    exact = [each for each in meant if each.stem == name]
    if len(exact or meant) == 1:
        return (exact or meant)[0], None
    if meant:
        raise _several(meant)
    raise MaterialError(
        Reason.UNKNOWN_KEY,
        f"the keyring holds no key {name!a}, and none of that name",
        hint=f"name one of {_names(known)}" if known else "make one with `taskseal keys new`",
    )


def _only(known: tuple[Lineage, ...], entries: tuple[KeyEntry, ...], now: Instant) -> Lineage:
    if not entries:
        raise MaterialError(Reason.NO_SIGNING_KEY, "the keyring is empty: nothing to rotate")
    if not known:
        raise _unnumbered(entries[0].key_version)
    alive = [each for each in known if any(e.ends_signing() > now for e in each.entries)]
    if len(alive or known) == 1:
        return (alive or known)[0]
    raise _several(alive or known)


def _numbered(known: Iterable[Lineage], version: KeyVersion) -> Lineage:
    parts = split_version(version)
    if parts is None:
        raise _unnumbered(version)
    return next(each for each in known if each.stem == parts[0])


def _unnumbered(version: KeyVersion) -> InputError:
    return InputError(
        Reason.USAGE,
        f"the key version {version!a} ends in no number, so the next one has no name",
        hint=f"make the next one by hand, with a number: keys new {version!a}/2, and rotate that",
    )


def _several(meant: Iterable[Lineage]) -> InputError:
    return InputError(
        Reason.USAGE,
        f"several are meant: {_names(meant)}",
        hint="name the one that is to be rotated",
    )


def _names(known: Iterable[Lineage]) -> str:
    return ", ".join(ascii(each.stem) for each in known)


def _number(entry: KeyEntry) -> int:
    parts = split_version(entry.key_version)
    assert parts is not None
    return int(parts[1])

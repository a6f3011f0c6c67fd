"""The ``[[trust]]`` tables: whose keys count, for what, and from which beginnings.

Source: SPEC sections 4.8 to 4.10 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from taskseal.config.permissions import LONGEST_PATH, check_safe, read_safely
from taskseal.config.places import trust_marks
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.entry import KEYSET_PROFILES, Bind
from taskseal.keys.keyset import MAX_GENERATION, SignedKeyset
from taskseal.keys.narrowing import narrowed, only_pinned, signed_by_pinned
from taskseal.keys.pin import Pin
from taskseal.keys.pins import MAX_ISSUER, TRUST_FILE_LIMIT, Pins, read_bind
from taskseal.keys.shape import Shape
from taskseal.keys.succession import Line, Rules, begin
from taskseal.keys.trust import Source, TrustFile, load_trust_file
from taskseal.keys.trust_store import TrustStore
from taskseal.profiles import Profile

_MEMBERS = ("issuer", "pins", "store", "pin", "min_generation", "profiles", "bind")


@dataclass(frozen=True, slots=True)
class TrustRule:
    """One table: where its keys are kept, what comes of them, and what a person should know."""

    place: Path
    source: Source
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Narrowing:
    """How far one table's keys count; None and nothing for as far as they say themselves."""

    issuer: str | None
    pins: tuple[Pin, ...]
    min_generation: int | None
    profiles: frozenset[str] | None
    bind: Bind


@dataclass(frozen=True, slots=True)
class NarrowedStore:
    """A trust store, as far as one table lets it count.

    With pins, its keysets are followed once more from the first: whoever can write the store
    cannot put others in their place.
    """

    store: TrustStore
    limits: Narrowing

    def stamp(self) -> object:
        """What changes whenever the store does."""
        return self.store.stamp()

    def sources(self) -> tuple[SignedKeyset | DharmaKeyset, ...]:
        """The keysets that count.

        Raises:
            MaterialError: what the store raises; ``trust_missing`` when the issuer does not stand
                in it; the reason of the first rule that a keyset broke.
            InputError: when the store cannot be read.
        """
        wanted = self.limits.issuer
        found = [each for each in self.store.sources() if wanted in (None, each.issuer)]
        if not found:
            raise MaterialError(
                Reason.TRUST_MISSING, f"{wanted!a} does not stand in {str(self.store.path)!a}"
            )
        if self.limits.pins:
            assert wanted is not None
            self._follow_from_pins(wanted)
        kept = (narrowed(each, self.limits.profiles, self.limits.bind) for each in found)
        return tuple(each for each in kept if not isinstance(each, Pins))

    def _follow_from_pins(self, issuer: str) -> None:
        steps = self.store.state().issuers[issuer].line
        offers = [self.store.offer(step) for step in steps]
        rules = self.store.rules
        begin(offers[0], self.limits.pins, steps[0].at, rules, issuer=issuer)
        line = Line(offers[:1])
        for step, offer in zip(steps[1:], offers[1:], strict=True):
            line.follow(offer, step.at, rules, last=False)


def read_trust(
    value: object,
    shape: Shape,
    folder: Path,
    profiles: Mapping[str, Profile],
    *,
    allow_published_keys: bool,
) -> tuple[TrustRule, ...]:
    """The ``[[trust]]`` tables, their files read in.

    Args:
        value: what stands under ``trust``.
        shape: how the file is read.
        folder: what paths are relative to.
        profiles: the profiles at hand.
        allow_published_keys: also take keys whose private half anyone can read.

    Raises:
        MaterialError: ``config_malformed`` with the pointer, ``config_unsafe``; what a trust file
            raises; ``keyset_rollback``.
        InputError: a file code.
    """
    if isinstance(value, Mapping):
        raise shape.fault("/trust", "an array of tables belongs here", "write [[trust]]")
    rules = Rules(allow_published_keys=allow_published_keys)
    reading = _Reading(shape, folder, (*profiles, *sorted(KEYSET_PROFILES)), rules)
    return tuple(
        _read_rule(item, f"/trust/{index}", reading)
        for index, item in enumerate(shape.items(value, "/trust"))
    )


class _Reading(NamedTuple):
    """What all tables of one file are read with."""

    shape: Shape
    folder: Path
    known: Sequence[str]
    rules: Rules


def _read_rule(value: object, at: str, reading: _Reading) -> TrustRule:
    shape, folder = reading.shape, reading.folder
    given = shape.members(value, at, (), _MEMBERS)
    if ("pins" in given) == ("store" in given):
        raise shape.fault(
            f"{at}/pins",
            "either pins or a store belongs here",
            'write pins = "FILE", or store = "FOLDER"',
        )
    limits = _read_limits(given, at, reading)
    if "store" in given:
        return _read_store(given, at, reading, limits)
    path = folder / shape.text(given["pins"], f"{at}/pins", LONGEST_PATH)
    source = load_trust_file(read_safely(path, TRUST_FILE_LIMIT), str(path))
    if limits.issuer not in (None, source.issuer):
        raise shape.fault(f"{at}/issuer", f"{path} is of {source.issuer!a}")
    _check_generation(source, path, at, limits.min_generation, shape)
    if limits.pins:
        source = _pinned(source, path, f"{at}/pin", limits.pins, shape)
    notes = source.notes if isinstance(source, Pins) else ()
    return TrustRule(path, narrowed(source, limits.profiles, limits.bind), notes)


def _read_store(
    given: Mapping[str, Any], at: str, reading: _Reading, limits: Narrowing
) -> TrustRule:
    shape, folder = reading.shape, reading.folder
    for name in ("pin", "min_generation"):
        if name in given and limits.issuer is None:
            raise shape.fault(
                f"{at}/issuer", f"a store holds several issuers: say whose the {name} is"
            )
    path = folder / shape.text(given["store"], f"{at}/store", LONGEST_PATH)
    check_safe(path / "store.json")
    least = {}
    if limits.issuer is not None and limits.min_generation is not None:
        least[limits.issuer] = limits.min_generation
    store = TrustStore(
        check_safe(path), rules=reading.rules, mark=trust_marks(), min_generation=least
    )
    return TrustRule(path, NarrowedStore(store, limits))


def _read_limits(given: Mapping[str, Any], at: str, reading: _Reading) -> Narrowing:
    shape, known = reading.shape, reading.known
    issuer, generation, profiles = None, None, None
    if "issuer" in given:
        issuer = shape.text(given["issuer"], f"{at}/issuer", MAX_ISSUER)
    if "min_generation" in given:
        where = f"{at}/min_generation"
        generation = shape.number(given["min_generation"], where, 1, MAX_GENERATION)
    if "profiles" in given:
        listed = enumerate(shape.items(given["profiles"], f"{at}/profiles"))
        profiles = frozenset(shape.one_of(p, f"{at}/profiles/{i}", known) for i, p in listed)
    pins: list[Pin] = []
    if "pin" in given:
        texts = [given["pin"]] if isinstance(given["pin"], str) else given["pin"]
        for index, text in enumerate(shape.items(texts, f"{at}/pin")):
            try:
                pins.append(Pin.parse(shape.text(text, f"{at}/pin/{index}", LONGEST_PATH)))
            except InputError as fault:
                raise shape.fault(f"{at}/pin/{index}", fault.detail, fault.hint) from None
    bind = read_bind(given.get("bind", {}), f"{at}/bind", shape)
    return Narrowing(issuer, tuple(pins), generation, profiles, bind)


def _check_generation(
    source: TrustFile, path: Path, at: str, least: int | None, shape: Shape
) -> None:
    if least is None:
        return
    if isinstance(source, Pins):
        raise shape.fault(f"{at}/min_generation", "pins have no generation, only keysets have")
    if source.generation < least:
        raise MaterialError(
            Reason.KEYSET_ROLLBACK,
            f"{path} is generation {source.generation} of {source.issuer!a}, "
            f"and {shape.source} asks for {least} at least",
        )


def _pinned(
    source: TrustFile, path: Path, at: str, pins: tuple[Pin, ...], shape: Shape
) -> TrustFile:
    """What of ``source`` counts by the operator's pins; every one of them must be in it."""
    if isinstance(source, Pins):
        found = only_pinned(source, pins)
        if found is None:
            raise shape.fault(at, f"{path} does not hold each of these keys")
        return found
    if not signed_by_pinned(source, pins):
        raise MaterialError(
            Reason.UNTRUSTED_INITIAL_SIGNER,
            f"{path}: not each of the pinned keys signed it",
            pointer=at,
        )
    return source

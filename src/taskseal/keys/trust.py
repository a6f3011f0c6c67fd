"""What a receiver trusts: a table from (issuer, key version) to one key.

Source: SPEC sections 4.5 and 4.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

from taskseal.errors import MaterialError, Reason, expect
from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.entry import DHARMA_KEYSET, Bind, KeyEntry, freeze_bind
from taskseal.keys.feed import Feed
from taskseal.keys.keyset import SignedKeyset
from taskseal.keys.pins import PINS_SCHEMA, Pins
from taskseal.keys.shape import Shape
from taskseal.wire.general import is_general

TrustFile = Pins | DharmaKeyset | SignedKeyset
"""What an operator trusts by handing over one file."""


@runtime_checkable
class Store(Protocol):
    """Keysets that change while a receiver runs: a trust store."""

    def sources(self) -> tuple[DharmaKeyset | SignedKeyset, ...]:
        """The keyset that counts of every issuer in it."""
        ...

    def stamp(self) -> object:
        """What changes whenever the keysets do; cheap to ask for."""
        ...


Source = TrustFile | Store


def load_trust_file(data: bytes, source: str) -> TrustFile:
    """The pins or the signed keyset that a file holds.

    Args:
        data: the file's bytes.
        source: what errors call the file, such as its path.

    Raises:
        MaterialError: ``trust_malformed`` or ``trust_signature_bad``.
    """
    shape = Shape(source, Reason.TRUST_MALFORMED)
    value = shape.document(data)
    found = value.get("schema") if isinstance(value, Mapping) else None
    if found == PINS_SCHEMA:
        return Pins.read(value, shape)
    if found == DHARMA_KEYSET:
        return DharmaKeyset.read(value, shape)
    if is_general(value):
        return SignedKeyset.read(value, shape).checked(source)
    raise shape.fault(
        "/schema",
        "the file is of no kind that can be trusted",
        f"give a signed keyset, or a file whose schema is {PINS_SCHEMA} or {DHARMA_KEYSET}",
    )


class Trust:
    """The keys that a receiver trusts; immutable once built by :meth:`of`.

    Of a trust store it is what stood there when it was built; :meth:`latest` gives what stands
    there now.
    """

    __slots__ = ("_by_version", "_feed", "sources")

    def __init__(
        self,
        sources: tuple[TrustFile, ...],
        entries: Mapping[tuple[str, str], KeyEntry],
        feed: Feed[Trust] | None = None,
    ):
        self.sources = sources
        self._feed = feed
        by_version: dict[str, dict[str, KeyEntry]] = {}
        for (issuer, version), entry in entries.items():
            by_version.setdefault(version, {})[issuer] = entry
        self._by_version = by_version

    @classmethod
    def of(cls, *sources: Source) -> Trust:
        """The trust that all ``sources`` give together: pins, keysets, trust stores.

        Of several keysets of one issuer a key counts as the highest generation that lists it
        says. Any other two entries of one issuer and version must hold the same key, and then
        count only where both do: a revocation or an end in either one stands. An issuer that
        stands in a trust store stands nowhere else.

        Raises:
            MaterialError: ``trust_missing`` without any source, ``trust_conflict`` when one
                issuer and version has two different keys or principals, or when an issuer of a
                trust store stands in another source; what a trust store raises.
            InputError: when a trust store cannot be read; ``usage`` for anything else than these.
        """
        if not sources:
            raise MaterialError(Reason.TRUST_MISSING)
        for each in sources:
            expect(
                each,
                Source,
                "trust",
                "give Pins.load(data), load_trust_file(data, source) or a TrustStore",
            )
        files = tuple(each for each in sources if isinstance(each, TrustFile))
        stores = tuple(each for each in sources if not isinstance(each, TrustFile))
        if not stores:
            return cls(files, _gather(files))
        feed: Feed[Trust] = Feed(
            lambda feed, before: cls._of_stores(files, stores, feed, before),
            lambda: tuple(store.stamp() for store in stores),
        )
        return feed.latest()

    @classmethod
    def _of_stores(
        cls,
        files: tuple[TrustFile, ...],
        stores: tuple[Store, ...],
        feed: Feed[Trust],
        before: Trust | None,
    ) -> Trust:
        """The trust as the stores stand now; a store that went back is refused."""
        kept = {source.issuer for source in files}
        generations = before._generations() if before is not None else {}
        found: list[TrustFile] = []
        for store in stores:
            mine = store.sources()
            for keyset in mine:
                if keyset.issuer in kept:
                    raise MaterialError(
                        Reason.TRUST_CONFLICT,
                        f"the issuer {keyset.issuer!a} stands in a trust store and elsewhere too",
                        hint="leave its pins or keyset file away: the trust store speaks for it",
                    )
            kept |= {keyset.issuer for keyset in mine}
            found += mine
        sources = (*files, *found)
        trust = cls(sources, _gather(sources), feed)
        now = trust._generations()
        for issuer, generation in generations.items():
            if now.get(issuer, 0) < generation:
                raise MaterialError(
                    Reason.KEYSET_ROLLBACK,
                    f"the trust store had {issuer!a} at generation {generation}, and has not now",
                )
        return trust

    def _generations(self) -> dict[str, int]:
        """Issuer → generation, of the keysets."""
        return {s.issuer: s.generation for s in self.sources if not isinstance(s, Pins)}

    def latest(self) -> Trust:
        """This trust, or what has become of it where a trust store has changed since.

        Costs one look at the store's file; raises as :meth:`of` does when it cannot be read.
        """
        return self if self._feed is None else self._feed.latest()

    def after_miss(self) -> Trust:
        """The trust to look an unknown key up in once more: read anew, but not too often."""
        return self if self._feed is None else self._feed.after_miss()

    def find(self, key_version: str, issuer: str | None = None) -> KeyEntry | Reason:
        """The one entry of that version, or why there is none that may verify.

        Without ``issuer`` a version that two issuers hold is ``ambiguous_key``. An entry whose
        key is unusable answers with its flaw; any other version is ``unknown_key``.
        """
        holders = self._by_version.get(key_version)
        if holders is None:
            return Reason.UNKNOWN_KEY
        if issuer is None:
            if len(holders) > 1:
                return Reason.AMBIGUOUS_KEY
            (entry,) = holders.values()
        else:
            found = holders.get(issuer)
            if found is None:
                return Reason.UNKNOWN_KEY
            entry = found
        return entry if entry.flaw is None else entry.flaw

    def entries(self) -> tuple[KeyEntry, ...]:
        """Every entry, also the unusable ones, in the order of the files."""
        return tuple(entry for held in self._by_version.values() for entry in held.values())

    def __repr__(self) -> str:
        return f"Trust({len(self.entries())} keys of {len(self.sources)} sources)"


def _gather(sources: tuple[TrustFile, ...]) -> dict[tuple[str, str], KeyEntry]:
    """Every entry by issuer and version, two of one name made one or refused."""
    entries: dict[tuple[str, str], KeyEntry] = {}
    keysets = [source for source in sources if not isinstance(source, Pins)]
    for keyset in sorted(keysets, key=lambda source: source.generation):
        for entry in keyset.entries:
            name = (entry.issuer, entry.key_version)
            if name in entries:
                _refuse_conflict(entries[name], entry)
            entries[name] = entry
    for source in sources:
        for entry in source.entries if isinstance(source, Pins) else ():
            name = (entry.issuer, entry.key_version)
            entries[name] = _narrowest(entries[name], entry) if name in entries else entry
    return entries


def _refuse_conflict(one: KeyEntry, other: KeyEntry) -> None:
    """Raises ``trust_conflict`` when two entries of one name are not the same key."""
    principals = {one.principal, other.principal} - {None}
    if one.key == other.key and one.flaw == other.flaw and len(principals) <= 1:
        return
    what = "principals" if one.key == other.key else "keys"
    raise MaterialError(
        Reason.TRUST_CONFLICT,
        f"issuer {one.issuer!a}, key version {one.key_version!a}: two different {what} are trusted",
    )


def _narrowest(one: KeyEntry, other: KeyEntry) -> KeyEntry:
    """The entry that allows what both allow."""
    _refuse_conflict(one, other)
    revocations = [at for at in (one.revoked_at, other.revoked_at) if at is not None]
    return replace(
        one,
        not_before=max(one.not_before, other.not_before),
        sign_from=max(one.sign_from, other.sign_from),
        sign_until=min(one.sign_until, other.sign_until),
        accept_until=min(one.accept_until, other.accept_until),
        revoked_at=min(revocations, default=None),
        profiles=one.profiles & other.profiles,
        principal=one.principal or other.principal,
        bind=both_binds(one.bind, other.bind),
        keyset=one.keyset or other.keyset,
    )


def both_binds(one: Bind, other: Bind) -> Bind:
    """The values that both binds allow; a pointer that one of them names is bound."""
    both = dict(one)
    for pointer, values in other.items():
        # By type too: true is no 1.
        known = {(type(value), value) for value in both.get(pointer, values)}
        both[pointer] = tuple(value for value in values if (type(value), value) in known)
    return freeze_bind(both)

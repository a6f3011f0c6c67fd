"""The trust store: which keyset of each issuer counts, and every one that ever did.

A folder ``{store.json, lock, keysets/<digest>.json}``. A change is made under the lock: the files
of the keysets first, then ``store.json``, which is what counts. Beside it, outside the folder, a
mark may keep the highest generations: a backup that brings the folder back does not bring the
mark back, so that the store notices and asks for the updates that it has lost.

Source: SPEC section 4.9.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from taskseal import storage
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.keyset import MAX_KEYSET
from taskseal.keys.pin import Pin
from taskseal.keys.succession import Known, Line, Offer, Rules, begin, read_offer
from taskseal.keys.trust_mark import Mark
from taskseal.keys.trust_state import MAX_REASON, STATE_LIMIT, Chronicle, How, Step, StoreState
from taskseal.storage import REAL_DISK, Disk
from taskseal.validity import Instant


class Change(NamedTuple):
    """What became of one keyset that was offered. ``taken`` is false where nothing changed."""

    issuer: str
    generation: int
    taken: bool
    notes: tuple[str, ...] = ()


class TrustStore:
    """A folder of signed keysets that a receiver follows; open it with :meth:`open`.

    Args:
        path: the folder.
        rules: what is asked of keysets beyond the standard.
        mark: a folder outside, where the highest generations are remembered; None for none.
        min_generation: issuer → the generation below which nothing counts, for machines that
            forget their disks.
        disk: the calls to make.
    """

    lock_wait = storage.LOCK_WAIT
    """Seconds that a change waits for another process's."""

    def __init__(
        self,
        path: str | Path,
        *,
        rules: Rules = Rules(),  # noqa: B008 - an immutable value
        mark: str | Path | None = None,
        min_generation: Mapping[str, int] | None = None,
        disk: Disk = REAL_DISK,
    ) -> None:
        self.path = Path(path)
        self.rules = rules
        self._mark = None if mark is None else Path(mark)
        self._least = dict(min_generation or {})
        self._disk = disk

    def create(self) -> TrustStore:
        """Makes the folder and an empty store in it, where there is none.

        Raises:
            InputError: ``file_unwritable``.
            Unavailable: ``keyring_busy``.
        """
        for each in (self.path, self.path / "keysets"):
            storage.make_folder(each, disk=self._disk)
        with storage.lock(self.path, wait=self.lock_wait, disk=self._disk):
            if not (self.path / "store.json").is_file():
                state = StoreState(secrets.token_hex(16))
                storage.write_atomic(self._state_path, state.to_json(), disk=self._disk)
        return self

    def state(self) -> StoreState:
        """Who stands in the store now.

        Raises:
            InputError: ``file_missing`` when there is no store here, ``file_unreadable``.
            MaterialError: ``trust_malformed``.
        """
        path = self._state_path
        try:
            return StoreState.load(storage.read_file(path, STATE_LIMIT), str(path))
        except InputError as absent:
            if absent.code is not Reason.FILE_MISSING:
                raise
            raise InputError(
                Reason.FILE_MISSING,
                f"there is no trust store at {str(self.path)!a}",
                hint="make one with `taskseal trust add KEYSET --pin KEY_VERSION=PUBLIC_KEY`",
            ) from None

    def stamp(self) -> object:
        """What changes whenever the store does; cheap to ask for, None where there is none."""
        try:
            found = self._state_path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def sources(self) -> tuple[Known, ...]:
        """The keyset that counts of every issuer.

        Raises:
            InputError: as :meth:`state`.
            MaterialError: ``trust_missing`` when the store is empty; ``keyset_rollback`` when
                the store is older than what is known to have been there; ``trust_malformed``,
                ``trust_signature_bad``.
        """
        state = self.state()
        if not state.issuers:
            raise MaterialError(Reason.TRUST_MISSING, f"no issuer stands in {str(self.path)!a}")
        for issuer, chronicle in state.issuers.items():
            least = self._floor(state, issuer)
            if chronicle.highest < least:
                raise MaterialError(
                    Reason.KEYSET_ROLLBACK,
                    f"{issuer!a} stands at generation {chronicle.highest}, and {least} was known: "
                    "the store comes from a backup, or was put back",
                    hint="bring it up to date with `taskseal trust update KEYSET…`",
                )
        return tuple(self.offer(each.steps[-1]).known() for each in state.issuers.values())

    def offer(self, step: Step) -> Offer:
        """The keyset that came in by ``step``.

        Raises:
            MaterialError: ``trust_malformed`` when its file is gone or is another one.
        """
        path = self.path / "keysets" / f"{step.digest}.json"
        try:
            found = read_offer(storage.read_file(path, MAX_KEYSET + 1), str(path))
        except InputError as error:
            raise MaterialError(Reason.TRUST_MALFORMED, error.detail) from None
        if found.digest != step.digest or found.generation != step.generation:
            raise MaterialError(Reason.TRUST_MALFORMED, f"{path} is not the keyset of its name")
        return found

    def add(
        self, offer: Offer, pins: Sequence[Pin], now: Instant, *, issuer: str | None = None
    ) -> Change:
        """Takes the first keyset of an issuer, on the operator's pins.

        Args:
            offer: the keyset.
            pins: keys that the operator knows by another way; every one must have signed it.
            now: the instant, in nanoseconds since 1970.
            issuer: whose it must be.

        Raises:
            MaterialError: with the reason of the first rule that does not hold;
                ``trust_conflict`` when the issuer stands in the store already.
            InputError: ``file_unwritable``.
            Unavailable: ``keyring_busy``.
        """
        # Before anything is made: a keyset that is refused leaves no store behind.
        found = begin(offer, pins, now, self.rules, issuer=issuer)
        self.create()
        with storage.lock(self.path, wait=self.lock_wait, disk=self._disk):
            state = self.state()
            known = state.issuers.get(offer.issuer)
            if known is not None:
                if known.steps[-1].digest == offer.digest:
                    self._remember(state)
                    return Change(offer.issuer, offer.generation, False, found)
                raise MaterialError(
                    Reason.TRUST_CONFLICT,
                    f"{offer.issuer!a} stands in the store, at generation {known.highest}",
                    hint="use `taskseal trust update`; if its keys are lost, `trust replace`",
                )
            self._refuse_below(state, offer)
            chronicle = Chronicle(offer.kind, (_step(offer, "added", now, pins),))
            self._write(state.with_chronicle(offer.issuer, chronicle), [offer])
        return Change(offer.issuer, offer.generation, True, found)

    def update(self, offers: Sequence[Offer], now: Instant) -> tuple[Change, ...]:
        """Takes keysets that follow the known ones, all of them or none.

        Args:
            offers: keysets of any issuers that stand here, in any order. Those that are in the
                store already are passed over.
            now: the instant, in nanoseconds since 1970.

        Raises:
            MaterialError: with the reason of the first rule that does not hold;
                ``untrusted_update_signer`` for an issuer that does not stand here.
            InputError, Unavailable: as :meth:`add`.
        """
        if not offers:
            raise InputError(Reason.USAGE, "no keyset was given", hint="name the files")
        changes: list[Change] = []
        issuers = dict.fromkeys(offer.issuer for offer in offers)
        self.state()  # without a store there is nothing to lock
        with storage.lock(self.path, wait=self.lock_wait, disk=self._disk):
            state = before = self.state()
            taken: list[Offer] = []
            for issuer in issuers:
                mine = sorted(
                    (each for each in offers if each.issuer == issuer),
                    key=lambda each: each.generation,
                )
                state, fresh, told = self._follow(state, mine, now)
                taken += fresh
                changes += told
            if state is not before:
                self._write(state, taken)
            else:
                self._remember(state)
        return tuple(changes)

    def replace(
        self,
        offer: Offer,
        pins: Sequence[Pin],
        reason: str,
        now: Instant,
        *,
        issuer: str | None = None,
    ) -> Change:
        """Breaks the glass: takes a keyset that need not follow the known one, on new pins.

        It stays written in the store. The generation rises here too: nothing comes back.

        Args:
            offer: the keyset.
            pins: keys that the operator knows by another way; every one must have signed it.
            reason: why; kept in the store.
            now, issuer: as for :meth:`add`.

        Raises:
            MaterialError: as :meth:`add`; ``keyset_rollback`` when the generation does not rise,
                ``untrusted_update_signer`` for an issuer that does not stand here.
            InputError, Unavailable: as :meth:`add`.
        """
        if not 1 <= len(reason) <= MAX_REASON or not reason.isprintable() or not reason.strip():
            raise InputError(
                Reason.USAGE, "a replacement has a reason in printable words of one line"
            )
        self.state()
        with storage.lock(self.path, wait=self.lock_wait, disk=self._disk):
            state = self.state()
            known = _standing(state, offer)
            found = begin(offer, pins, now, self.rules, issuer=issuer)
            if known.steps[-1].digest == offer.digest:
                self._remember(state)
                return Change(offer.issuer, offer.generation, False, found)
            if offer.generation <= known.highest:
                raise _rollback(offer, known.highest)
            self._refuse_below(state, offer)
            step = _step(offer, "replaced", now, pins, reason)
            chronicle = Chronicle(offer.kind, (*known.steps, step))
            self._write(state.with_chronicle(offer.issuer, chronicle), [offer])
        return Change(offer.issuer, offer.generation, True, found)

    def _follow(
        self, state: StoreState, offers: Sequence[Offer], now: Instant
    ) -> tuple[StoreState, list[Offer], list[Change]]:
        """The state after the offers of one issuer, in rising order; nothing is written."""
        known = _standing(state, offers[-1])
        if offers[-1].generation < known.highest:
            raise _rollback(offers[-1], known.highest)
        kept = {step.generation: step.digest for step in known.steps}
        line = Line([self.offer(step) for step in known.line])
        fresh: list[Offer] = []
        changes: list[Change] = []
        for offer in offers:
            at = fresh[-1].generation if fresh else known.highest
            if offer.generation <= at:
                if kept.get(offer.generation, offer.digest) != offer.digest:
                    raise _rollback(offer, at)
                changes.append(Change(offer.issuer, offer.generation, False))
                continue
            found = line.follow(offer, now, self.rules, last=offer is offers[-1])
            kept[offer.generation] = offer.digest
            known = known.with_step(_step(offer, "updated", now))
            fresh.append(offer)
            changes.append(Change(offer.issuer, offer.generation, True, found))
        self._refuse_below(state, offers[-1])
        if fresh:
            state = state.with_chronicle(offers[-1].issuer, known)
        return state, fresh, changes

    @property
    def _state_path(self) -> Path:
        return self.path / "store.json"

    def _floor(self, state: StoreState, issuer: str) -> int:
        """The generation that the issuer was at, by the mark, or must be at, by the operator."""
        marked = {} if self._mark is None else Mark(self._mark, self._disk).read(state.id)
        return max(marked.get(issuer, 0), self._least.get(issuer, 0))

    def _refuse_below(self, state: StoreState, offer: Offer) -> None:
        least = self._floor(state, offer.issuer)
        if offer.generation < least:
            raise _rollback(offer, least)

    def _write(self, state: StoreState, offers: Sequence[Offer]) -> None:
        """Keysets, then the state that names them, then the mark, which must not run ahead."""
        if self._mark is not None:
            storage.make_folder(self._mark, disk=self._disk)
        for each in (self.path, self.path / "keysets"):
            storage.sweep(each, disk=self._disk)
        for offer in offers:
            # No state names this file yet, so one of its name is what a crash left.
            path = self.path / "keysets" / f"{offer.digest}.json"
            storage.write_atomic(path, offer.to_json(), overwrite=True, disk=self._disk)
        storage.write_atomic(self._state_path, state.to_json(), overwrite=True, disk=self._disk)
        self._remember(state)

    def _remember(self, state: StoreState) -> None:
        if self._mark is not None:
            highest = {issuer: each.highest for issuer, each in state.issuers.items()}
            Mark(self._mark, self._disk).raise_to(state.id, highest)


def _standing(state: StoreState, offer: Offer) -> Chronicle:
    known = state.issuers.get(offer.issuer)
    if known is None:
        raise MaterialError(
            Reason.UNTRUSTED_UPDATE_SIGNER,
            f"{offer.source}: the issuer {offer.issuer!a} does not stand in the store",
            hint="begin with `taskseal trust add KEYSET --pin KEY_VERSION=PUBLIC_KEY`",
        )
    return known


def _step(
    offer: Offer, how: How, now: Instant, pins: Sequence[Pin] = (), reason: str | None = None
) -> Step:
    told = tuple(str(pin) for pin in pins)
    return Step(offer.generation, offer.digest, how, now, told, reason)


def _rollback(offer: Offer, known: int) -> MaterialError:
    what = "another keyset" if offer.generation == known else "older"
    return MaterialError(
        Reason.KEYSET_ROLLBACK,
        f"{offer.source}: generation {offer.generation} of {offer.issuer!a} is {what}: "
        f"the store knows {known}",
        pointer="/generation",
    )

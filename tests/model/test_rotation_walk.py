"""Random walks: keys come, hand over and are revoked, keysets are published, receivers follow.

Sender, publisher and two receivers, one of which is put back to old backups, under a clock that
moves by minutes or months. After every step what SPEC section 4 promises is held against them.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from crash_worker import next_keyset
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support import SAMPLES, load

from taskseal.errors import MaterialError, Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.keyring import Keyring
from taskseal.keys.keyset import Keyset
from taskseal.keys.pin import Pin
from taskseal.keys.rotation import Wish
from taskseal.keys.succession import Offer, read_offer
from taskseal.keys.trust import Trust
from taskseal.keys.trust_store import TrustStore
from taskseal.signing import Signed, sign
from taskseal.validity import DAY, HOUR, MINUTE, SECOND, read_instant, write_instant
from taskseal.verify import Accepted, Refused, Verifier

AISA, KEYSET = "aisa.message/v1", "taskseal.keyset/v1"
START = read_instant("2026-09-01T08:35:00Z") or 0
PLAN = load(SAMPLES / "aisa/plan.json")


class Walk(RuleBasedStateMachine):
    """The world, and what must hold of it."""

    @initialize()
    def begin(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="walk-"))
        self.now = START
        self.ring = Keyring.create(self.place / "ring", "desk")
        for version, profile in (("root/1", KEYSET), ("m/1", AISA)):
            self.ring.new(
                version,
                [profile],
                not_before=START,
                sign_until=START + 3000 * DAY,
                allow_plain=True,
            )
        self.keyset: Keyset | None = None
        self.published: list[Offer] = []
        self.told: dict[str, str] = {}
        self.revoked: dict[str, int] = {}
        self.highest = {"live": 0, "restored": 0}
        self.sent: list[tuple[int, Signed]] = []
        self.others = 0
        self.publish()
        root = self.ring.show("root/1").key
        assert root is not None
        for name in self.highest:
            self.store(name).add(self.published[0], [Pin("root/1", root.thumbprint)], self.now)
            self.highest[name] = 1
        self.backups = [self.place / "backup-0"]
        shutil.copytree(self.place / "restored", self.backups[0])

    def store(self, name: str) -> TrustStore:
        return TrustStore(self.place / name, mark=self.place / f"{name}-mark")

    def teardown(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    # What may happen

    @rule(step=st.sampled_from([SECOND, MINUTE, HOUR, 12 * HOUR, 2 * DAY, 9 * DAY]))
    def wait(self, step: int) -> None:
        self.now += step

    @rule(
        lead=st.sampled_from([None, 0, HOUR, 48 * HOUR]),
        overlap=st.sampled_from([None, HOUR, 72 * HOUR]),
    )
    def rotate(self, lead: int | None, overlap: int | None) -> None:
        def turn() -> bool:
            wish = Wish(lead, overlap)
            return bool(self.ring.rotate("m", at=self.now, wish=wish, allow_plain=True).changed)

        if turn():
            assert not turn(), "the second run at the same instant changes nothing"

    @rule(ago=st.sampled_from([0, HOUR, -DAY]), which=st.integers(0, 100))
    def revoke(self, ago: int, which: int) -> None:
        mine = [e.key_version for e in self.ring.entries() if e.key_version != "root/1"]
        version = mine[which % len(mine)]
        entry = self.ring.revoke(version, at=self.now - ago)
        assert entry.revoked_at is not None
        assert entry.revoked_at <= self.revoked.get(version, entry.revoked_at)
        self.revoked[version] = entry.revoked_at

    @rule()
    def new(self) -> None:
        self.others += 1
        name = f"other{self.others}/1"
        self.ring.new(name, ["orbiplex.turn-request/v1"], not_before=self.now, allow_plain=True)

    @rule()
    def publish(self) -> None:
        signed = next_keyset(self.ring, self.keyset, self.now)
        self.keyset = signed.keyset
        self.published.append(read_offer(signed.to_json(), f"gen-{signed.generation}"))

    @rule(name=st.sampled_from(["live", "restored"]))
    def update(self, name: str) -> None:
        window = self.published[-1].known().entries[0].keyset
        assert window is not None
        try:
            self.store(name).update(self.published, self.now)
        except MaterialError as fault:
            # Nothing but time may stand between a receiver and an honest sequence.
            assert fault.code in (Reason.EXPIRED, Reason.KEYSET_EXPIRED), fault
            assert self.now >= window.expires
        else:
            self.highest[name] = self.published[-1].generation

    @rule(which=st.integers(0, 100))
    def offer_an_old_one(self, which: int) -> None:
        offer = self.published[which % len(self.published)]
        try:
            (change,) = self.store("live").update([offer], self.now)
        except MaterialError as fault:
            assert fault.code in (Reason.KEYSET_ROLLBACK, Reason.EXPIRED, Reason.KEYSET_EXPIRED)
        else:
            assert offer.generation >= self.highest["live"]
            self.highest["live"] = max(self.highest["live"], change.generation)

    @rule()
    def back_up(self) -> None:
        self.backups.append(self.place / f"backup-{len(self.backups)}")
        shutil.copytree(self.place / "restored", self.backups[-1])

    @rule(which=st.integers(0, 100))
    def restore_a_backup(self, which: int) -> None:
        shutil.rmtree(self.place / "restored")
        shutil.copytree(self.backups[which % len(self.backups)], self.place / "restored")

    @rule()
    def send(self) -> None:
        plan = PLAN | {"occurred_on": write_instant(self.now)}
        try:
            self.sent.append((self.now, sign(plan, self.ring, at=self.now)))
        except MaterialError as fault:
            assert fault.code is Reason.NO_SIGNING_KEY
            signing = [e for e in self.mine() if e.may_sign(self.now) is None]
            assert signing == []

    @precondition(lambda self: self.sent)
    @rule(which=st.integers(0, 100))
    def deliver(self, which: int) -> None:
        at, message = self.sent[-1 - which % min(len(self.sent), 5)]
        store = self.store("live")
        listed = {entry.key_version: entry for entry in store.sources()[0].entries}
        found = Verifier(Trust.of(store)).check(message.blob, at=self.now)
        entry = listed.get(message.signer.key_version)
        stands = (
            entry is not None
            and entry.state(self.now, at // SECOND * SECOND) is None
            and entry.keyset_fault(self.now) is None
            and self.now < message.expires
        )
        assert isinstance(found, Accepted if stands else Refused), (found, entry)
        if self.highest["live"] < self.published[-1].generation or entry is None:
            return
        # The receiver is up to date: only expiry, revocation or a lapsed keyset may cost it.
        own = self.ring.show(message.signer.key_version)
        if own.revoked_at is None and entry == self.as_published(own) and not stands:
            assert self.now >= min(message.expires, entry.accept_until) or (
                entry.keyset_fault(self.now) is not None
            )

    def as_published(self, own: KeyEntry) -> KeyEntry:
        """A key of the ring as the last keyset lists it, if nothing was changed since."""
        signed = self.published[-1].known()
        window = signed.entries[0].keyset
        return replace(own, keyset=window, generation=signed.generation)

    def mine(self) -> list[KeyEntry]:
        return [entry for entry in self.ring.entries() if AISA in entry.profiles]

    # What must hold

    @invariant()
    def every_private_half_is_there_and_no_version_is_another_key(self) -> None:
        for entry in Keyring.open(self.place / "ring").entries():
            assert entry.key is not None
            self.ring.holder(entry.key_version)
            known = self.told.setdefault(entry.key_version, entry.key.thumbprint)
            assert known == entry.key.thumbprint
            assert entry.not_before <= entry.sign_from <= entry.sign_until <= entry.accept_until

    @invariant()
    def one_key_signs_at_most_and_none_only_by_a_revocation(self) -> None:
        for at in (self.now, self.now + HOUR, self.now + 3 * DAY):
            able = [entry for entry in self.mine() if entry.may_sign(at) is None]
            assert len(able) <= 1, [entry.key_version for entry in able]
            if not able:
                assert self.revoked, "a rotation left a gap"

    @invariant()
    def a_revocation_stands(self) -> None:
        found = {e.key_version: e.revoked_at for e in self.ring.entries() if e.revoked_at}
        assert found == self.revoked

    @invariant()
    def no_generation_goes_back(self) -> None:
        (source,) = self.store("live").sources()
        assert source.generation == self.highest["live"]
        try:
            (source,) = self.store("restored").sources()
        except MaterialError as fault:
            assert fault.code is Reason.KEYSET_ROLLBACK
        else:
            assert source.generation == self.highest["restored"]


def test_a_random_walk_breaks_no_promise() -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Walk,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

"""The ledger contract: reserve, start, commit and release, and what is in doubt."""

from __future__ import annotations

from taskseal.ledger import (
    Busy,
    Committed,
    Conflict,
    Decision,
    Duplicate,
    FenceStale,
    InDoubt,
    Ledger,
    Lost,
    NotInDoubt,
    Released,
    Reserved,
    Started,
    Won,
)
from taskseal.ledger.base import Claim
from taskseal.testing.ledger_messages import (
    LEASE,
    NOW,
    LedgerFactory,
    fingerprint_of,
    message,
    replay_ids,
)
from taskseal.validity import DAY

END = NOW + LEASE
"""When a lease given at ``NOW`` has just ended."""


def reserve(ledger: Ledger, claim: Claim, now: int = NOW) -> str:
    """The token of a reservation that must succeed."""
    reserved = ledger.reserve(claim, now, LEASE)
    assert isinstance(reserved, Reserved), reserved
    assert reserved.until == now + LEASE
    return reserved.token


def start(ledger: Ledger, token: str, now: int = NOW) -> int:
    """The fence of a start that must succeed."""
    started = ledger.start(token, now)
    assert isinstance(started, Started), started
    return started.fence


class PhaseRules:
    """What ``reserve``, ``start``, ``commit``, ``release``, ``abandon``, ``resolve`` do."""

    def test_a_committed_message_is_a_duplicate_with_its_acceptance(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a"))
            fence = start(ledger, token)
            assert ledger.commit(token, fence, b"\x00accepted\xff", NOW) == Committed()
            again = Duplicate(b"\x00accepted\xff")
            assert ledger.claim(message("a"), NOW) == again
            assert ledger.reserve(message("a"), NOW, LEASE) == again
            assert ledger.lookup(replay_ids("a"), fingerprint_of("a"), NOW + DAY) == again
            # Whoever is not sure that the commit went through may say it again, but not anew.
            assert ledger.commit(token, fence, b"\x00accepted\xff", NOW) == Committed()
            assert ledger.commit(token, fence, b"other", NOW) == Lost("decided")
            assert ledger.release(token, NOW) == Lost("decided")
            assert ledger.abandon(token, NOW) == Lost("decided")
            assert ledger.start(token, NOW) == Lost("decided")

    def test_a_reserved_message_is_busy_until_its_lease_ends(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            reserve(ledger, message("a"))
            for now in (NOW, END - 1):
                assert ledger.claim(message("a"), now) == Busy(END, started=False)
                assert ledger.reserve(message("a"), now, LEASE) == Busy(END, started=False)
                known = ledger.lookup(replay_ids("a"), fingerprint_of("a"), now)
                assert known == Busy(END, started=False)
            (taken,) = replay_ids("a")
            assert ledger.claim(message("a", content="other"), NOW) == Conflict(taken)

    def test_a_lease_that_ends_before_the_start_frees_all_ids(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a", ids=("m", "n")))
            assert ledger.lookup(replay_ids("m"), fingerprint_of("a"), END) is None
            assert ledger.start(token, END) == Lost("lapsed")
            assert isinstance(ledger.claim(message("b", ids=("m", "o")), END), Won)
            assert isinstance(ledger.claim(message("c", ids=("p", "n")), END), Won)
            assert ledger.start(token, NOW) == Lost("unknown")

    def test_a_lapsed_message_can_be_won_by_whoever_offers_it_again(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            slow = reserve(ledger, message("a"))
            quick = reserve(ledger, message("a"), END)
            # The paused worker comes back, and is not let near the message.
            assert ledger.start(slow, END) == Lost("unknown")
            assert ledger.commit(slow, 1, None, END) == Lost("unknown")
            assert ledger.release(slow, END) == Lost("unknown")
            fence = start(ledger, quick, END)
            assert ledger.commit(quick, fence, None, END) == Committed()

    def test_a_started_message_is_busy_and_then_in_doubt_and_never_run_again(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a"))
            fence = start(ledger, token)
            assert ledger.claim(message("a"), END - 1) == Busy(END, started=True)
            for now in (END, END + DAY, END + 400 * DAY):
                assert ledger.lookup(replay_ids("a"), fingerprint_of("a"), now) == InDoubt(
                    fence, END
                )
                assert ledger.reserve(message("a"), now, LEASE) == InDoubt(fence, END)
                assert ledger.claim(message("a"), now) == InDoubt(fence, END)
                assert ledger.purge(now) == 0
            (taken,) = replay_ids("a")
            assert ledger.claim(message("a", content="other"), END) == Conflict(taken)

    def test_a_token_starts_once(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a"))
            assert ledger.commit(token, 0, None, NOW) == Lost("not_started")
            start(ledger, token)
            assert ledger.start(token, NOW) == Lost("started")
            assert ledger.start(token, END) == Lost("started")
            assert ledger.start("no such token", NOW) == Lost("unknown")

    def test_fences_rise_in_the_order_of_the_starts(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            early, late = reserve(ledger, message("a")), reserve(ledger, message("b"))
            first = start(ledger, late)
            second = start(ledger, early)
            assert second > first > 0
            third = ledger.claim(message("c"), NOW)
            assert isinstance(third, Won)
            assert third.fence is not None
            assert third.fence > second

    def test_a_stale_fence_commits_nothing(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a"))
            fence = start(ledger, token)
            assert ledger.commit(token, fence - 1, b"no", NOW) == Lost("stale")
            assert ledger.commit(token, fence + 1, b"no", NOW) == Lost("stale")
            assert ledger.claim(message("a"), NOW) == Busy(END, started=True)

    def test_the_worker_that_comes_back_late_may_still_say_that_it_is_done(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a"))
            fence = start(ledger, token)
            assert ledger.commit(token, fence, b"late", END + DAY) == Committed()
            assert ledger.claim(message("a"), END + DAY) == Duplicate(b"late")

    def test_what_is_in_doubt_runs_again_only_once_it_is_decided_so(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a", ids=("m", "n")))
            fence = start(ledger, token)
            (first,) = replay_ids("m")
            assert ledger.resolve((first,), Decision.RELEASED, END - 1) == NotInDoubt()
            assert ledger.resolve((first,), Decision.RELEASED, END) == Released()
            assert ledger.resolve((first,), Decision.RELEASED, END) == NotInDoubt()
            again = reserve(ledger, message("a", ids=("m", "n")), END)
            # The first worker was only paused: it has lost its say.
            assert ledger.commit(token, fence, b"first", END) == Lost("unknown")
            second = start(ledger, again, END)
            assert second > fence
            assert ledger.commit(token, second, b"first", END) == Lost("unknown")
            assert ledger.commit(again, second, b"second", END) == Committed()

    def test_what_is_in_doubt_is_a_duplicate_once_it_is_decided_to_be_done(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a"))
            fence = start(ledger, token)
            assert ledger.resolve(replay_ids("a"), Decision.COMMITTED, END) == Committed()
            assert ledger.claim(message("a"), END) == Duplicate(None)
            assert ledger.commit(token, fence, b"late", END) == Lost("decided")
            assert ledger.resolve(replay_ids("a"), Decision.RELEASED, END) == NotInDoubt()

    def test_only_ids_of_one_message_in_doubt_are_resolved(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            for n in "12":
                start(ledger, reserve(ledger, message(n, ids=(f"m{n}", f"n{n}"))))
            mixed, strange = replay_ids("m1", "n2"), replay_ids("m1", "n3")
            for ids in (mixed, strange, replay_ids("m3"), ()):
                assert ledger.resolve(ids, Decision.RELEASED, END) == NotInDoubt()
            assert ledger.resolve(replay_ids("m1", "n1"), Decision.RELEASED, END) == Released()

    def test_a_released_message_can_be_won_again(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            token = reserve(ledger, message("a"))
            assert ledger.release(token, NOW) == Released()
            assert ledger.release(token, NOW) == Lost("unknown")
            token = reserve(ledger, message("a"))
            start(ledger, token)
            assert ledger.release(token, NOW) == Released()
            assert isinstance(ledger.claim(message("a"), NOW), Won)

    def test_an_abandoned_reservation_is_free_and_an_abandoned_start_in_doubt(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            assert ledger.abandon(reserve(ledger, message("a")), NOW) == Released()
            token = reserve(ledger, message("a"))
            fence = start(ledger, token)
            assert ledger.abandon(token, NOW + 1) == InDoubt(fence, NOW + 1)
            assert ledger.claim(message("a"), NOW + 1) == InDoubt(fence, NOW + 1)
            assert ledger.abandon(token, NOW + 2) == InDoubt(fence, NOW + 1)
            assert ledger.abandon("no such token", NOW) == Lost("unknown")

    def test_a_reservation_leaves_its_counter_alone_until_it_starts(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            cancel = message("a", advance=("s", 3))
            lapsed = reserve(ledger, cancel)
            assert ledger.counter("s") is None
            token = reserve(ledger, cancel, END)
            assert ledger.start(lapsed, END) == Lost("unknown")
            start(ledger, token, END)
            assert ledger.counter("s") == 3

    def test_a_start_whose_counter_was_overtaken_is_stale_and_frees_the_message(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.advance("s", 1)
            assert ledger.reserve(message("x", advance=("s", 1)), NOW, LEASE) == FenceStale(1)
            token = reserve(ledger, message("a", advance=("s", 3)))
            assert ledger.advance("s", 3)
            assert ledger.start(token, NOW) == FenceStale(3)
            assert ledger.start(token, NOW) == Lost("unknown")
            assert isinstance(ledger.claim(message("a", advance=("s", 4)), NOW), Won)

    def test_a_released_message_may_take_its_own_counter_again_and_no_other_message_may(
        self, ledger_factory: LedgerFactory
    ) -> None:
        cancel, other = message("a", advance=("s", 3)), message("b", advance=("s", 3))
        with ledger_factory() as ledger:
            token = reserve(ledger, cancel)
            start(ledger, token)
            ledger.release(token, NOW)
            assert ledger.counter("s") == 3
            assert ledger.claim(other, NOW) == FenceStale(3)
            assert not ledger.advance("s", 3)
            assert isinstance(ledger.claim(cancel, NOW), Won)
            assert ledger.claim(other, NOW) == FenceStale(3)

    def test_two_phases_of_a_message_without_ids_leave_no_record(
        self, ledger_factory: LedgerFactory
    ) -> None:
        cancel = message("a", ids=(), advance=("s", 3))
        with ledger_factory(max_records=2) as ledger:
            first, second = reserve(ledger, cancel), reserve(ledger, cancel)
            fence = start(ledger, first)
            assert ledger.start(second, NOW) == FenceStale(3)
            assert ledger.commit(first, fence, None, NOW) == Committed()
            assert ledger.commit(first, fence, None, NOW) == Lost("unknown")
            for name in "bc":
                assert isinstance(ledger.claim(message(name), NOW), Won)

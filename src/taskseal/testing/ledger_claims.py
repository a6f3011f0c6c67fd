"""The ledger contract: claims in one step, their ids and their counters."""

from __future__ import annotations

from collections.abc import Callable

from taskseal.errors import Reason, Unavailable
from taskseal.ledger import (
    Conflict,
    Decision,
    Duplicate,
    FenceStale,
    NotInDoubt,
    Reserved,
    Started,
    Won,
)
from taskseal.testing.ledger_messages import (
    LEASE,
    NOW,
    LedgerFactory,
    fingerprint_of,
    message,
    replay_ids,
)
from taskseal.validity import DAY, HOUR


class ClaimRules:
    """What :meth:`Ledger.claim`, ``claim_many``, ``lookup``, ``advance`` and ``counter`` do."""

    def test_a_message_is_won_once_and_is_a_duplicate_ever_after(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            assert isinstance(ledger.claim(message("a"), NOW), Won)
            assert ledger.claim(message("a"), NOW) == Duplicate(None)
            assert ledger.claim(message("a"), NOW + 1) == Duplicate(None)

    def test_a_claim_keeps_the_acceptance_that_it_was_won_with(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            first = message("a", acceptance=b"first\0")
            assert isinstance(ledger.claim(first, NOW), Won)
            again = message("a", acceptance=b"second")
            assert ledger.claim(again, NOW) == Duplicate(b"first\0")
            assert ledger.claim_many([again], NOW) == [Duplicate(b"first\0")]
            assert ledger.lookup(replay_ids("a"), fingerprint_of("a"), NOW) == Duplicate(b"first\0")
            # A claim that is not won keeps nothing; an empty acceptance is one all the same.
            other = message("a", content="other", acceptance=b"other")
            assert isinstance(ledger.claim(other, NOW), Conflict)
            assert isinstance(ledger.claim(message("b", acceptance=b""), NOW), Won)
            assert ledger.claim(message("b"), NOW) == Duplicate(b"")

    def test_a_reservation_keeps_no_acceptance_of_its_claim(
        self, ledger_factory: LedgerFactory
    ) -> None:
        promised = message("a", acceptance=b"too early")
        with ledger_factory() as ledger:
            reserved = ledger.reserve(promised, NOW, LEASE)
            assert isinstance(reserved, Reserved)
            started = ledger.start(reserved.token, NOW)
            assert isinstance(started, Started)
            ledger.commit(reserved.token, started.fence, None, NOW)
            assert ledger.claim(promised, NOW) == Duplicate(None)

    def test_a_duplicate_is_known_also_after_its_expiry(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a"), NOW)
            late = NOW + 2 * HOUR
            assert ledger.lookup(replay_ids("a"), fingerprint_of("a"), late) == Duplicate(None)
            assert ledger.claim(message("a"), late) == Duplicate(None)

    def test_an_acceptance_given_with_the_claim_is_handed_to_every_duplicate(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a", acceptance=b"first"), NOW)
            assert ledger.claim(message("a", acceptance=b"second"), NOW) == Duplicate(b"first")
            known = ledger.lookup(replay_ids("a"), fingerprint_of("a"), NOW)
            assert known == Duplicate(b"first")

    def test_fences_rise_from_one_win_to_the_next(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            won = [ledger.claim(message(name), NOW) for name in "abc"]
            fences = [outcome.fence for outcome in won if isinstance(outcome, Won)]
            assert all(fence is not None for fence in fences)
            assert len(fences) == 3
            assert fences == sorted(set(fences), key=lambda fence: fence or 0)

    def test_a_lookup_knows_nothing_of_what_was_never_offered_and_changes_nothing(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            for _ in range(2):
                assert ledger.lookup(replay_ids("a"), fingerprint_of("a"), NOW) is None
            assert isinstance(ledger.claim(message("a"), NOW), Won)
            assert ledger.lookup((), fingerprint_of("a"), NOW) is None

    def test_another_message_under_a_taken_id_is_a_conflict_that_names_the_id(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a", content="first"), NOW)
            (taken,) = replay_ids("a")
            assert ledger.claim(message("a", content="second"), NOW) == Conflict(taken)
            assert ledger.lookup(replay_ids("a"), fingerprint_of("second"), NOW) is None
            assert ledger.claim(message("a", content="first"), NOW) == Duplicate(None)

    def test_two_ids_are_taken_both_or_none(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            assert isinstance(ledger.claim(message("a", ids=("m1", "n1")), NOW), Won)
            first, second = replay_ids("m1", "n1")
            # One id free, the other taken, in both orders: the free one stays free.
            assert ledger.claim(message("b", ids=("m2", "n1")), NOW) == Conflict(second)
            assert ledger.claim(message("c", ids=("m1", "n2")), NOW) == Conflict(first)
            assert isinstance(ledger.claim(message("d", ids=("m2", "n2")), NOW), Won)

    def test_either_id_alone_is_enough_to_know_a_message(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a", ids=("m1", "n1")), NOW)
            for replay_id in replay_ids("m1", "n1"):
                known = ledger.lookup((replay_id,), fingerprint_of("a"), NOW)
                assert known == Duplicate(None)

    def test_ids_are_told_apart_by_every_character_of_scope_and_value(
        self, ledger_factory: LedgerFactory
    ) -> None:
        names = ["a", "A", "a ", " a", "a\0", "a\0b", "á", "a\u0301", "\U0001f511", "", "0", "00"]
        with ledger_factory() as ledger:
            for name in names:
                assert isinstance(ledger.claim(message(name), NOW), Won), ascii(name)
            for name in names:
                assert ledger.claim(message(name), NOW) == Duplicate(None), ascii(name)

    def test_a_message_without_ids_is_never_remembered(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory(max_records=1) as ledger:
            for _ in range(3):
                assert ledger.claim(message("a", ids=()), NOW) == Won(None)
            assert isinstance(ledger.claim(message("b"), NOW), Won)
            assert ledger.resolve((), Decision.COMMITTED, NOW) == NotInDoubt()

    def test_a_batch_answers_as_single_claims_would_in_its_order(
        self, ledger_factory: LedgerFactory
    ) -> None:
        batch = [
            message("a"),
            message("b", ids=("b", "n")),
            message("a"),
            message("a", content="other"),
            message("c", ids=("c", "n")),
            message("d", advance=("s", 4)),
            message("e", advance=("s", 4)),
        ]
        with ledger_factory() as ledger:
            won_a, won_b, *rest, won_d, stale = ledger.claim_many(batch, NOW)
            assert all(isinstance(outcome, Won) for outcome in (won_a, won_b, won_d))
            first, nonce = replay_ids("a", "n")
            assert rest == [Duplicate(None), Conflict(first), Conflict(nonce)]
            assert stale == FenceStale(4)
            assert ledger.claim_many([], NOW) == []
            assert ledger.claim_many(batch[:1], NOW) == [Duplicate(None)]

    def test_a_counter_rises_strictly(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            assert ledger.counter("s") is None
            assert ledger.advance("s", 0)
            assert not ledger.advance("s", 0)
            assert ledger.advance("s", 2**53)
            assert not ledger.advance("s", 7)
            assert ledger.counter("s") == 2**53
            assert ledger.counter("t") is None

    def test_a_claim_takes_its_counter_and_its_ids_together_or_neither(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            assert isinstance(ledger.claim(message("a", advance=("s", 5)), NOW), Won)
            assert ledger.counter("s") == 5
            assert ledger.claim(message("b", advance=("s", 5)), NOW) == FenceStale(5)
            # The refused message left no id behind; the duplicate moves no counter.
            assert isinstance(ledger.claim(message("b", advance=("s", 6)), NOW), Won)
            assert ledger.claim(message("a", advance=("s", 9)), NOW) == Duplicate(None)
            assert ledger.counter("s") == 6

    def test_a_message_without_ids_is_held_back_by_its_counter_alone(
        self, ledger_factory: LedgerFactory
    ) -> None:
        cancel = message("a", ids=(), advance=("s", 1))
        with ledger_factory() as ledger:
            assert ledger.claim(cancel, NOW) == Won(None)
            assert ledger.claim(cancel, NOW) == FenceStale(1)

    def test_a_message_signed_again_is_the_same_message_however_long_its_copy_lives(
        self, ledger_factory: LedgerFactory
    ) -> None:
        copy = message("a", expires_at=NOW + 5 * HOUR)
        with ledger_factory() as ledger:
            ledger.claim(message("a", expires_at=NOW + HOUR), NOW)
            assert ledger.claim(copy, NOW + 1) == Duplicate(None)
            # What is known of it now outlives the first copy, by whatever clock.
            assert ledger.purge(NOW + 2 * HOUR) == 0
            assert ledger.claim(copy, NOW + 2 * HOUR) == Duplicate(None)
            assert ledger.purge(NOW + DAY) == 1
            assert ledger.horizon(copy.profile) == copy.expires_at

    def test_a_closed_ledger_is_unavailable_and_may_be_closed_again(
        self, ledger_factory: LedgerFactory
    ) -> None:
        ledger = ledger_factory()
        reserved = ledger.reserve(message("a"), NOW, LEASE)
        assert isinstance(reserved, Reserved)
        started = ledger.start(reserved.token, NOW)
        assert isinstance(started, Started)
        ledger.close()
        ledger.close()
        calls: list[Callable[[], object]] = [
            lambda: ledger.lookup(replay_ids("a"), fingerprint_of("a"), NOW),
            lambda: ledger.claim(message("b"), NOW),
            lambda: ledger.claim_many([message("b")], NOW),
            lambda: ledger.reserve(message("b"), NOW, LEASE),
            lambda: ledger.start(reserved.token, NOW),
            lambda: ledger.commit(reserved.token, started.fence, None, NOW),
            lambda: ledger.release(reserved.token, NOW),
            lambda: ledger.abandon(reserved.token, NOW),
            lambda: ledger.resolve(replay_ids("a"), Decision.RELEASED, NOW),
            lambda: ledger.advance("s", 1),
            lambda: ledger.counter("s"),
            lambda: ledger.purge(NOW),
            lambda: ledger.horizon("p"),
        ]
        for number, call in enumerate(calls):
            try:
                answer = call()
            except Unavailable as fault:
                assert fault.code is Reason.LEDGER_UNAVAILABLE
                assert fault.retryable
            else:
                raise AssertionError(f"call {number} of a closed ledger answered {answer!r}")

"""The ledger contract: what is kept and forgotten, the horizon, wild clocks and full stores."""

from __future__ import annotations

from taskseal.errors import Reason, Unavailable
from taskseal.ledger import (
    BeforeHorizon,
    Busy,
    Committed,
    Decision,
    Duplicate,
    Full,
    InDoubt,
    Ledger,
    Released,
    Reserved,
    Started,
    Won,
)
from taskseal.ledger.base import Claim
from taskseal.testing.ledger_messages import (
    LEASE,
    NOW,
    PROFILE,
    LedgerFactory,
    message,
    replay_ids,
)
from taskseal.validity import DAY, HOUR, MINUTE

YEAR = 365 * DAY


def finds_no_room(ledger: Ledger, claim: Claim, now: int = NOW) -> bool:
    """Whether the ledger is unavailable for want of room, by claim and by reservation alike."""
    found = []
    for attempt in (lambda: ledger.claim(claim, now), lambda: ledger.reserve(claim, now, LEASE)):
        try:
            attempt()
        except Unavailable as fault:
            found.append(fault.code is Reason.LEDGER_UNAVAILABLE)
    return found == [True, True] and ledger.claim_many([claim], now) == [Full()]


class RetentionRules:
    """What ``purge`` and ``horizon`` do, and what clock and flood cannot do."""

    def test_nothing_is_forgotten_before_it_need_not_be_kept(
        self, ledger_factory: LedgerFactory
    ) -> None:
        kept = message("a", keep_for=MINUTE)
        with ledger_factory() as ledger:
            ledger.claim(kept, NOW)
            assert ledger.purge(kept.expires_at) == 0
            assert ledger.purge(kept.keep_until - 1) == 0
            assert ledger.claim(kept, kept.keep_until - 1) == Duplicate(None)
            assert ledger.purge(kept.keep_until) == 1
            assert ledger.purge(kept.keep_until) == 0

    def test_what_was_forgotten_lies_before_the_horizon_and_is_not_won_again(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a"), NOW)
            assert ledger.horizon(PROFILE) is None
            ledger.purge(NOW + DAY)
            for now in (NOW, NOW + DAY):
                assert ledger.claim(message("a"), now) == BeforeHorizon(NOW + HOUR)
                assert ledger.reserve(message("a"), now, LEASE) == BeforeHorizon(NOW + HOUR)

    def test_the_horizon_is_the_latest_expiry_forgotten_not_how_long_it_was_kept(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            long = message("a", expires_at=NOW + HOUR, keep_for=30 * DAY)
            ledger.claim_many([message("b", expires_at=NOW + 2 * HOUR), long], NOW)
            assert ledger.purge(NOW + YEAR) == 2
            assert ledger.horizon(PROFILE) == NOW + 2 * HOUR
            assert ledger.claim(message("c", expires_at=NOW + 2 * HOUR), NOW) == BeforeHorizon(
                NOW + 2 * HOUR
            )
            assert isinstance(ledger.claim(message("d", expires_at=NOW + 2 * HOUR + 1), NOW), Won)

    def test_each_profile_has_its_own_horizon(self, ledger_factory: LedgerFactory) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a"), NOW)
            ledger.purge(NOW + DAY)
            assert ledger.horizon("other.profile/v1") is None
            assert isinstance(ledger.claim(message("b", profile="other.profile/v1"), NOW), Won)

    def test_a_horizon_never_holds_back_a_message_without_ids(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a"), NOW)
            ledger.purge(NOW + DAY)
            assert ledger.claim(message("b", ids=()), NOW) == Won(None)

    def test_a_reservation_that_lapsed_moves_no_horizon(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.reserve(message("a"), NOW, LEASE)
            assert ledger.purge(NOW + LEASE - 1) == 0
            assert ledger.purge(NOW + LEASE) == 1
            assert ledger.horizon(PROFILE) is None
            assert isinstance(ledger.claim(message("a"), NOW + LEASE), Won)

    def test_winning_claims_forget_what_is_due(self, ledger_factory: LedgerFactory) -> None:
        late = NOW + 2 * HOUR
        with ledger_factory(max_records=4) as ledger:
            ledger.claim_many([message(f"old {n}") for n in range(4)], NOW)
            for n in range(20):
                fresh = message(f"new {n}", expires_at=late + n + 1)
                assert isinstance(ledger.claim(fresh, late + n), Won)
            assert ledger.horizon(PROFILE) is not None

    def test_a_flood_evicts_nothing_and_the_full_ledger_refuses(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory(max_records=4) as ledger:
            assert isinstance(ledger.claim(message("victim"), NOW), Won)
            flood = [ledger.claim_many([message(f"flood {n}")], NOW)[0] for n in range(10)]
            assert sum(isinstance(outcome, Won) for outcome in flood) == 3
            assert flood[3:] == [Full()] * 7
            assert finds_no_room(ledger, message("flood 9"))
            assert ledger.claim(message("victim"), NOW) == Duplicate(None)
            assert ledger.claim(message("flood 2"), NOW) == Duplicate(None)
            assert isinstance(
                ledger.claim(message("later", expires_at=NOW + 2 * HOUR), NOW + HOUR), Won
            )

    def test_what_is_reserved_started_or_in_doubt_is_not_evicted_either(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory(max_records=1) as ledger:
            reserved = ledger.reserve(message("a"), NOW, LEASE)
            assert isinstance(reserved, Reserved)
            assert finds_no_room(ledger, message("b"))
            assert isinstance(ledger.start(reserved.token, NOW), Started)
            assert finds_no_room(ledger, message("b", expires_at=NOW + YEAR), NOW + YEAR)
            assert ledger.resolve(replay_ids("a"), Decision.RELEASED, NOW + LEASE) == Released()
            assert isinstance(ledger.claim(message("b"), NOW), Won)

    def test_a_lapsed_reservation_gives_its_room_to_others(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory(max_records=1) as ledger:
            ledger.reserve(message("a", keep_for=YEAR), NOW, LEASE)
            assert finds_no_room(ledger, message("b"), NOW + LEASE - 1)
            assert isinstance(ledger.claim(message("b"), NOW + LEASE), Won)

    def test_an_acceptance_is_kept_although_its_message_was_done_long_after_expiry(
        self, ledger_factory: LedgerFactory
    ) -> None:
        job = message("a", expires_at=NOW + MINUTE, keep_for=DAY)
        with ledger_factory() as ledger:
            reserved = ledger.reserve(job, NOW, LEASE)
            assert isinstance(reserved, Reserved)
            started = ledger.start(reserved.token, NOW)
            assert isinstance(started, Started)
            late = NOW + 3 * HOUR
            assert ledger.purge(NOW + 2 * DAY) == 0
            done = ledger.commit(reserved.token, started.fence, b"done", late)
            assert done == Committed()
            assert ledger.claim(job, late) == Duplicate(b"done")

    def test_a_clock_that_steps_back_lets_nothing_through_twice(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim(message("a"), NOW)
            for now in (NOW - HOUR, NOW - YEAR, 0):
                assert ledger.claim(message("a"), now) == Duplicate(None)
                assert ledger.purge(now) == 0
                assert isinstance(ledger.claim(message(f"b {now}"), now), Won)

    def test_a_clock_a_year_ahead_and_back_costs_one_lifetime_and_no_safety(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            ledger.claim_many([message(f"a {n}") for n in range(3)], NOW)
            assert ledger.purge(NOW + YEAR) == 3
            for n in range(3):
                assert ledger.claim(message(f"a {n}"), NOW) == BeforeHorizon(NOW + HOUR)
            # An honest sender is held up until its messages expire after those forgotten.
            honest = message("b", expires_at=NOW + HOUR + 1)
            assert isinstance(ledger.claim(honest, NOW + 1), Won)

    def test_a_lease_given_by_a_clock_far_ahead_binds_for_no_longer_than_its_length(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            reserved = ledger.reserve(message("a"), NOW + 20 * HOUR, LEASE)
            assert isinstance(reserved, Reserved)
            back = NOW + 20 * HOUR - LEASE
            assert isinstance(ledger.claim(message("a"), back + 1), Busy)
            assert isinstance(ledger.claim(message("a"), back), Won)

    def test_what_was_started_by_a_clock_far_ahead_is_in_doubt_when_the_clock_is_mended(
        self, ledger_factory: LedgerFactory
    ) -> None:
        with ledger_factory() as ledger:
            reserved = ledger.reserve(message("a"), NOW + YEAR, LEASE)
            assert isinstance(reserved, Reserved)
            ledger.start(reserved.token, NOW + YEAR)
            assert isinstance(ledger.claim(message("a"), NOW), InDoubt)
            assert ledger.resolve(replay_ids("a"), Decision.RELEASED, NOW) == Released()

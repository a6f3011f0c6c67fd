"""The contract of a ledger as a test suite, to be run on a ledger of one's own.

Subclass :class:`LedgerContract`, or :class:`SharedLedgerContract` where the ledger outlives its
process, under a name that pytest collects, and give it a fixture::

    class TestMyLedger(SharedLedgerContract):
        @pytest.fixture
        def ledger_factory(self, tmp_path: Path) -> LedgerFactory:
            return MyFactory(tmp_path / "ledger")

The fixture's value is called for a ledger as often as a test needs one
(:class:`~taskseal.testing.ledger_messages.LedgerFactory`); each test gets a store of its own.

Source: SPEC section 8.
"""

from __future__ import annotations

from taskseal.testing.ledger_claims import ClaimRules
from taskseal.testing.ledger_phases import PhaseRules
from taskseal.testing.ledger_races import RestartRules, ThreadRules
from taskseal.testing.ledger_retention import RetentionRules


class LedgerContract(ClaimRules, PhaseRules, RetentionRules, ThreadRules):
    """What every ledger keeps to."""


class SharedLedgerContract(LedgerContract, RestartRules):
    """What a ledger keeps to that survives restarts and is shared by processes."""

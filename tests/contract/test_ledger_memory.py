"""The memory ledger keeps the contract."""

from __future__ import annotations

import pytest

from taskseal.testing import LedgerContract, LedgerFactory, UrlFactory


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def ledger_factory(self) -> LedgerFactory:
        return UrlFactory("memory:")

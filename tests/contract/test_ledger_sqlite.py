"""The SQLite ledger keeps the contract, also across processes, crashes and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskseal.testing import LedgerFactory, SharedLedgerContract, UrlFactory


class TestSqliteLedger(SharedLedgerContract):
    @pytest.fixture
    def ledger_factory(self, tmp_path: Path) -> LedgerFactory:
        return UrlFactory(f"sqlite:{tmp_path}/ledger.db")

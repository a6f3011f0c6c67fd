"""Contracts as test suites, for those who write a part of their own. pytest runs them."""

from __future__ import annotations

from taskseal.testing.ledger_contract import LedgerContract, SharedLedgerContract
from taskseal.testing.ledger_messages import LedgerFactory, UrlFactory

__all__ = ["LedgerContract", "LedgerFactory", "SharedLedgerContract", "UrlFactory"]

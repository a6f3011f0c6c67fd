"""What this receiver has accepted: each message once, by whoever offers it and however often.

Source: SPEC section 8.
"""

from __future__ import annotations

from taskseal.ledger.base import (
    BeforeHorizon,
    Busy,
    Claim,
    ClaimOutcome,
    Committed,
    Conflict,
    Decision,
    Duplicate,
    FenceStale,
    Full,
    InDoubt,
    Known,
    Ledger,
    Lost,
    NotInDoubt,
    Outcome,
    Released,
    ReplayId,
    Reserved,
    ReserveOutcome,
    Started,
    Won,
)
from taskseal.ledger.memory import MemoryLedger
from taskseal.ledger.urls import BUSY_TIMEOUT, open_ledger

__all__ = [
    "BUSY_TIMEOUT",
    "BeforeHorizon",
    "Busy",
    "Claim",
    "ClaimOutcome",
    "Committed",
    "Conflict",
    "Decision",
    "Duplicate",
    "FenceStale",
    "Full",
    "InDoubt",
    "Known",
    "Ledger",
    "Lost",
    "MemoryLedger",
    "NotInDoubt",
    "Outcome",
    "Released",
    "ReplayId",
    "ReserveOutcome",
    "Reserved",
    "Started",
    "Won",
    "open_ledger",
]

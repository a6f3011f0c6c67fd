"""A ledger's answers in a receiver's words: which of them are outcomes, and which refusals.

Source: SPEC sections 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from taskseal.errors import Reason, Unavailable
from taskseal.ledger.base import (
    BeforeHorizon,
    Busy,
    Claim,
    Conflict,
    FenceStale,
    Known,
    Refusal,
    ReplayId,
)
from taskseal.ledger.base import Duplicate as Done
from taskseal.ledger.base import InDoubt as Unknown
from taskseal.ledger.checks import MAX_IDS
from taskseal.profiles.base import passed
from taskseal.receiver.outcome import Duplicate, InDoubt
from taskseal.receiver.steps import Steps, ask
from taskseal.verify.examination import Examination
from taskseal.verify.result import Accepted

T = TypeVar("T")
_LEDGER = passed("ledger")


def asked(exam: Examination, call: Callable[[], T]) -> Steps[T]:
    """What the ledger answers; one that does not answer refuses the message.

    Raises:
        Refused: ``ledger_unavailable``.
    """
    try:
        answer = yield from ask(call)
    except Unavailable as fault:
        exam.fail("ledger", Reason.LEDGER_UNAVAILABLE, fault.detail)
    return answer


def countable(exam: Examination, ids: tuple[ReplayId, ...]) -> None:
    """Refuses a message that has more ids than a record holds: one each for every issuer.

    Raises:
        Refused: ``policy_refused``.
    """
    if len(ids) > MAX_IDS:
        detail = (
            f"{len(exam.issuers)} issuers signed it, and a ledger takes {MAX_IDS} ids a message"
        )
        exam.fail("ledger", Reason.POLICY_REFUSED, detail)


def accepted(exam: Examination, claim: Claim) -> Accepted:
    """The verdict when the ledger has nothing against it either."""
    exam.add(_LEDGER)
    return exam.accepted(claim.ids)


def not_won(exam: Examination, claim: Claim, refusal: Refusal) -> Duplicate | InDoubt:
    """The message is not this caller's: it is known already, or the ledger refuses it.

    Raises:
        Refused: ``replay_conflict``, ``before_horizon`` or ``fence_stale``.
    """
    exam.checks = [line for line in exam.checks if line is not _LEDGER]
    match refusal:
        case Conflict():
            exam.fail("ledger", Reason.REPLAY_CONFLICT, pointer=_pointer(exam, refusal))
        case BeforeHorizon():
            exam.fail("ledger", Reason.BEFORE_HORIZON)
        case FenceStale():
            stale(exam, refusal)
        case _:
            return seen(exam, claim.ids, refusal)


def stale(exam: Examination, found: FenceStale) -> NoReturn:
    """Refuses a message whose epoch does not rise.

    Raises:
        Refused: ``fence_stale``.
    """
    detail = f"the last epoch was {found.last}"
    exam.fail("ledger", Reason.FENCE_STALE, detail, "/payload/fence_epoch")


def seen(exam: Examination, ids: tuple[ReplayId, ...], known: Known) -> Duplicate | InDoubt:
    """The same message as before: done, in another's hands, or nobody knows."""
    signer, digest = exam.signer, exam.digest
    assert signer is not None and digest is not None
    form, checks = exam.form or "", tuple(exam.checks)
    about = (exam.kind.id, signer, form, exam.canonical, digest, checks, ids)
    match known:
        case Done(acceptance):
            return Duplicate(*about, acceptance=acceptance)
        case Busy(until):
            return InDoubt(*about, until=until)
        case Unknown():
            return InDoubt(*about)


def _pointer(exam: Examination, conflict: Conflict) -> str | None:
    """Where the taken id stands in the message."""
    # Each id of the profile stands there once for every issuer.
    many = max(1, len(exam.issuers))
    places = [where for _, where in exam.kind.replay for _ in range(many)]
    named = zip(places, exam.replay_ids() or (), strict=False)
    return next((where for where, each in named if each == conflict.id), None)

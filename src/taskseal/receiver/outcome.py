"""What a receiver says of a message: the four outcomes, as one union.

Source: SPEC sections 7 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from taskseal.canon.digest import Digest
from taskseal.errors import REASONS, Reason
from taskseal.ledger.base import ReplayId
from taskseal.profiles.base import Check
from taskseal.receiver.job import Job
from taskseal.validity import Instant
from taskseal.verify.result import Refused, SignerInfo, no_truth, verdict_json


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a message that came before; its signature was verified again."""

    profile: str
    signer: SignerInfo
    form: str
    canonical: str
    digest: Digest
    checks: tuple[Check, ...]
    replay_ids: tuple[ReplayId, ...]

    __bool__ = no_truth


@dataclass(frozen=True, slots=True)
class Duplicate(Seen):
    """The same message was accepted before; ``acceptance`` is what was stored then, if anything.

    Hand it back as it is: an identical retry gets identical bytes.
    """

    acceptance: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        """The object that ``accept --json`` prints (SPEC section 9)."""
        return _seen_json(self, "duplicate", Reason.REPLAYED)


@dataclass(frozen=True, slots=True)
class InDoubt(Seen):
    """The same message was begun before, and it is not known to be done.

    ``until`` is when the lease of whoever holds it ends, in nanoseconds since 1970; None when
    nobody holds it any more: then only a person or a policy can say whether it was done
    (:meth:`Receiver.resolve`). It is never handed out again by itself.
    """

    until: Instant | None = None

    def to_json(self) -> dict[str, Any]:
        """The object that ``accept --json`` prints (SPEC section 9)."""
        return _seen_json(self, "in_doubt", Reason.IN_DOUBT)


def _seen_json(seen: Seen, verdict: str, reason: Reason) -> dict[str, Any]:
    return verdict_json(
        verdict,
        reason=reason,
        detail=REASONS[reason].text,
        profile=seen.profile,
        signer=seen.signer,
        form=seen.form,
        canonical=seen.canonical,
        digest=seen.digest,
        checks=seen.checks,
    )


Outcome: TypeAlias = Job | Duplicate | InDoubt | Refused
"""What :meth:`Receiver.receive` says: :class:`Job` (an ``Accepted``), or why it is not one.

Match it whole; a type checker then says which case was left out::

    match receiver.receive(data):
        case Accepted() as job: ...
        case Duplicate(): ...
        case InDoubt(): ...
        case Refused(): ...
"""

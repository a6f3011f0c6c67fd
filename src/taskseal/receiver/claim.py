"""What of a verified message a ledger has to know, and for how long.

Source: SPEC section 8, items 1 and 4.
"""

from __future__ import annotations

from taskseal.canon.pointer import resolve
from taskseal.errors import Reason
from taskseal.ledger.base import Claim
from taskseal.validity import SECOND, Instant, read_instant
from taskseal.verify.examination import Examination


def claim_of(exam: Examination, keep: int, now: Instant) -> Claim:
    """The claim of a message that has passed every check.

    Args:
        exam: the examination.
        keep: nanoseconds that the record is kept beyond its message's expiry.
        now: when it is claimed.

    Raises:
        Refused: a replay id is missing.
    """
    kind, ids = exam.kind, exam.replay_ids()
    if ids is None:
        where = kind.scope or kind.replay[0][1]
        exam.fail("ledger", Reason.SCHEMA_INVALID, "a replay id is missing", where)
    expires, known_until = _spans(exam)
    # Of the profile alone: a task's epochs rise whoever cancels it.
    fence = kind.advance(exam.envelope)
    return Claim(
        profile=kind.id,
        ids=ids,
        fingerprint=exam.fingerprint(),
        expires_at=expires,
        # The work may take longer than the message lives; what is kept of it counts from then.
        keep_until=max(known_until, now if keep else 0) + keep,
        advance=None if fence is None else (f"{kind.id} {fence[0]}", fence[1]),
    )


def _spans(exam: Examination) -> tuple[Instant, Instant]:
    """The latest expiry of any copy of the message, and until when the message must be known.

    However often it is signed again, and however early the first signature ends, what is known
    of a message lasts as long as itself. One without an expiry of its own lives by its signature
    alone; it is known for as long as a signature may live, or as it may be taken without one.
    """
    kind, limits = exam.kind, exam.terms.limits
    assert exam.expires is not None and exam.issued is not None
    own = None if kind.expires is None else read_instant(resolve(exam.envelope, kind.expires))
    if own is None and kind.max_age is not None:
        own = exam.issued + kind.max_age
    if own is not None:
        # A signature or a receipt may end earlier.
        latest = max(own, exam.expires)
        return latest, latest + limits.past_skew
    header = None if exam.jws is None else exam.jws.header
    known_until = max(exam.expires, exam.issued + exam.terms.oldest)
    if header is not None and header.iat is not None and limits.max_lifetime is not None:
        known_until = max(known_until, header.iat * SECOND + limits.max_lifetime)
    return exam.expires, known_until + limits.past_skew

"""The receiver: a verifier with a memory. Each message is accepted once.

Source: SPEC sections 7 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taskseal.canon.digest import Digest
from taskseal.errors import REASONS, InputError, Reason, Unavailable
from taskseal.ledger.base import (
    BeforeHorizon,
    Busy,
    Claim,
    Conflict,
    FenceStale,
    InDoubt,
    Ledger,
    ReplayId,
)
from taskseal.ledger.base import Duplicate as Known
from taskseal.profiles import named_profile
from taskseal.profiles.base import Check, Profile, passed
from taskseal.profiles.material import Source
from taskseal.validity import Clock, Instant, system_clock
from taskseal.verify.examination import Examination
from taskseal.verify.gate import authenticate
from taskseal.verify.judge import judge
from taskseal.verify.policy import Identity
from taskseal.verify.result import Accepted, Refused, SignerInfo, no_truth, verdict_json
from taskseal.verify.verifier import Verifier

_LEDGER = passed("ledger")


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The same message was accepted before; ``acceptance`` is what was stored then, if anything."""

    profile: str
    signer: SignerInfo
    form: str
    canonical: str
    digest: Digest
    checks: tuple[Check, ...]
    replay_ids: tuple[ReplayId, ...]
    acceptance: bytes | None = None

    __bool__ = no_truth

    def to_json(self) -> dict[str, Any]:
        """The object that ``accept --json`` prints (SPEC section 9)."""
        return verdict_json(
            "duplicate",
            reason=Reason.REPLAYED,
            detail=REASONS[Reason.REPLAYED].text,
            profile=self.profile,
            signer=self.signer,
            form=self.form,
            canonical=self.canonical,
            digest=self.digest,
            checks=self.checks,
        )


class Receiver:
    """Accepts each message once, whatever is delivered how often.

    Args:
        verifier: what a message must satisfy.
        ledger: what this receiver has accepted.
        identity: who this receiver is: at least one member, or ``Identity.ANY``.
        clock: gives the present in nanoseconds since 1970; a ledger takes no other time.

    Raises:
        InputError: ``usage`` when ``identity`` says nothing.
    """

    def __init__(
        self,
        verifier: Verifier,
        ledger: Ledger,
        identity: Identity,
        *,
        clock: Clock = system_clock,
    ) -> None:
        if not identity.stated:
            raise InputError(
                Reason.USAGE,
                "a receiver without an identity would accept what is meant for others",
                hint="name an audience, organisation, workspace or device, or Identity.ANY",
            )
        self.verifier = verifier
        self.ledger = ledger
        self.identity = identity
        self.clock = clock

    def receive(
        self,
        data: bytes,
        *,
        profile: str | Profile | None = None,
        signature: bytes | None = None,
        artefacts: Mapping[str, Source] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Accepted | Duplicate | Refused:
        """The verdict on one message, and its place in the ledger.

        The arguments are those of :meth:`Verifier.check`; there is no ``at``, since what was
        claimed stays claimed. Only an authentic message ever touches the ledger. A ledger that
        cannot answer refuses the message with ``ledger_unavailable``: nothing was accepted and
        the message may be offered again.

        Raises:
            InputError, MaterialError: when an argument, artefact or context cannot be read.
        """
        now: Instant = self.clock()
        exam = self.verifier.examination(
            artefacts=artefacts,
            context=context,
            at=now,
            identity=self.identity,
            fence_in_ledger=True,
        )
        try:
            named = named_profile(profile, self.verifier.profiles)
            authenticate(exam, data, self.verifier.profiles, named, signature)
            known = self._lookup(exam)
            if known is not None:
                return known
            judge(exam)
            return self._claim(exam)
        except Refused as refused:
            return refused.as_value()

    def _lookup(self, exam: Examination) -> Duplicate | None:
        """The same message's earlier acceptance, found also after its expiry."""
        ids = exam.replay_ids()
        if not ids:
            return None
        try:
            known = self.ledger.lookup(ids, exam.fingerprint(), exam.now)
        except Unavailable as fault:
            exam.fail("ledger", Reason.LEDGER_UNAVAILABLE, fault.detail)
        return None if known is None else _seen(exam, ids, known)

    def _claim(self, exam: Examination) -> Accepted | Duplicate:
        ids = exam.replay_ids()
        if ids is None:
            where = exam.kind.scope or exam.kind.replay[0][1]
            exam.fail("ledger", Reason.SCHEMA_INVALID, "a replay id is missing", where)
        assert exam.expires is not None
        # Of the profile alone: a task's epochs rise whoever cancels it.
        fence = exam.kind.advance(exam.envelope)
        claim = Claim(
            profile=exam.kind.id,
            ids=ids,
            fingerprint=exam.fingerprint(),
            expires_at=exam.expires,
            keep_until=exam.expires + exam.policy.limits(exam.kind).past_skew,
            advance=None if fence is None else (f"{exam.kind.id} {fence[0]}", fence[1]),
        )
        try:
            outcome = self.ledger.claim(claim, exam.now)
        except Unavailable as fault:
            exam.fail("ledger", Reason.LEDGER_UNAVAILABLE, fault.detail)
        match outcome:
            case Known() | Busy() | InDoubt():
                return _seen(exam, ids, outcome)
            case Conflict():
                exam.fail("ledger", Reason.REPLAY_CONFLICT, pointer=_where(exam, ids, outcome))
            case BeforeHorizon():
                exam.fail("ledger", Reason.BEFORE_HORIZON)
            case FenceStale(last):
                detail = f"the last epoch was {last}"
                exam.fail("ledger", Reason.FENCE_STALE, detail, "/payload/fence_epoch")
        exam.add(_LEDGER)
        return exam.accepted(ids)


def _where(exam: Examination, ids: tuple[ReplayId, ...], conflict: Conflict) -> str | None:
    for (_, pointer), replay_id in zip(exam.kind.replay, ids, strict=True):
        if replay_id == conflict.id:
            return pointer
    return None


def _seen(exam: Examination, ids: tuple[ReplayId, ...], known: Known | Busy | InDoubt) -> Duplicate:
    """The same message as before: done, in another's hands, or nobody knows."""
    if isinstance(known, Busy):
        exam.fail("ledger", Reason.LEDGER_UNAVAILABLE, "another worker has the message in hand")
    if isinstance(known, InDoubt):
        exam.fail("ledger", Reason.IN_DOUBT)
    signer, digest = exam.signer, exam.digest
    assert signer is not None and digest is not None
    return Duplicate(
        profile=exam.kind.id,
        signer=signer,
        form=exam.form or "",
        canonical=exam.canonical,
        digest=digest,
        checks=tuple(exam.checks),
        replay_ids=ids,
        acceptance=known.acceptance,
    )

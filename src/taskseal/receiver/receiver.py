"""The receiver itself: from a delivery to one of four outcomes.

Source: SPEC sections 7 and 8.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from taskseal.acceptance import AcceptanceSigner, Account
from taskseal.canon.digest import Digest
from taskseal.errors import InputError, MaterialError, Reason, Unavailable, expect
from taskseal.ledger.base import (
    Claim,
    Committed,
    Decision,
    FenceStale,
    Ledger,
    Lost,
    NotInDoubt,
    Released,
    ReplayId,
    Reserved,
    Started,
    Won,
)
from taskseal.profiles import named_profile
from taskseal.profiles.base import Profile
from taskseal.profiles.material import Source
from taskseal.receiver.answers import accepted, asked, countable, not_won, seen, stale
from taskseal.receiver.claim import claim_of
from taskseal.receiver.delivery import Delivery
from taskseal.receiver.job import Hold, Job
from taskseal.receiver.outcome import Duplicate, InDoubt, Outcome
from taskseal.receiver.steps import Steps, arun, ask, run
from taskseal.validity import DAY, MINUTE, Clock, Instant, system_clock
from taskseal.verify.examination import Examination
from taskseal.verify.gate import authenticate
from taskseal.verify.judge import judge
from taskseal.verify.policy import Identity
from taskseal.verify.result import Accepted, Refused
from taskseal.verify.verifier import Verifier

if TYPE_CHECKING:
    from taskseal.config import Config
    from taskseal.keys.keyring import Unlock
    from taskseal.signers.base import Signer

LEASE = 10 * MINUTE
"""Nanoseconds that a worker has for a message before it counts as in doubt, unless told."""
KEEP_ACCEPTANCES = 7 * DAY
"""Nanoseconds beyond its message's expiry that an acceptance is kept, unless told."""


class Receiver:
    """Accepts each message once, whatever is delivered how often.

    Args:
        verifier: what a message must satisfy.
        ledger: what this receiver has accepted.
        identity: who this receiver is: at least one member, or ``Identity.ANY``.
        signer: a key whose profiles hold ``taskseal.acceptance/v1``, with which acceptances are
            signed; without one, none is made.
        lease: nanoseconds that a worker has for a message before it is in doubt.
        keep_acceptances: nanoseconds beyond its message's expiry that an acceptance is kept.
        clock: gives the present in nanoseconds since 1970; a ledger takes no other time.

    Raises:
        InputError: ``usage`` when ``identity`` says nothing, a span is none, or one of these is of
            another kind.
        MaterialError: ``key_wrong_profile`` or ``published_key`` for the signer.
    """

    def __init__(
        self,
        verifier: Verifier,
        ledger: Ledger,
        identity: Identity,
        *,
        signer: Signer | None = None,
        lease: int = LEASE,
        keep_acceptances: int = KEEP_ACCEPTANCES,
        clock: Clock = system_clock,
    ) -> None:
        expect(verifier, Verifier, "a verifier", "give Verifier(trust)")
        expect(ledger, Ledger, "a ledger", "give open_ledger('sqlite:PATH')")
        expect(identity, Identity, "an identity", "give Identity(organisation=…) or Identity.ANY")
        if not identity.stated:
            raise InputError(
                Reason.USAGE,
                "a receiver without an identity would accept what is meant for others",
                hint="name an audience, organisation, workspace or device, or Identity.ANY",
            )
        for name, span, least in (("lease", lease, 1), ("keep_acceptances", keep_acceptances, 0)):
            if type(span) is not int or span < least:
                raise InputError(
                    Reason.USAGE,
                    f"{name} is {span!r}, not nanoseconds from {least}",
                    hint="give e.g. 10 * taskseal.validity.MINUTE",
                )
        self.verifier = verifier
        self.ledger = ledger
        self.identity = identity
        self.clock = clock
        self.lease = lease
        self.keep_acceptances = keep_acceptances if signer is not None else 0
        self._scribe = (
            None if signer is None else AcceptanceSigner(signer, identity, verifier.policy)
        )

    @classmethod
    def from_config(
        cls,
        config: Config | str | os.PathLike[str] | None = None,
        *,
        passphrase: Unlock = None,
        clock: Clock = system_clock,
    ) -> Receiver:
        """The receiver that a ``taskseal.toml`` describes; its ledger is open, for it to close.

        Args:
            config: a configuration or its file; TASKSEAL_CONFIG or the user's own otherwise,
                never one in the working directory that nobody named.
            passphrase: what unlocks the key that signs acceptances, or gives that when needed.
            clock: gives the present in nanoseconds since 1970.

        Raises:
            MaterialError: what :func:`load_config` raises; ``config_malformed`` when the file
                does not say who the receiver is; what keeps its trust or its key from use.
            InputError: a file code.
            Unavailable: ``ledger_unavailable``.
        """
        from taskseal.config import Config, load_config

        found = config if isinstance(config, Config) else load_config(config)
        if found.identity is None:
            raise MaterialError(
                Reason.CONFIG_MALFORMED,
                f"{found.path}: it does not say who the receiver is",
                pointer="/receiver",
                hint='write [receiver] with audience = "NAME", or any = true',
            )
        verifier, signer = found.verifier(clock=clock), found.signer(clock(), passphrase)
        return cls(
            verifier,
            found.open_ledger(),
            found.identity,
            signer=signer,
            lease=LEASE if found.lease is None else found.lease,
            keep_acceptances=(
                KEEP_ACCEPTANCES if found.keep_acceptances is None else found.keep_acceptances
            ),
            clock=clock,
        )

    def receive(
        self,
        data: bytes,
        *,
        profile: str | Profile | None = None,
        signature: bytes | None = None,
        artefacts: Mapping[str, Source] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """The outcome of one delivery; an accepted message is the caller's to do.

        The arguments are those of :meth:`Verifier.check`; there is no ``at``, since what was
        started stays started. Only an authentic message ever touches the ledger. A :class:`Job`
        (which is an ``Accepted``) has been started in the ledger: it is not handed out again
        without a commit, a release or a person's decision. A ledger that cannot answer refuses
        the message with ``ledger_unavailable``: it was not accepted and may be offered again.

        Raises:
            InputError, MaterialError: when an argument, artefact or context cannot be read, or
                the receiver's key may not sign.
        """
        return run(self._receive(Delivery(data, profile, signature, artefacts, context)))

    async def areceive(
        self,
        data: bytes,
        *,
        profile: str | Profile | None = None,
        signature: bytes | None = None,
        artefacts: Mapping[str, Source] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """:meth:`receive` for async callers: only the ledger is awaited.

        A caller that is cancelled meanwhile gives the message back.
        """
        delivery = Delivery(data, profile, signature, artefacts, context)
        work = asyncio.ensure_future(arun(self._receive(delivery)))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # What the ledger was asked it will do; nobody is there any more to do the message.
            with suppress(Exception):
                found = await work
                if isinstance(found, Job):
                    await asyncio.to_thread(found.release)
            raise

    def accept(
        self,
        data: bytes,
        *,
        profile: str | Profile | None = None,
        signature: bytes | None = None,
        artefacts: Mapping[str, Source] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """The outcome of one delivery, in one step: an accepted message counts as done.

        For callers that need no two phases. The acceptance is stored in the transaction that wins
        the message. Arguments and errors are those of :meth:`receive`; a :class:`Job` that comes
        out is committed already.
        """
        return run(self._accept(Delivery(data, profile, signature, artefacts, context)))

    def resolve(
        self, ids: Iterable[ReplayId], decision: Decision
    ) -> Committed | Released | NotInDoubt:
        """Decides a message in doubt: it was done, or it was not and may be offered again.

        Args:
            ids: the ``replay_ids`` of the :class:`InDoubt` outcome.
            decision: what was found out about it.

        Raises:
            Unavailable: the ledger does not answer.
        """
        return self.ledger.resolve(tuple(ids), decision, self.clock())

    def _receive(self, delivery: Delivery) -> Steps[Outcome]:
        exam = self._examination(delivery)
        try:
            known = yield from self._examine(exam, delivery)
            if known is not None:
                return known
            if self._scribe is not None:
                self._scribe.check(self.clock())
            claim = claim_of(exam, self.keep_acceptances, self.clock())
            reserved = yield from asked(
                exam, lambda: self.ledger.reserve(claim, self.clock(), self.lease)
            )
            if not isinstance(reserved, Reserved):
                return not_won(exam, claim, reserved)
            fence = yield from self._start(exam, reserved.token)
        except Refused as refused:
            return refused.as_value()
        hold = self._hold(exam, claim)
        hold.token, hold.fence = reserved.token, fence
        return Job.of(accepted(exam, claim), hold)

    def _start(self, exam: Examination, token: str) -> Steps[int]:
        """The fence of a message that was reserved under ``token``, now begun."""
        try:
            started = yield from ask(lambda: self.ledger.start(token, self.clock()))
        except Unavailable as fault:
            # Begun or not: nothing will be done, so it is free again as soon as may be.
            with suppress(Unavailable):
                yield from ask(lambda: self.ledger.release(token, self.clock()))
            exam.fail("ledger", Reason.LEDGER_UNAVAILABLE, fault.detail)
        match started:
            case Started(fence):
                return fence
            case FenceStale():
                stale(exam, started)
            case Lost():
                detail = "the lease ended before the message could be started"
                exam.fail("ledger", Reason.LEDGER_UNAVAILABLE, detail)

    def _accept(self, delivery: Delivery) -> Steps[Outcome]:
        exam = self._examination(delivery)
        try:
            known = yield from self._examine(exam, delivery)
            if known is not None:
                return known
            now = self.clock()
            claim = claim_of(exam, self.keep_acceptances, now)
            hold = self._hold(exam, claim)
            job = Job.of(accepted(exam, claim), hold)
            sealed = replace(claim, acceptance=hold.sealed(job, now, None, {}))
            won = yield from asked(exam, lambda: self.ledger.claim(sealed, self.clock()))
            if not isinstance(won, Won):
                return not_won(exam, claim, won)
        except Refused as refused:
            return refused.as_value()
        hold.state, hold.acceptance = "committed", sealed.acceptance
        return job

    def _examination(self, delivery: Delivery) -> Examination:
        exam = self.verifier.examination(
            artefacts=delivery.artefacts,
            context=delivery.context,
            at=self.clock(),
            identity=self.identity,
            fence_in_ledger=True,
        )
        if exam.policy.allow_unauthorised:
            # An audit may look at what was not released; a receiver never does it.
            exam.policy = replace(exam.policy, allow_unauthorised=False)
        return exam

    def _examine(self, exam: Examination, delivery: Delivery) -> Steps[Duplicate | InDoubt | None]:
        """What is known of the message, as soon as it is authentic; else all that is checked."""
        named = named_profile(delivery.profile, self.verifier.profiles)
        authenticate(exam, delivery.data, self.verifier.profiles, named, delivery.signature)
        ids = exam.replay_ids()
        if ids:
            countable(exam, ids)
            fingerprint = exam.fingerprint()
            known = yield from asked(exam, lambda: self.ledger.lookup(ids, fingerprint, exam.now))
            if known is not None:
                return seen(exam, ids, known)
        judge(exam)
        return None

    def _hold(self, exam: Examination, claim: Claim) -> Hold:
        def seal(
            verdict: Accepted, now: Instant, outcome: Any, artefacts: Mapping[str, Digest]
        ) -> bytes | None:
            if self._scribe is None:
                return None
            assert exam.entry is not None
            account = Account(
                fingerprint=claim.fingerprint,
                generation=exam.entry.generation,
                received_at=exam.now,
                accepted_at=max(now, exam.now),
                kept_until=claim.keep_until,
                outcome=outcome,
                artefacts=artefacts,
            )
            return self._scribe.sign(verdict, account)

        return Hold(exam, self.ledger, self.clock, seal)

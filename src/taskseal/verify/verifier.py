"""The pure verifier: bytes in, a verdict out, nothing remembered.

Source: SPEC section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from taskseal.errors import expect
from taskseal.keys.trust import Source as TrustSource
from taskseal.keys.trust import Trust
from taskseal.profiles import BUILT_IN, Profile, named_profile
from taskseal.profiles.context import read_context
from taskseal.profiles.material import Source
from taskseal.validity import Clock, Instant, system_clock, to_instant
from taskseal.verify.examination import Examination
from taskseal.verify.gate import authenticate
from taskseal.verify.judge import judge
from taskseal.verify.policy import Identity, Policy
from taskseal.verify.result import Accepted, Refused
from taskseal.verify.revocation import Evidence


class Verifier:
    """Checks messages against trusted keys and a policy; it keeps no state between messages.

    Args:
        trust: whose keys count: pins, a keyset, several of them, or a :class:`Trust`.
        policy: what this receiver allows.
        identity: who this receiver is; without it no audience is compared.
        profiles: the profiles at hand, by id; the built-in ones otherwise.
        clock: gives the present in nanoseconds since 1970, where ``at`` is not given.

    Raises:
        InputError: ``usage`` when one of these is of another kind.
    """

    def __init__(
        self,
        trust: Trust | TrustSource,
        policy: Policy | None = None,
        *,
        identity: Identity | None = None,
        profiles: Mapping[str, Profile] | None = None,
        clock: Clock = system_clock,
    ) -> None:
        expect(policy, Policy | None, "a policy", "give Policy(…), and identity= by its name")
        expect(identity, Identity | None, "an identity", "give Identity(organisation=…)")
        self.trust = trust if isinstance(trust, Trust) else Trust.of(trust)
        self._policy = policy or Policy()
        self.identity = identity
        self._profiles = BUILT_IN if profiles is None else profiles
        self.clock = clock
        self._settled = {kind.id: self._policy.terms(kind) for kind in self._profiles.values()}

    @property
    def policy(self) -> Policy:
        """What this receiver allows, as it was when the verifier was made."""
        return self._policy

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles at hand, by id."""
        return self._profiles

    def check(
        self,
        data: bytes,
        *,
        profile: str | Profile | None = None,
        signature: bytes | None = None,
        artefacts: Mapping[str, Source] | None = None,
        context: Mapping[str, Any] | None = None,
        at: datetime | str | Instant | None = None,
        evidence: Iterable[Evidence] = (),
    ) -> Accepted | Refused:
        """The verdict on one message; a hostile message is a result, never an exception.

        Args:
            data: the message as received: an envelope, or a JWS that carries one.
            profile: a profile or its id, where the message is not to choose.
            signature: the detached signature file's bytes.
            artefacts: what the message binds, by the name that it gives it: bytes, a path or a
                stream. What is not supplied is listed in ``unchecked``.
            context: what the receiver knows beside the message
                (``schemas/taskseal.context.v1.schema.json``).
            at: the instant to verify at; the clock's otherwise.
            evidence: what shows when a message by a key that is revoked by now was there; with
                any, or under a policy that allows it, the verdict says how the two instants lie.

        Raises:
            InputError: when an argument or an artefact cannot be read.
            MaterialError: when the context does not fit its schema, or the trust store has been
                spoilt or put back.
        """
        exam = self.examination(artefacts=artefacts, context=context, at=at)
        exam.evidence = tuple(evidence)
        named = named_profile(profile, self._profiles)
        try:
            authenticate(exam, data, self._profiles, named, signature)
            judge(exam)
        except Refused as refused:
            return refused.as_value()
        return exam.accepted()

    def verify(
        self,
        data: bytes,
        *,
        profile: str | Profile | None = None,
        signature: bytes | None = None,
        artefacts: Mapping[str, Source] | None = None,
        context: Mapping[str, Any] | None = None,
        at: datetime | str | Instant | None = None,
        evidence: Iterable[Evidence] = (),
    ) -> Accepted:
        """As :meth:`check`, but a refusal is raised.

        Raises:
            Refused: the verdict, when it is one.
        """
        verdict = self.check(
            data,
            profile=profile,
            signature=signature,
            artefacts=artefacts,
            context=context,
            at=at,
            evidence=evidence,
        )
        if isinstance(verdict, Refused):
            raise verdict
        return verdict

    def examination(
        self,
        *,
        artefacts: Mapping[str, Source] | None = None,
        context: Mapping[str, Any] | None = None,
        at: datetime | str | Instant | None = None,
        identity: Identity | None = None,
        fence_in_ledger: bool = False,
    ) -> Examination:
        """An examination at its beginning, under this verifier's trust and policy."""
        return Examination(
            trust=self.trust.latest(),
            policy=self._policy,
            settled=self._settled,
            identity=identity or self.identity,
            now=self.clock() if at is None else to_instant(at),
            context=read_context(context),
            artefacts=artefacts or {},
            fence_in_ledger=fence_in_ledger,
        )

"""The making of an acceptance: what it says, and the key that signs it.

Source: SPEC sections 4.7, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from taskseal.acceptance.policy_digest import policy_digest
from taskseal.canon.digest import Digest
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.screening import is_published
from taskseal.ledger.base import ReplayId
from taskseal.profiles.acceptance import ACCEPTANCE, ACCEPTANCE_ID, CODEC
from taskseal.validity import MINUTE, SECOND, Instant, write_instant
from taskseal.verify.policy import Identity, Policy
from taskseal.verify.result import Accepted, Refused
from taskseal.wire.jws import LATEST_EPOCH

if TYPE_CHECKING:
    from taskseal.signers.base import Signer

SHORTEST = 15 * MINUTE
"""Nanoseconds that an acceptance stands at least, however long the work took."""
LATEST = LATEST_EPOCH * SECOND
"""The last instant that can be written."""
LONGEST_ID = 1000
"""Characters of a replay id's scope or value that are spelt out; a longer one is digested."""


@dataclass(frozen=True, slots=True)
class Account:
    """What an acceptance says beside the verdict.

    Times are nanoseconds since 1970. ``fingerprint`` is the message's, ``generation`` that of the
    keyset that listed the signer's key (None for pins). ``outcome`` is the answer that was given:
    bytes, any JSON value, or None for none. ``artefacts`` are the digests of what was made.
    """

    fingerprint: bytes
    generation: int | None
    received_at: Instant
    accepted_at: Instant
    kept_until: Instant
    outcome: Any = None
    artefacts: Mapping[str, Digest] = field(default_factory=dict)


class AcceptanceSigner:
    """Signs the acceptances of one receiver.

    Args:
        signer: a key whose profiles hold ``taskseal.acceptance/v1``.
        identity: who the receiver is.
        policy: by which it accepts.

    Raises:
        MaterialError: ``key_wrong_profile`` or ``published_key``.
        InputError: ``unsupported_type`` for a policy that has no canonical form.
    """

    def __init__(self, signer: Signer, identity: Identity, policy: Policy) -> None:
        entry = signer.entry
        who = f"key version {entry.key_version!r}"
        if ACCEPTANCE_ID not in entry.profiles:
            raise MaterialError(
                Reason.KEY_WRONG_PROFILE,
                f"{who} may not sign {ACCEPTANCE_ID}",
                hint=f"make a key with `taskseal keys new VERSION --for {ACCEPTANCE_ID}`",
            )
        public = entry.key is None or is_published(entry.key.thumbprint)
        if public and not policy.allow_published_keys:
            raise MaterialError(Reason.PUBLISHED_KEY, f"{who} is public knowledge")
        self._signer = signer
        self._policy = Policy(allow_published_keys=policy.allow_published_keys)
        self._said = {
            "receiver": _receiver(identity),
            "policyDigest": policy_digest(policy).text(CODEC),
        }

    def check(self, now: Instant) -> None:
        """That the key may sign at ``now``: better known before the work than after it.

        Raises:
            MaterialError: it may not, with the reason.
        """
        fault = self._signer.entry.may_sign(now)
        if fault is not None:
            raise MaterialError(fault, f"key version {self._signer.entry.key_version!r}")

    def sign(self, verdict: Accepted, account: Account) -> bytes:
        """The acceptance of the message that ``verdict`` is on, as a flattened JWS.

        The same arguments give the same bytes where the key's signatures are deterministic.

        Raises:
            InputError: the outcome is no JSON value, or an artefact cannot be named so.
            MaterialError, Unavailable: the key may not sign now, or cannot be reached.
        """
        from taskseal.signing import sign

        now = account.accepted_at
        kept = min(max(account.kept_until, now + SHORTEST), LATEST)
        try:
            signed = sign(
                {**_about(verdict, account, kept), **self._said},
                self._signer,
                profile=ACCEPTANCE,
                expires_in=timedelta(microseconds=(kept - now) // 1000),
                policy=self._policy,
                fill=False,
                at=now,
            )
        except Refused as fault:
            raise InputError(
                fault.reason, f"the acceptance: {fault.detail}", pointer=fault.pointer
            ) from None
        return signed.blob


def outcome_of(outcome: object) -> dict[str, str] | None:
    """How an acceptance names an outcome: its kind and its digest.

    Raises:
        InputError: it is neither bytes nor a JSON value, with the pointer of what is not.
    """
    if outcome is None:
        return None
    if isinstance(outcome, bytes):
        return {"kind": "bytes", "digest": Digest.of(outcome).text(CODEC)}
    return {"kind": "json", "digest": Digest.of_json(outcome).text(CODEC)}


def artefacts_of(artefacts: Mapping[str, Digest]) -> list[dict[str, str]]:
    """How an acceptance lists what was made, by name.

    Raises:
        InputError: ``usage`` for a name or digest of another shape.
    """
    listed = []
    for name, digest in artefacts.items():
        if type(name) is not str or not isinstance(digest, Digest):
            raise InputError(
                Reason.USAGE,
                f"the artefact {name!r} is not named by text with a Digest",
                hint="give artefacts={'report.pdf': Digest.of(data)}",
            )
        listed.append({"name": name, "digest": digest.text(CODEC)})
    return sorted(listed, key=lambda each: each["name"])


def written_ids(ids: tuple[ReplayId, ...]) -> list[dict[str, str]]:
    """Replay ids as an acceptance spells them."""
    return [{"scope": _bounded(each.scope), "value": _bounded(each.value)} for each in ids]


def _bounded(text: str) -> str:
    # Both are JSON text, which never begins like a digest.
    return text if len(text) <= LONGEST_ID else Digest.of(text.encode()).text(CODEC)


def _about(verdict: Accepted, account: Account, kept_until: Instant) -> dict[str, Any]:
    return {
        "schema": ACCEPTANCE_ID,
        "verdict": "accepted",
        "reason": None,
        "profile": verdict.profile,
        "digest": verdict.digest.text(CODEC),
        "fingerprint": f"sha256:{account.fingerprint.hex()}",
        "replayIds": written_ids(verdict.replay_ids),
        "signer": verdict.signer.to_json(),
        "form": verdict.form,
        "canonical": verdict.canonical,
        "issuedAt": write_instant(verdict.issued),
        "expiresAt": write_instant(verdict.expires),
        "authorised": verdict.authorised,
        "checks": [
            {
                "check": line.check,
                "result": line.result,
                "detail": line.detail or None,
                "pointer": line.pointer,
            }
            for line in verdict.checks
        ],
        "unchecked": list(verdict.unchecked),
        "artefacts": artefacts_of(account.artefacts),
        "outcome": outcome_of(account.outcome),
        "keysetGeneration": account.generation,
        "receivedAt": write_instant(account.received_at),
        "acceptedAt": write_instant(account.accepted_at),
        "keptUntil": write_instant(kept_until),
    }


def _receiver(identity: Identity) -> dict[str, Any]:
    return {
        "audience": identity.audience,
        "organisation": identity.organisation,
        "workspace": identity.workspace,
        "device": identity.device,
        "aisaTask": None if identity.aisa is None else identity.aisa.task_id,
        "any": identity.any,
    }

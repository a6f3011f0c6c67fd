"""When a message by a key that is revoked by now was there: before the revocation, or after.

The message's own word can only speak against it: whoever stole the key writes any time. For it
speaks only what somebody else knew before the revocation.

Source: SPEC section 7 (``signed_before_revocation`` and the two beside it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from taskseal.canon.digest import Digest
from taskseal.errors import InputError, Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.trust import Trust
from taskseal.validity import Instant, read_instant
from taskseal.verify.result import Accepted, SignerInfo

ACCEPTANCE = "taskseal.acceptance/v1"


@dataclass(frozen=True, slots=True)
class Evidence:
    """That a message was there at an instant, by the word of someone who did not sign it.

    ``fingerprint`` is the SHA-256 of the canonical message without signature and key version,
    ``at`` in nanoseconds since 1970. ``witness`` is whose word it is; None for the receiver's own
    ledger, in which the message stands as committed.
    """

    fingerprint: bytes
    at: Instant
    witness: SignerInfo | None = None

    @classmethod
    def recorded(cls, fingerprint: bytes, at: Instant) -> Evidence:
        """What the receiver's own ledger says: the message was committed at ``at``."""
        return cls(fingerprint, at)

    @classmethod
    def acceptance(cls, accepted: Accepted) -> Evidence:
        """What a receiver's acceptance says, once it has been verified.

        Args:
            accepted: the verdict on the acceptance, not on the message.

        Raises:
            InputError: ``usage`` when the verdict is on anything else.
        """
        if accepted.profile != ACCEPTANCE:
            raise InputError(
                Reason.USAGE,
                f"a {accepted.profile} is no acceptance",
                hint="verify the acceptance, and give the verdict on it",
            )
        said = accepted.envelope
        at = read_instant(said["acceptedAt"])
        assert at is not None
        return cls(Digest.read(said["fingerprint"], "sha256:hex").value, at, accepted.signer)


def dated(
    entry: KeyEntry,
    said: Iterable[Instant],
    fingerprint: bytes,
    *,
    evidence: Iterable[Evidence],
    trust: Trust,
    now: Instant,
) -> Reason:
    """How an authentic message lies to the revocation of its key.

    Args:
        entry: the key, revoked by ``now``.
        said: the instants at which the message says that it was issued or signed.
        fingerprint: the message's.
        evidence: what others say.
        trust: which witnesses are known.
        now: the instant, in nanoseconds since 1970.
    """
    revoked = entry.revoked_at
    assert revoked is not None
    if any(at >= revoked for at in said):
        return Reason.SIGNED_AFTER_REVOCATION
    for each in evidence:
        if (
            each.fingerprint == fingerprint
            and each.at < revoked
            and _may_tell(each.witness, entry, trust, now)
        ):
            return Reason.SIGNED_BEFORE_REVOCATION
    return Reason.REVOKED_TIME_UNKNOWN


def _may_tell(witness: SignerInfo | None, entry: KeyEntry, trust: Trust, now: Instant) -> bool:
    """Whether a witness is another than the revoked key, known, and not revoked either."""
    if witness is None:
        return True
    known = trust.find(witness.key_version, witness.issuer)
    if isinstance(known, Reason) or known.key is None or known.key == entry.key:
        return False
    if known.key.thumbprint != witness.thumbprint:
        return False
    return known.revoked_at is None or now < known.revoked_at

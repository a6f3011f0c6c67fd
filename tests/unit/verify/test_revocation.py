"""A message by a key that is revoked by now: before the revocation, after it, or who knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from receiving import PROFILES, T0, Post
from support import NOW, SAMPLES, instant, key_entry, load, new_signer, pins_of, sign_anyway

from taskseal.errors import InputError, Reason
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.keys.trust import Trust
from taskseal.profiles import BUILT_IN
from taskseal.validity import MINUTE, SECOND, write_instant
from taskseal.verify import Accepted, Evidence, Policy, Refused, SignerInfo, Verifier

PLAN = BUILT_IN["aisa.message/v1"]
AT = instant(NOW)
REVOKED = AT + MINUTE
LATER = AT + 2 * MINUTE
AUDIT = Policy(allow_signed_before_revocation=True)
KEY, OTHER = PrivateKey.generate(), PrivateKey.generate()


def plan() -> dict[str, Any]:
    document: dict[str, Any] = load(SAMPLES / "aisa" / "plan.json")
    return document | {"occurred_on": write_instant(AT - SECOND)}


def message(at: int = AT) -> bytes:
    return sign_anyway(plan(), KeySigner(key_entry(KEY.public), KEY), PLAN, at=write_instant(at))


def pins(*, other_revoked: int | None = None) -> Pins:
    return Pins.of(
        [
            key_entry(KEY.public, revoked_at=REVOKED),
            key_entry(OTHER.public, "receiver/1", revoked_at=other_revoked),
        ]
    )


def reason(
    *evidence: Evidence, policy: Policy | None = None, data: bytes | None = None, **more: Any
) -> Reason | None:
    verifier = Verifier(pins(**more), policy)
    found = verifier.check(data or message(), at=LATER, evidence=evidence)
    return found.reason if isinstance(found, Refused) else None


def fingerprint() -> bytes:
    found = Verifier(pins()).check(message(), at=AT)
    assert isinstance(found, Accepted)
    return found.digest.value


def witness(key: PrivateKey = OTHER, version: str = "receiver/1") -> SignerInfo:
    return SignerInfo("local", version, None, key.public.thumbprint)


def test_without_evidence_and_an_audit_the_key_is_simply_revoked() -> None:
    assert reason() is Reason.KEY_REVOKED
    assert reason(data=message(LATER)) is Reason.KEY_REVOKED


def test_a_committed_record_from_before_proves_it_and_only_an_audit_lets_it_pass() -> None:
    seen = Evidence.recorded(fingerprint(), REVOKED - 1)
    assert reason(seen) is Reason.SIGNED_BEFORE_REVOCATION
    assert reason(seen, policy=AUDIT) is None


def test_the_message_itself_is_no_evidence() -> None:
    assert reason(policy=AUDIT) is Reason.REVOKED_TIME_UNKNOWN


@pytest.mark.parametrize("at", [REVOKED, LATER])
def test_a_message_that_says_so_itself_was_signed_after(at: int) -> None:
    seen = Evidence.recorded(fingerprint(), AT)
    assert reason(seen, policy=AUDIT, data=message(at)) is Reason.SIGNED_AFTER_REVOCATION


def test_a_record_from_after_or_of_another_message_proves_nothing() -> None:
    late = Evidence.recorded(fingerprint(), REVOKED)
    other = Evidence.recorded(bytes(32), AT)
    assert reason(late, other, policy=AUDIT) is Reason.REVOKED_TIME_UNKNOWN


def test_an_acceptance_by_another_standing_key_proves_it() -> None:
    seen = Evidence(fingerprint(), AT, witness())
    assert reason(seen, policy=AUDIT) is None
    assert reason(seen, policy=AUDIT, other_revoked=LATER) is Reason.REVOKED_TIME_UNKNOWN
    assert reason(seen, policy=AUDIT, other_revoked=LATER + 1) is None


@pytest.mark.parametrize(
    "told",
    [witness(KEY, "test/1"), witness(OTHER, "receiver/2"), witness(PrivateKey.generate())],
)
def test_the_thief_an_unknown_key_and_another_key_are_no_witnesses(told: SignerInfo) -> None:
    seen = Evidence(fingerprint(), AT, told)
    assert reason(seen, policy=AUDIT) is Reason.REVOKED_TIME_UNKNOWN


def test_a_forged_message_is_forged_whatever_the_evidence() -> None:
    forged = message().replace(b'"signature":"', b'"signature":"AAAA', 1)
    assert reason(Evidence.recorded(fingerprint(), AT), policy=AUDIT, data=forged) in (
        Reason.SIGNATURE_MALFORMED,
        Reason.BAD_SIGNATURE,
    )


def test_an_audit_changes_nothing_for_a_key_that_stands() -> None:
    signer = new_signer()
    data = sign_anyway(plan(), signer, PLAN)
    found = Verifier(pins_of(signer), AUDIT).check(data, at=LATER)
    assert isinstance(found, Accepted)
    assert "revocation" not in {check.check for check in found.checks}


def test_an_accepted_audit_shows_the_check() -> None:
    seen = Evidence.recorded(fingerprint(), AT)
    found = Verifier(pins(), AUDIT).verify(message(), at=LATER, evidence=[seen])
    assert "revocation" in {check.check for check in found.checks}


def test_a_receivers_acceptance_from_before_the_revocation_is_evidence() -> None:
    post = Post()
    acceptance = post.take("1").commit("done")
    assert acceptance is not None
    sender, receiver = post.sender.entry, post.key.entry
    revoked = replace(sender, revoked_at=T0 + SECOND)
    keys = Trust.of(Pins.of([revoked]), Pins.of([receiver]))
    audit = Verifier(keys, AUDIT, profiles=PROFILES)
    accepted = audit.verify(acceptance, at=T0 + SECOND)
    data = post.blob("1")
    unknown = audit.check(data, at=T0 + SECOND)
    assert isinstance(unknown, Refused)
    assert unknown.reason is Reason.REVOKED_TIME_UNKNOWN
    seen = Evidence.acceptance(accepted)
    assert isinstance(audit.check(data, at=T0 + SECOND, evidence=[seen]), Accepted)


def test_evidence_of_an_acceptance_is_made_of_the_verdict_on_it() -> None:
    verdict = Verifier(pins()).verify(message(), at=AT)
    with pytest.raises(InputError) as caught:
        Evidence.acceptance(verdict)
    assert caught.value.code is Reason.USAGE

"""A task that carries its decision: verified together, and run only when it is released."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from support import (
    NOW,
    SAMPLES,
    VECTORS,
    instant,
    load,
    new_signer,
    pins_of,
    sample_artefacts,
    sample_context,
)

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import Reason
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner
from taskseal.profiles import action_digest, task_action
from taskseal.signing import sign
from taskseal.validity import DAY, MINUTE, read_instant
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier

TASK_KEY = new_signer("tasks/1", profiles=["dharma.task/v1"], at="2026-08-17T20:00:00Z")
JUDGE = new_signer(
    "decisions/1", profiles=["dharma.action-decision-receipt/v1"], at="2026-08-17T20:00:00Z"
)
TRUST = pins_of(TASK_KEY, JUDGE)
AT = "2026-08-17T20:00:00Z"
SIGNING = Policy(allow_unauthorised=True)

(VECTOR,) = [
    vector
    for vector in load(VECTORS / "dharma/receipts.json")["vectors"]
    if vector["name"] == "embedded-release"
]


def bare_task(**members: Any) -> dict[str, Any]:
    outside = ("signature", "actionDecision", "requiredCapabilities")
    task = {
        name: item for name, item in copy.deepcopy(VECTOR["input"]).items() if name not in outside
    }
    return task | {"signerKeyVersion": "tasks/1"} | members


def decision_for(task: dict[str, Any], signer: KeySigner = JUDGE, **receipt: Any) -> dict[str, Any]:
    """A decision about ``task``, whose receipt has the members given."""
    found = copy.deepcopy(VECTOR["input"]["actionDecision"]["receipt"])
    digest = action_digest(task_action(task, found["actionId"])).text("sha256:hex")
    found |= {"actionDigest": digest, "keyVersion": signer.entry.key_version} | receipt
    return {
        "id": found["decisionId"],
        "actionDigest": found["actionDigest"],
        "receipt": found,
        "signature": b64url_encode(signer.sign(canonicalise(found))),
        "keyVersion": found["keyVersion"],
    }


def decided_task(decision: dict[str, Any] | None = None, **receipt: Any) -> dict[str, Any]:
    task = bare_task()
    return task | {
        "requiredCapabilities": ["action_decision_receipts_v1"],
        "actionDecision": decision or decision_for(task, **receipt),
    }


def embedded(task: dict[str, Any]) -> bytes:
    """``task`` with the signature of the key for tasks, whatever else it holds."""
    return canonicalise(task | {"signature": b64url_encode(TASK_KEY.sign(canonicalise(task)))})


def check(task: dict[str, Any], *, at: str = AT, trust: Any = None, **given: Any) -> Any:
    identity = given.pop("identity", None)
    verifier = Verifier(trust or TRUST, given.pop("policy", None), identity=identity)
    return verifier.check(embedded(task), at=at, **given)


def refusal(task: dict[str, Any], **given: Any) -> tuple[Reason, str | None]:
    verdict = check(task, **given)
    assert isinstance(verdict, Refused), verdict
    return verdict.reason, verdict.pointer


CARRIED = [
    "action",
    "receipt",
    "receipt times",
    "receipt binding",
    "action digest",
    "receipt key",
    "receipt signature",
    "receipt signer",
    "receipt state",
]


def test_a_released_task_is_accepted_and_lives_as_long_as_its_receipt() -> None:
    verdict = check(decided_task())
    assert isinstance(verdict, Accepted), verdict
    assert verdict.authorised is True
    assert verdict.expires == read_instant("2026-08-17T20:10:00Z")
    assert verdict.issued == read_instant("2026-08-17T20:00:00Z")
    assert verdict.signer.key_version == "tasks/1"
    names = [line.check for line in verdict.checks]
    start = names.index("action")
    assert names[start : start + len(CARRIED)] == CARRIED
    assert names.index("freshness") < start
    assert names[-1] == "outcome"


@pytest.mark.parametrize("outcome", ["block", "escalate", "withhold"])
def test_any_other_outcome_is_refused_last(outcome: str) -> None:
    verdict = check(decided_task(outcome=outcome))
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.NOT_AUTHORISED
    assert verdict.pointer == "/actionDecision/receipt/outcome"
    assert (verdict.authorised, verdict.authenticated) == (False, True)
    assert verdict.disposition == "dead_letter"
    assert {line.result for line in verdict.checks[:-1]} <= {"passed", "skipped"}
    audited = check(decided_task(outcome=outcome), policy=Policy(allow_unauthorised=True))
    assert isinstance(audited, Accepted)
    assert audited.authorised is False
    assert "outcome" in audited.unchecked
    assert audited.to_json()["authorised"] is False


def test_a_task_without_a_decision_knows_no_authorisation() -> None:
    verdict = check(bare_task())
    assert isinstance(verdict, Accepted), verdict
    assert verdict.authorised is None
    assert not set(CARRIED) & {line.check for line in verdict.checks}


def test_policy_may_want_a_receipt_with_every_task() -> None:
    policy = Policy(require_receipt=True)
    verdict = check(bare_task(), policy=policy)
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.pointer) == (Reason.RECEIPT_MISSING, "/actionDecision")
    assert verdict.authenticated
    assert isinstance(check(decided_task(), policy=policy), Accepted)


def test_a_task_that_asks_for_a_receipt_does_not_fit_its_schema_without_one() -> None:
    task = bare_task(requiredCapabilities=["action_decision_receipts_v1"])
    assert refusal(task) == (Reason.SCHEMA_INVALID, "/actionDecision")
    task = bare_task(actionDecision=decision_for(bare_task()))
    assert refusal(task) == (Reason.SCHEMA_INVALID, "/requiredCapabilities")


def test_a_wanted_receipt_is_no_matter_of_other_systems() -> None:
    signer = new_signer()
    text = (SAMPLES / "aisa/consult.json").read_bytes()
    given: dict[str, Any] = {
        "artefacts": sample_artefacts(),
        "context": sample_context(),
        "at": NOW,
    }
    blob = sign(text, signer, **given).blob
    verifier = Verifier(pins_of(signer), Policy(require_receipt=True))
    verdict = verifier.check(blob, **given)
    assert isinstance(verdict, Accepted), verdict
    assert verdict.authorised is None


AT_RECEIPT = "/actionDecision/receipt"


@pytest.mark.parametrize(
    ("receipt", "reason", "pointer"),
    [
        ({"expiresAt": "2026-08-17T20:31:00Z"}, Reason.INVALID_LIFETIME, "expiresAt"),
        ({"expiresAt": "2026-08-17T20:20:01Z"}, Reason.INVALID_LIFETIME, "expiresAt"),
        ({"expiresAt": "2026-08-17T23:59:60Z"}, Reason.INVALID_LIFETIME, "expiresAt"),
        (
            {"issuedAt": "2026-08-17T19:50:00Z", "expiresAt": "2026-08-17T20:00:00Z"},
            Reason.EXPIRED,
            "expiresAt",
        ),
        ({"issuedAt": "2026-08-17T20:05:01Z"}, Reason.NOT_YET_VALID, "expiresAt"),
        ({"workspaceId": "ws_2"}, Reason.BINDING_MISMATCH, "workspaceId"),
        ({"taskId": "00000999-0000-4000-8000-000000000999"}, Reason.BINDING_MISMATCH, "taskId"),
        ({"actionDigest": "sha256:" + "0" * 64}, Reason.DIGEST_MISMATCH, "actionDigest"),
    ],
)
def test_a_fault_of_the_receipt_is_named_where_it_stands(
    receipt: dict[str, Any], reason: Reason, pointer: str
) -> None:
    assert refusal(decided_task(**receipt)) == (reason, f"{AT_RECEIPT}/{pointer}")


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("id", "00000999-0000-4000-8000-000000000999", Reason.BINDING_MISMATCH),
        ("keyVersion", "decisions/2", Reason.BINDING_MISMATCH),
        ("actionDigest", "sha256:" + "0" * 64, Reason.DIGEST_MISMATCH),
        ("signature", "?", Reason.BAD_SIGNATURE),
        ("signature", "A" * 86, Reason.BAD_SIGNATURE),
        ("extra", 1, Reason.SCHEMA_INVALID),
        ("id", "x", Reason.SCHEMA_INVALID),
    ],
)
def test_a_fault_around_the_receipt_is_named_where_it_stands(
    member: str, value: Any, reason: Reason
) -> None:
    decision = decision_for(bare_task()) | {member: value}
    assert refusal(decided_task(decision)) == (reason, f"/actionDecision/{member}")


def test_a_changed_task_has_another_action_even_when_it_is_signed_anew() -> None:
    for change in (
        {"instructions": "Delete the repository."},
        {"authority": bare_task()["authority"] | {"git": "deploy_allowed"}},
        {"expiresAt": "2026-08-17T20:19:00Z"},
    ):
        task = decided_task() | change
        assert refusal(task) == (Reason.DIGEST_MISMATCH, f"{AT_RECEIPT}/actionDigest")


def test_what_the_action_leaves_out_is_the_task_signatures_to_cover() -> None:
    task = decided_task() | {"nonce": "other", "createdAt": "2026-08-17T19:59:00Z"}
    task["target"] = task["target"] | {"deviceId": "dev_2", "provider": "claude"}
    assert isinstance(check(task), Accepted)


def test_the_tasks_own_faults_come_first() -> None:
    task = decided_task({"forged": True}, outcome="block")
    text = embedded(task).replace(b"dev_1", b"dev_2")
    verdict = Verifier(TRUST).check(text, at=AT)
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.pointer) == (Reason.BAD_SIGNATURE, "/signature")
    assert refusal(task)[0] is Reason.SCHEMA_INVALID
    late = decided_task(workspaceId="ws_2")
    assert refusal(late, at="2026-08-17T20:20:00Z") == (Reason.EXPIRED, "/expiresAt")
    elsewhere = Identity(device="dev_2")
    found = Reason.AUDIENCE_MISMATCH, "/target/deviceId"
    assert refusal(late, identity=elsewhere) == found


def test_the_key_of_a_task_signs_no_receipts() -> None:
    decision = decision_for(bare_task(), TASK_KEY)
    assert refusal(decided_task(decision)) == (
        Reason.KEY_WRONG_PROFILE,
        "/actionDecision/keyVersion",
    )


def test_a_decision_by_nobody_who_is_trusted_is_refused() -> None:
    found = refusal(decided_task(), trust=pins_of(TASK_KEY))
    assert found == (Reason.UNKNOWN_KEY, "/actionDecision/keyVersion")
    verdict = check(decided_task(), trust=pins_of(TASK_KEY))
    assert verdict.authenticated, "the task itself is"


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("ago", [0, 10 * MINUTE, DAY])
def test_a_revoked_judge_decides_nothing_whatever_an_audit_looks_at(audit: bool, ago: int) -> None:
    judge = replace(JUDGE.entry, revoked_at=instant(AT) - ago)
    found = refusal(
        decided_task(),
        trust=Pins.of([TASK_KEY.entry, judge]),
        policy=Policy(allow_signed_before_revocation=audit),
    )
    assert found == (Reason.KEY_REVOKED, "/actionDecision/keyVersion")


def test_a_task_in_a_jws_carries_its_decision_too() -> None:
    policy = Policy(allow_forms=frozenset({"jws"}))
    for outcome, accepted in (("release", True), ("block", False)):
        blob = sign(
            decided_task(outcome=outcome), TASK_KEY, format="jws", at=AT, policy=SIGNING
        ).blob
        verdict = Verifier(TRUST, policy).check(blob, at=AT)
        assert isinstance(verdict, Accepted) == accepted


# Signed.


def test_sign_holds_the_decision_against_the_task() -> None:
    signed = sign(decided_task(), TASK_KEY, at=AT)
    assert signed.expires == read_instant("2026-08-17T20:10:00Z")
    assert isinstance(Verifier(TRUST).check(signed.blob, at=AT), Accepted)


@pytest.mark.parametrize(
    ("receipt", "reason"),
    [
        ({"outcome": "block"}, Reason.NOT_AUTHORISED),
        ({"workspaceId": "ws_2"}, Reason.BINDING_MISMATCH),
        ({"actionDigest": "sha256:" + "0" * 64}, Reason.DIGEST_MISMATCH),
        ({"issuedAt": "2026-08-17T20:06:00Z"}, Reason.NOT_YET_VALID),
    ],
)
def test_sign_refuses_a_task_whose_decision_would_be_refused(
    receipt: dict[str, Any], reason: Reason
) -> None:
    with pytest.raises(Refused) as caught:
        sign(decided_task(**receipt), TASK_KEY, at=AT)
    assert caught.value.reason is reason
    assert (caught.value.pointer or "").startswith("/actionDecision")


def test_sign_refuses_a_decision_without_a_well_formed_signature() -> None:
    task = decided_task(decision_for(bare_task()) | {"signature": "?"})
    with pytest.raises(Refused) as caught:
        sign(task, TASK_KEY, at=AT)
    assert caught.value.reason is Reason.BAD_SIGNATURE


def test_sign_leaves_key_and_signature_of_the_decision_to_the_receiver() -> None:
    stranger = new_signer("decisions/9", profiles=["dharma.action-decision-receipt/v1"], at=AT)
    blob = sign(decided_task(decision_for(bare_task(), stranger)), TASK_KEY, at=AT).blob
    verdict = Verifier(TRUST).check(blob, at=AT)
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.UNKNOWN_KEY


def test_sign_knows_of_a_policy_that_wants_receipts() -> None:
    with pytest.raises(Refused) as caught:
        sign(bare_task(), TASK_KEY, at=AT, policy=Policy(require_receipt=True))
    assert caught.value.reason is Reason.RECEIPT_MISSING


def test_a_filled_task_keeps_its_decision_only_if_the_action_stays() -> None:
    task = decided_task()
    del task["expiresAt"]
    with pytest.raises(Refused) as caught:
        sign(json.dumps(task).encode(), TASK_KEY, at=AT)
    assert caught.value.reason is Reason.DIGEST_MISMATCH

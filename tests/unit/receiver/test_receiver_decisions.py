"""Decisions at a receiver: alone or in a task, each counts once, and only a release counts."""

from __future__ import annotations

import copy
import json
from typing import Any

from support import VECTORS, load, new_signer, pins_of

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import Reason
from taskseal.keys.private import KeySigner
from taskseal.ledger import MemoryLedger
from taskseal.receiver import Duplicate, Job, Receiver
from taskseal.validity import read_instant
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier

AT = "2026-08-17T20:00:00Z"
RECEIPT = "dharma.action-decision-receipt/v1"
JUDGE = new_signer("decisions/1", profiles=[RECEIPT], at=AT)
NEXT_JUDGE = new_signer("decisions/2", profiles=[RECEIPT], at=AT)
TASK_KEY = new_signer("tasks/1", profiles=["dharma.task/v1"], at=AT)

(VECTOR,) = [
    vector
    for vector in load(VECTORS / "dharma/receipts.json")["vectors"]
    if vector["name"] == "embedded-release"
]


def decision(signer: KeySigner = JUDGE, **receipt: Any) -> dict[str, Any]:
    found = copy.deepcopy(VECTOR["input"]["actionDecision"])
    found["receipt"] |= {"keyVersion": signer.entry.key_version} | receipt
    found["keyVersion"] = signer.entry.key_version
    found["signature"] = b64url_encode(signer.sign(canonicalise(found["receipt"])))
    return found


def task(**receipt: Any) -> bytes:
    bare = VECTOR["input"] | {"signerKeyVersion": "tasks/1", "actionDecision": decision(**receipt)}
    del bare["signature"]
    return canonicalise(bare | {"signature": b64url_encode(TASK_KEY.sign(canonicalise(bare)))})


def receiver() -> Receiver:
    now = read_instant(AT)
    assert now is not None
    verifier = Verifier(pins_of(JUDGE, NEXT_JUDGE, TASK_KEY))
    return Receiver(verifier, MemoryLedger(), Identity.ANY, clock=lambda: now)


def alone(*decisions: dict[str, Any]) -> list[Any]:
    here, context = receiver(), {"dharma": {"task": VECTOR["input"]}}
    return [
        here.accept(json.dumps(one).encode(), profile=RECEIPT, context=context) for one in decisions
    ]


def carried(*tasks: bytes) -> list[Any]:
    here = receiver()
    return [here.accept(one) for one in tasks]


def test_a_decision_counts_once() -> None:
    first, again = alone(decision(), decision())
    assert isinstance(first, Accepted), first
    assert first.authorised is True
    assert isinstance(again, Duplicate), again
    ids = [replay.value for replay in first.replay_ids]
    assert ids == ['"00000500-0000-4000-8000-000000000500"', '"receipt-nonce"']


def test_a_decision_signed_again_after_a_rotation_is_the_same() -> None:
    first, again = alone(decision(), decision(NEXT_JUDGE))
    assert isinstance(first, Accepted)
    assert isinstance(again, Duplicate), again


def test_another_decision_under_the_same_id_is_a_conflict() -> None:
    first, other = alone(decision(), decision(confidence=0.5))
    assert isinstance(first, Accepted)
    assert isinstance(other, Refused)
    assert (other.reason, other.pointer) == (Reason.REPLAY_CONFLICT, "/receipt/decisionId")


def test_a_decision_that_does_not_release_leaves_no_trace() -> None:
    blocked, released = alone(decision(outcome="block"), decision())
    assert isinstance(blocked, Refused)
    assert blocked.reason is Reason.NOT_AUTHORISED
    assert isinstance(released, Accepted)


def test_a_released_task_counts_once() -> None:
    first, again = carried(task(), task())
    assert isinstance(first, Accepted)
    assert first.authorised is True
    assert isinstance(again, Duplicate)


def test_a_released_task_is_a_job_that_says_so() -> None:
    job = receiver().receive(task())
    assert isinstance(job, Job)
    assert job.authorised is True
    assert job.expires == read_instant("2026-08-17T20:10:00Z")
    job.release()


def test_a_task_that_is_not_released_leaves_no_trace() -> None:
    blocked, released = carried(task(outcome="escalate"), task())
    assert isinstance(blocked, Refused)
    assert (blocked.reason, blocked.authorised) == (Reason.NOT_AUTHORISED, False)
    assert isinstance(released, Accepted)


def test_a_task_retried_with_a_renewed_receipt_is_a_conflict() -> None:
    renewed = task(nonce="renewed", issuedAt="2026-08-17T20:00:01Z")
    first, other = carried(task(), renewed)
    assert isinstance(first, Accepted)
    assert isinstance(other, Refused)
    assert (other.reason, other.pointer) == (Reason.REPLAY_CONFLICT, "/taskId")


def test_a_receiver_does_not_do_what_was_not_released_even_under_an_audit_policy() -> None:
    now = read_instant(AT)
    assert now is not None
    audit = Verifier(pins_of(JUDGE, NEXT_JUDGE, TASK_KEY), Policy(allow_unauthorised=True))
    blocked = task(outcome="block")
    assert isinstance(audit.check(blocked, at=AT), Accepted)
    here = Receiver(audit, MemoryLedger(), Identity.ANY, clock=lambda: now)
    for verdict in (here.accept(blocked), here.receive(blocked)):
        assert isinstance(verdict, Refused), verdict
        assert verdict.reason is Reason.NOT_AUTHORISED

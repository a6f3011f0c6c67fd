"""Whether an acceptance belongs to a request: swapped, stale, partial and altered pairs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from receiving import (
    DATA,
    HOUR,
    JOB,
    MINUTE,
    NOTE,
    PLAN,
    PROFILES,
    SECOND,
    T0,
    Post,
    job,
    signer_for,
)
from support import (
    SAMPLES,
    embed,
    instant,
    load,
    new_signer,
    pins_of,
    sample_artefacts,
    sample_context,
    sign_anyway,
)

from taskseal.acceptance import verify_acceptance
from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.keys.private import KeySigner
from taskseal.ledger import open_ledger
from taskseal.profiles import ACCEPTANCE, DHARMA_TASK
from taskseal.receiver import Duplicate, Job, Receiver
from taskseal.signing import sign
from taskseal.validity import DAY, write_instant
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier


def pair(post: Post, name: str = "1", **members: Any) -> tuple[bytes, bytes]:
    """A request and the acceptance that it got."""
    acceptance = post.take(name, **members).commit("done")
    assert acceptance is not None
    return post.blob(name, **members), acceptance


def reason(found: Accepted | Refused) -> Reason | None:
    return found.reason if isinstance(found, Refused) else None


def restated(acceptance: bytes, key: KeySigner, **change: Any) -> bytes:
    """The acceptance with another statement, signed by whoever holds ``key``."""
    value = parse(acceptance).value
    said = parse(b64url_decode(value["payload"]) or b"").value | change
    return sign_anyway(said, key, ACCEPTANCE, lifetime=int(7 * DAY / SECOND))


def test_an_acceptance_of_the_request_is_accepted() -> None:
    post = Post()
    request, acceptance = pair(post)
    found = verify_acceptance(request, acceptance, post.requester())
    assert isinstance(found, Accepted), found
    assert found.signer.key_version == "receiver/1"
    assert found.envelope["fingerprint"].startswith("sha256:")
    assert [line.check for line in found.checks][-3:] == [
        "request",
        "time of acceptance",
        "bound material",
    ]


def test_the_receiver_s_identity_and_the_requester_s_own_are_not_compared() -> None:
    post = Post()
    request, acceptance = pair(post)
    mine = Verifier(
        pins_of(post.key), profiles=PROFILES, identity=Identity(audience="x"), clock=post.clock
    )
    assert reason(verify_acceptance(request, acceptance, mine)) is None


def test_the_acceptance_of_another_request_is_swapped() -> None:
    post = Post()
    request, _ = pair(post, "1")
    _, other = pair(post, "2")
    found = verify_acceptance(request, other, post.requester())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.ACCEPTANCE_SWAPPED, "/fingerprint")
    assert found.authenticated
    assert found.checks[-1].check == "request"


def test_the_acceptance_of_a_request_of_another_profile_or_issuer_is_swapped() -> None:
    post = Post(identity=Identity.ANY)
    note = sign_anyway({"kind": "acme.note", "noteId": "1"}, post.sender, NOTE)
    request, acceptance = pair(post)
    found = verify_acceptance(note, acceptance, post.requester())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.ACCEPTANCE_SWAPPED, "/profile")
    accepted = post.receiver.accept(note)
    assert isinstance(accepted, Job) and accepted.acceptance is not None
    assert reason(verify_acceptance(note, accepted.acceptance, post.requester())) is None
    # The same note, as another issuer signed it.
    other = signer_for(NOTE.id, issuer="elsewhere")
    theirs = sign_anyway({"kind": "acme.note", "noteId": "1"}, other, NOTE)
    found = verify_acceptance(theirs, accepted.acceptance, post.requester())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.ACCEPTANCE_SWAPPED, "/signer/issuer")
    lying = restated(acceptance, post.key, digest="sha256:" + "0" * 64)
    found = verify_acceptance(request, lying, post.requester())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.ACCEPTANCE_SWAPPED, "/digest")


def test_the_acceptance_of_an_earlier_attempt_under_the_same_id_is_stale() -> None:
    post = Post()
    _, earlier = pair(post, "1")
    post.wait(20 * MINUTE)
    second = post.blob(
        "1",
        nonce="nonce-again",
        issuedAt=write_instant(post.now),
        expiresAt=write_instant(post.now + MINUTE),
    )
    found = verify_acceptance(second, earlier, post.requester())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.ACCEPTANCE_STALE, "/fingerprint")


@pytest.mark.parametrize(
    ("received", "fits"),
    [
        (T0 - 300 * SECOND - 1, False),
        (T0 - 300 * SECOND, True),
        (T0 + 15 * MINUTE - 1, True),
        (T0 + 15 * MINUTE, False),
    ],
)
def test_an_acceptance_from_outside_the_request_s_time_is_stale(received: int, fits: bool) -> None:
    post = Post()
    request, acceptance = pair(post)
    moved = restated(
        acceptance,
        post.key,
        receivedAt=write_instant(received),
        acceptedAt=write_instant(T0 + HOUR),
    )
    post.wait(HOUR)
    found = verify_acceptance(request, moved, post.requester())
    assert reason(found) is (None if fits else Reason.ACCEPTANCE_STALE), found
    if isinstance(found, Refused):
        assert found.pointer == "/receivedAt"


def test_work_may_end_after_the_request_has_expired() -> None:
    post = Post()
    job = post.take()
    post.wait(3 * HOUR)
    acceptance = job.commit()
    assert acceptance is not None
    assert reason(verify_acceptance(post.blob(), acceptance, post.requester())) is None


def test_a_signature_s_own_time_counts_where_the_message_has_none() -> None:
    post = Post(identity=Identity.ANY)
    note = {"kind": "acme.note", "noteId": "1"}
    first = sign_anyway(note, post.sender, NOTE)
    accepted = post.receiver.accept(first)
    assert isinstance(accepted, Job) and accepted.acceptance is not None
    later = sign_anyway(note, post.sender, NOTE, at=write_instant(T0 + HOUR))
    post.wait(HOUR)
    found = verify_acceptance(later, accepted.acceptance, post.requester())
    assert reason(found) is Reason.ACCEPTANCE_STALE
    assert reason(verify_acceptance(first, accepted.acceptance, post.requester())) is None


def test_an_acceptance_that_has_expired_is_stale_unless_looked_at_as_of_then() -> None:
    post = Post()
    request, acceptance = pair(post)
    post.wait(30 * DAY)
    found = verify_acceptance(request, acceptance, post.requester())
    assert isinstance(found, Refused)
    assert found.reason is Reason.ACCEPTANCE_STALE
    assert [line.check for line in found.checks if line.result == "failed"] == ["freshness"]
    assert reason(verify_acceptance(request, acceptance, post.requester(), at=T0)) is None


def test_an_acceptance_from_the_future_is_refused_as_any_message_is() -> None:
    post = Post()
    request, acceptance = pair(post)
    found = verify_acceptance(request, acceptance, post.requester(), at=T0 - DAY)
    assert reason(found) is Reason.NOT_YET_VALID


def test_an_acceptance_that_leaves_bound_material_unchecked_is_partial() -> None:
    post = Post()
    found = post.receiver.receive(post.blob(), artefacts={"data": DATA})
    assert isinstance(found, Job)
    acceptance = found.commit()
    assert acceptance is not None
    partial = verify_acceptance(post.blob(), acceptance, post.requester())
    assert isinstance(partial, Refused)
    assert partial.reason is Reason.ACCEPTANCE_PARTIAL
    assert "/plan" in partial.detail
    taken = verify_acceptance(post.blob(), acceptance, post.requester(), allow_partial=True)
    assert isinstance(taken, Accepted)


def test_an_artefact_that_was_checked_late_makes_it_whole() -> None:
    post = Post()
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Job)
    found.check("plan", PLAN)
    found.check("data", DATA)
    acceptance = found.commit()
    assert acceptance is not None
    assert reason(verify_acceptance(post.blob(), acceptance, post.requester())) is None


def test_an_acceptance_that_omits_or_renames_a_check_is_partial() -> None:
    post = Post()
    request, acceptance = pair(post)
    said = parse(b64url_decode(parse(acceptance).value["payload"]) or b"").value
    without = [line for line in said["checks"] if line["pointer"] != "/data"]
    renamed = [line | {"pointer": None} for line in said["checks"]]
    for checks in (without, renamed, []):
        lying = restated(
            acceptance,
            post.key,
            checks=checks,
            unchecked=[line["check"] for line in checks if line["result"] == "skipped"],
        )
        found = verify_acceptance(request, lying, post.requester())
        assert reason(found) is Reason.ACCEPTANCE_PARTIAL


def test_what_nobody_released_is_partial_too() -> None:
    post = Post()
    request, acceptance = pair(post)
    held = restated(acceptance, post.key, authorised=False)
    found = verify_acceptance(request, held, post.requester())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.ACCEPTANCE_PARTIAL, "/authorised")


def alterations(acceptance: bytes) -> list[tuple[bytes, set[Reason]]]:
    value = json.loads(acceptance)
    said = json.loads(b64url_decode(value["payload"]) or b"")
    payload = b64url_encode(canonicalise(said | {"acceptedAt": "2026-09-01T08:35:01Z"}))
    other = "B" if value["signature"][0] == "A" else "A"
    bad, malformed = Reason.BAD_SIGNATURE, Reason.SIGNATURE_MALFORMED
    return [
        (json.dumps(value | {"payload": payload}).encode(), {bad}),
        (json.dumps(value | {"signature": other + value["signature"][1:]}).encode(), {bad}),
        (json.dumps(value | {"signature": value["signature"][:-4]}).encode(), {malformed}),
        (json.dumps(value | {"signature": value["signature"] + "="}).encode(), {malformed}),
        (json.dumps(value | {"protected": value["protected"][:-2]}).encode(), {malformed}),
        (acceptance[:-1], {Reason.MALFORMED_JSON}),
        (b"", {Reason.MALFORMED_JSON}),
        (b"{}", {Reason.SCHEMA_INVALID}),
        (canonicalise(said), {Reason.SIGNATURE_MISSING}),
    ]


def test_an_altered_acceptance_is_no_signature_of_the_receiver_s() -> None:
    post = Post()
    request, acceptance = pair(post)
    for altered, reasons in alterations(acceptance):
        found = verify_acceptance(request, altered, post.requester())
        assert reason(found) in reasons, altered
        assert isinstance(found, Refused)
        assert not found.authenticated


def test_the_word_of_another_is_no_acceptance() -> None:
    post = Post()
    request, acceptance = pair(post)
    stranger = signer_for(ACCEPTANCE.id, version="receiver/1", issuer="worker")
    found = verify_acceptance(request, restated(acceptance, stranger), post.requester())
    assert reason(found) is Reason.BAD_SIGNATURE
    unknown = signer_for(ACCEPTANCE.id, version="receiver/2", issuer="worker")
    found = verify_acceptance(request, restated(acceptance, unknown), post.requester())
    assert reason(found) is Reason.UNKNOWN_KEY
    task_key = signer_for(JOB.id, version="receiver/1", issuer="worker")
    trusting = Verifier(pins_of(task_key), profiles=PROFILES, clock=post.clock)
    found = verify_acceptance(request, restated(acceptance, task_key), trusting)
    assert reason(found) is Reason.KEY_WRONG_PROFILE
    # A request is not its own acceptance, whoever signed it.
    found = verify_acceptance(
        request, request, Verifier(pins_of(post.sender), clock=post.clock, profiles=PROFILES)
    )
    assert reason(found) is Reason.SCHEMA_INVALID


def test_a_request_that_was_signed_again_is_answered_by_the_acceptance_of_its_first_copy() -> None:
    rotated = signer_for(JOB.id, version="test/2")
    post = Post(trusted=[rotated])
    first, acceptance = pair(post)
    again = embed(job(signedBy="test/2"), rotated, "proof")
    duplicate = post.receiver.receive(again)
    assert isinstance(duplicate, Duplicate)
    assert duplicate.acceptance == acceptance
    for copy in (first, again):
        assert reason(verify_acceptance(copy, acceptance, post.requester())) is None


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"", Reason.MALFORMED_JSON),
        (b"[]", Reason.UNKNOWN_PROFILE),
        (b'{"kind":"acme.note","noteId":"1"}', Reason.SIGNATURE_MISSING),
        (b'{"a":1,"a":2}', Reason.DUPLICATE_MEMBER),
        (b'{"payload":"x","protected":"e30","signature":"AA"}', Reason.SIGNATURE_MALFORMED),
    ],
)
def test_a_request_that_cannot_be_read_is_the_caller_s_own_fault(
    request_: bytes, code: Reason
) -> None:
    post = Post()
    _, acceptance = pair(post)
    with pytest.raises(InputError) as caught:
        verify_acceptance(request_, acceptance, post.requester())
    assert (caught.value.code, caught.value.exit_code) == (code, 3)
    assert caught.value.detail.startswith("the request: ")


def test_a_request_whose_signature_stands_beside_it_needs_that_file() -> None:
    post = Post(identity=Identity.ANY)
    note = canonicalise({"kind": "acme.note", "noteId": "1"})
    beside = sign_anyway(note, post.sender, NOTE, detached=True)
    accepted = post.receiver.accept(note, signature=beside)
    assert isinstance(accepted, Job) and accepted.acceptance is not None
    found = verify_acceptance(note, accepted.acceptance, post.requester(), signature=beside)
    assert reason(found) is None
    with pytest.raises(InputError) as caught:
        verify_acceptance(note, accepted.acceptance, post.requester())
    assert caught.value.code is Reason.SIGNATURE_MISSING


def test_the_outcome_that_came_back_is_held_against_the_acceptance() -> None:
    post = Post()
    acceptance = post.take().commit(b"the answer")
    assert acceptance is not None
    for answer, wanted in ((b"the answer", None), (b"another", Reason.DIGEST_MISMATCH)):
        found = verify_acceptance(
            post.blob(), acceptance, post.requester(), artefacts={"outcome": answer}
        )
        assert reason(found) is wanted


def test_a_dharma_task_and_its_acceptance_belong_together(vectors: Any) -> None:
    listed = load(vectors / "dharma/task-envelopes.json")["vectors"]
    bare = next(each["input"] for each in listed if each["expected"]["ok"])
    task = {name: item for name, item in bare.items() if name not in ("signature", "nonce")}
    at = instant("2026-08-17T20:00:01Z")
    signer = new_signer("kms/tasks/1", profiles=[DHARMA_TASK.id])
    key = signer_for(ACCEPTANCE.id, version="receiver/1")
    blobs = [sign(task, signer, at=at).blob for _ in range(2)]
    with open_ledger("memory:") as ledger:
        receiver = Receiver(
            Verifier(pins_of(signer), clock=lambda: at),
            ledger,
            Identity(organisation="org_test"),
            signer=key,
            clock=lambda: at,
        )
        found = receiver.accept(blobs[0])
    assert isinstance(found, Job) and found.acceptance is not None
    requester = Verifier(pins_of(key), clock=lambda: at)
    assert reason(verify_acceptance(blobs[0], found.acceptance, requester)) is None
    # The same task under a new nonce is another attempt.
    stale = verify_acceptance(blobs[1], found.acceptance, requester)
    assert reason(stale) is Reason.ACCEPTANCE_STALE


def test_a_policy_that_takes_more_skew_takes_acceptances_of_that_much_more() -> None:
    post = Post(policy=Policy(past_skew=MINUTE))
    post.wait(15 * MINUTE + 30 * SECOND)
    request, acceptance = pair(post)
    strict = post.requester()
    assert reason(verify_acceptance(request, acceptance, strict)) is Reason.ACCEPTANCE_STALE
    lenient = Verifier(
        pins_of(post.key), Policy(past_skew=MINUTE), profiles=PROFILES, clock=post.clock
    )
    assert reason(verify_acceptance(request, acceptance, lenient)) is None


def test_the_samples_accepted_with_all_their_artefacts_are_whole() -> None:
    signer, key = new_signer(), signer_for(ACCEPTANCE.id, version="receiver/1")
    known: dict[str, Any] = {"artefacts": sample_artefacts(), "context": sample_context()}
    for folder in ("aisa", "orbiplex"):
        for path in sorted((SAMPLES / folder).glob("*.json")):
            with open_ledger("memory:") as ledger:
                verifier = Verifier(pins_of(signer), clock=lambda: T0)
                receiver = Receiver(verifier, ledger, Identity.ANY, signer=key, clock=lambda: T0)
                blob = sign(path.read_bytes(), signer, at=T0, **known).blob
                found = receiver.accept(blob, **known)
            assert isinstance(found, Job) and found.acceptance is not None, path
            requester = Verifier(pins_of(key), clock=lambda: T0)
            assert reason(verify_acceptance(blob, found.acceptance, requester)) is None, path

"""What an acceptance says, and that it is signed like any message that matters."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from receiving import HOUR, JOB, MINUTE, T0, Post, job, signer_for
from support import embed, load, pins_of

from taskseal.acceptance import policy_digest
from taskseal.canon.digest import Digest
from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.trust import Trust
from taskseal.profiles import ACCEPTANCE, BUILT_IN, AisaIdentity
from taskseal.profiles.custom import custom_profile
from taskseal.profiles.schema import Schema
from taskseal.receiver import Duplicate, Job, Receiver
from taskseal.signing import sign
from taskseal.validity import DAY, Window, write_instant
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier


def parts(acceptance: bytes | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The protected header and the statement of an acceptance."""
    assert acceptance is not None
    value = parse(acceptance).value
    texts = [b64url_decode(value[name]) for name in ("protected", "payload")]
    header, said = (parse(text or b"").value for text in texts)
    return header, said


def said_by(acceptance: bytes | None) -> dict[str, Any]:
    return parts(acceptance)[1]


def test_an_acceptance_says_what_was_accepted_by_whom_and_what_came_of_it() -> None:
    post = Post(identity=Identity(audience="me", aisa=AisaIdentity("task-1", "p", 1, "root/x")))
    taken = post.take()
    post.wait(MINUTE)
    header, said = parts(taken.commit({"b": 1, "a": 2.0}, {"report": Digest.of(b"r")}))
    assert header["typ"] == ACCEPTANCE.typ == "vnd.taskseal.taskseal.acceptance.v1+jws"
    assert (header["kid"], header["iss"]) == ("receiver/1", "worker")
    bare = {name: item for name, item in job().items() if name != "proof"}
    signer = taken.signer
    assert said == {
        "schema": "taskseal.acceptance/v1",
        "verdict": "accepted",
        "reason": None,
        "profile": JOB.id,
        "digest": Digest.of_json(bare).text("sha256:hex"),
        "fingerprint": Digest.of_json(
            {name: item for name, item in bare.items() if name != "signedBy"}
        ).text("sha256:hex"),
        "replayIds": [
            {"scope": f'["acme.job/v1","local","c-1","/{name}"]', "value": f'"{value}"'}
            for name, value in (("jobId", "job-1"), ("nonce", "nonce-1"))
        ],
        "signer": {
            "issuer": "local",
            "keyVersion": "test/1",
            "principal": None,
            "thumbprint": signer.thumbprint,
        },
        "form": "embedded",
        "canonical": "rfc8785",
        "issuedAt": "2026-09-01T08:35:00Z",
        "expiresAt": "2026-09-01T08:50:00Z",
        "authorised": None,
        "checks": [
            {
                "check": line.check,
                "result": line.result,
                "detail": line.detail or None,
                "pointer": line.pointer,
            }
            for line in taken.checks
        ],
        "unchecked": ["audience"],
        "artefacts": [{"name": "report", "digest": Digest.of(b"r").text("sha256:hex")}],
        "outcome": {"kind": "json", "digest": Digest.of(b'{"a":2,"b":1}').text("sha256:hex")},
        "receiver": {
            "audience": "me",
            "organisation": None,
            "workspace": None,
            "device": None,
            "aisaTask": "task-1",
            "any": False,
        },
        "keysetGeneration": None,
        "policyDigest": policy_digest(Policy()).text("sha256:hex"),
        "receivedAt": "2026-09-01T08:35:00Z",
        "acceptedAt": "2026-09-01T08:36:00Z",
        "keptUntil": "2026-09-08T08:50:00Z",
    }


def test_the_same_work_gives_the_same_bytes_and_they_are_canonical() -> None:
    post = Post()
    first = post.take().commit("done")
    other = Post()
    other.sender, other.key = post.sender, post.key
    twin = Receiver(
        Verifier(pins_of(post.sender), profiles=post.verifier.profiles, clock=other.clock),
        other.ledger,
        post.receiver.identity,
        signer=post.key,
        clock=other.clock,
    )
    found = twin.receive(post.blob(), artefacts=post.artefacts())
    assert isinstance(found, Job)
    second = found.commit("done")
    assert first == second is not None
    assert canonicalise(json.loads(first)) == first
    assert "nonce" not in parts(first)[0]


def test_an_acceptance_verifies_like_any_message_with_what_came_beside_it() -> None:
    post = Post()
    acceptance = post.take().commit({"done": True}, {"report": Digest.of(b"the report")})
    assert acceptance is not None
    verifier = Verifier(pins_of(post.key), clock=post.clock)
    alone = verifier.verify(acceptance)
    assert (alone.profile, alone.form) == (ACCEPTANCE.id, "jws")
    assert alone.unchecked == ("audience", "outcome", "artefact")
    beside = {"outcome": b'{ "done": true }', "report": b"the report"}
    assert verifier.verify(acceptance, artefacts=beside).unchecked == ("audience",)
    for name, other in (("outcome", b'{"done":false}'), ("report", b"another")):
        refused = verifier.check(acceptance, artefacts=beside | {name: other})
        assert isinstance(refused, Refused)
        assert refused.reason is Reason.DIGEST_MISMATCH


def test_an_acceptance_is_received_once_like_any_message() -> None:
    post = Post()
    acceptance = post.take().commit()
    assert acceptance is not None
    receiver = Receiver(post.requester(), post.ledger, Identity.ANY, clock=post.clock)
    assert isinstance(receiver.accept(acceptance), Accepted)
    assert isinstance(receiver.accept(acceptance), Duplicate)


def test_the_policy_s_digest_tells_policies_apart_by_what_they_say() -> None:
    schema = Schema.user({"type": "object"}, "ceiling.json")
    policies = [
        Policy(),
        Policy(require_artefacts=True),
        Policy(past_skew=1),
        Policy(max_age=400 * DAY),
        Policy(allow_forms=frozenset({"jws"})),
        Policy(allow_forms=frozenset({"jws", "embedded"})),
        Policy(forms={"a.b/v1": frozenset({"jws"})}),
        Policy(max_lifetime={"a.b/v1": 2**60}),
        Policy(unversioned_key="k/1"),
        Policy(max_lifetime={"a.b/v1": schema}),  # type: ignore[dict-item]  # a schema, wherever it stands
        Policy(max_lifetime={"a.b/v1": [1, (2,), None]}),  # type: ignore[dict-item]  # as above
    ]
    digests = [policy_digest(policy) for policy in policies]
    assert len(set(digests)) == len(policies)
    assert policy_digest(Policy(allow_forms=frozenset({"embedded", "jws"}))) == digests[5]
    assert policy_digest(replace(Policy())) == digests[0]


def test_a_policy_that_was_used_is_the_policy_that_it_was() -> None:
    policy = Policy(require_artefacts=True)
    first = policy_digest(policy)
    post = Post(policy=policy)
    assert isinstance(post.take().commit(), bytes)
    assert policy_digest(policy) == first
    assert pickle.loads(pickle.dumps(policy)) == copy.deepcopy(policy) == policy


def test_a_policy_without_a_canonical_form_is_found_out_when_the_receiver_is_built() -> None:
    with pytest.raises(InputError) as caught:
        Post(policy=Policy(forms={"a.b/v1": object()}))  # type: ignore[dict-item]  # that is the point
    assert caught.value.code is Reason.UNSUPPORTED_TYPE
    assert caught.value.pointer == "/forms/a.b/v1"


def test_the_generation_is_that_of_the_keyset_that_listed_the_key() -> None:
    post = Post()
    window = Window(T0 - HOUR, T0 + HOUR)
    listed = replace(post.sender.entry, keyset=window, generation=7)
    trust = Trust((), {("local", "test/1"): listed})
    verifier = Verifier(trust, profiles=post.verifier.profiles)
    receiver = Receiver(
        verifier, post.ledger, Identity(audience="me"), signer=post.key, clock=post.clock
    )
    found = receiver.accept(post.blob(), artefacts=post.artefacts())
    assert isinstance(found, Job), found
    assert said_by(found.acceptance)["keysetGeneration"] == 7


def test_a_long_replay_id_stands_as_its_digest() -> None:
    post = Post()
    name = "x" * 5000
    said = said_by(post.take(name).commit())
    values = [each["value"] for each in said["replayIds"]]
    assert values == [
        Digest.of(f'"{kind}-{name}"'.encode()).text("sha256:hex") for kind in ("job", "nonce")
    ]


def test_work_that_takes_longer_than_everything_else_still_gets_an_acceptance() -> None:
    post = Post(keep_acceptances=0)
    taken = post.take()
    post.wait(30 * DAY)
    acceptance = taken.commit()
    assert acceptance is not None
    said = said_by(acceptance)
    assert said["keptUntil"] == write_instant(post.now + 15 * MINUTE)
    assert isinstance(post.requester().check(acceptance), Accepted)


def test_a_message_that_lives_until_the_last_year_gets_an_acceptance() -> None:
    endless = custom_profile(
        b'id = "acme.ever/v1"\ndiscriminator = { pointer = "/kind", constant = "acme.ever" }\n'
        b'signature = "/proof"\nkey_version = "/signedBy"\nreplay_ids = ["/id"]\n'
        b'issued = "/from"\nexpires = "/to"\nmax_lifetime = 999999999\n',
        source="ever.toml",
    )
    post = Post()
    now = 253_402_300_000 * 10**9
    end = 253_402_300_799 * 10**9
    signer = signer_for(endless.id, accept_until=end, sign_until=end)
    key = signer_for(ACCEPTANCE.id, accept_until=end, sign_until=end)
    value = {
        "kind": "acme.ever",
        "id": "1",
        "signedBy": "test/1",
        "from": "9999-12-31T23:00:00Z",
        "to": "9999-12-31T23:59:59.999999999Z",
    }
    verifier = Verifier(pins_of(signer), profiles={endless.id: endless}, clock=lambda: now)
    receiver = Receiver(verifier, post.ledger, Identity.ANY, signer=key, clock=lambda: now)
    found = receiver.accept(embed(value, signer, "proof"))
    assert isinstance(found, Job), found
    assert said_by(found.acceptance)["keptUntil"] == "9999-12-31T23:59:59Z"


def test_acceptances_are_signed_by_sign_as_well_but_never_bare() -> None:
    post = Post()
    said = said_by(post.take().commit())
    key = signer_for(ACCEPTANCE.id, version="receiver/2")
    kept = timedelta(days=8)
    signed = sign(canonicalise(said), key, fill=False, at=T0, expires_in=kept)
    assert signed.format == "jws"
    with pytest.raises(InputError):
        sign(canonicalise(said), key, format="embedded", at=T0)
    with pytest.raises(MaterialError):
        sign(canonicalise(said), signer_for(JOB.id), at=T0)
    assert not ACCEPTANCE.bare
    assert BUILT_IN[ACCEPTANCE.id] is ACCEPTANCE


BROKEN: list[tuple[dict[str, Any], Reason, str]] = [
    ({"verdict": "refused"}, Reason.SCHEMA_INVALID, "/verdict"),
    ({"extra": 1}, Reason.SCHEMA_INVALID, "/extra"),
    ({"digest": "sha256:00"}, Reason.SCHEMA_INVALID, "/digest"),
    ({"policyDigest": None}, Reason.SCHEMA_INVALID, "/policyDigest"),
    ({"keysetGeneration": -1}, Reason.SCHEMA_INVALID, "/keysetGeneration"),
    ({"outcome": {"kind": "yaml", "digest": "sha256:" + "0" * 64}}, Reason.SCHEMA_INVALID, ""),
    ({"acceptedAt": "2026-09-01T08:34:59Z"}, Reason.SEMANTIC_INVALID, "/acceptedAt"),
    ({"unchecked": []}, Reason.SEMANTIC_INVALID, "/unchecked"),
    (
        {"artefacts": [{"name": "outcome", "digest": "sha256:" + "0" * 64}]},
        Reason.SEMANTIC_INVALID,
        "/artefacts/0/name",
    ),
    (
        {"artefacts": [{"name": "a", "digest": "sha256:" + "0" * 64}] * 2},
        Reason.SEMANTIC_INVALID,
        "/artefacts/1/name",
    ),
]


@pytest.mark.parametrize(("change", "reason", "pointer"), BROKEN)
def test_a_statement_that_contradicts_its_schema_or_itself_is_refused(
    change: dict[str, Any], reason: Reason, pointer: str
) -> None:
    post = Post()
    said = said_by(post.take().commit()) | change
    key = signer_for(ACCEPTANCE.id)
    with pytest.raises(Refused) as caught:
        sign(canonicalise(said), key, fill=False, at=T0)
    assert caught.value.reason is reason, caught.value
    assert (caught.value.pointer or "").startswith(pointer)


def test_every_member_of_the_schema_is_obligatory(root: Any) -> None:
    schema = load(root / "schemas/taskseal.acceptance.v1.schema.json")
    assert set(schema["required"]) == set(schema["properties"])

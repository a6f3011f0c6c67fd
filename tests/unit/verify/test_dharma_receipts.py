"""Decisions that come alone: the peer's reasons in the peer's order, ours after."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from support import VECTORS, instant, key_entry, load, new_signer, pins_of, public_key

from taskseal.canon.dharma import portability
from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.pointer import split
from taskseal.errors import REASONS, InputError, MaterialError, Reason
from taskseal.keys.entry import freeze_bind
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.keys.trust import Trust
from taskseal.profiles import BUILT_IN, action_digest
from taskseal.signing import sign
from taskseal.validity import DAY, MINUTE, read_instant, write_instant
from taskseal.verify import Accepted, Evidence, Identity, Policy, Refused, Verifier
from taskseal.verify.gate import open_message
from taskseal.wire.embedded import put, without

PROFILE = "dharma.action-decision-receipt/v1"
RECEIPTS = load(VECTORS / "dharma/receipts.json")["vectors"]
KEYS = load(VECTORS / "dharma/keys.json")["keys"]
ALLOWED = Policy(allow_published_keys=True)
AUDIT = Policy(allow_published_keys=True, allow_unauthorised=True)
NOW = "2026-08-17T20:00:00.000Z"
SIGNER = new_signer("decisions/1", profiles=[PROFILE], at=NOW)

# What the peer lets through and we do not.
WEAK = {
    "weak-receipt-state-hash-unrelated-ok": (
        Reason.STATE_MISMATCH,
        "/receipt/evidenceReferences",
    ),
    "weak-receipt-envelope-extra-field-ok": (Reason.RECEIPT_SCHEMA_INVALID, "/extra"),
}


def each(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["name"])


def named(name: str) -> dict[str, Any]:
    (vector,) = [vector for vector in RECEIPTS if vector["name"] == name]
    return copy.deepcopy(vector)


def decision_of(vector: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = vector["input"].get("envelope") or vector["input"]["actionDecision"]
    return found


def context_of(vector: dict[str, Any]) -> dict[str, Any]:
    if "envelope" in vector["input"]:
        return {"dharma": {"action": vector["input"]["action"]}}
    return {"dharma": {"task": vector["input"]}}


def trust_of(vector: dict[str, Any]) -> Trust:
    entries = []
    for version, digits in vector["keys"].items():
        key = public_key(b64url_encode(bytes.fromhex(digits)))
        entries.append(key_entry(key, version, profiles=[PROFILE], at=vector["now"]))
    return Trust.of(Pins.of(entries)) if entries else Trust((), {})


def check(vector: dict[str, Any], policy: Policy = ALLOWED) -> Accepted | Refused:
    return Verifier(trust_of(vector), policy).check(
        json.dumps(decision_of(vector)).encode(),
        profile=PROFILE,
        context=context_of(vector),
        at=vector["now"],
    )


def peer_reason(expected: dict[str, Any]) -> str | None:
    """The reason, or in an error text the word after the colon."""
    found = re.search(r": (\w+)\.$", expected.get("error", ""))
    return expected.get("reason") or (found[1] if found else None)


@each([vector for vector in RECEIPTS if not vector["expected"]["ok"]])
def test_what_the_peer_refuses_is_refused_with_its_reason(vector: dict[str, Any]) -> None:
    verdict = check(vector)
    assert isinstance(verdict, Refused), verdict
    assert verdict.reason == peer_reason(vector["expected"])
    assert (verdict.authorised, verdict.authenticated) == (None, False)


@each([v for v in RECEIPTS if v["expected"]["ok"] and v["name"] not in WEAK])
def test_what_the_peer_accepts_is_accepted_with_its_outcome(vector: dict[str, Any]) -> None:
    receipt = decision_of(vector)["receipt"]
    verdict = check(vector, AUDIT)
    assert isinstance(verdict, Accepted), verdict
    assert verdict.authorised is (receipt["outcome"] == "release")
    assert verdict.signer.key_version == "kms/decisions/1"
    assert (verdict.form, verdict.canonical, verdict.profile) == ("embedded", "rfc8785", PROFILE)
    assert verdict.issued == read_instant(receipt["issuedAt"])
    assert verdict.expires == read_instant(receipt["expiresAt"])
    handed_over = "receipt state" not in verdict.unchecked
    assert handed_over == ("source" in next(iter(context_of(vector)["dharma"].values())))


@each([vector for vector in RECEIPTS if vector["name"] in WEAK])
def test_what_the_peer_lets_through_is_refused_with_our_reason(vector: dict[str, Any]) -> None:
    verdict = check(vector)
    assert isinstance(verdict, Refused), verdict
    assert (verdict.reason, verdict.pointer) == WEAK[vector["name"]]
    assert verdict.authenticated


def test_every_weakness_has_a_reason_here() -> None:
    weak = {
        vector["name"]
        for vector in RECEIPTS
        if vector["name"].startswith("weak-") or vector.get("note", "").startswith("WEAKNESS")
    }
    assert weak == WEAK.keys()


@each([vector for vector in RECEIPTS if "receiptCanonical" in vector["expected"]])
def test_the_bytes_and_digests_are_the_peers(vector: dict[str, Any]) -> None:
    expected = vector["expected"]
    assert canonicalise(decision_of(vector)["receipt"]).decode() == expected["receiptCanonical"]
    verdict = check(vector, AUDIT)
    if isinstance(verdict, Accepted):
        assert verdict.digest.text("sha256:hex") == expected["receiptSha256"]
        action = vector["input"]["action"]
        assert action_digest(action).text("sha256:hex") == decision_of(vector)["actionDigest"]


def peer_signer() -> KeySigner:
    key = PrivateKey(bytes.fromhex(KEYS["decision"]["privateSeedHex"]))
    return KeySigner(key_entry(key.public, "kms/decisions/1", profiles=[PROFILE], at=NOW), key)


@each([v for v in RECEIPTS if v["expected"]["ok"] and v["name"] not in WEAK])
def test_signing_the_same_receipt_gives_the_same_signature(vector: dict[str, Any]) -> None:
    decision = decision_of(vector)
    signed = sign(
        without(decision, ["/signature"]),
        peer_signer(),
        profile=PROFILE,
        context=context_of(vector),
        policy=ALLOWED,
        fill=False,
        at=vector["now"],
    )
    assert json.loads(signed.blob) == decision
    assert signed.expires == read_instant(decision["receipt"]["expiresAt"])


@pytest.mark.parametrize("outcome", ["block", "escalate", "withhold"])
def test_an_outcome_but_release_is_refused_when_everything_else_has_held(outcome: str) -> None:
    vector = named(f"receipt-{outcome}-ok")
    verdict = check(vector)
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.pointer) == (Reason.NOT_AUTHORISED, "/receipt/outcome")
    assert verdict.authorised is False
    assert verdict.authenticated
    assert [c.check for c in verdict.checks if c.result == "failed"] == ["outcome"]
    assert verdict.to_json()["authorised"] is False
    audited = check(vector, AUDIT)
    assert isinstance(audited, Accepted)
    assert "outcome" in audited.unchecked
    assert {c.check for c in audited.checks} == {c.check for c in verdict.checks}


# From here on decisions of our own, signed anew after each change.


def decided(
    receipt: dict[str, Any] | None = None,
    action: dict[str, Any] | None = None,
    signer: KeySigner = SIGNER,
) -> dict[str, Any]:
    """A vector whose receipt and action have the members given, well bound and signed."""
    vector = named("receipt-release-ok")
    made = vector["input"]["action"] | (action or {})
    found = vector["input"]["envelope"]["receipt"]
    found |= {"keyVersion": signer.entry.key_version}
    made_of = action_digest(made, allow_divergent=True)
    found |= {"actionDigest": made_of.text("sha256:hex")}
    found |= receipt or {}
    vector["input"] = {"envelope": enclosed(found, signer), "action": made}
    return vector


def enclosed(receipt: dict[str, Any], signer: KeySigner = SIGNER) -> dict[str, Any]:
    return {
        "id": receipt.get("decisionId"),
        "actionDigest": receipt.get("actionDigest"),
        "receipt": receipt,
        "signature": b64url_encode(signer.sign(canonicalise(receipt))),
        "keyVersion": receipt.get("keyVersion"),
    }


def judged(vector: dict[str, Any], *, at: str = NOW, **given: Any) -> Accepted | Refused:
    trust = given.pop("trust", None) or pins_of(SIGNER)
    policy = given.pop("policy", None)
    verifier = Verifier(trust, policy, identity=given.pop("identity", None))
    given.setdefault("context", context_of(vector))
    given.setdefault("profile", PROFILE)
    return verifier.check(json.dumps(decision_of(vector)).encode(), at=at, **given)


def refusal(vector: dict[str, Any], **given: Any) -> tuple[Reason, str | None]:
    verdict = judged(vector, **given)
    assert isinstance(verdict, Refused), verdict
    return verdict.reason, verdict.pointer


def test_a_decision_of_our_own_is_accepted() -> None:
    verdict = judged(decided())
    assert isinstance(verdict, Accepted), verdict
    assert verdict.authorised is True
    assert verdict.envelope["receipt"]["outcome"] == "release"


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("shown", [False, True])
def test_a_revoked_key_decides_nothing_whatever_an_audit_looks_at(audit: bool, shown: bool) -> None:
    vector = decided()
    text = canonicalise(decision_of(vector))
    exam = Verifier(pins_of(SIGNER)).examination(at=NOW, context=context_of(vector))
    open_message(exam, text, BUILT_IN, BUILT_IN[PROFILE], None)
    issued = instant(vector["input"]["envelope"]["receipt"]["issuedAt"])
    found = refusal(
        vector,
        at=write_instant(issued + MINUTE),
        trust=Pins.of([replace(SIGNER.entry, revoked_at=issued + 2)]),
        policy=Policy(allow_signed_before_revocation=audit),
        evidence=[Evidence.recorded(exam.fingerprint(), issued + 1)] if shown else [],
    )
    assert found == (Reason.KEY_REVOKED, "/keyVersion")


def test_a_decision_is_recognised_without_its_name() -> None:
    assert isinstance(judged(decided(), profile=None), Accepted)


ISSUED, EXPIRES = "/receipt/issuedAt", "/receipt/expiresAt"


@pytest.mark.parametrize(
    ("issued", "expires", "now", "found"),
    [
        ("20:00:00Z", "20:20:00Z", "20:19:59.999999999Z", None),
        ("20:00:00Z", "20:20:00Z", "20:20:00Z", Reason.EXPIRED),
        ("20:05:00Z", "20:06:00Z", "20:00:00Z", None),
        ("20:05:00.000000001Z", "20:06:00Z", "20:00:00Z", Reason.NOT_YET_VALID),
        ("19:50:00Z", "20:20:00Z", "20:00:00Z", None),
        ("19:49:59.999999999Z", "20:20:00Z", "20:00:00Z", Reason.INVALID_LIFETIME),
        ("20:00:00Z", "20:20:00.000000001Z", "20:00:00Z", Reason.INVALID_LIFETIME),
        ("20:00:00Z", "20:00:00Z", "20:00:00Z", Reason.INVALID_LIFETIME),
        ("20:00:01Z", "20:00:00Z", "20:00:00Z", Reason.INVALID_LIFETIME),
        ("22:00:00+02:00", "21:20:00+01:00", "20:00:00Z", None),
        ("20:00:00z", "20:20:00-00:00", "20:00:00Z", None),
    ],
)
def test_the_edges_of_a_receipts_life(
    issued: str, expires: str, now: str, found: Reason | None
) -> None:
    times = {"issuedAt": f"2026-08-17T{issued}", "expiresAt": f"2026-08-17T{expires}"}
    verdict = judged(decided(times), at=f"2026-08-17T{now}")
    assert (verdict.reason if isinstance(verdict, Refused) else None) is found, verdict


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-17T23:59:60Z",  # second 60
        "2026-08-17T20:05:00+02",
        "2026-08-17T20:05:00+0200",
        "2026-08-17 20:05:00Z",
        "2026-08-17\n20:05:00Z",
        "2026-08-17T20:05:00.0123456789Z",
        "1969-08-17T20:05:00Z",
        "0000-08-17T20:05:00Z",
    ],
)
def test_a_time_that_only_the_peers_schema_takes_is_an_invalid_lifetime(text: str) -> None:
    reason = Reason.INVALID_LIFETIME
    assert refusal(decided({"issuedAt": text})) == (reason, ISSUED)
    assert refusal(decided({"expiresAt": text})) == (reason, EXPIRES)
    assert refusal(decided(action={"expiresAt": text})) == (reason, None)
    verdict = judged(decided({"expiresAt": text}))
    assert isinstance(verdict, Refused)
    assert verdict.detail.startswith("time_malformed")


@pytest.mark.parametrize("text", ["2026-08-17T20:05:00", "2026-W33-1T20:05:00Z", "", 1, None])
def test_a_time_that_no_schema_takes_is_a_fault_of_the_schema(text: Any) -> None:
    assert refusal(decided({"issuedAt": text})) == (Reason.RECEIPT_SCHEMA_INVALID, ISSUED)


def test_the_longest_life_of_a_receipt_is_the_policys() -> None:
    short = Policy(max_lifetime={PROFILE: 5 * MINUTE})
    assert refusal(decided(), policy=short) == (Reason.INVALID_LIFETIME, EXPIRES)


BOUND = ("organizationId", "taskId", "actionId", "targetEndpointId", "workspaceId")
ID = "00000abc-0000-4000-8000-000000000999"


@pytest.mark.parametrize("member", BOUND)
def test_receipt_and_action_name_the_same(member: str) -> None:
    found = Reason.BINDING_MISMATCH, f"/receipt/{member}"
    assert refusal(decided({member: ID})) == found
    assert refusal(decided(action={member: ID})) == found


def test_ids_are_compared_as_they_are_spelt() -> None:
    vector = decided({"taskId": ID.upper()}, {"taskId": ID})
    assert refusal(vector) == (Reason.BINDING_MISMATCH, "/receipt/taskId")


@pytest.mark.parametrize("value", [None, 1, True, [], {}, "other"])
@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("id", Reason.BINDING_MISMATCH),
        ("keyVersion", Reason.BINDING_MISMATCH),
        ("actionDigest", Reason.DIGEST_MISMATCH),
        ("signature", Reason.BAD_SIGNATURE),
        ("receipt", Reason.RECEIPT_SCHEMA_INVALID),
    ],
)
def test_an_outer_member_of_any_kind_gets_the_peers_reason(
    member: str, reason: Reason, value: Any
) -> None:
    vector = decided()
    decision_of(vector)[member] = value
    if member == "signature" and value is None:
        reason = Reason.SIGNATURE_MISSING
    verdict = judged(vector)
    assert isinstance(verdict, Refused)
    assert verdict.reason is reason
    assert (verdict.pointer or "").startswith(f"/{member}")
    del decision_of(vector)[member]
    if member == "signature":
        reason = Reason.SIGNATURE_MISSING
    assert refusal(vector) == (reason, f"/{member}")


def test_one_fault_after_another_comes_in_the_peers_order() -> None:
    """Every fault at once; each time the first one is mended, the next one shows."""
    vector = decided({"expiresAt": "2026-08-17T20:21:00Z", "workspaceId": "other", "nonce": ""})
    decision, action = decision_of(vector), vector["input"]["action"]
    receipt = decision["receipt"]
    decision |= {"extra": 1, "signature": "?", "actionDigest": "sha256:" + "0" * 64}
    action["extra"] = 1
    found = []

    def mended(trust: Any = None) -> None:
        found.append(refusal(vector, at="2026-08-17T20:10:00Z", trust=trust)[0])

    nobody = Trust((), {})
    mended(nobody)
    del action["extra"]
    mended(nobody)
    receipt["nonce"] = "n"
    mended(nobody)
    receipt["expiresAt"] = "2026-08-17T20:10:00Z"
    mended(nobody)
    receipt["issuedAt"], receipt["expiresAt"] = "2026-08-17T20:15:01Z", "2026-08-17T20:20:00Z"
    mended(nobody)
    receipt["issuedAt"] = "2026-08-17T20:15:00Z"
    mended(nobody)
    receipt["workspaceId"] = action["workspaceId"]
    mended(nobody)
    decision["actionDigest"] = receipt["actionDigest"]
    mended(nobody)
    mended()
    decision["signature"] = enclosed(receipt)["signature"]
    mended()
    del decision["extra"]
    assert found == [
        Reason.ACTION_SCHEMA_INVALID,
        Reason.RECEIPT_SCHEMA_INVALID,
        Reason.INVALID_LIFETIME,
        Reason.EXPIRED,
        Reason.NOT_YET_VALID,
        Reason.BINDING_MISMATCH,
        Reason.DIGEST_MISMATCH,
        Reason.UNKNOWN_KEY,
        Reason.BAD_SIGNATURE,
        Reason.RECEIPT_SCHEMA_INVALID,
    ]
    assert isinstance(judged(vector, at="2026-08-17T20:10:00Z"), Accepted)


def test_the_digests_are_the_actions() -> None:
    vector = decided()
    vector["input"]["action"]["instructions"] += "."
    assert refusal(vector) == (Reason.DIGEST_MISMATCH, "/receipt/actionDigest")


STATE = {
    "intent": "hand over",
    "evidence_used": [],
    "known_state": {"alpha": 1.5},
    "unknown_or_missing_state": [],
    "allowed_next_actions": [],
    "blocked_actions": [],
    "decision_authority": "owner",
    "tool_results": [],
}


def handed_over(state: dict[str, Any], **receipt: Any) -> dict[str, Any]:
    evidence = [{"trajectoryId": ID, "revision": 3, "capsuleHash": "sha256:" + "e" * 64}]
    action = {
        "taskType": "a2a_handoff",
        "source": {"taskId": ID, "endpointId": ID},
        "stateEnvelope": state,
        "evidenceReferences": evidence,
    }
    given = {"stateEnvelopeHash": digest(state), "evidenceReferences": evidence}
    base = named("receipt-release-ok")["input"]["action"] | action
    return decided(given | {"actionDigest": digest(base)} | receipt, action)


def digest(value: object) -> str:
    return "sha256:" + sha256(canonicalise(value)).hexdigest()


def test_the_state_that_was_judged_is_the_one_handed_over() -> None:
    accepted = judged(handed_over(STATE))
    assert isinstance(accepted, Accepted), accepted
    assert "receipt state" not in accepted.unchecked
    other = handed_over(STATE, stateEnvelopeHash="sha256:" + "a" * 64)
    assert refusal(other) == (Reason.STATE_MISMATCH, "/receipt/stateEnvelopeHash")
    fewer = handed_over(STATE, evidenceReferences=[])
    assert refusal(fewer) == (Reason.STATE_MISMATCH, "/receipt/evidenceReferences")


def test_digests_over_the_order_that_dharma_writes_count_too() -> None:
    vector = handed_over(STATE | {"known_state": {"a_b": 1, "ab": 2, "aB": 3}})
    assert isinstance(judged(vector), Accepted)
    verdict = judged(digest_under_dharma(vector))
    assert isinstance(verdict, Accepted), verdict
    assert verdict.canonical == "dharma"


def test_a_digest_that_nobody_can_compute_is_not_portable() -> None:
    tie = STATE | {"known_state": {"\u00e9": 1, "b": 2}}
    assert isinstance(judged(handed_over(tie)), Accepted)
    wrong = "sha256:" + "a" * 64
    for member in ("actionDigest", "stateEnvelopeHash"):
        found = Reason.NOT_PORTABLE, f"/receipt/{member}"
        assert refusal(handed_over(tie, **{member: wrong})) == found


def digest_under_dharma(vector: dict[str, Any]) -> dict[str, Any]:
    """The same with digests over the forms that Dharma writes."""
    action, receipt = vector["input"]["action"], decision_of(vector)["receipt"]

    def theirs(value: object) -> str:
        form = portability(value).form
        assert form is not None
        return "sha256:" + sha256(form).hexdigest()

    receipt |= {
        "actionDigest": theirs(action),
        "stateEnvelopeHash": theirs(action["stateEnvelope"]),
    }
    vector["input"]["envelope"] = enclosed(receipt)
    return vector


def entry_with(**members: Any) -> KeySigner:
    key = PrivateKey.generate()
    given = {"profiles": [PROFILE], "at": NOW} | members
    return KeySigner(key_entry(key.public, "decisions/1", **given), key)


AT = read_instant(NOW) or 0


@pytest.mark.parametrize(
    ("members", "reason", "pointer"),
    [
        ({"profiles": ["dharma.task/v1"]}, Reason.KEY_WRONG_PROFILE, "/keyVersion"),
        ({"revoked_at": AT - 1}, Reason.KEY_REVOKED, "/keyVersion"),
        ({"not_before": AT + 1, "sign_from": AT + 1}, Reason.KEY_NOT_YET_VALID, "/keyVersion"),
        ({"sign_until": AT - 1, "accept_until": AT}, Reason.KEY_EXPIRED, "/keyVersion"),
        ({"sign_until": AT, "accept_until": AT + DAY}, Reason.KEY_RETIRED, "/keyVersion"),
        (
            {"bind": freeze_bind({"/organizationId": ["another"]})},
            Reason.PRINCIPAL_MISMATCH,
            "/receipt/organizationId",
        ),
        (
            {"bind": freeze_bind({"/nowhere": ["org_test"]})},
            Reason.PRINCIPAL_MISMATCH,
            "/receipt/nowhere",
        ),
    ],
)
def test_a_key_that_may_not_is_refused_after_its_signature(
    members: dict[str, Any], reason: Reason, pointer: str
) -> None:
    signer = entry_with(**members)
    vector = decided(signer=signer)
    verdict = judged(vector, trust=pins_of(signer))
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.pointer) == (reason, pointer)
    assert not verdict.authenticated
    assert verdict.authorised is None
    decision_of(vector)["signature"] = enclosed({"other": 1}, signer)["signature"]
    assert refusal(vector, trust=pins_of(signer))[0] is Reason.BAD_SIGNATURE


def test_a_key_bound_to_the_organisation_may_speak_for_it() -> None:
    signer = entry_with(bind=freeze_bind({"/organizationId": ["org_test"]}))
    assert isinstance(judged(decided(signer=signer), trust=pins_of(signer)), Accepted)


def test_a_receipt_from_before_the_overlap_still_counts_in_it() -> None:
    signer = entry_with(sign_until=AT + 1, accept_until=AT + DAY)
    vector = decided(signer=signer)
    verdict = judged(vector, trust=pins_of(signer), at="2026-08-17T20:05:00Z")
    assert isinstance(verdict, Accepted), verdict


def test_a_published_key_is_refused_unless_allowed() -> None:
    vector = named("receipt-release-ok")
    assert check(vector, Policy()).to_json()["reason"] == Reason.PUBLISHED_KEY
    assert isinstance(check(vector), Accepted)


def test_two_issuers_of_one_version_are_ambiguous() -> None:
    other = entry_with(issuer="another")
    trust = Trust.of(pins_of(SIGNER), pins_of(other))
    assert refusal(decided(), trust=trust) == (Reason.AMBIGUOUS_KEY, "/keyVersion")


def test_a_weak_key_is_named_in_the_place_of_an_unknown_one() -> None:
    (vector,) = [
        vector
        for vector in load(VECTORS / "dharma/task-envelopes.json")["vectors"]
        if vector["name"] == "weak-task-small-order-key-any-message-ok"
    ]
    from taskseal.keys.dharma_keyset import DharmaKeyset

    keyset = DharmaKeyset.load(json.dumps(vector["keyset"]).encode())
    (weak,) = [entry for entry in keyset.entries if entry.flaw]
    found = decided({"keyVersion": weak.key_version})
    decision_of(found)["keyVersion"] = weak.key_version
    assert refusal(found, trust=Trust.of(keyset)) == (Reason.WEAK_KEY, "/keyVersion")


@pytest.mark.parametrize("context", [None, {}, {"dharma": {}}, {"aisa": {}}])
def test_without_an_action_nothing_can_be_authorised(context: Any) -> None:
    verdict = judged(decided(), context=context)
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.ACTION_SCHEMA_INVALID
    assert "dharma.task" in verdict.hint
    assert verdict.pointer is None


def test_action_and_task_together_are_a_fault_of_the_context() -> None:
    vector = decided()
    with pytest.raises(MaterialError) as caught:
        judged(vector, context={"dharma": {"action": {}, "task": {}}})
    assert caught.value.code is Reason.CONTEXT_MALFORMED


def task_context(**members: Any) -> dict[str, Any]:
    vector = named("embedded-release")
    return {"dharma": {"task": vector["input"] | members}}


def test_a_task_without_endpoint_has_no_action() -> None:
    vector = named("embedded-release")
    for target in ({}, {"endpointId": None}, {"endpointId": ""}, None, "x", 1):
        verdict = Verifier(trust_of(vector), ALLOWED).check(
            json.dumps(decision_of(vector)).encode(),
            profile=PROFILE,
            context=task_context(target=target),
            at=vector["now"],
        )
        assert isinstance(verdict, Refused)
        assert verdict.reason is Reason.ENDPOINT_MISSING


@pytest.mark.parametrize(
    "members",
    [
        {"instructions": "\ud800"},
        {"authority": {}},
        {"taskType": "a2a_handoff"},
        {"source": None},
        {"budget": {"mode": "byok_local", "maximumDharmaCostCents": 2**60}},
        {"instructions": b"bytes"},
        {"stateEnvelope": {}, "source": {}, "evidenceReferences": []},
    ],
)
def test_a_task_that_makes_no_action_is_a_verdict_and_no_exception(
    members: dict[str, Any],
) -> None:
    vector = named("embedded-release")
    verdict = Verifier(trust_of(vector), ALLOWED).check(
        json.dumps(decision_of(vector)).encode(),
        profile=PROFILE,
        context=task_context(**members),
        at=vector["now"],
    )
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.ACTION_SCHEMA_INVALID


@pytest.mark.parametrize("known_state", [{"n": 1e20}, {"n": 2**60}, {"\udc00": 1}, {"n": object()}])
def test_an_action_that_strict_json_cannot_spell_is_refused(known_state: Any) -> None:
    vector = handed_over(STATE)
    vector["input"]["action"]["stateEnvelope"] = STATE | {"known_state": known_state}
    verdict = judged(vector)
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.ACTION_SCHEMA_INVALID


@pytest.mark.parametrize("data", [b"null", b"[]", b'"x"', b"1", b"true"])
def test_a_document_that_is_no_object_does_not_fit(data: bytes) -> None:
    verdict = Verifier(pins_of(SIGNER)).check(data, profile=PROFILE, at=NOW)
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.RECEIPT_SCHEMA_INVALID


def test_a_bare_receipt_is_told_what_is_missing_around_it() -> None:
    vector = decided()
    bare = json.dumps(decision_of(vector)["receipt"]).encode()
    verdict = Verifier(pins_of(SIGNER)).check(
        bare, profile=PROFILE, context=context_of(vector), at=NOW
    )
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.pointer) == (Reason.RECEIPT_SCHEMA_INVALID, "/receipt")


def test_a_decision_is_no_larger_than_its_limit() -> None:
    vector = decided()
    decision_of(vector)["extra"] = "x" * 64 * 1024
    assert refusal(vector)[0] is Reason.TOO_LARGE


def test_the_receiver_is_the_one_of_the_receipt() -> None:
    vector = decided()
    here = Identity(organisation="org_test", workspace="ws_1")
    assert isinstance(judged(vector, identity=here), Accepted)
    elsewhere = Identity(workspace="ws_2")
    found = Reason.AUDIENCE_MISMATCH, "/receipt/workspaceId"
    assert refusal(vector, identity=elsewhere) == found


@pytest.mark.parametrize("form", ["jws", "jws-detached"])
def test_no_other_form_speaks_for_a_decision(form: str) -> None:
    from support import sign_anyway

    from taskseal.profiles import DHARMA_ACTION_DECISION

    vector = decided()
    data = json.dumps(decision_of(vector)).encode()
    blob = sign_anyway(
        data, SIGNER, DHARMA_ACTION_DECISION, at=NOW, detached=form == "jws-detached"
    )
    beside = {"signature": blob} if form == "jws-detached" else {}
    policy = Policy(allow_forms=frozenset({form}))
    verdict = Verifier(pins_of(SIGNER), policy).check(
        data if beside else blob, profile=PROFILE, context=context_of(vector), at=NOW, **beside
    )
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.FORM_NOT_ALLOWED


# Signing one.


def unsigned(**receipt: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A decision with the members that only its maker can know, and the context."""
    vector = decided()
    filled = ["/keyVersion", "/signature"]
    filled += [f"/receipt/{name}" for name in ("issuedAt", "expiresAt", "nonce", "keyVersion")]
    decision = without(decision_of(vector), filled)
    decision["receipt"] |= receipt
    return decision, context_of(vector)


def test_sign_fills_times_nonce_and_key_version_of_a_decision() -> None:
    decision, context = unsigned()
    signed = sign(decision, SIGNER, context=context, at=NOW)
    made = json.loads(signed.blob)
    assert made["receipt"]["issuedAt"] == "2026-08-17T20:00:00Z"
    assert made["receipt"]["expiresAt"] == "2026-08-17T20:15:00Z"
    assert len(made["receipt"]["nonce"]) == 32
    assert made["keyVersion"] == made["receipt"]["keyVersion"] == "decisions/1"
    verdict = Verifier(pins_of(SIGNER)).check(signed.blob, context=context, at=NOW)
    assert isinstance(verdict, Accepted), verdict
    assert (verdict.digest, verdict.expires) == (signed.digest, signed.expires)
    assert verdict.digest.text("sha256:hex") == digest(made["receipt"])


@pytest.mark.parametrize("outcome", ["release", "block", "escalate", "withhold"])
def test_who_signs_a_decision_may_decide_anything(outcome: str) -> None:
    decision, context = unsigned(outcome=outcome)
    signed = sign(decision, SIGNER, context=context, at=NOW)
    verdict = Verifier(pins_of(SIGNER), AUDIT).check(signed.blob, context=context, at=NOW)
    assert isinstance(verdict, Accepted)
    assert verdict.authorised is (outcome == "release")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"/receipt/workspaceId": "other"}, Reason.BINDING_MISMATCH),
        ({"/id": ID}, Reason.BINDING_MISMATCH),
        ({"/receipt/outcome": "perhaps"}, Reason.RECEIPT_SCHEMA_INVALID),
        ({"/receipt/expiresAt": "2026-08-17T20:20:01Z"}, Reason.INVALID_LIFETIME),
        ({"/actionDigest": "sha256:" + "0" * 64}, Reason.DIGEST_MISMATCH),
        ({"/extra": 1}, Reason.RECEIPT_SCHEMA_INVALID),
        ({"/receipt/keyVersion": "decisions/2"}, Reason.KEY_VERSION_MISMATCH),
        ({"/keyVersion": "decisions/2"}, Reason.BINDING_MISMATCH),
    ],
)
def test_sign_refuses_what_would_be_refused(change: dict[str, Any], reason: Reason) -> None:
    decision, context = unsigned()
    for pointer, value in change.items():
        decision = put(decision, pointer, value)
    with pytest.raises(Refused) as caught:
        sign(decision, SIGNER, profile=PROFILE, context=context, at=NOW)
    assert caught.value.reason is reason


def test_sign_wants_the_action_too() -> None:
    decision, _ = unsigned()
    with pytest.raises(Refused) as caught:
        sign(decision, SIGNER, at=NOW)
    assert caught.value.reason is Reason.ACTION_SCHEMA_INVALID


def test_a_decision_is_signed_in_place_only() -> None:
    decision, context = unsigned()
    for format in ("jws", "jws-detached", "jws-compact", "jws-unencoded"):
        with pytest.raises(InputError) as caught:
            sign(decision, SIGNER, context=context, at=NOW, format=format)
        assert caught.value.code is Reason.USAGE
        assert caught.value.hint == "it takes embedded"


def test_a_signed_decision_is_not_signed_again() -> None:
    vector = decided()
    with pytest.raises(InputError) as caught:
        sign(decision_of(vector), SIGNER, context=context_of(vector), at=NOW)
    assert caught.value.code is Reason.ALREADY_SIGNED


@pytest.mark.parametrize("name", ["dharma.server-signing-keyset/v1", PROFILE, "dharma.task/v1"])
def test_a_bare_key_of_another_profile_never_signs_a_dharma_object(name: str) -> None:
    """The bytes would be the ones that the other profile's signature covers."""
    from taskseal.profiles.custom import custom_profile

    text = b"""
id = "own.kind/v1"
discriminator = { pointer = "/kind", constant = "mine" }
signature = "/signature"
key_version = "/keyVersion"
replay = "none"
issued = "/issuedAt"
expires = "/expiresAt"
"""
    own = custom_profile(text)
    signer = new_signer("own/1", profiles=["own.kind/v1"], at=NOW)
    document = {"kind": "mine", "schema": name}
    with pytest.raises(Refused) as caught:
        sign(document, signer, profile=own, at=NOW)
    assert (caught.value.reason, caught.value.pointer) == (Reason.SCHEMA_INVALID, "/schema")


def test_each_new_reason_says_what_to_do() -> None:
    for reason in (
        Reason.ACTION_SCHEMA_INVALID,
        Reason.RECEIPT_SCHEMA_INVALID,
        Reason.STATE_MISMATCH,
        Reason.ENDPOINT_MISSING,
        Reason.NOT_AUTHORISED,
        Reason.RECEIPT_MISSING,
    ):
        entry = REASONS[reason]
        assert entry.text
        assert entry.remedy
        assert entry.exit_code == 1
        assert not entry.retryable


def test_pointers_lead_into_the_decision() -> None:
    for vector in RECEIPTS:
        verdict = check(vector)
        if isinstance(verdict, Refused) and verdict.pointer:
            assert split(verdict.pointer)[0] in (*decision_of(vector), "extra")

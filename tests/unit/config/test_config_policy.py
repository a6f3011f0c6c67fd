"""What a configuration lets a message ask for: ceilings, and rules that hold for one profile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from configs import AISA, CEILING, SENDER, TASK, TASK_AT, Desk, task
from receiving import JOB
from support import (
    NOW,
    SAMPLES,
    VECTORS,
    embed,
    load,
    new_signer,
    pins_of,
    sample_artefacts,
    sample_context,
)

from taskseal import (
    BUILT_IN,
    Accepted,
    MaterialError,
    Policy,
    ProfilePolicy,
    Reason,
    Receiver,
    Refused,
    Verifier,
    sign,
)
from taskseal.acceptance import policy_digest
from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.profiles import action_digest, task_action
from taskseal.profiles.schema import Schema
from taskseal.validity import HOUR, MINUTE, SECOND, read_instant

TRUSTED = '[[trust]]\npins = "pins.json"\n'
CEILED = TRUSTED + f'[policy."{TASK}"]\nceiling = "ceiling.json"\n'


def verdict(desk: Desk, text: str, **members: Any) -> Accepted | Refused:
    verifier = desk.load(text).verifier()
    return verifier.check(embed(task(**members), SENDER), at=TASK_AT)


def test_a_task_within_the_ceiling_is_accepted(desk: Desk) -> None:
    authority = {"network": "deny", "writePaths": ["out/a"]}
    found = verdict(desk, CEILED, authority=authority, budget={"maximumDharmaCostCents": 500})
    assert isinstance(found, Accepted)
    assert [line.result for line in found.checks if line.check == "ceiling"] == ["passed"]


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"authority": {"network": "allowlisted_domains"}}, "/authority/network"),
        ({"authority": {"writePaths": ["out/a", "src"]}}, "/authority/writePaths/1"),
        ({"budget": {"maximumDharmaCostCents": 501}}, "/budget/maximumDharmaCostCents"),
        ({"execution": {"timeoutSeconds": 601}}, "/execution/timeoutSeconds"),
    ],
)
def test_a_task_beyond_the_ceiling_is_refused_where_it_is(
    desk: Desk, members: dict[str, Any], pointer: str
) -> None:
    assert isinstance(verdict(desk, TRUSTED, **members), Accepted), "the standard allows it"
    found = verdict(desk, CEILED, **members)
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.CEILING_EXCEEDED, pointer)
    assert found.authenticated
    assert [line.check for line in found.checks if line.result == "failed"] == ["ceiling"]


def test_a_ceiling_may_stand_in_the_file_itself(desk: Desk) -> None:
    inline = TRUSTED + f'[policy."{TASK}".ceiling.properties.authority.properties]\n'
    found = verdict(
        desk,
        inline + 'network = { const = "deny" }\n',
        authority={"network": "allowlisted_domains"},
    )
    assert isinstance(found, Refused)
    assert found.pointer == "/authority/network"


def test_a_ceiling_is_asked_after_all_that_the_standard_asks(desk: Desk) -> None:
    beyond = embed(task(authority={"network": "allowlisted_domains"}), SENDER)
    verifier = desk.load(CEILED).verifier()
    late = verifier.check(beyond, at="2026-08-17T21:00:00Z")
    assert isinstance(late, Refused)
    assert late.reason is Reason.EXPIRED
    forged = verifier.check(beyond.replace(b"allowlisted", b"wishlisteds"), at=TASK_AT)
    assert isinstance(forged, Refused)
    assert forged.reason is Reason.BAD_SIGNATURE


def test_a_ceiling_never_allows_what_the_standard_forbids(desk: Desk) -> None:
    desk.write("ceiling.json", b"{}")
    found = verdict(desk, CEILED, authority={"network": "sometimes"})
    assert isinstance(found, Refused)
    assert found.reason is Reason.SCHEMA_INVALID


def test_a_ceiling_of_one_profile_leaves_the_others_alone(desk: Desk) -> None:
    desk.write("ceiling.json", {"required": ["nothing"]})
    verifier = desk.load(TRUSTED + f'[policy."{AISA}"]\nceiling = "ceiling.json"\n').verifier()
    assert isinstance(verifier.check(embed(task(), SENDER), at=TASK_AT), Accepted)


def test_the_sender_who_knows_the_receivers_policy_is_told_before_the_handoff(desk: Desk) -> None:
    rules = desk.load(CEILED).policy
    with pytest.raises(Refused) as caught:
        sign(task(authority={"network": "allowlisted_domains"}), SENDER, policy=rules, at=TASK_AT)
    assert caught.value.reason is Reason.CEILING_EXCEEDED


RECEIPT = "dharma.action-decision-receipt/v1"
JUDGE = new_signer("decisions/1", profiles=[RECEIPT], at=TASK_AT, issuer="desk")


def decided() -> dict[str, Any]:
    """A task with a decision to release it."""
    vectors = load(VECTORS / "dharma" / "receipts.json")["vectors"]
    (found,) = [each["input"] for each in vectors if each["name"] == "embedded-release"]
    outside = ("signature", "actionDecision")
    bare = {name: item for name, item in found.items() if name not in outside}
    receipt = found["actionDecision"]["receipt"] | {"keyVersion": "decisions/1"}
    digest = action_digest(task_action(bare, receipt["actionId"])).text("sha256:hex")
    receipt["actionDigest"] = digest
    decision = {
        "id": receipt["decisionId"],
        "actionDigest": digest,
        "receipt": receipt,
        "signature": b64url_encode(JUDGE.sign(canonicalise(receipt))),
        "keyVersion": "decisions/1",
    }
    return bare | {"signerKeyVersion": "tasks/1", "actionDecision": decision}


def test_a_decision_that_a_task_carries_has_its_own_ceiling() -> None:
    blob, trust = embed(decided(), SENDER), pins_of(SENDER, JUDGE)
    assert isinstance(Verifier(trust).check(blob, at=TASK_AT), Accepted)
    schema = {"properties": {"receipt": {"properties": {"confidence": {"const": 2}}}}}
    ceiling = ProfilePolicy(ceiling=Schema.user(schema, "ceiling"))
    found = Verifier(trust, Policy(per_profile={RECEIPT: ceiling})).check(blob, at=TASK_AT)
    assert isinstance(found, Refused)
    assert found.reason is Reason.CEILING_EXCEEDED
    assert found.pointer == "/actionDecision/receipt/confidence"


def aisa(policy: Policy, name: str = "plan.json", **more: Any) -> Accepted | Refused:
    signer = new_signer("messages/1", profiles=[AISA])
    blob = sign(
        load(SAMPLES / "aisa" / name),
        signer,
        at=NOW,
        format="jws",
        artefacts=sample_artefacts(),
        context=sample_context(),
        policy=Policy(allow_truncated=True),
    ).blob
    given = {"artefacts": sample_artefacts(), "context": sample_context()} | more
    return Verifier(pins_of(signer), policy).check(blob, at=NOW, **given)


def own(**members: Any) -> Policy:
    return Policy(per_profile={AISA: ProfilePolicy(**members)})


def test_artefacts_may_be_asked_for_one_profile_alone() -> None:
    assert isinstance(aisa(own(require_artefacts=True)), Accepted)
    lacking = aisa(own(require_artefacts=True), artefacts={})
    assert isinstance(lacking, Refused)
    assert lacking.reason is Reason.ARTEFACT_MISSING
    eased = Policy(
        require_artefacts=True, per_profile={AISA: ProfilePolicy(require_artefacts=False)}
    )
    assert isinstance(aisa(eased, artefacts={}), Accepted)


def test_what_one_profile_has_of_its_own_replaces_what_holds_for_all() -> None:
    kind, other = BUILT_IN[TASK], BUILT_IN[AISA]
    rules = Policy(
        future_skew=1,
        past_skew=2,
        max_age=3,
        per_profile={TASK: ProfilePolicy(4, 5, 6, True, True, True, None)},
    )
    own, rest = rules.terms(kind), rules.terms(other)
    assert (own.limits[:2], rest.limits[:2]) == ((4, 5), (1, 2))
    assert (own.oldest, rest.oldest) == (6, 3)
    assert own.artefacts and own.receipt and own.truncated
    assert not (rest.artefacts or rest.receipt or rest.truncated)
    assert own.ceiling is None


def test_the_operators_word_on_one_profile_stands_above_the_profiles_own_skew() -> None:
    patient = replace(JOB, past_skew=60 * SECOND)
    assert Policy(past_skew=0).terms(patient).limits.past_skew == 60 * SECOND
    strict = Policy(per_profile={JOB.id: ProfilePolicy(past_skew=0)})
    assert strict.terms(patient).limits.past_skew == 0


def test_a_receipt_may_be_asked_for_one_profile_alone(desk: Desk) -> None:
    found = verdict(desk, TRUSTED + f'[policy."{TASK}"]\nrequire_receipt = true\n')
    assert isinstance(found, Refused)
    assert found.reason is Reason.RECEIPT_MISSING


def test_the_digest_of_a_policy_depends_on_what_it_says_alone(desk: Desk, tmp_path: Path) -> None:
    text = TRUSTED + f'[policy]\nmax_age = "30m"\n[policy."{TASK}"]\nceiling = "ceiling.json"\n'
    first = policy_digest(desk.load(text).policy)
    elsewhere = Desk(tmp_path / "elsewhere")
    assert policy_digest(elsewhere.load(text).policy) == first
    by_hand = Policy(
        max_age=30 * MINUTE,
        per_profile={TASK: ProfilePolicy(ceiling=Schema.user(CEILING, "by hand"))},
    )
    assert policy_digest(by_hand) == first
    others = [
        policy_digest(desk.load(each).policy)
        for each in ("", text.replace("30m", "31m"), text + "past_skew = '1s'\n")
    ]
    desk.write("ceiling.json", CEILING | {"title": "another"})
    others.append(policy_digest(desk.load(text).policy))
    assert len({first, *others}) == 5


def test_a_whole_receiver_comes_out_of_a_file(desk: Desk) -> None:
    now = read_instant(TASK_AT)
    assert now is not None
    text = "[receiver]\norganization = 'org_test'\nledger = 'sqlite:l.db'\nlease = '1h'\n" + CEILED
    desk.load(text)
    receiver = Receiver.from_config(desk.file, clock=lambda: now)
    assert receiver.lease == HOUR
    with receiver.ledger:
        blob = embed(task(), SENDER)
        with receiver.receive(blob) as job:  # type: ignore[union-attr]  # it must be accepted
            assert job.profile == TASK
        assert type(receiver.receive(blob)).__name__ == "Duplicate"
        foreign = receiver.receive(embed(task(organizationId="org_else"), SENDER))
        assert isinstance(foreign, Refused)
        assert foreign.reason is Reason.AUDIENCE_MISMATCH
    again = Receiver.from_config(desk.load(text), clock=lambda: now)
    with again.ledger:
        assert type(again.receive(blob)).__name__ == "Duplicate"


def test_a_receiver_that_does_not_say_who_it_is_does_not_come_to_be(desk: Desk) -> None:
    desk.load(CEILED + "[receiver]\nledger = 'sqlite:l.db'\n")
    with pytest.raises(MaterialError) as caught:
        Receiver.from_config(desk.file)
    assert (caught.value.code, caught.value.pointer) == (Reason.CONFIG_MALFORMED, "/receiver")
    assert not (desk.path / "l.db").exists()

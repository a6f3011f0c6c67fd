"""What hostile eyes found: roles mixed up, signatures taken away, kinds that the message chooses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import NOW, SAMPLES, instant, load, new_signer, pins_of, sign_anyway

from taskseal.canon.jcs import canonicalise
from taskseal.errors import MaterialError, Reason
from taskseal.keys.trust import Trust
from taskseal.ledger import open_ledger
from taskseal.profiles import AISA_MESSAGE
from taskseal.profiles.custom import custom_profile
from taskseal.receiver import Duplicate, Receiver
from taskseal.signing import sign
from taskseal.validity import SECOND
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier

FINDING = load(SAMPLES / "aisa/finding.json")
GENERAL = Policy(allow_forms=frozenset({"jws-general"}))
TOML = """
id = "acme.credit/v1"
discriminator = { pointer = "/kind", constant = "credit" }
signature = "/proof"
key_version = "/by"
replay_ids = ["/id"]
issued = "/from"
expires = "/until"
"""


def co_signed(*signers: Any) -> bytes:
    blob = canonicalise(FINDING)
    for signer in signers:
        blob = sign(blob, signer, format="jws-general", at=NOW).blob
    return blob


def without_signature(blob: bytes, index: int) -> bytes:
    value = json.loads(blob)
    del value["signatures"][index]
    return canonicalise(value)


def test_taking_a_signature_away_makes_no_new_message() -> None:
    alice, bob = new_signer("a/1", issuer="alice"), new_signer("b/1", issuer="bob")
    blob = co_signed(alice, bob)
    trust = Trust.of(pins_of(alice), pins_of(bob))
    copies = [without_signature(blob, 0), without_signature(blob, 1)]
    first = json.loads(copies[0])
    flattened = canonicalise({"payload": first["payload"], **first["signatures"][0]})
    for order in ([blob, *copies, flattened], [copies[0], blob], [flattened, blob]):
        with open_ledger("memory:") as ledger:

            def clock() -> int:
                return instant(NOW)

            verifier = Verifier(trust, GENERAL, clock=clock)
            receiver = Receiver(verifier, ledger, Identity.ANY, clock=clock)
            assert isinstance(receiver.accept(order[0]), Accepted)
            for again in order[1:]:
                assert isinstance(receiver.accept(again), Duplicate)


def test_the_same_bytes_are_the_same_message_when_one_key_has_ended() -> None:
    end = instant(NOW) + 60 * SECOND
    alice = new_signer("a/1", issuer="alice", sign_until=end, accept_until=end)
    bob = new_signer("b/1", issuer="bob")
    blob, now = co_signed(alice, bob), [instant(NOW)]
    verifier = Verifier(Trust.of(pins_of(alice), pins_of(bob)), GENERAL, clock=lambda: now[0])
    with open_ledger("memory:") as ledger:
        receiver = Receiver(verifier, ledger, Identity.ANY, clock=verifier.clock)
        assert isinstance(receiver.accept(blob), Accepted)
        now[0] += 61 * SECOND
        assert isinstance(receiver.accept(blob), Duplicate)


def test_a_message_of_more_issuers_than_a_ledger_can_tell_is_not_accepted() -> None:
    signers = [new_signer("k/1", issuer=name) for name in ("alice", "bob", "carol")]
    verifier = Verifier(Trust.of(*map(pins_of, signers)), GENERAL, clock=lambda: instant(NOW))
    blob = co_signed(*signers)
    assert isinstance(verifier.check(blob), Accepted)
    with open_ledger("memory:") as ledger:
        refused = Receiver(verifier, ledger, Identity.ANY, clock=verifier.clock).accept(blob)
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.POLICY_REFUSED


def test_an_epoch_that_no_counter_can_follow_is_refused_and_raises_nothing() -> None:
    signer = new_signer()
    cancel = load(SAMPLES / "aisa/cancel.json")
    cancel["payload"]["fence_epoch"] = 1e21
    verifier = Verifier(pins_of(signer), clock=lambda: instant(NOW))
    with open_ledger("memory:") as ledger:
        receiver = Receiver(verifier, ledger, Identity.ANY, clock=verifier.clock)
        blob = sign_anyway(cancel, signer, AISA_MESSAGE)
        for refused in (verifier.check(blob), receiver.accept(blob), receiver.receive(blob)):
            assert isinstance(refused, Refused)
            assert (refused.reason, refused.pointer) == (
                Reason.SEMANTIC_INVALID,
                "/payload/fence_epoch",
            )


def test_a_message_cannot_choose_to_have_a_folder_read_as_a_file(tmp_path: Path) -> None:
    signer = new_signer()
    blob = sign_anyway(FINDING, signer, AISA_MESSAGE)
    verdict = Verifier(pins_of(signer)).check(
        blob, artefacts={FINDING["artefact"]["paper_ref"]: tmp_path}, at=NOW
    )
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.DIGEST_MISMATCH


def test_a_proofs_context_is_the_documents_own() -> None:
    profile = custom_profile(
        b'id = "acme.doc/v1"\ndiscriminator = { pointer = "/kind", constant = "doc" }\n'
        b'detached = true\nreplay_ids = ["/id"]\nissued = "/from"\nexpires = "/until"\n'
    )
    signer = new_signer(profiles=[profile.id])
    document = {
        "@context": ["https://example.invalid/a"],
        "kind": "doc",
        "id": "1",
        "from": "2026-09-01T08:30:00Z",
        "until": "2026-09-01T08:50:00Z",
    }
    signature = sign(document, signer, profile=profile, format="eddsa-jcs-2022", at=NOW).blob
    policy = Policy(allow_forms=frozenset({"eddsa-jcs-2022"}))
    verifier = Verifier(pins_of(signer), policy)
    known: dict[str, Any] = {"profile": profile, "signature": signature, "at": NOW}
    assert isinstance(verifier.check(canonicalise(document), **known), Accepted)
    more = document | {"@context": [*document["@context"], {"cmd": "never signed"}]}
    assert isinstance(verifier.check(canonicalise(more), **known), Refused)


FOREIGN = [
    {"type": "Cancel"},
    {"schema": "taskseal.keyset/v1"},
    {"schema": "taskseal.pins/v1"},
    {"schema": "agent.external-runtime.binding.v1"},
    {"schema": ["dharma.task/v1"]},
    {"receipt": {"schema": "dharma.action-decision-receipt/v1"}},
]


@pytest.mark.parametrize("mark", FOREIGN, ids=str)
def test_what_is_signed_bare_carries_no_mark_of_another_kind(mark: dict[str, Any]) -> None:
    profile = custom_profile(TOML.encode())
    signer = new_signer(profiles=[profile.id])
    plain = {"kind": "credit", "id": "1"}
    assert sign(plain, signer, profile=profile, at=NOW).profile == profile.id
    with pytest.raises(Refused) as caught:
        sign(plain | mark, signer, profile=profile, at=NOW)
    assert caught.value.reason is Reason.SCHEMA_INVALID


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"/kind", constant = "credit"', '"/receipt/schema", constant = "dharma.x/v1"'),
        ('"/kind", constant = "credit"', '"/kind", constant = "taskseal.keyset/v1"'),
        ('"/kind"', '"/proof"'),
        ('"/kind"', '"/by"'),
        ('replay_ids = ["/id"]', 'replay_ids = ["/proof"]'),
        ('replay_ids = ["/id"]', 'replay_ids = ["/by"]'),
        ('key_version = "/by"', 'key_version = "/proof/by"'),
        ('issued = "/from"', 'issued = "/proof/at"'),
        ('expires = "/until"', 'expires = "/from"'),
    ],
)
def test_a_profile_whose_roles_contradict_each_other_does_not_load(old: str, new: str) -> None:
    assert old in TOML
    with pytest.raises(MaterialError) as caught:
        custom_profile(TOML.replace(old, new).encode())
    assert caught.value.code is Reason.PROFILE_MALFORMED


def test_the_operators_version_does_not_stand_in_for_an_unreadable_one() -> None:
    profile = custom_profile(TOML.encode())
    signer = new_signer("a/1", profiles=[profile.id])
    signed = json.loads(sign({"kind": "credit", "id": "1"}, signer, profile=profile, at=NOW).blob)
    verifier = Verifier(
        pins_of(signer), Policy(unversioned_key="a/1"), profiles={profile.id: profile}
    )
    for version in (5, [], {"x": 1}, None, ""):
        verdict = verifier.check(canonicalise(signed | {"by": version}), at=NOW)
        assert isinstance(verdict, Refused)
        assert verdict.reason is Reason.KEY_VERSION_MISSING

"""W3C Data Integrity, eddsa-jcs-2022: awr, and Digital Bazaar's packages for npm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from interop_support import (
    BAD_SIGNATURE,
    FINDING,
    TURN,
    Party,
    Peers,
    assert_accepted,
    assert_refused,
    changed,
    party,
    respelt,
    sealed,
    verdict,
)
from support import NOW

from taskseal import custom_profile

SUITE = "eddsa-jcs-2022"


class Software(NamedTuple):
    """A package that knows the suite."""

    home: str
    verify: str
    sign: str


SOFTWARE = [
    pytest.param(Software("python", "awr_verify", "awr_sign"), id="awr"),
    pytest.param(Software("node", "integrityVerify", "integritySign"), id="digitalbazaar"),
]
OTHER_DIGIT = {"1": "2", "2": "1"}


def proofs(
    peers: Peers, software: Software, document: Mapping[str, Any], by: Party
) -> list[dict[str, Any]]:
    """One that `sign` made, then one that the package made."""
    mine = json.loads(sealed(document, by, SUITE))
    theirs = peers(software.home).made(
        software.sign, text=respelt(document), key=by.private, created=NOW
    )
    return [mine, theirs["proof"]]


def spoilt(proof: dict[str, Any]) -> dict[str, Any]:
    """The proof with a digit of its signature exchanged."""
    text = proof["proofValue"]
    return proof | {"proofValue": text[:-1] + OTHER_DIGIT.get(text[-1], "1")}


@pytest.mark.parametrize("software", SOFTWARE)
def test_a_proof_holds_on_both_sides_until_it_is_spoilt(peers: Peers, software: Software) -> None:
    me, stranger = party(), party()

    def they_take(proof: dict[str, Any], document: Mapping[str, Any], trusted: Party) -> bool:
        whole = json.loads(respelt({**document, "proof": proof}))
        return peers(software.home).takes(software.verify, document=whole, key=trusted.public)

    def we_find(proof: dict[str, Any], document: Mapping[str, Any], trusted: Party) -> Any:
        return verdict(trusted, SUITE, respelt(document), json.dumps(proof).encode())

    others = proofs(peers, software, TURN, me)
    for proof, other in zip(proofs(peers, software, FINDING, me), others, strict=True):
        assert they_take(proof, FINDING, me)
        assert_accepted(we_find(proof, FINDING, me), SUITE, me)

        assert not they_take(spoilt(proof), FINDING, me)
        assert_refused(we_find(spoilt(proof), FINDING, me), BAD_SIGNATURE)
        assert not they_take(proof, changed(FINDING), me)
        assert_refused(we_find(proof, changed(FINDING), me), BAD_SIGNATURE)

        assert not they_take(proof, FINDING, stranger)
        assert_refused(we_find(proof, FINDING, stranger), "unknown_key")
        # It shows the stranger's key, and the signature is not theirs.
        shown = proofs(peers, software, FINDING, stranger)[0]["verificationMethod"]
        claimed = proof | {"verificationMethod": shown}
        assert not they_take(claimed, FINDING, stranger)
        assert_refused(we_find(claimed, FINDING, stranger), BAD_SIGNATURE)

        # Every profile's proofs have the same options but for the time: what keeps them apart is
        # the document, and the purpose keeps them from other uses of the key.
        assert not they_take(other, FINDING, me)
        assert_refused(we_find(other, FINDING, me), BAD_SIGNATURE)
        purpose = proof | {"proofPurpose": "authentication"}
        assert not they_take(purpose, FINDING, me)
        assert_refused(we_find(purpose, FINDING, me), "wrong_typ")


@pytest.mark.parametrize("software", SOFTWARE)
def test_moving_the_time_in_a_proof_is_noticed_on_both_sides(
    peers: Peers, software: Software
) -> None:
    me = party()
    for proof in proofs(peers, software, FINDING, me):
        moved = proof | {"created": NOW.replace("08:35", "08:34")}
        whole = {**FINDING, "proof": moved}
        assert not peers(software.home).takes(software.verify, document=whole, key=me.public)
        found = verdict(me, SUITE, respelt(FINDING), json.dumps(moved).encode())
        assert_refused(found, BAD_SIGNATURE)


CREDENTIAL = custom_profile(
    b"""
    id = "example.receipt/v1"
    detached = true
    discriminator = { pointer = "/kind", constant = "example.receipt" }
    replay_ids = ["/id"]
    issued = "/validFrom"
    expires = "/validUntil"
    """
)
RECEIPT = {
    # Texts only: the npm package compares the entries as JavaScript does, objects by identity.
    "@context": ["https://www.w3.org/ns/credentials/v2", "https://agent.example/receipt/v1"],
    "id": "urn:example:1",
    "kind": "example.receipt",
    "validFrom": "2026-09-01T08:30:00Z",
    "validUntil": "2026-09-01T09:30:00Z",
}


@pytest.mark.parametrize("software", SOFTWARE)
def test_a_document_with_a_context_is_signed_under_it_on_both_sides(
    peers: Peers, software: Software
) -> None:
    me = party(profiles=(CREDENTIAL.id,))
    mine = json.loads(sealed(RECEIPT, me, SUITE, profile=CREDENTIAL))
    made = peers(software.home).made(
        software.sign, text=respelt(RECEIPT), key=me.private, created=NOW
    )
    for proof in (mine, made["proof"]):
        assert proof["@context"] == RECEIPT["@context"]
        whole = {**RECEIPT, "proof": proof}
        assert peers(software.home).takes(software.verify, document=whole, key=me.public)
        written = json.dumps(proof).encode()
        found = verdict(me, SUITE, respelt(RECEIPT), written, profile=CREDENTIAL)
        assert_accepted(found, SUITE, me)

        other = {**RECEIPT, "@context": ["https://www.w3.org/ns/credentials/v1"]}
        whole = {**other, "proof": proof}
        assert not peers(software.home).takes(software.verify, document=whole, key=me.public)
        refused = verdict(me, SUITE, respelt(other), written, profile=CREDENTIAL)
        assert_refused(refused, "signature_malformed")

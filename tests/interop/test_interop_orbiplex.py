"""Orbiplex ed25519+domain-v1: the sample, and the wrap written once more in JavaScript."""

from __future__ import annotations

import json
from typing import Any

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
    flipped,
    party,
    respelt,
    sealed,
    verdict,
)
from support import SAMPLES, key_entry, load

from taskseal import Policy
from taskseal.keys.private import KeySigner, PrivateKey

FORM = "ed25519+domain-v1"
TAG = "agent.external-runtime.turn-request.v1"


def they_take(
    peers: Peers, made: dict[str, str], document: Any, trusted: Party, tag: str = TAG
) -> bool:
    return peers("node").takes(
        "orbiplexVerify", text=respelt(document), tag=tag, object=made, key=trusted.public
    )


def we_find(made: dict[str, str], document: Any, trusted: Party) -> Any:
    return verdict(trusted, FORM, respelt(document), json.dumps(made).encode())


def theirs(peers: Peers, document: Any, by: Party, tag: str = TAG) -> dict[str, str]:
    made: dict[str, str] = peers("node").made(
        "orbiplexSign", text=respelt(document), tag=tag, key=by.private
    )
    return made


def test_the_published_sample_is_what_we_sign(peers: Peers) -> None:
    sample = load(SAMPLES / "orbiplex" / "support" / "detached-signature-vector.json")
    key = PrivateKey(bytes.fromhex(sample["secret_seed_hex"]))
    signer = Party(KeySigner(key_entry(key.public, "sample"), key))
    policy = Policy(allow_published_keys=True)
    made = json.loads(sealed(TURN, signer, FORM, policy=policy))
    assert made == {name: sample[name] for name in ("alg", "key/public", "value")}
    assert they_take(peers, made, TURN, signer)
    assert theirs(peers, TURN, signer) == made


def test_a_signature_object_holds_on_both_sides_until_it_is_spoilt(peers: Peers) -> None:
    me, stranger = party(), party()
    for made in (json.loads(sealed(TURN, me, FORM)), theirs(peers, TURN, me)):
        assert they_take(peers, made, TURN, me)
        assert_accepted(we_find(made, TURN, me), FORM, me)

        bad = made | {"value": flipped(made["value"])}
        assert not they_take(peers, bad, TURN, me)
        assert_refused(we_find(bad, TURN, me), BAD_SIGNATURE)
        assert not they_take(peers, made, changed(TURN), me)
        assert_refused(we_find(made, changed(TURN), me), BAD_SIGNATURE)
        assert not they_take(peers, made, TURN, stranger)
        assert_refused(we_find(made, TURN, stranger), "unknown_key")


@pytest.mark.parametrize("tag", ["agent.external-runtime.turn-result.v1", "aisa.message/v1", ""])
def test_a_signature_under_another_tag_is_refused_on_both_sides(peers: Peers, tag: str) -> None:
    me = party()
    elsewhere = theirs(peers, TURN, me, tag)
    assert they_take(peers, elsewhere, TURN, me, tag)
    assert not they_take(peers, elsewhere, TURN, me)
    assert_refused(we_find(elsewhere, TURN, me), BAD_SIGNATURE)


def test_documents_of_other_profiles_are_signed_under_their_own_tag(peers: Peers) -> None:
    me = party()
    made = json.loads(sealed(FINDING, me, FORM))
    assert they_take(peers, made, FINDING, me, "aisa.message/v1")
    assert not they_take(peers, made, FINDING, me)

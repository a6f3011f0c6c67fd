"""A2A agent cards: the SDKs for Python and for JavaScript."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from interop_support import (
    ALGORITHMS,
    BAD_SIGNATURE,
    Party,
    Peers,
    assert_accepted,
    assert_refused,
    flipped,
    party,
    sealed,
    verdict,
)
from support import pins_of

from taskseal import Accepted
from taskseal.canon.encoding import b64url_decode, b64url_encode

PROFILE = "a2a.agent-card/v1"
CARD: Mapping[str, Any] = {
    "name": "Straßenprüfer «7» 𝄞",
    "description": "Prüft Fahrpläne: naïve \u2028 Fälle.",
    "version": "1.0.0",
    "supportedInterfaces": [
        {
            "url": "https://agent.example/a2a",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
        }
    ],
    "provider": {"organization": "Beispiel GmbH", "url": "https://agent.example"},
    "capabilities": {"streaming": True, "pushNotifications": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["application/json"],
    "skills": [
        {
            "id": "lookup",
            "name": "Nachschlagen",
            "description": "Schlägt nach.",
            "tags": ["fahrplan", "ÖPNV"],
        }
    ],
}


class Software(NamedTuple):
    """An SDK, and the names of the algorithms that it knows."""

    home: str
    verify: str
    sign: str


PYTHON = Software("python", "a2a_verify", "a2a_sign")
NODE = Software("node", "a2aVerify", "a2aSign")
# PyJWT, which the SDK for Python signs with, does not know the name Ed25519.
CASES = [
    pytest.param(PYTHON, "EdDSA", id="python-EdDSA"),
    pytest.param(PYTHON, "ES256", id="python-ES256"),
    pytest.param(NODE, "Ed25519", id="js-Ed25519"),
    pytest.param(NODE, "EdDSA", id="js-EdDSA"),
    pytest.param(NODE, "ES256", id="js-ES256"),
]


def holder(alg: str, version: str = "card/1") -> Party:
    return party(ALGORITHMS[alg], version, (PROFILE,))


def they_take(
    peers: Peers, software: Software, card: Mapping[str, Any], alg: str, *trusted: Party
) -> bool:
    keys = {each.version: each.public | {"alg": alg} for each in trusted}
    algs = {"algs": [alg]} if software.home == "python" else {}
    return peers(software.home).takes(software.verify, card=card, keys=keys, **algs)


def cards(
    peers: Peers, software: Software, alg: str, by: Party, card: Mapping[str, Any] = CARD
) -> list[dict[str, Any]]:
    """One that `sign` signed, then one that the SDK signed."""
    name = "EdDSA" if alg == "EdDSA" else None
    mine = json.loads(sealed(card, by, "a2a", algorithm_name=name))
    header = {"alg": alg, "kid": by.version, "typ": "JOSE"}
    theirs = peers(software.home).made(software.sign, card=card, header=header, key=by.private)
    return [mine, theirs]


def resigned(card: dict[str, Any], **members: str) -> dict[str, Any]:
    """The card with other members in its one signature."""
    (one,) = card["signatures"]
    return card | {"signatures": [one | members]}


@pytest.mark.parametrize(("software", "alg"), CASES)
def test_a_signed_card_holds_on_both_sides_until_it_is_spoilt(
    peers: Peers, software: Software, alg: str
) -> None:
    me, stranger = holder(alg), holder(alg)
    for card in cards(peers, software, alg, me):
        assert they_take(peers, software, card, alg, me)
        assert_accepted(verdict(me, "a2a", json.dumps(card)), "a2a", me)

        (one,) = card["signatures"]
        bad = [
            resigned(card, signature=flipped(one["signature"])),
            card | {"description": card["description"][:-1] + "!"},
            card | {"skills": [card["skills"][0] | {"id": "lookuq"}]},
        ]
        for each in bad:
            assert not they_take(peers, software, each, alg, me)
            assert_refused(verdict(me, "a2a", json.dumps(each)), BAD_SIGNATURE)
        assert not they_take(peers, software, card, alg, stranger)
        assert_refused(verdict(stranger, "a2a", json.dumps(card)), BAD_SIGNATURE)

        header = json.loads(b64url_decode(one["protected"]) or b"")
        header["typ"] = "vnd.taskseal.aisa.message.v1+jws"
        swapped = resigned(card, protected=b64url_encode(json.dumps(header).encode()))
        assert not they_take(peers, software, swapped, alg, me)
        assert_refused(verdict(me, "a2a", json.dumps(swapped)), "wrong_typ")


@pytest.mark.parametrize(("software", "alg"), CASES)
def test_one_good_signature_by_a_trusted_key_is_enough_on_both_sides(
    peers: Peers, software: Software, alg: str
) -> None:
    me, other = holder(alg), holder(alg, "card/2")
    (first, _), (second, _) = cards(peers, software, alg, me), cards(peers, software, alg, other)
    both = first | {"signatures": [*second["signatures"], *first["signatures"]]}
    assert they_take(peers, software, both, alg, me)
    found = verdict(pins_of(me.signer), "a2a", json.dumps(both))
    assert_accepted(found, "a2a", me)
    assert isinstance(found, Accepted)
    assert found.signer.key_version == me.version


@pytest.mark.parametrize("software", [PYTHON, NODE], ids=["python", "js"])
def test_a_card_with_empty_members_that_an_sdk_signed_is_taken_by_the_sdks_own_rule(
    peers: Peers, software: Software
) -> None:
    me = holder("ES256")
    card = {**CARD, "description": "", "provider": {"organization": "", "url": ""}}
    header = {"alg": "ES256", "kid": me.version, "typ": "JOSE"}
    theirs = peers(software.home).made(software.sign, card=card, header=header, key=me.private)
    # The SDKs leave out what is empty when they write the card; the sender's file has it.
    sent = {**card, "signatures": theirs["signatures"]}
    assert they_take(peers, software, sent, "ES256", me)
    found = verdict(me, "a2a", json.dumps(sent))
    assert_accepted(found, "a2a", me)
    assert isinstance(found, Accepted)
    assert found.canonical == "a2a-sdk"

"""DSSE envelopes: securesystemslib, and sigstore's encoding with Node's signatures."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any, NamedTuple

import pytest
from interop_support import (
    AISA,
    BAD_SIGNATURE,
    FINDING,
    ORBIPLEX,
    TURN,
    Party,
    Peers,
    assert_accepted,
    assert_refused,
    party,
    respelt,
    sealed,
    verdict,
)
from support import pins_of

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.algorithms import Algorithm


class Software(NamedTuple):
    """A package that knows DSSE."""

    home: str
    verify: str
    sign: str


SOFTWARE = [
    pytest.param(
        Software("python", "securesystemslib_verify", "securesystemslib_sign"),
        id="securesystemslib",
    ),
    pytest.param(Software("node", "sigstoreVerify", "sigstoreSign"), id="sigstore"),
]


def kind_of(profile: str) -> str:
    """The payload type of a profile, spelt out here as another implementer would."""
    return f"application/vnd.taskseal.{profile.replace('/', '.')}+json"


def public_keys(*parties: Party) -> dict[str, dict[str, str]]:
    return {each.version: each.public for each in parties}


def spoilt_signature(envelope: dict[str, Any], index: int = 0) -> dict[str, Any]:
    signatures = [dict(each) for each in envelope["signatures"]]
    raw = b64decode(signatures[index]["sig"])
    signatures[index]["sig"] = b64encode(bytes([raw[0] ^ 0x80]) + raw[1:]).decode()
    return envelope | {"signatures": signatures}


def spoilt_payload(envelope: dict[str, Any]) -> dict[str, Any]:
    payload = b64decode(envelope["payload"]).replace(b"msg-2026-0008", b"msg-2026-0009")
    return envelope | {"payload": b64encode(payload).decode()}


def envelopes(peers: Peers, software: Software, *signers: Party) -> list[dict[str, Any]]:
    """One that `sign` made, then one that the package made."""
    mine: bytes | Any = FINDING
    for each in signers:
        mine = sealed(mine, each, "dsse")
    theirs = peers(software.home).made(
        software.sign,
        text=respelt(FINDING),
        kind=kind_of(AISA),
        keys={each.version: each.private for each in signers},
    )
    return [json.loads(mine), theirs]


# securesystemslib reads P-256 signatures in DER only, which DSSE does not ask for.
P256 = pytest.param(
    Software("node", "sigstoreVerify", "sigstoreSign"), Algorithm.P256, id="sigstore-P-256"
)


@pytest.mark.parametrize(
    ("software", "algorithm"),
    [*(pytest.param(*each.values, Algorithm.ED25519, id=each.id) for each in SOFTWARE), P256],
)
def test_an_envelope_holds_on_both_sides_until_it_is_spoilt(
    peers: Peers, software: Software, algorithm: Algorithm
) -> None:
    me, stranger = party(algorithm), party(algorithm)

    def they_take(envelope: dict[str, Any], trusted: Party) -> bool:
        # The package writes into what it is given.
        copied = json.loads(json.dumps(envelope))
        keys = public_keys(trusted)
        return peers(software.home).takes(software.verify, envelope=copied, keys=keys, threshold=1)

    for envelope in envelopes(peers, software, me):
        assert envelope["payloadType"] == kind_of(AISA)
        payload = peers(software.home).made(
            software.verify, envelope=envelope, keys=public_keys(me), threshold=1
        )
        assert b64url_decode(payload) == canonicalise(FINDING)
        assert_accepted(verdict(me, "dsse", json.dumps(envelope)), "dsse", me)

        for bad in (spoilt_signature(envelope), spoilt_payload(envelope)):
            assert bad != envelope
            assert not they_take(bad, me)
            assert_refused(verdict(me, "dsse", json.dumps(bad)), BAD_SIGNATURE)
        assert not they_take(envelope, stranger)
        assert_refused(verdict(stranger, "dsse", json.dumps(envelope)), BAD_SIGNATURE)

        swapped = envelope | {"payloadType": kind_of(ORBIPLEX)}
        assert not they_take(swapped, me)
        assert_refused(verdict(me, "dsse", json.dumps(swapped)), "wrong_typ")


@pytest.mark.parametrize("software", SOFTWARE)
def test_what_others_sign_as_another_kind_is_refused_although_the_signature_holds(
    peers: Peers, software: Software
) -> None:
    me = party()
    keys = {me.version: me.private}
    envelope = peers(software.home).made(
        software.sign, text=respelt(TURN), kind=kind_of(AISA), keys=keys
    )
    found = peers(software.home).takes(
        software.verify, envelope=dict(envelope), keys=public_keys(me), threshold=1
    )
    assert found
    assert_refused(verdict(me, "dsse", json.dumps(envelope)), "wrong_typ")


@pytest.mark.parametrize("software", SOFTWARE)
def test_two_of_two_keys_must_sign_on_both_sides(peers: Peers, software: Software) -> None:
    first, second = party(version="peer/1"), party(version="peer/2")
    pins, keys = pins_of(first.signer, second.signer), public_keys(first, second)
    for envelope in envelopes(peers, software, first, second):
        found = peers(software.home).takes(
            software.verify, envelope=json.loads(json.dumps(envelope)), keys=keys, threshold=2
        )
        assert found
        taken = verdict(pins, "dsse", json.dumps(envelope), threshold=2)
        assert_accepted(taken, "dsse", first, second)

        for index in (0, 1):
            bad = spoilt_signature(envelope, index)
            refused = verdict(pins, "dsse", json.dumps(bad), threshold=2)
            assert_refused(refused, "threshold_not_met")
            assert not peers(software.home).takes(
                software.verify, envelope=bad, keys=keys, threshold=2
            )


def test_an_envelope_whose_signature_names_no_key_is_taken_for_the_key_that_the_operator_names(
    peers: Peers,
) -> None:
    me = party()
    _, envelope = envelopes(peers, Software("node", "sigstoreVerify", "sigstoreSign"), me)
    del envelope["signatures"][0]["keyid"]
    assert_refused(verdict(me, "dsse", json.dumps(envelope)), "key_version_missing")
    found = verdict(me, "dsse", json.dumps(envelope), unversioned_key=me.version)
    assert_accepted(found, "dsse", me)

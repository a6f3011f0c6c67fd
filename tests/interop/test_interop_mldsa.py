"""ML-DSA-65 over the bytes of a JWS: noble for npm and dilithium-py, neither of them OpenSSL."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from interop_support import (
    AISA,
    BAD_SIGNATURE,
    FINDING,
    ORBIPLEX,
    TURN,
    Peers,
    assert_accepted,
    assert_refused,
    flipped,
    party,
    sealed,
    verdict,
)

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.algorithms import Algorithm


class Software(NamedTuple):
    """A package that knows the algorithm."""

    home: str
    verify: str
    sign: str


SOFTWARE = [
    pytest.param(Software("node", "nobleVerify", "nobleSign"), id="noble"),
    pytest.param(Software("python", "dilithium_verify", "dilithium_sign"), id="dilithium-py"),
]


def signed_bytes(jws: dict[str, str]) -> bytes:
    return f"{jws['protected']}.{jws['payload']}".encode()


@pytest.mark.parametrize("software", SOFTWARE)
def test_a_signature_holds_on_both_sides_until_it_is_spoilt(
    peers: Peers, software: Software
) -> None:
    me = party(Algorithm.MLDSA65)
    stranger = party(Algorithm.MLDSA65)

    def they_take(jws: dict[str, str], key: dict[str, str] = me.public) -> bool:
        return peers(software.home).takes(
            software.verify,
            message=b64url_encode(signed_bytes(jws)),
            signature=jws["signature"],
            key=key,
        )

    def theirs(document: Any, profile: str) -> dict[str, str]:
        jws = {
            "protected": b64url_encode(canonicalise(me.header(profile, "ML-DSA-65"))),
            "payload": b64url_encode(canonicalise(document)),
        }
        message = b64url_encode(signed_bytes(jws))
        made = peers(software.home).made(software.sign, message=message, key=me.private)
        return {**jws, "signature": made}

    other = json.loads(sealed(TURN, me, "jws"))
    for jws in (json.loads(sealed(FINDING, me, "jws")), theirs(FINDING, AISA)):
        assert they_take(jws)
        assert_accepted(verdict(me, "jws", json.dumps(jws)), "jws", me)

        bad = jws | {"signature": flipped(jws["signature"])}
        assert not they_take(bad)
        assert_refused(verdict(me, "jws", json.dumps(bad)), BAD_SIGNATURE)
        assert not they_take(jws, stranger.public)
        assert_refused(verdict(stranger, "jws", json.dumps(jws)), BAD_SIGNATURE)
        swapped = jws | {"protected": other["protected"]}
        assert not they_take(swapped)
        assert_refused(verdict(me, "jws", json.dumps(swapped)), "wrong_typ")

    elsewhere = theirs(FINDING, ORBIPLEX)
    assert they_take(elsewhere)
    assert_refused(verdict(me, "jws", json.dumps(elsewhere)), "wrong_typ")


@pytest.mark.parametrize("software", SOFTWARE)
def test_the_same_seed_gives_the_same_key_on_both_sides(peers: Peers, software: Software) -> None:
    me = party(Algorithm.MLDSA65)
    # They derive their key from the seed alone; only the matching public half verifies.
    made = peers(software.home).made(
        software.sign, message=b64url_encode(b"seed"), key={"priv": me.private["priv"]}
    )
    signature = b64url_decode(made)
    assert signature is not None
    assert me.signer.key.public.verify(b"seed", signature)

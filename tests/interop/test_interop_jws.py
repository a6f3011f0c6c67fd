"""JSON Web Signatures, detached and with payload, by one signer and by two."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from interop_support import (
    AISA,
    ALGORITHMS,
    BAD_SIGNATURE,
    FINDING,
    ORBIPLEX,
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
from support import pins_of

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise

CLASSIC = ("Ed25519", "EdDSA", "ES256")
ALL_DETACHED = ("jws-detached", "jws-compact", "jws-unencoded")


class Software(NamedTuple):
    """A package that knows detached signatures: where it runs and what it can."""

    name: str
    home: str
    verify: str
    sign: str
    algorithms: tuple[str, ...]
    formats: tuple[str, ...]


SOFTWARE = (
    Software(
        "joserfc",
        "python",
        "joserfc_verify_detached",
        "joserfc_sign_detached",
        CLASSIC,
        ALL_DETACHED,
    ),
    Software(
        "jwcrypto",
        "python",
        "jwcrypto_verify_detached",
        "jwcrypto_sign_detached",
        (*CLASSIC, "ML-DSA-65"),
        ALL_DETACHED,
    ),
    Software("jose", "node", "joseVerifyDetached", "joseSignDetached", CLASSIC, ALL_DETACHED),
    # It does not know RFC 9864's name, and takes a detached payload only with b64 false.
    Software(
        "PyJWT",
        "python",
        "pyjwt_verify_detached",
        "pyjwt_sign_detached",
        ("EdDSA", "ES256"),
        ("jws-unencoded",),
    ),
)


class Case(NamedTuple):
    """One package, one algorithm's name, one format."""

    software: Software
    alg: str
    format: str


CASES = [
    pytest.param(Case(software, alg, format), id=f"{software.name}-{alg}-{format}")
    for software in SOFTWARE
    for alg in software.algorithms
    for format in software.formats
]


def ours(document: Any, by: Party, case: Case) -> dict[str, str]:
    """The protected header and the signature that `sign` makes."""
    name = "EdDSA" if case.alg == "EdDSA" else None
    blob = sealed(document, by, case.format, algorithm_name=name)
    if case.format == "jws-compact":
        protected, _, signature = blob.decode().split(".")
        return {"protected": protected, "signature": signature}
    found: dict[str, str] = json.loads(blob)
    return found


def theirs(peers: Peers, document: Any, by: Party, case: Case, profile: str) -> dict[str, str]:
    unencoded = {"b64": False, "crit": ["b64"]} if case.format == "jws-unencoded" else {}
    made: dict[str, str] = peers(case.software.home).made(
        case.software.sign,
        header=by.header(profile, case.alg, **unencoded),
        text=respelt(document),
        key=by.private,
    )
    assert made.keys() == {"protected", "signature"}
    return made


def they_take(peers: Peers, jws: dict[str, str], document: Any, trusted: Party, case: Case) -> bool:
    return peers(case.software.home).takes(
        case.software.verify,
        protected=jws["protected"],
        signature=jws["signature"],
        text=respelt(document),
        key=trusted.public,
        alg=case.alg,
    )


def we_find(jws: dict[str, str], document: Any, trusted: Party, case: Case) -> Any:
    compact = f"{jws['protected']}..{jws['signature']}"
    text = compact if case.format == "jws-compact" else json.dumps(jws)
    return verdict(trusted, "jws-detached", respelt(document), text.encode())


@pytest.mark.parametrize("case", CASES)
def test_others_take_a_detached_signature_of_ours_and_refuse_it_once_it_is_spoilt(
    peers: Peers, case: Case
) -> None:
    me, stranger = party(ALGORITHMS[case.alg]), party(ALGORITHMS[case.alg])
    jws, other = ours(FINDING, me, case), ours(TURN, me, case)
    assert they_take(peers, jws, FINDING, me, case)
    assert not they_take(peers, jws | {"signature": flipped(jws["signature"])}, FINDING, me, case)
    assert not they_take(peers, jws, changed(FINDING), me, case)
    assert not they_take(peers, jws, FINDING, stranger, case)
    assert not they_take(peers, jws | {"protected": other["protected"]}, FINDING, me, case)


@pytest.mark.parametrize("case", CASES)
def test_we_take_a_detached_signature_of_others_and_refuse_it_once_it_is_spoilt(
    peers: Peers, case: Case
) -> None:
    they, stranger = party(ALGORITHMS[case.alg]), party(ALGORITHMS[case.alg])
    jws = theirs(peers, FINDING, they, case, AISA)
    other = theirs(peers, TURN, they, case, ORBIPLEX)
    assert_accepted(we_find(jws, FINDING, they, case), "jws-detached", they)
    spoilt = jws | {"signature": flipped(jws["signature"])}
    assert_refused(we_find(spoilt, FINDING, they, case), BAD_SIGNATURE)
    assert_refused(we_find(jws, changed(FINDING), they, case), BAD_SIGNATURE)
    assert_refused(we_find(jws, FINDING, stranger, case), BAD_SIGNATURE)
    swapped = jws | {"protected": other["protected"]}
    assert_refused(we_find(swapped, FINDING, they, case), "wrong_typ")
    # The signature holds, but it says that it is for something else.
    elsewhere = theirs(peers, FINDING, they, case, ORBIPLEX)
    assert_refused(we_find(elsewhere, FINDING, they, case), "wrong_typ")


WITH_PAYLOAD = [
    pytest.param(name, home, verify, sign, alg, id=f"{name}-{alg}")
    for name, home, verify, sign in (
        ("joserfc", "python", "joserfc_verify_flattened", "joserfc_sign_flattened"),
        ("jose", "node", "joseVerifyFlattened", "joseSignFlattened"),
    )
    for alg in CLASSIC
]


@pytest.mark.parametrize(("name", "home", "verify", "sign", "alg"), WITH_PAYLOAD)
def test_a_signature_around_the_document_holds_on_both_sides_until_it_is_spoilt(
    peers: Peers, name: str, home: str, verify: str, sign: str, alg: str
) -> None:
    me, stranger = party(ALGORITHMS[alg]), party(ALGORITHMS[alg])
    spelt = "EdDSA" if alg == "EdDSA" else None
    mine = json.loads(sealed(FINDING, me, "jws", algorithm_name=spelt))
    other = json.loads(sealed(TURN, me, "jws", algorithm_name=spelt))
    found = peers(home).made(verify, blob=mine, key=me.public, alg=alg)
    assert b64url_decode(found) == canonicalise(FINDING)
    header = me.header(AISA, alg)
    made = peers(home).made(sign, header=header, text=respelt(FINDING), key=me.private)
    assert_accepted(verdict(me, "jws", json.dumps(made)), "jws", me)

    for blob in (mine, made):
        bad = (
            blob | {"signature": flipped(blob["signature"])},
            blob | {"payload": flipped(blob["payload"])},
            blob | {"protected": other["protected"]},
        )
        for each in bad:
            assert not peers(home).takes(verify, blob=each, key=me.public, alg=alg)
            assert_refused(
                verdict(me, "jws", json.dumps(each)), BAD_SIGNATURE, "wrong_typ", "not_utf8"
            )
        assert not peers(home).takes(verify, blob=blob, key=stranger.public, alg=alg)
        assert_refused(verdict(stranger, "jws", json.dumps(blob)), BAD_SIGNATURE)


GENERAL = [
    pytest.param("python", "jwcrypto", ("Ed25519", "ML-DSA-65"), id="jwcrypto"),
    pytest.param("node", "jose", ("Ed25519", "ES256"), id="jose"),
]
OPERATIONS = {
    "jwcrypto": ("jwcrypto_verify_general", "jwcrypto_sign_general"),
    "jose": ("joseVerifyGeneral", "joseSignGeneral"),
}


@pytest.mark.parametrize(("home", "name", "algs"), GENERAL)
def test_two_signatures_of_two_algorithms_hold_on_both_sides_until_either_is_spoilt(
    peers: Peers, home: str, name: str, algs: tuple[str, str]
) -> None:
    verify, sign = OPERATIONS[name]
    first, second = (party(ALGORITHMS[alg], f"peer/{alg}") for alg in algs)
    pins = pins_of(first.signer, second.signer)
    keys = {each.version: each.public for each in (first, second)}
    mine = json.loads(sealed(sealed(FINDING, first, "jws-general"), second, "jws-general"))
    theirs = peers(home).made(
        sign,
        headers=[each.header(AISA, alg) for each, alg in zip((first, second), algs, strict=True)],
        text=respelt(FINDING),
        keys=[first.private, second.private],
    )
    other = json.loads(sealed(sealed(TURN, first, "jws-general"), second, "jws-general"))
    stranger = party(ALGORITHMS[algs[1]], second.version)
    for blob in (mine, theirs):
        assert b64url_decode(peers(home).made(verify, blob=blob, keys=keys)) == canonicalise(
            FINDING
        )
        found = verdict(pins, "jws-general", json.dumps(blob), threshold=2)
        assert_accepted(found, "jws-general", first, second)

        for index in (0, 1):
            one, another = blob["signatures"][index], other["signatures"][index]
            for spoilt in (
                one | {"signature": flipped(one["signature"])},
                one | {"protected": another["protected"]},
            ):
                signatures = [*blob["signatures"]]
                signatures[index] = spoilt
                each = {"payload": blob["payload"], "signatures": signatures}
                assert not peers(home).takes(verify, blob=each, keys=keys)
                refused = verdict(pins, "jws-general", json.dumps(each), threshold=2)
                assert_refused(refused, "threshold_not_met")
        wrong = keys | {second.version: stranger.public}
        assert not peers(home).takes(verify, blob=blob, keys=wrong)
        trusted = pins_of(first.signer, stranger.signer)
        refused = verdict(trusted, "jws-general", json.dumps(blob), threshold=2)
        assert_refused(refused, "threshold_not_met")

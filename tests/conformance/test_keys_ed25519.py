"""Ed25519 against the published sets: one policy, no exceptions by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.encoding import b64url_decode
from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.private import PrivateKey
from taskseal.keys.screening import is_published


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def accepts(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a receiver that was given this key takes this signature."""
    try:
        key = PublicKey.load(Algorithm.ED25519, public)
    except MaterialError:
        return False
    return key.verify(message, signature)


def test_every_wycheproof_verdict_is_ours(conformance: Path) -> None:
    groups = load(conformance / "wycheproof/ed25519_test.json")["testGroups"]
    wrong = []
    seen = 0
    for group in groups:
        public = bytes.fromhex(group["publicKey"]["pk"])
        for test in group["tests"]:
            seen += 1
            taken = accepts(public, bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"]))
            if taken is not (test["result"] == "valid"):
                wrong.append(test["tcId"])
    assert wrong == []
    assert seen == 151


def test_one_of_the_914_edge_cases_of_cctv_is_accepted(conformance: Path) -> None:
    vectors = load(conformance / "cctv/ed25519/ed25519vectors.json")
    taken = [
        vector
        for vector in vectors
        if accepts(
            bytes.fromhex(vector["key"]), vector["msg"].encode(), bytes.fromhex(vector["sig"])
        )
    ]
    assert len(vectors) == 914
    assert len(taken) == 1
    assert taken[0]["flags"] is None


def test_the_cctv_cases_with_a_sound_key_are_refused_by_the_signature_check(
    conformance: Path,
) -> None:
    """So the policy on R is the verifier's own, and not only a matter of the key."""
    refused = 0
    for vector in load(conformance / "cctv/ed25519/ed25519vectors.json"):
        try:
            key = PublicKey.load(Algorithm.ED25519, bytes.fromhex(vector["key"]))
        except MaterialError as error:
            assert error.code is Reason.WEAK_KEY
            continue
        if not key.verify(vector["msg"].encode(), bytes.fromhex(vector["sig"])):
            assert vector["flags"]
            refused += 1
    assert refused == 27


def test_none_of_the_12_cases_of_speccheck_is_accepted(conformance: Path) -> None:
    cases = load(conformance / "ed25519-speccheck/cases.json")
    taken = [
        accepts(
            bytes.fromhex(case["pub_key"]),
            bytes.fromhex(case["message"]),
            bytes.fromhex(case["signature"]),
        )
        for case in cases
    ]
    assert taken == [False] * 12


def test_every_vector_of_rfc_8032_signs_and_verifies(conformance: Path) -> None:
    vectors = load(conformance / "rfc8032/ed25519.json")["vectors"]
    for vector in vectors:
        key = PrivateKey(bytes.fromhex(vector["seed"]))
        message, signature = bytes.fromhex(vector["msg"]), bytes.fromhex(vector["sig"])
        assert key.public.raw.hex() == vector["public"]
        assert key.sign(message) == signature
        assert key.public.verify(message, signature)
    assert len(vectors) == 130


def test_the_keys_printed_in_standards_are_published(conformance: Path) -> None:
    seeds = [
        bytes.fromhex(vector["seed"])
        for vector in load(conformance / "rfc8032/ed25519.json")["vectors"]
        if "rfc8032" in vector
    ]
    cookbook = load(conformance / "jose-cookbook/curve25519/jws.json")["input"]["key"]["d"]
    appendix = next(
        entry["jwk"]["d"]
        for entry in load(conformance / "jose/rfc-examples.json")
        if entry["id"].startswith("rfc8037")
    )
    seeds += [b64url_decode(text) or b"" for text in (cookbook, appendix)]
    assert [is_published(PrivateKey(seed).public.thumbprint) for seed in seeds] == [True] * 7


@pytest.mark.parametrize("entry_id", ["rfc8037-A.1-A.5"])
def test_a_thumbprint_is_the_one_that_the_standard_prints(entry_id: str, conformance: Path) -> None:
    (entry,) = [e for e in load(conformance / "jose/rfc-examples.json") if e["id"] == entry_id]
    public = {name: entry["jwk"][name] for name in ("kty", "crv", "x")}
    assert PublicKey.from_jwk(public).thumbprint == entry["thumbprint_sha256"]

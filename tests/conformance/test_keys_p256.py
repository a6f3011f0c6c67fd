"""P-256 against the published sets: signatures, points and the keys of standards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.formats import read_public_key
from taskseal.keys.screening import is_published

SIZE = 32


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def raw_of(der: bytes) -> bytes:
    """r and s of a DER signature side by side; a form that has no such pair gives nothing."""
    try:
        r, s = decode_dss_signature(der)
        return r.to_bytes(SIZE, "big") + s.to_bytes(SIZE, "big")
    except (ValueError, OverflowError):
        return b""


def test_every_wycheproof_verdict_on_raw_signatures_is_ours(conformance: Path) -> None:
    groups = load(conformance / "wycheproof/ecdsa_secp256r1_sha256_p1363_test.json")["testGroups"]
    wrong = []
    seen = 0
    for group in groups:
        key = PublicKey(Algorithm.P256, bytes.fromhex(group["publicKey"]["uncompressed"]))
        for test in group["tests"]:
            seen += 1
            taken = key.verify(bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"]))
            if taken is not (test["result"] == "valid"):
                wrong.append(test["tcId"])
    assert wrong == []
    assert seen == 262


def test_every_wycheproof_verdict_on_der_signatures_is_ours_once_they_are_raw(
    conformance: Path,
) -> None:
    """Their DER is not read here; strict DER alone has a raw form."""
    groups = load(conformance / "wycheproof/ecdsa_secp256r1_sha256_test.json")["testGroups"]
    wrong = []
    seen = 0
    for group in groups:
        key = PublicKey(Algorithm.P256, bytes.fromhex(group["publicKey"]["uncompressed"]))
        for test in group["tests"]:
            seen += 1
            der = bytes.fromhex(test["sig"])
            assert not key.verify(bytes.fromhex(test["msg"]), der), test["tcId"]
            taken = key.verify(bytes.fromhex(test["msg"]), raw_of(der))
            if taken is not (test["result"] == "valid"):
                wrong.append(test["tcId"])
    assert wrong == []
    assert seen == 484


def test_every_form_of_a_wycheproof_key_is_one_key(conformance: Path) -> None:
    groups = load(conformance / "wycheproof/ecdsa_secp256r1_sha256_p1363_test.json")["testGroups"]
    for group in groups:
        public = group["publicKey"]
        key = PublicKey(Algorithm.P256, bytes.fromhex(public["uncompressed"]))
        assert read_public_key(bytes.fromhex(group["publicKeyDer"])) == key
        assert read_public_key(group["publicKeyPem"].encode()) == key
        if "publicKeyJwk" in group:
            assert PublicKey.from_jwk(group["publicKeyJwk"]) == key


def test_the_example_of_rfc_7515_verifies_and_its_thumbprint_is_the_printed_one(
    conformance: Path,
) -> None:
    entries = load(conformance / "jose/rfc-examples.json")
    (entry,) = [each for each in entries if each["id"] == "rfc7515-A.3"]
    key = PublicKey.from_jwk(entry["jwk"])
    assert key.thumbprint == entry["thumbprint_sha256"]
    assert is_published(key.thumbprint)
    signed, _, text = entry["jws_compact"].rpartition(".")
    signature = b64url_decode(text)
    assert signature is not None
    assert key.verify(signed.encode(), signature)
    assert not key.verify(signed.encode() + b"A", signature)


def test_the_p256_vector_of_the_w3c_verifies(conformance: Path) -> None:
    """Its hash is signed bare; the multibase key is a compressed point after two bytes."""
    folder = conformance / "vc-di-ecdsa/TestVectors"
    text = load(folder / "p256KeyPair.json")["publicKeyMultibase"]
    point = base58(text[1:])
    assert point[:2] == b"\x80\x24"
    key = PublicKey(Algorithm.P256, point[2:])
    files = folder / "ecdsa-jcs-2019-p256"
    message = bytes.fromhex((files / "combinedHashJCSECDSAP256.txt").read_text().strip())
    signature = bytes.fromhex((files / "sigHexJCSECDSAP256.txt").read_text().strip())
    assert key.verify(message, signature)
    assert not key.verify(message[:-1], signature)
    assert is_published(key.thumbprint)


def test_the_cookbook_signs_with_another_curve(conformance: Path) -> None:
    """So it holds no ES256 example to check; the set is looked at to be sure."""
    texts = [path.read_text() for path in (conformance / "jose-cookbook").rglob("*.json")]
    assert len(texts) > 10
    assert not any('"P-256"' in text for text in texts)
    assert not any(b64url_encode(b'{"alg":"ES256"') in text for text in texts)


def base58(text: str) -> bytes:
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number = 0
    for letter in text:
        number = number * 58 + alphabet.index(letter)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")

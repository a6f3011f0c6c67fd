"""JOSE, DSSE, Data Integrity, did:key and agent cards, as their standards publish them."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.private import PrivateKey
from taskseal.profiles.a2a import covered
from taskseal.wire.base import Subject
from taskseal.wire.dsse import DSSE, is_dsse, pae
from taskseal.wire.forms import around, read_around
from taskseal.wire.general import is_general
from taskseal.wire.integrity import INTEGRITY, hash_data
from taskseal.wire.jws import read_flattened, read_unattached
from taskseal.wire.multikey import base58_decode, base58_encode, read_multikey, write_multikey


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def key_of(jwk: dict[str, Any]) -> PublicKey:
    kept = ("kty", "crv", "x", "y")
    return PublicKey.from_jwk({name: jwk[name] for name in kept if name in jwk})


@pytest.fixture(scope="module")
def jose(conformance: Path) -> dict[str, Any]:
    return {each["id"]: each for each in load(conformance / "jose/rfc-examples.json")}


@pytest.mark.parametrize("name", ["rfc8037-A.1-A.5", "rfc7515-A.3"])
def test_the_rfcs_own_signatures_hold(jose: dict[str, Any], name: str) -> None:
    example = jose[name]
    protected, payload, signature = example["jws_compact"].split(".")
    jws = read_flattened({"protected": protected, "payload": payload, "signature": signature})
    key = key_of(example["jwk"])
    assert key.thumbprint == example["thumbprint_sha256"]
    assert key.verify(jws.signing_input(b""), jws.signature)
    detached = read_unattached(protected, signature)
    body = b64url_decode(payload)
    assert body is not None
    assert key.verify(detached.signing_input(body), detached.signature)
    assert not key.verify(detached.signing_input(body + b" "), detached.signature)


def test_our_ed25519_signature_is_the_rfcs(jose: dict[str, Any]) -> None:
    example = jose["rfc8037-A.1-A.5"]
    signed, _, signature = example["jws_compact"].rpartition(".")
    secret = b64url_decode(example["jwk"]["d"])
    assert secret is not None
    assert b64url_encode(PrivateKey(secret).sign(signed.encode())) == signature


def test_an_unencoded_payload_is_signed_as_the_rfc_says(jose: dict[str, Any]) -> None:
    import hmac

    example = jose["rfc7797-4.2"]
    jws = read_unattached(example["protected"], example["signature"])
    secret = b64url_decode(example["key_b64url"])
    assert secret is not None
    message = jws.signing_input(example["payload"].encode())
    assert hmac.digest(secret, message, "sha256") == jws.signature


def test_b64_without_crit_is_refused(jose: dict[str, Any]) -> None:
    example = jose["rfc7797-4.2-no-crit"]
    with pytest.raises(InputError) as caught:
        read_unattached(example["protected"], "AA")
    assert caught.value.code is Reason.SIGNATURE_MALFORMED


def test_the_cookbooks_ed25519_signature_holds_and_is_ours(conformance: Path) -> None:
    example = load(conformance / "jose-cookbook/curve25519/jws.json")
    protected, payload, signature = example["output"]["compact"].split(".")
    key = key_of(example["input"]["key"])
    jws = read_flattened({"protected": protected, "payload": payload, "signature": signature})
    assert key.verify(jws.signing_input(b""), jws.signature)
    secret = b64url_decode(example["input"]["key"]["d"])
    assert secret is not None
    again = PrivateKey(secret).sign(f"{protected}.{payload}".encode())
    assert again == jws.signature


COOKBOOK = sorted(
    [
        "4_1.rsa_v15_signature",
        "4_2.rsa-pss_signature",
        "4_3.ecdsa_signature",
        "4_4.hmac-sha2_integrity_protection",
        "4_5.signature_with_detached_content",
        "4_6.protecting_specific_header_fields",
        "4_7.protecting_content_only",
        "4_8.multiple_signatures",
    ]
)


@pytest.mark.parametrize("name", COOKBOOK)
def test_each_signature_of_the_cookbook_is_read_or_refused_for_what_it_is(
    conformance: Path, name: str
) -> None:
    """Their algorithms are not ours; what is read is the same text, and never more than that.

    A header that nobody signed (4.6, 4.7, 4.8) is refused wherever it stands.
    """
    output = load(conformance / f"jose-cookbook/jws/{name}.json")["output"]
    if "json_flat" in output and "payload" in output["json_flat"]:
        flat = output["json_flat"]
        unsigned = "header" in flat or "protected" not in flat
        form = around(flat)
        if unsigned:
            assert form is None
        else:
            assert form is not None
            sealed = read_around(form, flat)
            (seal,) = sealed.seals
            assert sealed.payload == b64url_decode(flat["payload"])
            signed = f"{flat['protected']}.{flat['payload']}".encode()
            assert seal.signing_input(Subject(b"", {}, "", "")) == signed
    if "json" in output and is_general(output["json"]):
        form = around(output["json"])
        assert form is not None
        try:
            sealed = read_around(form, output["json"])
        except InputError as fault:
            assert fault.code is Reason.SIGNATURE_MALFORMED
        else:
            assert len(sealed.seals) == len(output["json"]["signatures"])


def test_the_dsse_vector_is_ours_byte_for_byte(conformance: Path) -> None:
    vector = load(conformance / "dsse/dsse-vector.json")
    body = vector["payload_utf8"].encode()
    message = pae(vector["payloadType"], body)
    assert message == vector["pae"].encode()
    x, y, d = (int(vector[name]).to_bytes(32, "big") for name in "xyd")
    key = PublicKey(Algorithm.P256, b"\x04" + x + y)
    signature = b64decode(vector["sig_b64_raw_rs"])
    assert key.verify(message, signature)
    assert PrivateKey(d, Algorithm.P256).sign(message) == signature
    envelope = {
        "payload": "aGVsbG8gd29ybGQ=",
        "payloadType": vector["payloadType"],
        "signatures": [{"sig": vector["sig_b64_raw_rs"]}],
    }
    assert is_dsse(envelope)
    assert DSSE.read is not None
    sealed = DSSE.read(envelope)
    (seal,) = sealed.seals
    assert (sealed.payload, seal.signature, seal.key_version) == (body, signature, None)
    assert seal.signing_input(Subject(b"", {}, "", "")) == message


def test_the_data_integrity_vector_reproduces_every_step(conformance: Path) -> None:
    folder = conformance / "vc-di-eddsa/TestVectors"
    steps = folder / "eddsa-jcs-2022"
    document, options = load(folder / "unsigned.json"), load(steps / "proofConfigJCS.json")
    assert canonicalise(document).decode() == (steps / "canonDocJCS.txt").read_text()
    assert canonicalise(options).decode() == (steps / "proofCanonJCS.txt").read_text()
    combined = hash_data(options, document)
    assert combined.hex() == (steps / "combinedHashJCS.txt").read_text()
    pair = load(folder / "keyPair.json")
    private = base58_decode(pair["privateKeyMultibase"])
    assert private is not None
    secret = PrivateKey(private[2:])
    assert write_multikey("Ed25519", secret.public.raw) == pair["publicKeyMultibase"]
    signature = secret.sign(combined)
    assert signature.hex() == (steps / "sigHexJCS.txt").read_text()
    assert base58_encode(signature) == (steps / "sigBTC58JCS.txt").read_text()


def test_the_data_integrity_proof_is_read_and_holds(conformance: Path) -> None:
    folder = conformance / "vc-di-eddsa/TestVectors"
    whole = load(folder / "eddsa-jcs-2022/signedJCS.json")
    proof = whole.pop("proof")
    assert whole == load(folder / "unsigned.json")
    assert INTEGRITY.read is not None
    (seal,) = INTEGRITY.read(proof).seals
    assert seal.holder is not None
    key = PublicKey(Algorithm(seal.holder.algorithm), seal.holder.point)
    subject = Subject(canonicalise(whole), whole, "", "")
    assert key.verify(seal.signing_input(subject), seal.signature)
    more = {**whole, "@context": [*whole["@context"], "https://more.example"]}
    # The standard would take a longer context than the proof's; what it adds was signed by nobody.
    for other in (more["@context"], [], whole["@context"][::-1], whole["@context"][:1]):
        changed = {**whole, "@context": other}
        with pytest.raises(InputError):
            seal.signing_input(Subject(canonicalise(changed), changed, "", ""))


def test_did_keys_are_read_where_they_sign_with_our_algorithms(conformance: Path) -> None:
    names = {"Ed25519": Algorithm.ED25519, "P-256": Algorithm.P256}
    for example in load(conformance / "did-key/examples.json"):
        text = example["did"].removeprefix("did:key:")
        if example["type"] not in names:
            with pytest.raises(InputError) as caught:
                read_multikey(text)
            assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM
            continue
        assert example["sign_key"]
        found = read_multikey(text)
        assert found.point.hex() == example["raw_hex"]
        key = PublicKey(names[example["type"]], found.point)
        assert write_multikey(found.algorithm, key.raw) == text


def test_the_agent_card_of_the_specification_has_its_canonical_form(conformance: Path) -> None:
    example = load(conformance / "a2a/agent-card-example.json")
    name, value = next(iter(covered(example["card_fragment"])))
    assert (name, canonicalise(value).decode()) == ("rfc8785", example["canonical"])
    jws = read_unattached(example["protected"], example["signature"])
    said = example["protected_decoded"]
    assert (jws.header.alg, jws.header.typ, jws.header.kid) == (
        said["alg"],
        said["typ"],
        said["kid"],
    )
    assert len(jws.signature) == example["signature_bytes"]

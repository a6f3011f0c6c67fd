"""Messages by keys of each algorithm: what their header names, how long they sign, where."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import (
    NOW,
    SAMPLES,
    VECTORS,
    embed,
    key_entry,
    load,
    neutral_profile,
    new_signer,
    pins_of,
    sign_anyway,
)

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, scheme
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.profiles import AISA_MESSAGE, DHARMA_TASK
from taskseal.signing import sign
from taskseal.verify import Accepted, Policy, Refused, Verifier

SIGNERS = {algorithm: new_signer(f"{algorithm}/1", algorithm) for algorithm in Algorithm}
OTHERS = (Algorithm.P256, Algorithm.MLDSA65)
PINS = pins_of(*SIGNERS.values())
FINDING = load(SAMPLES / "aisa/finding.json")
TASK = {
    name: item
    for name, item in load(VECTORS / "dharma/task-envelopes.json")["vectors"][0]["input"].items()
    if name not in ("signature", "createdAt", "expiresAt", "nonce", "signerKeyVersion")
}
NEUTRAL = neutral_profile()


def check(data: bytes, trust: Pins = PINS, policy: Policy | None = None, **how: Any) -> Any:
    return Verifier(trust, policy).check(data, at=NOW, **how)


def refusal(data: bytes, *given: Any, **how: Any) -> Refused:
    verdict = check(data, *given, **how)
    assert isinstance(verdict, Refused), verdict
    return verdict


def header_of(blob: bytes) -> dict[str, Any]:
    text = b64url_decode(json.loads(blob)["protected"])
    assert text is not None
    header: dict[str, Any] = json.loads(text)
    return header


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("form", ["jws", "jws-detached", "jws-compact", "jws-unencoded"])
def test_a_message_by_a_key_of_each_algorithm_verifies_in_each_form(
    algorithm: Algorithm, form: str
) -> None:
    signed = sign(FINDING, SIGNERS[algorithm], format=form, at=NOW)
    beside = None if form == "jws" else signed.blob
    data = signed.blob if form == "jws" else canonicalise(FINDING)
    verdict = check(data, signature=beside)
    assert isinstance(verdict, Accepted), verdict
    assert verdict.signer.key_version == f"{algorithm}/1"
    if form == "jws":
        assert header_of(signed.blob)["alg"] == algorithm.value


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("named", [*Algorithm, "EdDSA"])
def test_a_header_that_names_another_algorithm_than_the_keys_is_a_mismatch(
    algorithm: Algorithm, named: str
) -> None:
    blob = sign_anyway(FINDING, SIGNERS[algorithm], AISA_MESSAGE, alg=str(named))
    verdict = check(blob)
    if named in scheme(algorithm).jose_names:
        assert isinstance(verdict, Accepted)
    else:
        assert verdict.reason is Reason.ALGORITHM_MISMATCH
        assert verdict.pointer == "/protected"


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("named", ["ES384", "ES256K", "ML-DSA-44", "P-256", "es256", "none"])
def test_a_header_that_names_none_of_the_algorithms_is_unsupported(
    algorithm: Algorithm, named: str
) -> None:
    blob = sign_anyway(FINDING, SIGNERS[algorithm], AISA_MESSAGE, alg=named)
    assert refusal(blob).reason is Reason.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize("algorithm", Algorithm)
def test_a_signature_has_the_size_of_its_keys_algorithm(algorithm: Algorithm) -> None:
    blob = json.loads(sign_anyway(FINDING, SIGNERS[algorithm], AISA_MESSAGE))
    whole = b64url_decode(blob["signature"])
    assert whole is not None
    for size in {1, 63, 65, 3308, 3310, 64, 3309} - {scheme(algorithm).signature_size}:
        blob["signature"] = b64url_encode((whole * 60)[:size])
        assert refusal(canonicalise(blob)).reason is Reason.SIGNATURE_MALFORMED


@pytest.mark.parametrize("algorithm", Algorithm)
def test_a_flipped_bit_of_the_signature_or_the_payload_is_refused(algorithm: Algorithm) -> None:
    blob = json.loads(sign_anyway(FINDING, SIGNERS[algorithm], AISA_MESSAGE))
    raw = b64url_decode(blob["signature"])
    assert raw is not None
    flipped = blob | {"signature": b64url_encode(bytes([raw[0] ^ 1]) + raw[1:])}
    assert refusal(canonicalise(flipped)).reason is Reason.BAD_SIGNATURE
    other = FINDING | {"payload": FINDING["payload"] | {"statement": "another"}}
    moved = blob | {"payload": b64url_encode(canonicalise(other))}
    assert refusal(canonicalise(moved)).reason is Reason.BAD_SIGNATURE


@pytest.mark.parametrize("algorithm", OTHERS)
def test_what_is_embedded_without_a_name_is_ed25519(algorithm: Algorithm) -> None:
    signer = new_signer("kms/1", algorithm)
    with pytest.raises(Refused) as caught:
        sign(TASK, signer, at=NOW)
    assert caught.value.reason is Reason.ALGORITHM_MISMATCH
    whole = json.loads(sign(TASK, new_signer("kms/1"), at=NOW).blob)
    assert refusal(embed(whole, signer), pins_of(signer)).reason is Reason.ALGORITHM_MISMATCH


@pytest.mark.parametrize("algorithm", OTHERS)
def test_a_dharma_task_beside_its_signature_may_be_of_any_algorithm(algorithm: Algorithm) -> None:
    signer = new_signer("kms/1", algorithm)
    signed = sign(TASK, signer, format="jws", at=NOW)
    allowed = Policy(allow_forms=frozenset({"jws"}))
    assert isinstance(check(signed.blob, pins_of(signer), allowed), Accepted)


def envelope(alg: Any) -> dict[str, Any]:
    given = {"kid": "k", "key_version": "1", "nonce": "n", "payload": {}}
    times = {"issued_at": "2026-09-01T08:34:00Z", "expires_at": "2026-09-01T08:40:00Z"}
    return given | times | ({} if alg is None else {"alg": alg})


def embedder(algorithm: Algorithm) -> KeySigner:
    key = PrivateKey.generate(algorithm)
    return KeySigner(key_entry(key.public, "k#1", profiles=[NEUTRAL.id]), key)


@pytest.mark.parametrize("algorithm", Algorithm)
def test_an_embedded_form_with_a_place_for_the_name_takes_the_keys(algorithm: Algorithm) -> None:
    signer = embedder(algorithm)
    signed = sign(envelope(algorithm.value), signer, profile=NEUTRAL, at=NOW)
    trust = pins_of(signer)
    assert isinstance(check(signed.blob, trust, profile=NEUTRAL), Accepted)


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize(
    ("alg", "reason"),
    [
        (None, Reason.UNSUPPORTED_ALGORITHM),
        (7, Reason.UNSUPPORTED_ALGORITHM),
        ("RS256", Reason.UNSUPPORTED_ALGORITHM),
        *((other.value, Reason.ALGORITHM_MISMATCH) for other in Algorithm),
    ],
)
def test_signer_and_receiver_refuse_the_same_embedded_names(
    algorithm: Algorithm, alg: Any, reason: Reason
) -> None:
    if alg == algorithm.value:
        return
    signer = embedder(algorithm)
    with pytest.raises(Refused) as caught:
        sign(envelope(alg), signer, profile=NEUTRAL, at=NOW)
    assert caught.value.reason is reason
    forced = embed(envelope(alg), signer)
    verdict = refusal(forced, pins_of(signer), profile=NEUTRAL)
    assert (verdict.reason, verdict.pointer) == (reason, "/alg")


def test_a_signer_calls_its_algorithm_by_its_own_names_only() -> None:
    signed = sign(FINDING, SIGNERS[Algorithm.ED25519], algorithm_name="EdDSA", at=NOW)
    assert header_of(signed.blob)["alg"] == "EdDSA"
    for algorithm in OTHERS:
        with pytest.raises(InputError) as caught:
            sign(FINDING, SIGNERS[algorithm], algorithm_name="EdDSA", at=NOW)
        assert caught.value.code is Reason.USAGE
        assert algorithm.value in caught.value.hint


def test_a_published_key_of_another_algorithm_is_refused_too() -> None:
    key = PrivateKey((1).to_bytes(32, "big"), Algorithm.P256)
    signer = KeySigner(key_entry(key.public), key)
    with pytest.raises(MaterialError) as caught:
        sign(FINDING, signer, at=NOW)
    assert caught.value.code is Reason.PUBLISHED_KEY
    blob = sign_anyway(FINDING, signer, AISA_MESSAGE)
    assert refusal(blob, pins_of(signer)).reason is Reason.PUBLISHED_KEY
    allowed = Policy(allow_published_keys=True)
    assert isinstance(check(blob, pins_of(signer), allowed), Accepted)


def test_a_weak_pin_of_another_algorithm_refuses_the_message_that_names_it() -> None:
    pins = json.loads(PINS.to_json())
    (pin,) = [each for each in pins["keys"] if each["alg"] == "ML-DSA-65"]
    raw = b64url_decode(pin["publicKey"]["pub"])
    assert raw is not None
    pin["publicKey"]["pub"] = b64url_encode(raw[:32] + bytes(1920))
    blob = sign_anyway(FINDING, SIGNERS[Algorithm.MLDSA65], AISA_MESSAGE)
    verdict = refusal(blob, Pins.load(canonicalise(pins)))
    assert verdict.reason is Reason.WEAK_KEY
    assert DHARMA_TASK.id in PINS.entries[0].profiles

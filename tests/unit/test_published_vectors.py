"""The vectors in docs/test-vectors: made again byte for byte, and good by other libraries too."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import SAMPLES, load

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner
from taskseal.signing import FORMATS, sign
from taskseal.verify import Accepted, Policy, Refused, Verifier
from taskseal.verify.policy import FORMS
from taskseal.wire.orbiplex import wrapped

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "test-vectors"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_vectors", FOLDER / "make.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


MAKE = module()


def test_the_script_makes_the_files_that_stand_there() -> None:
    made = {f"{name}.json": MAKE.written(value) for name, value in MAKE.vectors()}
    assert made == {path.name: path.read_bytes() for path in FOLDER.glob("*.json")}


def test_there_is_one_for_every_format() -> None:
    assert {load(FOLDER / f"{name}.json")["format"] for name in NAMES} == set(FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_is_accepted_with_published_keys_allowed_and_not_without(name: str) -> None:
    vector = load(FOLDER / f"{name}.json")
    signers: list[KeySigner] = [MAKE.signer_of(each) for each in MAKE.SECRETS]
    pins = Pins.of([each.entry for each in signers])
    data, signature = vector["file"].encode(), None
    if vector["place"] == "beside":
        data, signature = json.dumps(vector["input"]).encode(), data
    forms = frozenset(FORMS)
    allowing = Verifier(pins, Policy(allow_forms=forms, allow_published_keys=True))
    verdict = allowing.check(data, signature=signature, at=vector["at"])
    assert isinstance(verdict, Accepted), verdict
    assert (verdict.form, verdict.signer.key_version) == (vector["form"], vector["keyVersion"])
    strict = Verifier(pins, Policy(allow_forms=forms)).check(
        data, signature=signature, at=vector["at"]
    )
    assert isinstance(strict, Refused)
    assert strict.reason == "published_key"


@pytest.mark.parametrize("name", NAMES)
def test_a_vectors_signature_holds_by_another_library(name: str) -> None:
    vector = load(FOLDER / f"{name}.json")
    message = bytes.fromhex(vector["signingInputHex"])
    check_elsewhere(vector["key"], message, bytes.fromhex(vector["signatureHex"]))
    if vector["place"] != "inside":
        assert bytes.fromhex(vector["canonicalHex"]) == canonicalise(vector["input"])


def check_elsewhere(jwk: dict[str, Any], message: bytes, signature: bytes) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    x = b64url_decode(jwk["x"])
    assert x is not None
    if jwk["kty"] == "OKP":
        ed25519.Ed25519PublicKey.from_public_bytes(x).verify(signature, message)
        return
    y = b64url_decode(jwk["y"])
    assert y is not None
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + x + y)
    halves = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    public.verify(encode_dss_signature(*halves), message, ec.ECDSA(hashes.SHA256()))


def test_the_orbiplex_sample_signature_is_reproduced_byte_for_byte() -> None:
    from hashlib import sha256

    from taskseal.signers import signer_from_seed

    vector = load(SAMPLES / "orbiplex/support/detached-signature-vector.json")
    document = (SAMPLES / "orbiplex/start.json").read_bytes()
    payload = canonicalise(json.loads(document))
    assert sha256(payload).hexdigest() == vector["payload_sha256_hex"]
    assert wrapped(vector["domain"], payload).hex() == vector["wrapped_sha256_hex"]
    seed = bytes.fromhex(vector["secret_seed_hex"])
    signer = signer_from_seed(seed, "k", ["orbiplex.turn-request/v1"])
    how: dict[str, Any] = {
        "policy": Policy(allow_published_keys=True),
        "at": "2026-09-01T08:35:00Z",
    }
    made = json.loads(sign(document, signer, format=vector["alg"], **how).blob)
    assert made == {name: vector[name] for name in ("alg", "key/public", "value")}
    # The key may be called by its did as well.
    spelt = json.dumps({**made, "key/public": vector["did"]}).encode()
    policy = Policy(allow_published_keys=True, allow_forms=frozenset({vector["alg"]}))
    verdict = Verifier(Pins.of([signer.entry]), policy).check(
        document, signature=spelt, at="2026-09-01T08:35:00Z"
    )
    assert isinstance(verdict, Accepted)

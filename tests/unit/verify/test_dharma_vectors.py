"""Our verdict on every task that the real Dharma packages made (tests/vectors/dharma)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import VECTORS, key_entry, load, public_key

from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.signing import sign
from taskseal.verify import Accepted, Policy, Refused, Verifier
from taskseal.wire.embedded import without

TASKS = load(VECTORS / "dharma/task-envelopes.json")["vectors"]
KEYS = load(VECTORS / "dharma/keys.json")["keys"]
ROOT_VERSION = KEYS["server-root"]["keyVersion"]

# What each vector that we do not accept is refused for: the peer's own refusal, one of its
# weaknesses, or a decision that its caller was to look at.
REFUSED = {
    "task-action-decision-block": Reason.NOT_AUTHORISED,
    "task-a2a-divergent-key-order": Reason.NOT_PORTABLE,
    "task-wire-bigint-9007199254740993-ok": Reason.INTEGER_OUT_OF_RANGE,
    "task-wire-1e400-equals-null-ok": Reason.NUMBER_OUT_OF_RANGE,
    "task-wire-duplicate-key-last-wins-ok": Reason.DUPLICATE_MEMBER,
    "task-lone-surrogate-ok": Reason.LONE_SURROGATE,
    "neg-task-tampered-instructions": Reason.BAD_SIGNATURE,
    "neg-task-tampered-nested": Reason.BAD_SIGNATURE,
    "neg-task-wrong-key": Reason.BAD_SIGNATURE,
    "neg-task-signature-null": Reason.SIGNATURE_MISSING,
    "neg-task-signature-missing": Reason.SIGNATURE_MISSING,
    "neg-task-signature-empty": Reason.SIGNATURE_MISSING,
    "neg-task-expired": Reason.EXPIRED,
    "neg-task-signer-key-version-removed": Reason.BAD_SIGNATURE,
    "neg-task-signed-by-named-key-mismatch": Reason.BAD_SIGNATURE,
    "neg-task-key-version-expired": Reason.KEY_EXPIRED,
    "neg-task-schema-extra-property": Reason.SCHEMA_INVALID,
    "neg-task-schema-state-on-external-request": Reason.SCHEMA_INVALID,
    "neg-task-schema-a2a-missing-source": Reason.SCHEMA_INVALID,
    "neg-task-schema-capability-without-decision": Reason.SCHEMA_INVALID,
    "neg-task-schema-decision-without-capability": Reason.SCHEMA_INVALID,
    "neg-task-schema-no-timezone": Reason.SCHEMA_INVALID,
    "neg-task-schema-bad-skill-commit": Reason.SCHEMA_INVALID,
    "weak-task-expiresAt-leap-second-never-expires": Reason.SCHEMA_INVALID,
    "weak-task-createdAt-in-far-future-ok": Reason.INVALID_LIFETIME,
    "weak-task-lifetime-100-years-ok": Reason.INVALID_LIFETIME,
    "weak-task-date-newline-separator-ok": Reason.SCHEMA_INVALID,
    "weak-task-root-key-after-rotation-ok": Reason.UNKNOWN_KEY,
    "weak-task-signature-padded": Reason.SIGNATURE_MALFORMED,
    "weak-task-signature-trailingJunk": Reason.SIGNATURE_MALFORMED,
    "weak-task-signature-standardAlphabet": Reason.SIGNATURE_MALFORMED,
    "weak-task-signature-trailingBits": Reason.SIGNATURE_MALFORMED,
    "weak-task-small-order-key-any-message-ok": Reason.WEAK_KEY,
}


def each(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["name"])


def wire_text(vector: dict[str, Any]) -> bytes:
    text = vector.get("inputText")
    return text.encode() if text is not None else json.dumps(vector["input"]).encode()


def verifier(vector: dict[str, Any]) -> Verifier:
    trust: Pins | DharmaKeyset
    if vector["keyset"] is not None:
        trust = DharmaKeyset.load(json.dumps(vector["keyset"]).encode())
    else:
        (root,) = vector["keys"]["pinnedRoot"].values()
        entry = key_entry(public_key(root["x"]), root["keyVersion"], profiles=["dharma.task/v1"])
        trust = Pins.of([entry])
    return Verifier(trust, Policy(allow_published_keys=True, unversioned_key=ROOT_VERSION))


@each(TASKS)
def test_every_task_gets_our_verdict(vector: dict[str, Any]) -> None:
    verdict = verifier(vector).check(wire_text(vector), at=vector["now"])
    if vector["name"] in REFUSED:
        assert isinstance(verdict, Refused), verdict
        assert verdict.reason == REFUSED[vector["name"]], verdict
    else:
        assert isinstance(verdict, Accepted), verdict
        assert verdict.digest.text("sha256:hex") == vector["expected"]["canonicalSha256"]
        assert verdict.authorised is (True if "actionDecision" in vector["input"] else None)


def test_we_refuse_whatever_the_peer_refuses() -> None:
    assert {v["name"] for v in TASKS if not v["expected"]["ok"]} <= REFUSED.keys()


@each([vector for vector in TASKS if vector["expected"]["rfc8785Equal"]])
def test_the_canonical_bytes_are_the_peers(vector: dict[str, Any]) -> None:
    try:
        value = parse(wire_text(vector)).value
    except InputError:
        assert vector["name"] in REFUSED
        return
    canonical = canonicalise(without(value, ["/signature"]))
    assert canonical.decode() == vector["expected"]["canonical"]


def signer_for(vector: dict[str, Any]) -> KeySigner:
    version = vector["input"].get("signerKeyVersion", ROOT_VERSION)
    (key,) = [key for key in KEYS.values() if key["keyVersion"] == version]
    private = PrivateKey(bytes.fromhex(key["privateSeedHex"]))
    entry = key_entry(private.public, version, profiles=["dharma.task/v1"])
    return KeySigner(entry, private)


@each([v for v in TASKS if REFUSED.get(v["name"], Reason.NOT_AUTHORISED) is Reason.NOT_AUTHORISED])
def test_signing_the_same_task_gives_the_same_signature(vector: dict[str, Any]) -> None:
    unsigned = {k: v for k, v in vector["input"].items() if k != "signature"}
    signed = sign(
        unsigned,
        signer_for(vector),
        fill=False,
        at=vector["now"],
        policy=Policy(allow_published_keys=True, allow_unauthorised=True),
    )
    assert json.loads(signed.blob)["signature"] == vector["expected"]["signature"]

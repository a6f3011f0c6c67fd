"""No message with a bit changed passes, and none raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import (
    NOW,
    SAMPLES,
    VECTORS,
    load,
    new_signer,
    pins_of,
    sample_artefacts,
    sample_context,
)

from taskseal.canon.strictjson import parse
from taskseal.errors import InputError
from taskseal.signing import sign
from taskseal.verify import Accepted, Refused, Verifier

SIGNER = new_signer()
VERIFIER = Verifier(pins_of(SIGNER))
KNOWN: dict[str, Any] = {"artefacts": sample_artefacts(), "context": sample_context(), "at": NOW}


def dharma_task() -> dict[str, Any]:
    (vector,) = [
        vector
        for vector in load(VECTORS / "dharma/task-envelopes.json")["vectors"]
        if vector["name"] == "task-evaluation-retest-full"
    ]
    outside = ("signature", "signerKeyVersion", "createdAt", "expiresAt", "nonce")
    return {name: item for name, item in vector["input"].items() if name not in outside}


DOCUMENTS = {
    "dharma": json.dumps(dharma_task()).encode(),
    "aisa": (SAMPLES / "aisa/consult.json").read_bytes(),
    "orbiplex": (SAMPLES / "orbiplex/start.json").read_bytes(),
}
BLOBS = {name: sign(text, SIGNER, **KNOWN).blob for name, text in DOCUMENTS.items()}
BESIDE = {
    (name, format): sign(text, SIGNER, format=format, fill=name == "dharma", **KNOWN).blob
    for name, text in DOCUMENTS.items()
    for format in ("jws-detached", "jws-compact", "jws-unencoded")
    if name != "dharma"
}


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def value_of(data: bytes) -> object:
    try:
        return parse(data).value
    except InputError:
        return None


@pytest.mark.parametrize("system", BLOBS)
def test_the_untouched_message_is_accepted(system: str) -> None:
    assert isinstance(VERIFIER.check(BLOBS[system], **KNOWN), Accepted)


@pytest.mark.parametrize("system", BLOBS)
@given(data=st.data())
def test_a_flipped_bit_is_refused(system: str, data: st.DataObject) -> None:
    blob = BLOBS[system]
    bit = data.draw(st.integers(0, len(blob) * 8 - 1))
    changed = flipped(blob, bit)
    verdict = VERIFIER.check(changed, **KNOWN)
    if isinstance(verdict, Accepted):
        # Another spelling of the same value, such as an escape in capitals, is no change.
        assert value_of(changed) == value_of(blob)


@pytest.mark.parametrize(("system", "format"), BESIDE)
@given(data=st.data())
def test_a_flipped_bit_beside_the_message_is_refused(
    system: str, format: str, data: st.DataObject
) -> None:
    signature = BESIDE[system, format]
    bit = data.draw(st.integers(0, len(signature) * 8 - 1))
    changed = flipped(signature, bit)
    verdict = VERIFIER.check(DOCUMENTS[system], signature=changed, **KNOWN)
    assert isinstance(verdict, Refused), verdict


@given(st.binary(max_size=400), st.none() | st.binary(max_size=200))
def test_no_bytes_make_the_verifier_raise(data: bytes, signature: bytes | None) -> None:
    assert isinstance(VERIFIER.check(data, signature=signature, at=NOW), Refused)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("system", BLOBS)
@given(data=st.data())
def test_a_member_replaced_by_anything_is_refused(system: str, data: st.DataObject) -> None:
    value = json.loads(BLOBS[system])
    name = data.draw(st.sampled_from([*value, "extra"]))
    value[name] = data.draw(JSON)
    text = json.dumps(value).encode()
    verdict = VERIFIER.check(text, **KNOWN)
    if isinstance(verdict, Accepted):
        assert value_of(text) == value_of(BLOBS[system])

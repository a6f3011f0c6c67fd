"""Every form, with any bit turned, any member replaced, and any bytes at all in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from forms import BESIDE, DOCUMENTS, KNOWN, signed, verifier
from hypothesis import given
from hypothesis import strategies as st
from support import new_signer

from taskseal.canon.strictjson import parse
from taskseal.errors import InputError
from taskseal.signing import FORMATS, sign
from taskseal.verify import Accepted, Refused

SIGNER, SECOND = new_signer(), new_signer("test/2")
VERIFIER = verifier(SIGNER)
NAMES = [name for name in FORMATS if name != "embedded"]
BLOBS = {name: signed(name, SIGNER) for name in NAMES}
GROWN = {
    name: sign(BLOBS[name], SECOND, format=name, **KNOWN).blob
    for name in ("jws-general", "dsse", "a2a")
}


def verdict(format: str, blob: bytes) -> Any:
    if format in BESIDE:
        return VERIFIER.check(DOCUMENTS[format], signature=blob, **KNOWN)
    return VERIFIER.check(blob, **KNOWN)


def meaning(data: bytes) -> object:
    """What a file says: its JSON value, or its text without what its form overlooks."""
    try:
        return parse(data).value
    except InputError:
        return data.replace(b"\r\n", b"\n").rstrip(b"\n")


@pytest.mark.parametrize("format", NAMES)
@given(data=st.data())
def test_a_flipped_bit_is_refused(format: str, data: st.DataObject) -> None:
    blob = bytearray(BLOBS[format])
    bit = data.draw(st.integers(0, len(blob) * 8 - 1))
    blob[bit // 8] ^= 1 << bit % 8
    found = verdict(format, bytes(blob))
    if isinstance(found, Accepted):
        # Another spelling of the same value, such as an escape in capitals, is no change.
        assert meaning(bytes(blob)) == meaning(BLOBS[format])
    else:
        assert isinstance(found, Refused)


@pytest.mark.parametrize("format", sorted(GROWN))
@given(data=st.data())
def test_a_flipped_bit_in_one_of_two_signatures_costs_that_one_alone(
    format: str, data: st.DataObject
) -> None:
    """Whoever is still said to have signed did sign: the trusted key over the untouched payload."""
    blob = bytearray(GROWN[format])
    bit = data.draw(st.integers(0, len(blob) * 8 - 1))
    blob[bit // 8] ^= 1 << bit % 8
    found = verdict(format, bytes(blob))
    if isinstance(found, Accepted):
        assert [each.key_version for each in found.signers] == ["test/1"]
        whole = verdict(format, GROWN[format])
        assert found.digest == whole.digest
        assert dict(found.envelope) == dict(whole.envelope) or format == "a2a"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
JSON_FORMATS = [name for name in NAMES if name not in ("jws-compact", "sshsig")]


@pytest.mark.parametrize("format", JSON_FORMATS)
@given(data=st.data())
def test_a_member_replaced_by_anything_is_refused(format: str, data: st.DataObject) -> None:
    value = json.loads(BLOBS[format])
    target = value
    if isinstance(value.get("signatures"), list) and data.draw(st.booleans()):
        target = value["signatures"][0]
    name = data.draw(st.sampled_from([*target, "extra"]))
    target[name] = data.draw(JSON)
    found = verdict(format, json.dumps(value).encode())
    if isinstance(found, Accepted):
        same = parse(json.dumps(value).encode()).value == parse(BLOBS[format]).value
        # Members that DSSE does not know, and what in a card is outside of its signature.
        assert same or (format, name) in {
            ("dsse", "extra"),
            ("a2a", "header"),
        }, (name, target[name])


@given(st.binary(max_size=300))
def test_no_bytes_in_place_of_a_signature_raise(data: bytes) -> None:
    for document in (DOCUMENTS["sshsig"], DOCUMENTS["ed25519+domain-v1"]):
        assert isinstance(VERIFIER.check(document, signature=data, **KNOWN), Refused)


@given(JSON, st.sampled_from(["proofValue", "key/public", "protected", "signature", "payload"]))
def test_no_json_in_place_of_a_signature_raises(value: Any, name: str) -> None:
    text = json.dumps({**(value if isinstance(value, dict) else {}), name: value}).encode()
    assert isinstance(VERIFIER.check(DOCUMENTS["sshsig"], signature=text, **KNOWN), Refused)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("payload", "payloadType", "signatures", "x"), JSON)
    )
)
def test_no_wrapping_raises(value: dict[str, Any]) -> None:
    assert isinstance(VERIFIER.check(json.dumps(value).encode(), **KNOWN), Refused)

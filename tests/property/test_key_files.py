"""No bytes at all make a reader of keys, pins or keysets raise anything but its own errors."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskseal.errors import MaterialError
from taskseal.keys.formats import FORMS, read_private_key, read_public_key, write_private_key
from taskseal.keys.keyring_state import State
from taskseal.keys.pins import Pins
from taskseal.keys.private import PrivateKey
from taskseal.keys.trust import Trust, load_trust_file
from taskseal.keys.vault import Cost, seal, unseal

KEY = PrivateKey(bytes(range(5, 37)))
EXAMPLE = Path(__file__).resolve().parents[2] / "keys-example"
PINS = (EXAMPLE / "pins.json").read_bytes()
KEYSET: bytes = json.dumps(
    json.loads((EXAMPLE.parent / "tests/vectors/dharma/keysets.json").read_bytes())["vectors"][0][
        "input"
    ]["keyset"]
).encode()
WHOLE = [
    *(write_private_key(KEY, form) for form in FORMS),
    write_private_key(KEY, "pem", b"pass"),
    base64.b64decode(b"".join(write_private_key(KEY, "pem").splitlines()[1:-1])),
    seal(KEY, b"pass", Cost(1, 1 << 13)),
    seal(KEY, None),
    State("local").to_json(),
    PINS,
    KEYSET,
]
READERS: list[Callable[[bytes], Any]] = [
    lambda data: read_private_key(data, b"pass"),
    read_private_key,
    read_public_key,
    lambda data: unseal(data, KEY.public, b"pass", "a.key"),
    lambda data: State.load(data, "keyring.json"),
    lambda data: load_trust_file(data, "trust.json"),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A whole file with a few bytes replaced, removed, doubled or added."""
    data = bytearray(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 8)))
        data[at:end] = draw(st.one_of(st.binary(max_size=8), st.just(bytes(data[at:end]) * 2)))
    return bytes(data)


@pytest.mark.parametrize("reader", range(len(READERS)))
@settings(max_examples=150)
@given(data=st.one_of(st.binary(max_size=200), damaged()))
def test_a_reader_reads_or_refuses_with_its_own_error(reader: int, data: bytes) -> None:
    try:
        read = READERS[reader](data)
    except MaterialError as error:
        text = f"{error} {error.hint} {error.pointer}"
        text.encode()
        assert KEY.reveal_seed().hex() not in text
    else:
        assert read is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@settings(max_examples=300)
@given(data=st.data())
def test_a_trust_file_with_any_member_of_any_type_loads_or_is_malformed(
    data: st.DataObject,
) -> None:
    document = json.loads(data.draw(st.sampled_from([PINS, KEYSET])))
    key = data.draw(st.sampled_from(document["keys"]))
    target = data.draw(st.sampled_from([document, key, key.get("publicKey", key)]))
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JSON)
    try:
        loaded = load_trust_file(json.dumps(document).encode(), "trust.json")
    except MaterialError as error:
        assert error.code.startswith("trust_")
    else:
        assert Trust.of(loaded).entries() == loaded.entries


@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=200))
def test_what_a_key_signs_it_verifies_and_no_other_message(seed: bytes, message: bytes) -> None:
    key = PrivateKey(seed)
    signature = key.sign(message)
    assert key.public.verify(message, signature)
    assert not key.public.verify(message + b"\0", signature)
    assert not KEY.public.verify(message, signature) or seed == KEY.reveal_seed()


@given(seed=st.binary(min_size=32, max_size=32), form=st.sampled_from(FORMS))
def test_any_key_survives_any_form(seed: bytes, form: Any) -> None:
    assert read_private_key(write_private_key(PrivateKey(seed), form)).reveal_seed() == seed


@settings(max_examples=50)
@given(version=st.text(min_size=1, max_size=20))
def test_pins_with_any_readable_version_survive_their_file(version: str) -> None:
    document = json.loads(PINS)
    document["keys"][0]["keyVersion"] = version
    try:
        pins = Pins.load(json.dumps(document).encode())
    except MaterialError as error:
        assert error.code == "trust_malformed"
    else:
        assert Pins.load(pins.to_json()) == pins

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

from taskseal.errors import InputError, MaterialError
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.formats import (
    FORMS,
    read_private_key,
    read_public_key,
    write_private_key,
    write_public_key,
)
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
OTHERS = [PrivateKey(bytes(range(5, 37)), each) for each in (Algorithm.P256, Algorithm.MLDSA65)]
WHOLE = [
    *(write_private_key(key, form) for key in OTHERS for form in ("pem", "jwk")),
    *(
        base64.b64decode(b"".join(write_private_key(key, "pem").splitlines()[1:-1]))
        for key in OTHERS
    ),
    *(write_public_key(key.public, form) for key in OTHERS for form in ("pem", "jwk", "raw")),
    write_private_key(OTHERS[0], "ssh"),
    write_public_key(OTHERS[0].public, "ssh"),
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
        assert KEY.reveal_secret().hex() not in text
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


SECRETS = st.binary(min_size=32, max_size=32).filter(
    lambda secret: bytes(32) < secret < b"\xff" * 4
)
"""The private halves of every algorithm: those of P-256 lie between 0 and the group's order."""
ALGORITHMS = st.sampled_from(Algorithm)


@given(secret=SECRETS, algorithm=ALGORITHMS, message=st.binary(max_size=200))
def test_what_a_key_signs_it_verifies_and_no_other_message(
    secret: bytes, algorithm: Algorithm, message: bytes
) -> None:
    key = PrivateKey(secret, algorithm)
    signature = key.sign(message)
    assert key.public.verify(message, signature)
    assert not key.public.verify(message + b"\0", signature)
    for other in (KEY, *OTHERS):
        if other.public != key.public:
            assert not other.public.verify(message, signature)


@given(algorithm=ALGORITHMS, message=st.binary(max_size=50), data=st.data())
def test_a_signature_with_any_bits_flipped_is_refused(
    algorithm: Algorithm, message: bytes, data: st.DataObject
) -> None:
    (key,) = [each for each in (KEY, *OTHERS) if each.algorithm is algorithm]
    signature = bytearray(key.sign(message))
    for bit in data.draw(st.sets(st.integers(0, 8 * len(signature) - 1), min_size=1, max_size=8)):
        signature[bit // 8] ^= 1 << bit % 8
    assert not key.public.verify(message, bytes(signature))


@given(algorithm=ALGORITHMS, signature=st.binary(max_size=4000))
def test_no_bytes_at_all_are_a_signature_by_chance(algorithm: Algorithm, signature: bytes) -> None:
    (key,) = [each for each in (KEY, *OTHERS) if each.algorithm is algorithm]
    assert not key.public.verify(b"message", signature)


@given(secret=SECRETS, algorithm=ALGORITHMS, form=st.sampled_from(FORMS))
def test_any_key_survives_any_form_that_it_has(
    secret: bytes, algorithm: Algorithm, form: Any
) -> None:
    key = PrivateKey(secret, algorithm)
    try:
        written = write_private_key(key, form)
    except InputError as refused:
        assert refused.code == "usage"
        assert algorithm is not Algorithm.ED25519
    else:
        again = read_private_key(written)
        assert (again.algorithm, again.reveal_secret()) == (algorithm, secret)


@given(data=st.binary(max_size=70))
def test_any_bytes_are_a_sound_key_of_their_size_or_refused(data: bytes) -> None:
    try:
        key = PublicKey.of_size(data)
    except MaterialError as refused:
        assert refused.code in ("key_malformed", "weak_key")
    else:
        assert PublicKey.from_jwk(key.jwk()) == key


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

"""The pins file: strict in its form, forgiving towards one bad key, exact about where it fails."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.pointer import join
from taskseal.errors import MaterialError, Reason
from taskseal.keys.entry import KeyEntry, freeze_bind
from taskseal.keys.pins import Pins
from taskseal.keys.private import PrivateKey
from taskseal.validity import read_instant

KEY = PrivateKey(bytes(range(32))).public
OTHER = PrivateKey(bytes(range(1, 33))).public
SMALL_ORDER = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

FULL: dict[str, Any] = {
    "schema": "taskseal.pins/v1",
    "issuer": "acme",
    "keys": [
        {
            "keyVersion": "k/1",
            "alg": "Ed25519",
            "publicKey": KEY.jwk(),
            "notBefore": "2026-01-01T00:00:00Z",
            "signFrom": "2026-01-02T00:00:00Z",
            "signUntil": "2026-02-01T00:00:00Z",
            "acceptUntil": "2026-03-01T00:00:00Z",
            "revokedAt": "2026-02-15T00:00:00Z",
            "profiles": ["aisa.message/v1", "dharma.task/v1"],
            "principal": "desk",
            "bind": {"/organizationId": ["org_a", "org_b"], "/n": [1, True, None]},
        }
    ],
}
MINIMAL_KEY: dict[str, Any] = {
    "keyVersion": "k/1",
    "alg": "Ed25519",
    "publicKey": KEY.jwk(),
    "notBefore": "2026-01-01T00:00:00Z",
    "acceptUntil": "2026-03-01T00:00:00Z",
    "profiles": ["dharma.task/v1"],
}


def at(text: str) -> int:
    found = read_instant(text)
    assert found is not None
    return found


def load(document: object, source: str = "pins.json") -> Pins:
    return Pins.load(json.dumps(document).encode(), source)


def pins_of(*keys: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "taskseal.pins/v1", "issuer": "acme", "keys": list(keys)}


def refused(document: object) -> MaterialError:
    with pytest.raises(MaterialError) as caught:
        load(document)
    assert caught.value.code is Reason.TRUST_MALFORMED
    assert caught.value.exit_code == 3
    return caught.value


def test_every_member_of_a_key_is_read() -> None:
    (entry,) = load(FULL).entries
    assert entry == KeyEntry(
        issuer="acme",
        key_version="k/1",
        key=KEY,
        not_before=at("2026-01-01T00:00:00Z"),
        sign_from=at("2026-01-02T00:00:00Z"),
        sign_until=at("2026-02-01T00:00:00Z"),
        accept_until=at("2026-03-01T00:00:00Z"),
        revoked_at=at("2026-02-15T00:00:00Z"),
        profiles=frozenset({"aisa.message/v1", "dharma.task/v1"}),
        principal="desk",
        bind=freeze_bind({"/organizationId": ("org_a", "org_b"), "/n": (1, True, None)}),
    )


def test_absent_instants_are_the_nearest_present_ones() -> None:
    (entry,) = load(pins_of(MINIMAL_KEY)).entries
    assert entry.sign_from == entry.not_before
    assert entry.sign_until == entry.accept_until
    assert entry.revoked_at is None
    assert (entry.principal, dict(entry.bind)) == (None, {})


def test_pins_survive_their_file() -> None:
    pins = load(FULL)
    assert Pins.load(pins.to_json()) == pins
    assert json.loads(pins.to_json()) == FULL
    assert pins.to_json().endswith(b"}\n")


def test_one_allowed_value_may_stand_alone() -> None:
    (entry,) = load(pins_of({**MINIMAL_KEY, "bind": {"/organizationId": "org_a"}})).entries
    assert dict(entry.bind) == {"/organizationId": ("org_a",)}


@pytest.mark.parametrize("place", [(), ("keys", 0), ("keys", 0, "publicKey")])
def test_an_unknown_member_is_refused_at_its_pointer(place: tuple[str | int, ...]) -> None:
    document: Any = deepcopy(FULL)
    target = document
    for token in place:
        target = target[token]
    target["extra/~"] = 1
    assert refused(document).pointer == join([*place, "extra/~"])


@pytest.mark.parametrize(
    ("spelt", "meant"),
    [("notbefore", "notBefore"), ("accept_until", "acceptUntil"), ("profile", "profiles")],
)
def test_a_misspelt_member_brings_the_right_spelling(spelt: str, meant: str) -> None:
    key = {**MINIMAL_KEY}
    key[spelt] = key.pop(meant)
    error = refused(pins_of(key))
    assert error.pointer == f"/keys/0/{spelt}"
    assert error.hint == f"did you mean {meant}?"


@pytest.mark.parametrize("name", sorted(MINIMAL_KEY))
def test_a_missing_member_is_refused_at_its_pointer(name: str) -> None:
    key = {**MINIMAL_KEY}
    del key[name]
    assert refused(pins_of(key)).pointer == f"/keys/0/{name}"


@pytest.mark.parametrize("name", ["schema", "issuer", "keys"])
def test_a_missing_member_at_the_top_is_refused_at_its_pointer(name: str) -> None:
    document = deepcopy(FULL)
    del document[name]
    assert refused(document).pointer == f"/{name}"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"schema": "taskseal.pins/v2"}, "/schema"),
        ({"schema": 1}, "/schema"),
        ({"issuer": ""}, "/issuer"),
        ({"issuer": "x" * 501}, "/issuer"),
        ({"issuer": None}, "/issuer"),
        ({"keys": []}, "/keys"),
        ({"keys": {}}, "/keys"),
        ({"keys": "k"}, "/keys"),
        ({"keys": [1]}, "/keys/0"),
        ({"keys": [MINIMAL_KEY, []]}, "/keys/1"),
    ],
)
def test_a_wrong_top_is_refused_at_its_pointer(change: dict[str, Any], pointer: str) -> None:
    assert refused({**FULL, **change}).pointer == pointer


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"keyVersion": ""}, "/keyVersion"),
        ({"keyVersion": "x" * 501}, "/keyVersion"),
        ({"keyVersion": 1}, "/keyVersion"),
        ({"alg": "ES384"}, "/alg"),
        ({"alg": "P-256"}, "/alg"),
        ({"alg": "ML-DSA-44"}, "/alg"),
        ({"alg": "ES256"}, "/publicKey/y"),
        ({"alg": "ML-DSA-65"}, "/publicKey/crv"),
        ({"alg": "EdDSA"}, "/alg"),
        ({"alg": None}, "/alg"),
        ({"alg": ["Ed25519"]}, "/alg"),
        ({"publicKey": KEY.jwk()["x"]}, "/publicKey"),
        ({"publicKey": {**KEY.jwk(), "d": "A" * 43}}, "/publicKey/d"),
        ({"publicKey": {**KEY.jwk(), "kty": "EC"}}, "/publicKey/kty"),
        ({"publicKey": {**KEY.jwk(), "crv": "X25519"}}, "/publicKey/crv"),
        ({"publicKey": {**KEY.jwk(), "x": 1}}, "/publicKey/x"),
        ({"publicKey": {**KEY.jwk(), "alg": "ES256"}}, "/publicKey/alg"),
        ({"publicKey": {**KEY.jwk(), "use": "enc"}}, "/publicKey/use"),
        ({"notBefore": "2026-01-01"}, "/notBefore"),
        ({"notBefore": 1767225600}, "/notBefore"),
        ({"acceptUntil": "2026-03-01T00:00:60Z"}, "/acceptUntil"),
        ({"revokedAt": None}, "/revokedAt"),
        ({"signFrom": "2025-12-31T23:59:59Z"}, "/signFrom"),
        ({"signUntil": "2025-12-31T00:00:00Z"}, "/signUntil"),
        ({"signUntil": "2026-03-01T00:00:00.000000001Z"}, "/acceptUntil"),
        ({"acceptUntil": "2025-03-01T00:00:00Z"}, "/acceptUntil"),
        ({"profiles": []}, "/profiles"),
        ({"profiles": "dharma.task/v1"}, "/profiles"),
        ({"profiles": ["dharma.task"]}, "/profiles/0"),
        ({"profiles": ["dharma.task/v1", 1]}, "/profiles/1"),
        ({"principal": ""}, "/principal"),
        ({"principal": None}, "/principal"),
        ({"bind": []}, "/bind"),
        ({"bind": {"organizationId": ["a"]}}, "/bind/organizationId"),
        ({"bind": {"": ["a"]}}, "/bind/"),
        ({"bind": {"/a~b": ["a"]}}, "/bind/~1a~0b"),
        ({"bind": {"/a": []}}, "/bind/~1a"),
        ({"bind": {"/a": 1.5}}, "/bind/~1a"),
        ({"bind": {"/a": [1.5]}}, "/bind/~1a/0"),
        ({"bind": {"/a": ["x", {}]}}, "/bind/~1a/1"),
    ],
)
def test_a_wrong_member_of_a_key_is_refused_at_its_pointer(
    change: dict[str, Any], pointer: str
) -> None:
    assert refused(pins_of({**MINIMAL_KEY, **change})).pointer == "/keys/0" + pointer


def test_a_version_that_stands_twice_is_refused() -> None:
    second = {**MINIMAL_KEY, "publicKey": OTHER.jwk()}
    assert refused(pins_of(MINIMAL_KEY, second)).pointer == "/keys/1/keyVersion"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xef\xbb\xbf{}",
        b"\xff",
        b'{"schema":"taskseal.pins/v1","schema":"taskseal.pins/v1"}',
        b'{"schema":"\\ud800"}',
        b"[" * 100_000,
        b"1e400",
    ],
)
def test_what_is_no_json_object_is_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(MaterialError) as caught:
        Pins.load(data, "here.json")
    assert caught.value.code is Reason.TRUST_MALFORMED
    assert "here.json" in str(caught.value)


@pytest.mark.parametrize(
    ("x", "flaw"),
    [
        (SMALL_ORDER, Reason.WEAK_KEY),
        ("7v_______________________________________38", Reason.WEAK_KEY),
        ("!" * 43, Reason.KEY_MALFORMED),
        ("", Reason.KEY_MALFORMED),
        (KEY.jwk()["x"] + "=", Reason.KEY_MALFORMED),
        ("A" * 42, Reason.KEY_MALFORMED),
    ],
)
def test_an_unusable_public_key_spoils_only_its_own_entry(x: str, flaw: Reason) -> None:
    bad = {**MINIMAL_KEY, "keyVersion": "bad", "publicKey": {**KEY.jwk(), "x": x}}
    pins = load(pins_of(MINIMAL_KEY, bad))
    assert [entry.flaw for entry in pins.entries] == [None, flaw]
    assert pins.entries[1].key is None
    assert len(pins.notes) == 1
    with pytest.raises(MaterialError) as caught:
        pins.to_json()
    assert caught.value.code is flaw


def test_one_key_under_two_versions_is_noted() -> None:
    pins = load(pins_of(MINIMAL_KEY, {**MINIMAL_KEY, "keyVersion": "k/2"}))
    assert pins.notes == ("versions 'k/1' and 'k/2' are one key",)


def test_several_bare_profiles_are_no_fault_in_a_file_that_only_verifies() -> None:
    profiles = ["dharma.task/v1", "dharma.action-decision-receipt/v1", "taskseal.keyset/v1"]
    (entry,) = load(pins_of({**MINIMAL_KEY, "profiles": profiles})).entries
    assert entry.profiles == frozenset(profiles)


def test_pins_are_of_one_issuer_and_of_at_least_one_key() -> None:
    (entry,) = load(FULL).entries
    foreign = load({**FULL, "issuer": "other"}).entries
    for entries in ((), (entry, *foreign), (entry, entry)):
        with pytest.raises(MaterialError) as caught:
            Pins.of(entries)
        assert caught.value.code is Reason.TRUST_MALFORMED


def test_pins_that_could_not_be_read_back_are_not_made() -> None:
    (entry,) = load(FULL).entries
    for version in ("", "\ud800", "x" * 501):
        with pytest.raises(MaterialError) as caught:
            Pins.of([replace(entry, key_version=version)])
        assert caught.value.code is Reason.TRUST_MALFORMED


@pytest.mark.parametrize("name", ["keyset-identity.json", "keyset-noncanonical.json"])
def test_the_weak_keysets_of_the_cases_load_without_their_entry(name: str, vectors: Path) -> None:
    """Case 14, read as pins."""
    keyset = json.loads((vectors / "cases/14-small-order-public-key" / name).read_bytes())
    (key,) = keyset["keys"]
    pins = load(
        pins_of(
            {
                **MINIMAL_KEY,
                "keyVersion": f"{key['kid']}#{key['version']}",
                "publicKey": {"kty": "OKP", "crv": "Ed25519", "x": key["public"]},
                "notBefore": key["not_before"],
                "acceptUntil": key["not_after"],
            }
        )
    )
    assert pins.entries[0].flaw is Reason.WEAK_KEY

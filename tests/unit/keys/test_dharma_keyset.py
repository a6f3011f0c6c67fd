"""Dharma keysets as trust files: their own signature, their shape, and their entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from keysets import dharma_document, dharma_member

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import MaterialError, Reason
from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.private import PrivateKey
from taskseal.validity import DAY, read_instant

ROOT = PrivateKey(b"root".ljust(32, b"."))
NEXT = PrivateKey(b"next".ljust(32, b"."))
ISSUED = "2026-08-17T20:00:00.000Z"


def keyset(**more: Any) -> dict[str, Any]:
    return dharma_document(dharma_member(ROOT, "k/1"), dharma_member(NEXT, "k/2"), **more)


def signed(document: dict[str, Any], key: PrivateKey = ROOT) -> bytes:
    signature = b64url_encode(key.sign(canonicalise(document)))
    return json.dumps({**document, "signature": signature}).encode()


def refused(data: bytes) -> MaterialError:
    with pytest.raises(MaterialError) as caught:
        DharmaKeyset.load(data, "keyset.json")
    return caught.value


def given(vector: dict[str, Any]) -> dict[str, Any]:
    """The keyset that a vector is about."""
    found: dict[str, Any] = vector["input"].get("keyset") or vector["input"]["candidate"]
    return found


def vectors_of(path: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads((path / "dharma/keysets.json").read_bytes())[
        "vectors"
    ]
    return listed


def test_an_entry_counts_for_the_three_dharma_profiles_of_its_organisation() -> None:
    loaded = DharmaKeyset.load(signed(keyset()))
    assert (loaded.issuer, loaded.generation, loaded.signed_by) == ("org_test", 1, "k/1")
    first = loaded.entries[0]
    assert first.profiles == {
        "dharma.task/v1",
        "dharma.action-decision-receipt/v1",
        "dharma.server-signing-keyset/v1",
    }
    assert dict(first.bind) == {"/organizationId": ("org_test",)}
    assert first.sign_until == first.accept_until == read_instant("2026-08-27T20:00:00Z")
    assert first.sign_from == first.not_before == read_instant("2026-08-17T19:59:00Z")
    assert first.keyset == loaded.window
    assert first.generation == loaded.generation


@pytest.mark.parametrize("text", [b"\n", b"  "])
def test_any_json_spelling_of_the_signed_value_loads(text: bytes) -> None:
    document = json.loads(signed(keyset()))
    respelt = json.dumps(dict(reversed(document.items())), indent=3).encode() + text
    assert DharmaKeyset.load(respelt).generation == 1


def test_every_vector_loads_or_is_refused_by_its_own_signature_and_shape(vectors: Path) -> None:
    """What the peer says of the vectors' times and successions is asked of messages, not here."""
    malformed = {"duplicate_key_version", "invalid_key_lifetime"}
    bad = {
        "keyset-initial-bad-signature",
        "keyset-update-bad-signature",
        "keyset-update-signed-by-attacker",
        "keyset-rotation-overlap-missing-dropped",
        "keyset-update-signed-by-expired-overlap-key",
        "resolver-tampered-keyset-still-resolves",
    }
    seen = {}
    for vector in vectors_of(vectors):
        if vector["expected"].get("reason") in malformed:
            wanted = Reason.TRUST_MALFORMED.value
        else:
            wanted = "trust_signature_bad" if vector["name"] in bad else "loads"
        try:
            DharmaKeyset.load(json.dumps(given(vector)).encode())
            seen[vector["name"]] = ("loads", wanted)
        except MaterialError as error:
            seen[vector["name"]] = (error.code.value, wanted)
    assert {name: pair for name, pair in seen.items() if pair[0] != pair[1]} == {}
    assert len(seen) == 31


def test_a_weak_or_undecodable_key_spoils_only_its_own_version(vectors: Path) -> None:
    flaws = {
        vector["name"]: [
            e.flaw for e in DharmaKeyset.load(json.dumps(given(vector)).encode()).entries
        ]
        for vector in vectors_of(vectors)
        if vector["name"]
        in ("keyset-initial-small-order-key-ok", "keyset-initial-extra-attacker-key-bad-x-ok")
    }
    assert flaws == {
        "keyset-initial-small-order-key-ok": [None, Reason.WEAK_KEY],
        "keyset-initial-extra-attacker-key-bad-x-ok": [None, Reason.KEY_MALFORMED],
    }


def test_a_keyset_whose_times_have_passed_or_not_come_still_loads() -> None:
    for year in ("1971", "2500"):
        at = f"{year}-08-17T20:00:00Z"
        past = keyset(issuedAt=at, expiresAt=f"{year}-08-24T20:00:00Z")
        assert DharmaKeyset.load(signed(past)).window.issued == read_instant(at)


@pytest.mark.parametrize("name", sorted(keyset()))
def test_any_member_changed_after_signing_is_a_bad_signature(name: str) -> None:
    document = json.loads(signed(keyset()))
    changes: dict[str, Any] = {
        "organizationId": "org_other",
        "generation": 2,
        "keys": document["keys"][::-1],
        "signedByKeyVersion": "k/2",
        "issuedAt": "2026-08-17T20:00:00Z",
        "expiresAt": "2026-08-24T20:00:00Z",
        "schema": "dharma.server-signing-keyset/v2",
    }
    error = refused(json.dumps({**document, name: changes[name]}).encode())
    wanted = Reason.TRUST_MALFORMED if name == "schema" else Reason.TRUST_SIGNATURE_BAD
    assert error.code is wanted
    assert error.exit_code == (3 if name == "schema" else 4)


@pytest.mark.parametrize("text", ["", "A" * 86, "A" * 85, "=", "é", "A" * 86 + "=="])
def test_a_signature_that_does_not_hold_is_bad_whatever_its_text(text: str) -> None:
    document = {**keyset(), "signature": text}
    error = refused(json.dumps(document).encode())
    assert (error.code, error.pointer) == (Reason.TRUST_SIGNATURE_BAD, "/signature")


def test_only_the_named_key_may_have_signed() -> None:
    assert refused(signed(keyset(), NEXT)).code is Reason.TRUST_SIGNATURE_BAD


def test_a_signer_that_is_not_listed_or_weak_is_a_bad_signature() -> None:
    error = refused(signed(keyset(signedByKeyVersion="k/9")))
    assert (error.code, error.pointer) == (Reason.TRUST_SIGNATURE_BAD, "/signedByKeyVersion")
    weak = dharma_member(
        ROOT, "k/1", publicKeyEd25519="AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    )
    constant = "AQ" + "A" * 84
    document = {**keyset(keys=[weak]), "signature": constant}
    assert refused(json.dumps(document).encode()).code is Reason.TRUST_SIGNATURE_BAD


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"organizationId": ""}, "/organizationId"),
        ({"organizationId": "x" * 201}, "/organizationId"),
        ({"generation": 0}, "/generation"),
        ({"generation": True}, "/generation"),
        ({"generation": "1"}, "/generation"),
        ({"keys": []}, "/keys"),
        ({"keys": [dharma_member(ROOT, f"k/{n}") for n in range(21)]}, "/keys"),
        ({"keys": [dharma_member(ROOT, "k/1", status="retired")]}, "/keys/0/status"),
        ({"keys": [dharma_member(ROOT, "k/1", status=None)]}, "/keys/0/status"),
        ({"keys": [dharma_member(ROOT, "k/1", status="overlap")]}, "/keys"),
        ({"keys": [dharma_member(ROOT, "")]}, "/keys/0/keyVersion"),
        ({"keys": [dharma_member(ROOT, "k/1"), dharma_member(NEXT, "k/1")]}, "/keys/1/keyVersion"),
        (
            {"keys": [dharma_member(ROOT, "k/1", publicKeyEd25519="short")]},
            "/keys/0/publicKeyEd25519",
        ),
        (
            {"keys": [dharma_member(ROOT, "k/1", publicKeyEd25519="A" * 101)]},
            "/keys/0/publicKeyEd25519",
        ),
        (
            {"keys": [dharma_member(ROOT, "k/1", notAfter="2026-08-17T19:59:00Z")]},
            "/keys/0/notAfter",
        ),
        (
            {"keys": [dharma_member(ROOT, "k/1", notAfter="2026-08-17T20:00:60Z")]},
            "/keys/0/notAfter",
        ),
        ({"keys": [dharma_member(ROOT, "k/1", notBefore=1)]}, "/keys/0/notBefore"),
        ({"keys": [dharma_member(ROOT, "k/1", extra=1)]}, "/keys/0/extra"),
        ({"signedByKeyVersion": ""}, "/signedByKeyVersion"),
        ({"issuedAt": "yesterday"}, "/issuedAt"),
        ({"expiresAt": ISSUED}, "/expiresAt"),
        ({"expiresAt": "2026-09-16T20:00:00.001Z"}, "/expiresAt"),
        ({"extra": 1}, "/extra"),
    ],
)
def test_a_wrong_shape_is_refused_at_its_pointer_though_signed(
    change: dict[str, Any], pointer: str
) -> None:
    error = refused(signed(keyset(**change)))
    assert (error.code, error.pointer) == (Reason.TRUST_MALFORMED, pointer)


def test_thirty_days_exactly_is_a_lifetime() -> None:
    loaded = DharmaKeyset.load(signed(keyset(expiresAt="2026-09-16T20:00:00.000Z")))
    assert loaded.window.expires - loaded.window.issued == 30 * DAY


@pytest.mark.parametrize("signature", [None, 1, ["A"]])
def test_a_signature_that_is_no_text_is_malformed(signature: object) -> None:
    error = refused(json.dumps({**keyset(), "signature": signature}).encode())
    assert (error.code, error.pointer) == (Reason.TRUST_MALFORMED, "/signature")


def test_a_keyset_without_signature_is_malformed() -> None:
    error = refused(json.dumps(keyset()).encode())
    assert (error.code, error.pointer) == (Reason.TRUST_MALFORMED, "/signature")

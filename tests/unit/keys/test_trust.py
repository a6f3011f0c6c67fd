"""What several trust files say together, and which one key a message may name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import MaterialError, Reason
from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.entry import KeyEntry, freeze_bind
from taskseal.keys.pins import Pins
from taskseal.keys.private import PrivateKey
from taskseal.keys.trust import Trust, load_trust_file
from taskseal.validity import SECOND, Window, read_instant

ONE = PrivateKey(b"one".ljust(32, b"."))
TWO = PrivateKey(b"two".ljust(32, b"."))


def entry(version: str = "k/1", key: PrivateKey = ONE, **members: Any) -> KeyEntry:
    given: dict[str, Any] = {
        "issuer": "acme",
        "not_before": 100 * SECOND,
        "sign_from": 100 * SECOND,
        "sign_until": 200 * SECOND,
        "accept_until": 300 * SECOND,
        "profiles": frozenset({"dharma.task/v1", "aisa.message/v1"}),
    }
    return KeyEntry(key_version=version, key=key.public, **(given | members))


def pins(*entries: KeyEntry) -> Pins:
    return Pins.of(entries)


def keyset(generation: int = 1, not_after: str = "2026-08-27T20:00:00Z", **more: Any) -> bytes:
    key = {
        "keyVersion": "k/1",
        "publicKeyEd25519": ONE.public.jwk()["x"],
        "status": "active",
        "notBefore": "2026-08-17T20:00:00Z",
        "notAfter": not_after,
    }
    document: dict[str, Any] = {
        "schema": "dharma.server-signing-keyset/v1",
        "organizationId": "acme",
        "generation": generation,
        "keys": [key],
        "signedByKeyVersion": "k/1",
        "issuedAt": "2026-08-17T20:00:00Z",
        "expiresAt": "2026-08-24T20:00:00Z",
        **more,
    }
    signature = b64url_encode(ONE.sign(canonicalise(document)))
    return json.dumps({**document, "signature": signature}).encode()


def weak(version: str) -> dict[str, Any]:
    return {
        "keyVersion": version,
        "alg": "Ed25519",
        "publicKey": {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43},
        "notBefore": "2026-01-01T00:00:00Z",
        "acceptUntil": "2026-03-01T00:00:00Z",
        "profiles": ["dharma.task/v1"],
    }


def weak_pins(version: str) -> Pins:
    document = {"schema": "taskseal.pins/v1", "issuer": "acme", "keys": [weak(version)]}
    return Pins.load(json.dumps(document).encode())


def found(trust: Trust, version: str = "k/1", issuer: str | None = None) -> KeyEntry:
    answer = trust.find(version, issuer)
    assert isinstance(answer, KeyEntry)
    return answer


def conflict(*sources: Pins | DharmaKeyset) -> MaterialError:
    with pytest.raises(MaterialError) as caught:
        Trust.of(*sources)
    assert caught.value.code is Reason.TRUST_CONFLICT
    assert caught.value.exit_code == 4
    return caught.value


def test_no_source_at_all_is_refused() -> None:
    with pytest.raises(MaterialError) as caught:
        Trust.of()
    assert caught.value.code is Reason.TRUST_MISSING
    assert caught.value.exit_code == 2


def test_exactly_the_named_version_is_found() -> None:
    trust = Trust.of(pins(entry("k/1"), entry("k/2", TWO)))
    assert found(trust, "k/2").key == TWO.public
    for version in ("k/3", "k/", "K/1", "k/1 ", ""):
        assert trust.find(version) is Reason.UNKNOWN_KEY


def test_a_version_of_two_issuers_needs_its_issuer() -> None:
    trust = Trust.of(pins(entry()), pins(entry(key=TWO, issuer="other")))
    assert trust.find("k/1") is Reason.AMBIGUOUS_KEY
    assert found(trust, issuer="acme").key == ONE.public
    assert found(trust, issuer="other").key == TWO.public
    assert trust.find("k/1", "third") is Reason.UNKNOWN_KEY


def test_an_unusable_entry_answers_with_its_flaw() -> None:
    assert Trust.of(weak_pins("k/1")).find("k/1") is Reason.WEAK_KEY
    assert Trust.of(weak_pins("k/1")).find("k/1", "acme") is Reason.WEAK_KEY


def test_two_keys_under_one_name_are_a_conflict_in_any_order() -> None:
    here, there = pins(entry()), pins(entry(key=TWO))
    assert "k/1" in conflict(here, there).detail
    conflict(there, here)
    conflict(here, weak_pins("k/1"))
    conflict(weak_pins("k/1"), here)
    conflict(pins(entry(principal="a")), pins(entry(principal="b")))
    conflict(pins(entry(key=TWO)), DharmaKeyset.load(keyset()))


def test_the_same_file_twice_says_no_more_than_once() -> None:
    once = pins(entry())
    assert found(Trust.of(once, once)) == found(Trust.of(once))


def test_two_entries_of_one_key_count_where_both_do() -> None:
    wide = entry(bind=freeze_bind({"/a": ("x", 1), "/b": ("y",)}))
    narrow = entry(
        not_before=110 * SECOND,
        sign_from=120 * SECOND,
        sign_until=180 * SECOND,
        accept_until=290 * SECOND,
        revoked_at=285 * SECOND,
        profiles=frozenset({"dharma.task/v1"}),
        principal="desk",
        bind=freeze_bind({"/a": (True, "x")}),
    )
    expected = replace(narrow, bind=freeze_bind({"/a": ("x",), "/b": ("y",)}))
    assert found(Trust.of(pins(wide), pins(narrow))) == expected
    assert found(Trust.of(pins(narrow), pins(wide))) == expected


def test_of_two_revocations_the_earlier_counts() -> None:
    early, late = pins(entry(revoked_at=150 * SECOND)), pins(entry(revoked_at=250 * SECOND))
    for sources in ((early, late), (late, early)):
        assert found(Trust.of(*sources)).revoked_at == 150 * SECOND


def test_of_two_generations_of_a_keyset_the_higher_counts() -> None:
    old = DharmaKeyset.load(keyset(1))
    new = DharmaKeyset.load(keyset(2, "2026-08-20T20:00:00Z"))
    for sources in ((old, new), (new, old)):
        assert found(Trust.of(*sources)).accept_until == read_instant("2026-08-20T20:00:00Z")


def test_a_key_in_pins_and_in_a_keyset_stays_under_the_keysets_window() -> None:
    listed = DharmaKeyset.load(keyset())
    wide = entry(accept_until=10**19, sign_until=10**19, not_before=0, sign_from=0)
    for sources in ((listed, Pins("acme", (wide,))), (Pins("acme", (wide,)), listed)):
        both = found(Trust.of(*sources))
        assert both.keyset == listed.window
        assert dict(both.bind) == {"/organizationId": ("acme",)}
        assert both.profiles == {"dharma.task/v1"}


def test_a_keyset_outside_its_times_is_told_by_its_entries() -> None:
    trust = Trust.of(DharmaKeyset.load(keyset()))
    listed = found(trust)
    assert listed.keyset == Window(
        read_instant("2026-08-17T20:00:00Z") or 0, read_instant("2026-08-24T20:00:00Z") or 0
    )
    assert listed.keyset_fault(listed.keyset.issued) is None
    assert listed.keyset_fault(listed.keyset.expires) is Reason.KEYSET_EXPIRED
    assert listed.keyset_fault(0) is Reason.KEYSET_NOT_YET_VALID


def test_a_trust_file_is_known_by_its_schema() -> None:
    assert isinstance(load_trust_file(keyset(), "a"), DharmaKeyset)
    assert isinstance(load_trust_file(pins(entry()).to_json(), "b"), Pins)


@pytest.mark.parametrize(
    "data", [b"{}", b"[]", b"1", b'{"schema":"taskseal.pins/v9"}', b'{"schema":[]}', b"", b"\0"]
)
def test_a_file_of_no_known_kind_is_malformed_and_named(data: bytes) -> None:
    with pytest.raises(MaterialError) as caught:
        load_trust_file(data, "that.json")
    assert caught.value.code is Reason.TRUST_MALFORMED
    assert "that.json" in str(caught.value)


def test_a_trust_shows_how_much_it_holds_and_lists_it() -> None:
    trust = Trust.of(pins(entry("k/1"), entry("k/2", TWO)))
    assert repr(trust) == "Trust(2 keys of 1 sources)"
    assert [each.key_version for each in trust.entries()] == ["k/1", "k/2"]

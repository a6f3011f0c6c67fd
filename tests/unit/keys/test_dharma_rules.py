"""The peer's keyset vectors, reason by reason, and what only we refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from keysets import dharma_document, dharma_member, dharma_offer
from support import VECTORS, instant

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import MaterialError, Reason
from taskseal.keys.pin import Pin
from taskseal.keys.private import PrivateKey
from taskseal.keys.succession import Line, Rules, begin, read_offer
from taskseal.keys.trust import Trust, load_trust_file

RULES = Rules(allow_published_keys=True)
ROOT = PrivateKey(b"root".ljust(32, b"."))
NEXT = PrivateKey(b"next".ljust(32, b"."))
NOW = "2026-08-17T20:00:00Z"
OURS = {
    "keyset-initial-extra-attacker-key-bad-x-ok": Reason.KEY_MALFORMED,
    "keyset-initial-small-order-key-ok": Reason.WEAK_KEY,
    "keyset-update-rebinds-other-version-ok": Reason.KEY_VERSION_REBOUND,
}
"""The vectors whose note begins WEAKNESS: what we say where the peer says yes."""


def vectors_of(*kinds: str) -> list[dict[str, Any]]:
    path: Path = VECTORS / "dharma" / "keysets.json"
    return [v for v in json.loads(path.read_bytes())["vectors"] if v["kind"] in kinds]


def named(vector: dict[str, Any]) -> str:
    name: str = vector["name"]
    return name


def verdict(vector: dict[str, Any]) -> Reason | None:
    now, given = instant(vector["now"]), vector["input"]
    try:
        if vector["kind"] == "keyset-initial":
            pinned = vector["keys"][given["pinnedRoot"]]
            pins = [Pin.parse(f"{pinned['keyVersion']}={pinned['x']}")]
            offer = dharma_offer(given["keyset"])
            begin(offer, pins, now, RULES, issuer=given["organizationId"])
        else:
            line = Line([dharma_offer(given["current"])])
            line.follow(dharma_offer(given["candidate"]), now, RULES)
    except MaterialError as fault:
        return fault.code
    return None


@pytest.mark.parametrize("vector", vectors_of("keyset-initial", "keyset-update"), ids=named)
def test_every_vector_gets_the_peers_reason_or_ours_where_the_peer_is_weak(
    vector: dict[str, Any],
) -> None:
    found, expected = verdict(vector), vector["expected"]
    if vector.get("note", "").startswith("WEAKNESS"):
        assert found is OURS[vector["name"]]
    elif expected["ok"]:
        assert found is None
    elif "reason" in expected:
        assert found == expected["reason"]
    else:
        assert found is not None


@pytest.mark.parametrize("vector", vectors_of("key-resolver"), ids=named)
def test_a_key_resolves_as_for_the_peer_but_never_from_a_tampered_keyset(
    vector: dict[str, Any],
) -> None:
    given, now = vector["input"], instant(vector["now"])
    data = json.dumps(given["keyset"]).encode()
    if vector.get("note", "").startswith("WEAKNESS"):
        with pytest.raises(MaterialError) as caught:
            load_trust_file(data, "keyset.json")
        assert caught.value.code is Reason.TRUST_SIGNATURE_BAD
        return
    entry = Trust.of(load_trust_file(data, "keyset.json")).find(given["keyVersion"])
    wanted = vector["expected"]["resolves"]
    if isinstance(entry, Reason) or entry.gate_fault(now) or entry.keyset_fault(now):
        assert wanted is None
    else:
        assert entry.key is not None
        assert entry.key.raw.hex() == wanted


def document(**more: Any) -> dict[str, Any]:
    return dharma_document(dharma_member(ROOT, "k/1"), dharma_member(NEXT, "d/1"), **more)


def sealed(key: PrivateKey = ROOT, **more: Any) -> dict[str, Any]:
    bare = document(**more)
    return {**bare, "signature": b64url_encode(key.sign(canonicalise(bare)))}


def first(value: dict[str, Any], *pins: Pin, at: str = NOW, issuer: str | None = None) -> Any:
    try:
        begin(dharma_offer(value), pins or [ROOT_PIN], instant(at), issuer=issuer)
    except MaterialError as fault:
        return fault.code
    return None


def then(value: dict[str, Any], *, current: dict[str, Any] | None = None, at: str = NOW) -> Any:
    line = Line([dharma_offer(sealed() if current is None else current)])
    try:
        return line.follow(dharma_offer(value), instant(at), Rules())
    except MaterialError as fault:
        return fault.code


ROOT_PIN = Pin("k/1", ROOT.public.thumbprint)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"issuedAt": "2026-08-17T20:00:60Z"}, Reason.SCHEMA_INVALID),
        ({"issuedAt": "2026-08-17T23:59:60Z"}, Reason.INVALID_LIFETIME),
        ({"expiresAt": "2026-08-18T20:00:00+02"}, Reason.INVALID_LIFETIME),
        ({"expiresAt": "2026-08-17T20:00:00.000Z"}, Reason.INVALID_LIFETIME),
        ({"expiresAt": "2026-09-16T20:00:00.001Z"}, Reason.INVALID_LIFETIME),
        ({"issuedAt": "2026-08-17T20:05:00.001Z"}, Reason.NOT_YET_VALID),
        ({"issuedAt": "2026-08-17T20:05:00.000Z"}, None),
        (
            {"keys": [dharma_member(ROOT, "k/1", notAfter="2026-08-27T20:00:00+02")]},
            "invalid_key_lifetime",
        ),
        ({"keys": [dharma_member(ROOT, "k/1", status="overlap")]}, Reason.NO_ACTIVE_KEY),
        ({"keys": [dharma_member(ROOT, "k/1", status="retired")]}, Reason.SCHEMA_INVALID),
        ({"keys": []}, Reason.SCHEMA_INVALID),
        ({"keys": [dharma_member(ROOT, f"k/{n}") for n in range(21)]}, Reason.SCHEMA_INVALID),
        ({"generation": 0}, Reason.SCHEMA_INVALID),
        ({"extra": 1}, Reason.SCHEMA_INVALID),
        ({"organizationId": "o" * 201}, Reason.SCHEMA_INVALID),
        ({"signedByKeyVersion": "k/9"}, Reason.UNTRUSTED_INITIAL_SIGNER),
    ],
)
def test_a_first_keyset_is_held_against_the_peers_rules(more: Any, reason: Any) -> None:
    assert first(sealed(**more)) == reason


def test_no_pin_another_key_or_a_second_pin_is_no_trust() -> None:
    good = sealed()
    with pytest.raises(MaterialError) as caught:
        begin(dharma_offer(good), [], instant(NOW))
    assert caught.value.code is Reason.UNTRUSTED_INITIAL_SIGNER
    assert first(good, Pin("k/1", NEXT.public.thumbprint)) is Reason.UNTRUSTED_INITIAL_SIGNER
    second = Pin("d/1", NEXT.public.thumbprint)
    assert first(good, ROOT_PIN, second) is Reason.UNTRUSTED_INITIAL_SIGNER
    assert first(good, ROOT_PIN) is None


def test_a_first_signer_that_does_not_stand_now_is_refused_after_all_else() -> None:
    late = dharma_member(ROOT, "k/1", notAfter="2026-08-18T20:00:00.000Z")
    gone = sealed(keys=[late, dharma_member(NEXT, "d/1")])
    assert first(gone, at="2026-08-18T20:00:00Z") is Reason.INITIAL_SIGNER_EXPIRED
    assert first(gone, at="2026-08-18T19:59:59Z") is None


def test_a_published_key_is_refused_in_a_keyset_too() -> None:
    vector = next(v for v in vectors_of("keyset-initial") if v["name"].endswith("initial-ok"))
    pinned = vector["keys"][vector["input"]["pinnedRoot"]]
    pins = [Pin.parse(f"{pinned['keyVersion']}={pinned['x']}")]
    with pytest.raises(MaterialError) as caught:
        begin(dharma_offer(vector["input"]["keyset"]), pins, instant(vector["now"]))
    assert caught.value.code is Reason.PUBLISHED_KEY


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"expiresAt": "2026-09-30T20:00:00.000Z"}, Reason.CURRENT_INVALID_LIFETIME),
        ({"issuedAt": "2026-08-17T20:06:00.000Z"}, Reason.CURRENT_NOT_YET_VALID),
        ({"keys": [dharma_member(ROOT, "k/1")] * 2}, Reason.CURRENT_DUPLICATE_KEY_VERSION),
        (
            {"keys": [dharma_member(ROOT, "k/1", notAfter="2026-08-17T19:59:00.000Z")]},
            Reason.CURRENT_INVALID_KEY_LIFETIME,
        ),
        ({"keys": [dharma_member(ROOT, "k/1", status="overlap")]}, Reason.CURRENT_NO_ACTIVE_KEY),
    ],
)
def test_a_current_keyset_that_does_not_stand_vouches_for_nothing(
    more: Any, reason: Reason
) -> None:
    assert then(sealed(generation=2), current=sealed(**more)) is reason


def test_a_decision_key_may_sign_the_next_keyset_and_it_is_noted() -> None:
    update = sealed(NEXT, generation=2, signedByKeyVersion="d/1")
    (note,) = then(update)
    assert "a decision key too" in note
    assert then(sealed(generation=2)) == ()


def test_ours_come_after_the_peers() -> None:
    earlier = sealed(generation=2, issuedAt="2026-08-17T19:59:59.000Z")
    assert then(earlier) is Reason.ISSUED_AT_REGRESSED
    other = PrivateKey(b"other".ljust(32, b"."))
    rebound = [dharma_member(ROOT, "k/1"), dharma_member(other, "d/1")]
    assert then(sealed(generation=2, keys=rebound)) is Reason.KEY_VERSION_REBOUND
    assert then(sealed(generation=1002)) is Reason.KEYSET_FAST_FORWARD
    forged = sealed(other, generation=2, keys=rebound)
    assert then(forged) is Reason.BAD_SIGNATURE


def test_a_version_that_was_dropped_stays_bound_to_its_key() -> None:
    other = PrivateKey(b"other".ljust(32, b"."))
    line = Line([dharma_offer(sealed())])
    line.follow(
        dharma_offer(sealed(generation=2, keys=[dharma_member(ROOT, "k/1")])), instant(NOW), Rules()
    )
    back = sealed(generation=3, keys=[dharma_member(ROOT, "k/1"), dharma_member(other, "d/1")])
    with pytest.raises(MaterialError) as caught:
        line.follow(dharma_offer(back), instant(NOW), Rules())
    assert caught.value.code is Reason.KEY_VERSION_REBOUND


def test_any_json_spelling_of_a_keyset_is_the_same_keyset() -> None:
    value = sealed()
    respelt = json.dumps(dict(reversed(value.items())), indent=2).encode()
    assert read_offer(respelt, "a").digest == dharma_offer(value).digest

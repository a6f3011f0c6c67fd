"""Messages with several signatures: which count, how many are needed, and who is told."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from forms import CARD, DOCUMENTS, KNOWN, signed, verifier
from support import VECTORS, instant, key_entry, load, new_signer, pins_of

from taskseal.canon.encoding import b64url_decode
from taskseal.errors import InputError, Reason
from taskseal.keys.private import KeySigner
from taskseal.keys.trust import Trust
from taskseal.ledger import open_ledger
from taskseal.receiver import Receiver
from taskseal.signing import sign
from taskseal.validity import DAY
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier
from taskseal.verify.policy import FORMS
from taskseal.wire.jws import write_protected

ONE, TWO, THREE = new_signer("k/1"), new_signer("k/2"), new_signer("k/3")
GROWING = ("jws-general", "dsse", "a2a")


def by(format: str, *signers: KeySigner, **how: Any) -> bytes:
    """The document of ``format``, signed by each in turn."""
    blob = signed(format, signers[0], **how)
    for signer in signers[1:]:
        blob = sign(blob, signer, format=format, **(KNOWN | how)).blob
    return blob


def accepted(trust: Verifier, blob: bytes, **how: Any) -> Accepted:
    verdict = trust.check(blob, **(KNOWN | how))
    assert isinstance(verdict, Accepted), verdict
    return verdict


def refused(trust: Verifier, blob: bytes, **how: Any) -> Refused:
    verdict = trust.check(blob, **(KNOWN | how))
    assert isinstance(verdict, Refused), verdict
    return verdict


def names(verdict: Accepted) -> list[str]:
    return [each.key_version for each in verdict.signers]


@pytest.mark.parametrize("format", GROWING)
def test_a_signature_is_added_beside_those_that_are_there(format: str) -> None:
    blob = by(format, ONE, TWO, THREE)
    verdict = accepted(verifier(ONE, TWO, THREE, threshold=3), blob)
    assert names(verdict) == ["k/1", "k/2", "k/3"]
    assert verdict.to_json()["signers"] == [each.to_json() for each in verdict.signers]


@pytest.mark.parametrize("format", GROWING)
def test_one_good_signature_by_a_trusted_key_is_enough_and_the_result_says_which(
    format: str,
) -> None:
    blob = by(format, ONE, TWO)
    verdict = accepted(verifier(TWO), blob)
    assert names(verdict) == ["k/2"]
    (line,) = [line for line in verdict.checks if line.check == "co-signature"]
    assert (line.result, (line.pointer or "")[:13]) == ("skipped", "/signatures/0")
    assert "unknown_key" in line.detail
    assert "co-signature" in verdict.unchecked


@pytest.mark.parametrize("format", GROWING)
def test_a_spoilt_signature_does_not_spoil_a_good_one(format: str) -> None:
    value = json.loads(by(format, ONE, TWO))
    member = "sig" if format == "dsse" else "signature"
    first, second = value["signatures"]
    first[member] = second[member][:-8] + first[member][-8:]
    trust = verifier(ONE, TWO)
    assert names(accepted(trust, json.dumps(value).encode())) == ["k/2"]
    assert refused(verifier(ONE), json.dumps(value).encode()).reason is Reason.BAD_SIGNATURE


@pytest.mark.parametrize("format", GROWING)
def test_too_few_signatures_are_threshold_not_met(format: str) -> None:
    verdict = refused(verifier(TWO, threshold=2), by(format, ONE, TWO))
    assert verdict.reason is Reason.THRESHOLD_NOT_MET
    assert not verdict.authenticated


@pytest.mark.parametrize("format", ["jws", "jws-general", "dsse", "a2a"])
def test_one_signature_does_not_meet_a_higher_threshold_in_any_form(format: str) -> None:
    verdict = refused(verifier(ONE, threshold=2), signed(format, ONE))
    assert verdict.reason is Reason.THRESHOLD_NOT_MET


def test_an_embedded_signature_does_not_meet_a_higher_threshold() -> None:
    vector = load(VECTORS / "dharma/task-envelopes.json")["vectors"][0]["input"]
    outside = ("signature", "createdAt", "expiresAt", "nonce", "signerKeyVersion")
    task = {name: item for name, item in vector.items() if name not in outside}
    blob = sign(task, ONE, at=KNOWN["at"]).blob
    accepted(verifier(ONE), blob, context=None)
    assert refused(verifier(ONE, threshold=2), blob, context=None).reason is (
        Reason.THRESHOLD_NOT_MET
    )


@pytest.mark.parametrize("format", GROWING)
def test_one_key_under_two_versions_counts_once(format: str) -> None:
    again = KeySigner(key_entry(ONE.key.public, "k/1b"), ONE.key)
    value, more = (
        json.loads(by(format, ONE)),
        json.loads(by(format, again, at="2026-09-01T08:34:00Z")),
    )
    value["signatures"] += more["signatures"]
    if format == "dsse":
        # Deterministic and over the same bytes, it is the very same signature.
        assert refused(verifier(ONE, again), json.dumps(value).encode()).reason is (
            Reason.SIGNATURE_MALFORMED
        )
        return
    blob = json.dumps(value).encode()
    assert names(accepted(verifier(ONE, again), blob)) == ["k/1", "k/1b"]
    assert refused(verifier(ONE, again, threshold=2), blob).reason is Reason.THRESHOLD_NOT_MET


@pytest.mark.parametrize("format", GROWING)
def test_when_none_counts_the_reason_is_of_the_one_that_came_furthest(format: str) -> None:
    wrong = KeySigner(key_entry(TWO.key.public, "k/2", profiles=["dharma.task/v1"]), TWO.key)
    trust = Verifier(pins_of(wrong), Policy(allow_forms=frozenset(FORMS)))
    assert refused(trust, by(format, ONE, TWO)).reason is Reason.UNKNOWN_KEY
    retold = json.loads(by(format, ONE, TWO))
    if format != "dsse":
        item = retold["signatures"][1]
        header = json.loads(b64url_decode(item["protected"]) or b"")
        item["protected"] = write_protected(header | {"alg": "EdDSA"})
        trust = verifier(TWO)
        assert refused(trust, json.dumps(retold).encode()).reason is Reason.BAD_SIGNATURE


@pytest.mark.parametrize("format", GROWING)
def test_the_order_of_the_signatures_changes_nothing(format: str) -> None:
    value = json.loads(by(format, ONE, TWO, THREE))
    trust = verifier(ONE, TWO, THREE)
    found = set()
    for order in itertools.permutations(value["signatures"]):
        verdict = accepted(trust, json.dumps({**value, "signatures": order}).encode())
        found.add((tuple(names(verdict)), verdict.signer, verdict.expires, verdict.digest))
    assert len(found) == 1


def test_a_signature_that_ended_does_not_count_and_another_does() -> None:
    from datetime import timedelta

    finding = {"format": "jws-general", **KNOWN}
    from forms import OUTER

    short = sign(OUTER["finding"], ONE, expires_in=timedelta(minutes=1), **finding).blob
    both = sign(short, TWO, expires_in=timedelta(minutes=20), **finding).blob
    trust, later = verifier(ONE, TWO), {"at": "2026-09-01T08:40:00Z"}
    assert names(accepted(trust, both)) == ["k/1", "k/2"]
    assert names(accepted(trust, both, **later)) == ["k/2"]
    assert refused(verifier(ONE, TWO, threshold=2), both, **later).reason is Reason.EXPIRED
    # It ends when too few signatures are left.
    end = instant(KNOWN["at"])
    assert accepted(trust, both).expires == end + 20 * 60 * 10**9
    assert accepted(verifier(ONE, TWO, threshold=2), both).expires == end + 60 * 10**9


def test_a_retired_key_and_one_for_somebody_else_do_not_count() -> None:
    now = instant(KNOWN["at"])
    retired = KeySigner(
        key_entry(TWO.key.public, "k/2", sign_until=now - DAY, accept_until=now + DAY), TWO.key
    )
    bound = KeySigner(key_entry(THREE.key.public, "k/3", bind={"/case_id": ("other",)}), THREE.key)
    blob = by("jws-general", ONE, TWO, THREE)
    trust = Verifier(pins_of(ONE, retired, bound), Policy(allow_forms=frozenset(FORMS)))
    verdict = accepted(trust, blob)
    assert names(verdict) == ["k/1"]
    said = [line.detail for line in verdict.checks if line.check == "co-signature"]
    assert [detail.partition(":")[0] for detail in said] == ["key_retired", "principal_mismatch"]
    alone = Verifier(pins_of(retired, bound), Policy(allow_forms=frozenset(FORMS)))
    assert refused(alone, blob).reason is Reason.PRINCIPAL_MISMATCH


def test_a_signature_for_another_receiver_does_not_count() -> None:
    mine = sign(DOCUMENTS["jws-general"], ONE, format="jws-general", audience="me", **KNOWN).blob
    both = sign(mine, TWO, format="jws-general", audience="you", **KNOWN).blob
    assert names(accepted(verifier(ONE, TWO, identity=Identity(audience="me")), both)) == ["k/1"]
    assert names(accepted(verifier(ONE, TWO, identity=Identity(audience="you")), both)) == ["k/2"]
    stranger = verifier(ONE, TWO, identity=Identity(audience="they"))
    assert refused(stranger, both).reason is Reason.AUDIENCE_MISMATCH


def test_dsse_without_keyid_takes_the_key_that_the_operator_names() -> None:
    value = json.loads(by("dsse", ONE, TWO))
    for item in value["signatures"]:
        del item["keyid"]
    blob = json.dumps(value).encode()
    assert refused(verifier(ONE, TWO), blob).reason is Reason.KEY_VERSION_MISSING
    for signer in (ONE, TWO):
        policy = Policy(allow_forms=frozenset({"dsse"}), unversioned_key=signer.entry.key_version)
        found = accepted(Verifier(pins_of(ONE, TWO), policy), blob)
        assert names(found) == [signer.entry.key_version]
    empty = json.dumps(
        {**value, "signatures": [{**item, "keyid": ""} for item in value["signatures"]]}
    )
    assert names(accepted(Verifier(pins_of(ONE, TWO), policy), empty.encode())) == ["k/2"]


def test_dsse_ignores_members_that_it_does_not_know() -> None:
    value = json.loads(by("dsse", ONE))
    value["more"], value["signatures"][0]["more"] = 1, 2
    accepted(verifier(ONE), json.dumps(value).encode())


def test_dsse_takes_either_alphabet_and_no_mixture() -> None:
    value = json.loads(by("dsse", ONE))
    for member in ("payload",):
        value[member] = value[member].replace("+", "-").replace("/", "_")
    item = value["signatures"][0]
    item["sig"] = item["sig"].replace("+", "-").replace("/", "_")
    accepted(verifier(ONE), json.dumps(value).encode())
    item["sig"] = "+/" + item["sig"][2:].replace("A", "-", 1) + "_"
    assert refused(verifier(ONE), json.dumps(value).encode()).reason is Reason.SIGNATURE_MALFORMED


@pytest.mark.parametrize("format", GROWING)
def test_a_key_does_not_sign_twice(format: str) -> None:
    with pytest.raises(InputError) as caught:
        by(format, ONE, ONE)
    assert caught.value.code is Reason.ALREADY_SIGNED


@pytest.mark.parametrize("format", ["jws", "jws-general", "dsse"])
def test_what_carries_a_signature_is_signed_again_in_its_own_form_only(format: str) -> None:
    blob = signed(format, ONE)
    for other in (None, "jws", "jws-general", "dsse", "sshsig"):
        if other == format and format != "jws":
            continue
        with pytest.raises(InputError) as caught:
            sign(blob, TWO, format=other, **KNOWN)
        assert caught.value.code is Reason.ALREADY_SIGNED


def test_signatures_for_something_else_are_not_joined() -> None:
    value = json.loads(signed("dsse", ONE))
    value["payloadType"] = "application/json"
    with pytest.raises(InputError) as caught:
        sign(json.dumps(value).encode(), TWO, format="dsse", **KNOWN)
    assert caught.value.code is Reason.WRONG_TYP


def test_a_payload_that_is_not_canonical_is_not_signed_again() -> None:
    from base64 import b64encode

    value = json.loads(signed("dsse", ONE))
    value["payload"] = b64encode(DOCUMENTS["aisa" if "aisa" in DOCUMENTS else "dsse"]).decode()
    with pytest.raises(InputError) as caught:
        sign(json.dumps(value).encode(), TWO, format="dsse", **KNOWN)
    assert caught.value.code is Reason.SIGNATURE_MALFORMED


def test_a_co_signed_message_is_one_message_to_a_ledger_in_any_order() -> None:
    value = json.loads(by("jws-general", ONE, TWO))
    turned = {**value, "signatures": value["signatures"][::-1]}
    alone = {**value, "signatures": value["signatures"][1:]}
    receiver = Receiver(
        verifier(ONE, TWO), open_ledger("memory:"), Identity.ANY, clock=lambda: instant(KNOWN["at"])
    )
    how = {name: item for name, item in KNOWN.items() if name != "at"}
    kinds = [
        type(receiver.accept(json.dumps(each).encode(), **how)).__name__
        for each in (value, turned, alone)
    ]
    assert kinds[1:] == ["Duplicate", "Duplicate"]


def test_two_issuers_that_must_both_sign_are_one_message_too() -> None:
    other = new_signer("k/9", issuer="aaa")
    value = json.loads(by("jws-general", ONE, other))
    trust = Trust.of(pins_of(ONE), pins_of(other))
    judge = Verifier(trust, Policy(allow_forms=frozenset(FORMS), threshold=2))
    turned = {**value, "signatures": value["signatures"][::-1]}
    for each in (value, turned):
        assert accepted(judge, json.dumps(each).encode()).signer.issuer == "aaa"


def test_a_card_keeps_what_it_says_while_signatures_are_added() -> None:
    value = json.loads(by("a2a", ONE, TWO))
    assert {name: item for name, item in value.items() if name != "signatures"} == CARD

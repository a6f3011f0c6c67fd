"""Every form: written by `sign`, read back, and refused when it is spoilt or not allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from forms import BESIDE, CARD, DOCUMENTS, KNOWN, OUTER, PROFILES, signed, verifier
from support import key_entry, new_signer, pins_of

from taskseal.canon.encoding import b64url_encode
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.profiles import AISA_MESSAGE
from taskseal.signing import FORMATS, sign
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier
from taskseal.verify.policy import FORMS
from taskseal.wire.base import MAX_SEALS
from taskseal.wire.forms import FORMATS as BY_FORMAT
from taskseal.wire.forms import MAX_SIGNATURE_FILE
from taskseal.wire.multikey import base58_encode, write_did

SIGNER = new_signer()
OTHER = new_signer("test/2")
NAMES = [name for name in FORMATS if name != "embedded"]


def check(format: str, blob: bytes, trust: Verifier | None = None) -> Any:
    """The verdict on what ``format`` wrote over its document."""
    judge = trust or verifier(SIGNER)
    if format in BESIDE:
        return judge.check(DOCUMENTS[format], signature=blob, **KNOWN)
    return judge.check(blob, **KNOWN)


def refused(format: str, blob: bytes, trust: Verifier | None = None) -> Refused:
    verdict = check(format, blob, trust)
    assert isinstance(verdict, Refused), verdict
    return verdict


def spoilt(format: str, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The JSON file that ``format`` writes, with a member changed."""
    value = json.loads(signed(format, SIGNER))
    change(value)
    return json.dumps(value).encode()


def test_the_registry_and_the_policy_name_the_same_forms() -> None:
    assert {form.name for form in BY_FORMAT.values()} == set(FORMS)
    assert all(name in form.formats for name, form in BY_FORMAT.items())


@pytest.mark.parametrize("format", NAMES)
def test_what_is_signed_in_a_form_is_accepted_in_it(format: str) -> None:
    verdict = check(format, signed(format, SIGNER))
    assert isinstance(verdict, Accepted), verdict
    assert (verdict.form, verdict.profile) == (BY_FORMAT[format].name, PROFILES[format])
    assert [each.key_version for each in verdict.signers] == ["test/1"]
    assert verdict.signer == verdict.signers[0]
    assert "signers" not in verdict.to_json()


@pytest.mark.parametrize("format", [name for name in NAMES if name != "a2a"])
def test_a_form_that_policy_does_not_name_is_refused(format: str) -> None:
    verdict = check(format, signed(format, SIGNER), Verifier(pins_of(SIGNER)))
    usual = BY_FORMAT[format].name in ("jws", "jws-detached")
    assert isinstance(verdict, Accepted if usual else Refused)
    assert usual or verdict.reason is Reason.FORM_NOT_ALLOWED


@pytest.mark.parametrize("format", NAMES)
def test_another_key_of_the_same_name_is_refused(format: str) -> None:
    stranger = KeySigner(key_entry((key := PrivateKey.generate()).public), key)
    shown = BY_FORMAT[format].name in ("eddsa-jcs-2022", "sshsig", "ed25519+domain-v1")
    wanted = Reason.UNKNOWN_KEY if shown else Reason.BAD_SIGNATURE
    assert refused(format, signed(format, stranger)).reason is wanted


@pytest.mark.parametrize("format", [name for name in NAMES if name != "a2a"])
def test_a_signature_for_another_profile_is_refused(format: str) -> None:
    """The document cannot change its kind, so that the file is put beside another document."""
    other = "orbiplex" if PROFILES[format] == AISA_MESSAGE.id else "aisa"
    if format in BESIDE:
        verdict = verifier(SIGNER).check(OUTER[other], signature=signed(format, SIGNER), **KNOWN)
        assert isinstance(verdict, Refused)
        assert verdict.reason in (Reason.WRONG_TYP, Reason.BAD_SIGNATURE)
    else:
        mine, theirs = (
            json.loads(signed(format, SIGNER)),
            json.loads(sign(OUTER[other], SIGNER, format=format, fill=False, **KNOWN).blob),
        )
        assert refused(
            format, json.dumps({**mine, "payload": theirs["payload"]}).encode()
        ).reason is (Reason.WRONG_TYP)


@pytest.mark.parametrize("format", NAMES)
def test_a_key_that_may_not_sign_the_profile_is_refused(format: str) -> None:
    pins = pins_of(KeySigner(key_entry(SIGNER.key.public, profiles=["dharma.task/v1"]), SIGNER.key))
    trust = Verifier(pins, Policy(allow_forms=frozenset(FORMS)))
    assert refused(format, signed(format, SIGNER), trust).reason is Reason.KEY_WRONG_PROFILE


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("algorithm", [Algorithm.P256, Algorithm.MLDSA65])
def test_a_form_takes_every_key_that_it_can_carry(format: str, algorithm: Algorithm) -> None:
    key = PrivateKey.generate(algorithm)
    signer = KeySigner(key_entry(key.public), key)
    takes = BY_FORMAT[format].algorithms
    if takes is None or algorithm.value in takes:
        assert isinstance(check(format, signed(format, signer), verifier(signer)), Accepted)
    else:
        with pytest.raises(MaterialError) as caught:
            signed(format, signer)
        assert caught.value.code is Reason.ALGORITHM_MISMATCH


@pytest.mark.parametrize("format", NAMES)
def test_a_file_cut_short_anywhere_is_refused(format: str) -> None:
    blob = signed(format, SIGNER)
    # The armour's final line end is the one thing that may go.
    whole = len(blob.rstrip(b"\n"))
    for end in {*range(0, whole, max(1, whole // 60)), whole - 1}:
        assert isinstance(check(format, blob[:end]), Refused), end


@pytest.mark.parametrize("format", sorted(BESIDE))
def test_an_over_long_file_is_refused_by_its_size(format: str) -> None:
    blob = signed(format, SIGNER) + b" " * MAX_SIGNATURE_FILE
    assert refused(format, blob).reason is Reason.TOO_LARGE


@pytest.mark.parametrize("format", sorted(BESIDE))
def test_a_detached_file_loses_exactly_one_line_end(format: str) -> None:
    blob = signed(format, SIGNER).removesuffix(b"\n")
    assert isinstance(check(format, blob), Accepted)
    assert isinstance(check(format, blob + b"\n"), Accepted)
    assert isinstance(check(format, blob + b"\r\n"), Accepted)
    verdict = check(format, blob + b"\n\n")
    # JSON may be followed by blanks, text may not.
    assert isinstance(verdict, Accepted if blob.startswith(b"{") else Refused)


@pytest.mark.parametrize("format", sorted(BESIDE))
@pytest.mark.parametrize("other", NAMES)
def test_the_files_of_two_forms_cannot_be_mixed(format: str, other: str) -> None:
    """A blob is no detached signature, and a detached signature no message."""
    if other in BESIDE:
        verdict = verifier(SIGNER).check(signed(other, SIGNER), **KNOWN)
        wanted = {Reason.UNKNOWN_PROFILE, Reason.MALFORMED_JSON}
    else:
        verdict = verifier(SIGNER).check(
            DOCUMENTS[format], signature=signed(other, SIGNER), **KNOWN
        )
        wanted = {Reason.SIGNATURE_MALFORMED}
    assert isinstance(verdict, Refused)
    assert verdict.reason in wanted


@pytest.mark.parametrize("format", ["jws-detached", "eddsa-jcs-2022", "ed25519+domain-v1"])
def test_a_file_of_two_forms_at_once_is_refused(format: str) -> None:
    for other in ("jws-detached", "eddsa-jcs-2022", "ed25519+domain-v1"):
        more = json.loads(signed(other, SIGNER))
        if other != format:
            assert isinstance(check(format, spoilt(format, lambda v, m=more: v.update(m))), Refused)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("format", "member", "value", "reason"),
    [
        ("eddsa-jcs-2022", "type", "Proof", Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "cryptosuite", "eddsa-rdfc-2022", Reason.UNSUPPORTED_ALGORITHM),
        ("eddsa-jcs-2022", "proofPurpose", "authentication", Reason.WRONG_TYP),
        ("eddsa-jcs-2022", "proofPurpose", 1, Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "proofValue", "z", Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "proofValue", "z0OIl", Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "proofValue", base58_encode(bytes(63)), Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "proofValue", "z" + "2" * 200, Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "verificationMethod", "did:web:x#1", Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "verificationMethod", None, Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "created", "yesterday", Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "created", "2026-09-01T08:34:00Z", Reason.BAD_SIGNATURE),
        ("eddsa-jcs-2022", "domain", [], Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "challenge", "x", Reason.SIGNATURE_MALFORMED),
        ("eddsa-jcs-2022", "@context", "https://x", Reason.SIGNATURE_MALFORMED),
        ("ed25519+domain-v1", "alg", "ed25519", Reason.UNSUPPORTED_ALGORITHM),
        ("ed25519+domain-v1", "value", "", Reason.SIGNATURE_MALFORMED),
        ("ed25519+domain-v1", "value", b64url_encode(bytes(65)), Reason.SIGNATURE_MALFORMED),
        ("ed25519+domain-v1", "key/public", 1, Reason.SIGNATURE_MALFORMED),
        ("ed25519+domain-v1", "key/public", "z6Mk", Reason.SIGNATURE_MALFORMED),
        ("ed25519+domain-v1", "more", 1, Reason.SIGNATURE_MALFORMED),
        ("dsse", "payload", "e30", Reason.SIGNATURE_MALFORMED),
        ("dsse", "payload", None, Reason.SIGNATURE_MALFORMED),
        ("dsse", "payloadType", 1, Reason.SIGNATURE_MALFORMED),
        ("dsse", "payloadType", "application/json", Reason.WRONG_TYP),
        ("dsse", "signatures", [], Reason.SIGNATURE_MALFORMED),
        ("dsse", "signatures", {}, Reason.SIGNATURE_MALFORMED),
        ("dsse", "signatures", [1], Reason.SIGNATURE_MALFORMED),
        ("dsse", "signatures", [{"keyid": "test/1"}], Reason.SIGNATURE_MALFORMED),
        ("dsse", "signatures", [{"sig": ""}], Reason.SIGNATURE_MALFORMED),
        ("dsse", "signatures", [{"sig": "AA==", "keyid": 1}], Reason.SIGNATURE_MALFORMED),
        ("dsse", "signatures", [{"sig": "AA==", "keyid": "test/1"}], Reason.SIGNATURE_MALFORMED),
        ("dsse", "signatures", [{"sig": "AA=="}], Reason.KEY_VERSION_MISSING),
        ("dsse", "signatures", [{"sig": "AA=="}] * (MAX_SEALS + 1), Reason.SIGNATURE_MALFORMED),
        ("jws-general", "signatures", [], Reason.SIGNATURE_MALFORMED),
        ("jws-general", "payload", 1, Reason.SIGNATURE_MALFORMED),
        ("a2a", "signatures", [], Reason.SIGNATURE_MISSING),
        ("a2a", "signatures", {}, Reason.SIGNATURE_MALFORMED),
        ("a2a", "signatures", [{}], Reason.SIGNATURE_MALFORMED),
        ("a2a", "signatures", [{}] * (MAX_SEALS + 1), Reason.SIGNATURE_MALFORMED),
    ],
)
def test_a_malformed_member_has_its_reason(
    format: str, member: str, value: Any, reason: Reason
) -> None:
    assert refused(format, spoilt(format, lambda v: v.update({member: value}))).reason is reason


@pytest.mark.parametrize("format", ["jws-general", "dsse", "a2a"])
def test_the_same_signature_twice_is_refused(format: str) -> None:
    verdict = refused(format, spoilt(format, lambda v: v["signatures"].append(v["signatures"][0])))
    assert verdict.reason is Reason.SIGNATURE_MALFORMED
    assert (verdict.pointer or "").startswith("/signatures/1")


@pytest.mark.parametrize("format", ["jws-general", "dsse", "a2a"])
def test_more_signatures_than_are_checked_are_refused(format: str) -> None:
    def crowd(value: dict[str, Any]) -> None:
        value["signatures"] = value["signatures"] * (MAX_SEALS + 1)

    assert refused(format, spoilt(format, crowd)).reason is Reason.SIGNATURE_MALFORMED


def test_a_key_under_two_names_is_ambiguous_where_a_signature_shows_the_key() -> None:
    again = KeySigner(key_entry(SIGNER.key.public, "test/1b"), SIGNER.key)
    trust = Verifier(pins_of(SIGNER, again), Policy(allow_forms=frozenset(FORMS)))
    for format in ("eddsa-jcs-2022", "sshsig", "ed25519+domain-v1"):
        verdict = refused(format, signed(format, SIGNER), trust)
        assert verdict.reason is Reason.AMBIGUOUS_KEY


def test_a_did_key_whose_fragment_is_another_key_is_malformed() -> None:
    mine, other = (write_did("Ed25519", each.key.public.raw) for each in (SIGNER, OTHER))
    mixed = mine.partition("#")[0] + "#" + other.partition("#")[2]

    def change(value: dict[str, Any]) -> None:
        value["verificationMethod"] = mixed

    verdict = refused("eddsa-jcs-2022", spoilt("eddsa-jcs-2022", change))
    assert (verdict.reason, verdict.pointer) == (Reason.SIGNATURE_MALFORMED, "/verificationMethod")


def test_an_audience_has_a_place_in_jose_headers_and_proofs_only() -> None:
    me = Identity(audience="me")
    for format in NAMES:
        trust = verifier(SIGNER, identity=me)
        if not BY_FORMAT[format].audience:
            with pytest.raises(InputError) as caught:
                signed(format, SIGNER, audience="me")
            assert caught.value.code is Reason.USAGE
            assert "audience" in check(format, signed(format, SIGNER), trust).unchecked
            continue
        assert isinstance(check(format, signed(format, SIGNER, audience="me"), trust), Accepted)
        verdict = refused(format, signed(format, SIGNER, audience="you"), trust)
        assert verdict.reason is Reason.AUDIENCE_MISMATCH


def test_a_document_of_an_age_without_times_in_its_signature_is_refused() -> None:
    """An AISA message without a deadline: an hour from occurred_on, unless policy says more."""
    finding = OUTER["finding"]
    how = KNOWN | {"at": "2026-09-01T12:00:00Z"}
    for format in ("dsse", "sshsig", "eddsa-jcs-2022", "ed25519+domain-v1"):
        with pytest.raises(Refused) as caught:
            sign(finding, SIGNER, format=format, **how)
        assert caught.value.reason is Reason.EXPIRED
        patient = Policy(allow_forms=frozenset(FORMS), max_age=10 * 3600 * 10**9)
        blob = sign(finding, SIGNER, format=format, policy=patient, **how).blob
        around = format == "dsse"
        verdict = Verifier(pins_of(SIGNER), patient).check(
            blob if around else finding, signature=None if around else blob, **how
        )
        assert isinstance(verdict, Accepted), verdict
        assert verdict.expires - verdict.issued == 10 * 3600 * 10**9


def test_a_proof_from_the_future_is_refused() -> None:
    blob = signed("eddsa-jcs-2022", SIGNER)
    early = verifier(SIGNER).check(
        DOCUMENTS["eddsa-jcs-2022"], signature=blob, **(KNOWN | {"at": "2026-09-01T08:29:59Z"})
    )
    assert isinstance(early, Refused)
    assert early.reason is Reason.NOT_YET_VALID


def test_a_card_by_its_specification_needs_no_typ_and_no_times() -> None:
    """What other signers write: alg and kid, perhaps typ and jku."""
    from taskseal.canon.jcs import canonicalise
    from taskseal.profiles.a2a import covered
    from taskseal.wire.jws import signing_input, write_protected

    (_, bare), *_ = covered(CARD)
    for more in ({}, {"typ": "JOSE"}, {"jku": "https://x/jwks.json"}):
        protected = write_protected({"alg": "EdDSA", "kid": "test/1", **more})
        signature = SIGNER.sign(signing_input(protected, canonicalise(bare)))
        item = {"protected": protected, "signature": b64url_encode(signature), "header": {"x": 1}}
        verdict = check("a2a", json.dumps({**CARD, "signatures": [item]}).encode())
        assert isinstance(verdict, Accepted), verdict
        assert "freshness" in verdict.unchecked
        assert verdict.expires == SIGNER.entry.accept_until
    protected = write_protected({"alg": "EdDSA", "kid": "test/1", "typ": AISA_MESSAGE.typ})
    item = {"protected": protected, "signature": b64url_encode(signature)}
    assert (
        refused("a2a", json.dumps({**CARD, "signatures": [item]}).encode()).reason
        is Reason.WRONG_TYP
    )

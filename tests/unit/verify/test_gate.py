"""The gate: what is refused before, at and right after the signature, and by which reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import (
    NOW,
    SAMPLES,
    VECTORS,
    embed,
    instant,
    key_entry,
    load,
    new_signer,
    pins_of,
    public_key,
    sign_anyway,
)

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.profiles import AISA_MESSAGE, DHARMA_TASK, ORBIPLEX_TURN_REQUEST, AisaIdentity
from taskseal.signing import sign
from taskseal.validity import DAY, HOUR, SECOND
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier
from taskseal.wire.jws import signing_input, write_flattened, write_protected

SIGNER = new_signer()
FINDING = load(SAMPLES / "aisa/finding.json")
BLOB = sign_anyway(FINDING, SIGNER, AISA_MESSAGE)
TASK = {
    name: item
    for name, item in load(VECTORS / "dharma/task-envelopes.json")["vectors"][0]["input"].items()
    if name not in ("signature", "createdAt", "expiresAt", "nonce")
}


def check(data: bytes, trust: Pins | None = None, policy: Policy | None = None, **how: Any) -> Any:
    verifier = Verifier(trust or pins_of(SIGNER), policy, identity=how.pop("identity", None))
    return verifier.check(data, **({"at": NOW} | how))


def refusal(data: bytes, *given: Any, **how: Any) -> Refused:
    verdict = check(data, *given, **how)
    assert isinstance(verdict, Refused), verdict
    return verdict


def with_header(**header: Any) -> bytes:
    return sign_anyway(FINDING, SIGNER, AISA_MESSAGE, **header)


def raw_header(protected: str) -> bytes:
    body = canonicalise(FINDING)
    return write_flattened(protected, SIGNER.sign(signing_input(protected, body)), body)


BAD_HEADERS = {
    "no alg": ({"alg": None}, Reason.SIGNATURE_MALFORMED),
    "alg a number": ({"alg": 1}, Reason.SIGNATURE_MALFORMED),
    "alg none": ({"alg": "none"}, Reason.UNSUPPORTED_ALGORITHM),
    "alg HS256": ({"alg": "HS256"}, Reason.UNSUPPORTED_ALGORITHM),
    "alg in lower case": ({"alg": "ed25519"}, Reason.UNSUPPORTED_ALGORITHM),
    "no typ": ({"typ": None}, Reason.WRONG_TYP),
    "the typ of another profile": ({"typ": DHARMA_TASK.typ}, Reason.WRONG_TYP),
    "the typ in another case": ({"typ": AISA_MESSAGE.typ.upper()}, Reason.WRONG_TYP),
    "a media type as typ": ({"typ": f"application/{AISA_MESSAGE.typ}"}, Reason.WRONG_TYP),
    "an unknown critical name": ({"crit": ["exp"]}, Reason.CRITICAL_HEADER_UNKNOWN),
    "crit no list": ({"crit": "b64"}, Reason.SIGNATURE_MALFORMED),
    "crit twice": ({"crit": ["b64", "b64"], "b64": True}, Reason.SIGNATURE_MALFORMED),
    "crit without its member": ({"crit": ["b64"]}, Reason.SIGNATURE_MALFORMED),
    "b64 false and not critical": ({"b64": False}, Reason.SIGNATURE_MALFORMED),
    "b64 a text": ({"b64": "false", "crit": ["b64"]}, Reason.SIGNATURE_MALFORMED),
    "iat alone": ({"exp": None}, Reason.SIGNATURE_MALFORMED),
    "exp alone": ({"iat": None}, Reason.SIGNATURE_MALFORMED),
    "iat in milliseconds": ({"iat": 1788251700000}, Reason.SIGNATURE_MALFORMED),
    "iat with a fraction": ({"iat": 1788251700.5}, Reason.SIGNATURE_MALFORMED),
    "iat true": ({"iat": True}, Reason.SIGNATURE_MALFORMED),
    "exp negative": ({"exp": -1}, Reason.SIGNATURE_MALFORMED),
    "kid a number": ({"kid": 7}, Reason.SIGNATURE_MALFORMED),
    "kid unknown": ({"kid": "test/2"}, Reason.UNKNOWN_KEY),
    "kid in another case": ({"kid": "TEST/1"}, Reason.UNKNOWN_KEY),
    "no kid": ({"kid": None}, Reason.KEY_VERSION_MISSING),
    "iss of nobody": ({"iss": "stranger"}, Reason.UNKNOWN_KEY),
    "aud a number": ({"aud": 1}, Reason.SIGNATURE_MALFORMED),
    "aud an empty text list": ({"aud": [1]}, Reason.SIGNATURE_MALFORMED),
    "over 8 KiB": ({"nonce": "n" * 8192}, Reason.TOO_LARGE),
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_a_bad_header_is_refused_also_when_signed(name: str) -> None:
    header, reason = BAD_HEADERS[name]
    if reason is Reason.TOO_LARGE:
        with pytest.raises(InputError) as caught:
            with_header(**header)
        assert caught.value.code is reason
        return
    verdict = refusal(with_header(**header))
    assert verdict.reason is reason, verdict
    assert verdict.pointer == "/protected"
    assert verdict.signer is None
    assert verdict.answer is None


@pytest.mark.parametrize(
    "text",
    [b"{", b"[]", b'"x"', b'{"alg":"Ed25519","alg":"Ed25519"}', b'{"a":"\\ud800"}', b"\xff", b""],
)
def test_a_header_that_is_no_strict_object_is_malformed(text: bytes) -> None:
    assert refusal(raw_header(b64url_encode(text))).reason is Reason.SIGNATURE_MALFORMED


def test_a_header_over_its_limit_is_malformed() -> None:
    long = b64url_encode(b'{"alg":"Ed25519","x":"' + b"n" * 9000 + b'"}')
    assert refusal(raw_header(long)).reason is Reason.SIGNATURE_MALFORMED


def test_a_header_in_another_order_verifies() -> None:
    header = json.loads(b64url_decode(json.loads(BLOB)["protected"]) or b"")
    text = json.dumps(dict(reversed(header.items())), indent=1)
    assert isinstance(check(raw_header(b64url_encode(text.encode()))), Accepted)


def test_both_names_of_the_algorithm_verify_and_keys_in_headers_do_not_count() -> None:
    stranger = new_signer()
    assert isinstance(check(with_header(alg="EdDSA")), Accepted)
    assert stranger.entry.key is not None
    jwk = stranger.entry.key.jwk()
    forged = sign_anyway(
        FINDING, stranger, AISA_MESSAGE, jwk=jwk, jku="https://example.invalid/", x5c=["AA"]
    )
    assert refusal(forged).reason is Reason.BAD_SIGNATURE


def test_the_payload_may_have_any_spelling_and_the_signature_covers_it() -> None:
    spelt = json.dumps(FINDING, indent=2).encode()
    verdict = check(sign_anyway(spelt, SIGNER, AISA_MESSAGE))
    assert isinstance(verdict, Accepted)
    assert verdict.digest == check(BLOB).digest


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("signature", ""),
        ("signature", "AA=="),
        ("signature", "A" * 85),
        ("signature", "A" * 87),
        ("signature", 7),
        ("signature", None),
        ("protected", None),
        ("protected", "e30="),
        ("payload", 5),
        ("payload", "e30="),
    ],
)
def test_an_outer_member_that_is_not_its_one_spelling_is_malformed(member: str, text: Any) -> None:
    blob = json.dumps(json.loads(BLOB) | {member: text}).encode()
    verdict = refusal(blob)
    assert verdict.reason is Reason.SIGNATURE_MALFORMED
    assert verdict.pointer == f"/{member}"


def test_a_blob_with_another_outer_member_is_no_blob() -> None:
    blob = json.dumps(json.loads(BLOB) | {"header": {}}).encode()
    assert refusal(blob).reason is Reason.UNKNOWN_PROFILE


@pytest.mark.parametrize(
    "signature",
    [b"", b"x", b"a..b..c", b"a.b.c", b"{}", b'{"protected":"e30","signature":"AA","payload":""}'],
)
def test_a_detached_file_that_is_none_is_malformed(signature: bytes) -> None:
    verdict = refusal(canonicalise(FINDING), signature=signature)
    assert verdict.reason is Reason.SIGNATURE_MALFORMED


def test_a_detached_file_loses_one_line_end_and_no_more() -> None:
    signed = sign(canonicalise(FINDING), SIGNER, format="jws-compact", at=NOW)
    for end, good in ((b"", True), (b"\n", True), (b"\r\n", True), (b"\n\n", False), (b" ", False)):
        verdict = check(canonicalise(FINDING), signature=signed.blob + end)
        assert isinstance(verdict, Accepted) is good, (end, verdict)


def test_a_message_without_a_signature_says_so() -> None:
    verdict = refusal(canonicalise(FINDING))
    assert verdict.reason is Reason.SIGNATURE_MISSING


def test_a_document_of_no_kind_is_unknown() -> None:
    for text in (b"{}", b"[]", b"null", b'{"schema":"dharma.task/v2"}'):
        assert refusal(text).reason is Reason.UNKNOWN_PROFILE


def test_a_document_of_another_kind_than_named_is_one_error_at_its_discriminator() -> None:
    for text in (b"{}", canonicalise(FINDING)):
        verdict = refusal(text, profile=DHARMA_TASK.id)
        assert (verdict.reason, verdict.pointer) == (Reason.SCHEMA_INVALID, "/schema")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\xef\xbb\xbf{}", Reason.NOT_UTF8),
        (b"\xff\xfe{\0}\0", Reason.NOT_UTF8),
        (b"{} {}", Reason.MALFORMED_JSON),
        (b'{"a":1e400}', Reason.NUMBER_OUT_OF_RANGE),
        (b"[" * 200 + b"]" * 200, Reason.NESTING_TOO_DEEP),
        (b" " * (24 * 1024 * 1024), Reason.TOO_LARGE),
    ],
)
def test_a_text_that_is_none_is_refused_first(text: bytes, reason: Reason) -> None:
    assert refusal(text).reason is reason


def test_each_profile_has_its_own_size() -> None:
    long = FINDING | {"payload": FINDING["payload"] | {"statement": "x" * 300_000}}
    verdict = refusal(sign_anyway(long, SIGNER, AISA_MESSAGE))
    assert verdict.reason is Reason.TOO_LARGE
    request = load(SAMPLES / "orbiplex/start.json")
    assert isinstance(check(sign_anyway(request, SIGNER, ORBIPLEX_TURN_REQUEST)), Accepted)


def test_a_form_is_taken_only_where_policy_lists_it() -> None:
    blob = sign(TASK, SIGNER, format="jws", at=NOW).blob
    assert refusal(blob).reason is Reason.FORM_NOT_ALLOWED
    allowed = Policy(allow_forms=frozenset({"jws"}))
    assert isinstance(check(blob, None, allowed), Accepted)
    narrow = Policy(forms={AISA_MESSAGE.id: frozenset({"jws-detached"})})
    assert refusal(BLOB, None, narrow).reason is Reason.FORM_NOT_ALLOWED


def test_a_version_of_two_issuers_needs_the_issuer() -> None:
    other = new_signer(issuer="elsewhere")
    both = Verifier(pins_of(SIGNER)).trust
    trust = type(both).of(pins_of(SIGNER), pins_of(other))
    without = sign_anyway(FINDING, SIGNER, AISA_MESSAGE, iss=None)
    assert refusal(without, trust).reason is Reason.AMBIGUOUS_KEY
    assert isinstance(check(BLOB, trust), Accepted)


def test_the_operator_may_name_the_version_of_messages_that_name_none() -> None:
    blob = sign_anyway(FINDING, SIGNER, AISA_MESSAGE, kid=None)
    assert refusal(blob).reason is Reason.KEY_VERSION_MISSING
    named = Policy(unversioned_key=SIGNER.entry.key_version)
    assert isinstance(check(blob, None, named), Accepted)


INSTANTS = {
    "not yet valid": ({"not_before": 1, "sign_from": 1}, Reason.KEY_NOT_YET_VALID),
    "expired": ({"sign_until": 0, "accept_until": 0}, Reason.KEY_EXPIRED),
    "revoked": ({"revoked_at": 0}, Reason.KEY_REVOKED),
}


@pytest.mark.parametrize("name", INSTANTS)
def test_a_key_outside_its_instants_is_refused_before_the_signature(name: str) -> None:
    members, reason = INSTANTS[name]
    now = instant(NOW)
    entry = key_entry(SIGNER.key.public, **{key: now + at for key, at in members.items()})
    verdict = refusal(BLOB, Pins.of([entry]))
    assert verdict.reason is reason
    assert verdict.signer is None


def test_a_retired_key_verifies_only_what_says_it_is_from_before() -> None:
    now = instant(NOW)
    entry = key_entry(SIGNER.key.public, sign_until=now - 60 * SECOND, accept_until=now + HOUR)
    verdict = refusal(BLOB, Pins.of([entry]))
    assert verdict.reason is Reason.KEY_RETIRED
    assert verdict.authenticated
    earlier = sign_anyway(FINDING, SIGNER, AISA_MESSAGE, at="2026-09-01T08:33:00Z")
    assert isinstance(check(earlier, Pins.of([entry])), Accepted)


def test_a_key_for_another_profile_is_refused() -> None:
    entry = key_entry(SIGNER.key.public, profiles=[DHARMA_TASK.id])
    assert refusal(BLOB, Pins.of([entry])).reason is Reason.KEY_WRONG_PROFILE


def test_a_published_key_is_refused_unless_allowed() -> None:
    keys = load(VECTORS / "dharma/keys.json")["keys"]["server-root"]
    private = PrivateKey(bytes.fromhex(keys["privateSeedHex"]))
    signer = KeySigner(key_entry(private.public), private)
    blob = sign_anyway(FINDING, signer, AISA_MESSAGE)
    assert refusal(blob, pins_of(signer)).reason is Reason.PUBLISHED_KEY
    allowed = Policy(allow_published_keys=True)
    assert isinstance(check(blob, pins_of(signer), allowed), Accepted)
    with pytest.raises(MaterialError) as caught:
        sign(FINDING, signer, at=NOW)
    assert caught.value.code is Reason.PUBLISHED_KEY
    assert public_key(keys["jwkPublic"]["x"]) == private.public


def test_an_embedded_message_with_another_signature_member_keeps_its_bytes() -> None:
    signed = json.loads(sign(TASK, SIGNER, at=NOW).blob)
    assert isinstance(check(canonicalise(signed)), Accepted)
    assert refusal(canonicalise(signed | {"note": 1})).reason is Reason.BAD_SIGNATURE
    assert refusal(embed(signed | {"note": 1}, SIGNER)).reason is Reason.SCHEMA_INVALID


AUDIENCES = [
    (None, "survey", None, "audience"),
    (Identity.ANY, "survey", None, "audience"),
    (Identity(audience="survey"), "survey", None, None),
    (Identity(audience="survey"), ["other", "survey"], None, None),
    (Identity(audience="survey"), "other", Reason.AUDIENCE_MISMATCH, None),
    (Identity(audience="survey"), "SURVEY", Reason.AUDIENCE_MISMATCH, None),
    (Identity(audience="survey"), None, Reason.AUDIENCE_MISSING, None),
    (Identity(workspace="ws"), "survey", Reason.AUDIENCE_MISMATCH, None),
    (Identity(workspace="ws"), None, None, "audience"),
]


@pytest.mark.parametrize(("identity", "aud", "reason", "skipped"), AUDIENCES)
def test_the_audience_is_compared_where_there_is_something_to_compare(
    identity: Identity | None, aud: Any, reason: Reason | None, skipped: str | None
) -> None:
    verdict = check(with_header(aud=aud), identity=identity)
    if reason is None:
        assert isinstance(verdict, Accepted), verdict
        assert ("audience" in verdict.unchecked) == (skipped is not None)
    else:
        assert isinstance(verdict, Refused)
        assert (verdict.reason, verdict.pointer) == (reason, "/protected")


def test_a_task_is_compared_with_every_member_that_the_receiver_states() -> None:
    blob = sign(TASK, SIGNER, at=NOW).blob
    mine = Identity(organisation="org_test", workspace="ws_1", device="dev_1")
    assert isinstance(check(blob, identity=mine), Accepted)
    for member, pointer in DHARMA_TASK.identity.items():
        other = Identity(**{member: "another"})
        verdict = refusal(blob, identity=other)
        assert (verdict.reason, verdict.pointer) == (Reason.AUDIENCE_MISMATCH, pointer)


def test_a_key_may_only_speak_for_what_it_is_bound_to() -> None:
    blob = sign(TASK, SIGNER, at=NOW).blob
    for allowed, good in ((("org_other", "org_test"), True), (("org_other",), False)):
        entry = key_entry(SIGNER.key.public, bind={"/organizationId": allowed})
        verdict = check(blob, Pins.of([entry]))
        assert isinstance(verdict, Accepted) is good
        if isinstance(verdict, Refused):
            assert verdict.reason is Reason.PRINCIPAL_MISMATCH
            assert verdict.pointer == "/organizationId"


def test_an_unknown_type_brings_a_ready_answer_only_when_it_is_authentic() -> None:
    me = Identity(
        aisa=AisaIdentity(
            task_id="task-receiver-1",
            profile_key="receiver.worker",
            profile_version=1,
            task_path="root/receiver",
        )
    )
    strange = load(SAMPLES / "invalid/aisa-unknown-type.json")
    blob = sign_anyway(strange, SIGNER, AISA_MESSAGE)
    verdict = refusal(blob, identity=me)
    assert (verdict.reason, verdict.disposition) == (Reason.UNKNOWN_MESSAGE_TYPE, "answer")
    assert verdict.answer is not None
    assert verdict.answer["payload"]["reason"] == "unknown_message_type"
    assert verdict.answer["recipient_task_id"] == strange["sender"]["task_id"]
    assert AISA_MESSAGE.schema is not None and AISA_MESSAGE.schema.fault(verdict.answer) is None
    assert refusal(blob).answer is None
    forged = json.loads(blob)
    forged["signature"] = "A" * 86
    assert refusal(json.dumps(forged).encode(), identity=me).answer is None


def test_lifetimes_are_bounded_on_both_sides() -> None:
    day = 24 * 3600
    assert isinstance(check(with_header(exp=instant(NOW) // SECOND + day)), Accepted)
    for header, reason in (
        ({"exp": instant(NOW) // SECOND + day + 1}, Reason.INVALID_LIFETIME),
        ({"exp": instant(NOW) // SECOND}, Reason.INVALID_LIFETIME),
    ):
        assert refusal(with_header(**header)).reason is reason
    assert refusal(BLOB, at="2026-09-01T08:45:00Z").reason is Reason.EXPIRED
    late = check(BLOB, None, Policy(past_skew=60 * SECOND), at="2026-09-01T08:45:59Z")
    assert isinstance(late, Accepted)
    assert isinstance(check(BLOB, at="2026-09-01T08:30:00Z"), Accepted)
    assert refusal(BLOB, at="2026-09-01T08:29:59Z").reason is Reason.NOT_YET_VALID


def test_a_report_may_be_about_yesterday() -> None:
    old = FINDING | {"occurred_on": "2026-08-30T08:08:00Z"}
    assert isinstance(check(sign_anyway(old, SIGNER, AISA_MESSAGE)), Accepted)


def test_a_signature_without_times_needs_the_messages_own() -> None:
    timeless = {"iat": None, "exp": None}
    consult = load(SAMPLES / "aisa/consult.json")
    assert isinstance(check(sign_anyway(consult, SIGNER, AISA_MESSAGE, **timeless)), Accepted)
    assert isinstance(check(with_header(**timeless)), Accepted)
    aged = check(with_header(**timeless), at="2026-09-01T09:08:00Z")
    assert isinstance(aged, Refused) and aged.reason is Reason.EXPIRED
    short = Policy(max_age=60 * SECOND)
    assert refusal(with_header(**timeless), None, short).reason is Reason.EXPIRED


def test_policy_may_set_the_lifetime_of_one_profile() -> None:
    strict = Policy(max_lifetime={AISA_MESSAGE.id: 60 * SECOND})
    assert refusal(BLOB, None, strict).reason is Reason.INVALID_LIFETIME
    assert isinstance(check(BLOB, None, Policy(max_lifetime={DHARMA_TASK.id: DAY})), Accepted)


def test_an_artefact_that_is_not_supplied_is_unchecked_or_missing() -> None:
    verdict = check(BLOB)
    assert isinstance(verdict, Accepted)
    assert [name for name in verdict.unchecked if "artefact" in name]
    wanted = refusal(BLOB, None, Policy(require_artefacts=True))
    assert (wanted.reason, wanted.pointer) == (Reason.ARTEFACT_MISSING, "/artefact/hash")
    wrong = refusal(BLOB, artefacts={"papers/evidence.csv": b"x" * 27})
    assert (wrong.reason, wrong.pointer) == (Reason.DIGEST_MISMATCH, "/artefact/hash")
    good = check(BLOB, artefacts={"papers/evidence.csv": SAMPLES / "aisa/artefacts/evidence.csv"})
    assert isinstance(good, Accepted)


def test_what_the_caller_gets_wrong_is_raised_and_not_a_verdict() -> None:
    for how in (
        {"at": "yesterday"},
        {"profile": "nobody/v1"},
        {"artefacts": {"papers/evidence.csv": SAMPLES / "no-such-file"}},
    ):
        with pytest.raises(InputError):
            check(BLOB, **how)
    with pytest.raises(MaterialError) as caught:
        check(BLOB, context={"aisa": {"nothing": 1}})
    assert caught.value.code is Reason.CONTEXT_MALFORMED
    protected = write_protected({"alg": "Ed25519"})
    assert isinstance(protected, str)

"""Which keyset of ours may be the first, and which may follow which."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from keysets import PLAN, START, entry, keyset, offer, pin, private, sign_one, signed

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import MaterialError, Reason
from taskseal.keys.entry import KEYSET
from taskseal.keys.keyset import Keyset, SignedKeyset
from taskseal.keys.keyset_history import History
from taskseal.keys.keyset_rules import check_first, check_update
from taskseal.keys.private import PrivateKey
from taskseal.keys.shape import Shape
from taskseal.keys.trust import Trust, load_trust_file
from taskseal.profiles.schema import Schema
from taskseal.validity import DAY, HOUR, MINUTE, SECOND, Window

A, B, C = entry("a"), entry("b"), entry("c")
MESSAGES = entry("m", profiles=[PLAN])
FIRST = keyset(A, MESSAGES)
LATER = START + DAY


def first(offered: SignedKeyset, *pins: str, now: int = START, **more: Any) -> Reason | None:
    try:
        check_first(offered, [pin(name) for name in pins or ("a",)], now, **more)
    except MaterialError as fault:
        return fault.code
    return None


def then(
    offered: SignedKeyset, *known: Keyset, now: int = LATER, **more: Any
) -> Reason | tuple[str, ...]:
    try:
        return check_update(History.of(known or (FIRST,)), offered, now, **more)
    except MaterialError as fault:
        return fault.code


def following(*entries: Any, generation: int = 2, issued: int = LATER, **more: Any) -> Keyset:
    return keyset(*entries, generation=generation, issued=issued, **more)


def test_a_first_keyset_needs_a_pin_and_every_pin_among_its_signers() -> None:
    both = signed(keyset(A, B), "a")
    with pytest.raises(MaterialError) as caught:
        check_first(both, [], START)
    assert caught.value.code is Reason.UNTRUSTED_INITIAL_SIGNER
    assert first(both, "a") is None
    assert first(both, "a", "b") is Reason.UNTRUSTED_INITIAL_SIGNER
    assert first(both, "c") is Reason.UNTRUSTED_INITIAL_SIGNER
    assert first(signed(keyset(A, B), "a", "b"), "a", "b") is None
    assert first(signed(keyset(A, MESSAGES), "a", "m"), "m") is Reason.UNTRUSTED_INITIAL_SIGNER


def test_a_first_keyset_meets_its_own_threshold() -> None:
    two = keyset(A, B, threshold=2)
    with pytest.raises(MaterialError) as caught:
        check_first(signed(two, "a"), [pin("a")], START)
    assert caught.value.code is Reason.THRESHOLD_NOT_MET
    assert "missing: 'b'" in caught.value.detail
    assert first(signed(two, "a", "b")) is None
    assert first(signed(keyset(A, MESSAGES, threshold=2), "a", "m")) is Reason.THRESHOLD_NOT_MET


def test_a_signature_is_counted_once_and_a_proof_of_possession_never() -> None:
    two = signed(keyset(A, B, threshold=2), "a")
    (vouched,) = [each for each in two.signatures if each.purpose == "keyset"]
    twice = replace(two, signatures=(*two.signatures, vouched))
    assert first(twice) is Reason.THRESHOLD_NOT_MET
    assert len(two.made_by("possession", two.entries)) == 2


def test_every_key_of_the_first_generation_is_shown_to_be_held() -> None:
    assert first(signed(FIRST, "a", proof=["a"])) is Reason.POSSESSION_MISSING
    later = signed(replace(FIRST, generation=7), "a", proof=[])
    assert first(later) is None


def test_a_first_keyset_stands_now_and_so_does_the_pinned_signer() -> None:
    good = signed(FIRST, "a")
    assert first(good, now=START - 5 * MINUTE) is None
    assert first(good, now=START - 5 * MINUTE - 1) is Reason.KEYSET_NOT_YET_VALID
    assert first(good, now=START + 30 * DAY - 1) is None
    assert first(good, now=START + 30 * DAY) is Reason.KEYSET_EXPIRED
    brief = entry("a", sign_until=START + HOUR, accept_until=START + 2 * HOUR)
    old = signed(keyset(brief, B), "a")
    assert first(old, now=START + 2 * HOUR) is Reason.INITIAL_SIGNER_EXPIRED
    revoked = entry("a", revoked_at=START + HOUR)
    assert first(signed(keyset(revoked, B), "a", "b")) is None
    stolen = signed(keyset(revoked, B), "a", "b")
    assert first(stolen, now=START + HOUR) is Reason.INITIAL_SIGNER_EXPIRED


def test_a_keyset_of_another_issuer_is_refused_where_the_issuer_is_known() -> None:
    good = signed(FIRST, "a")
    assert first(good, issuer="acme") is None
    assert first(good, issuer="other") is Reason.ORGANIZATION_MISMATCH


def test_one_key_under_two_versions_is_refused() -> None:
    twin = entry("a2", key=private("a").public)
    made = signed(keyset(A, twin), "a", proof=["a"])
    assert first(made) is Reason.SAME_KEY_TWICE


def test_a_published_key_is_refused_unless_allowed() -> None:
    seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    known = PrivateKey(bytes.fromhex(seed))
    listed = keyset(A, entry("p", key=known.public))
    made = signed(listed, "a", keys={"p": known})
    assert first(made) is Reason.PUBLISHED_KEY
    assert first(made, allow_published_keys=True) is None


def test_an_update_is_signed_by_both_generations() -> None:
    assert then(signed(following(A, B, MESSAGES), "a")) == ()
    assert then(signed(following(A, B, MESSAGES), "b")) is Reason.THRESHOLD_NOT_MET
    own = following(A, B, C, threshold=2)
    assert then(signed(own, "a")) is Reason.THRESHOLD_NOT_MET
    assert then(signed(own, "a", "c")) == ()
    thief = signed(following(A, B), "a", keys={"a": private("thief")})
    assert then(thief) is Reason.BAD_SIGNATURE


def test_a_key_for_messages_signs_no_keyset() -> None:
    assert then(signed(following(A, MESSAGES), "m")) is Reason.THRESHOLD_NOT_MET


def test_what_an_unknown_key_signed_is_passed_over() -> None:
    assert then(signed(following(A, MESSAGES), "a", "c", proof=[])) == ()
    assert then(signed(following(A, MESSAGES), "c", proof=[])) is Reason.THRESHOLD_NOT_MET


@pytest.mark.parametrize(
    ("generation", "wanted"),
    [(1, Reason.KEYSET_ROLLBACK), (2, ()), (1001, ()), (1002, Reason.KEYSET_FAST_FORWARD)],
)
def test_generations_rise_and_not_too_far(generation: int, wanted: Any) -> None:
    made = signed(following(A, MESSAGES, generation=generation), "a", proof=[])
    assert then(made) == wanted


def test_the_fast_forward_limit_is_the_receivers_to_set() -> None:
    made = signed(following(A, MESSAGES, generation=5), "a", proof=[])
    assert then(made, fast_forward=3) is Reason.KEYSET_FAST_FORWARD
    assert then(made, fast_forward=4) == ()


def test_an_issue_never_goes_back() -> None:
    earlier = signed(following(A, MESSAGES, issued=START - SECOND), "a", proof=[])
    assert then(earlier) is Reason.ISSUED_AT_REGRESSED
    same = signed(following(A, MESSAGES, issued=START), "a", proof=[])
    assert then(same) == ()


def test_a_version_is_never_bound_anew_also_after_it_was_dropped() -> None:
    other = entry("m", key=private("other").public, profiles=[PLAN])
    made = signed(following(A, other), "a", keys={"m": private("other")})
    assert then(made) is Reason.KEY_VERSION_REBOUND
    dropped = following(A)
    again = signed(following(A, other, generation=3), "a", keys={"m": private("other")})
    assert then(again, FIRST, dropped) is Reason.KEY_VERSION_REBOUND
    renamed = entry("m2", key=private("m").public, profiles=[PLAN])
    made = signed(following(A, renamed, generation=3), "a", keys={"m2": private("m")})
    assert then(made, FIRST, dropped) is Reason.SAME_KEY_TWICE


def test_a_revocation_is_never_taken_back_or_put_off() -> None:
    revoked = following(A, replace(MESSAGES, revoked_at=LATER))
    back = signed(following(A, MESSAGES, generation=3), "a", proof=[])
    assert then(back, FIRST, revoked) is Reason.KEY_REVOKED
    put_off = following(A, replace(MESSAGES, revoked_at=LATER + DAY), generation=3)
    assert then(signed(put_off, "a", proof=[]), FIRST, revoked) is Reason.KEY_REVOKED
    earlier = following(A, replace(MESSAGES, revoked_at=START), generation=3)
    assert then(signed(earlier, "a", proof=[]), FIRST, revoked) == ()


def test_a_twin_in_other_letter_case_is_another_version_and_is_noted() -> None:
    upper = entry("M", profiles=[PLAN])
    (note,) = then(signed(following(A, MESSAGES, upper), "a"))
    assert "letter case" in note
    assert then(signed(following(A, upper), "a", proof=[])) is Reason.POSSESSION_MISSING


def test_a_signer_that_leaves_stays_for_ten_minutes() -> None:
    def leaving(at: int) -> Any:
        brief = entry("a", sign_until=LATER + SECOND, accept_until=at)
        return then(signed(following(brief, B), "a"))

    assert leaving(LATER + 10 * MINUTE) == ()
    assert leaving(LATER + 10 * MINUTE - 1) is Reason.ROTATION_OVERLAP_MISSING
    assert then(signed(following(B), "a", "b")) is Reason.ROTATION_OVERLAP_MISSING
    demoted = entry("a", profiles=[PLAN])
    assert then(signed(following(demoted, B), "a", "b")) is Reason.ROTATION_OVERLAP_MISSING
    spent = keyset(entry("a", accept_until=LATER, sign_until=LATER), B)
    assert then(signed(following(B), "b"), spent) == ()


def test_another_keyset_key_may_not_be_dropped_behind_its_back() -> None:
    two = keyset(A, B)
    assert then(signed(following(A), "a"), two) is Reason.ROTATION_OVERLAP_MISSING
    revoked = entry("b", revoked_at=LATER)
    assert then(signed(following(A, revoked), "a"), two) == ()
    # After a jump it may have left in between, in the open.
    assert then(signed(following(A, generation=3), "a"), two) == ()


def test_a_stolen_sole_keyset_key_cannot_vouch_for_its_own_revocation() -> None:
    """The way out is the operator's: `trust replace`."""
    revoked = entry("a", revoked_at=LATER)
    made = signed(following(revoked, B, MESSAGES), "a", "b")
    assert then(made) is Reason.THRESHOLD_NOT_MET


def test_the_others_revoke_a_stolen_key_and_what_it_signs_counts_no_more() -> None:
    three = keyset(A, B, C, threshold=2)
    revoked = entry("a", revoked_at=LATER)
    listed = following(revoked, B, C, threshold=2)
    assert then(signed(listed, "b", "c"), three) == ()
    assert then(signed(listed, "a", "b"), three) is Reason.THRESHOLD_NOT_MET
    thief = signed(following(A, B, C, generation=3, threshold=2), "a", "b", proof=[])
    assert then(thief, three, listed) is Reason.KEY_REVOKED


def test_a_revocation_ahead_counts_once_its_instant_has_come_whatever_the_issue_says() -> None:
    ahead = keyset(entry("a", revoked_at=LATER), B)
    listed = following(entry("a", revoked_at=LATER), B, issued=LATER - HOUR)
    made = signed(listed, "a", proof=[])
    assert then(made, ahead, now=LATER) is Reason.THRESHOLD_NOT_MET
    assert then(signed(listed, "b", proof=[]), ahead, now=LATER) == ()


def test_a_typing_error_in_a_new_keyset_key_is_refused_before_it_locks_anyone_out() -> None:
    """Nobody can sign for the wrong key, neither for the threshold nor to show possession."""
    typo = entry("b", key=private("nobody's").public)
    listed = following(A, typo, threshold=2)
    assert then(signed(listed, "a", proof=["a"])) is Reason.THRESHOLD_NOT_MET
    made = signed(following(A, typo), "a", proof=["a"])
    assert then(made) is Reason.POSSESSION_MISSING
    with_b = sign_one(made, "b", "possession", private("b"))
    assert then(with_b) is Reason.BAD_SIGNATURE


def test_a_threshold_that_no_keys_can_meet_is_refused() -> None:
    assert then(signed(following(A, MESSAGES, threshold=2), "a")) is Reason.THRESHOLD_NOT_MET


def test_a_newly_listed_key_is_shown_to_be_held_unless_it_comes_revoked() -> None:
    assert then(signed(following(A, B), "a", proof=["a"])) is Reason.POSSESSION_MISSING
    gone = entry("b", revoked_at=LATER)
    assert then(signed(following(A, gone), "a", proof=["a"])) == ()
    vouched = signed(following(A, B), "a", "b", proof=[])
    assert then(vouched) is Reason.POSSESSION_MISSING


def test_a_link_of_a_chain_may_have_expired_but_the_last_may_not() -> None:
    late = LATER + 60 * DAY
    link = signed(following(A, MESSAGES), "a", proof=[])
    assert then(link, now=late, last=False) == ()
    assert then(link, now=late) is Reason.KEYSET_EXPIRED
    fresh = signed(following(A, MESSAGES, issued=late), "a", proof=[])
    assert then(fresh, now=late) == ()
    ahead = signed(following(A, MESSAGES, issued=late + HOUR), "a", proof=[])
    assert then(ahead, now=late, last=False) is Reason.KEYSET_NOT_YET_VALID


def test_a_key_that_signs_keysets_and_messages_is_noted() -> None:
    both = entry("b", profiles=[KEYSET, PLAN])
    (note,) = then(signed(following(A, both), "a"))
    assert "signs keysets and messages" in note


def test_an_update_of_another_issuer_is_refused() -> None:
    made = signed(following(entry("a", issuer="other"), issuer="other"), "a")
    assert then(made) is Reason.ORGANIZATION_MISMATCH


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        ("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Reason.WEAK_KEY),
        ("AAAA", Reason.KEY_MALFORMED),
        ("*" * 43, Reason.KEY_MALFORMED),
    ],
)
def test_an_unusable_key_refuses_the_whole_keyset_but_not_the_file(x: str, reason: Reason) -> None:
    """By the operator's word the file loads, and only a message that names the key is refused."""
    document = FIRST.to_json()
    document["keys"][1]["publicKey"]["x"] = x
    data = _with_header(document, typ=TYP)
    with pytest.raises(MaterialError) as caught:
        check_first(_read(data), [pin("a")], START)
    assert caught.value.code is reason
    update = {**document, "generation": 2}
    assert then(_read(_with_header(update, typ=TYP))) is reason
    assert Trust.of(load_trust_file(data, "keyset.json")).find("m", "acme") is reason


def test_the_schema_takes_what_the_reader_takes() -> None:
    schema = Schema.named("taskseal.keyset.v1")
    bound = entry("m", profiles=[PLAN], principal="p", bind={"/a": ("x", 1, None)})
    late = replace(bound, key_version="n", sign_from=START, revoked_at=START)
    listed = keyset(A, bound, replace(late, key=private("n").public))
    assert schema.fault(listed.to_json()) is None
    for spoilt in (
        {"generation": 0},
        {"threshold": 0},
        {"keys": []},
        {"x": 1},
        {"issuedAt": "now"},
    ):
        document = listed.to_json() | spoilt
        assert schema.fault(document) is not None
        with pytest.raises(MaterialError) as caught:
            Keyset.read(document, Shape("keyset", Reason.TRUST_MALFORMED))
        assert caught.value.code is Reason.TRUST_MALFORMED


def _read(data: bytes) -> SignedKeyset:
    return SignedKeyset.read(json.loads(data), Shape("keyset", Reason.TRUST_MALFORMED))


def _with_header(document: dict[str, Any] | None = None, **members: Any) -> bytes:
    payload = canonicalise(document or FIRST.to_json())
    header = {"alg": "Ed25519", "kid": "a", "iss": "acme", "typ": "?"} | members
    kept = {name: value for name, value in header.items() if value is not None}
    protected = b64url_encode(canonicalise(kept))
    text = protected.encode() + b"." + b64url_encode(payload).encode()
    one = {"protected": protected, "signature": b64url_encode(private("a").sign(text))}
    return json.dumps({"payload": b64url_encode(payload), "signatures": [one]}).encode()


TYP = "vnd.taskseal.taskseal.keyset.v1+jws"


@pytest.mark.parametrize(
    "members",
    [
        {"typ": "vnd.taskseal.dharma.task.v1+jws"},
        {"typ": None},
        {"typ": TYP, "kid": None},
        {"typ": TYP, "iss": "other"},
        {"typ": TYP, "iss": None},
        {"typ": TYP, "iat": 1, "exp": 2},
        {"typ": TYP, "aud": "me"},
        {"typ": TYP, "nonce": "n"},
        {"typ": TYP, "crit": ["x"], "x": 1},
        {"typ": TYP, "b64": False, "crit": ["b64"]},
    ],
)
def test_a_header_says_who_and_for_what_and_nothing_else(members: dict[str, Any]) -> None:
    with pytest.raises(MaterialError) as caught:
        SignedKeyset.load(_with_header(**members))
    assert caught.value.code is Reason.TRUST_MALFORMED


def test_a_keyset_signed_elsewhere_by_the_same_rules_is_taken() -> None:
    assert SignedKeyset.load(_with_header(typ=TYP)).issuer == "acme"


def test_a_file_without_its_own_threshold_is_never_trusted() -> None:
    unsigned = SignedKeyset.unsigned(FIRST)
    for made in (signed(FIRST), signed(keyset(A, B, threshold=2), "a")):
        with pytest.raises(MaterialError) as caught:
            SignedKeyset.load(made.to_json())
        assert caught.value.code is Reason.TRUST_SIGNATURE_BAD
    with pytest.raises(MaterialError) as caught:
        SignedKeyset.load(unsigned.keyset.proposal())
    assert caught.value.code is Reason.TRUST_MALFORMED


def test_an_altered_signature_or_payload_spoils_the_file() -> None:
    good = json.loads(signed(FIRST, "a").to_json())
    other = json.loads(signed(replace(FIRST, threshold=1, generation=2), "a").to_json())
    mixed = {"payload": other["payload"], "signatures": good["signatures"]}
    with pytest.raises(MaterialError) as caught:
        SignedKeyset.load(json.dumps(mixed).encode())
    assert caught.value.code is Reason.TRUST_SIGNATURE_BAD


def test_an_offer_keeps_what_it_read() -> None:
    made = signed(FIRST, "a")
    again = offer(made)
    assert again.ours is not None
    assert (again.ours.payload, again.ours.signatures) == (made.payload, made.signatures)
    assert (again.issuer, again.generation, again.kind) == ("acme", 1, KEYSET)
    shape = Shape("keyset", Reason.TRUST_MALFORMED)
    assert Keyset.read(FIRST.to_json(), shape) == replace(
        FIRST, entries=tuple(replace(e, keyset=FIRST.window, generation=1) for e in FIRST.entries)
    )
    assert FIRST.window == Window(START, START + 30 * DAY)

"""The `[[trust]]` tables: they take away from what their sources say, and never add to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from configs import AISA, SENDER, TASK, TASK_AT, Desk, task
from keysets import PLAN, START, entry, keyset, offer, pin, signed
from support import VECTORS, embed, load

from taskseal import Accepted, InputError, MaterialError, Reason, Refused, Trust
from taskseal.config import Config, places
from taskseal.keys.entry import KEYSET
from taskseal.keys.keyset import SignedKeyset
from taskseal.keys.pin import Pin
from taskseal.keys.trust_store import TrustStore
from taskseal.validity import DAY

PINS = "[[trust]]\npins = 'pins.json'\n"
LATER = "2026-09-05T00:00:00Z"
A, MESSAGES = entry("a"), entry("m", profiles=[PLAN])


def trust_of(config: Config) -> Trust:
    return Trust.of(*(rule.source for rule in config.trust))


def versions(config: Config) -> list[str]:
    return sorted(each.key_version for each in trust_of(config).entries())


def refusal(desk: Desk, text: str) -> MaterialError:
    """Why nobody can be trusted by ``text``, at reading it or at looking."""
    with pytest.raises(MaterialError) as caught:
        trust_of(desk.load(text))
    return caught.value


def generation(number: int, *more: Any, by: str = "a") -> SignedKeyset:
    issued = START + (number - 1) * DAY
    return signed(keyset(A, MESSAGES, *more, generation=number, issued=issued), by)


def test_profiles_narrow_what_a_key_may_sign(desk: Desk) -> None:
    wide = desk.load(PINS).verifier()
    assert isinstance(wide.check(embed(task(), SENDER), at=TASK_AT), Accepted)
    narrow = desk.load(PINS + f"profiles = ['{AISA}']\n")
    (first, second) = sorted(trust_of(narrow).entries(), key=lambda each: each.key_version)
    assert (first.profiles, second.profiles) == (frozenset({AISA}), frozenset())
    found = narrow.verifier().check(embed(task(), SENDER), at=TASK_AT)
    assert isinstance(found, Refused)
    assert found.reason is Reason.KEY_WRONG_PROFILE


def test_a_bind_narrows_what_a_key_may_say(desk: Desk) -> None:
    text = PINS + "bind = { '/organizationId' = ['org_test'] }\n"
    verifier = desk.load(text).verifier()
    assert isinstance(verifier.check(embed(task(), SENDER), at=TASK_AT), Accepted)
    found = verifier.check(embed(task(organizationId="org_else"), SENDER), at=TASK_AT)
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.PRINCIPAL_MISMATCH, "/organizationId")


def test_a_bind_never_widens_that_of_the_pins(desk: Desk) -> None:
    pins = json.loads((desk.path / "pins.json").read_bytes())
    pins["keys"][0]["bind"] = {"/organizationId": ["org_a", "org_b"]}
    desk.write("pins.json", pins)
    text = PINS + "bind = { '/organizationId' = ['org_b', 'org_c'], '/workspaceId' = 'ws' }\n"
    (bound, _) = sorted(trust_of(desk.load(text)).entries(), key=lambda each: each.key_version)
    assert bound.bind == {"/organizationId": ("org_b",), "/workspaceId": ("ws",)}


def test_of_pins_only_the_keys_that_are_named_count(desk: Desk) -> None:
    assert SENDER.entry.key is not None
    good = Pin("tasks/1", SENDER.entry.key.thumbprint)
    assert versions(desk.load(PINS)) == ["tasks/1", "tasks/2"]
    assert versions(desk.load(PINS + f"pin = ['{good}']\n")) == ["tasks/1"]
    assert versions(desk.load(PINS + f"pin = '{good}'\n")) == ["tasks/1"]
    for other in (Pin("tasks/2", good.thumbprint), Pin("tasks/1", pin("a").thumbprint)):
        for text in (f"pin = ['{other}']\n", f"pin = ['{good}', '{other}']\n"):
            fault = desk.fault(PINS + text)
            assert (fault.code, fault.pointer) == (Reason.CONFIG_MALFORMED, "/trust/0/pin")


def test_several_tables_count_together(desk: Desk) -> None:
    desk.write("keyset.json", generation(1).to_json())
    found = desk.load(PINS + "[[trust]]\npins = 'keyset.json'\nissuer = 'acme'\n")
    assert versions(found) == ["a", "m", "tasks/1", "tasks/2"]


def test_one_file_in_two_tables_counts_where_both_let_it(desk: Desk) -> None:
    twice = PINS + f"profiles = ['{TASK}']\n" + PINS + f"profiles = ['{AISA}']\n"
    assert {each.profiles for each in trust_of(desk.load(twice)).entries()} == {frozenset()}


def test_a_keyset_file_must_be_signed_by_each_pin_and_new_enough(desk: Desk) -> None:
    desk.write("keyset.json", generation(3).to_json())
    text = "[[trust]]\npins = 'keyset.json'\n"
    assert versions(desk.load(text + f"pin = ['{pin('a')}']\nmin_generation = 3\n")) == ["a", "m"]
    for other in ("m", "b"):
        fault = refusal(desk, text + f"pin = ['{pin('a')}', '{pin(other)}']\n")
        assert (fault.code, fault.pointer) == (Reason.UNTRUSTED_INITIAL_SIGNER, "/trust/0/pin")
    assert refusal(desk, text + "min_generation = 4\n").code is Reason.KEYSET_ROLLBACK


def test_a_dharma_keyset_may_be_pinned_too(desk: Desk) -> None:
    vector = load(VECTORS / "dharma" / "keysets.json")["vectors"][0]
    desk.write("keyset.json", vector["input"]["keyset"])
    found = desk.load("[[trust]]\npins = 'keyset.json'\n")
    (rule,) = found.trust
    signer = rule.source.signed_by  # type: ignore[union-attr]  # a Dharma keyset
    (key,) = [each.key for each in trust_of(found).entries() if each.key_version == signer]
    assert key is not None
    pinned = f"[[trust]]\npins = 'keyset.json'\npin = ['{Pin(signer, key.thumbprint)}']\n"
    assert versions(desk.load(pinned)) == versions(found)
    wrong = f"[[trust]]\npins = 'keyset.json'\npin = ['{Pin(signer, pin('a').thumbprint)}']\n"
    assert refusal(desk, wrong).code is Reason.UNTRUSTED_INITIAL_SIGNER


STORE = "[[trust]]\nstore = 'trust'\n"
OF_ACME = STORE + "issuer = 'acme'\n"


@pytest.fixture
def store(desk: Desk) -> TrustStore:
    made = TrustStore(desk.path / "trust", mark=places.trust_marks())
    made.add(offer(generation(1)), [pin("a")], START)
    made.update([offer(generation(2))], START + DAY)
    return made


def test_a_store_is_followed_and_narrowed(desk: Desk, store: TrustStore) -> None:
    found = desk.load(OF_ACME + f"profiles = ['{PLAN}']\nbind = {{ '/case_id' = 'c' }}\n")
    trust = trust_of(found)
    assert {each.generation for each in trust.entries()} == {2}
    by_version = {each.key_version: each for each in trust.entries()}
    assert by_version["m"].profiles == {PLAN}
    assert by_version["m"].bind == {"/case_id": ("c",)}
    assert by_version["a"].profiles == frozenset()
    store.update([offer(generation(3, entry("n", profiles=[PLAN])))], START + 2 * DAY)
    newer = {each.key_version: each.bind for each in trust.latest().entries()}
    assert newer["n"] == {"/case_id": ("c",)}


def test_of_a_store_one_issuer_may_count_alone(desk: Desk, store: TrustStore) -> None:
    other = keyset(
        entry("z", issuer="zeta"), entry("y", issuer="zeta", profiles=[PLAN]), issuer="zeta"
    )
    store.add(offer(signed(other, "z")), [pin("z")], START)
    assert versions(desk.load(STORE)) == ["a", "m", "y", "z"]
    assert versions(desk.load(STORE + "issuer = 'zeta'\n")) == ["y", "z"]
    assert refusal(desk, STORE + "issuer = 'eta'\n").code is Reason.TRUST_MISSING
    both = OF_ACME + STORE + "issuer = 'zeta'\n"
    assert versions(desk.load(both)) == ["a", "m", "y", "z"]


def test_a_store_below_the_least_generation_is_not_loaded(desk: Desk, store: TrustStore) -> None:
    assert versions(desk.load(OF_ACME + "min_generation = 2\n")) == ["a", "m"]
    assert refusal(desk, OF_ACME + "min_generation = 3\n").code is Reason.KEYSET_ROLLBACK
    with pytest.raises(MaterialError) as caught:
        desk.load(OF_ACME + "min_generation = 3\n").verifier()
    assert caught.value.code is Reason.KEYSET_ROLLBACK


def test_a_store_that_was_put_back_is_noticed_by_its_mark(desk: Desk, store: TrustStore) -> None:
    old = (desk.path / "trust" / "store.json").read_bytes()
    store.update([offer(generation(3))], START + 2 * DAY)
    desk.write("trust/store.json", old)
    assert refusal(desk, OF_ACME).code is Reason.KEYSET_ROLLBACK


def test_pins_are_proven_through_the_whole_line_of_a_store(desk: Desk, store: TrustStore) -> None:
    store.update([offer(generation(3)), offer(generation(5))], START + 6 * DAY)
    pinned = OF_ACME + f"pin = ['{pin('a')}']\n"
    assert versions(desk.load(pinned)) == ["a", "m"]
    assert refusal(desk, OF_ACME + f"pin = ['{pin('m')}']\n").code is (
        Reason.UNTRUSTED_INITIAL_SIGNER
    )


def test_a_keyset_that_somebody_slipped_into_a_store_is_found_out_by_pins(
    desk: Desk, store: TrustStore
) -> None:
    thief = signed(
        keyset(
            A,
            entry("t"),
            entry("u", profiles=[PLAN]),
            generation=3,
            issued=START + 2 * DAY,
        ),
        "t",
    )
    forged = offer(thief)
    desk.write(f"trust/keysets/{forged.digest}.json", forged.to_json())
    state = json.loads((desk.path / "trust" / "store.json").read_bytes())
    steps = state["issuers"][0]["steps"]
    steps.append({**steps[-1], "generation": 3, "digest": forged.digest, "at": LATER})
    desk.write("trust/store.json", state)
    assert "u" in versions(desk.load(OF_ACME)), "without pins the store is taken at its word"
    assert refusal(desk, OF_ACME + f"pin = ['{pin('a')}']\n").code is (Reason.THRESHOLD_NOT_MET)


def test_an_empty_or_missing_store_is_a_fault(desk: Desk) -> None:
    with pytest.raises(InputError) as caught:
        desk.load(STORE)
    assert caught.value.code is Reason.FILE_MISSING
    TrustStore(desk.path / "trust").create()
    assert refusal(desk, STORE).code is Reason.TRUST_MISSING


def test_a_file_that_trusts_nobody_makes_no_verifier(desk: Desk) -> None:
    with pytest.raises(MaterialError) as caught:
        desk.load("").verifier()
    assert caught.value.code is Reason.TRUST_MISSING


def test_keyset_profiles_may_be_named_as_well(desk: Desk) -> None:
    assert desk.load(PINS + f"profiles = ['{KEYSET}']\n").trust


def test_what_a_person_should_know_of_pins_is_kept(desk: Desk, tmp_path: Path) -> None:
    pins = json.loads((desk.path / "pins.json").read_bytes())
    pins["keys"][1]["publicKey"]["x"] = pins["keys"][0]["publicKey"]["x"]
    desk.write("pins.json", pins)
    (rule,) = desk.load(PINS).trust
    assert any("one key" in note for note in rule.notes)

"""The trust store across restarts, processes and backups, and the receivers that follow it."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from keysets import PLAN, START, dharma_offer, entry, keyset, offer, pin, private, signed
from support import SAMPLES, VECTORS, instant, load, sign_anyway

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.feed import COOL_DOWN, Feed
from taskseal.keys.keyset import SignedKeyset
from taskseal.keys.pin import Pin
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner
from taskseal.keys.succession import Offer, Rules
from taskseal.keys.trust import Trust
from taskseal.keys.trust_store import TrustStore
from taskseal.profiles import BUILT_IN
from taskseal.validity import DAY, HOUR, write_instant
from taskseal.verify import Accepted, Refused, Verifier

A, MESSAGES = entry("a"), entry("m", profiles=[PLAN])


def generation(number: int, *more: Any, threshold: int = 1, lifetime: int = 30 * DAY) -> Offer:
    """Generation ``number``, issued that many days after the first, signed by ``a``."""
    listed = keyset(
        A,
        MESSAGES,
        *more,
        generation=number,
        issued=START + (number - 1) * DAY,
        threshold=threshold,
        lifetime=lifetime,
    )
    return offer(signed(listed, "a"), f"g{number}.json")


def fork(number: int) -> Offer:
    """Another keyset of that generation, as whoever stole ``a`` could make it."""
    return generation(number, entry("thief", profiles=[PLAN]))


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    made = TrustStore(tmp_path / "trust", mark=tmp_path / "marks")
    made.add(generation(1), [pin("a")], START)
    return made


def again(store: TrustStore, **more: Any) -> TrustStore:
    """The same store after a restart."""
    return TrustStore(store.path, mark=store.path.parent / "marks", **more)


def standing(store: TrustStore) -> int:
    (only,) = again(store).sources()
    return only.generation


def refusal(act: Any, *arguments: Any, **more: Any) -> Reason:
    with pytest.raises(MaterialError) as caught:
        act(*arguments, **more)
    return caught.value.code


def test_nothing_is_trusted_without_a_pin_and_nothing_is_left_behind(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "trust")
    assert refusal(store.add, generation(1), [], START) is Reason.UNTRUSTED_INITIAL_SIGNER
    assert not store.path.exists()
    with pytest.raises(InputError) as caught:
        store.update([generation(2)], START)
    assert caught.value.code is Reason.FILE_MISSING


def test_adding_again_is_nothing_new_and_adding_another_is_a_conflict(store: TrustStore) -> None:
    assert store.add(generation(1), [pin("a")], START).taken is False
    assert refusal(store.add, fork(1), [pin("a")], START) is Reason.TRUST_CONFLICT
    assert refusal(store.add, generation(2), [pin("a")], START + DAY) is Reason.TRUST_CONFLICT
    assert standing(store) == 1


def test_every_generation_is_kept(store: TrustStore) -> None:
    for number in (2, 3, 4):
        store.update([generation(number)], START + 5 * DAY)
    (chronicle,) = again(store).state().issuers.values()
    assert [step.generation for step in chronicle.steps] == [1, 2, 3, 4]
    assert [again(store).offer(step).generation for step in chronicle.steps] == [1, 2, 3, 4]


def test_rollback_replay_and_forks_are_refused_across_restarts(store: TrustStore) -> None:
    now = START + 5 * DAY
    store.update([generation(2), generation(3)], now)
    for old in (generation(1), generation(2), fork(2), fork(3)):
        assert refusal(again(store).update, [old], now) is Reason.KEYSET_ROLLBACK
    assert [c.taken for c in again(store).update([generation(3)], now)] == [False]
    assert standing(store) == 3


def test_a_sequence_is_taken_whole_or_not_at_all(store: TrustStore) -> None:
    now = START + 5 * DAY
    bad = offer(signed(replace(_listed(3), issuer="acme"), "m"), "bad.json")
    assert refusal(store.update, [generation(2), bad], now) is Reason.THRESHOLD_NOT_MET
    assert standing(store) == 1
    taken = store.update([generation(3), generation(1), generation(2)], now)
    assert [(c.generation, c.taken) for c in taken] == [(1, False), (2, True), (3, True)]
    assert refusal(store.update, [fork(2), generation(4)], now) is Reason.KEYSET_ROLLBACK
    assert refusal(store.update, [generation(4), fork(4)], now) is Reason.KEYSET_ROLLBACK


def _listed(number: int) -> Any:
    made = generation(number).ours
    assert made is not None
    return made.keyset


def chain(length: int) -> list[Offer]:
    """Generations that each hand over to a new keyset key, and expire after two days."""
    links: list[Offer] = []
    keys = [entry("k1")]
    for number in range(1, length + 1):
        issued = START + (number - 1) * DAY
        # The one before leaves within the day.
        leaving = [
            replace(k, sign_until=issued + HOUR, accept_until=issued + 2 * HOUR) for k in keys[-1:]
        ]
        listed = [*leaving, entry(f"k{number + 1}", not_before=issued, sign_from=issued)]
        if number == 1:
            listed = [keys[0]]
        made = keyset(*listed, MESSAGES, generation=number, issued=issued, lifetime=2 * DAY)
        signers = [each.key_version for each in listed]
        links.append(offer(signed(made, *signers), f"g{number}.json"))
        keys = [listed[-1]]
    return links


def test_a_receiver_that_was_away_for_five_generations_catches_up_at_once(tmp_path: Path) -> None:
    links = chain(6)
    store = TrustStore(tmp_path / "trust")
    store.add(links[0], [pin("k1")], START)
    now = START + 5 * DAY + HOUR
    # The last one alone is signed by nobody whom this receiver knows.
    assert refusal(store.update, [links[5]], now) is Reason.THRESHOLD_NOT_MET
    assert refusal(store.update, links[:5], now + 2 * DAY) is Reason.KEYSET_EXPIRED
    taken = store.update(links[1:], now)
    assert [change.generation for change in taken if change.taken] == [2, 3, 4, 5, 6]
    assert standing(store) == 6


def test_generations_skipped_are_no_reason_to_refuse_a_later_sequence(store: TrustStore) -> None:
    now = START + 9 * DAY
    store.update([generation(5)], now)
    changes = store.update([generation(3), generation(5), generation(6)], now)
    assert [change.taken for change in changes] == [False, False, True]


def test_the_fast_forward_limit_is_set_by_the_receiver(store: TrustStore) -> None:
    far = offer(signed(replace(_listed(2), generation=1002), "a"))
    now = START + DAY
    assert refusal(store.update, [far], now) is Reason.KEYSET_FAST_FORWARD
    store.rules = Rules(fast_forward=1001)
    assert store.update([far], now)[0].taken


def test_an_issuer_that_does_not_stand_here_is_not_updated(store: TrustStore) -> None:
    other = offer(signed(keyset(entry("a", issuer="other"), issuer="other", generation=2), "a"))
    assert refusal(store.update, [other], START) is Reason.UNTRUSTED_UPDATE_SIGNER
    assert refusal(store.replace, other, [pin("a")], "why", START) is (
        Reason.UNTRUSTED_UPDATE_SIGNER
    )


def test_a_restored_backup_is_noticed_and_brought_up_to_date(
    store: TrustStore, tmp_path: Path
) -> None:
    now = START + 5 * DAY
    shutil.copytree(store.path, tmp_path / "backup")
    store.update([generation(2), generation(3)], now)
    shutil.rmtree(store.path)
    shutil.copytree(tmp_path / "backup", store.path)
    assert refusal(again(store).sources) is Reason.KEYSET_ROLLBACK
    # Neither what was current then nor another line of that length brings it back.
    for stale in ([generation(1)], [generation(2)]):
        assert refusal(again(store).update, stale, now) is Reason.KEYSET_ROLLBACK
    replacing = (fork(2), [pin("a")], "restored", now)
    assert refusal(again(store).replace, *replacing) is Reason.KEYSET_ROLLBACK
    again(store).update([generation(2), generation(3)], now)
    assert standing(store) == 3


def test_the_least_generation_of_a_machine_without_memory_is_the_operators(
    tmp_path: Path,
) -> None:
    store = TrustStore(tmp_path / "trust", min_generation={"acme": 2})
    assert refusal(store.add, generation(1), [pin("a")], START) is Reason.KEYSET_ROLLBACK
    store.add(generation(2), [pin("a")], START + DAY)
    later = TrustStore(store.path, min_generation={"acme": 3})
    assert refusal(later.sources) is Reason.KEYSET_ROLLBACK


def test_a_stolen_sole_keyset_key_is_replaced_by_the_operators_word(store: TrustStore) -> None:
    now = START + 5 * DAY
    store.update([fork(2)], now)
    fresh = keyset(replace(A, revoked_at=now), entry("b"), MESSAGES, generation=3, issued=now)
    rescue = offer(signed(fresh, "b"))
    assert refusal(store.update, [rescue], now) is Reason.THRESHOLD_NOT_MET
    assert refusal(store.replace, rescue, [pin("a")], "a was stolen", now) is (
        Reason.UNTRUSTED_INITIAL_SIGNER
    )
    with pytest.raises(InputError):
        store.replace(rescue, [pin("b")], " ", now)
    assert store.replace(rescue, [pin("b")], "a was stolen", now).taken
    (chronicle,) = again(store).state().issuers.values()
    last = chronicle.steps[-1]
    assert (last.how, last.reason, last.generation) == ("replaced", "a was stolen", 3)
    assert last.pins == (str(pin("b")),)
    assert [step.how for step in chronicle.steps] == ["added", "updated", "replaced"]
    later = START + 9 * DAY
    assert refusal(again(store).update, [fork(7)], later) is Reason.KEY_REVOKED


def test_a_replacement_rises_too(store: TrustStore) -> None:
    store.update([generation(2)], START + DAY)
    now = START + DAY
    for old in (generation(1), fork(2)):
        assert refusal(store.replace, old, [pin("a")], "why", now) is Reason.KEYSET_ROLLBACK
    assert store.replace(generation(2), [pin("a")], "why", now).taken is False


def test_a_dharma_keyset_is_followed_by_the_peers_rules(tmp_path: Path) -> None:
    vectors = {v["name"]: v for v in load(VECTORS / "dharma/keysets.json")["vectors"]}
    update = vectors["keyset-update-no-new-key-ok"]
    store = TrustStore(tmp_path / "trust", rules=Rules(allow_published_keys=True))
    first = vectors["keyset-gen1-initial-ok"]
    pinned = [_dharma_pin(first)]
    store.add(dharma_offer(update["input"]["current"]), pinned, _at(update), issuer="org_test")
    assert store.update([dharma_offer(update["input"]["candidate"])], _at(update))[0].taken
    assert (standing(store), again(store).sources()[0].issuer) == (2, "org_test")
    assert refusal(store.update, [dharma_offer(update["input"]["current"])], _at(update)) is (
        Reason.KEYSET_ROLLBACK
    )


def _dharma_pin(vector: dict[str, Any]) -> Pin:
    pinned = vector["keys"][vector["input"]["pinnedRoot"]]
    return Pin.parse(f"{pinned['keyVersion']}={pinned['x']}")


def _at(vector: dict[str, Any]) -> int:
    return instant(vector["now"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace(b'"generation":1', b'"generation":2', 1),
        lambda text: text.replace(b'"added"', b'"updated"', 1),
        lambda text: text.replace(b"taskseal.trust-store/v1", b"taskseal.trust-store/v2", 1),
        lambda text: text[:-20],
        lambda text: b"[]",
    ],
)
def test_a_spoilt_store_is_not_trusted(store: TrustStore, spoil: Any) -> None:
    path = store.path / "store.json"
    path.write_bytes(spoil(path.read_bytes()))
    assert refusal(again(store).sources) is Reason.TRUST_MALFORMED


def test_a_spoilt_keyset_file_is_not_trusted(store: TrustStore) -> None:
    (path,) = (store.path / "keysets").iterdir()
    good = path.read_bytes()
    made = json.loads(good)
    made["signatures"] = made["signatures"][1:]
    path.write_bytes(json.dumps(made).encode())
    assert refusal(again(store).sources) is Reason.TRUST_SIGNATURE_BAD
    path.write_bytes(fork(1).to_json())
    assert refusal(again(store).sources) is Reason.TRUST_MALFORMED
    path.unlink()
    assert refusal(again(store).sources) is Reason.TRUST_MALFORMED


def _update(folder: str, number: int, results: Any) -> None:
    store = TrustStore(Path(folder) / "trust", mark=Path(folder) / "marks")
    try:
        store.update([generation(number)], START + 20 * DAY)
        results.put("taken")
    except MaterialError as fault:
        results.put(fault.code.value)


def test_two_processes_at_once_never_take_the_store_back(store: TrustStore) -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    folder = str(store.path.parent)
    workers = [
        context.Process(target=_update, args=(folder, number, results)) for number in range(2, 10)
    ]
    for worker in workers:
        worker.start()
    told = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert set(told) <= {"taken", "keyset_rollback"}
    assert standing(store) == 9
    (chronicle,) = again(store).state().issuers.values()
    assert told.count("taken") == len(chronicle.steps) - 1


# What receivers see.


def message(signer: str) -> bytes:
    plan = load(SAMPLES / "aisa" / "plan.json") | {"occurred_on": write_instant(START)}
    key = private(signer)
    listed = entry(signer, profiles=[PLAN])
    return sign_anyway(plan, KeySigner(listed, key), BUILT_IN[PLAN], at=write_instant(START))


def reason_of(verifier: Verifier, data: bytes, now: int = START) -> Reason | None:
    verdict = verifier.check(data, at=now)
    return verdict.reason if isinstance(verdict, Refused) else None


def test_a_receiver_sees_a_revocation_at_the_next_message(store: TrustStore) -> None:
    verifier = Verifier(again(store), clock=lambda: START)
    data = message("m")
    assert isinstance(verifier.check(data), Accepted)
    revoked = keyset(A, replace(MESSAGES, revoked_at=START), generation=2, issued=START)
    store.update([offer(signed(revoked, "a"))], START)
    assert reason_of(verifier, data) is Reason.KEY_REVOKED


def test_an_expired_keyset_verifies_no_message_but_its_successor(store: TrustStore) -> None:
    data, late = message("m"), START + 30 * DAY
    verifier = Verifier(Trust.of(again(store)))
    assert reason_of(verifier, data, late) is Reason.KEYSET_EXPIRED
    ahead = Verifier(Trust.of(again(store)))
    assert reason_of(ahead, data, START - HOUR) is Reason.KEYSET_NOT_YET_VALID
    listed = keyset(A, MESSAGES, generation=2, issued=late)
    assert store.update([offer(signed(listed, "a"))], late)[0].taken


def test_pins_or_a_keyset_file_of_an_issuer_in_the_store_are_refused(store: TrustStore) -> None:
    made = generation(1).ours
    assert made is not None
    for other in (Pins.of([MESSAGES]), made):
        assert refusal(Trust.of, store, other) is Reason.TRUST_CONFLICT
        assert refusal(Trust.of, other, store) is Reason.TRUST_CONFLICT
    stranger = Pins.of([entry("m", issuer="other", profiles=[PLAN])])
    assert len(Trust.of(store, stranger).entries()) == 3


def test_an_empty_store_is_no_trust(tmp_path: Path) -> None:
    assert refusal(Trust.of, TrustStore(tmp_path / "trust").create()) is Reason.TRUST_MISSING


def test_a_running_receiver_refuses_a_store_that_went_back(
    store: TrustStore, tmp_path: Path
) -> None:
    shutil.copytree(store.path, tmp_path / "backup")
    store.update([generation(2)], START + DAY)
    verifier = Verifier(TrustStore(store.path), clock=lambda: START + DAY)
    assert reason_of(verifier, message("m"), START + HOUR) is Reason.KEYSET_NOT_YET_VALID
    shutil.rmtree(store.path)
    shutil.copytree(tmp_path / "backup", store.path)
    assert refusal(verifier.check, message("m")) is Reason.KEYSET_ROLLBACK


class Counted:
    """A store whose stamp lies, as a cached file system's may; it counts its readings."""

    def __init__(self, *known: SignedKeyset) -> None:
        self.known = list(known)
        self.readings = 0

    def stamp(self) -> object:
        return None

    def sources(self) -> tuple[SignedKeyset, ...]:
        self.readings += 1
        return (self.known[-1],)


def test_an_unknown_key_makes_a_receiver_read_once_more_but_not_again_at_once() -> None:
    first = signed(keyset(A, MESSAGES), "a")
    new = keyset(A, MESSAGES, entry("n", profiles=[PLAN]), generation=2)
    counted = Counted(first)
    verifier, data = Verifier(Trust.of(counted)), message("n")
    for _ in range(5):
        assert reason_of(verifier, data) is Reason.UNKNOWN_KEY
        assert counted.readings == 2
    changed = Counted(first)
    other = Verifier(Trust.of(changed))
    changed.known.append(signed(new, "a"))
    assert reason_of(other, data) is None


def test_a_feed_cools_down_between_two_misses() -> None:
    now, made = [0.0], []

    def make(feed: Feed[int], before: int | None) -> int:
        made.append(before)
        return len(made)

    feed: Feed[int] = Feed(make, lambda: "same", clock=lambda: now[0])
    assert [feed.latest(), feed.latest(), feed.after_miss(), feed.after_miss()] == [1, 1, 2, 2]
    now[0] = COOL_DOWN
    assert feed.after_miss() == 3
    assert made == [None, 1, 2]


def test_a_store_is_private_to_its_owner(store: TrustStore) -> None:
    assert (store.path / "store.json").stat().st_mode & 0o077 == 0
    assert os.listdir(store.path / "keysets")

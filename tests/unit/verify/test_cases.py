"""The small cases drawn from public bug reports, read through a custom profile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from support import (
    CASES,
    case_pins,
    embed,
    instant,
    keyset_pins,
    load,
    neutral_profile,
    new_signer,
    pins_of,
)

from taskseal.errors import Reason
from taskseal.ledger import open_ledger
from taskseal.receiver import Duplicate, Outcome, Receiver
from taskseal.signing import sign
from taskseal.verify import Accepted, Identity, Policy, Refused, Verifier

NEUTRAL = neutral_profile()
POLICY = Policy(allow_published_keys=True)
ITEMS = [
    (case.name, item["file"], item["expect"])
    for case in sorted(CASES.iterdir())
    for item in load(case / "expected.json").get("items", [])
    if load(case / "expected.json")["operation"] == "verify"
]

REASON = {
    "07-duplicate-keys": {Reason.DUPLICATE_MEMBER},
    "15-standard-alphabet": {Reason.SIGNATURE_MALFORMED},
    "17-signature-text-noise": {Reason.SIGNATURE_MALFORMED, Reason.SIGNATURE_MISSING},
    "30-epoch-units-and-range": {
        Reason.SCHEMA_INVALID,
        Reason.INTEGER_OUT_OF_RANGE,
        Reason.INVALID_LIFETIME,
    },
    "41-kid-as-path": {Reason.UNKNOWN_KEY, Reason.KEY_VERSION_MISSING},
}


def check(case: str, file: str, at: str) -> Accepted | Refused:
    verifier = Verifier(case_pins(case), POLICY)
    return verifier.check((CASES / case / file).read_bytes(), profile=NEUTRAL, at=at)


@pytest.mark.parametrize(("case", "file", "expect"), ITEMS, ids=str)
def test_every_case_gets_its_verdict(case: str, file: str, expect: str) -> None:
    verdict = check(case, file, load(CASES / case / "expected.json")["now"])
    if expect == "accept":
        assert isinstance(verdict, Accepted), verdict
    else:
        assert isinstance(verdict, Refused), verdict
        assert verdict.reason in REASON[case], verdict


def test_a_weak_key_never_enters_the_table_and_its_message_says_so() -> None:
    case = CASES / "14-small-order-public-key"
    for keyset in ("keyset-identity.json", "keyset-noncanonical.json"):
        verifier = Verifier(keyset_pins(load(case / keyset)), POLICY)
        verdict = verifier.check(
            (case / "envelope.json").read_bytes(), profile=NEUTRAL, at="2026-01-01T00:01:00Z"
        )
        assert isinstance(verdict, Refused)
        assert verdict.reason is Reason.WEAK_KEY


TIMES = load(CASES / "27-lenient-iso-dates/timestamps.json")


@pytest.mark.parametrize("text", [item["value"] for item in TIMES["reject"]], ids=repr)
def test_a_lenient_date_is_refused_also_when_signed(text: str) -> None:
    verdict = expiring(text)
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.pointer) == (Reason.SCHEMA_INVALID, "/expires_at")
    assert verdict.detail.startswith("time_malformed")


@pytest.mark.parametrize(
    "text", TIMES["accept"] + [item["value"] for item in TIMES["either"]], ids=repr
)
def test_a_strict_date_is_accepted(text: str) -> None:
    assert isinstance(expiring(text), Accepted)


def expiring(text: str) -> Accepted | Refused:
    signer = new_signer("key-a#1", profiles=[NEUTRAL.id], at="2026-01-01T00:01:00Z")
    envelope = neutral(expires_at=text)
    verifier = Verifier(pins_of(signer))
    return verifier.check(embed(envelope, signer), profile=NEUTRAL, at="2026-01-01T00:01:00Z")


def neutral(**members: Any) -> dict[str, Any]:
    return {
        "alg": "Ed25519",
        "kid": "key-a",
        "key_version": 1,
        "nonce": "n-1",
        "issued_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-01-01T00:05:00Z",
        "payload": {"task": "sync"},
    } | members


class Scene:
    """One receiver with a clock that the scenario sets."""

    def __init__(self, case: str, ledger: str) -> None:
        self.folder = CASES / case
        self.now = 0
        self.ledger = open_ledger(ledger)
        verifier = Verifier(case_pins(case), POLICY, clock=self.clock)
        self.receiver = Receiver(verifier, self.ledger, Identity.ANY, clock=self.clock)

    def clock(self) -> int:
        return self.now

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *fault: object) -> None:
        self.ledger.close()

    def accept(self, file: str) -> Outcome:
        return self.receiver.accept((self.folder / file).read_bytes(), profile=NEUTRAL)


@pytest.fixture
def open_scene() -> Iterator[Callable[[str, str], Scene]]:
    """Scenes whose ledgers are closed in the end."""
    with ExitStack() as scenes:
        yield lambda case, ledger: scenes.enter_context(Scene(case, ledger))


@pytest.mark.parametrize("store", ["memory:", "sqlite:{}/ledger.db"])
def test_a_record_outlives_the_skew(
    store: str, tmp_path: Path, open_scene: Callable[[str, str], Scene]
) -> None:
    scene = open_scene("31-retention-covers-skew", store.format(tmp_path))
    verdicts = []
    for step in load(scene.folder / "scenario.json")["steps"]:
        scene.now = instant(step["at"])
        if step["do"] == "purge":
            scene.ledger.purge(scene.now)
            continue
        verdict = scene.accept(step["file"])
        assert isinstance(verdict, Accepted) == (step["expect"] == "accept"), (step, verdict)
        verdicts.append(isinstance(verdict, Accepted))
    assert verdicts.count(True) == 1


@pytest.mark.parametrize("store", ["memory:?max_records=4", "sqlite:{}/l.db?max_records=4"])
def test_a_full_ledger_forgets_nothing_and_refuses_the_rest(
    store: str, tmp_path: Path, open_scene: Callable[[str, str], Scene]
) -> None:
    scene = open_scene("35-cache-full", store.format(tmp_path))
    scenario = load(scene.folder / "scenario.json")
    scene.now = instant(scenario["now"])
    for step in scenario["steps"]:
        verdict = scene.accept(step["file"])
        assert isinstance(verdict, Accepted) == (step["expect"] == "accept"), (step, verdict)
        if step["file"] == "victim.json" and step["expect"] == "reject":
            assert isinstance(verdict, Duplicate)
        elif step["expect"] == "reject":
            assert isinstance(verdict, Refused)
            assert (verdict.reason, verdict.disposition) == (Reason.LEDGER_UNAVAILABLE, "retry")


def race(url: str) -> list[str]:
    with Scene("32-concurrent-same-nonce", url) as scene, ThreadPoolExecutor(32) as pool:
        scene.now = instant(load(scene.folder / "scenario.json")["now"])
        verdicts = pool.map(lambda _: scene.accept("envelope.json"), range(32))
        return [type(verdict).__name__ for verdict in verdicts]


def test_of_many_threads_and_processes_one_wins(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/race.db"
    open_ledger(url).close()
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        names = [name for batch in pool.map(race, [url] * 4) for name in batch]
    assert names.count("Job") == 1
    assert names.count("Duplicate") == len(names) - 1 == 127


STEPS = load(CASES / "39-overlap-window/scenario.json")["steps"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step['do']} {step.get('file', '')}")
def test_a_retired_key_verifies_until_its_end_and_only_what_it_signed_before(
    step: dict[str, Any],
) -> None:
    case = "39-overlap-window"
    if step["do"] == "verify":
        verdict = check(case, step["file"], step["at"])
        assert isinstance(verdict, Accepted) == (step["expect"] == "accept"), verdict
        return
    entry = Verifier(case_pins(case)).trust.find(f"{step['kid']}#{step['key_version']}")
    assert not isinstance(entry, Reason)
    assert entry.may_sign(instant(step["at"])) is Reason.KEY_NOT_SIGNING


def test_a_joined_key_version_must_stand_in_the_document() -> None:
    signer = new_signer("key-a#1", profiles=[NEUTRAL.id], at="2026-01-01T00:01:00Z")
    for wrong in ({"kid": "key-b"}, {"key_version": 2}, {"key_version": "1#1"}):
        with pytest.raises(Refused) as caught:
            sign(neutral(**wrong), signer, profile=NEUTRAL, at="2026-01-01T00:01:00Z")
        assert caught.value.reason is Reason.KEY_VERSION_MISMATCH
    blob = sign(neutral(), signer, profile=NEUTRAL, at="2026-01-01T00:01:00Z").blob
    assert json.loads(blob)["kid"] == "key-a"

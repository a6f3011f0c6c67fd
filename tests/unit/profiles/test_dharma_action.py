"""Task actions: made of a task, digested as the peer digests them, never signed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.profiles import DHARMA_TASK, DHARMA_TASK_ACTION, action_digest, task_action

DATA = Path(__file__).resolve().parents[2] / "vectors" / "dharma"
ACTIONS = {
    vector["name"]: vector
    for vector in json.loads((DATA / "task-actions.json").read_bytes())["vectors"]
}
RECEIPTS = json.loads((DATA / "receipts.json").read_bytes())["vectors"]
MADE = [name for name, vector in ACTIONS.items() if "action" in vector["expected"]]
UNDEFINED = "action-divergent-known-state"


def made_of(name: str) -> dict[str, Any]:
    given = ACTIONS[name]["input"]
    return task_action(given["task"], given["actionId"])


@pytest.mark.parametrize("name", MADE)
def test_an_action_has_the_members_that_the_peer_gives_it(name: str) -> None:
    assert made_of(name) == ACTIONS[name]["expected"]["action"]


@pytest.mark.parametrize("name", MADE)
def test_an_action_has_the_peers_bytes_and_digest_or_is_not_portable(name: str) -> None:
    expected = ACTIONS[name]["expected"]
    action = made_of(name)
    if expected["rfc8785Equal"]:
        assert canonicalise(action).decode() == expected["canonical"]
        assert action_digest(action).text("sha256:hex") == expected["digest"]
        return
    assert name == UNDEFINED
    with pytest.raises(InputError) as caught:
        action_digest(action)
    assert caught.value.code is Reason.NOT_PORTABLE
    assert caught.value.pointer == "/stateEnvelope/known_state"
    forced = action_digest(action, allow_divergent=True)
    assert forced == Digest.of(canonicalise(action))


def test_the_vectors_hold_both_kinds() -> None:
    assert {ACTIONS[name]["expected"]["rfc8785Equal"] for name in MADE} == {True, False}


def test_a_task_without_endpoint_makes_no_action() -> None:
    with pytest.raises(InputError) as caught:
        made_of("neg-action-without-endpoint")
    assert caught.value.code is Reason.ENDPOINT_MISSING
    assert caught.value.pointer == "/target/endpointId"


@pytest.mark.parametrize("target", [None, 1, "x", [], {}, {"endpointId": None}, {"endpointId": ""}])
def test_a_target_of_any_kind_without_endpoint_is_the_same(target: Any) -> None:
    with pytest.raises(InputError) as caught:
        task_action({"target": target}, "x")
    assert caught.value.code is Reason.ENDPOINT_MISSING


def test_an_action_with_a_surplus_member_does_not_fit() -> None:
    with pytest.raises(InputError) as caught:
        action_digest(ACTIONS["neg-action-schema"]["input"]["action"])
    assert caught.value.code is Reason.ACTION_SCHEMA_INVALID
    assert caught.value.pointer == "/x"


def test_every_action_of_the_receipts_fits_but_the_one_that_shall_not() -> None:
    unfit = []
    for vector in RECEIPTS:
        if "action" in vector["input"]:
            try:
                action_digest(vector["input"]["action"])
            except InputError as fault:
                unfit.append((vector["name"], fault.code))
    assert unfit == [("neg-receipt-action-schema", Reason.ACTION_SCHEMA_INVALID)]


LEFT_OUT = {"createdAt", "nonce", "requiredCapabilities", "signerKeyVersion", "signature"} | {
    "actionDecision",
    "target",
}


def test_an_action_holds_all_of_a_task_but_what_only_its_signature_covers() -> None:
    given = ACTIONS["action-from-a2a-task-7"]["input"]
    assert set(given["task"]) - set(made_of("action-from-a2a-task-7")) == LEFT_OUT
    assert DHARMA_TASK.schema is not None
    known = set(DHARMA_TASK.schema.document["properties"])
    assert known - LEFT_OUT == set(made_of("action-from-a2a-task-7")) - {
        "actionId",
        "targetEndpointId",
    }


def test_members_that_a_source_brings_come_with_it_only() -> None:
    given = copy.deepcopy(ACTIONS["action-from-a2a-task-7"]["input"])
    del given["task"]["source"]
    action = task_action(given["task"], given["actionId"])
    assert not {"source", "stateEnvelope", "evidenceReferences"} & set(action)
    with pytest.raises(InputError) as caught:
        action_digest(action)
    assert caught.value.pointer == "/source"
    action["taskType"] = "external_request"
    assert action_digest(action) == Digest.of(canonicalise(action))
    action["stateEnvelope"] = given["task"]["stateEnvelope"]
    with pytest.raises(InputError) as caught:
        action_digest(action)
    assert caught.value.pointer == "/stateEnvelope"


@pytest.mark.parametrize("member", sorted(set(ACTIONS[MADE[0]]["expected"]["action"])))
def test_each_member_of_an_action_counts(member: str) -> None:
    action = copy.deepcopy(ACTIONS[MADE[0]]["expected"]["action"])
    value = action.pop(member)
    with pytest.raises(InputError) as caught:
        action_digest(action)
    assert (caught.value.code, caught.value.pointer) == (
        Reason.ACTION_SCHEMA_INVALID,
        f"/{member}",
    )
    action[member] = {"odd": value}
    with pytest.raises(InputError) as caught:
        action_digest(action)
    assert caught.value.code is Reason.ACTION_SCHEMA_INVALID
    assert (caught.value.pointer or "").startswith(f"/{member}")


@pytest.mark.parametrize("value", [2**60, 1e20, float("nan"), "\ud800", b"x", (1,), object()])
def test_a_value_that_no_strict_json_spells_does_not_fit(value: Any) -> None:
    action = copy.deepcopy(ACTIONS[MADE[0]]["expected"]["action"])
    action["stateEnvelope"]["known_state"]["odd"] = value
    with pytest.raises(InputError) as caught:
        action_digest(action)
    assert caught.value.code is Reason.ACTION_SCHEMA_INVALID


def test_the_profile_of_an_action_takes_no_form() -> None:
    assert DHARMA_TASK_ACTION.recognise(ACTIONS[MADE[0]]["expected"]["action"])
    assert DHARMA_TASK_ACTION.form == "digest"
    assert not any(map(DHARMA_TASK_ACTION.has_form, ("embedded", "jws", "jws-detached", "digest")))

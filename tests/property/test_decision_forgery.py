"""No decision, action or decided task with anything changed passes, and none raises."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import VECTORS, load, new_signer, pins_of

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError
from taskseal.profiles import Acknowledgement, action_digest, task_action
from taskseal.verify import Accepted, Refused, Verifier

AT = "2026-08-17T20:00:00Z"
RECEIPT = "dharma.action-decision-receipt/v1"
JUDGE = new_signer("decisions/1", profiles=[RECEIPT], at=AT)
TASK_KEY = new_signer("tasks/1", profiles=["dharma.task/v1"], at=AT)
VERIFIER = Verifier(pins_of(JUDGE, TASK_KEY))


def decided_task() -> dict[str, Any]:
    """The peer's hand-over with a decision, signed by keys of our own."""
    (vector,) = [
        vector
        for vector in load(VECTORS / "dharma/receipts.json")["vectors"]
        if vector["name"] == "embedded-a2a-release"
    ]
    task: dict[str, Any] = vector["input"] | {"signerKeyVersion": "tasks/1"}
    del task["signature"]
    decision = task["actionDecision"]
    receipt = decision["receipt"] | {"keyVersion": "decisions/1"}
    task["actionDecision"] = decision | {
        "receipt": receipt,
        "keyVersion": "decisions/1",
        "signature": b64url_encode(JUDGE.sign(canonicalise(receipt))),
    }
    return task


TASK = decided_task()
DECISION = TASK["actionDecision"]
TEXT = canonicalise(DECISION)
ACTION = task_action(TASK, DECISION["receipt"]["actionId"])
ACTION_TEXT = canonicalise(ACTION)


def check(text: bytes, action: Any = ACTION) -> Accepted | Refused:
    return VERIFIER.check(text, profile=RECEIPT, context={"dharma": {"action": action}}, at=AT)


def check_task(task: dict[str, Any]) -> Accepted | Refused:
    signature = b64url_encode(TASK_KEY.sign(canonicalise(task)))
    return VERIFIER.check(canonicalise(task | {"signature": signature}), at=AT)


def value_of(data: bytes) -> Any:
    try:
        return parse(data).value
    except InputError:
        return None


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every member and item below ``value``."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in inner:
        yield (*path, name)
        if isinstance(item, dict | list):
            yield from places(item, (*path, name))


def changed(value: Any, path: tuple[str | int, ...], item: Any) -> Any:
    copied = copy.deepcopy(value)
    here = copied
    for token in path[:-1]:
        here = here[token]
    if item is ...:
        del here[path[-1]]
    else:
        here[path[-1]] = item
    return copied


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
ITEM = JSON | st.just(...)


def test_the_untouched_ones_are_accepted() -> None:
    assert isinstance(check(TEXT), Accepted)
    assert isinstance(check_task(TASK), Accepted)


@given(st.integers(0, len(TEXT) * 8 - 1))
def test_a_decision_with_a_bit_flipped_is_refused(bit: int) -> None:
    text = flipped(TEXT, bit)
    verdict = check(text)
    # Another spelling of the same value is no change.
    assert isinstance(verdict, Refused) or value_of(text) == value_of(TEXT)


@given(st.integers(0, len(ACTION_TEXT) * 8 - 1))
def test_an_action_with_a_bit_flipped_refuses_its_decision(bit: int) -> None:
    action = value_of(flipped(ACTION_TEXT, bit))
    if isinstance(action, dict):
        verdict = check(TEXT, action)
        assert isinstance(verdict, Refused) or action == value_of(ACTION_TEXT)


@pytest.mark.parametrize("path", list(places(DECISION)), ids=lambda path: "/".join(map(str, path)))
def test_a_decision_without_any_one_member_is_refused(path: tuple[str | int, ...]) -> None:
    assert isinstance(check(canonicalise(changed(DECISION, path, ...))), Refused)


@given(st.sampled_from(list(places(DECISION))), ITEM)
def test_a_decision_with_one_member_changed_is_refused(
    path: tuple[str | int, ...], item: Any
) -> None:
    text = json.dumps(changed(DECISION, path, item)).encode()
    verdict = check(text)
    assert isinstance(verdict, Refused) or value_of(text) == value_of(TEXT)


@given(st.sampled_from(list(places(ACTION))), ITEM)
def test_an_action_with_one_member_changed_refuses_its_decision(
    path: tuple[str | int, ...], item: Any
) -> None:
    action = changed(ACTION, path, item)
    verdict = check(TEXT, action)
    assert isinstance(verdict, Refused) or canonicalise(action) == ACTION_TEXT


BOUND = [path for path in places(TASK) if path[0] in ACTION or path[0] == "actionDecision"]


@given(st.sampled_from(BOUND), ITEM)
def test_a_task_changed_in_what_was_decided_is_refused_though_signed_anew(
    path: tuple[str | int, ...], item: Any
) -> None:
    task = changed(TASK, path, item)
    try:
        verdict = check_task(task)
    except InputError:
        return  # what has no canonical form cannot be signed anew
    assert isinstance(verdict, Refused) or canonicalise(task) == canonicalise(TASK)


@given(st.dictionaries(st.sampled_from([*DECISION, "extra"]), JSON), JSON)
def test_nothing_at_all_makes_a_decision_raise(decision: dict[str, Any], action: Any) -> None:
    text = json.dumps(decision).encode()
    given_action = action if isinstance(action, dict) else {"schema": action}
    for context in ({"action": given_action}, {"task": given_action | {"target": action}}):
        verdict = VERIFIER.check(text, profile=RECEIPT, context={"dharma": context}, at=AT)
        assert isinstance(verdict, Refused)


@given(JSON)
def test_actions_and_acknowledgements_of_anything_are_input_errors(value: Any) -> None:
    if isinstance(value, dict):
        with pytest.raises(InputError):
            action_digest(value)
    with pytest.raises(InputError):
        Acknowledgement.read(value)

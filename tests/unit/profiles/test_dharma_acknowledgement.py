"""Acknowledgements: the peer's objects, and what they are held against."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.dharma import portability
from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.profiles import Acknowledgement, acknowledge, check_acknowledgement

DATA = Path(__file__).resolve().parents[2] / "vectors" / "dharma"
VECTORS = [
    vector
    for vector in json.loads((DATA / "acknowledgements.json").read_bytes())["vectors"]
    if vector["kind"] in ("acknowledgement", "acknowledgement-refresh")
]
(TASK,) = [
    vector["input"]
    for vector in json.loads((DATA / "receipts.json").read_bytes())["vectors"]
    if vector["name"] == "embedded-release"
]
KEY = "00000500-0000-4000-8000-000000000500"
RESULT = {"status": "failed", "commandResults": []}


def said(vector: dict[str, Any]) -> Acknowledgement:
    given = vector["input"]
    if vector["kind"] == "acknowledgement-refresh":
        return Acknowledgement.read(given).refreshed(vector["now"])
    return acknowledge(
        task_id=given["taskId"],
        endpoint_id=given["endpointId"],
        action_digest=given["actionDigest"],
        disposition=given["disposition"],
        external_idempotency_key=given["externalIdempotencyKey"],
        result=given["result"],
        at=vector["now"],
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_an_acknowledgement_is_the_peers_or_refused_as_there(vector: dict[str, Any]) -> None:
    expected = vector["expected"]
    if "throws" in expected:
        with pytest.raises(InputError) as caught:
            said(vector)
        assert (caught.value.code, caught.value.pointer) == (Reason.SCHEMA_INVALID, "/disposition")
        return
    assert said(vector).to_json() == expected.get("acknowledgement", expected)
    if "resultCanonical" in expected:
        assert canonicalise(vector["input"]["result"]).decode() == expected["resultCanonical"]


def test_the_vectors_hold_all_kinds() -> None:
    kinds = {(vector["kind"], "throws" in vector["expected"]) for vector in VECTORS}
    assert kinds == {
        ("acknowledgement", False),
        ("acknowledgement", True),
        ("acknowledgement-refresh", False),
    }


@pytest.fixture
def contained() -> Acknowledgement:
    return said(VECTORS[0])


def test_a_refresh_changes_the_time_alone(contained: Acknowledgement) -> None:
    later = contained.refreshed(datetime(2026, 8, 17, 20, 8, 0, 1999, tzinfo=UTC))
    assert later.acknowledged_at == "2026-08-17T20:08:00.001Z"
    assert later.to_json() | {"acknowledgedAt": contained.acknowledged_at} == contained.to_json()


def test_an_acknowledgement_is_read_back_as_it_was(contained: Acknowledgement) -> None:
    assert Acknowledgement.read(contained.to_json()) == contained


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("taskId", "urn:uuid:00000006-0000-4000-8000-000000000006"),
        ("endpointId", None),
        ("actionDigest", "sha256:" + "A" * 64),
        ("disposition", "done"),
        ("externalIdempotencyKeyHash", "sha256:" + "a" * 64),
        ("resultDigest", "a" * 64),
        ("acknowledgedAt", "2026-08-17T23:59:60Z"),
        ("acknowledgedAt", 1),
        ("extra", 1),
    ],
)
def test_a_member_of_another_shape_is_named(
    contained: Acknowledgement, member: str, value: Any
) -> None:
    with pytest.raises(InputError) as caught:
        Acknowledgement.read(contained.to_json() | {member: value})
    assert (caught.value.code, caught.value.pointer) == (Reason.SCHEMA_INVALID, f"/{member}")


@pytest.mark.parametrize("value", [None, [], "x", 1, {}])
def test_what_is_no_acknowledgement_is_refused(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        Acknowledgement.read(value)
    assert caught.value.code is Reason.SCHEMA_INVALID


def test_what_is_known_is_compared(contained: Acknowledgement) -> None:
    lines = list(
        check_acknowledgement(contained, task=TASK, external_idempotency_key=KEY, result=RESULT)
    )
    assert [line.result for line in lines] == ["passed"] * 5


def test_what_is_not_known_is_skipped(contained: Acknowledgement) -> None:
    assert {line.result for line in check_acknowledgement(contained)} == {"skipped"}
    bare = {name: item for name, item in TASK.items() if name != "actionDecision"}
    found = {line.check: line.result for line in check_acknowledgement(contained, task=bare)}
    assert (found["taskId"], found["actionDigest"]) == ("passed", "skipped")


def test_ids_compare_without_letter_case(contained: Acknowledgement) -> None:
    told = contained.to_json() | {"taskId": "00000abc-0000-4000-8000-000000000006"}
    task = TASK | {"taskId": told["taskId"].upper()}
    first = next(iter(check_acknowledgement(Acknowledgement.read(told), task=task)))
    assert first.result == "passed"


@pytest.mark.parametrize(
    ("known", "reason", "pointer"),
    [
        ({"task": TASK | {"taskId": KEY}}, Reason.BINDING_MISMATCH, "/taskId"),
        ({"task": {"taskId": 1}}, Reason.BINDING_MISMATCH, "/taskId"),
        ({"task": {"target": {"endpointId": KEY}}}, Reason.BINDING_MISMATCH, "/endpointId"),
        (
            {"task": {"actionDecision": {"actionDigest": "sha256:" + "0" * 64}}},
            Reason.BINDING_MISMATCH,
            "/actionDigest",
        ),
        (
            {"external_idempotency_key": KEY + "1"},
            Reason.DIGEST_MISMATCH,
            "/externalIdempotencyKeyHash",
        ),
        ({"result": RESULT | {"status": "completed"}}, Reason.DIGEST_MISMATCH, "/resultDigest"),
        ({"result": None}, Reason.DIGEST_MISMATCH, "/resultDigest"),
    ],
)
def test_what_contradicts_it_is_named(
    contained: Acknowledgement, known: dict[str, Any], reason: Reason, pointer: str
) -> None:
    failed = [line for line in check_acknowledgement(contained, **known) if line.result == "failed"]
    assert [(line.reason, line.pointer) for line in failed] == [(reason, pointer)]


def build(**members: Any) -> Acknowledgement:
    given = {
        "task_id": TASK["taskId"],
        "endpoint_id": TASK["target"]["endpointId"],
        "action_digest": TASK["actionDecision"]["actionDigest"],
        "disposition": "executed",
        "external_idempotency_key": "ключ",
        "result": RESULT,
        "at": "2026-08-17T20:00:00Z",
    }
    return acknowledge(**(given | members))


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"external_idempotency_key": "\ud800"}, Reason.LONE_SURROGATE),
        ({"result": {"n": 2**60}}, Reason.INTEGER_OUT_OF_RANGE),
        ({"result": {1: 2}}, Reason.UNSUPPORTED_TYPE),
        ({"result": {"a_b": 1, "ab": 2, "aB": 3}}, Reason.NOT_PORTABLE),
        ({"at": "yesterday"}, Reason.USAGE),
        ({"at": 10**30}, Reason.USAGE),
        ({"task_id": "x"}, Reason.SCHEMA_INVALID),
    ],
)
def test_what_cannot_be_said_is_the_callers_fault(members: dict[str, Any], code: Reason) -> None:
    with pytest.raises(InputError) as caught:
        build(**members)
    assert caught.value.code is code


def test_a_result_digested_in_dharmas_own_order_fits() -> None:
    result = {"a_b": 1, "ab": 2, "aB": 3}
    form = portability(result).form
    assert form is not None
    theirs = build().to_json() | {"resultDigest": Digest.of(form).text("sha256:hex")}
    *_, last = check_acknowledgement(Acknowledgement.read(theirs), result=result)
    assert last.result == "passed"
    ours = build(result=result, allow_divergent=True)
    *_, last = check_acknowledgement(ours, result=result)
    assert last.result == "passed"
    *_, last = check_acknowledgement(build(), result={"é": 1, "b": 2})
    assert last.reason is Reason.NOT_PORTABLE

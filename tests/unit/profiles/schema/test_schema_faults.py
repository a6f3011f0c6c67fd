"""Which of many faults is named, where, and in what words."""

from __future__ import annotations

import copy
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from taskseal.profiles.schema import Schema, SchemaFault
from taskseal.profiles.schema.check import DEEPEST
from taskseal.profiles.schema.visit import WIDEST
from taskseal.profiles.schema.words import LONGEST, fault_of, show

AISA = Schema.named("aisa.message.v1")
TASK = Schema.named("dharma.task.v1")
TURN = Schema.named("orbiplex.turn-request.v1")
LABEL = Schema.named("orbiplex.classification.v1")
CONTEXT = Schema.named("taskseal.context.v1")


@pytest.fixture
def spawn(vectors: Path) -> dict[str, Any]:
    return read(vectors / "samples/aisa/spawn.json")


@pytest.fixture
def turn(vectors: Path) -> dict[str, Any]:
    return read(vectors / "samples/orbiplex/start.json")


@pytest.fixture
def task(vectors: Path) -> dict[str, Any]:
    for vector in read(vectors / "dharma/task-envelopes.json")["vectors"]:
        if vector["name"] == "task-evaluation-retest-full":
            found: dict[str, Any] = vector["input"].get("task", vector["input"])
            return found
    raise AssertionError


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def named(schema: Schema, value: Any) -> SchemaFault:
    fault = schema.fault(value)
    assert fault is not None
    return fault


def where(document: dict[str, Any], value: Any) -> str:
    return named(Schema.user(document, "test"), value).pointer


def test_a_missing_member_is_named_by_its_own_pointer(task: dict[str, Any]) -> None:
    del task["nonce"]
    fault = named(TASK, task)
    assert fault == ("/nonce", 'the member "nonce" is missing')


def test_a_surplus_member_is_named_by_its_own_escaped_pointer(turn: dict[str, Any]) -> None:
    turn["a/b~c"] = 1
    assert named(TURN, turn) == ("/a~1b~0c", 'no member "a/b~c" belongs here')


def test_a_missing_member_comes_before_a_surplus_one_and_that_before_a_wrong_value(
    task: dict[str, Any],
) -> None:
    task["taskId"] = 1
    assert named(TASK, task).pointer == "/taskId"
    task["extra"] = 1
    assert named(TASK, task).pointer == "/extra"
    del task["nonce"]
    assert named(TASK, task).pointer == "/nonce"


def test_the_shallowest_fault_is_named(task: dict[str, Any]) -> None:
    del task["target"]["deviceId"]
    assert named(TASK, task).pointer == "/target/deviceId"
    task["taskId"] = 1
    assert named(TASK, task).pointer == "/taskId"


def test_of_equals_the_first_in_schema_order_is_named(task: dict[str, Any]) -> None:
    del task["nonce"], task["createdAt"], task["workspaceId"]
    assert named(TASK, task).pointer == "/workspaceId"
    assert where({"items": {"type": "string"}}, ["a", 1, 2]) == "/1"


def test_the_order_in_which_members_are_sent_changes_nothing(task: dict[str, Any]) -> None:
    task |= {"zeta": 1, "alpha": 1}
    assert named(TASK, task).pointer == "/alpha"
    assert named(TASK, dict(reversed(task.items()))).pointer == "/alpha"


def test_a_member_that_selects_the_branch_is_the_one_fault_when_it_is_missing_or_unknown(
    spawn: dict[str, Any], turn: dict[str, Any]
) -> None:
    del spawn["case_id"]
    spawn["type"] = "Handshake"
    assert named(AISA, spawn).pointer == "/type"
    del spawn["type"]
    assert named(AISA, spawn).pointer == "/type"
    del turn["mode"], turn["kind"]
    assert named(TURN, turn).pointer == "/mode"


def test_a_wrong_payload_is_named_in_the_branch_of_its_type(spawn: dict[str, Any]) -> None:
    spawn["payload"]["budget_minutes"] = -1
    assert named(AISA, spawn) == ("/payload/budget_minutes", "-1 is less than 0")
    spawn["payload"] = {"reason": "done", "fence_epoch": 1}
    assert named(AISA, spawn).pointer == "/payload/kind"
    spawn["payload"] = "text"
    assert named(AISA, spawn) == ("/payload", 'an object belongs here, not "text"')


def test_a_plan_lacks_its_artefact_and_a_consult_its_deadline(vectors: Path) -> None:
    plan = read(vectors / "samples/aisa/plan.json")
    del plan["artefact"]
    assert named(AISA, plan).pointer == "/artefact"
    consult = read(vectors / "samples/aisa/consult.json")
    del consult["deadline"]
    assert named(AISA, consult).pointer == "/deadline"


def test_an_input_part_is_looked_at_as_the_kind_that_it_names(turn: dict[str, Any]) -> None:
    turn["input/parts"][0] = {"kind": "text", "text": ""}
    assert named(TURN, turn).pointer == "/input~1parts/0/text"
    turn["input/parts"][0] = {"kind": "artifact", "text": "x"}
    assert named(TURN, turn).pointer == "/input~1parts/0/artifact~1ref"
    turn["input/parts"][0] = {"kind": "video", "text": "x"}
    assert named(TURN, turn) == (
        "/input~1parts/0/kind",
        '"video" is not one of "text", "artifact"',
    )
    turn["input/parts"][0] = {"text": "x"}
    assert named(TURN, turn).pointer == "/input~1parts/0/kind"
    turn["input/parts"][0] = "x"
    assert named(TURN, turn).pointer == "/input~1parts/0"


def test_a_skill_bundle_is_an_object_or_null(task: dict[str, Any]) -> None:
    task["skillBundle"] = {"bundleId": "x", "bundleHash": "y"}
    assert named(TASK, task).pointer == "/skillBundle/bundleId"
    task["skillBundle"] = "none"
    assert named(TASK, task) == ("/skillBundle", 'null or an object belongs here, not "none"')


def test_an_instant_that_cannot_be_read_says_so_first(
    task: dict[str, Any], spawn: dict[str, Any]
) -> None:
    for wrong in ("2026-08-17T20:20:00", "2016-12-31T23:59:60Z", 1787000000, None, ["x"]):
        task["expiresAt"] = wrong
        fault = named(TASK, task)
        assert fault.pointer == "/expiresAt"
        assert fault.detail.startswith("time_malformed: ")
    spawn["occurred_on"] = "next Tuesday"
    assert named(AISA, spawn).detail.startswith('time_malformed: "next Tuesday"')


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"source_tier": "Public"}, "/effective_tier"),
        ({"source_tier": "Community", "effective_tier": "Personal"}, "/effective_tier"),
        ({"effective_tier": "Public"}, "/bound_subjects/public_projection"),
        ({"effective_tier": "Secret"}, "/effective_tier"),
        (
            {"bound_subjects": {"public_projection": {"subject_set_hash": "a" * 64, "count": 1}}},
            "/bound_subjects/personal_or_community",
        ),
        (
            {
                "bound_subjects": {
                    "personal_or_community": [],
                    "public_projection": {"subject_set_hash": "a" * 64, "count": 1},
                }
            },
            "/bound_subjects/public_projection",
        ),
        ({"provenance": {"kind": "derived", "parents": ["a"]}}, "/provenance/parents"),
        ({"provenance": {"kind": "ingress", "space": "Public"}}, "/provenance/surface"),
        ({"provenance": {"kind": "elsewhere"}}, "/provenance/kind"),
        ({"quarantine": {"reason": "operator-hold"}}, "/quarantine/entered_at"),
        ({"note": ""}, "/note"),
    ],
)
def test_a_classification_that_contradicts_its_tiers_is_named(
    turn: dict[str, Any], change: dict[str, Any], pointer: str
) -> None:
    label = {**turn["classification"], **change}
    assert named(LABEL, label).pointer == pointer
    turn["classification"] = label
    assert named(TURN, turn).pointer == "/classification" + pointer


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({}, None),
        ({"from": "Personal", "to": "Public"}, "/to"),
        ({"from": "Community", "to": "Community"}, "/to"),
        ({"from": "Public"}, "/from"),
        ({"expires_at": "2026-09-02T00:00:00Z"}, "/expires_at"),
        ({"mode": {"kind": "persistent-for-topic-class", "ttl_seconds": 60}}, "/expires_at"),
        (
            {
                "mode": {"kind": "persistent-for-topic-class", "ttl_seconds": 60},
                "expires_at": "2026-09-02T00:00:00Z",
            },
            None,
        ),
        (
            {"mode": {"kind": "persistent-for-topic-class"}, "expires_at": "2026-09-02T00:00:00Z"},
            "/mode/ttl_seconds",
        ),
        ({"mode": {"kind": "sometimes"}}, "/mode/kind"),
        ({"caller": {"passport_ref": "p", "role": "A3"}}, "/caller/role"),
    ],
)
def test_a_declassification_steps_one_tier_and_expires_as_its_mode_says(
    turn: dict[str, Any], change: dict[str, Any], pointer: str | None
) -> None:
    fact = {
        "fact_id": "f1",
        "topic_class": "rows",
        "rationale": "agreed",
        "correlation_id": "c1",
        "from": "Personal",
        "to": "Community",
        "surface": "export",
        "mode": {"kind": "one-shot"},
        "caller": {"passport_ref": "p1", "role": "A1"},
        "issued_at": "2026-09-01T00:00:00Z",
        **change,
    }
    label = {**turn["classification"], "declassify_trail": [fact]}
    fault = LABEL.fault(label)
    assert (fault and fault.pointer) == (pointer and "/declassify_trail/0" + pointer)


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"unknown": 1}, "/unknown"),
        ({"now": "yesterday"}, "/now"),
        ({"aisa": {"parents": {}}}, "/aisa/parents"),
        ({"aisa": {"parent": {"grants": ["g"], "left": 1}}}, "/aisa/parent/left"),
        ({"aisa": {"requester_remaining_minutes": -1}}, "/aisa/requester_remaining_minutes"),
        ({"aisa": {"last_fence_epoch": {"t/1": -1}}}, "/aisa/last_fence_epoch/t~11"),
        ({"aisa": {"known_types_versions": {"Plan": [0]}}}, "/aisa/known_types_versions/Plan/0"),
        ({"orbiplex": {"binding": ""}}, "/orbiplex/binding"),
        ({"orbiplex": {"binding": {}}}, "/orbiplex/binding/schema"),
        ({"orbiplex": {"seen_idempotency": {"k": "x"}}}, "/orbiplex/seen_idempotency/k"),
        ({"dharma": {"action": {}, "task": {}}}, "/dharma"),
        ({"dharma": {"receipt": {}}}, "/dharma/receipt"),
        ([], ""),
    ],
)
def test_a_context_file_is_closed_and_every_fault_in_it_is_named(value: Any, pointer: str) -> None:
    assert named(CONTEXT, value).pointer == pointer


def test_a_context_may_know_nothing_or_little() -> None:
    for value in (
        {},
        {"aisa": {"parent": {}}},
        {"aisa": {"parent": {"grants": [], "remaining_minutes": 1.5}}},
        {"dharma": {"task": {}}},
        {"orbiplex": {"binding": "binding.json"}},
    ):
        assert CONTEXT.fault(value) is None


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"type": ["string", "null"]}, 1, ("", "a string or null belongs here, not 1")),
        ({"const": 1}, 2, ("", "1 belongs here, not 2")),
        ({"minLength": 2}, "\U0001f600", ("", "1 characters are fewer than 2")),
        ({"maxLength": 1}, "ab", ("", "2 characters are more than 1")),
        ({"exclusiveMinimum": 1}, 1, ("", "1 is not more than 1")),
        ({"exclusiveMaximum": 1}, 1, ("", "1 is not less than 1")),
        ({"maximum": 1}, 1.5, ("", "1.5 is more than 1")),
        ({"multipleOf": 2}, 3, ("", "3 is not a multiple of 2")),
        ({"minItems": 1}, [], ("", "0 items are fewer than 1")),
        ({"uniqueItems": True}, [1, 1.0], ("", "an item stands in the array twice")),
        ({"minProperties": 1}, {}, ("", "0 members are fewer than 1")),
        ({"maxProperties": 0}, {"a": 1}, ("", "1 members are more than 0")),
        ({"format": "email"}, "x", ("", '"x" is no email')),
        ({"format": "uuid"}, "x", ("", '"x" is not a UUID of 36 characters')),
        ({"properties": {"a": False}}, {"a": 1}, ("/a", 'no member "a" belongs here')),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, ("/b", 'no member "b" belongs here')),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ("/b", 'the member "b" is missing')),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, ("/b", 'the member "b" is missing')),
        ({"if": True, "then": {"required": ["b"]}}, {}, ("/b", 'the member "b" is missing')),
        ({"not": {"type": "string"}}, "x", ("", '"x" is what may not stand here')),
        ({"not": {"required": ["a"]}}, 3, ("", "3 is what may not stand here")),
        ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, ("", "3 fits 2 forms at once; exactly one is meant")),
        ({"anyOf": [{"minimum": 2}, {"minimum": 3}]}, 1, ("", "1 fits none of the 2 forms that may stand here")),
        ({"anyOf": [{"minimum": 2}, {"type": "string"}]}, 1, ("", "1 is less than 2")),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "null"}}, ["a", 1], ("/1", "null belongs here, not 1")),
        ({"prefixItems": [{"type": "string"}]}, [1], ("/0", "a string belongs here, not 1")),
        ({"items": False}, [1], ("/0", "no member 0 belongs here")),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], ("", "too few or too many items are of the kind that is asked for")),
        ({"patternProperties": {"^a": {"type": "null"}}, "additionalProperties": False}, {"a": None, "b": 1}, ("/b", 'no member "b" belongs here')),
        ({"patternProperties": {"^a": {"type": "null"}}}, {"a": 1}, ("/a", "null belongs here, not 1")),
        ({"additionalProperties": {"type": "null"}}, {"a": 1}, ("/a", "null belongs here, not 1")),
        # What the search leaves to the engine.
        ({"properties": {"a": True}, "unevaluatedProperties": False}, {"b": 1, "a": 1}, ("/b", 'no member "b" belongs here')),
        ({"$ref": "#x", "$defs": {"x": {"$anchor": "x", "required": ["a"]}}}, {}, ("/a", 'the member "a" is missing')),
        ({"$ref": "#x", "$defs": {"x": {"$anchor": "x", "type": "null"}}}, 1, ("", "null belongs here, not 1")),
        ({"$ref": "#x", "$defs": {"x": {"$anchor": "x", "unevaluatedItems": False}}}, [1], ("", "an array of 1 breaks the rule unevaluatedItems")),
        ({"$ref": "#x", "$defs": {"x": {"$anchor": "x", "if": True, "then": False}}}, 1, ("", "1 breaks the rule falseSchema")),
        (
            {"$defs": {"d": {"$id": "inner", "properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "null"}}}}, "$ref": "inner"},
            {"a": 1},
            ("/a", "null belongs here, not 1"),
        ),
    ],
)  # fmt: skip
def test_every_rule_is_named_in_a_sentence(
    schema: dict[str, Any], value: Any, fault: tuple[str, str]
) -> None:
    assert Schema.user(schema, "test").fault(value) == fault


def test_a_branch_is_selected_by_members_that_every_branch_fixes() -> None:
    branches = {
        "oneOf": [
            {"properties": {"op": {"const": "add"}, "n": {"type": "integer"}}, "required": ["op"]},
            {"properties": {"op": {"enum": ["del", "rm"]}, "path": {"type": "string"}}, "required": ["op", "path"]},
        ]
    }  # fmt: skip
    assert where(branches, {"op": "add", "n": "x"}) == "/n"
    assert where(branches, {"op": "rm"}) == "/path"
    assert where(branches, {"op": "mv"}) == "/op"
    assert where(branches, {"n": 1}) == "/op"
    named_branches = {"$defs": dict(zip("ab", branches["oneOf"], strict=True))}
    named_branches["anyOf"] = [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]  # type: ignore[assignment]
    assert where(named_branches, {"op": "rm"}) == "/path"


def test_hostile_text_is_shortened_and_escaped() -> None:
    fault = named(Schema.user({"enum": ["a" * 500, "b"]}, "test"), "\x1b[31m\u202e" + "c" * 10**6)
    assert fault.detail.isascii() or "…" in fault.detail
    assert fault.detail.isprintable()
    assert len(fault.detail) < 4 * LONGEST
    assert "\\u001b[31m\\u202e" in fault.detail


def test_only_a_short_piece_of_a_value_is_shown() -> None:
    for value in ("x" * 1000, "\0" * 1000, "é" * 1000, 10**10000, -1e300, {"a": "b"}, [1] * 10**5):
        assert len(show(value)) <= LONGEST
    assert show(True) == "true"
    assert show(None) == "null"
    assert show(b"x") == "a Python bytes"
    assert show("x" * 1000).endswith('x…"')
    assert fault_of("type", "string", object()) == "a string belongs here, not a Python object"
    assert fault_of("minLength", 1, object()) == "a JSON value belongs here, not a Python object"


def deep(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize("schema", [AISA, TASK, TURN, LABEL, CONTEXT], ids=lambda s: s.source)
def test_no_value_makes_it_raise(schema: Schema) -> None:
    bottomless = deep(100_000, 1)
    names = [*schema.document["properties"]]
    values: list[Any] = [
        bottomless,
        *(dict.fromkeys(names, inner) for inner in (bottomless, 10**5000, "\ud800", object())),
        None, 1, 1.5, float("nan"), 10**5000, "\ud800", {"\ud800": 1}, {1: 2}, b"x", (1,), object(),
    ]  # fmt: skip
    for value in values:
        assert isinstance(schema.fault(value), SchemaFault)


def test_deep_content_where_anything_may_stand_is_not_looked_at(vectors: Path) -> None:
    for vector in read(vectors / "dharma/task-envelopes.json")["vectors"]:
        task = vector["input"].get("task", vector["input"])
        if vector["name"] == "task-a2a-handoff-unicode-floats":
            task["stateEnvelope"]["known_state"]["x"] = deep(100_000, 1)
            assert TASK.fault(task) is None
            return
    raise AssertionError


def test_a_recursive_schema_takes_no_deeper_value_than_the_reader_lets_in() -> None:
    tree = Schema.user({"type": "array", "items": {"$ref": "#"}}, "test")
    assert tree.fault(deep(DEEPEST - 1, [])) is None
    assert named(tree, deep(DEEPEST, [])).pointer == ""
    assert named(tree, deep(100_000, [])).pointer == ""
    assert named(tree, deep(DEEPEST - 1, 3)).pointer == "/0" * (DEEPEST - 1)
    endless: list[Any] = []
    endless += [endless, endless]
    assert named(tree, endless).pointer == ""


def test_what_a_schema_cannot_read_is_said(turn: dict[str, Any]) -> None:
    plain = Schema.user({"type": "object"}, "test")
    assert named(plain, {1: 2}).pointer == ""
    assert "no JSON value" in named(plain, {1: 2}).detail
    turn["turn/ref"] = "\ud800"
    assert named(TURN, turn).pointer == "/turn~1ref"


def test_a_million_faults_name_the_first(spawn: dict[str, Any], turn: dict[str, Any]) -> None:
    spawn["payload"]["denied_context"] = [1] * 50_000
    assert named(AISA, spawn).pointer == "/payload/denied_context/0"
    spawn["payload"]["denied_context"] = ["x"] * 50_000 + [1]
    assert named(AISA, spawn).pointer == "/payload/denied_context/50000"
    turn["parent-product/refs"] = ["a"] * 1_000_000
    assert named(TURN, turn).pointer == "/parent-product~1refs"
    turn |= {f"x{n}": 1 for n in range(200_000)}
    assert named(TURN, turn).pointer == "/x0"


def test_places_beyond_the_widest_are_left_out_without_harm() -> None:
    schema = Schema.user({"items": {"required": ["a"], "properties": {"b": {"type": "null"}}}}, "t")
    rows = [{"a": 1, "b": 1} for _ in range(WIDEST + 10)] + [{}]
    assert named(schema, rows).pointer == "/0/b"
    assert named(schema, rows[-5:]).pointer == "/4/a"


def test_a_schema_serves_many_threads_at_once(spawn: dict[str, Any]) -> None:
    schema = Schema.user({"$ref": AISA.document["$id"], "required": ["priority"]}, "test")
    wrong = copy.deepcopy(spawn)
    wrong["payload"]["task_text"] = ""
    pointers: list[str] = []

    def run() -> None:
        for _ in range(50):
            pointers.append(named(schema, spawn).pointer)
            pointers.append(named(AISA, wrong).pointer)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert set(pointers) == {"/priority", "/payload/task_text"}
    assert len(pointers) == 800

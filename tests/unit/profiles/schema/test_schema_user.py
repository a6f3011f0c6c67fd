"""Users' own schemas: what is taken, and what fails when it is loaded."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from taskseal.errors import MaterialError, Reason
from taskseal.profiles.schema import Schema
from taskseal.profiles.schema.catalogue import NAMES

TASK = "https://schemas.dharma-ai.io/task/v1"
DIGEST = "urn:orbiplex:schema:agent.external-runtime.turn-request:v1#/$defs/digest"


def refused(document: Any) -> MaterialError:
    with pytest.raises(MaterialError) as caught:
        Schema.user(document, "mine.json")
    assert caught.value.code is Reason.PROFILE_MALFORMED
    assert caught.value.detail.startswith("mine.json: ")
    assert caught.value.hint
    return caught.value


def test_formats_are_asserted(vectors: Path) -> None:
    case = vectors / "cases/45-format-asserted"
    schema = Schema.user(json.loads((case / "schema.json").read_bytes()), "schema.json")
    items = json.loads((case / "expected.json").read_bytes())["items"]
    assert items
    for item in items:
        fault = schema.fault(json.loads((case / item["file"]).read_bytes()))
        assert (fault is None) == (item["expect"] == "accept"), item["file"]
        if fault is not None:
            assert fault.pointer == ("/id" if item["file"] == "bad-uuid.json" else "/at")


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ([], ""),
        (True, ""),
        (None, ""),
        ({1: 2}, ""),
        ({"const": datetime.date(2026, 9, 1)}, "/const"),
        ({"title": "\ud800"}, "/title"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema"),
        ({"$schema": "https://example.com/mine"}, "/$schema"),
        ({"$schema": 3}, "/$schema"),
        ({"$defs": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}, "/$defs/a/$schema"),
        ({"type": "strin"}, "/type"),
        ({"properties": {"a/b": {"minLength": -1}}}, "/properties/a~1b/minLength"),
        ({"items": [{}]}, "/items"),
        ({"allOf": []}, "/allOf"),
        ({"required": "a"}, "/required"),
        ({"format": "no-such"}, "/format"),
        ({"$defs": {"a": {"format": "dat-time"}}}, "/$defs/a/format"),
    ],
)  # fmt: skip
def test_what_is_no_2020_12_schema_fails_at_load_with_its_place(
    document: Any, pointer: str
) -> None:
    assert refused(document).pointer == pointer


def test_a_schema_nested_too_deep_fails_at_load() -> None:
    document: dict[str, Any] = {}
    for _ in range(5000):
        document = {"items": document}
    assert "128" in refused(document).detail
    cyclic: dict[str, Any] = {}
    cyclic["items"] = cyclic
    assert "128" in refused(cyclic).detail


@pytest.mark.parametrize(
    "place",
    [
        ("pattern",),
        ("properties", "a", "pattern"),
        ("$defs", "a", "items", "pattern"),
        ("allOf", 1, "not", "if", "then", "else", "pattern"),
        ("definitions", "a", "contains", "pattern"),
        ("dependentSchemas", "a", "propertyNames", "pattern"),
        ("prefixItems", 0, "unevaluatedItems", "pattern"),
        ("patternProperties", "^a", "additionalProperties", "pattern"),
        ("anyOf", 0, "unevaluatedProperties", "contentSchema", "oneOf", 0, "pattern"),
    ],
)
def test_look_around_is_found_wherever_a_schema_may_stand(place: tuple[str | int, ...]) -> None:
    document: Any = "^(?=a)"
    for token in reversed(place):
        document = [{}] * token + [document] if isinstance(token, int) else {token: document}
    pointer = "".join(f"/{token}" for token in place)
    assert refused(document).pointer == pointer


def test_text_that_only_looks_like_a_schema_is_left_alone() -> None:
    document = {
        "const": {"pattern": "(?=a)", "$ref": "https://example.com/", "format": "no-such"},
        "enum": [{"$id": TASK}],
        "default": {"$ref": "https://example.com/"},
        "examples": [{"pattern": "("}],
    }
    assert Schema.user(document, "mine.json").fault(1) is not None


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/other",
        "http://127.0.0.1:1/x",
        "file:///etc/hostname",
        "other.json",
        "../other.json",
        "#/$defs/none",
        "#none",
        "#/allOf/9",
        TASK + "#/$defs/none",
        TASK + "/",
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
        "urn:nobody",
        "http://[",
        "%zz",
        "#%zz",
        " ",
        "\0",
        "#/properties/é",
    ],
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_that_leads_elsewhere_fails_at_load(keyword: str, reference: str) -> None:
    document = {"allOf": [{}], "$defs": {"a": {keyword: reference}}}
    assert refused(document).pointer == f"/$defs/a/{keyword}"


@pytest.mark.parametrize(
    ("document", "good", "bad"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, None, 1),
        ({"$ref": "#/%24defs/a~1b%25", "$defs": {"a/b%": {"type": "null"}}}, None, 1),
        ({"$ref": "#a", "$defs": {"x": {"$anchor": "a", "type": "null"}}}, None, 1),
        ({"$ref": DIGEST}, "sha256:" + "A" * 43, "sha256:"),
        ({"properties": {"t": {"$ref": TASK}}}, {}, {"t": {}}),
        ({"$id": "https://example.com/a", "items": {"$ref": "https://example.com/a#/$defs/b"}, "$defs": {"b": {"type": "null"}}}, [None], [1]),
        ({"$id": "https://example.com/a", "items": {"$ref": "b"}, "$defs": {"b": {"$id": "b", "type": "null"}}}, [None], [1]),
        ({"items": {"$ref": "b"}, "$defs": {"b": {"$id": "b", "type": "null"}}}, [None], [1]),
        ({"$dynamicAnchor": "n", "type": "array", "items": {"$dynamicRef": "#n"}}, [[]], [1]),
        ({"type": "array", "items": {"$ref": "#"}}, [[]], [1]),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "null"}, None, 1),
    ],
)  # fmt: skip
def test_references_into_the_document_and_the_shipped_schemas_hold(
    document: dict[str, Any], good: Any, bad: Any
) -> None:
    schema = Schema.user(document, "mine.json")
    assert schema.fault(good) is None
    assert schema.fault(bad) is not None


def test_a_reference_to_itself_alone_says_nothing_and_does_no_harm() -> None:
    assert Schema.user({"$ref": "#"}, "mine.json").fault(1) is None
    assert Schema.user({"allOf": [{"$ref": "#"}], "type": "null"}, "m").fault(1) is not None


@pytest.mark.parametrize(
    "name",
    [
        TASK,
        TASK + "#",
        "https://json-schema.org/draft/2020-12/schema",
        "http://[",
        "a b",
        "%zz",
        "\0",
    ],
)
@pytest.mark.parametrize("place", [(), ("$defs", "a")])
def test_a_name_that_is_taken_or_no_uri_fails_at_load(name: str, place: tuple[str, ...]) -> None:
    document: dict[str, Any] = {"$id": name, "type": "null"}
    for token in reversed(place):
        document = {token: document}
    assert refused(document).pointer == "".join(f"/{token}" for token in (*place, "$id"))


def test_one_name_for_two_schemas_fails_at_load() -> None:
    twice = {
        "a": {"$id": "https://example.com/a"},
        "b": {"$id": "https://example.com/a", "type": "null"},
    }
    assert refused({"$defs": twice}).pointer in ("/$defs/a/$id", "/$defs/b/$id")


def test_a_document_may_be_changed_after_it_was_loaded() -> None:
    document: dict[str, Any] = {"properties": {"a": {"type": "null"}}}
    schema = Schema.user(document, "mine.json")
    document["properties"]["a"] = {"type": "string"}
    assert schema.fault({"a": None}) is None
    assert schema.document == {"properties": {"a": {"type": "null"}}}


@pytest.mark.parametrize("name", NAMES)
def test_a_stricter_schema_may_build_on_a_shipped_one(name: str) -> None:
    uri = Schema.named(name).document["$id"]
    ceiling = Schema.user({"$ref": uri, "maxProperties": 0}, "ceiling.json")
    assert ceiling.fault({"a": 1}) is not None


def test_every_shipped_schema_would_be_taken_from_a_user_too() -> None:
    for name in NAMES:
        document = {**Schema.named(name).document, "$id": f"https://example.com/{name}"}
        assert Schema.user(document, name).fault([]) is not None

"""Altered envelopes, and what several validators say of them.

Two ways to alter: at random, and by walking through an envelope beside its schema and trying
both sides of every rule that is met (:func:`probes`).
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from support import SAMPLES, VECTORS, load

from taskseal.profiles.schema import Schema
from taskseal.profiles.schema.catalogue import NAMES, Catalogue, Node
from taskseal.profiles.schema.formats import FORMATS

SEEDS = {
    "aisa.message.v1": "aisa-message-envelope.schema.json",
    "dharma.task.v1": "dharma-task-envelope.schema.json",
    "orbiplex.turn-request.v1": "orbiplex-turn-request.schema.json",
}
"""The families, and the file of each published schema."""

Verdict = Callable[[Any], bool]
Path_ = tuple[str | int, ...]

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Python's `$` matches before a final line feed; its `\s` lacks U+FEFF and has U+0085.
NOT_FOR_PYTHON = re.compile("[\n\ufeff\x85]")

LABEL: dict[str, Any] = {
    "schema": "classification.v1",
    "source_tier": "Personal",
    "effective_tier": "Public",
    "provenance": {"kind": "derived", "parents": ["a", "b"]},
    "bound_subjects": {
        "public_projection": {
            "subject_set_hash": "0" * 64,
            "count": 2,
            "redacted_refs": [{"kind": "nym", "role_hint": "author"}],
        }
    },
    "declassify_trail": [
        {
            "fact_id": "f1",
            "topic_class": "rows",
            "rationale": "agreed",
            "correlation_id": "c1",
            "from": "Personal",
            "to": "Community",
            "surface": "export",
            "mode": {"kind": "one-shot", "consumed_at": "2026-09-01T08:00:00Z"},
            "caller": {"passport_ref": "p1", "role": "A1"},
            "issued_at": "2026-09-01T08:00:00Z",
        },
        {
            "fact_id": "f2",
            "topic_class": "rows",
            "rationale": "agreed",
            "correlation_id": "c1",
            "from": "Community",
            "to": "Public",
            "surface": "bus",
            "mode": {"kind": "persistent-for-topic-class", "ttl_seconds": 60},
            "caller": {"passport_ref": "p1", "role": "A0"},
            "issued_at": "2026-09-01T08:00:00Z",
            "expires_at": "2026-09-02T08:00:00Z",
            "revocation_anchor": "r",
            "evidence_ref": "e",
        },
    ],
    "quarantine": {"reason": "operator-hold", "entered_at": "2026-09-01T08:00:00Z"},
}
SKILL = {
    "skillId": "@a/b.c_d",
    "version": "1",
    "commit": "0" * 40,
    "contentHash": "blake3:" + "a" * 64,
}

ODD_TEXT = ["", " ", "\n", "\ufeff", "\x85", "é", "\U0001f600", "a", "A", "-", "/", "~", "0", "="]
NUMBERS = [
    -1, 0, 1, 2, 9, 10, 256, 257, 1048576, 1048577, 4294967295, 4294967296, 2**53 - 1, 2**53,
    -(2**53), 0.0, 1.0, 0.5, -0.5, 1.5, 1e300, 1e-9, 4294967295.0,
]  # fmt: skip
VALUES = [None, True, False, 0, 1, 1.0, 0.5, "", "x", "text", [], {}, [None], ["x"], {"x": 1}]
LENGTHS = [0, 1, 7, 8, 9, 43, 64, 65, 128, 129, 200, 201, 500, 501, 512, 513, 1000, 1001, 20001]
COUNTS = [0, 1, 2, 8, 9, 12, 13, 16, 17, 20, 21, 32, 33, 50, 51, 100, 101]
TIMES = [
    "2026-09-01T08:00:00Z", "2026-09-01T08:00:00.123456789+05:30", "2026-09-01t08:00:00z",
    "2026-09-01T08:00:60Z", "2016-12-31T23:59:60Z", "2026-09-01 08:00:00Z", "2026-09-01T08:00:00",
    "2026-02-30T08:00:00Z", "1969-12-31T23:59:59Z", "2026-W36-2T08:00:00Z", "1788249600",
]  # fmt: skip
UUIDS = [
    "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
    "urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380",
    "2eb8aa08-aa98-11ea-b4aa-73b441d1638_",
]  # fmt: skip
# Values for members that no valid vector holds.
SPARE = [
    *TIMES, *UUIDS, "gate-0001", "verify", "configuration", "sha256:" + "A" * 43, 1, 0.5, [], ["x"],
    SKILL,
]  # fmt: skip


@cache
def valid(name: str) -> tuple[Any, ...]:
    """Envelopes that fit, of every kind that the family has."""
    if name == "dharma.task.v1":
        vectors = load(VECTORS / "dharma/task-envelopes.json")["vectors"]
        found = [vector["input"].get("task", vector["input"]) for vector in vectors]
        found = [one for one in found if Schema.named(name).fault(one) is None]
        distinct = {json.dumps([*one, one["taskType"]]): one for one in found}
        return tuple(distinct.values())
    found = [load(path) for path in sorted((SAMPLES / name.partition(".")[0]).glob("*.json"))]
    if name == "orbiplex.turn-request.v1":
        found.append({**found[0], "classification": LABEL})
    return tuple(found)


# --- What validators say ------------------------------------------------------------------------


def documents_with(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` and the shipped schemas that it may refer to, by URI."""
    shipped = {Schema.named(name).document["$id"]: Schema.named(name).document for name in NAMES}
    return {**shipped, document["$id"]: document}


def published(name: str, folder: Path) -> dict[str, Any]:
    """The published schema with its reference repaired."""
    document: dict[str, Any] = load(folder / SEEDS[name])
    assert document["$id"] == Schema.named(name).document["$id"]
    if name == "orbiplex.turn-request.v1":
        assert document["properties"]["classification"] == {"$ref": "classification.v1.schema.json"}
        document["properties"]["classification"] = {"$ref": "urn:orbiplex:schema:classification:v1"}
    return document


def validators(document: dict[str, Any]) -> tuple[Verdict, Verdict]:
    """jsonschema and jsonschema-rs (with its usual, backtracking, regex engine) on ``document``."""
    documents = documents_with(document)
    checker = FormatChecker(formats=())
    for name, reads in {**FORMATS, "uuid": _is_uuid}.items():
        checker.checks(name)(lambda text, reads=reads: not isinstance(text, str) or reads(text))
    registry: Registry[Any] = Registry().with_resources(
        [(uri, Resource.from_contents(one)) for uri, one in documents.items()]
    )
    python = Draft202012Validator(document, registry=registry, format_checker=checker)
    rust = jsonschema_rs.Draft202012Validator(
        document,
        registry=jsonschema_rs.Registry(list(documents.items())),
        formats={**FORMATS, "uuid": _is_uuid},
        validate_formats=True,
        offline=True,
    )
    return python.is_valid, rust.is_valid


def _is_uuid(text: str) -> bool:
    return UUID.fullmatch(text) is not None


def for_python(value: Any) -> bool:
    """Whether Python's ``re`` reads every text in ``value`` as ECMA-262 does."""
    return not any(NOT_FOR_PYTHON.search(text) for text in _texts(value))


def fits(name: str, value: Any) -> bool:
    """Our own verdict."""
    return Schema.named(name).fault(value) is None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


# --- Altering at random -------------------------------------------------------------------------


def containers(value: Any) -> Iterator[Any]:
    """The arrays and objects in ``value`` that are not empty."""
    if isinstance(value, dict | list) and value:
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


@cache
def vocabulary(name: str) -> tuple[list[str], list[Any]]:
    """The member names and the constants of the schema: the words that come close to a hit."""
    names: set[str] = set()
    constants: list[Any] = []
    for part in containers(Schema.named(name).document):
        if isinstance(part, dict):
            names |= set(part.get("properties", ()))
            constants += part["enum"] if isinstance(part.get("enum"), list) else []
            constants += [part["const"]] if "const" in part else []
    return sorted(names), constants


def altered(name: str, rng: random.Random) -> Any:
    """A valid envelope with a few random changes, sometimes none."""
    names, constants = vocabulary(name)
    envelope = copy.deepcopy(rng.choice(valid(name)))
    for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3])):
        places = list(containers(envelope))
        if not places:
            break
        place = rng.choice(places)
        token = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        donor = rng.choice(valid(name))
        match rng.randrange(7):
            case 0:
                del place[token]
            case 1 if isinstance(place, dict):
                given = rng.choice(list(rng.choice(list(containers(donor)))))
                place[rng.choice([*names, "extra", "", "x" + token])] = copy.deepcopy(given)
            case 1:
                place.insert(token, copy.deepcopy(rng.choice([*place, *VALUES])))
            case 2:
                place[token] = copy.deepcopy(rng.choice(VALUES))
            case 3:
                place[token] = rng.choice([*constants, *NUMBERS, *TIMES])
            case 4:
                place[token] = copy.deepcopy(donor.get(token, rng.choice(VALUES)))
            case _:
                place[token] = _stretched(place[token], rng)
    return envelope if rng.random() < 0.99 else rng.choice(VALUES)


def _stretched(value: Any, rng: random.Random) -> Any:
    """``value`` a little changed, within its own type."""
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        return rng.choice([
            value[:at] + rng.choice(ODD_TEXT) + value[at:],
            value + rng.choice(ODD_TEXT),
            value[:at] + value[at + 1 :],
            value.swapcase(),
            (rng.choice([value or "a", "a", "\U0001f600"]) * 21_000)[: rng.choice(LENGTHS)],
            rng.choice(TIMES),
        ])  # fmt: skip
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([*NUMBERS, value + 1, -value, float(value), str(value)])
    if isinstance(value, list):
        return _sized(value, rng.choice(COUNTS), distinct=rng.random() < 0.5)
    if isinstance(value, dict):
        return {**value, **{f"k{n}": n for n in range(rng.choice(COUNTS))}}
    return rng.choice(VALUES)


def _sized(value: list[Any], count: int, *, distinct: bool) -> list[Any]:
    row = ((value or ["a"]) * count)[:count]
    return [f"{item}{n}" if distinct and type(item) is str else item for n, item in enumerate(row)]


# --- Altering rule by rule ----------------------------------------------------------------------


def probes(name: str, guide: dict[str, Any]) -> Iterator[Any]:
    """Valid envelopes with one part changed, on both sides of every rule of ``guide`` for it.

    Members that may stand there and do not are put in first. Then every member is taken over
    from every other envelope, to try what only goes together.
    """
    catalogue = Catalogue(documents_with(guide))
    root = catalogue.root(guide["$id"])
    spare = [*_parts(valid(name)), *SPARE]
    tried: set[tuple[Path_, Path_, str]] = set()
    for envelope in valid(name):
        for start, below in [(envelope, ()), *_enriched(catalogue, root, envelope, spare)]:
            for path, node, value in _spots(catalogue, root, start):
                if path[: len(below)] != below:
                    continue
                for other in _other_values(node.schema, value):
                    trial = (path, node.path, json.dumps(other))
                    if trial not in tried:
                        tried.add(trial)
                        yield _replaced(start, path, other)
    for envelope in valid(name):
        for donor in valid(name):
            yield from ({**envelope, member: item} for member, item in donor.items())


def _parts(value: Any) -> list[Any]:
    found = {json.dumps(item): item for one in containers(list(value)) for item in _items(one)}
    return list(found.values())


def _items(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _spots(
    catalogue: Catalogue, node: Node, value: Any, path: Path_ = ()
) -> Iterator[tuple[Path_, Node, Any]]:
    """Every part of ``value`` with every schema that it fits."""
    if not isinstance(node.schema, dict) or not catalogue.validator(node).is_valid(value):
        return
    yield path, node, value
    for keyword, argument in node.schema.items():
        if keyword == "$ref":
            target = catalogue.target(node, argument)
            assert target is not None
            yield from _spots(catalogue, target, value, path)
        elif keyword in ("allOf", "anyOf", "oneOf"):
            for index in range(len(argument)):
                yield from _spots(catalogue, node.below(keyword, index), value, path)
        elif keyword in ("if", "then", "else"):
            yield from _spots(catalogue, node.below(keyword), value, path)
        elif keyword == "properties" and isinstance(value, dict):
            for member in argument:
                if member in value:
                    inner = node.below(keyword, member)
                    yield from _spots(catalogue, inner, value[member], (*path, member))
        elif keyword == "items" and isinstance(value, list):
            for index, item in enumerate(value[:2]):
                yield from _spots(catalogue, node.below(keyword), item, (*path, index))


def _enriched(
    catalogue: Catalogue, root: Node, envelope: Any, spare: list[Any]
) -> Iterator[tuple[Any, Path_]]:
    done: set[Path_] = set()
    for path, node, value in _spots(catalogue, root, envelope):
        if not isinstance(value, dict):
            continue
        for member in node.schema.get("properties", {}):
            if member in value or (*path, member) in done:
                continue
            rule = catalogue.validator(node.below("properties", member))
            for other in sorted(filter(rule.is_valid, spare), key=_size, reverse=True):
                added = _replaced(envelope, path, {**value, member: other})
                if catalogue.validator(root).is_valid(added):
                    done.add((*path, member))
                    yield added, (*path, member)
                    break


def _size(value: Any) -> int:
    return len(json.dumps(value))


def _replaced(value: Any, path: Path_, other: Any) -> Any:
    if not path:
        return other
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = _replaced(copied[path[0]], path[1:], other)
    return copied


def _other_values(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """What to try instead of ``value``, for every rule that ``schema`` holds itself."""
    for keyword, argument in schema.items():
        if keyword == "enum":
            yield from [*argument, "no-such"]
        elif keyword in ("const", "type", "$ref", "oneOf"):
            yield from VALUES
        elif keyword in ("minLength", "maxLength"):
            for length in (argument - 1, argument, argument + 1):
                yield from (
                    (unit * length)[:length]
                    for unit in ("a", "\U0001f600", value)
                    if type(unit) is str
                )
        elif keyword in ("minimum", "maximum"):
            yield from (argument + step for step in (-1, -0.5, 0, 0.5, 1))
        elif keyword in ("minItems", "maxItems", "uniqueItems", "contains") and type(value) is list:
            for count in (
                {1, 2, int(argument) - 1, int(argument), int(argument) + 1}
                if type(argument) is not dict
                else (0, 1, 2)
            ):
                yield from (_sized(value, max(count, 0), distinct=alike) for alike in (True, False))
        elif keyword == "items" and type(value) is list:
            yield from ([one] for one in argument.get("enum", VALUES))
        elif keyword in ("pattern", "format") and type(value) is str:
            yield from _spellings(value)
        elif keyword in ("properties", "required", "maxProperties") and type(value) is dict:
            yield from ({k: v for k, v in value.items() if k != name} for name in value)
            yield {**value, "extra": 1}
            if keyword == "maxProperties":
                yield from ({str(n): n for n in range(argument + step)} for step in (-1, 0, 1))


def _spellings(value: str) -> Iterator[str]:
    yield from (*TIMES, *UUIDS, value.upper(), value + value, value[1:], value[:-1], value * 9)
    for odd in ODD_TEXT:
        yield from (value + odd, odd + value, value[:2] + odd + value[2:], value[:-1] + odd)
    for length in (31, 32, 39, 40, 41, 43, 63, 64, 65, 86, 128, 129):
        head, colon, tail = value.rpartition(":")
        yield head + colon + ((tail or "a") * length)[:length]

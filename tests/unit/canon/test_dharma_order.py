"""Dharma's member order beside that of RFC 8785: same, different or not decidable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import VECTORS, load

from taskseal.canon.dharma import Portability, portability
from taskseal.canon.jcs import canonicalise, recanonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason

DIVERGENCE: list[dict[str, Any]] = load(VECTORS / "dharma" / "divergence.json")["vectors"]
TASKS: list[dict[str, Any]] = load(VECTORS / "dharma" / "task-envelopes.json")["vectors"]
REFUSED_TEXTS = {
    "quirk-1e400-null": Reason.NUMBER_OUT_OF_RANGE,
    "quirk-bigint-rounding": Reason.INTEGER_OUT_OF_RANGE,
    "quirk-duplicate-last-wins": Reason.DUPLICATE_MEMBER,
    "quirk-lone-surrogate-key": Reason.LONE_SURROGATE,
    "agree-numbers": Reason.INTEGER_OUT_OF_RANGE,
}
COLLATION = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"


def objects(value: object) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in objects(item))]
    if isinstance(value, list):
        return [found for item in value for found in objects(item)]
    return []


@pytest.mark.parametrize("vector", DIVERGENCE, ids=lambda vector: vector["name"])
def test_the_verdict_on_each_divergence_vector_is_the_expected_one(vector: dict[str, Any]) -> None:
    data = vector["inputText"].encode()
    expected = vector["expected"]
    if vector["name"] in REFUSED_TEXTS:
        with pytest.raises(InputError) as caught:
            recanonicalise(data) if vector["name"] != "agree-numbers" else parse(data)
        assert caught.value.code is REFUSED_TEXTS[vector["name"]]
        return
    assert recanonicalise(data).decode() == expected["rfc8785"]["canonical"]
    value = parse(data).value
    found = portability(value)
    undecidable = vector["name"].startswith("tie-") or any(
        len(each) > 1 and not "".join(each).isascii() for each in objects(value)
    )
    dharma = expected["dharma"]["canonical"]
    if undecidable:
        assert (found.verdict, found.form) == ("undecidable", None)
    elif dharma != expected["rfc8785"]["canonical"]:
        assert (found.verdict, found.form) == ("differs", dharma.encode())
    else:
        assert found == Portability("same", None, None, None)
    if found.verdict != "same":
        assert found.pointer is not None
        assert found.names is not None and found.names[0] != found.names[1]


@pytest.mark.parametrize("vector", TASKS, ids=lambda vector: vector["name"])
def test_task_envelopes_are_portable_but_for_the_one_that_is_not(vector: dict[str, Any]) -> None:
    canonical = vector["expected"].get("canonical")
    if vector["name"] == "task-a2a-divergent-key-order":
        found = portability(vector["input"])
        assert (found.verdict, found.pointer) == ("undecidable", "/stateEnvelope/known_state")
        assert found.names is not None and "é" in found.names
    elif canonical is not None and "inputText" not in vector and "surrogate" not in vector["name"]:
        bare = {name: item for name, item in vector["input"].items() if name != "signature"}
        assert portability(bare).verdict == "same"
        assert canonicalise(bare).decode() == canonical


def test_every_ascii_character_has_its_place() -> None:
    names = [*COLLATION, *(each for pair in zip("abcxyz", "ABCXYZ", strict=True) for each in pair)]
    value = {f"{name}0": 1 for name in reversed(names)}
    form = portability(value).form
    assert form is not None
    indices = [f"{digit}0" for digit in "123456789"]
    order = indices + [f"{name}0" for name in names if f"{name}0" not in indices]
    assert list(parse(form).value) == order


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"a": 1, "a\x00": 2}, ("a", "a\x00")),
        ({"a\x7f": 1, "b": 0, "\x01a": 2}, None),
        ({"": 1, "\x02": 2}, ("", "\x02")),
        ({"x": 0, "-\x1f-": 1, "--": 2}, None),
    ],
)
def test_ignored_characters_make_a_tie(value: object, names: tuple[str, str] | None) -> None:
    found = portability([value])
    assert (found.verdict, found.form, found.pointer) == ("undecidable", None, "/0")
    assert found.names is not None
    assert names is None or found.names == names


@pytest.mark.parametrize(
    "value",
    [
        {"é": 1},
        {"\U0001f600": {"é": [{"\u200d": 1}]}},
        {"a\x00": 1},
        [],
        "é",
        {"a": 1, "b": {"taskId": 1, "taskType": 2, "task": 3, "x_y": {"x_z": 1, "x": 0}}},
        {"1": 0, "2": 0},
        {"9": 0, "a": 1},
        {"0": 0, "00": 1},
        {"a1": 1, "a2": 2, "b": 3},
    ],
)
def test_where_the_orders_agree_nothing_is_said(value: object) -> None:
    assert portability(value) == Portability("same", None, None, None)


@pytest.mark.parametrize(
    ("value", "form", "pointer", "names"),
    [
        ({"B": 1, "a": 2}, b'{"a":2,"B":1}', "", ("B", "a")),
        ({"k": [{"B": 1, "a": 2}]}, b'{"k":[{"a":2,"B":1}]}', "/k/0", ("B", "a")),
        ({"10": 0, "9": 1, "a": 2}, b'{"9":1,"10":0,"a":2}', "", ("10", "9")),
        ({"-": 0, "5": 1}, b'{"5":1,"-":0}', "", ("-", "5")),
        ({"4294967295": 0, "4294967294": 1, "5": 2},
         b'{"5":2,"4294967294":1,"4294967295":0}', "", ("4294967294", "5")),
        ({"01": 0, "1": 1}, b'{"1":1,"01":0}', "", ("01", "1")),
        ({"aB": 0, "ab": 1, "Ab": 2, "AB": 3}, b'{"ab":1,"aB":0,"Ab":2,"AB":3}', "", ("AB", "ab")),
        ({"a_b": 0, "aB": 1}, b'{"a_b":0,"aB":1}', "", ("aB", "a_b")),
        ({"a_1": 0, "a11": 1}, b'{"a_1":0,"a11":1}', "", ("a11", "a_1")),
        ({"B": 1e-7, "a": 1e21}, b'{"a":1e+21,"B":1e-7}', "", ("B", "a")),
    ],
)  # fmt: skip
def test_a_decidable_difference_gives_dharmas_bytes(
    value: object, form: bytes, pointer: str, names: tuple[str, str]
) -> None:
    assert portability(value) == Portability("differs", form, pointer, names)


def test_an_undecidable_object_outweighs_a_different_one() -> None:
    found = portability({"B": {"é": 1, "x": 2}, "a": 2})
    assert (found.verdict, found.form, found.pointer) == ("undecidable", None, "/B")


def test_the_place_of_every_name_comes_from_the_vector_file(vectors: Path) -> None:
    assert (vectors / "dharma" / "divergence.json").is_file()
    assert {vector["name"] for vector in DIVERGENCE} >= set(REFUSED_TEXTS)

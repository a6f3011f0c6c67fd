"""JSONTestSuite: what must be refused, what must be taken, and what nobody decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskseal.canon import locate
from taskseal.canon.jcs import recanonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason

DUPLICATES = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}
"""Well-formed, but two of our rules: a member stands once."""


@pytest.fixture(scope="module")
def texts(conformance: Path) -> dict[str, bytes]:
    folder = conformance / "jsontestsuite/test_parsing"
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}


def verdict(data: bytes) -> Reason | None:
    """The reason of the refusal; the fast reader, the slow one and both modes must agree."""
    try:
        parse(data)
        recanonicalise(data)
    except InputError as error:
        found = locate.refusal(data, True)
        assert found is not None
        assert (found.code, found.pointer, found.offset) == (
            *(error.code, error.pointer, error.offset),
        )
        return error.code
    assert locate.refusal(data, True) is None
    return None


def test_every_text_that_must_be_refused_is(texts: dict[str, bytes]) -> None:
    wrong = {name: data for name, data in texts.items() if name.startswith("n_")}
    assert len(wrong) > 150
    assert [name for name, data in wrong.items() if verdict(data) is None] == []


def test_every_text_that_must_be_taken_is_but_for_duplicate_members(
    texts: dict[str, bytes],
) -> None:
    right = {name: data for name, data in texts.items() if name.startswith("y_")}
    refused = {name: code for name, data in right.items() if (code := verdict(data)) is not None}
    assert len(right) > 90
    assert refused == dict.fromkeys(DUPLICATES, Reason.DUPLICATE_MEMBER)


def test_what_nobody_decides_is_decided_without_a_crash(texts: dict[str, bytes]) -> None:
    free = {name: verdict(data) for name, data in texts.items() if name.startswith("i_")}
    assert len(free) > 30
    assert set(free.values()) <= {
        None,
        Reason.INTEGER_OUT_OF_RANGE,
        Reason.LONE_SURROGATE,
        Reason.NESTING_TOO_DEEP,
        Reason.NOT_UTF8,
        Reason.NUMBER_NOT_EXACT,
        Reason.NUMBER_OUT_OF_RANGE,
    }

"""Orbiplex turn requests on their own: refs, times, observation, digests that they bind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskseal.canon.pointer import join
from taskseal.errors import Reason
from taskseal.profiles import ORBIPLEX_TURN_REQUEST, Binding, Check

Sample = Callable[[str], dict[str, Any]]
Walk = Callable[..., list[Check]]

REFS: list[tuple[str | int, ...]] = [
    ("turn/ref",),
    ("binding/ref",),
    ("agent/id",),
    ("passage/ref",),
    ("prompt-policy/ref",),
    ("output-schema/ref",),
    ("idempotency/key",),
    ("admitted/by",),
    ("parent-product/refs", 1),
    ("input/parts", 1, "artifact/ref"),
    ("observation", "request/ref"),
    ("observation", "receipt/ref"),
    ("observation", "evidence/refs", 1),
]
INVISIBLE = {
    "C0 control": "\x1f",
    "DEL": "\x7f",
    "C1 control (next line)": "\x85",
    "no-break space": "\xa0",
    "soft hyphen": "\xad",
    "zero width space": "\u200b",
    "right-to-left override": "\u202e",
    "line separator": "\u2028",
    "ideographic space": "\u3000",
    "byte order mark": "\ufeff",
    "tag letter": "\U000e0061",
    "non-character": "\uffff",
    "unassigned": "\U000e0fff",
}


def _failed(made: list[Check]) -> tuple[Reason | None, str | None]:
    assert made[-1].result == "failed", made
    return made[-1].reason, made[-1].pointer


def _holds(made: list[Check]) -> bool:
    return bool(made) and all(check.result != "failed" for check in made)


@pytest.fixture
def request_with_refs(sample: Sample) -> dict[str, Any]:
    """A request in which every member that is a ref is present."""
    request = sample("orbiplex/continue")
    request["parent-product/refs"] = ["ext-product:0", "ext-product:1"]
    request["observation"]["receipt/ref"] = "ext-receipt:1"
    request["observation"]["evidence/refs"].append("ext-evidence:2")
    return request


def _put(envelope: Any, path: tuple[str | int, ...], value: Any) -> None:
    for step in path[:-1]:
        envelope = envelope[step]
    envelope[path[-1]] = value


@pytest.mark.parametrize("path", REFS, ids=join)
@pytest.mark.parametrize("char", INVISIBLE.values(), ids=list(INVISIBLE))
def test_a_ref_holds_no_invisible_character(
    path: tuple[str | int, ...], char: str, request_with_refs: dict[str, Any], walk: Walk
) -> None:
    _put(request_with_refs, path, f"ref{char}:1")
    made = walk(ORBIPLEX_TURN_REQUEST, request_with_refs)
    assert _failed(made) == (Reason.SCHEMA_INVALID, join(path))


@pytest.mark.parametrize("path", REFS, ids=join)
def test_a_visible_letter_is_verified_and_not_signed(
    path: tuple[str | int, ...], request_with_refs: dict[str, Any], walk: Walk
) -> None:
    _put(request_with_refs, path, "żółć:1")
    verified = [
        check for check in walk(ORBIPLEX_TURN_REQUEST, request_with_refs) if check.check == "refs"
    ]
    assert [check.result for check in verified] == ["passed"]
    made = walk(ORBIPLEX_TURN_REQUEST, request_with_refs, signing=True)
    assert _failed(made) == (Reason.SCHEMA_INVALID, join(path))


def test_all_of_visible_ascii_is_signed(sample: Sample, walk: Walk) -> None:
    request = sample("orbiplex/start")
    request["turn/ref"] = "".join(chr(code) for code in range(0x21, 0x7F))
    assert _holds(walk(ORBIPLEX_TURN_REQUEST, request, signing=True))


@pytest.mark.parametrize("text", ["", " ", "a b", "\t"])
def test_an_empty_or_blank_ref_is_the_schema_s_to_refuse(
    text: str, sample: Sample, walk: Walk
) -> None:
    request = sample("orbiplex/start")
    request["turn/ref"] = text
    assert _failed(walk(ORBIPLEX_TURN_REQUEST, request)) == (Reason.SCHEMA_INVALID, "/turn~1ref")


@pytest.mark.parametrize(
    ("deadline", "holds"),
    [
        ("2026-09-01T08:30:00Z", False),
        ("2026-09-01T08:29:59Z", False),
        ("2026-09-01T08:30:00.000000001Z", True),
        ("2026-09-01T10:30:00+02:00", False),
    ],
)
def test_a_deadline_is_after_the_admission(
    deadline: str, holds: bool, sample: Sample, walk: Walk
) -> None:
    request = sample("orbiplex/start")
    request["deadline/at"] = deadline
    made = walk(ORBIPLEX_TURN_REQUEST, request)
    assert _holds(made) if holds else _failed(made) == (Reason.SEMANTIC_INVALID, "/deadline~1at")


@pytest.mark.parametrize(
    ("disposition", "code", "holds"),
    [
        ("admitted", "completed", True),
        ("refused", "tool-not-admitted", True),
        ("refused", "unknown", True),
        ("admitted", "tool-not-admitted", False),
        ("admitted", "cancelled", False),
        ("refused", "completed", False),
    ],
)
def test_what_was_admitted_has_completed_and_nothing_else_has(
    disposition: str, code: str, holds: bool, sample: Sample, walk: Walk
) -> None:
    request = sample("orbiplex/continue")
    request["observation"] |= {"disposition": disposition, "reason/code": code}
    made = walk(ORBIPLEX_TURN_REQUEST, request)
    if holds:
        assert _holds(made)
    else:
        assert _failed(made) == (Reason.SEMANTIC_INVALID, "/observation/reason~1code")


def test_a_binding_digest_has_one_spelling_also_without_the_binding(
    sample: Sample, walk: Walk
) -> None:
    request = sample("orbiplex/start")
    assert request["binding/digest"].endswith("E")
    request["binding/digest"] = request["binding/digest"][:-1] + "F"
    made = walk(ORBIPLEX_TURN_REQUEST, request, context=None)
    assert _failed(made) == (Reason.DIGEST_MALFORMED, "/binding~1digest")


def test_input_artefacts_and_instructions_are_bound(sample: Sample) -> None:
    ref = "object-store:sha256:DBQxaW5cqCzNVESVNwaetP_3DxTRgZTj4BCHOmpqL-4"
    assert list(ORBIPLEX_TURN_REQUEST.bindings(sample("orbiplex/start"))) == [
        Binding("input", "/input~1digest", "sha256:b64url", "json", inline="/input~1parts"),
        Binding(
            "artefact",
            "/input~1parts/1/artifact~1digest",
            "sha256:b64url",
            "bytes",
            ref=ref,
            size_pointer="/input~1parts/1/artifact~1size-bytes",
        ),
        Binding(
            "instruction", "/instruction~1hash", "sha256:b64url", "nfc-json", ref="instruction"
        ),
    ]


@pytest.mark.parametrize("parts", [None, 1, "x", {}, [], [None, 1, {}, {"kind": "text"}]])
def test_bindings_of_an_unfinished_request_never_raise(parts: Any) -> None:
    found = [binding.name for binding in ORBIPLEX_TURN_REQUEST.bindings({"input/parts": parts})]
    assert found == ["input", "instruction"]


def test_an_artefact_without_a_ref_is_bound_to_none() -> None:
    part = {"kind": "artifact", "artifact/ref": 7}
    found = list(ORBIPLEX_TURN_REQUEST.bindings({"input/parts": [part]}))
    assert [binding.ref for binding in found] == [None, None, "instruction"]

"""Classifications of Orbiplex turn requests: lowered tiers and quarantine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskseal.errors import Reason
from taskseal.profiles import ORBIPLEX_TURN_REQUEST, Check

Sample = Callable[[str], dict[str, Any]]
Walk = Callable[..., list[Check]]

MISSING = (Reason.DECLASSIFICATION_MISSING, "/classification/effective_tier")


@pytest.fixture
def request_(sample: Sample) -> dict[str, Any]:
    """Content that came as Personal and goes out as Community, with one good fact for it."""
    request = sample("orbiplex/start")
    classification = request["classification"]
    classification["source_tier"] = "Personal"
    classification["declassify_trail"] = [_fact("Personal", "Community")]
    return request


def _fact(upper: str, lower: str, **changes: Any) -> dict[str, Any]:
    fact = {
        "fact_id": "fact-1",
        "topic_class": "tariffs",
        "rationale": "the owner agreed",
        "correlation_id": "corr-1",
        "from": upper,
        "to": lower,
        "surface": "interface",
        "mode": {"kind": "one-shot"},
        "caller": {"passport_ref": "passport:1", "role": "A1"},
        "issued_at": "2026-09-01T08:00:00Z",
        "revocation_anchor": "anchor:1",
    } | changes
    return {name: value for name, value in fact.items() if value is not None}


def _lasting(expires: str, ttl: int = 86_400, **changes: Any) -> dict[str, Any]:
    mode = {"kind": "persistent-for-topic-class", "ttl_seconds": ttl}
    return _fact("Personal", "Community", mode=mode, expires_at=expires, **changes)


def _failed(made: list[Check]) -> tuple[Reason | None, str | None]:
    assert made[-1].result == "failed", made
    return made[-1].reason, made[-1].pointer


def _holds(made: list[Check]) -> bool:
    return bool(made) and all(check.result != "failed" for check in made)


def _with(request: dict[str, Any], *facts: dict[str, Any]) -> dict[str, Any]:
    request["classification"]["declassify_trail"] = list(facts)
    return request


def test_a_lowered_tier_with_its_fact_holds(request_: dict[str, Any], walk: Walk) -> None:
    assert _holds(walk(ORBIPLEX_TURN_REQUEST, request_))


def test_a_tier_that_is_not_lowered_needs_no_fact(request_: dict[str, Any], walk: Walk) -> None:
    request_["classification"]["source_tier"] = "Community"
    assert _holds(walk(ORBIPLEX_TURN_REQUEST, _with(request_)))


@pytest.mark.parametrize(
    "facts",
    [
        [],
        [_fact("Community", "Public")],
        [_fact("Personal", "Community", revocation_anchor=None)],
        [_fact("Personal", "Community", revocation_anchor="")],
        [_fact("Personal", "Community", issued_at="2026-09-01T08:40:00.000000001Z")],
        [_lasting("2026-09-01T08:35:00Z")],
        [_lasting("2026-09-01T08:34:59Z")],
        [_lasting("2026-09-02T08:00:00Z", ttl=35 * 60)],
        [_lasting("2026-09-01T07:59:59Z")],
    ],
    ids=[
        "no fact",
        "another step",
        "no anchor",
        "an empty anchor",
        "issued beyond the skew",
        "expires now",
        "expired",
        "lived out its time",
        "expired before it was issued",
    ],
)
def test_a_lowered_tier_without_a_valid_fact_is_refused(
    facts: list[dict[str, Any]], request_: dict[str, Any], walk: Walk
) -> None:
    assert _failed(walk(ORBIPLEX_TURN_REQUEST, _with(request_, *facts))) == MISSING


@pytest.mark.parametrize(
    "fact",
    [
        _fact("Personal", "Community", issued_at="2026-09-01T08:40:00Z"),
        _fact(
            "Personal",
            "Community",
            mode={"kind": "one-shot", "consumed_at": "2026-09-01T08:10:00Z"},
        ),
        _lasting("2026-09-01T08:35:00.000000001Z"),
        _lasting("2026-09-02T08:00:00Z", ttl=35 * 60 + 1),
    ],
    ids=["issued within the skew", "consumed for this content", "expires after now", "still lives"],
)
def test_a_fact_at_the_edge_of_its_time_still_counts(
    fact: dict[str, Any], request_: dict[str, Any], walk: Walk
) -> None:
    assert _holds(walk(ORBIPLEX_TURN_REQUEST, _with(request_, fact)))


def test_an_invalid_fact_does_no_harm_beside_a_valid_one(
    request_: dict[str, Any], walk: Walk
) -> None:
    expired, good = _lasting("2026-09-01T08:30:00Z"), _fact("Personal", "Community")
    assert _holds(walk(ORBIPLEX_TURN_REQUEST, _with(request_, expired, good)))


def test_two_steps_need_two_facts(request_: dict[str, Any], walk: Walk) -> None:
    classification = request_["classification"]
    classification["effective_tier"] = "Public"
    classification["bound_subjects"] = {
        "public_projection": {"subject_set_hash": "a" * 64, "count": 1}
    }
    first, second = _fact("Personal", "Community"), _fact("Community", "Public")
    assert _failed(walk(ORBIPLEX_TURN_REQUEST, _with(request_, first))) == MISSING
    assert _failed(walk(ORBIPLEX_TURN_REQUEST, _with(request_, second))) == MISSING
    assert _failed(walk(ORBIPLEX_TURN_REQUEST, _with(request_, first, first))) == MISSING
    assert _holds(walk(ORBIPLEX_TURN_REQUEST, _with(request_, second, first)))


def test_the_schema_refuses_a_raised_tier(request_: dict[str, Any], walk: Walk) -> None:
    classification = request_["classification"]
    classification |= {"source_tier": "Community", "effective_tier": "Personal"}
    assert _failed(walk(ORBIPLEX_TURN_REQUEST, request_)) == (
        Reason.SCHEMA_INVALID,
        "/classification/effective_tier",
    )


@pytest.mark.parametrize(
    "reason",
    [
        "no-label-at-ingress",
        "unknown-provenance",
        "schema-older-than-v-with-classification",
        "operator-hold",
    ],
)
def test_what_is_in_quarantine_is_refused(
    reason: str, request_: dict[str, Any], walk: Walk
) -> None:
    held = {"reason": reason, "entered_at": "2026-09-01T08:00:00Z"}
    request_["classification"]["quarantine"] = held
    made = walk(ORBIPLEX_TURN_REQUEST, request_)
    assert _failed(made) == (Reason.QUARANTINED, "/classification/quarantine")

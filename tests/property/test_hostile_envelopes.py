"""Whatever a message holds, recognising and judging it gives checks and never an exception."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.profiles import BUILT_IN, AisaIdentity, Check, Context, Facts, Profile
from taskseal.validity import read_instant

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
SAMPLES = VECTORS / "samples"
KNOWN = json.loads((SAMPLES / "context.json").read_bytes())
BINDING = json.loads((SAMPLES / KNOWN["orbiplex"]["binding"]).read_bytes())
CONTEXTS = [
    Context(),
    Context(
        aisa=KNOWN["aisa"]
        | {"parent": {"grants": [], "remaining_minutes": 1}, "requester_remaining_minutes": 60},
        orbiplex={"binding": BINDING},
    ),
]
ME = AisaIdentity("task-survey-01", "survey.worker", 3, "root/survey")
NOW = read_instant(KNOWN["now"]) or 0

TASKS = json.loads((VECTORS / "dharma" / "task-envelopes.json").read_bytes())["vectors"]
ENVELOPES = [
    *(json.loads(path.read_bytes()) for path in sorted((SAMPLES / "aisa").glob("*.json"))),
    json.loads((SAMPLES / "orbiplex" / "start.json").read_bytes()),
    json.loads((SAMPLES / "orbiplex" / "continue.json").read_bytes()),
    *(TASKS[number]["input"] for number in (2, 3, 4)),
]

WORDS = st.sampled_from(
    [
        "Spawn",
        "Plan",
        "Consult",
        "ConsultReply",
        "Cancel",
        "DeadEnd",
        "absent",
        "no_answer",
        "answered",
        "completed",
        "admitted",
        "Personal",
        "Public",
        "Community",
        "shared",
        "2026-09-01T08:00:00Z",
        "9999-12-31T23:59:59Z",
        "..",
        "/",
        "~",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats()
    | st.text(max_size=8)
    | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | WORDS, inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    found = []
    pending = [value]
    while pending:
        here = pending.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here))
        for key in keys:
            found.append((here, key))
            if isinstance(here[key], dict | list):
                pending.append(here[key])
    return found


def _nudged(draw: st.DrawFn, value: Any, texts: list[str]) -> Any:
    """A value of the same type, so that many a mutant still fits its schema."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return draw(st.sampled_from((0, 1, 2, -1, 0.5, value + 1, 2**53 - 1)))
    if isinstance(value, str):
        return draw(st.sampled_from(texts) | WORDS)
    if isinstance(value, list):
        return draw(st.sampled_from(([], value[::-1], value * 2)))
    return value


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A good envelope with one to three members changed, removed, added or swapped."""
    envelope: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(ENVELOPES)))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(envelope)
        if not places:
            break
        within, key = draw(st.sampled_from(places))
        act = draw(st.sampled_from(("nudge", "nudge", "nudge", "change", "remove", "add", "copy")))
        if act == "nudge":
            texts = [here[name] for here, name in places if isinstance(here[name], str)]
            within[key] = _nudged(draw, within[key], texts or [""])
        elif act == "change":
            within[key] = draw(VALUES)
        elif act == "remove":
            del within[key]
        elif act == "copy":
            other, name = draw(st.sampled_from(places))
            exists = name in other if isinstance(other, dict) else name < len(other)
            within[key] = copy.deepcopy(other[name]) if exists else None
        elif isinstance(within, dict):
            within[draw(st.text(max_size=6) | WORDS)] = draw(VALUES)
        else:
            within.append(draw(VALUES))
    return envelope


def _every_hook(profile: Profile, envelope: Any, context: Context, signing: bool) -> list[Check]:
    facts = Facts(envelope, NOW, context, signing=signing)
    made = list(profile.known(facts)) if profile.known else []
    list(profile.bindings(envelope))
    assert profile.schema is not None
    if any(check.result == "failed" for check in made) or profile.schema.fault(envelope):
        return made
    for hook in (profile.semantics, profile.relations, profile.rules):
        for check in hook(facts) if hook else ():
            made.append(check)
            if check.result == "failed":
                return made
    advanced = profile.advance(envelope)
    assert advanced is None or (type(advanced[0]) is str and type(advanced[1]) is int)
    return made


@settings(max_examples=400)
@given(envelope=mutated(), context=st.sampled_from(CONTEXTS), signing=st.booleans())
def test_a_mutated_envelope_gets_checks_and_no_exception(
    envelope: dict[str, Any], context: Context, signing: bool
) -> None:
    try:
        envelope = parse(canonicalise(envelope)).value
    except InputError:
        return  # no text of it gets past the strict reader
    for profile in BUILT_IN.values():
        if profile.recognise(envelope):
            for check in _every_hook(profile, envelope, context, signing):
                assert (check.reason is not None) == (check.result == "failed")
                assert check.pointer is None or check.pointer.startswith("/")


@settings(max_examples=200)
@given(value=VALUES | mutated())
def test_anything_at_all_is_recognised_or_not(value: Any) -> None:
    assert all(type(profile.recognise(value)) is bool for profile in BUILT_IN.values())


@settings(max_examples=200)
@given(
    envelope=mutated(),
    reason=st.sampled_from((Reason.UNKNOWN_MESSAGE_TYPE, Reason.UNKNOWN_MESSAGE_VERSION)),
)
def test_an_answer_fits_its_schema_or_there_is_none(
    envelope: dict[str, Any], reason: Reason
) -> None:
    profile = BUILT_IN["aisa.message/v1"]
    answer = profile.answer(Facts(envelope, NOW), reason, ME)
    assert profile.schema is not None
    if answer is None:
        assert (
            not profile.recognise(envelope)
            or envelope["type"] == "DeadEnd"
            or (_unusable(envelope))
        )
    else:
        assert profile.schema.fault(answer) is None
        assert profile.semantics is not None
        assert all(check.result == "passed" for check in profile.semantics(Facts(answer, NOW)))


def _unusable(envelope: dict[str, Any]) -> bool:
    """Whether a needed member does not fit: put where it would go, the schema says so."""
    profile = BUILT_IN["aisa.message/v1"]
    assert profile.schema is not None
    sender = envelope.get("sender")
    model = json.loads((SAMPLES / "aisa" / "dead-end.json").read_bytes())
    model["case_id"] = envelope["case_id"]
    model["recipient_task_id"] = sender.get("task_id") if isinstance(sender, dict) else None
    return profile.schema.fault(model) is not None or _has_no_canonical_form(envelope)


def _has_no_canonical_form(value: Any) -> bool:
    try:
        canonicalise(value)
    except InputError:
        return True
    return False


@pytest.mark.parametrize("profile", BUILT_IN.values(), ids=list(BUILT_IN))
def test_bindings_never_raise_on_an_unfinished_document(profile: Profile) -> None:
    @settings(max_examples=100)
    @given(envelope=mutated() | st.dictionaries(st.text(max_size=6) | WORDS, VALUES, max_size=4))
    def check(envelope: dict[str, Any]) -> None:
        assert all(binding.pointer.startswith("/") for binding in profile.bindings(envelope))

    check()

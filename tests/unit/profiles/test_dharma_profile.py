"""Dharma tasks: recognition, checks beyond the schema, what they bind, and the real vectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.pointer import resolve
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.profiles import DHARMA_TASK, Check

Walk = Callable[..., list[Check]]

VECTORS = {
    vector["name"]: vector
    for vector in json.loads(
        (
            Path(__file__).resolve().parents[2] / "vectors" / "dharma" / "task-envelopes.json"
        ).read_bytes()
    )["vectors"]
}
# A leap second and a line end between date and time: refused by the one reader of instants.
UNREADABLE_TIME = {
    "weak-task-expiresAt-leap-second-never-expires",
    "weak-task-date-newline-separator-ok",
    "neg-task-schema-no-timezone",
}


@pytest.fixture
def task() -> dict[str, Any]:
    """The vector with every kind of digest in it."""
    value: dict[str, Any] = json.loads(json.dumps(VECTORS["task-evaluation-retest-full"]["input"]))
    return value


def _failed(made: list[Check]) -> tuple[Reason | None, str | None]:
    assert made[-1].result == "failed", made
    return made[-1].reason, made[-1].pointer


def _holds(made: list[Check]) -> bool:
    return bool(made) and all(check.result != "failed" for check in made)


@pytest.mark.parametrize("name", VECTORS)
def test_a_task_of_the_real_code_meets_the_hooks_as_it_met_that_code(name: str, walk: Walk) -> None:
    """Signatures, keys and times are others' to check; here it is schema, sense and policy."""
    vector = VECTORS[name]
    try:
        envelope = parse(vector.get("inputText", json.dumps(vector["input"])).encode()).value
    except InputError:
        assert name.startswith(("task-wire-", "task-lone-surrogate"))
        return
    assert DHARMA_TASK.recognise(envelope)
    made = walk(DHARMA_TASK, envelope)
    if name in UNREADABLE_TIME:
        assert _failed(made) == (Reason.SCHEMA_INVALID, "/expiresAt")
    elif "-schema-" in name:
        assert _failed(made)[0] is Reason.SCHEMA_INVALID
    else:
        assert _holds(made)


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "dharma.task/v1",
        [],
        {},
        {"schema": "dharma.task/v2"},
        {"schema": ["dharma.task/v1"]},
    ],
)
def test_only_the_constant_is_recognised(value: Any) -> None:
    assert DHARMA_TASK.recognise(value) is False


@pytest.mark.parametrize("length", [32, 63, 65, 128])
@pytest.mark.parametrize("algorithm", ["sha256", "blake3"])
def test_a_content_hash_has_the_length_of_its_algorithm(
    algorithm: str, length: int, task: dict[str, Any], walk: Walk
) -> None:
    skill = task["requiredSkills"][0]
    task["requiredSkills"].append({**skill, "contentHash": f"{algorithm}:{'a' * length}"})
    made = walk(DHARMA_TASK, task)
    assert _failed(made) == (Reason.DIGEST_MALFORMED, "/requiredSkills/1/contentHash")


@pytest.mark.parametrize("algorithm", ["sha256", "blake3"])
@pytest.mark.parametrize("digits", ["a" * 64, "0123456789abcdefABCDEF" + "9" * 42])
def test_a_content_hash_of_either_case_and_the_right_length_passes_the_semantics(
    algorithm: str, digits: str, task: dict[str, Any], walk: Walk
) -> None:
    task["requiredSkills"][0]["contentHash"] = f"{algorithm}:{digits}"
    assert "skills" in [
        check.check for check in walk(DHARMA_TASK, task) if check.result == "passed"
    ]


@pytest.mark.parametrize(("length", "holds"), [(40, True), (41, False), (63, False), (64, True)])
def test_a_commit_is_one_of_two_lengths(
    length: int, holds: bool, task: dict[str, Any], walk: Walk
) -> None:
    task["requiredSkills"][0]["commit"] = "aB" * (length // 2) + "c" * (length % 2)
    made = walk(DHARMA_TASK, task)
    if holds:
        assert _holds(made)
    else:
        assert _failed(made) == (Reason.SEMANTIC_INVALID, "/requiredSkills/0/commit")


@pytest.mark.parametrize("network", ["deny", "package_registry_only", "inherit_local_provider"])
def test_domains_are_listed_only_where_the_mode_reads_them(
    network: str, task: dict[str, Any], walk: Walk
) -> None:
    authority = task["authority"]
    authority |= {"network": network, "allowlistedDomains": ["example.org"]}
    made = walk(DHARMA_TASK, task)
    assert _failed(made) == (Reason.SEMANTIC_INVALID, "/authority/allowlistedDomains")
    authority["network"] = "allowlisted_domains"
    assert _holds(walk(DHARMA_TASK, task))


def test_an_empty_list_of_domains_is_the_default_and_says_nothing(
    task: dict[str, Any], walk: Walk
) -> None:
    task["authority"] |= {"network": "deny", "allowlistedDomains": []}
    assert _holds(walk(DHARMA_TASK, task))


@pytest.mark.parametrize(
    "text",
    [
        "urn:uuid:00000004-0000-4000-8000-000000000004",
        "00000004000040008000000000000004",
        "{00000004-0000-4000-8000-000000000004}",
        "00000004-0000-4000-8000-000000000004\n",
        "00000004-0000-4000-8000-00000000000g",
    ],
)
def test_a_uuid_has_one_shape(text: str, task: dict[str, Any], walk: Walk) -> None:
    task["taskId"] = text
    assert _failed(walk(DHARMA_TASK, task)) == (Reason.SCHEMA_INVALID, "/taskId")


def test_task_ids_compare_without_letter_case_and_nonces_with_it() -> None:
    assert dict(DHARMA_TASK.replay) == {"taskId": "/taskId", "nonce": "/nonce"}
    assert set(DHARMA_TASK.fold) == {"taskId"}


def test_skills_and_bundle_are_bound_by_their_names(task: dict[str, Any]) -> None:
    task["requiredSkills"].append(
        {**task["requiredSkills"][0], "skillId": "b", "contentHash": "sha256:" + "a" * 64}
    )
    found = [
        (binding.pointer, binding.codec, binding.kind, binding.ref, binding.any_case)
        for binding in DHARMA_TASK.bindings(task)
    ]
    assert found == [
        ("/requiredSkills/0/contentHash", "blake3:hex", "skill", "org/skill.one@x", True),
        ("/requiredSkills/1/contentHash", "sha256:hex", "skill", "b", True),
        (
            "/skillBundle/bundleHash",
            "sha256:hex",
            "bundle",
            "00000088-0000-4000-8000-000000000088",
            False,
        ),
    ]


def test_a_task_without_bundle_binds_none(task: dict[str, Any]) -> None:
    task["skillBundle"], task["requiredSkills"] = None, []
    assert list(DHARMA_TASK.bindings(task)) == []


@pytest.mark.parametrize("hostile", [None, 1, "x", [], [None], {}, [{"skillId": 1}]])
def test_bindings_of_an_unfinished_task_never_raise(hostile: Any) -> None:
    found = list(DHARMA_TASK.bindings({"requiredSkills": hostile, "skillBundle": hostile}))
    assert all(binding.ref is None for binding in found)


def test_what_sign_fills_is_where_the_profile_reads_it() -> None:
    assert dict(DHARMA_TASK.fills) == {
        DHARMA_TASK.issued: "now",
        DHARMA_TASK.expires: "expiry",
        "/nonce": "nonce",
        DHARMA_TASK.key_version[0]: "key_version",
    }


def test_identity_stands_in_the_task(task: dict[str, Any]) -> None:
    found = {name: resolve(task, where) for name, where in DHARMA_TASK.identity.items()}
    assert found == {"organisation": "org_test", "workspace": "ws_1", "device": "dev_1"}

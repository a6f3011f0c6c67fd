"""The built-in profiles as a table: their ids, forms and sizes are the published ones."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from taskseal.profiles import (
    ACCEPTANCE,
    AGENT_CARD,
    AISA_MESSAGE,
    BUILT_IN,
    DHARMA_ACTION_DECISION,
    DHARMA_TASK,
    DHARMA_TASK_ACTION,
    ORBIPLEX_TURN_REQUEST,
)

ROWS = [
    ("dharma.task/v1", DHARMA_TASK, "embedded", "/organizationId", 1024 * 1024),
    ("aisa.message/v1", AISA_MESSAGE, "jws", "/case_id", 256 * 1024),
    ("orbiplex.turn-request/v1", ORBIPLEX_TURN_REQUEST, "jws", "/agent~1id", 16 * 1024 * 1024),
    (
        "dharma.action-decision-receipt/v1",
        DHARMA_ACTION_DECISION,
        "embedded",
        "/receipt/organizationId",
        64 * 1024,
    ),
    ("dharma.task-action/v1", DHARMA_TASK_ACTION, "digest", None, 1024 * 1024),
    ("taskseal.acceptance/v1", ACCEPTANCE, "jws", None, 1024 * 1024),
    ("a2a.agent-card/v1", AGENT_CARD, "a2a", None, 1024 * 1024),
]


@pytest.mark.parametrize(("name", "profile", "form", "scope", "size"), ROWS)
def test_a_built_in_profile_is_as_published(
    name: str, profile: Any, form: str, scope: str | None, size: int
) -> None:
    assert BUILT_IN[name] is profile
    assert (profile.id, profile.form, profile.scope, profile.size_limit) == (
        name,
        form,
        scope,
        size,
    )


def test_there_are_no_others() -> None:
    assert set(BUILT_IN) == {name for name, *_ in ROWS}


def test_the_table_cannot_be_written() -> None:
    with pytest.raises(TypeError):
        BUILT_IN["other/v1"] = DHARMA_TASK  # type: ignore[index]  # that is the point


def test_each_profile_has_a_typ_of_its_own() -> None:
    assert {profile.typ for profile in BUILT_IN.values()} == {
        "vnd.taskseal.dharma.task.v1+jws",
        "vnd.taskseal.aisa.message.v1+jws",
        "vnd.taskseal.orbiplex.turn-request.v1+jws",
        "vnd.taskseal.dharma.action-decision-receipt.v1+jws",
        "vnd.taskseal.dharma.task-action.v1+jws",
        "vnd.taskseal.taskseal.acceptance.v1+jws",
        "vnd.taskseal.a2a.agent-card.v1+jws",
    }


def test_importing_the_profiles_loads_nothing_heavy() -> None:
    code = (
        "import sys, taskseal.profiles;"
        "print(sorted({'jsonschema', 'jsonschema_rs', 'nacl', 'cryptography'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"

"""What SECURITY.md says in numbers is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from taskseal.canon.strictjson import parse
from taskseal.errors import REASONS
from taskseal.keys.private import PrivateKey
from taskseal.keys.vault import COST, seal


@pytest.fixture(scope="module")
def notes(root: Path) -> str:
    return (root / "SECURITY.md").read_text(encoding="utf-8")


def test_the_notes_name_the_parameters_that_seal_a_private_key(notes: str) -> None:
    sealed = parse(seal(PrivateKey(bytes(range(32))), b"passphrase")).value
    kdf = sealed["kdf"]
    assert (kdf["passes"], kdf["memory"]) == (COST.passes, COST.memory)
    assert f"`{kdf['name']}`" in notes
    assert f"{kdf['passes']} passes over {kdf['memory'] >> 20} MiB" in notes
    assert f"`{sealed['cipher']}`" in notes


def test_every_reason_that_the_notes_name_exists(notes: str) -> None:
    named = set(re.findall(r"\(`([a-z0-9]+(?:_[a-z0-9]+)+)`\)", notes))
    assert {"weak_key", "published_key", "not_portable", "ledger_unavailable"} <= named
    assert named <= set(REASONS)

"""The lock files pin, with hashes, what pyproject.toml asks for, and name no machine."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ENTRY = re.compile(
    r"^(?P<requirement>\w[^\\#\n]*?) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+",
    re.MULTILINE,
)
LOCKS = ("requirements.lock", "requirements-runtime.lock")


def pinned(text: str) -> dict[str, Requirement]:
    entries = [Requirement(entry["requirement"]) for entry in ENTRY.finditer(text)]
    return {canonicalize_name(entry.name): entry for entry in entries}


def version(entry: Requirement) -> str:
    (one,) = entry.specifier
    assert one.operator == "==", f"{entry} is not pinned"
    return one.version


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    loaded = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    declared: dict[str, Any] = loaded["project"]
    return declared


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_of_a_lock_file_is_a_pin_a_hash_or_a_comment(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    left = [line for line in ENTRY.sub("", text).splitlines() if not re.match(r"^ *(#.*)?$", line)]
    assert left == []
    assert all(version(entry) for entry in pinned(text).values())


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_names_no_host_and_no_path_of_a_machine(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    assert re.findall(r"\w+:/\S*|--(?!hash=)\S+|(?:^|\s)/\S+|\S+\.(?:org|com|net|io)\b", text) == []


def test_the_lock_file_meets_every_bound_of_the_project_and_its_extras(
    root: Path, project: dict[str, Any]
) -> None:
    have = pinned((root / "requirements.lock").read_text(encoding="utf-8"))
    extras = project["optional-dependencies"].values()
    asked = [Requirement(line) for some in [project["dependencies"], *extras] for line in some]
    unmet = [
        str(want)
        for want in asked
        if not want.specifier.contains(version(have[canonicalize_name(want.name)]))
    ]
    assert unmet == []


def test_the_runtime_lock_file_holds_the_same_versions_and_no_tool(
    root: Path, project: dict[str, Any]
) -> None:
    whole = pinned((root / "requirements.lock").read_text(encoding="utf-8"))
    runtime = pinned((root / "requirements-runtime.lock").read_text(encoding="utf-8"))
    assert {name: version(entry) for name, entry in runtime.items()}.items() <= {
        name: version(entry) for name, entry in whole.items()
    }.items()
    needed = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    assert needed <= set(runtime)
    assert not {"pytest", "mypy", "ruff", "hatchling", "blake3", "bcrypt"} & set(runtime)


def test_every_runtime_dependency_has_a_lower_bound_and_no_upper_one(
    project: dict[str, Any],
) -> None:
    bounds = {
        want.name: [one.operator for one in want.specifier]
        for want in map(Requirement, project["dependencies"])
    }
    assert set(map(tuple, bounds.values())) == {(">=",)}

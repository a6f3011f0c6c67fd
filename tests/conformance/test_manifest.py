"""The README of this folder and the sets at hand tell the same story."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).with_name("README.md")


@pytest.fixture(scope="module")
def manifest(conformance: Path) -> list[dict[str, Any]]:
    loaded = json.loads((conformance / "MANIFEST.json").read_text(encoding="utf-8"))
    sets: list[dict[str, Any]] = loaded["sets"]
    return sets


def rows() -> dict[str, list[str]]:
    cells = (
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in README.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    )
    return {name: rest for name, *rest in cells}


def test_the_readme_lists_the_sets_of_the_manifest_and_no_other(
    manifest: list[dict[str, Any]],
) -> None:
    assert set(rows()) == {one["set"] for one in manifest}


def test_each_set_has_the_version_and_licence_that_the_readme_names(
    manifest: list[dict[str, Any]],
) -> None:
    said = {name: (version, licence) for name, (_, version, licence, _) in rows().items()}
    assert said == {one["set"]: (one["commit_or_version"], one["licence"]) for one in manifest}


def test_each_set_has_as_many_files_as_the_manifest_counts(
    manifest: list[dict[str, Any]], conformance: Path
) -> None:
    found = {
        one["set"]: sum(path.is_file() for path in (conformance / one["set"]).rglob("*"))
        for one in manifest
    }
    assert found == {one["set"]: one["files"] for one in manifest}

"""The committed test data is what SOURCES.md says it is."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

ROW = re.compile(
    r"^\| `(?P<set>[a-z0-9-]+)` \| (?P<files>\d+) \| (?P<origin>[^|]+) \| (?P<licence>[^|]+) "
    r"\| `(?P<sha256>[0-9a-f]{64})` \|$",
    re.MULTILINE,
)


def listed(vectors: Path) -> dict[str, re.Match[str]]:
    text = (vectors / "SOURCES.md").read_text(encoding="utf-8")
    return {row["set"]: row for row in ROW.finditer(text)}


def fingerprint(folder: Path) -> tuple[int, str]:
    """How many files a set has, and the SHA-256 of its `sha256sum` listing."""
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    lines = [
        f"{hashlib.sha256(files[name].read_bytes()).hexdigest()}  {name}\n"
        for name in sorted(files, key=str.encode)
    ]
    return len(files), hashlib.sha256("".join(lines).encode()).hexdigest()


def test_every_committed_set_is_listed_with_its_origin_and_licence(vectors: Path) -> None:
    there = {path.name for path in vectors.iterdir() if path.is_dir()}
    assert set(listed(vectors)) == there


def test_every_file_beside_the_sets_is_accounted_for(vectors: Path) -> None:
    text = (vectors / "SOURCES.md").read_text(encoding="utf-8")
    beside = {path.name for path in vectors.iterdir() if path.is_file()} - {"SOURCES.md"}
    assert {name for name in beside if f"`{name}`" not in text} == set()


def test_every_set_has_the_bytes_that_its_sha256_names(vectors: Path) -> None:
    found = {name: fingerprint(vectors / name) for name in listed(vectors)}
    said = {name: (int(row["files"]), row["sha256"]) for name, row in listed(vectors).items()}
    assert found == said


def test_line_ends_that_are_the_test_survived_the_checkout(vectors: Path) -> None:
    keys = vectors / "cases" / "18-pem-crlf"
    assert b"\r\n" in (keys / "crlf.pem").read_bytes()
    assert (keys / "bom.pem").read_bytes().startswith(b"\xef\xbb\xbf")
    assert not (keys / "no-final-newline.pem").read_bytes().endswith(b"\n")

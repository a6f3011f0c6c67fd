"""The published test data of RFC 8785: six documents and ten thousand numbers."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from taskseal.canon.jcs import canonicalise, cross_check, recanonicalise
from taskseal.canon.numbers import write_float
from taskseal.canon.writer import write

DOCUMENTS = ["arrays", "french", "structures", "unicode", "values", "weird"]


@pytest.fixture(scope="module")
def published(conformance: Path) -> Path:
    return conformance / "jcs-cyberphone"


def test_the_documents_listed_here_are_all_there_are(published: Path) -> None:
    assert {path.stem for path in (published / "testdata/input").iterdir()} == set(DOCUMENTS)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_document_has_the_published_form(published: Path, name: str) -> None:
    data = (published / f"testdata/input/{name}.json").read_bytes()
    expected = (published / f"testdata/output/{name}.json").read_bytes()
    in_hex = (published / f"testdata/outhex/{name}.txt").read_text(encoding="ascii")
    assert bytes.fromhex(in_hex) == expected
    assert recanonicalise(data) == expected
    value = json.loads(data)
    assert canonicalise(value) == write(value) == cross_check(value) == expected


def test_ten_thousand_numbers_have_the_published_form(published: Path) -> None:
    lines = (published / "es6numbers-10000.txt").read_text(encoding="ascii").splitlines()
    assert len(lines) == 10_000
    wrong = []
    for line in lines:
        word, expected = line.split(",")
        [number] = struct.unpack(">d", int(word, 16).to_bytes(8, "big"))
        if not write_float(number) == canonicalise(number).decode() == expected:
            wrong.append(line)
    assert wrong == []

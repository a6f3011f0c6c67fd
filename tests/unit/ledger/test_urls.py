"""Ledgers by URL: what is understood, what is refused, and what an open one is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskseal.errors import MaterialError, Reason, Unavailable
from taskseal.ledger import Claim, MemoryLedger, ReplayId, Won, open_ledger

NOW = 1_800_000_000_000_000_000


def claim(name: str) -> Claim:
    return Claim("p/v1", (ReplayId("s", name),), b"f" * 32, NOW + 10, NOW + 10)


def test_memory_opens_a_ledger_of_its_own_each_time() -> None:
    with open_ledger("memory:") as one, open_ledger("memory:") as other:
        assert isinstance(one, MemoryLedger)
        assert isinstance(one.claim(claim("a"), NOW), Won)
        assert isinstance(other.claim(claim("a"), NOW), Won)


@pytest.mark.parametrize("scheme", ["memory:", "sqlite:ledger.db"])
def test_max_records_bounds_the_ledger(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_ledger(f"{scheme}?max_records=1") as ledger:
        assert isinstance(ledger.claim(claim("a"), NOW), Won)
        with pytest.raises(Unavailable, match="full: 1 records") as caught:
            ledger.claim(claim("b"), NOW)
    assert caught.value.code is Reason.LEDGER_UNAVAILABLE
    assert "max_records" in caught.value.hint


def test_a_relative_path_is_relative_to_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_ledger("sqlite:ledger.db") as ledger:
        monkeypatch.chdir("/")
        assert isinstance(ledger.claim(claim("a"), NOW), Won)
    assert (tmp_path / "ledger.db").is_file()


@pytest.mark.parametrize("name", ["plain.db", "a b.db", "ü.db", "50%20.db", "a#b.db", "file:x.db"])
@pytest.mark.parametrize("prefix", ["sqlite:", "sqlite://"])
def test_an_absolute_path_is_taken_literally(name: str, prefix: str, tmp_path: Path) -> None:
    with open_ledger(f"{prefix}{tmp_path}/{name}"):
        assert name in os.listdir(tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "sqlite",
        "Memory:",
        "redis://localhost",
        "postgresql://localhost/x",
        "/var/lib/ledger.db",
        "C:\\ledger.db",
        "memory:x",
        "memory:?",
        "memory:?max_records",
        "memory:?max_records=",
        "memory:?max_records=0",
        "memory:?max_records=-1",
        "memory:?max_records=+1",
        "memory:?max_records=1.5",
        "memory:?max_records=1e3",
        "memory:?max_records=1_000",
        "memory:?max_records= 1",
        "memory:?max_records=१",
        "memory:?max_records=²",
        "memory:?max_records=9223372036854775808",
        "memory:?max_records=" + "9" * 5000,
        "memory:?max_records=1&max_records=2",
        "memory:?maxrecords=1",
        "memory:?max_records=1?",
        "sqlite:",
        "sqlite:?max_records=1",
        "sqlite::memory:",
        "sqlite://host/ledger.db",
        "sqlite:a\0b",
    ],
)
def test_what_is_not_understood_is_refused_with_what_is_known(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MaterialError) as caught:
        open_ledger(url)
    assert caught.value.code is Reason.USAGE
    assert caught.value.exit_code == 2
    assert "memory:?max_records=N" in caught.value.hint
    assert "sqlite:PATH" in caught.value.hint
    assert os.listdir(tmp_path) == []


def test_sqlite_is_imported_only_for_a_sqlite_ledger(tmp_path: Path) -> None:
    script = (
        "import sys; from taskseal.ledger import open_ledger\n"
        "open_ledger('memory:'); before = 'sqlite3' in sys.modules\n"
        f"open_ledger({f'sqlite:{tmp_path}/l.db'!r}).close(); print(before, 'sqlite3' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]

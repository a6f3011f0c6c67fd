"""The file of a SQLite ledger: private from its first byte, and never mistaken for another."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskseal.errors import Reason, Unavailable
from taskseal.ledger import Claim, Duplicate, Ledger, ReplayId, Won, open_ledger

NOW = 1_800_000_000_000_000_000


def claim(name: str) -> Claim:
    return Claim("p/v1", (ReplayId("s", name),), b"f" * 32, NOW + 10, NOW + 10)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o177, 0o777], ids="umask {:03o}".format)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def refused(url: str, *, create_folder: bool = False) -> Unavailable:
    """How opening ``url`` fails."""
    with pytest.raises(Unavailable) as caught:
        open_ledger(url, create_folder=create_folder)
    assert caught.value.code is Reason.LEDGER_UNAVAILABLE
    assert caught.value.exit_code == 5
    return caught.value


def test_a_new_file_and_its_companions_are_private_whatever_the_umask(
    umask: int, path: Path
) -> None:
    with open_ledger(f"sqlite:{path}") as ledger:
        ledger.claim(claim("a"), NOW)
        found = {file.name: mode(file) for file in path.parent.iterdir()}
    assert found == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}


def test_a_new_file_is_private_before_anything_is_written_to_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = os.open

    def watched(name: str, flags: int, *arguments: int) -> int:
        opened = real(name, flags, *arguments)
        if name == str(path):
            seen.append((stat.S_IMODE(os.fstat(opened).st_mode), bool(flags & os.O_EXCL)))
        return opened

    monkeypatch.setattr(os, "open", watched)
    before = os.umask(0)
    try:
        open_ledger(f"sqlite:{path}").close()
    finally:
        os.umask(before)
    assert seen == [(0o600, True)]


def test_the_mode_of_a_file_that_stands_is_left_alone(path: Path) -> None:
    open_ledger(f"sqlite:{path}").close()
    path.chmod(0o640)
    with open_ledger(f"sqlite:{path}") as ledger:
        ledger.claim(claim("a"), NOW)
        assert mode(path) == mode(path.with_name("ledger.db-wal")) == 0o640


def test_a_missing_folder_is_unavailable_and_stays_missing(tmp_path: Path) -> None:
    fault = refused(f"sqlite:{tmp_path}/no/such/ledger.db")
    assert "make the folder" in fault.hint
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_made_private_when_it_is_asked_for(umask: int, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "ledger.db"
    if umask in (0o177, 0o777) and os.geteuid() != 0:
        pytest.skip("under this umask only root can enter the folder that it makes")
    open_ledger(f"sqlite:{path}", create_folder=True).close()
    assert mode(path.parent) & 0o077 == mode(path.parent.parent) & 0o077 == 0
    assert mode(path) == 0o600


def test_a_folder_that_stands_is_used_as_it_is(path: Path) -> None:
    path.parent.chmod(0o755)
    open_ledger(f"sqlite:{path}", create_folder=True).close()
    assert mode(path.parent) == 0o755


def test_a_file_in_the_place_of_the_folder_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    refused(f"sqlite:{tmp_path}/file/ledger.db")
    refused(f"sqlite:{tmp_path}/file/ledger.db", create_folder=True)


@pytest.mark.parametrize("target", ["other.db", "no such file", "."])
def test_a_link_is_refused_and_what_it_names_is_untouched(target: str, path: Path) -> None:
    other = path.with_name("other.db")
    open_ledger(f"sqlite:{other}").close()
    before = other.read_bytes()
    path.symlink_to(target)
    assert "symbolic link" in refused(f"sqlite:{path}").detail
    assert other.read_bytes() == before
    assert not path.with_name("no such file").exists()


@pytest.mark.parametrize("companion", ["-wal", "-shm", "-journal"])
def test_a_link_in_the_place_of_a_companion_is_refused(companion: str, path: Path) -> None:
    open_ledger(f"sqlite:{path}").close()
    other = path.with_name("other")
    other.write_text("precious")
    path.with_name(path.name + companion).symlink_to(other)
    assert "symbolic link" in refused(f"sqlite:{path}").detail
    assert other.read_text() == "precious"


def test_a_folder_or_a_pipe_is_no_ledger(tmp_path: Path) -> None:
    assert "no regular file" in refused(f"sqlite:{tmp_path}").detail
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in refused(f"sqlite:{tmp_path}/pipe").detail
    refused("sqlite:/dev/null")


def test_a_file_with_two_names_is_refused_under_both(path: Path) -> None:
    open_ledger(f"sqlite:{path}").close()
    second = path.with_name("second.db")
    os.link(path, second)
    for name in (path, second):
        assert "2 names" in refused(f"sqlite:{name}").detail


@pytest.mark.parametrize("fate", ["missing", "empty"])
def test_a_ledger_that_lost_its_file_but_not_its_log_is_not_begun_anew(
    fate: str, path: Path
) -> None:
    ledger = open_ledger(f"sqlite:{path}")
    ledger.claim(claim("a"), NOW)
    path.unlink()
    if fate == "empty":
        path.touch()
    assert "missing or empty, but its write-ahead log" in refused(f"sqlite:{path}").detail
    assert path.exists() == (fate == "empty")
    ledger.close()


@pytest.mark.parametrize("fate", ["removed", "replaced", "linked"])
def test_a_file_that_was_replaced_while_it_was_open_is_unavailable(fate: str, path: Path) -> None:
    ledger = open_ledger(f"sqlite:{path}")
    assert isinstance(ledger.claim(claim("a"), NOW), Won)
    path.rename(path.with_name("moved"))
    if fate == "replaced":
        open_ledger(f"sqlite:{path.with_name('new')}").close()
        path.with_name("new").rename(path)
    if fate == "linked":
        path.symlink_to("moved")
    for _ in range(2):
        with pytest.raises(Unavailable):
            ledger.claim(claim("b"), NOW)
        with pytest.raises(Unavailable):
            ledger.lookup(claim("a").ids, b"f" * 32, NOW)
    ledger.close()


@pytest.mark.parametrize("length", [1, 15, 16, 99, 100, 4096, 10_000])
@pytest.mark.parametrize("filling", [b"\0", b"not a database\n", b"\xff"])
def test_a_file_that_is_no_database_is_unavailable_and_untouched(
    length: int, filling: bytes, path: Path
) -> None:
    content = (filling * length)[:length]
    path.write_bytes(content)
    refused(f"sqlite:{path}")
    assert path.read_bytes() == content


def test_another_programs_database_is_unavailable_and_untouched(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    assert "another program's" in refused(f"sqlite:{path}").detail
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("pragma", "said"),
    [
        ("user_version = 2", "version 2"),
        ("user_version = 0", "version 0"),
        ("user_version = -1", "version -1"),
        ("application_id = 0", "another program's"),
        ("application_id = 252006674", "another program's"),
    ],
)
def test_a_ledger_of_another_version_is_unavailable_and_untouched(
    pragma: str, said: str, path: Path
) -> None:
    open_ledger(f"sqlite:{path}").close()
    altered = sqlite3.connect(path)
    altered.execute(f"PRAGMA {pragma}")
    altered.commit()
    altered.close()
    before = path.read_bytes()
    assert said in refused(f"sqlite:{path}").detail
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()
    with open_ledger(f"sqlite:{path}") as ledger:
        assert isinstance(ledger.claim(claim("a"), NOW), Won)
    with open_ledger(f"sqlite:{path}") as ledger:
        assert ledger.claim(claim("a"), NOW) == Duplicate(None)


def test_a_commit_is_on_the_disk_before_it_is_answered(path: Path) -> None:
    with open_ledger(f"sqlite:{path}"):
        second = sqlite3.connect(path)
        assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        second.close()
    # What is asked of the connection itself: FULL is 2.
    script = (
        "import sqlite3, sys; from taskseal.ledger import open_ledger\n"
        "made = []; real = sqlite3.connect\n"
        "sqlite3.connect = lambda *a, **k: made.append(real(*a, **k)) or made[-1]\n"
        "ledger = open_ledger('sqlite:' + sys.argv[1])\n"
        "print(made[0].execute('PRAGMA synchronous').fetchone()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2"


def test_lookups_and_refused_claims_leave_the_file_as_it_is(path: Path) -> None:
    def content() -> list[bytes]:
        return [file.read_bytes() for file in (path, path.with_name("ledger.db-wal"))]

    def ask(ledger: Ledger) -> None:
        ledger.lookup(claim("a").ids, b"f" * 32, NOW)
        ledger.claim(claim("a"), NOW)
        ledger.claim(Claim("p/v1", claim("a").ids, b"g" * 32, NOW, NOW), NOW)
        ledger.reserve(claim("a"), NOW, 1)
        ledger.counter("s")
        ledger.horizon("p/v1")
        ledger.purge(NOW)

    with open_ledger(f"sqlite:{path}") as ledger:
        ledger.claim(claim("a"), NOW)
        before = content()
        ask(ledger)
        assert content() == before

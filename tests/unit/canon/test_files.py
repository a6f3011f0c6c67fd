"""Digests of streams and files: constant memory, and no digest of a file that changes."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from taskseal.canon.digest import Digest
from taskseal.canon.files import CHUNK_BYTES, Hashed, hash_file, read_stream
from taskseal.errors import InputError, Reason

SIZES = [0, 1, 1000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7]
MIB = 1 << 20


class OneReadAtATime(io.RawIOBase):
    """A stream without readinto of its own that gives little at once."""

    readinto = None  # type: ignore[assignment]

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.left = data

    def read(self, size: int = -1) -> bytes:
        piece, self.left = self.left[: min(size, 1000)], self.left[min(size, 1000) :]
        return piece


class Nothing(io.RawIOBase):
    def readinto(self, buffer: Any) -> None:
        return None


class NothingToRead(Nothing):
    readinto = None  # type: ignore[assignment]

    def read(self, size: int = -1) -> None:
        return None


class Broken(io.RawIOBase):
    def readinto(self, buffer: Any) -> int:
        raise OSError("the disk is on fire")


def refused(act: Callable[[], object]) -> InputError:
    with pytest.raises(InputError) as caught:
        act()
    return caught.value


@pytest.mark.parametrize("size", SIZES)
def test_streams_and_files_give_digest_and_size(size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    path = tmp_path / "file"
    path.write_bytes(data)
    expected = Hashed(Digest("sha256", hashlib.sha256(data).digest()), size)
    assert read_stream(io.BytesIO(data)) == expected
    assert read_stream(OneReadAtATime(data)) == expected  # type: ignore[arg-type]
    assert hash_file(path) == expected
    assert hash_file(str(path)) == expected


@pytest.mark.parametrize("size", SIZES)
def test_progress_adds_up_to_the_size(size: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    told: list[int] = []
    hash_file(path, progress=told.append)
    assert sum(told) == size
    told.clear()
    read_stream(io.BytesIO(bytes(size)), progress=told.append)
    assert sum(told) == size
    assert all(0 < step <= CHUNK_BYTES for step in told)


def test_a_stream_is_read_from_where_it_stands() -> None:
    stream = io.BytesIO(b"head-tail")
    stream.seek(5)
    assert read_stream(stream) == Hashed(Digest.of(b"tail"), 4)


def test_a_stream_of_text_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with path.open() as text:
        assert refused(lambda: read_stream(text)).code is Reason.USAGE  # type: ignore[arg-type]
    error = refused(lambda: read_stream(io.StringIO("x")))  # type: ignore[arg-type]
    assert error.code is Reason.USAGE
    assert "'rb'" in error.hint


def closed() -> BinaryIO:
    stream = io.BytesIO(b"x")
    stream.close()
    return stream


@pytest.mark.parametrize("make", [Nothing, NothingToRead, Broken, closed])
def test_a_stream_that_fails_is_unreadable(make: Callable[[], Any]) -> None:
    assert refused(lambda: read_stream(make())).code is Reason.FILE_UNREADABLE


@pytest.mark.parametrize("name", ["nothing", "file/below"])
def test_a_missing_file_is_missing(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert refused(lambda: hash_file(tmp_path / name)).code is Reason.FILE_MISSING


def test_what_is_no_regular_file_is_unreadable(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tmp_path)  # a socket's path is short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        for place in (tmp_path, tmp_path / "pipe", tmp_path / "socket", Path("/dev/null")):
            error = refused(lambda place=place: hash_file(place))  # type: ignore[misc]
            assert error.code is Reason.FILE_UNREADABLE


def test_a_path_that_no_system_takes_is_unreadable(tmp_path: Path) -> None:
    assert refused(lambda: hash_file("a\0b")).code is Reason.FILE_UNREADABLE
    assert refused(lambda: hash_file(tmp_path / ("x" * 300))).code is Reason.FILE_UNREADABLE


def test_control_characters_in_a_name_do_not_reach_the_message(tmp_path: Path) -> None:
    error = refused(lambda: hash_file(tmp_path / "a\x1b[31m"))
    assert "\x1b" not in str(error)


def test_a_file_without_permission_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")

    def forbid(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", forbid)
    error = refused(lambda: hash_file(path))
    assert error.code is Reason.FILE_UNREADABLE
    assert "Permission denied" in error.detail


def test_a_link_to_a_file_is_followed_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert hash_file(tmp_path / "link").digest == Digest.of(b"x")
    error = refused(lambda: hash_file(tmp_path / "link", follow=False))
    assert error.code is Reason.FILE_UNREADABLE


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"other")
    os.utime(path, (1, 1))


def touch(path: Path) -> None:
    os.utime(path, (1, 1))


@pytest.mark.parametrize("size", [0, 10, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
@pytest.mark.parametrize("change", [append, overwrite, touch, lambda path: os.truncate(path, 3)])
def test_a_file_that_changes_while_it_is_read_has_no_digest(
    change: Callable[[Path], None], size: int, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    os.utime(path, (5, 5))
    error = refused(lambda: hash_file(path, progress=lambda step: change(path)))
    assert error.code is Reason.FILE_CHANGED
    assert str(path) in error.detail


def test_a_file_that_grows_is_left_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(CHUNK_BYTES))
    steps: list[int] = []

    def grow(step: int) -> None:
        steps.append(step)
        with path.open("ab") as file:
            file.write(bytes(CHUNK_BYTES))

    assert refused(lambda: hash_file(path, progress=grow)).code is Reason.FILE_CHANGED
    assert len(steps) == 1


def test_a_failing_disk_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")

    def fail(descriptor: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", fail)
    assert refused(lambda: hash_file(path)).code is Reason.FILE_UNREADABLE


def test_what_the_progress_callback_raises_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")

    def fail(step: int) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        hash_file(path, progress=fail)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(2 * CHUNK_BYTES))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    hash_file(path)
    refused(lambda: hash_file(path, progress=lambda step: touch(path)))
    refused(lambda: hash_file(tmp_path))
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def test_a_large_file_is_hashed_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(256 * MIB)
    tracemalloc.start()
    try:
        hashed = hash_file(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert hashed.size == 256 * MIB
    assert peak < 32 * MIB

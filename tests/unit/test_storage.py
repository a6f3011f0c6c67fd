"""The one place that writes: whole files or none, private from the first byte, links refused."""

from __future__ import annotations

import errno
import multiprocessing
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from taskseal.errors import InputError, Reason, Unavailable
from taskseal.storage import (
    Disk,
    lock,
    make_folder,
    read_file,
    remove,
    sweep,
    write_atomic,
)


class Trace(Disk):
    """The real disk, with every call written down; one of them may be made to fail."""

    def __init__(self, fail: str = "", error: int = errno.ENOSPC) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._fail = fail
        self._error = error

    def _note(self, name: str, *about: Any) -> None:
        self.calls.append((name, *about))
        if name == self._fail:
            raise OSError(self._error, os.strerror(self._error))

    def open(self, path: Path, flags: int, mode: int) -> int:
        self._note("open", path.name, flags, mode)
        return super().open(path, flags, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._note("write", bytes(data))
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self._note("fsync")
        super().fsync(fd)

    def rename(self, source: Path, target: Path) -> None:
        self._note("rename", target.name)
        super().rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        self._note("link", target.name)
        super().link(source, target)

    def unlink(self, path: Path) -> None:
        self._note("unlink")
        super().unlink(path)

    def mkdir(self, path: Path, mode: int) -> None:
        self._note("mkdir", path.name, mode)
        super().mkdir(path, mode)

    def sync_folder(self, path: Path) -> None:
        self._note("sync_folder", path.name)
        super().sync_folder(path)


class Sips(Disk):
    """A disk that takes three bytes a call."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return super().write(fd, bytes(data)[:3])


@pytest.fixture
def mask() -> Iterator[Callable[[int], None]]:
    before = os.umask(0o022)

    def change(value: int) -> None:
        os.umask(value)

    yield change
    os.umask(before)


def refused(call: Callable[[], object]) -> InputError:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.exit_code == (3 if caught.value.code is Reason.TOO_LARGE else 6)
    return caught.value


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_file_is_private_in_the_very_call_that_makes_it(
    umask: int, tmp_path: Path, mask: Callable[[int], None]
) -> None:
    """Case 48: no moment at which another user could open it."""
    mask(umask)
    disk = Trace()
    write_atomic(tmp_path / "k.pem", b"secret", disk=disk)
    (opened,) = [call for call in disk.calls if call[0] == "open"]
    assert opened[3] == 0o600
    assert opened[2] & os.O_EXCL
    assert opened[2] & os.O_NOFOLLOW
    assert mode_of(tmp_path / "k.pem") == 0o600


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0, 0o644)])
def test_a_public_file_obeys_the_umask(
    umask: int, mode: int, tmp_path: Path, mask: Callable[[int], None]
) -> None:
    mask(umask)
    write_atomic(tmp_path / "pins.json", b"{}", mode=0o644)
    assert mode_of(tmp_path / "pins.json") == mode


def test_the_content_is_on_disk_before_it_has_its_name(tmp_path: Path) -> None:
    for overwrite, step in ((False, "link"), (True, "rename")):
        disk = Trace()
        write_atomic(tmp_path / f"f{step}", b"data", overwrite=overwrite, disk=disk)
        names = [call[0] for call in disk.calls]
        assert names.index("write") < names.index("fsync") < names.index(step)
        assert names[-1] == "sync_folder"


@pytest.mark.parametrize("size", [0, 1, 2, 3, 100_000])
def test_any_content_is_written_whole_also_in_sips(size: int, tmp_path: Path) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    for disk in (Disk(), Sips()):
        path = tmp_path / type(disk).__name__
        write_atomic(path, data[:size], disk=disk)
        assert path.read_bytes() == data[:size]


def test_an_existing_file_is_kept_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_atomic(path, b"old")
    assert refused(lambda: write_atomic(path, b"new")).code is Reason.FILE_EXISTS
    assert path.read_bytes() == b"old"
    write_atomic(path, b"new", overwrite=True)
    assert path.read_bytes() == b"new"


def test_a_file_that_comes_into_being_during_the_write_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "f"

    class Rival(Disk):
        def fsync(self, fd: int) -> None:
            path.write_bytes(b"rival")
            super().fsync(fd)

    assert refused(lambda: write_atomic(path, b"mine", disk=Rival())).code is Reason.FILE_EXISTS
    assert path.read_bytes() == b"rival"
    assert os.listdir(tmp_path) == ["f"]


def test_one_of_many_writers_wins_and_the_others_are_told(tmp_path: Path) -> None:
    path = tmp_path / "f"
    outcomes: list[str] = []

    def write(number: int) -> None:
        try:
            write_atomic(path, b"%d" % number)
            outcomes.append("written")
        except InputError as error:
            outcomes.append(error.code.value)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["file_exists"] * 11 + ["written"]
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("aim", ["file", "nothing", "folder"])
def test_a_symbolic_link_is_never_written_through(
    overwrite: bool, aim: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"precious")
    (tmp_path / "folder").mkdir()
    path = tmp_path / "link"
    path.symlink_to(tmp_path / aim)
    error = refused(lambda: write_atomic(path, b"new", overwrite=overwrite))
    assert error.code is Reason.FILE_UNWRITABLE
    assert path.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"precious"
    assert not (tmp_path / "nothing").exists()


def test_a_link_put_in_place_during_the_write_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    path = tmp_path / "f"

    class Swap(Disk):
        def fsync(self, fd: int) -> None:
            path.symlink_to(victim)
            super().fsync(fd)

    write_atomic(path, b"new", overwrite=True, disk=Swap())
    assert victim.read_bytes() == b"precious"
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_regular_file_is_never_replaced(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        error = refused(lambda name=name: write_atomic(tmp_path / name, b"", overwrite=overwrite))  # type: ignore[misc]
        assert error.code is Reason.FILE_UNWRITABLE
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "link", "unlink"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    call: str, error: int, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.write_bytes(b"old")
    disk = Trace(call, error)
    if call in ("link", "unlink"):
        failed = refused(lambda: write_atomic(tmp_path / "new", b"new", disk=disk))
        assert not (tmp_path / "new").exists() or call == "unlink"
    else:
        failed = refused(lambda: write_atomic(old, b"new", overwrite=True, disk=disk))
    assert failed.code is Reason.FILE_UNWRITABLE
    assert old.read_bytes() == b"old"
    if call != "unlink":
        assert os.listdir(tmp_path) == ["old"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK])
def test_without_hard_links_a_new_file_is_still_written_and_an_old_one_kept(
    number: int, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    write_atomic(path, b"one", disk=Trace("link", number))
    assert path.read_bytes() == b"one"
    assert mode_of(path) == 0o600
    error = refused(lambda: write_atomic(path, b"two", disk=Trace("link", number)))
    assert error.code is Reason.FILE_EXISTS
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["f"]


def test_without_hard_links_a_failed_rename_leaves_no_name_behind(tmp_path: Path) -> None:
    class Both(Trace):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(errno.EPERM, "no links")

    error = refused(lambda: write_atomic(tmp_path / "f", b"x", disk=Both("rename")))
    assert error.code is Reason.FILE_UNWRITABLE
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300, "", ".", "/", "..", "no/such/f"])
def test_a_name_that_no_file_can_have_is_told(name: str, tmp_path: Path) -> None:
    path = f"{tmp_path}/{name}" if name not in ("", ".", "/", "..") else name
    error = refused(lambda: write_atomic(path, b"x"))
    assert error.code is Reason.FILE_UNWRITABLE
    str(error).encode()
    assert os.listdir(tmp_path) == []


def test_a_long_name_is_no_hindrance(tmp_path: Path) -> None:
    write_atomic(tmp_path / ("x" * 255), b"x")
    assert os.listdir(tmp_path) == ["x" * 255]


def test_a_path_of_control_characters_is_shown_escaped(tmp_path: Path) -> None:
    error = refused(lambda: read_file(tmp_path / "a\x1b[2Jb", 10))
    assert "\x1b" not in str(error)


def test_a_regular_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "f"
    for size in (0, 1, 10, 200_000):
        path.write_bytes(b"x" * size)
        assert read_file(path, size) == b"x" * size
        if size:
            error = refused(lambda size=size: read_file(path, size - 1))  # type: ignore[misc]
            assert error.code is Reason.TOO_LARGE


def test_reading_goes_through_a_link_to_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to("f")
    assert read_file(tmp_path / "link", 10) == b"x"


def test_what_is_absent_is_missing(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("nothing", "f/below", "dangling", "a\0b", "\ud800"):
        error = refused(lambda name=name: read_file(f"{tmp_path}/{name}", 10))  # type: ignore[misc]
        assert error.code is Reason.FILE_MISSING


def test_a_folder_a_device_a_socket_and_a_loop_are_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # a socket's name is short
        listening.bind("socket")
        for path in (tmp_path, Path("/dev/zero"), tmp_path / "socket", tmp_path / "loop"):
            error = refused(lambda path=path: read_file(path, 10))  # type: ignore[misc]
            assert error.code is Reason.FILE_UNREADABLE


def test_a_file_without_permission_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(*_: object) -> int:
        # What open(2) says to anyone but root, whom permissions do not stop.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", forbid)
    error = refused(lambda: read_file(tmp_path / "f", 10))
    assert error.code is Reason.FILE_UNREADABLE
    assert "Permission denied" in error.detail


def test_a_pipe_is_read_only_where_pipes_are_taken_and_never_hangs(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"pass\n")
    os.close(writing)
    name = f"/dev/fd/{reading}"
    assert refused(lambda: read_file(name, 10)).code is Reason.FILE_UNREADABLE
    assert read_file(name, 10, pipes=True) == b"pass\n"
    os.close(reading)
    os.mkfifo(tmp_path / "pipe")
    assert read_file(tmp_path / "pipe", 10, pipes=True) == b""


def test_a_folder_and_its_parents_are_private(tmp_path: Path, mask: Callable[[int], None]) -> None:
    mask(0)
    make_folder(tmp_path / "a/b/c")
    for name in ("a", "a/b", "a/b/c"):
        assert mode_of(tmp_path / name) == 0o700
    make_folder(tmp_path / "a/b/c")


def test_a_folder_that_stands_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    make_folder(tmp_path / "a")
    assert mode_of(tmp_path / "a") == 0o755


def test_a_folder_cannot_be_made_where_a_file_stands(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("f", "f/below", "link", "a\0b"):
        error = refused(lambda name=name: make_folder(f"{tmp_path}/{name}"))  # type: ignore[misc]
        assert error.code is Reason.FILE_UNWRITABLE


def test_a_folder_made_by_a_rival_meanwhile_is_fine(tmp_path: Path) -> None:
    class Rival(Disk):
        def mkdir(self, path: Path, mode: int) -> None:
            path.mkdir()
            super().mkdir(path, mode)

    make_folder(tmp_path / "a/b", disk=Rival())
    assert (tmp_path / "a/b").is_dir()


def test_removing_is_durable_and_may_be_done_twice(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    disk = Trace()
    remove(tmp_path / "f", disk=disk)
    assert [call[0] for call in disk.calls] == ["unlink", "sync_folder"]
    remove(tmp_path / "f")
    for name in ("", "a\0b"):
        error = refused(lambda name=name: remove(f"{tmp_path}/{name}"))  # type: ignore[misc]
        assert error.code is Reason.FILE_UNWRITABLE


def test_what_interrupted_writes_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    class Crash(Trace):
        def link(self, source: Path, target: Path) -> None:
            raise KeyboardInterrupt

        def unlink(self, path: Path) -> None:
            raise OSError(errno.EIO, "gone")

    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "f", b"half", disk=Crash())
    (tmp_path / ".other").write_bytes(b"")
    assert len(os.listdir(tmp_path)) == 2
    sweep(tmp_path)
    assert os.listdir(tmp_path) == [".other"]
    assert refused(lambda: sweep(tmp_path / "none")).code is Reason.FILE_UNWRITABLE


def test_the_lock_lets_one_holder_in_at_a_time(tmp_path: Path) -> None:
    with lock(tmp_path):
        assert mode_of(tmp_path / "lock") == 0o600
        with pytest.raises(Unavailable) as caught, lock(tmp_path, wait=0):
            pass
        assert caught.value.code is Reason.KEYRING_BUSY
        assert caught.value.exit_code == 4
        assert caught.value.retryable
    with lock(tmp_path, wait=0):
        assert (tmp_path / "lock").exists()


def test_the_lock_is_free_again_after_an_error_inside(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="inside"), lock(tmp_path):
        raise OSError(errno.EIO, "inside")
    with lock(tmp_path, wait=0):
        assert (tmp_path / "lock").exists()


def _hold(folder: Path, held: Any) -> None:
    with lock(folder):
        held.set()
        os._exit(0)


def test_the_lock_falls_with_its_process(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    held = context.Event()
    process = context.Process(target=_hold, args=(tmp_path, held))
    process.start()
    process.join()
    assert held.is_set()
    with lock(tmp_path, wait=0):
        assert (tmp_path / "lock").exists()


def test_a_lock_is_not_taken_through_a_link_or_without_a_folder(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError) as caught, lock(folder):
            pass
        assert caught.value.code is Reason.FILE_UNWRITABLE
    assert not (tmp_path / "elsewhere").exists()

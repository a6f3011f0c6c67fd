"""The one place that writes files, so that a crash leaves the old state or the new one.

A write is: a temporary file beside the target, private from its first byte; its content;
fsync; one rename or link onto the name; fsync of the folder. Every call to the operating
system goes through a :class:`Disk`, so that a test can record a write and stop it anywhere.

Source: SPEC sections 4.4 and 4.11; rename(2), link(2), fsync(2), flock(2).
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from taskseal.errors import InputError, Reason, Unavailable

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
LOCK_WAIT = 10.0
"""Seconds that a writer waits for another one."""

_LOCK_PAUSE = 0.02
_READ_SIZE = 1 << 16
TEMPORARY = ".taskseal-"
"""How the names of files begin that an interrupted write leaves behind; `sweep` removes them."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK})


class Disk:
    """The operating system's calls that change or sync what is on disk, one method each."""

    def open(self, path: Path, flags: int, mode: int) -> int:
        """open(2); the mode is the one that the file has from its first byte."""
        return os.open(path, flags, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """write(2); the number of bytes taken."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """fsync(2) of a file."""
        os.fsync(fd)

    def close(self, fd: int) -> None:
        """close(2)."""
        os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        """rename(2): replaces ``target``."""
        os.rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        """link(2): fails where ``target`` exists."""
        os.link(source, target, follow_symlinks=False)

    def unlink(self, path: Path) -> None:
        """unlink(2)."""
        os.unlink(path)

    def mkdir(self, path: Path, mode: int) -> None:
        """mkdir(2)."""
        os.mkdir(path, mode)

    def sync_folder(self, path: Path) -> None:
        """fsync(2) of a folder: makes the names in it durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


REAL_DISK = Disk()


def read_file(path: str | os.PathLike[str], limit: int, *, pipes: bool = False) -> bytes:
    """The whole content of a regular file.

    Args:
        path: the file; symbolic links are followed, since reading through one harms nothing.
        limit: bytes that it may have at most.
        pipes: also read a pipe to its end, as ``<(command)`` of a shell gives one.

    Raises:
        InputError: ``file_missing``, ``file_unreadable`` (also a folder, a device, or a pipe
            where none is taken), ``too_large``.
    """
    try:
        # Not blocking: a pipe that nobody writes to would hang the open.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            mode = os.fstat(fd).st_mode
            if stat.S_ISFIFO(mode) and pipes:
                os.set_blocking(fd, True)
            elif not stat.S_ISREG(mode):
                raise InputError(Reason.FILE_UNREADABLE, f"{_shown(path)} is not a regular file")
            return _read_all(fd, limit, path)
        finally:
            os.close(fd)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(Reason.FILE_MISSING, f"{_shown(path)} does not exist") from None
    except OSError as error:
        raise InputError(
            Reason.FILE_UNREADABLE, f"{_shown(path)} cannot be read: {error.strerror}"
        ) from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Reason.FILE_MISSING, f"{_shown(path)} is no file name") from None


def _read_all(fd: int, limit: int, path: str | os.PathLike[str]) -> bytes:
    parts = []
    left = limit + 1
    while left > 0 and (part := os.read(fd, min(left, _READ_SIZE))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise InputError(
            Reason.TOO_LARGE,
            f"{_shown(path)} is larger than {limit} bytes",
            hint="check that it is the file that was meant",
        )
    return b"".join(parts)


def write_atomic(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    mode: int = PRIVATE_FILE,
    overwrite: bool = False,
    disk: Disk = REAL_DISK,
) -> None:
    """Writes a whole file, or nothing: the name never stands for half of the content.

    Args:
        path: the file. A symbolic link or anything but a regular file is refused there.
        data: the content.
        mode: permissions from the first byte on, less the umask.
        overwrite: replace a file that stands there; otherwise it is never touched, even when
            it comes into being during the write.
        disk: the calls to make.

    Raises:
        InputError: ``file_exists`` or ``file_unwritable``. What stood there is whole.
    """
    target = Path(path)
    with _writing(path):
        _refuse_target(target, overwrite)
        temporary = _write_temporary(target.parent, data, mode, disk)
        try:
            if overwrite:
                disk.rename(temporary, target)
            else:
                _place_new(temporary, target, mode, disk)
        except BaseException:
            with suppress(OSError):
                disk.unlink(temporary)
            raise
        disk.sync_folder(target.parent)


@contextmanager
def _writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Says of ``path`` what the operating system says against writing there."""
    try:
        yield
    except InputError:
        raise
    except FileExistsError:
        raise InputError(Reason.FILE_EXISTS, f"{_shown(path)} exists already") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no file name"
        raise InputError(
            Reason.FILE_UNWRITABLE, f"{_shown(path)} cannot be written: {why}"
        ) from None


def _refuse_target(target: Path, overwrite: bool) -> None:
    """Raises when something stands at ``target`` that must not be replaced."""
    if not target.name:
        raise InputError(Reason.FILE_UNWRITABLE, f"{_shown(target)} is no file name")
    try:
        found = os.lstat(target).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found):
        raise InputError(
            Reason.FILE_UNWRITABLE,
            f"{_shown(target)} is a symbolic link",
            hint="name the file itself: links are not followed",
        )
    if not stat.S_ISREG(found):
        raise InputError(Reason.FILE_UNWRITABLE, f"{_shown(target)} is not a regular file")
    if not overwrite:
        raise FileExistsError(target)


def _write_temporary(folder: Path, data: bytes, mode: int, disk: Disk) -> Path:
    """A new file in ``folder`` that holds ``data``, on disk before this returns."""
    temporary = folder / f"{TEMPORARY}{secrets.token_hex(8)}.tmp"
    fd = disk.open(temporary, _NEW, mode)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[disk.write(fd, view) :]
            disk.fsync(fd)
        finally:
            disk.close(fd)
    except BaseException:
        with suppress(OSError):
            disk.unlink(temporary)
        raise
    return temporary


def _place_new(temporary: Path, target: Path, mode: int, disk: Disk) -> None:
    """Gives the written file its name unless the name is taken, in one step."""
    try:
        disk.link(temporary, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without hard links: claim the name with an empty file, then replace
        # that. A crash in between leaves an empty file where there was none.
        disk.close(disk.open(target, _NEW, mode))
        try:
            disk.rename(temporary, target)
        except BaseException:
            with suppress(OSError):
                disk.unlink(target)
            raise
    else:
        disk.unlink(temporary)


def make_folder(
    path: str | os.PathLike[str], *, mode: int = PRIVATE_FOLDER, disk: Disk = REAL_DISK
) -> None:
    """Makes a folder and the missing ones above it, each with ``mode``; an existing one stays.

    Raises:
        InputError: ``file_unwritable``, also when something else stands there.
    """
    folder = Path(path)
    with _writing(path):
        missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
        for each in reversed(missing):
            try:
                disk.mkdir(each, mode)
            except FileExistsError:
                if not each.is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, "no folder stands there") from None
            disk.sync_folder(each.parent)


def remove(path: str | os.PathLike[str], *, disk: Disk = REAL_DISK) -> None:
    """Removes a file, durably; one that is not there is fine.

    Raises:
        InputError: ``file_unwritable``.
    """
    target = Path(path)
    with _writing(path), suppress(FileNotFoundError):
        disk.unlink(target)
        disk.sync_folder(target.parent)


def move(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, disk: Disk = REAL_DISK
) -> None:
    """Gives a file that was written whole another name in its folder, durably.

    Raises:
        InputError: ``file_unwritable``.
    """
    with _writing(target):
        disk.rename(Path(source), Path(target))
        disk.sync_folder(Path(target).parent)


def sweep(folder: str | os.PathLike[str], *, disk: Disk = REAL_DISK) -> None:
    """Removes what interrupted writes left in ``folder``; call it under the folder's lock.

    Raises:
        InputError: ``file_unwritable``.
    """
    with _writing(folder):
        names = os.listdir(folder)
    for name in names:
        if name.startswith(TEMPORARY):
            remove(Path(folder) / name, disk=disk)


@contextmanager
def lock(
    folder: str | os.PathLike[str], *, wait: float = LOCK_WAIT, disk: Disk = REAL_DISK
) -> Iterator[None]:
    """Holds the folder's ``lock`` file, so that one process at a time changes the folder.

    The lock falls with the process; a file left behind locks nothing.

    Args:
        folder: the folder.
        wait: seconds to wait for another holder.
        disk: the calls to make.

    Raises:
        Unavailable: ``keyring_busy`` when another process still holds it.
        InputError: ``file_unwritable``.
    """
    # Not everywhere: this module must still import where there is no flock.
    from fcntl import LOCK_EX, LOCK_NB, flock

    path = Path(folder) / "lock"
    with _writing(path):
        fd = disk.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        give_up = time.monotonic() + wait
        while True:
            with _writing(path), suppress(BlockingIOError):
                flock(fd, LOCK_EX | LOCK_NB)
                break
            if time.monotonic() >= give_up:
                raise Unavailable(Reason.KEYRING_BUSY, f"another process holds {_shown(path)}")
            time.sleep(_LOCK_PAUSE)
        yield
    finally:
        disk.close(fd)


def _shown(path: str | os.PathLike[str]) -> str:
    """``path`` as errors show it: without what a terminal would obey or UTF-8 cannot hold."""
    text = os.fspath(path)
    return text if text.isprintable() else ascii(text)

"""Digests of files and streams, in constant memory.

The one place of this room that reads files. A file that changes while it is read has no
digest.

Source: SPEC section 2.3.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, NoReturn

from taskseal.canon.codec import Digest
from taskseal.errors import InputError, Reason

Progress = Callable[[int], None]
"""Told how many bytes were read since the last call."""
FilePath = str | os.PathLike[str]

CHUNK_BYTES = 1 << 20
"""How much is read at once, and what a file may have to be read in one piece."""

# Without O_NONBLOCK, opening a named pipe that nobody writes to would wait for ever.
_OPEN_FLAGS: int = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class Hashed(NamedTuple):
    """What was read.

    Args:
        digest: SHA-256 of all of it.
        size: how much it was, in bytes.
    """

    digest: Digest
    size: int


def read_stream(stream: BinaryIO, *, progress: Progress | None = None) -> Hashed:
    """The digest and the size of everything that ``stream`` still gives.

    Args:
        stream: a binary stream, blocking.
        progress: told how many bytes were read, after each piece.

    Raises:
        InputError: ``usage`` when the stream gives text; ``file_unreadable`` when it fails
            or gives nothing yet.
    """
    return _hash(pieces(stream), progress)


def _hash(read: Iterable[bytes | memoryview], progress: Progress | None) -> Hashed:
    hasher = hashlib.sha256()
    size = 0
    for piece in read:
        hasher.update(piece)
        size += len(piece)
        if progress is not None:
            progress(len(piece))
    return Hashed(Digest("sha256", hasher.digest()), size)


def pieces(stream: BinaryIO) -> Iterator[memoryview]:
    """What ``stream`` still gives, at most 1 MiB at a time, in one buffer used again.

    Raises:
        InputError: as :func:`read_stream`.
    """
    buffer = memoryview(bytearray(CHUNK_BYTES))
    fill = getattr(stream, "readinto", None)
    while True:
        try:
            got = fill(buffer) if fill is not None else _copy(stream, buffer)
        except InputError:
            raise
        except (OSError, ValueError) as error:
            raise InputError(
                Reason.FILE_UNREADABLE, f"the stream cannot be read: {error}"
            ) from None
        if got is None:
            raise InputError(
                Reason.FILE_UNREADABLE,
                "the stream has nothing to give yet",
                hint="give a blocking stream",
            )
        if not got:
            return
        yield buffer[:got]


def _copy(stream: BinaryIO, buffer: memoryview) -> int | None:
    data: object = stream.read(len(buffer))
    if data is None:
        return None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(
            Reason.USAGE, "the stream gives text, not bytes", hint="open the file in mode 'rb'"
        )
    buffer[: len(data)] = data
    return len(data)


def hash_file(path: FilePath, *, progress: Progress | None = None, follow: bool = True) -> Hashed:
    """The digest and the size of the regular file at ``path``.

    Args:
        path: where it is.
        progress: told how many bytes were read, after each piece.
        follow: take a link to a regular file for the file.

    Raises:
        InputError: ``file_missing``; ``file_unreadable`` (a directory, a device, a pipe, no
            permission, a failing disk); ``file_changed`` when it changed while it was read.
    """
    with opened(path, follow=follow) as file:
        return _hash(file.pieces(), progress)


class OpenFile(NamedTuple):
    """A regular file, open for reading.

    Args:
        path: where it is.
        descriptor: of the open file.
        before: what it was when it was opened.
    """

    path: FilePath
    descriptor: int
    before: os.stat_result

    def pieces(self) -> Iterator[bytes | memoryview]:
        """All of it, piece by piece; a small file in one.

        Raises:
            InputError: ``file_unreadable``; ``file_changed`` as soon as it shows.
        """
        size = 0
        for piece in self._whole() if self.before.st_size < CHUNK_BYTES else self._chunks():
            size += len(piece)
            if size > self.before.st_size:
                changed(self.path)
            yield piece
        after = os.fstat(self.descriptor)
        if size != self.before.st_size or _stamp(after) != _stamp(self.before):
            changed(self.path)

    def _whole(self) -> Iterator[bytes]:
        # One byte more than the size shows a file that has grown.
        try:
            yield os.read(self.descriptor, self.before.st_size + 1)
        except OSError as error:
            unreadable(self.path, error)

    def _chunks(self) -> Iterator[memoryview]:
        with open(self.descriptor, "rb", buffering=0, closefd=False) as stream:
            yield from pieces(stream)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def opened(path: FilePath, *, follow: bool = True) -> Iterator[OpenFile]:
    """The regular file at ``path``, open as long as the block runs.

    Args:
        path: where it is.
        follow: take a link to a regular file for the file.

    Raises:
        InputError: ``file_missing`` or ``file_unreadable``.
    """
    flags = _OPEN_FLAGS if follow else _OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        unreadable(path, error)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise InputError(
                Reason.FILE_UNREADABLE,
                f"{shown(path)} is {kind}",
                hint="name a regular file",
            )
        yield OpenFile(path, descriptor, status)
    finally:
        os.close(descriptor)


def is_folder(path: FilePath) -> bool | None:
    """Whether a directory is at ``path``; None where nothing can be seen there."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None


def changed(path: FilePath) -> NoReturn:
    """Raises ``file_changed`` for ``path``."""
    raise InputError(Reason.FILE_CHANGED, f"{shown(path)} changed while it was read")


def unreadable(path: FilePath, error: OSError | ValueError) -> NoReturn:
    """Raises what ``error`` says of ``path``: ``file_missing`` or ``file_unreadable``."""
    if isinstance(error, OSError) and error.errno in _ABSENT:
        raise InputError(Reason.FILE_MISSING, f"there is no {shown(path)}") from None
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    raise InputError(Reason.FILE_UNREADABLE, f"{shown(path)} cannot be read: {why}") from None


def shown(path: FilePath) -> str:
    """``path`` for a message. Names come from anywhere: what may not print is escaped."""
    return ascii(os.fspath(path))[1:-1]

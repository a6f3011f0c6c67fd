"""The file of a SQLite ledger, before SQLite touches it: made private, and known again.

SQLite is left to open the file itself. An existing file is only ever looked at by name: to
open and close it here would drop the locks that this process holds on it through SQLite.

Source: SPEC section 8, item 7.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from taskseal.errors import Reason, Unavailable

SMALLEST = 512
"""Bytes of the smallest database that there is: one page of the smallest size."""

_COMPANIONS = ("-wal", "-shm", "-journal")


class Identity(NamedTuple):
    """Which file stands behind a name: it changes when the file is replaced."""

    device: int
    inode: int


def identify(path: str) -> Identity:
    """The identity of the regular file at ``path``.

    Raises:
        OSError: there is no such file, or it cannot be looked at.
        Unavailable: it is a link, no regular file, stands under a second name, or is shorter
            than any database and yet not empty.
    """
    found = _regular(path)
    if found.st_nlink > 1:
        raise Unavailable(
            Reason.LEDGER_UNAVAILABLE,
            f"{path} stands under {found.st_nlink} names (hard links)",
            hint="give the ledger one name: under two, each message would be accepted twice",
        )
    if 0 < found.st_size < SMALLEST:
        # SQLite takes a file of one byte for an empty one, and would write over it.
        raise Unavailable(
            Reason.LEDGER_UNAVAILABLE,
            f"{path} is no database",
            hint="name the ledger's own file; if this was it, restore a backup",
        )
    for companion in _COMPANIONS:
        try:
            _regular(path + companion)
        except FileNotFoundError:
            continue
    return Identity(found.st_dev, found.st_ino)


def make(path: str, *, create_folder: bool) -> None:
    """Make an empty file at ``path``, 0600 from its first byte, unless one stands there.

    Raises:
        OSError: it cannot be made; also FileNotFoundError when its folder is missing and
            ``create_folder`` is false.
        Unavailable: it is missing or empty, but its write-ahead log is not.
    """
    # The log is looked at first and the file after it, so that a ledger which another process
    # is making at this moment is not mistaken for one that lost its file.
    if _size(f"{path}-wal") and not _size(path):
        raise Unavailable(
            Reason.LEDGER_UNAVAILABLE,
            f"{path} is missing or empty, but its write-ahead log {path}-wal is not",
            hint="restore the file, or remove the log if what was accepted may be forgotten",
        )
    if os.path.lexists(path):
        return
    folder = os.path.dirname(path)
    if create_folder:
        _make_folder(folder)
    try:
        made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    try:
        os.fchmod(made, 0o600)
    finally:
        os.close(made)
    _sync(folder)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _regular(path: str) -> os.stat_result:
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "no regular file"
        raise Unavailable(
            Reason.LEDGER_UNAVAILABLE,
            f"{path} is {kind}",
            hint="name the ledger's own file, by its own path",
        )
    return found


def _make_folder(folder: str) -> None:
    missing = []
    while folder and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for child in reversed(missing):
        try:
            os.mkdir(child, 0o700)
        except FileExistsError:
            continue
        _sync(os.path.dirname(child))


def _sync(folder: str) -> None:
    """Make a new name in ``folder`` last: a ledger that vanishes in a crash forgets."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

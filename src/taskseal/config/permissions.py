"""Whether anybody but its owner could change what a receiver relies on.

A link counts as the file that it leads to; on the way there, each folder that could make it lead
elsewhere counts too.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.storage import read_file

LONGEST_PATH = 4096
"""Characters of the longest path that a configuration may name."""
_MOST_LINKS = 40
_ROOT = 0


def read_safely(path: Path, limit: int) -> bytes:
    """The content of a file that nobody but its owner could change.

    Args:
        path: the file; links are followed.
        limit: bytes that it may have at most.

    Raises:
        MaterialError: ``config_unsafe``.
        InputError: ``file_missing``, ``file_unreadable``, ``too_large``.
    """
    return read_file(check_safe(path), limit)


def check_safe(path: Path) -> Path:
    """Where ``path`` leads, when nobody but its owner could change that or what stands there.

    Raises:
        MaterialError: ``config_unsafe``.
        InputError: ``file_missing``, ``file_unreadable``.
    """
    try:
        step = path
        for _ in range(_MOST_LINKS):
            _check_folder(step)
            if not step.is_symlink():
                break
            step = step.parent / os.readlink(step)
        found = Path(os.path.realpath(path, strict=True))
        about = os.stat(found)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(Reason.FILE_MISSING, f"{str(path)!a} does not exist") from None
    except OSError as error:
        raise InputError(
            Reason.FILE_UNREADABLE, f"{str(path)!a} cannot be read: {error.strerror}"
        ) from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Reason.FILE_MISSING, f"{str(path)!a} is no file name") from None
    who = who_else_writes(about)
    if who is not None:
        raise _unsafe(found, f"{str(found)!a} can be written by {who}")
    return found


def who_else_writes(about: os.stat_result) -> str | None:
    """Who beside its owner (and root) may write what ``about`` describes; None for nobody."""
    if about.st_mode & stat.S_IWOTH:
        return "anyone"
    if about.st_mode & stat.S_IWGRP and not _is_own_group(about.st_uid, about.st_gid):
        return f"the group {_group_name(about.st_gid)}"
    return None


def who_else_reads(about: os.stat_result) -> str | None:
    """Who beside its owner (and root) may read what ``about`` describes; None for nobody."""
    if about.st_mode & stat.S_IROTH:
        return "anyone"
    if about.st_mode & stat.S_IRGRP and not _is_own_group(about.st_uid, about.st_gid):
        return f"the group {_group_name(about.st_gid)}"
    return None


def _check_folder(entry: Path) -> None:
    """Nobody else could put another file in the place of ``entry``."""
    folder = entry.parent
    about = os.stat(folder)
    who = who_else_writes(about)
    if who is None or os.statvfs(folder).f_flag & os.ST_RDONLY:
        return
    owner = os.lstat(entry).st_uid
    if about.st_mode & stat.S_ISVTX and owner in (_ROOT, os.geteuid(), about.st_uid):
        return  # as in /tmp: only its owner may replace it
    detail = f"{str(entry)!a} can be replaced: its folder can be written by {who}"
    raise _unsafe(folder, detail)


def _is_own_group(user: int, group: int) -> bool:
    """Whether ``group`` is the user's own, with nobody else in it."""
    import grp
    import pwd

    try:
        account, members = pwd.getpwuid(user), grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    return account.pw_gid == group and set(members) <= {account.pw_name, "root"}


def _group_name(group: int) -> str:
    import grp

    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)


def _unsafe(path: Path, detail: str) -> MaterialError:
    return MaterialError(Reason.CONFIG_UNSAFE, detail, hint=f"chmod go-w {str(path)!a}")

"""Digests of directories: our manifest, and the stream that Dharma's ``contentHash`` covers.

Source: SPEC sections 2.3 and 2.6.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from taskseal.canon.codec import Algorithm, Digest
from taskseal.canon.files import FilePath, changed, hash_file, opened, shown, unreadable
from taskseal.canon.writer import by_code_unit
from taskseal.errors import InputError, MaterialError, Reason


class FileEntry(NamedTuple):
    """One file of a directory.

    Args:
        path: relative to the directory, with ``/`` on every system.
        size: in bytes.
        digest: SHA-256 of its bytes.
    """

    path: str
    size: int
    digest: Digest


@dataclass(frozen=True, slots=True)
class DirectoryManifest:
    """Every regular file below a directory, by path in UTF-16 code unit order.

    Its digest is SHA-256 over the canonical bytes of the array
    ``[{"path": "a/b.txt", "sha256": "<64 lower-case hexadecimal digits>", "size": 12}, …]``,
    one object a file in the same order. Empty directories, modes and times do not count.

    Args:
        entries: the files, sorted.
    """

    entries: tuple[FileEntry, ...]

    @property
    def digest(self) -> Digest:
        """The digest of the manifest."""
        return Digest.of_json(self.as_json())

    @property
    def size(self) -> int:
        """What all files hold together, in bytes."""
        return sum(entry.size for entry in self.entries)

    def as_json(self) -> list[dict[str, str | int]]:
        """The array that the digest covers."""
        return [
            {"path": entry.path, "sha256": entry.digest.text("hex"), "size": entry.size}
            for entry in self.entries
        ]

    def differences(self, other: DirectoryManifest) -> list[str]:
        """The paths of the files that only one of the two has, or that differ; sorted."""
        ours = {entry.path: entry for entry in self.entries}
        theirs = {entry.path: entry for entry in other.entries}
        return by_code_unit(
            path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path)
        )


def hash_directory(path: FilePath) -> DirectoryManifest:
    """The manifest of the directory at ``path``.

    Raises:
        InputError: ``file_missing``; ``file_unreadable`` (not a directory; a link, a device
            or a name that is not Unicode in it; no permission); ``file_changed`` when a file
            or the list of files changed meanwhile.
    """
    root = Path(path)
    found = list(_files(root))
    entries = []
    for name in by_code_unit(found):
        hashed = hash_file(root / name, follow=False)
        entries.append(FileEntry(name, hashed.size, hashed.digest))
    if sorted(_files(root)) != sorted(found):
        changed(path)
    return DirectoryManifest(tuple(entries))


class _Hasher(Protocol):
    def update(self, data: bytes | memoryview, /) -> object: ...
    def digest(self) -> bytes: ...


def dharma_directory_hash(path: FilePath, algorithm: Algorithm = "sha256") -> Digest:
    """What Dharma's ``contentHash`` says of the directory at ``path``.

    The stream is, for each file: its path with the directory's own name first, NUL, its
    bytes, NUL. Each directory's names are taken in UTF-16 code unit order.

    Raises:
        InputError: as :func:`hash_directory`; ``usage`` for any other algorithm.
        MaterialError: ``extra_missing`` when ``algorithm`` is ``blake3`` and the extra of
            that name is not installed.

    Source: SPEC section 2.6.
    """
    hasher = _hasher(algorithm)
    root = Path(path)
    # "." and a trailing ".." have no name of their own.
    base = Path(os.path.abspath(root)).name
    found = list(_files(root))
    for name in found:
        hasher.update(f"{base}/{name}".encode() + b"\0")
        with opened(root / name, follow=False) as file:
            for piece in file.pieces():
                hasher.update(piece)
        hasher.update(b"\0")
    if list(_files(root)) != found:
        changed(path)
    return Digest(algorithm, hasher.digest())


def _hasher(algorithm: str) -> _Hasher:
    if algorithm == "sha256":
        return hashlib.sha256()
    if algorithm != "blake3":
        raise InputError(
            Reason.USAGE,
            f"{algorithm!r} is not an algorithm of contentHash",
            hint="sha256 or blake3",
        )
    try:
        from blake3 import blake3
    except ImportError:
        raise MaterialError(
            Reason.EXTRA_MISSING,
            "blake3 digests need the extra of that name",
            hint="pip install 'taskseal[blake3]'",
        ) from None
    hasher: _Hasher = blake3()
    return hasher


def _files(root: Path) -> Iterator[str]:
    """The relative paths of the regular files below ``root``, each directory in order."""
    pending = [""]
    while pending:
        place = pending.pop()
        if place and not place.endswith("/"):
            yield place
            continue
        # The last one pushed is the next one out.
        pending.extend(reversed(_listing(root, place)))


def _listing(root: Path, place: str) -> list[str]:
    """The entries of one directory in order; those that are directories end in ``/``."""
    directory = root / place
    kinds: dict[str, bool] = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                kinds[entry.name] = _is_directory(entry, directory)
    except NotADirectoryError:
        raise InputError(Reason.FILE_UNREADABLE, f"{shown(directory)} is not a directory") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        unreadable(directory, error)
    return [f"{place}{name}/" if kinds[name] else place + name for name in by_code_unit(kinds)]


def _is_directory(entry: os.DirEntry[str], directory: Path) -> bool:
    try:
        entry.name.encode("utf-8")
    except UnicodeEncodeError:
        _refuse_entry(directory, entry.name, "is not named in Unicode", "rename it")
    if entry.is_symlink():
        _refuse_entry(directory, entry.name, "is a link", "replace it by what it points to")
    if entry.is_dir(follow_symlinks=False):
        return True
    if not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
        _refuse_entry(directory, entry.name, "is not a regular file", "remove it")
    return False


def _refuse_entry(directory: Path, name: str, fault: str, cure: str) -> None:
    raise InputError(Reason.FILE_UNREADABLE, f"{shown(directory / name)} {fault}", hint=cure)

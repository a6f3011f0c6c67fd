"""A disk that writes down every call, and all the states that a power cut could leave of them.

What a cut leaves, at any moment: of a file's content, what was synced for certain, and of the rest
nothing, a part or all; of the names in a folder, what was synced for certain, and of the later
changes any selection, so also a later one without an earlier one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from taskseal.storage import Disk

Tree = frozenset[tuple[str, bytes | None]]
"""Every path below the root with its content; None is a folder."""
MOST_STATES = 20_000
"""More states than this after one call would be a sample, not a proof."""


class Call(NamedTuple):
    """One call that changed or synced something; paths are relative to the root."""

    name: str
    path: str = ""
    target: str = ""
    inode: int = -1
    data: bytes = b""


@dataclass
class Record:
    """The calls of one command, in order."""

    root: Path
    calls: list[Call] = field(default_factory=list)
    files: dict[int, int] = field(default_factory=dict)
    inodes: int = 0

    def at(self, path: Path | str) -> str:
        return os.path.relpath(path, self.root)


@contextmanager
def recorded(root: Path) -> Iterator[Record]:
    """Writes down what goes through any :class:`Disk` meanwhile."""
    record = Record(root)
    real = {name: getattr(Disk, name) for name in vars(Disk) if not name.startswith("_")}

    def opened(self: Disk, path: Path, flags: int, mode: int) -> int:
        made = not os.path.lexists(path)
        fd: int = real["open"](self, path, flags, mode)
        record.inodes += 1
        record.files[fd] = record.inodes
        if made:
            record.calls.append(Call("create", record.at(path), inode=record.inodes))
        return fd

    def write(self: Disk, fd: int, data: Any) -> int:
        taken: int = real["write"](self, fd, data)
        record.calls.append(Call("write", inode=record.files[fd], data=bytes(data[:taken])))
        return taken

    def fsync(self: Disk, fd: int) -> None:
        real["fsync"](self, fd)
        record.calls.append(Call("fsync", inode=record.files[fd]))

    def after(name: str) -> Any:
        def call(self: Disk, *paths: Any) -> None:
            real[name](self, *paths)
            places = [record.at(each) for each in paths if not isinstance(each, int)]
            record.calls.append(Call(name, *places))

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Disk, "open", opened)
        patch.setattr(Disk, "write", write)
        patch.setattr(Disk, "fsync", fsync)
        for name in ("rename", "link", "unlink", "mkdir", "sync_folder"):
            patch.setattr(Disk, name, after(name))
        yield record


class _Change(NamedTuple):
    """A change of the names in one folder: ``gone`` disappears, ``name`` stands for ``node``."""

    gone: str | None
    name: str | None
    node: int | None


class Model:
    """A disk of which one knows what is on it for certain, and what only perhaps."""

    def __init__(self, tree: Tree) -> None:
        self.kept: dict[str, int | None] = {}
        self.now: dict[str, int | None] = {}
        self.synced: dict[int, bytes] = {}
        self.content: dict[int, bytes] = {}
        self.waiting: dict[str, list[_Change]] = {}
        for number, (path, data) in enumerate(sorted(tree)):
            node = None if data is None else -number - 1
            self.kept[path] = self.now[path] = node
            if data is not None and node is not None:
                self.synced[node] = self.content[node] = data

    def play(self, call: Call) -> None:
        """The state after one more call."""
        path, target = call.path, call.target
        if call.name == "create":
            self.content[call.inode], self.synced[call.inode] = b"", b""
            self._change(_Change(None, path, call.inode))
        elif call.name == "write":
            self.content[call.inode] += call.data
        elif call.name == "fsync":
            if call.inode in self.content:
                self.synced[call.inode] = self.content[call.inode]
        elif call.name == "rename":
            self._change(_Change(path, target, self.now[path]))
        elif call.name == "link":
            self._change(_Change(None, target, self.now[path]))
        elif call.name == "unlink":
            self._change(_Change(path, None, None))
        elif call.name == "mkdir":
            self._change(_Change(None, path, None))
        elif call.name == "sync_folder":
            for change in self.waiting.pop(path, []):
                _apply(self.kept, change)
        else:
            raise AssertionError(call)

    def _change(self, change: _Change) -> None:
        if change.gone is not None and change.name is not None:
            assert os.path.dirname(change.gone) == os.path.dirname(change.name)
        folder = os.path.dirname(change.name or change.gone or "") or "."
        self.waiting.setdefault(folder, []).append(change)
        _apply(self.now, change)

    def crashes(self) -> set[Tree]:
        """Every state that a cut now could leave."""
        found: set[Tree] = set()
        for chosen in product(*(_selections(each) for each in self.waiting.values())):
            names = dict(self.kept)
            for change in chain(*chosen):
                _apply(names, change)
            found |= set(self._contents(names))
            assert len(found) <= MOST_STATES
        return found

    def _contents(self, names: Mapping[str, int | None]) -> Iterator[Tree]:
        reached = {path: node for path, node in names.items() if _reached(path, names)}
        nodes = sorted({node for node in reached.values() if node is not None})
        choices = []
        for node in nodes:
            synced, whole = self.synced[node], self.content[node]
            half = whole[: (len(synced) + len(whole)) // 2]
            choices.append({synced, half, whole})
        for content in product(*choices):
            data = dict(zip(nodes, content, strict=True))
            yield frozenset(
                (path, None if node is None else data[node]) for path, node in reached.items()
            )


def _apply(names: dict[str, int | None], change: _Change) -> None:
    if change.gone is not None:
        names.pop(change.gone, None)
    if change.name is not None:
        names[change.name] = change.node


def _reached(path: str, names: Mapping[str, int | None]) -> bool:
    folder = os.path.dirname(path)
    return not folder or (folder in names and names[folder] is None and _reached(folder, names))


def _selections(changes: list[_Change]) -> Iterable[tuple[_Change, ...]]:
    return chain.from_iterable(combinations(changes, size) for size in range(len(changes) + 1))


def snapshot(root: Path) -> Tree:
    """What stands below ``root``."""
    return frozenset(
        (os.path.relpath(path, root), None if path.is_dir() else path.read_bytes())
        for path in root.rglob("*")
    )


def restore(tree: Tree, root: Path) -> None:
    """Writes ``tree`` below ``root``, which is empty."""
    for path, data in sorted(tree, key=lambda each: each[0]):
        if data is None:
            (root / path).mkdir(parents=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)


def crashes(before: Tree, calls: Iterable[Call]) -> tuple[set[Tree], set[Tree]]:
    """Every state that a cut could leave during the calls; and those after the last of them."""
    model = Model(before)
    during = model.crashes()
    for call in calls:
        model.play(call)
        during |= model.crashes()
    return during, model.crashes()

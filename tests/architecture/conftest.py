"""The source read as a tree: what each module imports, from which room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "taskseal"


class Import(NamedTuple):
    """One name that a module brings in: ``from target import name as bound``, on ``line``."""

    target: str
    name: str | None
    bound: str
    line: int

    @property
    def is_own(self) -> bool:
        return self.target == PACKAGE or self.target.startswith(PACKAGE + ".")

    @property
    def room(self) -> str:
        return room_of(self.target)


@dataclass(frozen=True)
class Module:
    """A source file: its dotted name, its room (the part after the package) and what it imports."""

    dotted: str
    path: Path
    text: str
    tree: ast.Module = field(repr=False)
    imports: tuple[Import, ...]

    @property
    def room(self) -> str:
        return room_of(self.dotted)

    @property
    def is_face(self) -> bool:
        return self.path.name == "__init__.py"

    def __str__(self) -> str:
        return self.dotted


def room_of(dotted: str) -> str:
    """``taskseal.keys.pins`` is in the room ``keys``; the package's own face is in none."""
    return dotted.removeprefix(PACKAGE).lstrip(".").partition(".")[0]


def _absolute(node: ast.ImportFrom, dotted: str, is_face: bool) -> str:
    if not node.level:
        return node.module or ""
    above = dotted.split(".")[: len(dotted.split(".")) - node.level + is_face]
    return ".".join([*above, *([node.module] if node.module else [])])


def _imports(tree: ast.Module, dotted: str, is_face: bool, known: set[str]) -> Iterator[Import]:
    """Every import, wherever it stands: inside functions and for type checkers only as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, alias.asname or alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, dotted, is_face)
            for alias in node.names:
                module = f"{base}.{alias.name}"
                bound = alias.asname or alias.name
                if module in known:
                    yield Import(module, None, bound, node.lineno)
                else:
                    yield Import(base, alias.name, bound, node.lineno)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield Import(str(node.args[0].value), None, "", node.lineno)


@pytest.fixture(scope="session")
def source(root: Path) -> Path:
    return root / "src" / PACKAGE


@pytest.fixture(scope="session")
def modules(source: Path) -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    paths: dict[str, Path] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found = {}
    for dotted, path in paths.items():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path))
        imports = tuple(_imports(tree, dotted, path.name == "__init__.py", set(paths)))
        found[dotted] = Module(dotted, path, text, tree, imports)
    assert found, "no module was found, so these tests would prove nothing"
    return found

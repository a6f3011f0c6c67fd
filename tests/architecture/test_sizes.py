"""Modules and functions stay small enough to be read at one sitting; nothing is left for later."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

MODULE_LINES = 350
DATA = {"taskseal.reason_table"}  # rows of one table, to be looked up and not read through
FUNCTION_LINES = 70
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
VAGUE = re.compile(r"manager|helper|utils?$|handler", re.IGNORECASE)


def test_no_module_is_longer_than_it_may_be(modules: Mapping[str, Any]) -> None:
    lines = {str(module): len(module.text.splitlines()) for module in modules.values()}
    assert {n: count for n, count in lines.items() if count > MODULE_LINES and n not in DATA} == {}


def test_no_function_is_longer_than_it_may_be(modules: Mapping[str, Any]) -> None:
    long = {
        f"{module}.{node.name}": length
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    }
    assert long == {}


def test_nothing_is_left_for_later(modules: Mapping[str, Any]) -> None:
    left = [
        f"{module}:{number} {line.strip()}"
        for module in modules.values()
        for number, line in enumerate(module.text.splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert left == []


def test_modules_and_classes_are_named_for_what_they_are(modules: Mapping[str, Any]) -> None:
    named = [
        name
        for module in modules.values()
        for name in [
            module.dotted.rpartition(".")[2],
            *(node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)),
        ]
        if VAGUE.search(name)
    ]
    assert named == []


def test_the_package_says_that_it_is_typed(modules: Mapping[str, Any]) -> None:
    assert (modules["taskseal.errors"].path.parent / "py.typed").read_bytes() == b""

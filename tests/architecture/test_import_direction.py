"""Imports point downward, rooms on one floor do not know each other, and I/O has its doors."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"reason"}),
    frozenset({"reason_table"}),
    frozenset({"errors"}),
    frozenset({"canon", "validity", "ledger", "storage"}),
    frozenset({"keys", "wire"}),
    frozenset({"profiles", "signers"}),
    frozenset({"verify"}),
    frozenset({"filling"}),
    frozenset({"sealing"}),
    frozenset({"signing"}),
    frozenset({"acceptance", "rehearsal"}),
    frozenset({"config"}),
    frozenset({"receiver", "testing"}),
    frozenset({"cli", "__main__"}),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

NEIGHBOURS: Mapping[tuple[str, str], str] = {
    ("keys", "wire"): "a keyset is a JWS in general JSON; allowed_signers holds what SSHSIG does",
}
"""Who may import whom on the same floor, and why. Each must be in use."""

INPUT_OUTPUT = frozenset(
    {"asyncio", "ctypes", "fcntl", "glob", "http", "importlib.resources", "io", "logging", "mmap"}
    | {"os", "pathlib", "select", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess"}
    | {"tempfile", "time", "urllib.request"}
)
ONLY_TYPES = frozenset({"PathLike", "fspath", "fsencode", "fsdecode"})
"""What `os` offers without touching anything."""
CALLS = frozenset({"open", "input", "print"})
CLOCK_CALLS = frozenset({"now", "today", "utcnow", "time", "time_ns"})

DOORS: Mapping[str, tuple[set[str], str]] = {
    "taskseal.validity": ({"time"}, "names the system clock; only the outermost call asks it"),
    "taskseal.canon.files": ({"os", "open()"}, "digests read streams and files"),
    "taskseal.canon.directory": ({"os", "pathlib"}, "digests read directories"),
    "taskseal.storage": ({"os", "fcntl", "pathlib", "time"}, "the one place that writes files"),
    "taskseal.config.config": ({"pathlib"}, "names files that others open"),
    "taskseal.config.permissions": ({"os", "pathlib"}, "asks who may write a file"),
    "taskseal.config.places": ({"os", "pathlib"}, "the environment, and where a user's files are"),
    "taskseal.config.read": ({"pathlib"}, "reads the configuration through storage"),
    "taskseal.config.receiver": ({"pathlib"}, "names files that others open"),
    "taskseal.config.trust": ({"pathlib"}, "reads trust files through storage"),
    "taskseal.keys.keyring": ({"pathlib"}, "the only door to secrets; reads through storage"),
    "taskseal.keys.keyring_folder": ({"pathlib"}, "the keyring's files, through storage"),
    "taskseal.keys.trust_store": ({"pathlib"}, "keeps the keysets; writes through storage"),
    "taskseal.keys.trust_mark": ({"pathlib"}, "keeps the highest generations, through storage"),
    "taskseal.keys.feed": ({"time"}, "its cool-down: seconds that never go back"),
    "taskseal.ledger.memory": ({"os"}, "asks for its process: a forked copy must not be used"),
    "taskseal.ledger.sqlite": ({"os", "sqlite3", "time"}, "a store, with its patience for locks"),
    "taskseal.ledger.sqlite_file": ({"os"}, "makes the store's file with its mode"),
    "taskseal.ledger.sqlite_shelf": ({"sqlite3"}, "the store's statements"),
    "taskseal.ledger.store": ({"os"}, "draws the random token of a claim"),
    "taskseal.profiles.schema.catalogue": (
        {"importlib.resources", "pathlib"},
        "reads the schemas that ship with the package, once",
    ),
    "taskseal.receiver.job": ({"asyncio"}, "awaits the ledger for async callers"),
    "taskseal.receiver.receiver": ({"asyncio"}, "gives back what a cancelled caller took"),
    "taskseal.receiver.steps": ({"asyncio"}, "awaits the ledger for async callers"),
}
"""Which module outside `cli` touches the world, through what, and why. Each must be in use."""


def crossings(modules: Mapping[str, Any]) -> Iterator[tuple[Any, Any, str]]:
    """Each import from one room of another: the module, the import, the room it enters."""
    for module in modules.values():
        for one in module.imports:
            if module.room and one.is_own and one.room != module.room:
                yield module, one, one.room


def test_every_room_stands_on_a_floor(modules: Mapping[str, Any]) -> None:
    assert {module.room for module in modules.values() if module.room} <= set(FLOOR)


def test_imports_point_downward_only(modules: Mapping[str, Any]) -> None:
    upward = [
        f"{module}:{one.line} imports {one.target}"
        for module, one, entered in crossings(modules)
        if entered and FLOOR.get(entered, 0) > FLOOR.get(module.room, 0)
    ]
    assert upward == []


def test_rooms_on_one_floor_know_each_other_only_as_listed(modules: Mapping[str, Any]) -> None:
    met = {
        (module.room, entered): f"{module}:{one.line} imports {one.target}"
        for module, one, entered in crossings(modules)
        if FLOOR.get(entered) == FLOOR.get(module.room)
    }
    assert {pair: where for pair, where in met.items() if pair not in NEIGHBOURS} == {}
    assert set(NEIGHBOURS) - set(met) == set(), "listed but not in use"


def test_only_the_command_line_imports_the_face_of_the_package(modules: Mapping[str, Any]) -> None:
    """The face knows every room, so a room that imports it would import all that stand above."""
    through = [
        f"{module}:{one.line}"
        for module, one, entered in crossings(modules)
        if not entered and module.room not in ("cli", "__main__") and one.name != "__version__"
    ]
    assert through == []


def test_nothing_private_is_imported_across_rooms(modules: Mapping[str, Any]) -> None:
    private = [
        f"{module}:{one.line} imports {one.target} {one.name or ''}"
        for module, one, _ in crossings(modules)
        if any(part.startswith("_") for part in [*one.target.split("."), one.name or ""])
        and one.name != "__version__"
    ]
    assert private == []


def test_nothing_private_is_reached_through_an_imported_module(modules: Mapping[str, Any]) -> None:
    reached = []
    for module in modules.values():
        foreign = {one.bound for one in module.imports if one.is_own and one.name is None}
        reached += [
            f"{module}:{node.lineno} {node.value.id}.{node.attr}"
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in foreign
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
        ]
    assert reached == []


def test_verifying_never_reaches_the_signers(modules: Mapping[str, Any]) -> None:
    """A receiver's process holds no code that opens private keys."""
    waiting = [name for name, module in modules.items() if module.room == "verify"]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in reached or name not in modules:
            continue
        reached.add(name)
        waiting += [one.target for one in modules[name].imports if one.is_own]
    assert {name for name in reached if modules[name].room in ("signers", "signing")} == set()


def test_the_face_of_a_room_holds_imports_and_all_and_nothing_else(
    modules: Mapping[str, Any],
) -> None:
    other = [
        f"{module}:{node.lineno}"
        for module in modules.values()
        if module.is_face and module.room
        for node in module.tree.body
        if not (
            isinstance(node, ast.Import | ast.ImportFrom)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            or (
                isinstance(node, ast.Assign)
                and [ast.unparse(target) for target in node.targets] == ["__all__"]
            )
        )
    ]
    assert other == []


def _touches(module: Any) -> set[str]:
    """Through what a module could do I/O or read the clock."""
    found = set()
    used = {
        node.attr
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os"
    }
    for one in module.imports:
        if one.target == "os" and one.name is None and used <= ONLY_TYPES:
            continue
        whole = f"{one.target}.{one.name}" if one.name else one.target
        found |= {door for door in INPUT_OUTPUT if whole == door or whole.startswith(door + ".")}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                found.add(f"{node.func.id}()")
            if isinstance(node.func, ast.Attribute) and node.func.attr in CLOCK_CALLS:
                found.add(f".{node.func.attr}()")
    return found


def test_only_the_named_doors_touch_files_processes_or_the_clock(
    modules: Mapping[str, Any],
) -> None:
    touching = {
        module.dotted: touched
        for module in modules.values()
        if module.room not in ("cli", "__main__") and (touched := _touches(module))
    }
    assert touching == {name: through for name, (through, _) in DOORS.items()}

"""Whatever a power cut leaves of a command, no key and no generation is lost and it runs again.

Every command's calls are recorded, and a cut is tried after each: complete, not sampled. That the
checks would notice is shown by taking away one sync at a time.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from crash_disk import Call, Tree, crashes, recorded, restore, snapshot

from taskseal.cli.main import taskseal as program
from taskseal.errors import TasksealError
from taskseal.keys.formats import read_private_key
from taskseal.keys.keyring import Keyring
from taskseal.keys.keyring_state import State
from taskseal.keys.trust_mark import Mark
from taskseal.keys.trust_store import TrustStore
from taskseal.storage import TEMPORARY, Disk

TASK, KEYSET = "dharma.task/v1", "taskseal.keyset/v1"
PLAIN = "--no-passphrase"


def run(root: Path, *arguments: str, code: int | None = 0) -> int:
    """One command with ``root`` as the place of everything; ``@`` in arguments is that place."""
    given = [each.replace("@", str(root)) for each in arguments]
    state = {"XDG_STATE_HOME": str(root / "state"), "XDG_DATA_HOME": str(root / "data")}
    env = {**state, "TASKSEAL_KEYRING": str(root / "ring")}
    result = CliRunner().invoke(program, given, env=env)
    assert code is None or result.exit_code == code, (arguments, result.output, result.exception)
    return result.exit_code


@dataclass(frozen=True)
class Known:
    """What counts below a place: keys with their thumbprints, revocations, generations, files."""

    keys: dict[str, str]
    revoked: frozenset[str]
    generation: int
    files: dict[str, bytes]
    signs_from: tuple[int, ...]
    marked: int

    def gist(self) -> tuple[object, ...]:
        """What a command brings about whenever it is run."""
        return set(self.keys), self.revoked, self.generation, self.marked, set(self.files)


FILES = ("pins.json", "key.pem", "next.json", "public.json")


def known(root: Path) -> Known:
    """Reads all of it; raises when something cannot be read."""
    keys: dict[str, str] = {}
    revoked: set[str] = set()
    signs_from: list[int] = []
    if (root / "ring/keyring.json").exists():
        ring = Keyring.open(root / "ring")
        for entry in ring.entries():
            assert entry.key is not None
            ring.holder(entry.key_version)  # the private half is there, whole and its own
            keys[entry.key_version] = entry.key.thumbprint
            signs_from.append(entry.sign_from)
            if entry.revoked_at is not None:
                revoked.add(entry.key_version)
        present = json.loads((root / "ring/keyring.json").read_bytes())["revision"]
        for revision in range(present):
            past = (root / f"ring/history/{revision:04d}.json").read_bytes()
            assert State.load(past, "history").revision == revision
    generation, marked = _followed(root)
    files = {name: (root / name).read_bytes() for name in FILES if (root / name).exists()}
    for name, data in files.items():
        if name == "key.pem":
            read_private_key(data)
        else:
            json.loads(data)
    return Known(keys, frozenset(revoked), generation, files, tuple(signs_from), marked)


def _followed(root: Path) -> tuple[int, int]:
    """The generation that counts, with every one before it, and the one that is marked."""
    marks = root / "state/taskseal/trust-marks"
    store = TrustStore(root / "trust", mark=marks)
    if not (root / "trust/store.json").exists() or not store.state().issuers:
        return 0, 0
    state = store.state()
    (source,) = store.sources()
    for step in state.issuers[source.issuer].steps:
        store.offer(step)
    return source.generation, Mark(marks).read(state.id).get(source.issuer, 0)


def litter(root: Path) -> list[str]:
    """What nothing names: private halves without an entry, and leavings of writes."""
    if not (root / "ring/keyring.json").exists():
        return []
    named = {f"{each}.key" for each in known(root).keys.values()}
    private = [path.name for path in (root / "ring/private").iterdir()]
    left = [path.name for path in (root / "ring").rglob(f"{TEMPORARY}*")]
    return [*(name for name in private if name not in named), *left]


@dataclass(frozen=True)
class Scene:
    """A command, what was done before it, and what it is to have brought about."""

    before: tuple[tuple[str, ...], ...]
    command: tuple[str, ...]
    again: int = 0
    """The exit code of the command when it was done before."""


NEW = ("keys", "new", "k/1", "--for", TASK, PLAIN, "--not-before", "2026-01-01T00:00:00Z")
ROOT = ("keys", "new", "root/1", "--for", KEYSET, PLAIN, "--not-before", "2026-01-01T00:00:00Z")
PROPOSE = ("keyset", "propose", "-o", "@/first.json")
FIRST = (NEW, ROOT, PROPOSE, ("keyset", "sign", "@/first.json"))
ADD = ("trust", "add", "@/first.json", "--pin", "root/1=THUMBPRINT", "--store", "@/trust")
SECOND = (
    *FIRST,
    ADD,
    ("keys", "rotate", "k", PLAIN),
    ("keyset", "propose", "--current", "@/first.json", "-o", "@/next.json"),
)
SIGNED = (*SECOND, ("keyset", "sign", "@/next.json", "--current", "@/first.json"))

SCENES = {
    "first new": Scene((), NEW, 4),
    "new": Scene((NEW,), ROOT, 4),
    "import": Scene(
        (NEW, ("keys", "export", "k/1", "--as", "pem", "--private", PLAIN, "-o", "@/key.pem")),
        ("keys", "import", "@/seed", "k/2", "--for", TASK, PLAIN),
        4,
    ),
    "rotate": Scene((NEW,), ("keys", "rotate", "k", PLAIN)),
    "rotate sooner": Scene(
        (NEW, ("keys", "rotate", "k", PLAIN)), ("keys", "rotate", "k", "--lead", "1h")
    ),
    "revoke": Scene((NEW,), ("keys", "revoke", "k/1", "--at", "2026-06-01T00:00:00Z")),
    "export": Scene(
        (NEW,),
        ("keys", "export", "k/1", "--as", "pem", "--private", PLAIN, "-o", "@/key.pem"),
        6,
    ),
    "pin": Scene(
        (NEW, ("keys", "pin", "-o", "@/pins.json"), ROOT),
        ("keys", "pin", "--force", "-o", "@/pins.json"),
    ),
    "keyset sign": Scene(SECOND, ("keyset", "sign", "@/next.json", "--current", "@/first.json")),
    "keyset publish": Scene(
        SIGNED,
        (
            "keyset",
            "publish",
            "@/next.json",
            "--current",
            "@/first.json",
            "--force",
            "-o",
            "@/public.json",
        ),
    ),
    "trust add": Scene(FIRST, ADD),
    "trust update": Scene(SIGNED, ("trust", "update", "@/next.json", "--store", "@/trust")),
    "trust replace": Scene(
        SIGNED,
        (
            "trust",
            "replace",
            "@/next.json",
            "--pin",
            "root/1=THUMBPRINT",
            "--reason",
            "drill",
            "--store",
            "@/trust",
        ),
    ),
}


@dataclass(frozen=True)
class Played:
    """A scene as it went: the disk before, the calls, and what was known before and after."""

    scene: Scene
    command: tuple[str, ...]
    tree: Tree
    calls: tuple[Call, ...]
    old: Known
    new: Known


def play(scene: Scene, root: Path) -> Played:
    """Runs a scene and writes the command's calls down."""
    (root / "seed").write_text("11" * 32)
    pin = ""

    def filled(command: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(each.replace("THUMBPRINT", pin) for each in command)

    for step in scene.before:
        run(root, *filled(step))
        if step is ROOT:
            pin = f"sha256:{known(root).keys['root/1']}"
    command, tree, old = filled(scene.command), snapshot(root), known(root)
    with recorded(root) as record:
        run(root, *command)
    return Played(scene, command, tree, tuple(record.calls), old, known(root))


def violations(
    played: Played, calls: tuple[Call, ...], place: Path, *, first: bool = False
) -> Iterator[str]:
    """What a cut during ``calls`` could do that must not be; ``first``: one is enough."""
    during, after = crashes(played.tree, calls)
    for number, tree in enumerate(sorted(during | after, key=lambda each: sorted(map(str, each)))):
        root = place / str(number)
        root.mkdir()
        restore(tree, root)
        faults = list(_faults(played, root, done=tree in after))
        yield from faults
        shutil.rmtree(root)
        if faults and first:
            return


def _faults(played: Played, root: Path, *, done: bool) -> Iterator[str]:
    old, new = played.old, played.new
    try:
        left = known(root)
    except (TasksealError, AssertionError, ValueError, OSError) as error:
        yield f"it does not load: {error}"
        return
    if not old.keys.items() <= left.keys.items():
        yield "a key is gone"
    if not old.revoked <= left.revoked:
        yield "a revocation is taken back"
    if left.generation < old.generation:
        yield "a generation went back"
    if any(
        left.files.get(name) not in (data, new.files.get(name)) for name, data in old.files.items()
    ):
        yield "a file is neither old nor new"
    if done and left != new:
        yield "what was reported as done is not there"
    was_done = set(left.keys) == set(new.keys) if played.scene.again == 4 else None
    code = run(root, *played.command, code=None)
    if code not in (0, played.scene.again) or (code == 4) != (was_done is True):
        yield f"run again it ends with {code}"
    again = known(root)
    if again.gist() != new.gist():
        yield "run again it does not complete"
    if "k/1" in again.keys:
        run(root, "keys", "revoke", "k/1")  # any next change
    for name in litter(root):
        yield f"{name} is left over"


def played(name: str, tmp_path: Path) -> tuple[Played, Path]:
    """A scene that went, and a folder for what cuts leave of it."""
    root, place = tmp_path / "play", tmp_path / "cuts"
    root.mkdir()
    place.mkdir()
    return play(SCENES[name], root), place


@pytest.mark.parametrize("name", SCENES)
def test_a_cut_at_any_moment_loses_nothing(name: str, tmp_path: Path) -> None:
    found, place = played(name, tmp_path)
    during, _ = crashes(found.tree, found.calls)
    assert len(during) >= 3
    assert list(violations(found, found.calls, place)) == []


REDUNDANT = {
    # Until the private file has its own name, it is found under the other.
    ("new", "sync_folder", "ring/private"),
    ("rotate", "sync_folder", "ring/private"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["new", "rotate", "rotate sooner", "revoke", "pin", "trust update"]
)
def test_the_checks_notice_each_sync_that_is_taken_away(name: str, tmp_path: Path) -> None:
    found, place = played(name, tmp_path)
    unnoticed = []
    for index, call in enumerate(found.calls):
        if call.name in ("fsync", "sync_folder"):
            without = found.calls[:index] + found.calls[index + 1 :]
            cuts = place / str(index)
            cuts.mkdir()
            if not list(violations(found, without, cuts, first=True)):
                unnoticed.append((name, call.name, call.path))
    assert set(unnoticed) <= REDUNDANT
    assert len(unnoticed) <= 1


class NoFsync(Disk):
    """A disk whose files are never synced."""

    def fsync(self, fd: int) -> None:
        pass


class NoFolderSync(Disk):
    """A disk whose names are never synced."""

    def sync_folder(self, path: Path) -> None:
        pass


@pytest.mark.parametrize("mutant", [NoFsync, NoFolderSync])
@pytest.mark.parametrize("change", ["new", "rotate", "revoke"])
def test_a_disk_that_does_not_sync_is_found_out(
    mutant: type[Disk], change: str, tmp_path: Path
) -> None:
    root, place = tmp_path / "play", tmp_path / "cuts"
    root.mkdir()
    place.mkdir()
    run(root, *NEW)
    tree, old = snapshot(root), known(root)
    at = known(root).signs_from[0]
    ring = Keyring.open(root / "ring", disk=mutant())
    with recorded(root) as record:
        if change == "new":
            ring.new("root/1", [KEYSET], not_before=at, allow_plain=True)
        elif change == "rotate":
            ring.rotate("k", at=at, allow_plain=True)
        else:
            ring.revoke("k/1", at=at)
    found = Played(
        SCENES[change], SCENES[change].command, tree, tuple(record.calls), old, known(root)
    )
    assert list(violations(found, found.calls, place, first=True)) != []

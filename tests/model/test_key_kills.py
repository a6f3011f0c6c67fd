"""Real ends: processes killed in the middle, a disk that is full, a folder that cannot be written."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crash_worker import NOW, TASK, begin, work

from taskseal.errors import InputError, Reason
from taskseal.keys.keyring import Keyring
from taskseal.keys.rotation import Wish
from taskseal.keys.trust_store import TrustStore
from taskseal.storage import TEMPORARY

KILLS = 200
ROUND = 25
"""Kills before a new keyring: one with hundreds of keys is slow, and no better proof."""
LONGEST = 0.1
"""Seconds that a process lives at most once it is at work."""


def standing(path: Path) -> tuple[dict[str, str], set[str], int]:
    """What is in the keyring and the store; fails when a part of it cannot be used."""
    ring = Keyring.open(path / "ring")
    keys = {}
    for entry in ring.entries():
        assert entry.key is not None
        ring.holder(entry.key_version)
        keys[entry.key_version] = entry.key.thumbprint
    (source,) = TrustStore(path / "trust", mark=path / "mark").sources()
    revoked = {e.key_version for e in ring.entries() if e.revoked_at is not None}
    return keys, revoked, source.generation


@pytest.mark.slow
def test_two_hundred_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    chance = random.Random(4)
    context = multiprocessing.get_context("forkserver")
    # Packages that are installed; a module of the tests is not found there.
    context.set_forkserver_preload(
        ["taskseal.keys.trust_store", "taskseal.keys.keyring", "nacl.bindings"]
    )
    advanced = 0
    for number in range(KILLS):
        path = tmp_path / str(number // ROUND)
        if number % ROUND == 0:
            path.mkdir()
            line = begin(path)
        before = standing(path)
        here, there = context.Pipe()
        process = context.Process(target=work, args=(str(path), line, there), daemon=True)
        process.start()
        assert here.poll(60)
        time.sleep(chance.random() * LONGEST)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it ended by itself"
        here.close()
        there.close()
        keys, revoked, generation = standing(path)
        assert before[0].items() <= keys.items()
        assert before[1] <= revoked
        assert generation >= before[2]
        advanced += len(keys) > len(before[0])
    assert advanced, "the processes were at work when they were killed"
    for path in tmp_path.iterdir():
        ring = Keyring.open(path / "ring")
        ring.new("last/1", [TASK], not_before=NOW, allow_plain=True)
        named = {f"{entry.key.thumbprint}.key" for entry in ring.entries() if entry.key}
        assert {each.name for each in (path / "ring/private").iterdir()} == named
        assert list(path.rglob(f"ring/**/{TEMPORARY}*")) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system to fill")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_told_and_leaves_the_old_state(small_disk: Path) -> None:
    ring = Keyring.create(small_disk / "ring")
    ring.new("k/1", [TASK], not_before=NOW, allow_plain=True)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(b"x" * 512)
    size, ends = filler.stat().st_size, set()
    for free in range(0, size, 4096):
        os.truncate(filler, size - free)
        before = Keyring.open(ring.path).entries()
        try:
            ring.rotate(before[-1].key_version, at=NOW, wish=Wish(0, 0), allow_plain=True)
        except InputError as full:
            assert full.code is Reason.FILE_UNWRITABLE
            assert Keyring.open(ring.path).entries() == before
            ends.add("full")
        else:
            ends.add("done")
        for entry in Keyring.open(ring.path).entries():
            ring.holder(entry.key_version)
    assert ends == {"full", "done"}


def test_a_disk_that_became_read_only_is_told_and_can_still_sign(small_disk: Path) -> None:
    ring = Keyring.create(small_disk / "ring")
    entry = ring.new("k/1", [TASK], not_before=NOW, allow_plain=True)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for change in (
        lambda: ring.rotate(at=NOW, allow_plain=True),
        lambda: ring.revoke("k/1", at=NOW),
        lambda: ring.new("k/2", [TASK], not_before=NOW, allow_plain=True),
    ):
        with pytest.raises(InputError) as caught:
            change()
        assert caught.value.code is Reason.FILE_UNWRITABLE
    assert Keyring.open(ring.path).signer(TASK, at=NOW).entry == entry


def test_a_folder_without_permission_is_told_and_can_still_sign(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere, so that permissions cannot be tested")
    ring = Keyring.create(tmp_path / "ring")
    entry = ring.new("k/1", [TASK], not_before=NOW, allow_plain=True)
    for each in (ring.path, ring.path / "private", ring.path / "history"):
        each.chmod(0o500)
    with pytest.raises(InputError) as caught:
        ring.rotate(at=NOW, allow_plain=True)
    assert caught.value.code is Reason.FILE_UNWRITABLE
    assert Keyring.open(ring.path).signer(TASK, at=NOW).entry == entry
    for each in (ring.path, ring.path / "private", ring.path / "history"):
        each.chmod(0o700)

"""Digests of directories: the manifest, and the stream of Dharma's contentHash."""

from __future__ import annotations

import hashlib
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from taskseal.canon import directory, files
from taskseal.canon.digest import Digest, dharma_directory_hash, hash_directory
from taskseal.errors import InputError, MaterialError, Reason

FILES = {
    "SKILL.md": b"# skill\n",
    "a/b.txt": b"b",
    "a.txt": b"a",
    "a/c/d": b"",
    "a-b/x": b"\x00",
    "\ufb33": b"bmp",
    "😀": b"astral",
    "é": b"composed",
}


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    root = tmp_path / "skill"
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def refused(act: Callable[[], object]) -> InputError:
    with pytest.raises(InputError) as caught:
        act()
    return caught.value


def test_the_manifest_lists_every_file_sorted_by_code_unit(skill: Path) -> None:
    (skill / "empty").mkdir()
    manifest = hash_directory(skill)
    assert [entry.path for entry in manifest.entries] == [
        *["SKILL.md", "a-b/x", "a.txt", "a/b.txt", "a/c/d", "é", "😀", "\ufb33"]
    ]
    assert manifest.size == sum(map(len, FILES.values()))
    assert all(entry.digest == Digest.of(FILES[entry.path]) for entry in manifest.entries)
    assert all(entry.size == len(FILES[entry.path]) for entry in manifest.entries)


def test_the_digest_covers_the_canonical_array(tmp_path: Path) -> None:
    root = tmp_path / "d"
    root.mkdir()
    assert hash_directory(root).digest == Digest.of(b"[]")
    (root / "f").write_bytes(b"x")
    line = b'[{"path":"f","sha256":"%s","size":1}]' % hashlib.sha256(b"x").hexdigest().encode()
    assert hash_directory(root).digest == Digest.of(line)


def test_the_digest_does_not_depend_on_where_the_directory_lies(skill: Path) -> None:
    manifest = hash_directory(skill)
    moved = skill.rename(skill.with_name("moved"))
    assert hash_directory(moved) == manifest
    assert hash_directory(str(moved) + "/").digest == manifest.digest


def test_differences_name_the_files(skill: Path) -> None:
    before = hash_directory(skill)
    assert before.differences(before) == []
    (skill / "a.txt").write_bytes(b"A")
    (skill / "a/b.txt").unlink()
    (skill / "new").write_bytes(b"")
    after = hash_directory(skill)
    assert before.differences(after) == after.differences(before) == ["a.txt", "a/b.txt", "new"]
    assert before.digest != after.digest


@pytest.mark.parametrize("reader", [hash_directory, dharma_directory_hash])
@pytest.mark.parametrize("target", ["SKILL.md", "a", "nowhere", "/"])
def test_links_are_refused(skill: Path, target: str, reader: Callable[[Path], object]) -> None:
    (skill / "a" / "link").symlink_to(target)
    error = refused(lambda: reader(skill))
    assert error.code is Reason.FILE_UNREADABLE
    assert "link" in error.detail


@pytest.mark.parametrize("reader", [hash_directory, dharma_directory_hash])
def test_pipes_and_names_that_are_not_unicode_are_refused(
    skill: Path, reader: Callable[[Path], object]
) -> None:
    os.mkfifo(skill / "pipe")
    assert refused(lambda: reader(skill)).code is Reason.FILE_UNREADABLE
    (skill / "pipe").unlink()
    try:
        (skill / "a" / "x\udcff").write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    assert refused(lambda: reader(skill)).code is Reason.FILE_UNREADABLE


@pytest.mark.parametrize("reader", [hash_directory, dharma_directory_hash])
def test_a_missing_directory_and_a_file_are_told_apart(
    skill: Path, reader: Callable[[Path], object]
) -> None:
    assert refused(lambda: reader(skill / "nothing")).code is Reason.FILE_MISSING
    assert refused(lambda: reader(skill / "SKILL.md")).code is Reason.FILE_UNREADABLE


def test_a_file_that_comes_meanwhile_is_noticed(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hash_file = files.hash_file

    def add(path: Path, **options: bool) -> object:
        (skill / "late").write_bytes(b"")
        return hash_file(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(directory, "hash_file", add)
    assert refused(lambda: hash_directory(skill)).code is Reason.FILE_CHANGED


def test_a_file_that_comes_while_dharmas_stream_is_read_is_noticed(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = files.opened

    def add(path: Path, **options: bool) -> object:
        (skill / "late").write_bytes(b"")
        return opened(path, **options)

    monkeypatch.setattr(directory, "opened", add)
    assert refused(lambda: dharma_directory_hash(skill)).code is Reason.FILE_CHANGED


def stream(skill: Path) -> bytes:
    # Directory by directory, names by code unit: "a" with all below comes before "a-b".
    order = ["SKILL.md", "a/b.txt", "a/c/d", "a-b/x", "a.txt", "é", "😀", "\ufb33"]
    return b"".join(f"{skill.name}/{name}".encode() + b"\0" + FILES[name] + b"\0" for name in order)


def test_dharmas_content_hash_covers_the_stream_of_paths_and_bytes(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Digest.of(stream(skill))
    assert dharma_directory_hash(skill) == expected
    assert dharma_directory_hash(f"{skill}/") == expected
    monkeypatch.chdir(skill)
    assert dharma_directory_hash(".") == expected
    assert dharma_directory_hash("a/..") == expected


def test_the_directorys_own_name_counts(skill: Path) -> None:
    before = dharma_directory_hash(skill)
    assert dharma_directory_hash(skill.rename(skill.with_name("other"))) != before


def test_blake3_without_its_extra_names_the_command(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "blake3", None)
    with pytest.raises(MaterialError) as caught:
        dharma_directory_hash(skill, "blake3")
    assert caught.value.code is Reason.EXTRA_MISSING
    assert "pip install 'taskseal[blake3]'" in caught.value.hint


def test_blake3_reads_the_same_stream(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = types.ModuleType("blake3")
    monkeypatch.setattr(stand_in, "blake3", hashlib.blake2s, raising=False)
    monkeypatch.setitem(sys.modules, "blake3", stand_in)
    digest = dharma_directory_hash(skill, "blake3")
    assert digest.algorithm == "blake3"
    assert digest.value == hashlib.blake2s(stream(skill)).digest()


def test_any_other_algorithm_is_a_usage_error(skill: Path) -> None:
    error = refused(lambda: dharma_directory_hash(skill, "md5"))  # type: ignore[arg-type]
    assert error.code is Reason.USAGE

"""`canon` and `digest`: exact bytes, exact digests, and how large files are read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from cli_support import Cli, run_on_terminal
from support import CASES, load

from taskseal import Digest
from taskseal.canon.digest import CODECS, hash_directory
from taskseal.cli import canon

TEXT = b'{"b": 1.0, "a": [true, null, "\\u00e9"]}\n'
CANONICAL = '{"a":[true,null,"é"],"b":1}'.encode()


def test_the_codecs_that_the_option_takes_are_those_of_sha256() -> None:
    assert set(canon.CODECS) == {name for name in CODECS if not name.startswith("blake3")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_canon_writes_the_canonical_bytes_and_nothing_else(cli: Cli, process: Cli) -> None:
    Path("in.json").write_bytes(TEXT)
    assert cli("canon", "in.json").out == CANONICAL
    assert cli("canon", "-", stdin=TEXT).out == CANONICAL
    assert process("canon", "-", stdin=TEXT).out == CANONICAL
    assert cli("canon", "-", stdin=b" 1e20 ").out == b"100000000000000000000"
    found = cli("canon", "in.json", "--json").json
    assert found == {
        "canonical": CANONICAL.decode(),
        "digest": "sha256:" + hashlib.sha256(CANONICAL).hexdigest(),
        "size": len(CANONICAL),
    }


def test_canon_agrees_with_the_cases(cli: Cli) -> None:
    order = CASES / "01-utf16-key-order"
    wanted = load(order / "expected.json")["expected"]["canonical_hex"]
    assert cli("canon", order / "input.json").out == bytes.fromhex(wanted)
    for case in ("03-int-beyond-2-53", "05-lone-surrogate", "12-deep-nesting"):
        for item in load(CASES / case / "expected.json")["items"]:
            accepted = item["expect"] == "accept"
            done = cli("canon", CASES / case / item["file"], code=0 if accepted else 3)
            assert bool(done.out) is accepted


@pytest.mark.parametrize(
    ("name", "code"), [("missing", 6), (".", 6), ("", 6), ("pipe", 3), ("/dev/null", 6)]
)
def test_what_is_no_readable_file_is_exit_6_and_no_hang(cli: Cli, name: str, code: int) -> None:
    os.mkfifo("pipe")
    done = cli("canon", name, "--json", code=code)
    assert done.json["error"] in ("file_missing", "file_unreadable", "malformed_json")


@pytest.mark.usefixtures("plain_user")
def test_a_file_without_permission_is_exit_6(cli: Cli) -> None:
    Path("secret").write_bytes(TEXT)
    Path("secret").chmod(0)
    assert cli("canon", "secret", "--json", code=6).json["error"] == "file_unreadable"
    assert cli("digest", "secret", "--json", code=6).json["error"] == "file_unreadable"


def test_a_text_larger_than_the_limit_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskseal.cli.open.JSON_LIMIT", 10)
    Path("in.json").write_bytes(TEXT)
    assert cli("canon", "in.json", "--json", code=3).json["error"] == "too_large"
    assert cli("canon", "-", "--json", stdin=TEXT, code=3).json["error"] == "too_large"


@pytest.mark.parametrize("codec", canon.CODECS)
def test_a_digest_is_printed_in_the_codec_asked_for_with_the_name(cli: Cli, codec: str) -> None:
    Path("a b").write_bytes(b"x")
    wanted = Digest.of(b"x").text(codec)
    assert cli("digest", "a b", "--as", codec).text == f"{wanted}  a b\n"
    assert cli("digest", "-", "--as", codec, stdin=b"x").text == f"{wanted}  -\n"
    cli("digest", "a b", "--as", codec, "--check", wanted)
    found = cli("digest", "a b", "--as", codec, "--json").json
    assert found == {"file": "a b", "digest": wanted, "size": 1, "kind": "file"}


def test_the_default_codec_says_its_algorithm(cli: Cli) -> None:
    Path("x").write_bytes(b"")
    assert cli("digest", "x").text == f"{Digest.of(b'').text('sha256:hex')}  x\n"


def test_a_folder_and_a_json_text_have_digests_of_their_own(cli: Cli) -> None:
    Path("d/e").mkdir(parents=True)
    Path("d/e/f").write_bytes(b"x")
    wanted = hash_directory("d").digest.text("sha256:hex")
    assert cli("digest", "d", "--json").json["digest"] == wanted
    assert cli("digest", "d").text == f"{wanted}  d\n"
    Path("in.json").write_bytes(TEXT)
    of_json = Digest.of(CANONICAL).text("sha256:hex")
    assert cli("digest", "in.json", "--json-input").text == f"{of_json}  in.json\n"
    assert cli("digest", "-", "--json-input", stdin=b"{", code=3).out == b""
    cli("digest", "d", "--json-input", code=6)
    Path("d/link").symlink_to("e/f")
    assert cli("digest", "d", "--json", code=6).json["error"] == "file_unreadable"


def test_another_digest_than_the_wanted_one_is_exit_1_and_names_both(cli: Cli) -> None:
    Path("x").write_bytes(b"x")
    right, wrong = Digest.of(b"x").text("sha256:hex"), Digest.of(b"y").text("sha256:hex")
    done = cli("digest", "x", "--check", wrong, code=1)
    assert done.out == b""
    assert done.err.startswith("error: digest_mismatch: x has ")
    assert right in done.err
    assert wrong in done.err
    found = cli("digest", "x", "--check", wrong, "--json", code=1).json
    assert (found["error"], found["digest"], found["expected"]) == (
        "digest_mismatch",
        right,
        wrong,
    )


@pytest.mark.parametrize(
    "text", ["", "x", "sha256:", Digest.of(b"x").text("hex"), "sha256:" + "A" * 64]
)
def test_a_wanted_digest_in_another_spelling_is_no_digest(cli: Cli, text: str) -> None:
    Path("x").write_bytes(b"x")
    found = cli("digest", "x", "--check", text, "--json", code=3).json
    assert found["error"] == "digest_malformed"
    assert "--as" in found["hint"]


def test_several_files_go_on_after_one_that_is_missing(cli: Cli) -> None:
    Path("x").write_bytes(b"x")
    done = cli("digest", "x", "missing", "x", "--json", code=6)
    assert [line.get("file") for line in done.jsons] == ["x", "missing", "x"]
    assert done.jsons[1]["error"] == "file_missing"
    assert len(cli("digest", "x", "missing", "x", code=6).text.splitlines()) == 2
    assert cli("digest", "x", "x", "--check", "y", "--json", code=2).json["error"] == "usage"
    cli("digest", "-", "-", stdin=b"x", code=2)


def test_a_large_file_shows_its_progress_on_a_terminal_only(
    process: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = canon.PROGRESS_FROM + 1
    with open("large", "wb") as file:
        file.truncate(size)
    wanted = hashlib.sha256()
    for _ in range(size // (1 << 20)):
        wanted.update(bytes(1 << 20))
    wanted.update(bytes(size % (1 << 20)))
    quiet = process("digest", "large", "--as", "hex")
    assert quiet.text == f"{wanted.hexdigest()}  large\n"
    assert quiet.err == ""
    code, shown = run_on_terminal(["digest", "large", "--as", "hex"])
    assert code == 0
    assert "100%" in shown
    assert wanted.hexdigest() in shown
    os.truncate("large", canon.PROGRESS_FROM)
    _, shown = run_on_terminal(["digest", "large"])
    assert "%" not in shown

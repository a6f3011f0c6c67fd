"""``canon`` and ``digest``: bytes and what identifies them.

Source: SPEC sections 1, 2 and 9.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import FILE
from taskseal.errors import InputError, Reason, TasksealError

if TYPE_CHECKING:
    from taskseal import Digest

CODECS = ("hex", "sha256:hex", "sha256:b64url")
"""What ``--as`` takes."""
PROGRESS_FROM = 64 << 20
"""Bytes of the smallest file whose reading is worth a progress bar."""


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@output.json_option
def canon(file: str) -> int:
    """Write the canonical (RFC 8785) bytes of a JSON text.

    Exactly those, without a line end; - is standard input.

    \b
    Example:
      taskseal canon task.json | sha256sum
    """
    from taskseal import Digest, recanonicalise

    content = recanonicalise(opening.read_input(file, opening.JSON_LIMIT))
    if output.wants_json():
        digest = Digest.of(content).text("sha256:hex")
        output.record({"canonical": content.decode(), "digest": digest, "size": len(content)})
    else:
        output.data(content)
    return 0


@dataclass(frozen=True, slots=True)
class Measured:
    """One file or folder, read."""

    digest: Digest
    size: int
    kind: str


@click.command(context_settings=SETTINGS)
@click.argument("files", metavar="FILE|DIR...", type=FILE, nargs=-1, required=True)
@click.option(
    "--as",
    "codec",
    type=click.Choice(CODECS),
    default="sha256:hex",
    show_default=True,
    help="How digests are spelt, also that of --check.",
)
@click.option("--json-input", is_flag=True, help="Digest the canonical bytes of a JSON text.")
@click.option("--check", metavar="DIGEST", help="Refuse any other digest; takes one file.")
@output.json_option
def digest(files: tuple[str, ...], codec: str, json_input: bool, check: str | None) -> int:
    """Print the SHA-256 of files and folders.

    A folder's digest covers the sorted list of its files' paths, sizes and digests; - is
    standard input.

    \b
    Example:
      taskseal digest plan.md --check sha256:90c5…
    """
    if check is not None and len(files) != 1:
        raise InputError(Reason.USAGE, "--check takes one file", hint="run the command once a file")
    wanted = None if check is None else _wanted(check, codec)
    codes = []
    for name in files:
        try:
            found = _measure(name, json_input)
            codes.append(_tell(name, found, codec, wanted))
        except TasksealError as fault:
            codes.append(output.error(fault, name if len(files) > 1 else None))
    return output.worst(codes)


def _wanted(text: str, codec: str) -> Digest:
    from taskseal import Digest

    try:
        return Digest.read(text, codec)
    except InputError as fault:
        hint = f"--check is read as --as says; {fault.hint}"
        raise InputError(fault.code, f"--check: {fault.detail}", hint=hint) from None


def _measure(name: str, json_input: bool) -> Measured:
    from taskseal import Digest
    from taskseal.canon.digest import hash_directory, hash_file, read_stream
    from taskseal.canon.jcs import encode
    from taskseal.canon.strictjson import parse

    if json_input:
        parsed = parse(opening.read_input(name, opening.JSON_LIMIT))
        content = encode(parsed.value, plain=parsed.plain)
        return Measured(Digest.of(content), len(content), "json")
    if name == opening.STDIN:
        streamed = read_stream(opening.standard_input())
        return Measured(streamed.digest, streamed.size, "stream")
    if os.path.isdir(name):
        manifest = hash_directory(name)
        return Measured(manifest.digest, manifest.size, "directory")
    with _progress(name) as tell:
        read = hash_file(name, progress=tell)
    return Measured(read.digest, read.size, "file")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int], None] | None]:
    """A bar on a terminal for a file that takes long, else nothing."""
    try:
        size = Path(name).stat().st_size
    except (OSError, ValueError):
        size = 0
    if size <= PROGRESS_FROM or not output.is_terminal(sys.stderr):
        yield None
        return
    label = output.shown(Path(name).name)[:30]
    with click.progressbar(length=size, label=label, file=sys.stderr) as bar:
        yield bar.update


def _tell(name: str, found: Measured, codec: str, wanted: Digest | None) -> int:
    spelt = found.digest.text(codec)
    about: dict[str, Any] = {"file": output.named(name), "digest": spelt}
    if wanted is not None and wanted != found.digest:
        expected = wanted.text(codec)
        fault = InputError(Reason.DIGEST_MISMATCH, f"{name} has {spelt}, expected {expected}")
        output.error(fault, **about, expected=expected)
        return output.EXIT_REFUSED
    if output.wants_json():
        output.record({**about, "size": found.size, "kind": found.kind})
    else:
        output.line(f"{spelt}  {output.shown(name)}")
    return 0

"""``keys pin``: what receivers trust, as pins or for OpenSSH.

Source: SPEC sections 4.8 and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.cli.keys import PUBLIC_MODE
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import FILE, keyring_option, output_options
from taskseal.errors import InputError, Reason

if TYPE_CHECKING:
    from taskseal.keys import KeyEntry

KINDS = ("pins", "allowed_signers")
"""What ``--as`` takes."""


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="[FILE]", type=FILE, required=False)
@click.option(
    "--as", "kind", type=click.Choice(KINDS), default="pins", help="The file's kind; else pins."
)
@keyring_option
@output_options
@output.json_option
def pin(file: str | None, kind: str, keyring: str | None, out: str | None, force: bool) -> int:
    """Write a pins file, for receivers to trust.

    It holds the public side of every key of the keyring, or of FILE: pins, a keyset, or an
    allowed_signers file of OpenSSH. A receiver with only OpenSSH takes allowed_signers.

    \b
    Example:
      taskseal keys pin -o pins.json
      taskseal keys pin pins.json --as allowed_signers -o allowed_signers
    """
    issuer, entries = _keys(file, keyring)
    content = _written(entries, kind)
    target = None if out == opening.STDIN else out
    if target is not None:
        opening.write_output(target, content, PUBLIC_MODE, force=force)
    if output.wants_json():
        record: dict[str, Any] = {
            "written": None if target is None else output.named(target),
            "issuer": issuer,
            "keyVersions": [entry.key_version for entry in entries],
        }
        if target is None:
            whole = opening.parsed(content) if kind == "pins" else content.decode()
            record["pins" if kind == "pins" else "allowedSigners"] = whole
        output.record(record)
    elif target is None:
        output.data(content)
    else:
        count = len(entries)
        output.note(f"pinned {count} key{'' if count == 1 else 's'} of {issuer} in {target}")
    return 0


def _keys(file: str | None, keyring: str | None) -> tuple[str, tuple[KeyEntry, ...]]:
    """Whose keys they are, and the keys: of a file, or of the keyring."""
    from taskseal import load_trust_file
    from taskseal.keys.allowed_signers import read_allowed_signers
    from taskseal.keys.pins import TRUST_FILE_LIMIT, Pins

    if file is None:
        pins = opening.keyring(keyring).pins()
        return pins.issuer, pins.entries
    if keyring is not None:
        raise InputError(Reason.USAGE, "FILE or --keyring, not both", hint="leave one away")
    data = opening.read_input(file, TRUST_FILE_LIMIT)
    name = "standard input" if file == opening.STDIN else file
    if data.lstrip()[:1] == b"{":
        found = load_trust_file(data, name)
    else:
        found = read_allowed_signers(data, name)
    for note in found.notes if isinstance(found, Pins) else ():
        output.note(f"note: {name}: {note}")
    return found.issuer, found.entries


def _written(entries: tuple[KeyEntry, ...], kind: str) -> bytes:
    from taskseal.keys.allowed_signers import write_allowed_signers
    from taskseal.keys.pins import Pins

    if kind == "pins":
        return Pins.of(entries).to_json()
    written = write_allowed_signers(entries)
    for note in written.notes:
        output.note(f"note: {note}")
    return written.data

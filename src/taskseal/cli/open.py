"""From paths, URLs, the environment and ``-`` to the objects of the library.

With ``desk`` and ``passphrase``, which build on this, it is the only place of the command line
that opens files, asks the environment or prompts.

Source: SPEC sections 4.4, 4.10 and 9.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from taskseal.cli import output
from taskseal.errors import InputError, Reason
from taskseal.storage import read_file, write_atomic

if TYPE_CHECKING:
    from taskseal import Keyring, Ledger, Profile, Refused, Trust
    from taskseal.keys.keyring import Unlock

MESSAGE_LIMIT = 96 << 20
"""Bytes that are read of a message; more than any profile takes, signed and encoded."""
JSON_LIMIT = 1 << 28
"""Bytes of the largest JSON text that is canonicalised whole."""
SIDE_FILE_LIMIT = 1 << 24
"""Bytes of the largest profile, schema, context, binding or signature file."""

STDIN = "-"
_STDIN_TAKEN = "taskseal.stdin"


def read_input(name: str, limit: int) -> bytes:
    """The bytes of a file, or of standard input for ``-``.

    Raises:
        InputError: ``file_missing``, ``file_unreadable``, ``too_large``; ``usage`` when standard
            input was read before.
    """
    if name != STDIN:
        return read_file(name, limit, pipes=True)
    stream = standard_input()
    try:
        data = stream.read(limit + 1)
    except OSError as error:
        raise InputError(
            Reason.FILE_UNREADABLE, f"standard input cannot be read: {error.strerror}"
        ) from None
    if len(data) > limit:
        raise InputError(Reason.TOO_LARGE, f"standard input is larger than {limit} bytes")
    return data


def standard_input() -> BinaryIO:
    """Standard input as bytes, which one reader may have.

    Raises:
        InputError: ``usage`` the second time; ``file_unreadable`` when it is closed.
    """
    taken = click.get_current_context().meta
    if taken.get(_STDIN_TAKEN):
        raise InputError(
            Reason.USAGE, "standard input is named twice", hint="give the other one as a file"
        )
    taken[_STDIN_TAKEN] = True
    if sys.stdin is None or sys.stdin.closed:
        raise InputError(Reason.FILE_UNREADABLE, "standard input is closed")
    return sys.stdin.buffer


def profile_named(text: str | None) -> Profile | None:
    """The profile that ``--profile`` means: a built-in one by id, a custom one by its TOML file.

    Raises:
        InputError: ``usage`` for an unknown id; a file code.
        MaterialError: ``profile_malformed``.
    """
    from taskseal import BUILT_IN
    from taskseal.keys.entry import is_profile_id
    from taskseal.profiles.built_in import named_profile

    if text is None or is_profile_id(text):
        return named_profile(text, BUILT_IN)
    return profile_file(text)


def profile_file(path: str) -> Profile:
    """The custom profile of a TOML file; its schema's path is relative to that file."""
    from taskseal import custom_profile

    folder = Path(path).parent
    return custom_profile(
        read_input(path, SIDE_FILE_LIMIT),
        source=path,
        read_schema=lambda name: read_file(folder / name, SIDE_FILE_LIMIT),
    )


def signable(text: str) -> tuple[str, bool]:
    """The profile that ``keys new --for`` means: its id, and whether a custom one signs bare.

    Raises:
        InputError: ``usage`` for an id that is known nowhere; a file code.
        MaterialError: ``profile_malformed``.
    """
    from taskseal import BUILT_IN
    from taskseal.keys.entry import BARE_PROFILES, KEYSET_PROFILES, is_profile_id

    if not is_profile_id(text):
        custom = profile_file(text)
        return custom.id, custom.bare
    known = sorted(BUILT_IN.keys() | BARE_PROFILES | KEYSET_PROFILES)
    if text not in known:
        raise InputError(
            Reason.USAGE,
            f"no profile {text!r} is known here",
            hint=f"name its FILE.toml, or one of {', '.join(known)}",
        )
    return text, False


def trust(files: Iterable[str]) -> Trust:
    """The keys of all ``--trust`` files together; what a person should know goes to stderr.

    Raises:
        MaterialError: ``trust_missing``, ``trust_malformed``, ``trust_signature_bad``,
            ``trust_conflict``.
    """
    from taskseal import Pins, Trust, load_trust_file
    from taskseal.keys.pins import TRUST_FILE_LIMIT

    sources = [load_trust_file(read_input(name, TRUST_FILE_LIMIT), name) for name in files]
    for name, source in zip(files, sources, strict=True):
        if isinstance(source, Pins):
            for each in source.notes:
                output.note(f"note: {name}: {each}")
    return Trust.of(*sources)


def keyring_folder(option: str | None) -> Path:
    """The keyring's folder: the option, TASKSEAL_KEYRING, or in the user data directory."""
    given = option or os.environ.get("TASKSEAL_KEYRING")
    if given:
        return Path(given)
    from platformdirs import user_data_path

    return user_data_path("taskseal", appauthor=False) / "keyring"


def keyring(option: str | None, passphrase: Unlock = None) -> Keyring:
    """The keyring that stands there.

    Raises:
        MaterialError: ``keyring_missing``, ``keyring_malformed``.
    """
    from taskseal import Keyring

    return Keyring.open(keyring_folder(option), passphrase=passphrase)


def ledger(option: str | None) -> Ledger:
    """The ledger: the option's URL, TASKSEAL_LEDGER's, or a file in the user state directory.

    Raises:
        MaterialError: ``usage``.
        Unavailable: ``ledger_unavailable``.
    """
    from taskseal import open_ledger

    url = option or os.environ.get("TASKSEAL_LEDGER")
    if url:
        return open_ledger(url)
    from platformdirs import user_state_path

    file = user_state_path("taskseal", appauthor=False) / "ledger.sqlite3"
    return open_ledger(f"sqlite:{file}", create_folder=True)


def message(name: str, signature: str | None) -> tuple[bytes, bytes | None] | Refused:
    """A message's bytes and those of its detached signature, or the refusal of either's size.

    Raises:
        InputError: ``file_missing``, ``file_unreadable``.
    """
    try:
        data = read_input(name, MESSAGE_LIMIT)
        return data, None if signature is None else read_input(signature, SIDE_FILE_LIMIT)
    except InputError as fault:
        if fault.code is not Reason.TOO_LARGE:
            raise
        from taskseal import Refused
        from taskseal.profiles.base import failed

        check = failed("size", fault.code, fault.detail, None)
        return Refused(fault.code, fault.detail, checks=[check])


def instant(text: str | None) -> int | None:
    """The instant of an option.

    Raises:
        InputError: ``usage``.
    """
    from taskseal.validity import to_instant

    return None if text is None else to_instant(text)


def profile_of(profile_id: str, named: Profile | None) -> Profile:
    """The profile of that id: a built-in one, or the custom one that was named."""
    from taskseal import BUILT_IN

    return BUILT_IN[profile_id] if named is None else named


def parsed(document: bytes) -> Any:
    """The value of a JSON text that was taken before."""
    from taskseal.canon.strictjson import parse

    return parse(document).value


def write_output(path: str, content: bytes, mode: int, *, force: bool) -> None:
    """Writes a result to a file, whole or not at all.

    Raises:
        InputError: ``file_exists``, ``file_unwritable``.
    """
    write_atomic(path, content, mode=mode, overwrite=force)

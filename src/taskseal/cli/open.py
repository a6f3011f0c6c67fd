"""From paths, URLs, the environment and ``-`` to the objects of the library.

With ``desk``, ``passphrase`` and ``init``, which build on this, it is the only place of the command
line that opens files, asks the environment or prompts.

Source: SPEC sections 4.4, 4.10 and 9.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from taskseal.cli import output
from taskseal.errors import InputError, Reason
from taskseal.storage import read_file, write_atomic

if TYPE_CHECKING:
    from taskseal import Config, Keyring, Ledger, Profile, Refused, Trust
    from taskseal.keys.keyring import Unlock
    from taskseal.keys.receivers import Receivers
    from taskseal.keys.trust_store import TrustStore

MESSAGE_LIMIT = 96 << 20
"""Bytes that are read of a message; more than any profile takes, signed and encoded."""
JSON_LIMIT = 1 << 28
"""Bytes of the largest JSON text that is canonicalised whole."""
SIDE_FILE_LIMIT = 1 << 24
"""Bytes of the largest profile, schema, context, binding or signature file."""

STDIN = "-"

# How JSON, a detached JWS in compact form and armoured text begin.
_CONTENT = re.compile(r"[\[{\"]|[\w-]+\.\.[\w-]*$|-----BEGIN ")
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


def read_option(option: str, name: str, limit: int) -> bytes:
    """The bytes of the file that an option names; it may have been given what stands in it.

    Raises:
        InputError: as :func:`read_input`.
    """
    try:
        return read_input(name, limit)
    except InputError as fault:
        given = name.strip()
        if fault.code is Reason.USAGE or not (given == "" or _CONTENT.match(given)):
            raise
        raise InputError(
            fault.code,
            f"what {option} was given is no file's name",
            hint="give the file, not its text",
        ) from None


def is_missing(name: str) -> bool:
    """Whether it is sure that ``name`` is neither a file nor standard input."""
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return name != STDIN
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


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


def config(option: str | None) -> Config | None:
    """The configuration: the option's, TASKSEAL_CONFIG's or the user's own; None without any.

    Raises:
        MaterialError, InputError: as :func:`load_config`.
    """
    from taskseal import load_config
    from taskseal.config.places import config_file

    path = config_file(option)
    return None if path is None else load_config(path)


def profile_named(
    text: str | None, profiles: Mapping[str, Profile] | None = None
) -> Profile | None:
    """The profile that ``--profile`` means: one at hand by id, a custom one by its TOML file.

    Raises:
        InputError: ``usage`` for an unknown id; a file code.
        MaterialError: ``profile_malformed``.
    """
    from taskseal import BUILT_IN
    from taskseal.keys.entry import is_profile_id
    from taskseal.profiles.built_in import named_profile

    if text is None or is_profile_id(text):
        return named_profile(text, BUILT_IN if profiles is None else profiles)
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
    signed = {profile.id for profile in BUILT_IN.values() if profile.form != "digest"}
    known = sorted(signed | BARE_PROFILES | KEYSET_PROFILES)
    if text not in known:
        raise InputError(
            Reason.USAGE,
            f"no profile {text!r} is known here",
            hint=f"name its FILE.toml, or one of {', '.join(known)}",
        )
    return text, False


def trust(files: Iterable[str], configured: Config | None = None) -> Trust:
    """The keys of all ``--trust`` files and stores, and of the configuration, together.

    What a person should know goes to stderr.

    Raises:
        MaterialError: ``trust_missing``, ``trust_malformed``, ``trust_signature_bad``,
            ``trust_conflict``, ``keyset_rollback``.
    """
    from taskseal import Pins, Trust, load_trust_file
    from taskseal.keys.pins import TRUST_FILE_LIMIT

    sources = [
        trust_store(name)
        if name != STDIN and os.path.isdir(name)
        else load_trust_file(read_option("--trust", name, TRUST_FILE_LIMIT), name)
        for name in files
    ]
    for name, source in zip(files, sources, strict=True):
        if isinstance(source, Pins):
            for each in source.notes:
                output.note(f"note: {name}: {each}")
    rules = () if configured is None else configured.trust
    for rule in rules:
        for each in rule.notes:
            output.note(f"note: {rule.place}: {each}")
    return Trust.of(*(rule.source for rule in rules), *sources)


def trust_store(option: str | None, **rules: Any) -> TrustStore:
    """The trust store in a folder, or in the user data directory; ``rules`` are its ``Rules``.

    The highest generations that it stood at are remembered in the user state directory.
    """
    from taskseal.config.places import trust_folder, trust_marks
    from taskseal.keys.succession import Rules
    from taskseal.keys.trust_store import TrustStore

    return TrustStore(trust_folder(option), rules=Rules(**rules), mark=trust_marks())


def keyring_folder(option: str | Path | None) -> Path:
    """The keyring's folder: the option, TASKSEAL_KEYRING, or in the user data directory."""
    from taskseal.config import places

    return places.keyring_folder(option)


def keyring(option: str | Path | None, passphrase: Unlock = None) -> Keyring:
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
    from taskseal.config.places import open_ledger_at

    return open_ledger_at(option)


def message(name: str, signature: str | None) -> tuple[bytes, bytes | None] | Refused:
    """A message's bytes and those of its detached signature, or the refusal of either's size.

    Raises:
        InputError: ``file_missing``, ``file_unreadable``.
    """
    try:
        data = read_input(name, MESSAGE_LIMIT)
        if signature is None:
            return data, None
        return data, read_option("--signature", signature, SIDE_FILE_LIMIT)
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


def receivers(folder: str | None, current: str | None) -> Receivers:
    """What the receivers in a ``--receivers`` folder say, and the keyset that they should have.

    Raises:
        InputError: a file code.
        MaterialError: ``trust_malformed``.
    """
    from taskseal.keys.keyset import MAX_KEYSET
    from taskseal.keys.receivers import SIGHTING_LIMIT, Receivers, Sighting
    from taskseal.keys.succession import read_offer

    found = []
    for path in [] if folder is None else _json_files(folder):
        found.append(Sighting.load(read_file(path, SIGHTING_LIMIT), path.name))
    if current is None:
        return Receivers(tuple(found))
    offer = read_offer(read_input(current, MAX_KEYSET), current)
    lists = frozenset(entry.key_version for entry in offer.entries())
    return Receivers(tuple(found), offer.generation, lists)


def _json_files(folder: str) -> list[Path]:
    try:
        return sorted(path for path in Path(folder).iterdir() if path.suffix == ".json")
    except OSError as error:
        code = Reason.FILE_UNREADABLE if os.path.lexists(folder) else Reason.FILE_MISSING
        raise InputError(code, f"the folder {folder!a}: {error.strerror}") from None
    except ValueError:
        raise InputError(Reason.FILE_MISSING, f"{folder!a} is no file name") from None

"""Where a passphrase comes from: a file, the environment, or whoever sits at the terminal.

Source: SPEC section 4.4.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeVar

import click

from taskseal.cli import output
from taskseal.cli.open import STDIN, read_input
from taskseal.cli.options import Passphrases
from taskseal.errors import InputError, MaterialError, Reason

T = TypeVar("T")

PASSPHRASE_LIMIT = 1 << 12
"""Bytes of the longest passphrase file."""
TRIES = 3
"""How often a passphrase may be typed."""
_READ = "taskseal.passphrase"


class Opener:
    """What gives the passphrase of ``what`` when it turns out to be needed, asking once.

    It raises ``passphrase_needed`` when there is no source and no terminal, or when the
    options say that nobody is to be asked.
    """

    def __init__(self, options: Passphrases, what: str) -> None:
        self._options = options
        self._what = what
        self._found: bytes | None = None
        self._typed = 0
        if options.file == STDIN:
            # At once, lest the document be taken for the passphrase or the other way round.
            from_source(options)

    def __call__(self) -> bytes:
        if self._found is None:
            given = from_source(self._options)
            if given is None and not self._options.none:
                given = _prompt(f"Passphrase of {self._what}: ")
                self._typed += 1
            if given is None:
                raise MaterialError(Reason.PASSPHRASE_NEEDED, f"{self._what} is locked")
            self._found = given
        return self._found

    def tried(self, work: Callable[[], T]) -> T:
        """What ``work`` gives; one that was typed wrong may be typed again, twice.

        ``work`` begins anew each time, so that nothing in it may be done by halves.
        """
        while True:
            try:
                return work()
            except MaterialError as fault:
                wrong = fault.code is Reason.PASSPHRASE_WRONG
                if not wrong or not 0 < self._typed < TRIES:
                    raise
            output.note("it does not open with that: try again")
            self._found = None


def chosen(options: Passphrases, what: str) -> bytes | None:
    """The passphrase for a new file, or None when it is to be kept in the clear.

    Raises:
        MaterialError: ``passphrase_needed`` when there is no source and no terminal.
        InputError: ``usage`` when what was typed is empty or differs.
    """
    if options.none:
        return None
    given = from_source(options)
    if given is not None:
        return given
    first = _prompt(f"New passphrase for {what}: ")
    if first is None:
        raise MaterialError(
            Reason.PASSPHRASE_NEEDED,
            f"{what} is kept under a passphrase, and none was given",
            hint="set TASKSEAL_PASSPHRASE, name a file with --passphrase-file, or say "
            "--no-passphrase to keep it in the clear",
        )
    if not first:
        raise InputError(
            Reason.USAGE,
            "an empty passphrase protects nothing",
            hint="say --no-passphrase to keep the key in the clear",
        )
    if _prompt("The same again: ") != first:
        raise InputError(Reason.USAGE, "the two passphrases differ", hint="try again")
    return first


def from_source(options: Passphrases) -> bytes | None:
    """The passphrase that a file or the environment holds, or None.

    Raises:
        InputError: a file code.
        MaterialError: ``passphrase_needed`` when the file is empty.
    """
    if options.file is not None:
        return _read(options.file)
    variable = os.environ.get("TASKSEAL_PASSPHRASE")
    if variable:
        return os.fsencode(variable)
    named = os.environ.get("TASKSEAL_PASSPHRASE_FILE")
    return _read(named) if named else None


def _read(name: str) -> bytes:
    """The passphrase in a file, which is read once: it may be a pipe."""
    known: dict[str, bytes] = click.get_current_context().meta.setdefault(_READ, {})
    if name not in known:
        known[name] = _read_once(name)
    return known[name]


def _read_once(name: str) -> bytes:
    data = read_input(name, PASSPHRASE_LIMIT)
    for end in (b"\r\n", b"\n"):
        if data.endswith(end):
            data = data.removesuffix(end)
            break
    if not data:
        raise MaterialError(Reason.PASSPHRASE_NEEDED, f"the passphrase file {name} is empty")
    return data


def _prompt(text: str) -> bytes | None:
    """What is typed at the terminal without showing, or None where there is no terminal."""
    if not _has_terminal():
        return None
    from getpass import getpass

    try:
        return os.fsencode(getpass(output.shown(text)))
    except EOFError:
        return None


def _has_terminal() -> bool:
    """Whether somebody can be asked: on standard input, or past it when it carries a document."""
    if output.is_terminal(sys.stdin):
        return True
    if not output.is_terminal(sys.stderr):
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True

"""Where this user's files are, as far as nobody names others.

A variable may name a place. The configuration is never looked for in the working directory,
which is often somebody else's, and what it says comes before any variable but its own.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
from pathlib import Path

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.ledger import Ledger, open_ledger

CONFIG_NAME = "taskseal.toml"
_PROGRAM = "taskseal"


def config_file(named: str | os.PathLike[str] | None) -> Path | None:
    """The configuration: what is ``named``, TASKSEAL_CONFIG, or the user's own if there is one.

    Raises:
        MaterialError: ``config_unsafe`` when TASKSEAL_CONFIG leaves it to the working directory.
        InputError: ``file_unreadable`` when it is not known whether there is one.
    """
    if named is not None:
        return Path(named)
    by_variable = os.environ.get("TASKSEAL_CONFIG")
    if by_variable:
        if not os.path.isabs(by_variable):
            raise MaterialError(
                Reason.CONFIG_UNSAFE,
                f"TASKSEAL_CONFIG is {by_variable!a}, which depends on the working directory",
                hint="give an absolute path, or name the file with --config",
            )
        return Path(by_variable)
    own = user_config_file()
    try:
        # A relative one would be in the working directory.
        return own if own.is_absolute() and os.lstat(own) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(
            Reason.FILE_UNREADABLE, f"{str(own)!a} cannot be read: {error.strerror}"
        ) from None


def user_config_file() -> Path:
    """Where the user's own configuration is, or would be."""
    from platformdirs import user_config_path

    return user_config_path(_PROGRAM, appauthor=False) / CONFIG_NAME


def keyring_folder(named: str | Path | None) -> Path:
    """The keyring: what is ``named``, TASKSEAL_KEYRING, or in the user data directory."""
    found = named or os.environ.get("TASKSEAL_KEYRING")
    if found:
        return Path(found)
    from platformdirs import user_data_path

    return user_data_path(_PROGRAM, appauthor=False) / "keyring"


def ledger_url(named: str | None) -> tuple[str, bool]:
    """The ledger: what is ``named``, TASKSEAL_LEDGER, or a file in the user state directory.

    Beside the URL stands whether its folder may be made. What the environment says must be a
    place that lasts: a memory that ends with the process would switch off what it is for.

    Raises:
        InputError: ``usage`` when TASKSEAL_LEDGER names a ledger that does not last.
    """
    if named:
        return named, False
    found = os.environ.get("TASKSEAL_LEDGER")
    if found:
        if found.partition(":")[0] == "memory":
            raise InputError(
                Reason.USAGE,
                f"TASKSEAL_LEDGER is {found!r}, which forgets when the command ends",
                hint="name a file (sqlite:/var/lib/…), or say --ledger memory: each time",
            )
        return found, False
    from platformdirs import user_state_path

    return f"sqlite:{user_state_path(_PROGRAM, appauthor=False) / 'ledger.sqlite3'}", True


def open_ledger_at(named: str | None) -> Ledger:
    """The ledger of :func:`ledger_url`, opened.

    Raises:
        MaterialError: ``usage``.
        Unavailable: ``ledger_unavailable``.
    """
    url, own = ledger_url(named)
    return open_ledger(url, create_folder=own)


def trust_marks() -> Path:
    """Where the highest generations of trust stores are remembered, outside of the stores."""
    from platformdirs import user_state_path

    return user_state_path(_PROGRAM, appauthor=False) / "trust-marks"


def trust_folder(named: str | Path | None) -> Path:
    """The trust store: what is ``named``, or in the user data directory."""
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path(_PROGRAM, appauthor=False) / "trust"

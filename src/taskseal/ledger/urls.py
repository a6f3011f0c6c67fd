"""Ledgers by URL. A store is imported only when its scheme is asked for.

Source: SPEC section 8, items 5 and 7.
"""

from __future__ import annotations

from typing import NamedTuple

from taskseal.errors import MaterialError, Reason, expect
from taskseal.ledger.base import Ledger
from taskseal.ledger.checks import LARGEST
from taskseal.ledger.memory import MEMORY_MAX_RECORDS, MemoryLedger

BUSY_TIMEOUT = 5_000_000_000
"""Nanoseconds that one call waits for a store that others hold, before it is unavailable."""

_KNOWN = "memory:, memory:?max_records=N, sqlite:PATH, sqlite:PATH?max_records=N"


class LedgerPlace(NamedTuple):
    """What a ledger's URL says: the scheme, the path behind it, and the most records, if told."""

    scheme: str
    path: str
    max_records: int | None


def read_ledger_url(url: str) -> LedgerPlace:
    """What ``url`` says, as :func:`open_ledger` understands it; nothing is opened.

    Raises:
        MaterialError: ``usage`` when the URL cannot be understood.
    """
    scheme, colon, rest = url.partition(":")
    place, mark, query = rest.partition("?")
    if not colon or scheme not in ("memory", "sqlite"):
        raise _not_understood(url, "it names no store that is known here")
    max_records = _max_records(url, query) if mark else None
    if scheme == "memory":
        if place:
            raise _not_understood(url, "memory: takes no path")
    elif place in ("", ":memory:") or "\0" in place:
        raise _not_understood(url, "sqlite: needs the path of a file")
    elif place.startswith("//") and not place.startswith("///"):
        raise _not_understood(url, "write sqlite:relative/path or sqlite:/absolute/path")
    return LedgerPlace(scheme, place, max_records)


def open_ledger(
    url: str, *, create_folder: bool = False, busy_timeout: int = BUSY_TIMEOUT
) -> Ledger:
    """The ledger that ``url`` names.

    Args:
        url: ``memory:`` or ``sqlite:PATH``, either with ``?max_records=N`` behind it. PATH is a
            plain path, relative or absolute, never percent-decoded, without a question mark.
        create_folder: make the folder of a SQLite file (0700) when it is missing. A missing
            file is always made (0600).
        busy_timeout: nanoseconds that a call waits for a SQLite file that others hold.

    Raises:
        MaterialError: ``usage`` when the URL cannot be understood.
        Unavailable: ``ledger_unavailable`` when the store cannot be opened.
    """
    expect(url, str, "a ledger's URL", "write memory: or sqlite:PATH")
    scheme, path, max_records = read_ledger_url(url)
    if scheme == "memory":
        return MemoryLedger(MEMORY_MAX_RECORDS if max_records is None else max_records)
    from taskseal.ledger.sqlite import SqliteLedger

    return SqliteLedger(
        path, max_records=max_records, create_folder=create_folder, busy_timeout=busy_timeout
    )


def _max_records(url: str, query: str) -> int:
    name, equals, text = query.partition("=")
    if name != "max_records" or not equals:
        raise _not_understood(url, f"{name!r} is no parameter that is known here")
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST))):
        raise _not_understood(url, "max_records is a whole number from 1")
    number = int(text)
    if not 1 <= number <= LARGEST:
        raise _not_understood(url, "max_records is a whole number from 1")
    return number


def _not_understood(url: str, why: str) -> MaterialError:
    return MaterialError(Reason.USAGE, f"the ledger {url!r}: {why}", hint=f"write one of {_KNOWN}")

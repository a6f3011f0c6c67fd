"""The formats that are asserted here with a meaning of their own.

``uuid`` needs none: the engine's is the one that SPEC section 5.1 asks for, 36 characters.

Source: SPEC section 3; RFC 3339.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from taskseal.validity import is_loose_instant, read_instant


def is_instant(text: str) -> bool:
    """``date-time``: what :func:`taskseal.validity.read_instant` reads."""
    return read_instant(text) is not None


def is_peers_instant(text: str) -> bool:
    """``date-time-loose``: what :func:`taskseal.validity.is_loose_instant` lets through."""
    return read_instant(text) is not None or is_loose_instant(text)


FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {"date-time": is_instant, "date-time-loose": is_peers_instant}
)
"""By name; each is called with strings only."""

USUAL = (
    r"^(?:19[7-9][0-9]|[2-9][0-9]{3})-"
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z$"
)
"""What nearly every message holds where it holds a time, on any day but 29 February; all of it
is of both formats."""


def hastened(schema: Any) -> Any:
    """A copy of one of our own schemas that gives the same verdicts sooner.

    Being asked about a format takes the engine out into Python and back. What looks as usual is
    settled by a pattern, within the engine. What stands in a ``const`` or an ``enum`` must not look
    like a schema with such a format; nothing of ours does.
    """
    if isinstance(schema, list):
        return [hastened(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: hastened(item) for name, item in schema.items()}
    name = copy.get("format")
    if isinstance(name, str) and name in FORMATS:
        del copy["format"]
        settled = {"anyOf": [{"pattern": USUAL}, {"format": name}]}
        copy["allOf"] = [*copy.get("allOf", ()), settled]
    return copy

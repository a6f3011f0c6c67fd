"""The formats that are asserted here with a meaning of their own.

``uuid`` needs none: the engine's is the one that SPEC section 5.1 asks for, 36 characters.

Source: SPEC section 3; RFC 3339.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from taskseal.validity import is_loose_instant, read_instant

# What nearly every message holds, any day but 29 February: a third of the reader's time.
_PLAIN = re.compile(
    r"(?:19[7-9][0-9]|[2-9][0-9]{3})-"
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z"
)


def is_instant(text: str) -> bool:
    """``date-time``: what :func:`taskseal.validity.read_instant` reads."""
    return _PLAIN.fullmatch(text) is not None or read_instant(text) is not None


def is_peers_instant(text: str) -> bool:
    """``date-time-loose``: what :func:`taskseal.validity.is_loose_instant` lets through."""
    return _PLAIN.fullmatch(text) is not None or is_loose_instant(text)


FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {"date-time": is_instant, "date-time-loose": is_peers_instant}
)
"""By name; each is called with strings only."""

"""The formats that are asserted here with a meaning of their own.

``uuid`` needs none: the engine's is the one that SPEC section 5.1 asks for, 36 characters.

Source: SPEC section 3; RFC 3339.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from taskseal.validity import read_instant

# ECMA-262 white space and line ends (`\s`), which Dharma's check takes in place of the T.
_SEPARATOR = "[Tt\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_LOOSE = re.compile(
    rf"([0-9]{{4}})(-[0-9]{{2}}-[0-9]{{2}}){_SEPARATOR}([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})"
    r"(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
)
_DAY = 24 * 60
"""Minutes in a day."""


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


def is_loose_instant(text: str) -> bool:
    """``date-time-loose``: what Dharma's own schema check takes for a time.

    Beyond ours it takes white space for the ``T``, any count of fraction digits, any year,
    the offsets ``±HH`` and ``±HHMM``, and second 60 in the last minute of a UTC day.
    """
    found = _LOOSE.fullmatch(text)
    if found is None:
        return False
    year, day, *clock, sign, off_hour, off_minute = found.groups(default="0")
    hour, minute, second = map(int, clock)
    if hour > 23 or minute > 59 or int(off_hour) > 23 or int(off_minute) > 59:
        return False
    # The calendar repeats after 400 years; the reader knows the years from 1970 on.
    if read_instant(f"{2000 + int(year) % 400}{day}T00:00:00Z") is None:
        return False
    if second < 60:
        return True
    offset = (int(off_hour) * 60 + int(off_minute)) * (-1 if sign == "-" else 1)
    return second == 60 and (hour * 60 + minute - offset) % _DAY == _DAY - 1


FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {"date-time": is_instant, "date-time-loose": is_loose_instant}
)
"""By name; each is called with strings only."""

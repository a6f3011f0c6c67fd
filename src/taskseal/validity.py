"""Time: one reader, one clock, one window rule.

An instant is an ``int``: nanoseconds since 1970-01-01T00:00:00Z. Nothing here reads the
clock; a :data:`Clock` is a callable that the outermost call asks once.

Source: RFC 3339 as narrowed by SPEC section 3.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from taskseal.errors import InputError, Reason

Instant = int
Clock = Callable[[], Instant]

SECOND: int = 1_000_000_000
"""Nanoseconds in a second."""
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

FUTURE_SKEW = 300 * SECOND
"""How far ahead of ours a sender's clock may run, unless policy says otherwise."""
PAST_SKEW = 0
"""How long after its expiry a message is still taken, unless policy says otherwise."""
MAX_LIFETIME = 24 * HOUR
"""The longest span from issue to expiry, unless the profile or policy says otherwise."""
RECEIPT_MAX_LIFETIME = 30 * MINUTE
SIGNING_LIFETIME = 15 * MINUTE
"""From issue to expiry where the signer is not told."""
MAX_AGE = HOUR
"""How old a message without any expiry may be."""

system_clock: Clock = time.time_ns

_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)
_LATEST = ((datetime(9999, 12, 31) - _NAIVE_EPOCH).days + 1) * DAY - 1

LONGEST = len("2026-09-01T08:35:00.123456789+00:00")
"""Characters of the longest readable instant."""


def read_instant(text: object) -> Instant | None:
    """The instant that ``text`` names, or None when it is not a readable one.

    Takes ``YYYY-MM-DDTHH:MM:SS[.1–9 digits](Z|±HH:MM)``, the whole string, years 1970–9999,
    either case of ``T`` and ``Z``. Second 60, hour 24 and short offsets are not readable.
    """
    if type(text) is not str or len(text) > LONGEST:
        return None
    try:
        # Whole seconds in UTC, as nearly every message has them.
        within = _HOURS[text[10:13]] + _MINUTES[text[13:16]] + _SECONDS[text[16:]]
    except KeyError:
        return _read(text)
    day = _day(text[:10])
    return None if day is None else day + within


_HOURS = {f"T{hour:02}": hour * HOUR for hour in range(24)}
_MINUTES = {f":{minute:02}": minute * MINUTE for minute in range(60)}
_SECONDS = {f":{second:02}Z": second * SECOND for second in range(60)}


@lru_cache(maxsize=64)
def _day(text: str) -> Instant | None:
    """When the day ``YYYY-MM-DD`` begins; of all messages' days there are few."""
    return _read(f"{text}T00:00:00Z")


def _read(text: str) -> Instant | None:
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    fraction, sign, off_hour, off_minute = found.groups()
    try:
        # The expression has settled the form; what is left to find out is the calendar's.
        second = datetime.fromisoformat(text[:10] + "T" + text[11:19])
    except ValueError:
        return None
    since = second - _NAIVE_EPOCH
    at = since.days * DAY + since.seconds * SECOND
    if fraction:
        at += int(fraction.ljust(9, "0"))
    if sign:
        hours, minutes = int(off_hour), int(off_minute)
        if hours > 23 or minutes > 59:
            return None
        offset = hours * HOUR + minutes * MINUTE
        at += -offset if sign == "+" else offset
    return at if 0 <= at <= _LATEST else None


# ECMA-262 white space and line ends (`\s`), which Dharma's check takes in place of the T.
_SEPARATOR = "[Tt\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_LOOSE = re.compile(
    rf"([0-9]{{4}})(-[0-9]{{2}}-[0-9]{{2}}){_SEPARATOR}([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})"
    r"(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
)
_DAY_MINUTES = 24 * 60
"""Minutes in a day."""


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
    return second == 60 and (hour * 60 + minute - offset) % _DAY_MINUTES == _DAY_MINUTES - 1


def write_instant(at: Instant) -> str:
    """``at`` as RFC 3339 in UTC with an upper-case ``Z``; as many fraction digits as it needs."""
    seconds, fraction = divmod(at, SECOND)
    text = (_NAIVE_EPOCH + timedelta(seconds=seconds)).isoformat()
    return f"{text}.{fraction:09d}".rstrip("0") + "Z" if fraction else f"{text}Z"


def to_datetime(at: Instant) -> datetime:
    """``at`` as an aware UTC datetime, cut to microseconds."""
    return _EPOCH + timedelta(microseconds=at // 1000)


def to_instant(when: datetime | str | Instant) -> Instant:
    """The instant of an aware datetime, an RFC 3339 text or an instant.

    Raises:
        InputError: ``usage`` when ``when`` is naive, unreadable or outside 1970–9999.
    """
    if type(when) is int and 0 <= when <= _LATEST:
        return when
    if isinstance(when, str):
        read = read_instant(when)
        if read is not None:
            return read
    if isinstance(when, datetime) and when.utcoffset() is not None:
        at = (when - _EPOCH) // timedelta(microseconds=1) * 1000
        if 0 <= at <= _LATEST:
            return at
    raise InputError(
        Reason.USAGE,
        f"{when!r} is not an instant",
        hint="write it as 2026-09-01T08:35:00Z, or give an aware datetime",
    )


class Limits(NamedTuple):
    """What a window is held against; all in nanoseconds, ``max_lifetime`` None for no limit."""

    future_skew: int = FUTURE_SKEW
    past_skew: int = PAST_SKEW
    max_lifetime: int | None = MAX_LIFETIME


def holds(issued: Instant, expires: Instant, now: Instant, limits: Limits) -> bool:
    """Whether :meth:`Window.fault` has nothing to say of the window from ``issued`` to ``expires``.

    ``issued − future_skew ≤ now < expiry + past_skew`` and
    ``issued < expiry ≤ issued + max_lifetime`` (SPEC section 3).
    """
    future, past, longest = limits
    return (
        issued - future <= now < expires + past
        and issued < expires
        and (longest is None or expires - issued <= longest)
    )


class Window(NamedTuple):
    """From issue to expiry."""

    issued: Instant
    expires: Instant

    def fault(self, now: Instant, limits: Limits) -> tuple[Reason, str] | None:
        """Why the window does not hold at ``now``, or None where it :func:`holds`."""
        issued, expires = self
        if holds(issued, expires, now, limits):
            return None
        if expires <= issued:
            return Reason.INVALID_LIFETIME, "it expires no later than it is issued"
        if limits.max_lifetime is not None and expires - issued > limits.max_lifetime:
            longest = limits.max_lifetime // SECOND
            return Reason.INVALID_LIFETIME, f"it lives longer than {longest} s"
        if now < issued - limits.future_skew:
            return Reason.NOT_YET_VALID, f"issued {write_instant(issued)}, now {write_instant(now)}"
        return Reason.EXPIRED, f"expired {write_instant(expires)}, now {write_instant(now)}"


_DURATION = re.compile(r"([0-9]{1,9})(s|m|h|d)")
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}


def read_duration(text: object) -> int | None:
    """Nanoseconds in a span such as ``90s``, ``15m``, ``24h`` or ``30d``; None if unreadable."""
    found = _DURATION.fullmatch(text) if type(text) is str else None
    return None if found is None else int(found[1]) * _UNITS[found[2]]

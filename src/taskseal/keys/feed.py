"""A value made of files that change: made anew when they have, and now and then on a hunch.

Source: SPEC section 4.9: receivers read the store again on change, and never fetch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

COOL_DOWN = 10.0
"""Seconds between two readings that unknown keys ask for; anyone can send an unknown key."""

T = TypeVar("T")


class Feed(Generic[T]):
    """Keeps a value until its stamp changes.

    Args:
        make: makes the value, given this feed and the value before (None at first).
        stamp: what changes whenever the value would; it is asked for at every look.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        make: Callable[[Feed[T], T | None], T],
        stamp: Callable[[], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._stamp = stamp
        self._clock = clock
        self._next = 0.0
        # One attribute, so that another thread sees a value with its own stamp.
        self._held: tuple[object, T] | None = None

    def latest(self) -> T:
        """The value, made anew when the stamp has changed; raises what ``make`` raises."""
        held, stamp = self._held, self._stamp()
        if held is not None and held[0] == stamp:
            return held[1]
        return self._renew(stamp)

    def after_miss(self) -> T:
        """The value made anew, unless that was done for a miss a short while ago."""
        now = self._clock()
        if now < self._next:
            return self.latest()
        self._next = now + COOL_DOWN
        return self._renew(self._stamp())

    def _renew(self, stamp: object) -> T:
        # The stamp was taken first: what changes during the reading shows at the next look.
        value = self._make(self, None if self._held is None else self._held[1])
        self._held = (stamp, value)
        return value

"""What every key may do from when until when, laid out along one axis of time.

Source: SPEC section 4.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log2
from typing import Literal, NamedTuple

from taskseal.keys.entry import KeyEntry
from taskseal.validity import HOUR, Instant

Stage = Literal["waiting", "signing", "overlap", "revoked"]


class Span(NamedTuple):
    """From ``begins`` until before ``ends`` a key is at one stage.

    ``waiting``: accepted, and it does not sign yet. ``signing``: it does. ``overlap``: accepted,
    and it signs no more. ``revoked``: until its end would have come.
    """

    stage: Stage
    begins: Instant
    ends: Instant


class Moment(NamedTuple):
    """What happens at one instant, in sentences."""

    at: Instant
    sentences: tuple[str, ...]


def spans(entry: KeyEntry) -> tuple[Span, ...]:
    """The stages of a key in order, without the empty ones."""
    marks: list[tuple[Stage, Instant, Instant]] = [
        ("waiting", entry.not_before, entry.sign_from),
        ("signing", entry.sign_from, entry.sign_until),
        ("overlap", entry.sign_until, entry.accept_until),
    ]
    gone = entry.accept_until if entry.revoked_at is None else entry.revoked_at
    found = [Span(stage, begins, min(ends, gone)) for stage, begins, ends in marks]
    found.append(Span("revoked", gone, entry.accept_until))
    return tuple(span for span in found if span.begins < span.ends)


def moments(entries: Iterable[KeyEntry], now: Instant) -> tuple[Moment, ...]:
    """Every instant at which something changes, ``now`` among them, in order."""
    told: dict[Instant, list[str]] = {now: ["now"]}
    for entry in entries:
        verbs: dict[Instant, list[str]] = {}
        for at, verb in _changes(entry):
            verbs.setdefault(at, []).append(verb)
        for at, each in verbs.items():
            told.setdefault(at, []).append(f"{entry.key_version} {' and '.join(each)}")
    return tuple(Moment(at, tuple(told[at])) for at in sorted(told))


def _changes(entry: KeyEntry) -> Iterable[tuple[Instant, str]]:
    revoked = entry.revoked_at
    for at, verb in (
        (entry.not_before, "is accepted"),
        (entry.sign_from, "signs"),
        (entry.sign_until, "signs no more"),
        (entry.accept_until, "is accepted no more"),
    ):
        if revoked is None or at < revoked:
            yield at, verb
    if revoked is not None:
        yield revoked, "is revoked"
        if revoked < entry.accept_until:
            yield entry.accept_until, "would have ended"


def places(instants: Sequence[Instant], width: int) -> tuple[int, ...]:
    """Where instants stand on an axis of ``width`` places, the first at 0, the last at its end.

    Years and hours stand on it together, so it is not to scale: a gap is as wide as the logarithm
    of its hours, and at least one place as long as there is room.

    Args:
        instants: in rising order, none twice.
        width: how many places there are, two at least.
    """
    gaps = [1 + log2(1 + (later - earlier) / HOUR) for earlier, later in pairwise(instants)]
    whole, last = sum(gaps) or 1.0, width - 1
    found, along = [0], 0.0
    for gap in gaps:
        along += gap
        found.append(round(along / whole * last))
    if len(instants) <= width:
        for index in range(1, len(found)):
            found[index] = max(found[index], found[index - 1] + 1)
        for index in range(len(found)):
            found[index] = min(found[index], last - (len(found) - 1 - index))
    return tuple(found)

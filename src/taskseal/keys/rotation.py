"""The plan of a rotation: one publication after which the old key hands over to the new one.

The new key is accepted at once and signs after the lead; the old one signs until then and is
accepted until the overlap ends. Planning again finds what is under way and leaves it, unless it
is asked to go faster or to wait longer.

Source: SPEC sections 4.6 and 9 (``keys rotate``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import PublicKey
from taskseal.keys.entry import ACCEPTING_SPAN, SIGNING_SPAN, KeyEntry
from taskseal.keys.lineage import Lineage
from taskseal.keys.receivers import Receivers, told
from taskseal.keys.shape import LONGEST_SPAN
from taskseal.validity import HOUR, SECOND, Instant, write_instant

LEAD = 48 * HOUR
"""Nanoseconds from a rotation to the first signature of the new key, unless told otherwise."""
OVERLAP = 24 * HOUR
"""Nanoseconds for which the old key is accepted after its last signature, unless told otherwise."""

Phase = Literal["lead", "overlap", "done"]


@dataclass(frozen=True, slots=True)
class Event:
    """What happens at an instant; ``key_version`` is the key that it happens to."""

    at: Instant
    event: Literal["accepted", "signs", "accepted_no_more", "signs_no_more"]
    key_version: str


@dataclass(frozen=True, slots=True)
class Rotation:
    """How one key hands over to the next; a value, nothing is done by making it.

    ``old`` and ``new`` are the entries as they will stand; ``new.key`` is None while the key is
    yet to be made. ``changed`` are those of them that stand otherwise in the keyring so far.
    ``notes`` say what a person should know.
    """

    lineage: str
    old: KeyEntry
    new: KeyEntry
    changed: tuple[KeyEntry, ...]
    notes: tuple[str, ...] = ()

    @property
    def begins(self) -> bool:
        """Whether the new key is yet to be made."""
        return self.new.key is None

    def with_key(self, key: PublicKey) -> Rotation:
        """The same with the new key, once it is made."""
        new = replace(self.new, key=key)
        return replace(self, new=new, changed=(*self.changed[:-1], new))

    @property
    def switch(self) -> Instant:
        """The first instant at which the new key signs."""
        return self.new.sign_from

    @property
    def end(self) -> Instant:
        """The first instant at which nothing by the old key is accepted."""
        return self.old.accept_until

    def phase(self, now: Instant) -> Phase:
        """How far it has come at ``now``."""
        if now < self.switch:
            return "lead"
        return "overlap" if now < self.end else "done"

    def next_events(self, now: Instant) -> tuple[Event, ...]:
        """What is still to happen after ``now``, in order; what happens at ``now`` included."""
        old, new = self.old, self.new
        events = [
            Event(new.not_before, "accepted", new.key_version),
            Event(new.sign_from, "signs", new.key_version),
            Event(new.sign_until, "signs_no_more", new.key_version),
        ]
        if old.revoked_at is None:
            events += [
                Event(old.sign_until, "signs_no_more", old.key_version),
                Event(old.accept_until, "accepted_no_more", old.key_version),
            ]
        return tuple(sorted((e for e in events if now <= e.at), key=lambda e: (e.at, e.event)))


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a rotation.

    ``lead`` and ``overlap`` are in nanoseconds; None is the default of a new rotation, and leaves
    one under way as it is. ``force`` hurries past receivers who are behind.
    """

    lead: int | None = None
    overlap: int | None = None
    receivers: Receivers = field(default_factory=Receivers)
    force: bool = False


def plan_rotation(
    lineage: Lineage,
    named: KeyEntry | None,
    now: Instant,
    wish: Wish = Wish(),
) -> Rotation:
    """What a rotation of ``lineage`` does at ``now``.

    A rotation is under way from the making of the new key until the old one is accepted no more
    and the new one has signed for a day. One under way is given back as it is, unless ``wish``
    brings its switch forward or moves the end of its overlap. A named key that has handed over
    never does so again.

    Args:
        lineage: the versions of one name.
        named: the one of them that is to hand over; None for the newest.
        now: the instant, in nanoseconds since 1970.
        wish: how fast.

    Raises:
        InputError: ``usage`` for a span below nothing or above 100 years, and for a key that
            does not sign yet.
        MaterialError: ``receivers_behind`` when it would go faster than a receiver follows;
            ``key_version_taken`` when a higher version stands that the named key does not hand
            over to.
    """
    for span in (wish.lead, wish.overlap):
        if not 0 <= (span or 0) <= LONGEST_SPAN:
            raise InputError(Reason.USAGE, "a lead and an overlap are spans up to 100 years")
    found = _handed_over(lineage, named, now) or _under_way(lineage, named, now, wish)
    if found is not None:
        return _adjusted(lineage, *found, now, wish)
    return _begun(lineage, named, now, wish)


def _handed_over(
    lineage: Lineage, named: KeyEntry | None, now: Instant
) -> tuple[KeyEntry, KeyEntry] | None:
    """A named key and the one that it has handed over to, if that was done."""
    above = () if named is None else lineage.above(named, now)
    if named is None or not above:
        return None
    new = above[0]
    if named.is_stillborn():
        return lineage.giver(new) or named, new
    if named.ends_signing() > new.sign_from:
        raise MaterialError(
            Reason.KEY_VERSION_TAKEN,
            f"{new.key_version!a} is there already, and {named.key_version!a} does not hand over "
            "to it",
            hint=f"rotate the newest: taskseal keys rotate {lineage.name!a}",
        )
    return named, new


def _under_way(
    lineage: Lineage, named: KeyEntry | None, now: Instant, wish: Wish
) -> tuple[KeyEntry, KeyEntry] | None:
    """The rotation towards the newest key, while that is under way."""
    new = lineage.newest(now)
    old = lineage.giver(new)
    lead = LEAD if wish.lead is None else min(wish.lead, LEAD)
    doomed = new.is_stillborn() or new.ends_signing() - lead <= now
    if old is None or new is not lineage.entries[-1] or doomed:
        # The first of its name, or what came after it was revoked, or it ends soon.
        return None
    if now < new.sign_from + SECOND:
        # Until it has begun; and in the second when it does, for whoever says the same twice.
        return old, new
    settled = new.sign_from + OVERLAP
    if old.revoked_at is None:
        settled = max(settled, old.accept_until)
    return (old, new) if named is None and now < settled else None


def _begun(lineage: Lineage, named: KeyEntry | None, now: Instant, wish: Wish) -> Rotation:
    """A new rotation away from ``named``, or the newest."""
    # Beside one that was revoked before it signed, an older one may still do so.
    old = lineage.newest(now) if named is None or named.is_stillborn() else named
    lead = LEAD if wish.lead is None else wish.lead
    notes: list[str] = []
    idle = old.ends_signing() <= max(now, old.sign_from)
    if idle:
        # Nobody signs meanwhile, so there is nothing to wait for.
        switch, retired = _at_once(old, now), old
        notes.append(f"{old.key_version!a} signs no more, so the new key signs at once")
    else:
        wanted = _whole(now) + lead
        switch = min(wanted, old.ends_signing())
        if switch < wanted:
            ends = write_instant(switch)
            notes.append(f"{old.key_version!a} signs only until {ends}: the lead is shorter")
        if switch < old.sign_from:
            raise InputError(
                Reason.USAGE,
                f"{old.key_version!a} does not sign before {write_instant(old.sign_from)}",
                hint="rotate it later, or with a longer lead",
            )
        if lead < LEAD:
            _refuse_haste(lineage, old, None, wish)
        end = switch + (OVERLAP if wish.overlap is None else wish.overlap)
        retired = replace(old, sign_until=switch, accept_until=end)
    new = KeyEntry(
        issuer=old.issuer,
        key_version=lineage.next_version(),
        key=None,
        not_before=now - now % SECOND,
        sign_from=switch,
        sign_until=switch + SIGNING_SPAN,
        accept_until=switch + SIGNING_SPAN + ACCEPTING_SPAN,
        profiles=old.profiles,
        principal=old.principal,
        bind=old.bind,
    )
    notes += _others(lineage, old, switch)
    if idle:
        # Whoever gave over is the one that the next run will find.
        old = (lineage.giver(new) or old) if named is None or old.is_stillborn() else old
        retired = old
        if wish.overlap is not None and _overlaps(old, new, now):
            retired = _until(old, wish.overlap, now, wish, notes)
    changed = (new,) if retired == old else (retired, new)
    return Rotation(lineage.name, retired, new, changed, tuple(notes))


def _adjusted(lineage: Lineage, old: KeyEntry, new: KeyEntry, now: Instant, wish: Wish) -> Rotation:
    """The rotation that is under way, or over, with what ``wish`` moves in it."""
    handed, taking, notes = old, new, list[str]()
    if now < new.sign_from:
        switch = new.sign_from
        if wish.lead is not None:
            sooner = max(_whole(now) + wish.lead, min(old.sign_from, switch), new.not_before)
            if sooner < switch:
                _refuse_haste(lineage, old, new, wish)
                switch = sooner
        sooner = max(_at_once(old, now), new.not_before)
        if sooner < switch:
            # Whoever is behind, waiting would help nobody.
            switch = sooner
            ends = write_instant(switch)
            notes.append(f"{old.key_version!a} signs no more from {ends}, so the new key does")
        taking = replace(new, sign_from=switch)
        if switch < old.sign_until and not old.is_stillborn():
            early = old.sign_until - switch
            handed = replace(old, sign_until=switch, accept_until=old.accept_until - early)
    if wish.overlap is not None and _overlaps(handed, taking, now):
        handed = _until(handed, wish.overlap, now, wish, notes)
    pairs = ((old, handed), (new, taking))
    changed = tuple(after for before, after in pairs if before != after)
    return Rotation(lineage.name, handed, taking, changed, tuple(notes))


def _overlaps(old: KeyEntry, new: KeyEntry, now: Instant) -> bool:
    """Whether the end of the overlap of ``old`` is this rotation's to move.

    It is not where ``old`` ended before ``new`` signs, was revoked by then, or never signed.
    """
    revoked = old.revoked_at is not None and old.revoked_at <= old.sign_until
    hands_over = old.sign_from < old.sign_until == new.sign_from
    return hands_over and not revoked and now < old.accept_until


def _until(old: KeyEntry, overlap: int, now: Instant, wish: Wish, notes: list[str]) -> KeyEntry:
    """``old`` with the overlap that is asked for; ``notes`` are told when it is not shortened."""
    # An overlap that is cut off ends in the next second: what has ended is under way no more,
    # and the same command once more would begin another rotation.
    end = max(old.sign_until + overlap, min(now - now % SECOND + SECOND, old.accept_until))
    if end < old.accept_until and not wish.force:
        notes.append("the overlap stays as long as it is; --force makes it shorter")
        return old
    return replace(old, accept_until=end)


def _at_once(old: KeyEntry, now: Instant) -> Instant:
    """The first instant of this second at which ``old`` signs no more, or its later last one."""
    present = now - now % SECOND
    return present if old.is_stillborn() else max(present, old.ends_signing())


def _whole(now: Instant) -> Instant:
    """The next whole second: a signature of the present one says its beginning as its time."""
    return -(-now // SECOND) * SECOND


def _refuse_haste(lineage: Lineage, old: KeyEntry, new: KeyEntry | None, wish: Wish) -> None:
    """Raises when a receiver is behind, and nobody insists."""
    late = () if wish.force else wish.receivers.behind(old.issuer, new)
    if late:
        raise MaterialError(
            Reason.RECEIVERS_BEHIND,
            f"the lead would be short, and behind is {told(late)}",
            hint=f"have them run `taskseal trust update`, keep the lead of {lineage.name!a}, or "
            "risk their messages with --force",
        )


def _others(lineage: Lineage, old: KeyEntry, switch: Instant) -> list[str]:
    """What else of the lineage signs on beside the new key."""
    return [
        f"{each.key_version!a} signs beside it until {write_instant(each.sign_until)}"
        for each in lineage.entries
        if each is not old and switch < each.ends_signing()
    ]

"""A rotation tried out on live messages: which of them it would cost, and when.

Every message is verified at each instant of the plan, by the receiver's own checks, over the keys
as they stand and as they would stand. What verifies over the first and not over the second is
what the rotation would cost. Whether a receiver allows it otherwise, audience, artefacts and
policy, does not change with keys and is not asked.

Source: SPEC sections 3, 4.6 and 9 (``keys rotate``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.pins import Pins
from taskseal.keys.rotation import Rotation
from taskseal.keys.trust import Trust
from taskseal.profiles import BUILT_IN, Profile
from taskseal.validity import DAY, Instant
from taskseal.verify.examination import Examination
from taskseal.verify.freshness import check_freshness
from taskseal.verify.gate import authenticate
from taskseal.verify.judge import check_content
from taskseal.verify.policy import FORMS, Policy
from taskseal.verify.receipt import check_carried
from taskseal.verify.result import Refused

_ANY_LIFETIME = 36_500 * DAY


class Live(NamedTuple):
    """A message of the corpus; ``signature`` is a detached one's."""

    name: str
    data: bytes
    signature: bytes | None = None


class Loss(NamedTuple):
    """A message that would stop verifying, and from which instant of the plan on it does."""

    name: str
    at: Instant
    reason: Reason
    key_version: str
    expires: Instant


class Dead(NamedTuple):
    """A message that does not verify even now, so that no rotation can cost it."""

    name: str
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a planned rotation would do to a corpus.

    ``instants`` are those that were tried. ``by_old`` counts the live messages by the key that
    retires; ``latest_expiry`` is the last of theirs and ``longest_life`` the longest of their
    lives, both None without any. ``safe_end`` is the earliest end of the overlap that costs none
    of the corpus: the latest expiry, the skew for it, and the lag; None without any.
    ``later_safe_end`` is the same for messages that live as long and are signed until the switch.
    """

    instants: tuple[Instant, ...]
    live: int
    by_old: int
    lost: tuple[Loss, ...]
    dead: tuple[Dead, ...]
    latest_expiry: Instant | None
    longest_life: int | None
    safe_end: Instant | None
    later_safe_end: Instant | None


class _Standing(NamedTuple):
    """What matters of a message that verifies; ``signers`` are the keys that it needs."""

    signers: tuple[str, ...]
    issued: Instant
    expires: Instant
    past_skew: int


def rehearse(
    corpus: Iterable[Live],
    entries: Sequence[KeyEntry],
    plan: Rotation,
    now: Instant,
    *,
    lag: int = 0,
    profiles: Mapping[str, Profile] = BUILT_IN,
    policy: Policy | None = None,
) -> Rehearsal:
    """Tries a planned rotation out; nothing is changed.

    Args:
        corpus: live messages, as receivers have or will have them.
        entries: the keyring's keys as they stand.
        plan: what :meth:`taskseal.Keyring.rotate` says that it would do.
        now: the instant of the rotation, in nanoseconds since 1970.
        lag: nanoseconds by which a message may arrive after its expiry and still be taken.
        profiles: the profiles at hand.
        policy: what the receivers allow: its skews count, and it need not name forms.
    """
    rules = _generous(policy or Policy(), profiles)
    before, after = Trust.of(Pins.of(entries)), Trust.of(Pins.of(_planned(entries, plan)))
    instants = tuple(sorted({now, *(at for at in (plan.switch, plan.end) if at > now)}))
    dead: list[Dead] = []
    lost: list[Loss] = []
    standing: list[_Standing] = []
    for message in corpus:
        found = _look(message, before, rules, profiles, now)
        if isinstance(found, Refused):
            dead.append(Dead(message.name, found.reason, found.detail))
            continue
        standing.append(found)
        for at in instants:
            then = _look(message, after, rules, profiles, at)
            if not isinstance(then, Refused):
                continue
            if not isinstance(_look(message, before, rules, profiles, at), Refused):
                version = found.signers[0]
                lost.append(Loss(message.name, at, then.reason, version, found.expires))
            break
    old = [each for each in standing if plan.old.key_version in each.signers]
    lives = [each.expires - each.issued + each.past_skew for each in old]
    ends = [each.expires + each.past_skew for each in old]
    return Rehearsal(
        instants=instants,
        live=len(standing),
        by_old=len(old),
        lost=tuple(lost),
        dead=tuple(dead),
        latest_expiry=max((each.expires for each in old), default=None),
        longest_life=max((each.expires - each.issued for each in old), default=None),
        safe_end=max(plan.switch, max(ends) + lag) if ends else None,
        later_safe_end=plan.switch + max(lives) + lag if lives else None,
    )


def _planned(entries: Sequence[KeyEntry], plan: Rotation) -> Iterator[KeyEntry]:
    """The keys as they would stand; a key that is not made yet has signed nothing so far."""
    changed = {entry.key_version: entry for entry in plan.changed if entry.key is not None}
    for entry in entries:
        yield changed.get(entry.key_version, entry)


def _generous(policy: Policy, profiles: Mapping[str, Profile]) -> Policy:
    """``policy`` without what does not change with keys."""
    return replace(
        policy,
        allow_forms=frozenset(FORMS),
        forms={},
        max_lifetime=dict.fromkeys(profiles, _ANY_LIFETIME),
        require_receipt=False,
    )


def _look(
    message: Live, trust: Trust, policy: Policy, profiles: Mapping[str, Profile], at: Instant
) -> _Standing | Refused:
    """Whether a message verifies at ``at``, as far as keys and times go."""
    exam = Examination(trust=trust, policy=policy, identity=None, now=at)
    try:
        authenticate(exam, message.data, profiles, None, message.signature)
        check_content(exam)
        check_freshness(exam)
        decided = _check_decision(exam)
    except Refused as refused:
        return refused.as_value()
    assert exam.entry is not None and exam.issued is not None and exam.expires is not None
    signers = (exam.entry.key_version, *decided)
    return _Standing(signers, exam.issued, exam.expires, exam.terms.limits.past_skew)


def _check_decision(exam: Examination) -> tuple[str, ...]:
    """Checks the decision that a task carries, and names its key if it is the keyring's."""
    try:
        check_carried(exam)
    except Refused as refused:
        if refused.reason is not Reason.UNKNOWN_KEY:
            raise
        return ()
    decision = resolve(exam.envelope, exam.kind.decision) if exam.kind.decision else MISSING
    return (decision["keyVersion"],) if isinstance(decision, Mapping) else ()

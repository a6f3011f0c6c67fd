"""The terms under which a key is kept: from when until when, for what, for whom.

Source: SPEC sections 4.5 to 4.7, and 9 for the defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Required, TypedDict

from taskseal.errors import InputError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.entry import (
    ACCEPTING_SPAN,
    BARE_PROFILES,
    SIGNING_SPAN,
    KeyEntry,
    Scalar,
    is_profile_id,
    order_fault,
    profiles_fault,
)
from taskseal.keys.pins import read_bind
from taskseal.keys.private import PrivateKey
from taskseal.keys.shape import Shape
from taskseal.keys.vault import Cost
from taskseal.keys.version import check_name, check_new_key_version
from taskseal.validity import Instant, to_instant

When = datetime | str | Instant


class Terms(TypedDict, total=False):
    """What a key is kept under. All but ``not_before`` may be left out.

    ``not_before``, ``sign_from`` (notBefore), ``sign_until`` (a year later), ``accept_until``
    (30 days later again): its instants, with their defaults. ``principal`` and ``bind``: whom
    it speaks for, and pointer → values that it may put there. ``issuer``: whose key it is,
    which only the first key of a keyring may choose. ``passphrase``: what it is sealed by;
    without one ``allow_plain`` must say that it is kept in the clear. ``cost``: of a guess at
    the passphrase. ``bare``: the profiles that sign bare bytes, custom ones included.
    """

    not_before: Required[When]
    sign_from: When | None
    sign_until: When | None
    accept_until: When | None
    principal: str | None
    bind: Mapping[str, Iterable[Scalar]] | None
    issuer: str | None
    passphrase: bytes | None
    allow_plain: bool
    cost: Cost
    bare: frozenset[str]


def draft(
    key: PrivateKey, key_version: str, profiles: Iterable[str], issuer: str, terms: Terms
) -> KeyEntry:
    """The entry of a new key, checked as far as it can be without the keyring."""
    allowed = frozenset([profiles] if isinstance(profiles, str) else profiles)
    for profile in allowed:
        if not is_profile_id(profile):
            raise InputError(
                Reason.USAGE, f"{profile!a} is no profile id", hint="such as dharma.task/v1"
            )
    fault = profiles_fault(allowed, terms.get("bare", BARE_PROFILES))
    if fault is not None:
        raise InputError(Reason.USAGE, fault, hint="make one key for each (SPEC section 4.7)")
    unsigned = sorted(allowed & BARE_PROFILES) if key.algorithm is not Algorithm.ED25519 else ()
    if unsigned:
        raise InputError(
            Reason.USAGE,
            f"{unsigned[0]} is signed with {Algorithm.ED25519}, not {key.algorithm}",
            hint=f"make an {Algorithm.ED25519} key for it",
        )
    principal = terms.get("principal")
    not_before, sign_from, sign_until, accept_until = _instants(terms)
    return KeyEntry(
        issuer=check_name(terms.get("issuer") or issuer, "issuer"),
        key_version=check_new_key_version(key_version),
        key=key.public,
        not_before=not_before,
        sign_from=sign_from,
        sign_until=sign_until,
        accept_until=accept_until,
        profiles=allowed,
        principal=None if principal is None else check_name(principal, "principal"),
        bind=read_bind(
            {pointer: list(values) for pointer, values in (terms.get("bind") or {}).items()},
            "",
            Shape("bind", Reason.USAGE),
        ),
    )


def _instants(terms: Terms) -> tuple[Instant, Instant, Instant, Instant]:
    """The four instants of a new key in order, the missing ones by default."""
    not_before = to_instant(terms["not_before"])
    sign_from = _given(terms.get("sign_from"), not_before)
    accept_until = terms.get("accept_until")
    latest = sign_from + SIGNING_SPAN
    if accept_until is not None:
        latest = min(latest, to_instant(accept_until))
    sign_until = _given(terms.get("sign_until"), latest)
    accept_until = _given(accept_until, sign_until + ACCEPTING_SPAN)
    disorder = order_fault(not_before, sign_from, sign_until, accept_until)
    if disorder is not None:
        raise InputError(
            Reason.USAGE,
            f"{disorder[0]} lies before {disorder[1]}",
            hint="notBefore ≤ signFrom < signUntil ≤ acceptUntil",
        )
    if sign_from == sign_until:
        raise InputError(Reason.USAGE, "the key could never sign: signUntil is its first instant")
    return not_before, sign_from, sign_until, accept_until


def _given(when: When | None, default: Instant) -> Instant:
    return to_instant(default if when is None else when)

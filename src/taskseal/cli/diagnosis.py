"""What a configuration comes to here and now: what ``doctor`` looks at, as plain values.

Nothing is changed and no private key is opened.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from taskseal.cli import output
from taskseal.cli.profiles import span
from taskseal.errors import InputError, MaterialError, Reason, TasksealError, Unavailable
from taskseal.validity import DAY, FUTURE_SKEW, SECOND, Instant, write_instant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from taskseal import Config, Policy, Profile
    from taskseal.keys.entry import KeyEntry

SOON = 14 * DAY
"""Nanoseconds before the end of a key at which it is pointed out."""


@dataclass(slots=True)
class Diagnosis:
    """What was found: ``faults`` keep the receiver from its work or from safety."""

    receiver: dict[str, Any] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    trust: list[dict[str, Any]] = field(default_factory=list)
    policy: list[dict[str, Any]] = field(default_factory=list)
    ledger: dict[str, Any] = field(default_factory=dict)
    acceptances: dict[str, Any] = field(default_factory=dict)
    clock: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[TasksealError] = field(default_factory=list)

    @contextmanager
    def faults_noted(self) -> Iterator[None]:
        """Takes what the block raises down as a fault."""
        try:
            yield
        except TasksealError as fault:
            self.faults.append(fault)

    def to_json(self, config: Config) -> dict[str, Any]:
        """The object that ``doctor --json`` prints."""
        return {
            "sound": not self.faults,
            "config": output.named(str(config.path)),
            "receiver": self.receiver,
            "sources": self.sources,
            "trust": self.trust,
            "policy": self.policy,
            "ledger": self.ledger,
            "acceptances": self.acceptances,
            "clock": self.clock,
            "notes": [output.named(note) for note in self.notes],
            "faults": [output.error_json(fault) for fault in self.faults],
        }


def diagnose(config: Config, now: Instant) -> Diagnosis:
    """Looks at everything that ``config`` names."""
    found = Diagnosis()
    _look_at_receiver(found, config)
    with found.faults_noted():
        _look_at_trust(found, config, now)
    _look_at_policy(found, config)
    with found.faults_noted():
        _look_at_ledger(found, config, now)
    with found.faults_noted():
        _look_at_keyring(found, config, now)
    with found.faults_noted():
        _look_at_clock(found, config, now)
    return found


def _look_at_receiver(found: Diagnosis, config: Config) -> None:
    me = config.identity
    found.receiver = {
        "audience": None if me is None else me.audience,
        "organization": None if me is None else me.organisation,
        "workspace": None if me is None else me.workspace,
        "device": None if me is None else me.device,
        "aisaTask": None if me is None or me.aisa is None else me.aisa.task_id,
        "any": me is not None and me.any,
    }
    if me is None:
        found.notes.append(
            "the file does not say who the receiver is: name an audience, organization, workspace "
            "or device in [receiver], else accept has to be told"
        )
    elif me.any:
        found.notes.append("any is set: what is meant for somebody else is taken too")


def _look_at_trust(found: Diagnosis, config: Config, now: Instant) -> None:
    from taskseal import Trust

    for rule in config.trust:
        found.sources.append(output.named(str(rule.place)))
        found.notes += [f"{rule.place}: {each}" for each in rule.notes]
    if not config.trust:
        raise MaterialError(
            Reason.TRUST_MISSING,
            f"{config.path} has no [[trust]] table, so it trusts nobody and takes no message",
            hint='add a [[trust]] table with pins = "FILE", or name keys with --trust',
        )
    entries = Trust.of(*(rule.source for rule in config.trust)).entries()
    found.trust = [_key_json(entry, now, config.policy) for entry in entries]
    for entry, row in zip(entries, found.trust, strict=True):
        left = entry.accept_until - now
        if row["stands"] and left < SOON:
            found.notes.append(f"{entry.key_version} of {entry.issuer} ends within 14 days")
    if config.policy.allow_published_keys:
        found.notes.append("allow_published_keys is set: anyone may sign with such a key")
    if not any(row["stands"] for row in found.trust):
        raise MaterialError(
            Reason.TRUST_MISSING,
            "of all trusted keys none stands now",
            hint="fetch the newest pins or keyset",
        )


def _key_json(entry: KeyEntry, now: Instant, policy: Policy) -> dict[str, Any]:
    from taskseal.verify.standing import key_fault

    fault = entry.flaw
    if fault is None:
        of_any = sorted(entry.profiles)
        found = key_fault(entry, of_any[0], now, policy) if of_any else None
        fault = Reason.KEY_WRONG_PROFILE if not of_any else found[0] if found else None
    key = entry.key
    return {
        "issuer": entry.issuer,
        "keyVersion": entry.key_version,
        "stands": fault is None,
        "reason": fault,
        "retired": fault is None and now >= entry.sign_until,
        "profiles": sorted(entry.profiles),
        "principal": entry.principal,
        "bind": {at: list(values) for at, values in entry.bind.items()},
        "algorithm": None if key is None else key.algorithm,
        "thumbprint": None if key is None else key.thumbprint,
        "notBefore": write_instant(entry.not_before),
        "signUntil": write_instant(entry.sign_until),
        "acceptUntil": write_instant(entry.accept_until),
        "revokedAt": None if entry.revoked_at is None else write_instant(entry.revoked_at),
        "generation": entry.generation,
        "keysetExpires": None if entry.keyset is None else write_instant(entry.keyset.expires),
    }


def _look_at_policy(found: Diagnosis, config: Config) -> None:
    """The rules for every profile that some trusted key may sign."""
    signed = {profile for row in found.trust for profile in row["profiles"]}
    found.policy = [
        _rules_json(kind, config.policy) for id, kind in config.profiles.items() if id in signed
    ]
    for id in config.policy.per_profile:
        if found.trust and id not in signed:
            found.notes.append(f"there is a policy for {id}, and no trusted key may sign it")


def _rules_json(kind: Profile, policy: Policy) -> dict[str, Any]:
    from taskseal.verify.policy import FORMS

    terms = policy.terms(kind)
    limits, ceiling = terms.limits, terms.ceiling
    return {
        "profile": kind.id,
        "forms": [form for form in FORMS if form in terms.forms],
        "maxLifetime": span(limits.max_lifetime),
        "futureSkew": span(limits.future_skew),
        "pastSkew": span(limits.past_skew),
        "maxAge": span(kind.max_age or terms.oldest),
        "requireArtefacts": terms.artefacts,
        "requireReceipt": bool(kind.decision) and terms.receipt,
        "allowTruncated": terms.truncated,
        "ceiling": None if ceiling is None else output.named(ceiling.source),
    }


def _look_at_ledger(found: Diagnosis, config: Config, now: Instant) -> None:
    from taskseal.config.places import ledger_url
    from taskseal.ledger.urls import read_ledger_url

    url, own_folder = ledger_url(config.ledger)
    place = read_ledger_url(url)
    found.ledger = {"url": output.named(url), "state": "not opened", "mode": None}
    if place.scheme == "memory":
        found.ledger["state"] = "in memory"
        found.notes.append("the ledger is in memory: what was accepted is forgotten at the end")
        return
    try:
        about = os.stat(place.path)
    except FileNotFoundError:
        found.ledger["state"] = "not there yet"
        folder = os.path.dirname(place.path) or "."
        if not (own_folder or os.access(folder, os.W_OK | os.X_OK)):
            raise Unavailable(
                Reason.LEDGER_UNAVAILABLE,
                f"{folder!a} is missing, or nothing can be written there",
                hint="make the folder, or name another place for the ledger",
            ) from None
        return
    except OSError as error:
        raise Unavailable(Reason.LEDGER_UNAVAILABLE, f"{place.path!a}: {error.strerror}") from None
    found.ledger["mode"] = f"{stat.S_IMODE(about.st_mode):04o}"
    _open_ledger(found, config, now)
    _check_private(found, place.path, about, may_be_read=True)


def _open_ledger(found: Diagnosis, config: Config, now: Instant) -> None:
    with config.open_ledger() as store:
        for profile in config.profiles:
            horizon = store.horizon(profile)
            if horizon is not None and horizon > now + FUTURE_SKEW:
                found.notes.append(
                    f"the clock was ahead once: what of {profile} ends before "
                    f"{write_instant(horizon)} is refused"
                )
    found.ledger["state"] = "reachable"


def _look_at_keyring(found: Diagnosis, config: Config, now: Instant) -> None:
    from taskseal import Keyring
    from taskseal.config.places import keyring_folder
    from taskseal.keys.screening import is_published
    from taskseal.profiles import ACCEPTANCE
    from taskseal.receiver import KEEP_ACCEPTANCES

    version = config.sign_with
    found.acceptances = {"signedWith": version, "keyring": None, "sealed": None, "keptFor": None}
    if version is None:
        return
    folder = keyring_folder(config.keyring)
    kept = KEEP_ACCEPTANCES if config.keep_acceptances is None else config.keep_acceptances
    found.acceptances |= {"keyring": output.named(str(folder)), "keptFor": span(kept)}
    ring = Keyring.open(folder)
    entry = ring.show(version)
    found.acceptances["sealed"] = ring.is_sealed(version)
    if ACCEPTANCE.id not in entry.profiles:
        raise MaterialError(
            Reason.KEY_WRONG_PROFILE, f"key version {version!a} may not sign {ACCEPTANCE.id}"
        )
    fault = entry.may_sign(now)
    if fault is not None:
        raise MaterialError(fault, f"key version {version!a}")
    if entry.key is None or (
        is_published(entry.key.thumbprint) and not config.policy.allow_published_keys
    ):
        raise MaterialError(Reason.PUBLISHED_KEY, f"key version {version!a}")
    for path in _keyring_files(folder):
        _check_private(found, str(path), path.stat(), may_be_read=path.suffix != ".key")


def _keyring_files(folder: Path) -> Iterable[Path]:
    yield folder
    yield folder / "private"
    yield folder / "keyring.json"
    yield from sorted((folder / "private").glob("*.key"))


def _check_private(
    found: Diagnosis, path: str, about: os.stat_result, *, may_be_read: bool
) -> None:
    """Takes down who else may write or read what only its owner should."""
    from taskseal.config.permissions import who_else_reads, who_else_writes

    writes, reads = who_else_writes(about), who_else_reads(about)
    if writes is not None or (reads is not None and not may_be_read):
        deed = f"written by {writes}" if writes is not None else f"read by {reads}"
        found.faults.append(
            MaterialError(
                Reason.CONFIG_UNSAFE, f"{path!a} can be {deed}", hint=f"chmod go-rwx {path!a}"
            )
        )


def _look_at_clock(found: Diagnosis, config: Config, now: Instant) -> None:
    found.clock = {"now": write_instant(now // SECOND * SECOND), "behind": False}
    try:
        written = os.stat(config.path).st_mtime_ns
    except OSError as error:
        raise InputError(
            Reason.FILE_UNREADABLE, f"{str(config.path)!a}: {error.strerror}"
        ) from None
    if now + FUTURE_SKEW < written:
        found.clock["behind"] = True
        found.notes.append(
            f"the clock is behind: {config.path} was written at {write_instant(written)}"
        )

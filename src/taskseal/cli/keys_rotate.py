"""``keys rotate`` and ``keys revoke``: how one key follows another, and how one ends at once.

Source: SPEC sections 4.6 and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output, passphrase
from taskseal.cli.keys import entry_json, state, tell_entry
from taskseal.cli.keyset import current_option
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import (
    FILE,
    Passphrases,
    at_option,
    keyring_option,
    passphrase_options,
    published_option,
)
from taskseal.errors import InputError, Reason
from taskseal.validity import SECOND, read_duration, system_clock, write_instant

if TYPE_CHECKING:
    from taskseal.keys import KeyEntry
    from taskseal.keys.rotation import Rotation, Wish

_EVENTS = {
    "accepted": "is accepted",
    "signs": "signs",
    "signs_no_more": "signs no more",
    "accepted_no_more": "is accepted no more",
}


@click.command(context_settings=SETTINGS)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--lead", metavar="SPAN", help="From now until the new key signs; else 48h.")
@click.option(
    "--overlap", metavar="SPAN", help="How long the old key is accepted after that; else 24h."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--rehearse",
    metavar="CORPUS",
    type=FILE,
    help="Say which messages of a folder or a JSONL file would stop verifying; do nothing.",
)
@click.option(
    "--lag",
    metavar="SPAN",
    default="0s",
    help="With --rehearse: how late a message may arrive after it expired; else 0s.",
)
@click.option(
    "--receivers",
    metavar="DIR",
    type=FILE,
    help="What receivers say of themselves, as `trust update --report DIR` writes it: a lead is "
    "not made short while one is behind.",
)
@current_option
@click.option("--force", is_flag=True, help="Hurry past receivers that are behind.")
@keyring_option
@passphrase_options
@published_option
@output.json_option
def rotate(name: str | None, **given: Any) -> int:
    """Let a key hand over to the next version of its name.

    NAME is a key version, or what stands before its number: `kms/tasks` for the newest of
    kms/tasks/1, kms/tasks/2. The new key is accepted at once and signs after the lead; the old
    one signs until then and is accepted until the overlap ends. Hand out pins or a keyset now.

    Run it as often as you like: a rotation under way is found and told, exit 0. It is under way
    until the old key is accepted no more and the new one has signed for a day. A shorter --lead
    brings its switch forward; another --overlap moves its end.

    \b
    Example:
      taskseal keys rotate kms/tasks --lead 48h --overlap 24h
      taskseal keys rotate kms/tasks --rehearse live/ --lag 10m
    """
    wish = _wish(given)
    exactly = system_clock()
    now = exactly - exactly % SECOND
    ring = opening.keyring(given["keyring"])
    if given["rehearse"] is not None:
        from taskseal.cli.rehearse import rehearse

        plan = ring.rotate(name, at=exactly, wish=wish, dry_run=True)
        lag = _span("--lag", given["lag"])
        return rehearse(
            ring.entries(),
            plan,
            now,
            corpus=given["rehearse"],
            lag=lag or 0,
            allow_published_keys=given["allow_published_keys"],
        )
    secrets = Passphrases(given["passphrase_file"], given["no_passphrase"])
    plan = ring.rotate(
        name,
        at=exactly,
        wish=wish,
        dry_run=given["dry_run"],
        passphrase=lambda: passphrase.chosen(secrets, "the new key"),
        allow_plain=secrets.none,
    )
    if output.wants_json():
        output.record(plan_json(plan, now, dry_run=given["dry_run"]))
    else:
        tell_plan(plan, now, dry_run=given["dry_run"])
    return 0


def _wish(given: dict[str, Any]) -> Wish:
    from taskseal.keys.rotation import Wish

    return Wish(
        lead=_span("--lead", given["lead"]),
        overlap=_span("--overlap", given["overlap"]),
        receivers=opening.receivers(given["receivers"], given["current"]),
        force=given["force"],
    )


def _span(option: str, text: str | None) -> int | None:
    found = read_duration(text)
    if text is not None and found is None:
        raise InputError(
            Reason.USAGE, f"{option} {text!r} is no span", hint="write it as 90s, 15m, 48h or 30d"
        )
    return found


def plan_json(plan: Rotation, now: int, *, dry_run: bool) -> dict[str, Any]:
    """A rotation as JSON: what was changed, where it stands, and what happens next and when."""
    return {
        "name": plan.lineage,
        "phase": plan.phase(now),
        "changed": bool(plan.changed),
        "dryRun": dry_run,
        "old": entry_json(plan.old),
        "new": _new_json(plan.new),
        "switchAt": write_instant(plan.switch),
        "overlapEndsAt": write_instant(plan.end),
        "next": [
            {"at": write_instant(each.at), "event": each.event, "keyVersion": each.key_version}
            for each in plan.next_events(now)
        ],
        "notes": list(plan.notes),
    }


def _new_json(entry: KeyEntry) -> dict[str, Any]:
    """The new key; before it is made there are only its name and its instants."""
    if entry.key is not None:
        return entry_json(entry)
    return {
        "issuer": entry.issuer,
        "keyVersion": entry.key_version,
        "notBefore": write_instant(entry.not_before),
        "signFrom": write_instant(entry.sign_from),
        "signUntil": write_instant(entry.sign_until),
        "acceptUntil": write_instant(entry.accept_until),
        "profiles": sorted(entry.profiles),
    }


def tell_plan(plan: Rotation, now: int, *, dry_run: bool) -> None:
    """A rotation in words."""
    output.line(f"{output.shown(plan.old.key_version)} -> {output.shown(plan.new.key_version)}")
    done = {"lead": "the old key signs", "overlap": "the new key signs", "done": "done"}
    what = ("would be changed" if dry_run else "changed") if plan.changed else "as it was"
    output.fields([("rotation", what), ("phase", done[plan.phase(now)])])
    events = plan.next_events(now)
    if events:
        output.line()
    for each in events:
        lead = f"  {write_instant(each.at)}  "
        first, *rest = output.folded(
            f"{each.key_version} {_EVENTS[each.event]}", output.WIDTH - len(lead)
        )
        output.line(lead + first)
        for part in rest:
            output.line(" " * len(lead) + part)
    for note in plan.notes:
        output.note(f"note: {note}")
    if plan.changed and not dry_run:
        output.note("now hand out pins (keys pin) or a keyset (keyset propose) to the receivers")


@click.command(context_settings=SETTINGS)
@click.argument("key_version", metavar="KEY_VERSION")
@at_option("Revoke")
@keyring_option
@output.json_option
def revoke(key_version: str, at: str | None, keyring: str | None) -> int:
    """Revoke a key: from now on, or from --at, nothing by it counts.

    Receivers refuse it at the next verification after they have taken pins or a keyset that were
    written after this. It cannot be taken back; the earliest instant stands.

    \b
    Example:
      taskseal keys revoke kms/tasks/1
    """
    now = system_clock() // SECOND * SECOND
    since = opening.instant(at)
    ring = opening.keyring(keyring)
    before = ring.show(key_version)
    entry = ring.revoke(key_version, at=now if since is None else since)
    tell_entry(entry, now, sealed=ring.is_sealed(key_version))
    if entry.revoked_at == before.revoked_at:
        assert entry.revoked_at is not None
        output.note(f"it was revoked before, at {write_instant(entry.revoked_at)}; that stands")
    else:
        output.note("now hand out pins (keys pin) or a keyset (keyset propose) to the receivers")
    if state(before, now) == "signing":
        output.note("it was signing: `taskseal keys rotate` lets the next key sign")
    return 0

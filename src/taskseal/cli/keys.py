"""``keys``: what stands in the keyring, and what leaves it.

Source: SPEC sections 4 and 9.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import click

from taskseal.cli import open as opening
from taskseal.cli import output, passphrase
from taskseal.cli.main import SETTINGS, LazyGroup
from taskseal.cli.options import (
    FILE,
    Passphrases,
    keyring_option,
    output_options,
    passphrase_options,
)
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.validity import SECOND, system_clock, write_instant

if TYPE_CHECKING:
    from taskseal import Keyring
    from taskseal.keys import KeyEntry
    from taskseal.keys.formats import Form

FORMS = ("jwk", "pem", "ssh", "raw")
"""What ``keys export --as`` takes."""
LOCKABLE = ("pem", "ssh")
"""Those that a passphrase can lock."""
LONGEST_SHOWN = 65
"""Bytes of the longest public key that is shown in words."""
PUBLIC_MODE = 0o644
PRIVATE_MODE = 0o600


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    homes={
        "new": "keys_new:new",
        "list": "keys:list_keys",
        "show": "keys:show",
        "import": "keys_new:import_key",
        "export": "keys:export",
        "pin": "keys_pin:pin",
        "rotate": "keys_rotate:rotate",
        "revoke": "keys_rotate:revoke",
    },
)
@output.json_option
def keys() -> None:
    """Make keys, let one follow another, hand out public halves."""


@click.command("list", context_settings=SETTINGS)
@click.option("--timeline", is_flag=True, help="Show their windows and overlaps along time.")
@click.option("--svg", metavar="FILE", type=FILE, help="Draw the timeline into FILE too.")
@click.option("--force", is_flag=True, help="Replace FILE where it stands already.")
@keyring_option
@output.json_option
def list_keys(keyring: str | None, timeline: bool, svg: str | None, force: bool) -> int:
    """List the keys and what each may do now.

    \b
    Example:
      taskseal keys list --timeline --svg keys.svg
    """
    ring, now = opening.keyring(keyring), system_clock()
    if timeline or svg is not None:
        from taskseal.cli.timeline import timeline as along_time

        now -= now % SECOND
        return along_time(ring.issuer, ring.entries(), now, svg=svg, force=force)
    if output.wants_json():
        rows = [
            {**entry_json(entry), "state": state(entry, now), "sealed": _sealed(ring, entry)}
            for entry in ring.entries()
        ]
        output.record({"issuer": ring.issuer, "keys": rows})
        return 0
    output.line(f"issuer {output.shown(ring.issuer)}")
    if not ring.entries():
        output.line("no keys yet")
        return 0
    output.line()
    output.table(
        ("KEY VERSION", "STATE", "SIGNS FROM", "SIGNS UNTIL", "ACCEPTED UNTIL", "KEPT"),
        [_row(ring, entry, now) for entry in ring.entries()],
        below=[" ".join(sorted(entry.profiles)) for entry in ring.entries()],
    )
    return 0


def _row(ring: Keyring, entry: KeyEntry, now: int) -> tuple[str, ...]:
    instants = (entry.sign_from, entry.sign_until, entry.accept_until)
    return (
        entry.key_version,
        state(entry, now),
        *(write_instant(at)[:10] for at in instants),
        {None: "lost", True: "sealed", False: "plain"}[_sealed(ring, entry)],
    )


def _sealed(ring: Keyring, entry: KeyEntry) -> bool | None:
    """Whether the private half is under a passphrase; None where it cannot be read."""
    try:
        return ring.is_sealed(entry.key_version)
    except (InputError, MaterialError):
        return None


def state(entry: KeyEntry, now: int) -> str:
    """What a key may do at ``now``, in a word."""
    fault = entry.gate_fault(now)
    if fault is not None:
        return {
            Reason.KEY_REVOKED: "revoked",
            Reason.KEY_NOT_YET_VALID: "not yet",
            Reason.KEY_EXPIRED: "expired",
        }.get(fault, str(fault))
    if now < entry.sign_from:
        return "waiting"
    return "signing" if now < entry.sign_until else "retired"


def entry_json(entry: KeyEntry) -> dict[str, Any]:
    """The public side of a key as JSON: a pins entry, and its thumbprint."""
    from taskseal.keys.pins import entry_json as pinned

    assert entry.key is not None
    return {
        "issuer": entry.issuer,
        **pinned(entry),
        "signFrom": write_instant(entry.sign_from),
        "thumbprint": entry.key.thumbprint,
    }


@click.command(context_settings=SETTINGS)
@click.argument("key_version", metavar="KEY_VERSION")
@keyring_option
@output.json_option
def show(key_version: str, keyring: str | None) -> int:
    """Show the public side of one key."""
    ring = opening.keyring(keyring)
    entry, now = ring.show(key_version), system_clock()
    tell_entry(entry, now, sealed=ring.is_sealed(key_version))
    return 0


def tell_entry(entry: KeyEntry, now: int, *, sealed: bool) -> None:
    """One key, in words or as JSON."""
    assert entry.key is not None
    if output.wants_json():
        output.record({**entry_json(entry), "state": state(entry, now), "sealed": sealed})
        return
    waits = entry.sign_from != entry.not_before
    output.line(output.shown(entry.key_version))
    output.fields(
        [
            ("issuer", entry.issuer),
            ("profiles", sorted(entry.profiles)),
            ("state", state(entry, now)),
            ("valid from", write_instant(entry.not_before)),
            ("signs from", write_instant(entry.sign_from) if waits else None),
            ("signs until", write_instant(entry.sign_until)),
            ("accepted until", write_instant(entry.accept_until)),
            ("revoked at", None if entry.revoked_at is None else write_instant(entry.revoked_at)),
            ("principal", entry.principal),
            ("bind", [f"{at} = {_any_of(values)}" for at, values in entry.bind.items()] or None),
            ("algorithm", entry.key.algorithm),
            ("public key", _short(entry.key.raw)),
            ("thumbprint", entry.key.thumbprint),
            ("private half", "under a passphrase" if sealed else "in the clear"),
        ]
    )


def _short(raw: bytes) -> str | None:
    """A public key as ``--pin`` takes it; none where that fills a screen."""
    from taskseal.canon.encoding import b64url_encode

    return b64url_encode(raw) if len(raw) <= LONGEST_SHOWN else None


def _any_of(values: tuple[Any, ...]) -> str:
    return " or ".join(str(value) for value in values)


@click.command(context_settings=SETTINGS)
@click.argument("key_version", metavar="KEY_VERSION")
@click.option("--as", "form", type=click.Choice(FORMS), required=True, help="The file's form.")
@click.option("--private", is_flag=True, help="The private half; it never goes to a terminal.")
@keyring_option
@passphrase_options
@output_options
@output.json_option
def export(key_version: str, form: str, private: bool, **given: Any) -> int:
    """Write one key as a file.

    It is the public half, or with --private the private one.

    A private half is written under a passphrase (pem, ssh), or in the clear with
    --no-passphrase. A passphrase that is given opens the key and locks the file.

    \b
    Example:
      taskseal keys export kms/tasks/1 --as jwk
    """
    from taskseal.keys.formats import check_form

    out = None if given["out"] == opening.STDIN else given["out"]
    secrets = Passphrases(given["passphrase_file"], given["no_passphrase"])
    if private:
        _refuse_spilling(form, out, secrets)
    elif form == "raw" and out is None and not output.wants_json():
        _refuse_terminal("the raw bytes")
    # Saying no to a passphrase speaks of the file; the keyring's own may be needed still.
    opener = passphrase.Opener(Passphrases(secrets.file), f"key version {key_version}")
    ring = opening.keyring(given["keyring"], opener)
    key = ring.show(key_version).key
    assert key is not None
    check_form(key.algorithm, cast("Form", form), private=private)
    if private and ring.is_sealed(key_version):
        # Before the lock of the new file is asked for.
        opener.tried(lambda: ring.holder(key_version))
    content = _exported(ring, key_version, form, private, secrets)
    if out is not None:
        mode = PRIVATE_MODE if private else PUBLIC_MODE
        opening.write_output(out, content, mode, force=given["force"])
    _tell_exported(ring.show(key_version), form, private, out, content)
    return 0


def _refuse_spilling(form: str, out: str | None, secrets: Passphrases) -> None:
    """A private half leaves the keyring only where it was meant to go."""
    if out is None and output.wants_json():
        raise InputError(
            Reason.USAGE,
            "a private half does not go into JSON",
            hint="name a file with -o",
        )
    if out is None:
        _refuse_terminal("a private half")
    if form not in LOCKABLE and not secrets.none:
        raise InputError(
            Reason.USAGE,
            f"the form {form} has no lock",
            hint="choose pem or ssh, or say --no-passphrase to write it in the clear",
        )


def _refuse_terminal(what: str) -> None:
    if output.is_terminal(sys.stdout):
        raise InputError(
            Reason.USAGE, f"{what} would go to a terminal", hint="name a file with -o, or a pipe"
        )


def _exported(
    ring: Keyring, key_version: str, form: Any, private: bool, secrets: Passphrases
) -> bytes:
    if not private:
        return ring.export(key_version, form)
    lock_with = passphrase.chosen(secrets, "the exported file")
    return ring.export(key_version, form, private=True, lock_with=lock_with)


def _tell_exported(
    entry: KeyEntry, form: str, private: bool, out: str | None, content: bytes
) -> None:
    if output.wants_json():
        from taskseal.canon.encoding import b64url_encode

        record = {
            "written": None if out is None else output.named(out),
            "keyVersion": entry.key_version,
            "thumbprint": entry.key.thumbprint if entry.key else None,
            "as": form,
            "private": private,
        }
        if out is None:
            record["key"] = b64url_encode(content) if form == "raw" else content.decode()
        output.record(record)
    elif out is None:
        output.data(content)
    else:
        half = "private" if private else "public"
        output.note(f"wrote the {half} half of {entry.key_version} to {out}")

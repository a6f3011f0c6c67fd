"""``doctor`` and ``init``: what a configuration allows, in words, and a beginning of one.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import output
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import config_option
from taskseal.validity import system_clock

if TYPE_CHECKING:
    from taskseal import Config
    from taskseal.cli.diagnosis import Diagnosis


@click.command(context_settings=SETTINGS)
@config_option
@output.json_option
def doctor(config: str | None) -> int:
    """Say what a configuration allows, and whether it is sound.

    Exit code 0 when all that it names is, else that of the first fault. Nothing is changed.

    \b
    Example:
      taskseal doctor --config taskseal.toml
    """
    from taskseal import load_config
    from taskseal.cli.diagnosis import diagnose

    read = load_config(config)
    found = diagnose(read, system_clock())
    if output.wants_json():
        output.record(found.to_json(read))
    else:
        _tell(read, found)
    return found.faults[0].exit_code if found.faults else 0


def _tell(config: Config, found: Diagnosis) -> None:
    sound = not found.faults
    output.line(
        f"{output.styled('sound' if sound else 'not sound', 'good' if sound else 'bad')}  "
        f"{output.shown(str(config.path))}"
    )
    _section("this receiver", _about_receiver(found.receiver))
    _section("trusts" if found.trust else "trusts nobody", [("keys in", found.sources or None)])
    for row in found.trust:
        _tell_key(row)
    for row in found.policy:
        _section(f"takes {row['profile']}", _about_rules(row))
    ledger = found.ledger
    mode = f", mode {ledger['mode']}" if ledger["mode"] else ""
    _section(
        "remembers what it accepted",
        [
            ("in", ledger["url"]),
            ("state", f"{ledger['state']}{mode}"),
            *_about_acceptances(found.acceptances),
            ("clock", found.clock["now"]),
        ],
    )
    if found.notes:
        _section("to know", [("-", note) for note in found.notes])
    if found.faults:
        _section("faults", [("-", f"{fault}; {fault.hint}") for fault in found.faults])


def _section(title: str, rows: Iterable[tuple[str, str | Iterable[str] | None]]) -> None:
    output.line()
    output.line(output.shown(title))
    output.fields(rows)


def _about_receiver(row: dict[str, Any]) -> list[tuple[str, str | None]]:
    if row["any"]:
        return [("is", "anyone: what a message says of its receiver is not compared")]
    names = ("audience", "organization", "workspace", "device")
    if not any(row[name] for name in (*names, "aisaTask")):
        return [("is", "not named here")]
    told: list[tuple[str, str | None]] = [(name, row[name] or "not compared") for name in names]
    return [*told, ("AISA task", row["aisaTask"])]


def _tell_key(row: dict[str, Any]) -> None:
    output.line(f"  {output.shown(row['keyVersion'])} of {output.shown(row['issuer'])}")
    output.fields(
        [
            ("for", row["profiles"] or "nothing"),
            ("now", _standing(row)),
            ("signs", f"until {row['signUntil']}"),
            ("accepted", f"until {row['acceptUntil']}"),
            ("revoked", None if row["revokedAt"] is None else f"at {row['revokedAt']}"),
            ("keyset", _keyset(row)),
            ("speaks for", row["principal"]),
            ("says only", [f"{at} = {_any_of(v)}" for at, v in row["bind"].items()] or None),
        ],
        indent=4,
    )


def _standing(row: dict[str, Any]) -> str:
    if not row["stands"]:
        return output.styled(f"does not count: {row['reason']}", "bad")
    if row["retired"]:
        return output.styled("counts for what was signed before it retired", "mixed")
    return output.styled("counts", "good")


def _keyset(row: dict[str, Any]) -> str | None:
    if row["generation"] is None:
        return None
    return f"generation {row['generation']}, until {row['keysetExpires']}"


def _any_of(values: list[Any]) -> str:
    return " or ".join("null" if value is None else str(value) for value in values)


def _about_rules(row: dict[str, Any]) -> list[tuple[str, str | list[str] | None]]:
    needs = [
        what
        for what, wanted in (
            ("every artefact that is bound", row["requireArtefacts"]),
            ("a decision to release it", row["requireReceipt"]),
        )
        if wanted
    ]
    return [
        ("comes as", ", ".join(row["forms"]) or "in no form: it is never taken"),
        ("lives", f"{row['maxLifetime']} at most" if row["maxLifetime"] else "as it says itself"),
        ("clock", f"at most {row['futureSkew']} ahead of ours"),
        ("taken", None if row["pastSkew"] == "0s" else f"until {row['pastSkew']} after its end"),
        ("needs", needs or None),
        ("truncated", "taken" if row["allowTruncated"] else None),
        ("ceiling", row["ceiling"]),
    ]


def _about_acceptances(row: dict[str, Any]) -> list[tuple[str, str | None]]:
    version = row["signedWith"]
    if version is None:
        return [("answers", "with no signed acceptance")]
    locked = {None: "", True: ", under a passphrase", False: ", in the clear"}[row["sealed"]]
    return [
        ("answers", f"signed with {version}{locked}"),
        ("keyring", row["keyring"]),
        ("kept", f"{row['keptFor']} beyond a message's end"),
    ]


@click.command(context_settings=SETTINGS)
@config_option
@click.option("--keyring", metavar="DIR", help="Make a keyring there too, and name it.")
@click.option("--force", is_flag=True, help="Replace a file that stands there already.")
@output.json_option
def init(config: str | None, keyring: str | None, force: bool) -> int:
    """Write a configuration to begin with, each member explained.

    It goes to --config FILE, else to TASKSEAL_CONFIG, else to taskseal.toml in the user
    configuration directory, for its owner alone to read.

    \b
    Example:
      taskseal init --config taskseal.toml
    """
    path, made = _begin(config, keyring, force=force)
    if output.wants_json():
        ring = None if keyring is None else output.named(keyring)
        output.record({"written": output.named(str(path)), "keyring": ring})
    else:
        output.line(f"written  {output.shown(str(path))}")
        if keyring is not None:
            output.line(f"{'made' if made else 'names'}  the keyring {output.shown(keyring)}")
        output.line("next: say in it who this receiver is and whom it trusts; then")
        named = "" if config is None else f" --config {shlex.quote(config)}"
        output.line(output.shown(f"taskseal doctor{named}"))
    return 0


def _begin(option: str | None, keyring: str | None, *, force: bool) -> tuple[Path, bool]:
    """Writes a configuration to begin with, and makes the keyring that it is to name.

    A keyring in the folder of the file is named relative to it, so that both can move. Gives
    where the file is, and whether a keyring was made: one that was there stays as it is.

    Raises:
        InputError: ``file_exists``, ``file_unwritable``.
        MaterialError: ``keyring_malformed``.
    """
    from taskseal import Keyring
    from taskseal.config.places import config_file, user_config_file
    from taskseal.config.template import written
    from taskseal.storage import make_folder, write_atomic

    path = config_file(option)
    if path is None:
        path = user_config_file()
        make_folder(path.parent)
    if keyring is None:
        write_atomic(path, written(None), overwrite=force)
        return path, False
    folder, home = Path(keyring).absolute(), path.absolute().parent
    name = folder.relative_to(home) if folder.is_relative_to(home) else folder
    write_atomic(path, written(str(name)), overwrite=force)
    fresh = not os.path.lexists(folder)
    Keyring.open_or_create(folder)
    return path, fresh

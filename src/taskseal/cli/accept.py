"""``accept``: a verdict, and the message's place in the ledger.

Source: SPEC sections 7 to 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output, passphrase, verdict
from taskseal.cli.desk import Desk, desk_for
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import (
    FILE,
    Passphrases,
    checking_options,
    identity_options,
    passphrase_options,
    read_checking,
    read_identity,
)
from taskseal.cli.verify import note_strangers
from taskseal.errors import InputError, Reason

if TYPE_CHECKING:
    from taskseal import Config, Outcome, Receiver, Signer

_OPTIONS = {"organisation": "organization", "workspace": "workspace", "device": "device"}
"""The option that names a member of the identity."""


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@click.option(
    "--ledger",
    metavar="URL",
    help="What was accepted before, such as sqlite:accepted.db; else as configured, else "
    "TASKSEAL_LEDGER, else in the user state directory.",
)
@identity_options
@checking_options
@click.option(
    "--keyring",
    metavar="DIR",
    type=FILE,
    help="Sign an acceptance to hand back, with a key of the keyring there.",
)
@click.option("--key-version", metavar="V", help="With which key, here or in the usual keyring.")
@passphrase_options
@output.json_option
def accept(file: str, ledger: str | None, **given: Any) -> int:
    """Check a message and accept it once.

    A message that was accepted before ends with exit code 7, and with the acceptance
    that it got then. Say who this receiver is, or --any-audience. - is standard input.

    \b
    Example:
      taskseal accept sealed.json --trust pins.json --organization org_1
      taskseal accept sealed.json --trust pins.json --audience worker-1 --keyring r --json
    """
    from taskseal import Receiver
    from taskseal.receiver import KEEP_ACCEPTANCES

    keyring, key_version = given.pop("keyring"), given.pop("key_version")
    secrets = Passphrases(given.pop("passphrase_file"), given.pop("no_passphrase"))
    options, who = read_checking(given), read_identity(given)
    desk = desk_for(options, who)
    if desk.identity is None:
        raise InputError(
            Reason.USAGE,
            "a receiver without an identity would accept what is meant for others",
            hint="add --audience, --organization, --workspace, --device or --any-audience",
        )
    signer = _signer(keyring, key_version, secrets, desk.config)
    url, kept = ledger, KEEP_ACCEPTANCES
    if desk.config is not None:
        url = ledger or desk.config.ledger
        kept = kept if desk.config.keep_acceptances is None else desk.config.keep_acceptances
    with opening.ledger(url) as store:
        receiver = Receiver(
            desk.verifier, store, desk.identity, signer=signer, keep_acceptances=kept
        )
        found = _receive(receiver, desk, file)
    code = _tell(file, found)
    note_strangers(desk, found)
    _note_uncompared(desk, found)
    return code


def _note_uncompared(desk: Desk, found: Outcome) -> None:
    """Says that an accepted message could have been meant for anyone."""
    from taskseal import Accepted

    me = desk.identity
    if me is None or me.any or not isinstance(found, Accepted):
        return
    kind = desk.profile_of(found.profile)
    compared = {check.check for check in found.checks if check.result == "passed"}
    if compared & {"audience", *kind.identity}:
        return
    options = [f"--{_OPTIONS[member]}" for member in kind.identity]
    cure = (
        f"add {' or '.join([', '.join(options[:-1]), options[-1]])}"
        if options
        else ("it names no receiver")
    )
    output.note(f"note: nothing in the message was compared with the identity: {cure}")


def _signer(
    folder: str | None, key_version: str | None, secrets: Passphrases, config: Config | None
) -> Signer | None:
    """The key that signs acceptances; None when neither option nor configuration asks for one.

    Raises:
        MaterialError: there is none, or it stays locked.
    """
    from taskseal.profiles.acceptance import ACCEPTANCE_ID
    from taskseal.validity import system_clock

    by_option = folder is not None or key_version is not None
    if not by_option and (config is None or config.sign_with is None):
        return None
    opener = passphrase.Opener(secrets, "the key")
    if not by_option and config is not None:
        return opener.tried(lambda: config.signer(system_clock(), opener))
    ring = opening.keyring(folder or (config.keyring if config else None), opener)
    return opener.tried(
        lambda: ring.signer(ACCEPTANCE_ID, key_version=key_version, at=system_clock())
    )


def _receive(receiver: Receiver, desk: Desk, file: str) -> Outcome:
    from taskseal import Refused

    read = opening.message(file, desk.signature)
    if isinstance(read, Refused):
        return read
    data, signature = read
    return receiver.accept(
        data,
        profile=desk.profile,
        signature=signature,
        artefacts=desk.artefacts,
        context=desk.context,
    )


def _tell(file: str, found: Outcome) -> int:
    """Prints the verdict and gives its exit code."""
    from taskseal import Accepted, Duplicate, Refused

    if output.wants_json():
        output.record(_as_json(found))
    else:
        verdict.received(file, found)
    match found:
        case Accepted():
            return 0
        case Refused():
            return output.exit_code(found.reason)
        case Duplicate():
            return output.exit_code(Reason.REPLAYED)
    return output.exit_code(Reason.IN_DOUBT)


def _as_json(found: Outcome) -> dict[str, Any]:
    from taskseal import Duplicate, InDoubt, Refused

    ids = () if isinstance(found, Refused) else found.replay_ids
    stored = None if isinstance(found, InDoubt | Refused) else found.acceptance
    written = found.to_json()
    written["duplicate"] = isinstance(found, Duplicate)
    written["replayIds"] = [{"scope": each.scope, "value": each.value} for each in ids]
    written["acceptance"] = None if stored is None else _object(stored)
    return written


def _object(stored: bytes) -> dict[str, Any] | None:
    """A stored acceptance; a ledger may hold what other software had it keep."""
    try:
        value = opening.parsed(stored)
    except InputError:
        return None
    return value if isinstance(value, dict) else None

"""``accept``: a verdict, and the message's place in the ledger.

Source: SPEC sections 7 to 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output, verdict
from taskseal.cli.desk import Desk, desk_for, identity_of
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import (
    FILE,
    checking_options,
    identity_options,
    read_checking,
    read_identity,
)
from taskseal.cli.verify import note_strangers
from taskseal.errors import InputError, Reason

if TYPE_CHECKING:
    from taskseal import Accepted, Duplicate, Receiver, Refused


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@click.option(
    "--ledger",
    metavar="URL",
    help="What was accepted before, such as sqlite:accepted.db; else TASKSEAL_LEDGER, else in the "
    "user state directory.",
)
@identity_options
@checking_options
@output.json_option
def accept(file: str, ledger: str | None, **given: Any) -> int:
    """Check a message and accept it once.

    A message that was accepted before ends with exit code 7. Say who this receiver is, or
    --any-audience. - is standard input.

    \b
    Example:
      taskseal accept sealed.json --trust pins.json --audience worker-1
    """
    from taskseal import Receiver

    options, who = read_checking(given), read_identity(given)
    if identity_of(who) is None:
        raise InputError(
            Reason.USAGE,
            "a receiver without an identity would accept what is meant for others",
            hint="add --audience, --organization, --workspace, --device or --any-audience",
        )
    desk = desk_for(options, who)
    assert desk.identity is not None
    with opening.ledger(ledger) as store:
        found = _receive(Receiver(desk.verifier, store, desk.identity), desk, file)
    code = _tell(file, found)
    note_strangers(desk, found)
    return code


def _receive(receiver: Receiver, desk: Desk, file: str) -> Accepted | Duplicate | Refused:
    from taskseal import Refused

    read = opening.message(file, desk.signature)
    if isinstance(read, Refused):
        return read
    data, signature = read
    return receiver.receive(
        data,
        profile=desk.profile,
        signature=signature,
        artefacts=desk.artefacts,
        context=desk.context,
    )


def _tell(file: str, found: Accepted | Duplicate | Refused) -> int:
    """Prints the verdict and gives its exit code."""
    from taskseal import Accepted, Duplicate

    if output.wants_json():
        output.record(_as_json(found))
    elif isinstance(found, Accepted):
        verdict.accepted(file, found, claimed=True)
    elif isinstance(found, Duplicate):
        verdict.duplicate(file, found)
    else:
        verdict.refused(file, found, verdict=_word(found.reason))
    if isinstance(found, Accepted):
        return 0
    return output.exit_code(Reason.REPLAYED if isinstance(found, Duplicate) else found.reason)


def _as_json(found: Accepted | Duplicate | Refused) -> dict[str, Any]:
    from taskseal import Duplicate, Refused

    ids = () if isinstance(found, Refused) else found.replay_ids
    written = found.to_json()
    if isinstance(found, Refused):
        written["verdict"] = _word(found.reason)
    written["duplicate"] = isinstance(found, Duplicate)
    written["replayIds"] = [{"scope": each.scope, "value": each.value} for each in ids]
    if isinstance(found, Duplicate) and found.acceptance is not None:
        written["acceptance"] = found.acceptance.decode("utf-8", "backslashreplace")
    return written


def _word(reason: Reason) -> str:
    return "in_doubt" if reason is Reason.IN_DOUBT else "refused"

"""``verify`` and ``explain``: verdicts on messages, without any memory.

Source: SPEC sections 7 and 9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output, verdict
from taskseal.cli.desk import Desk, desk_for
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import (
    FILE,
    at_option,
    checking_options,
    identity_options,
    read_checking,
    read_identity,
)
from taskseal.errors import REASONS, InputError, Reason, TasksealError

if TYPE_CHECKING:
    from taskseal import Accepted, Refused
    from taskseal.profiles import Check, Profile

_MARKS = {"passed": ("ok", "good"), "failed": ("FAILED", "bad"), "skipped": ("skipped", "mixed")}


@click.command(context_settings=SETTINGS)
@click.argument("files", metavar="FILE...", type=FILE, nargs=-1, required=True)
@checking_options
@identity_options
@at_option("Verify")
@output.json_option
def verify(files: tuple[str, ...], at: str | None, **given: Any) -> int:
    """Check messages against trusted keys.

    Nothing is remembered: whether a message came before, only `accept` knows. - is standard
    input.

    \b
    Example:
      taskseal verify sealed.json --trust pins.json
    """
    desk = desk_for(read_checking(given), read_identity(given), len(files))
    now = opening.instant(at)
    codes = []
    for number, name in enumerate(files):
        if number and not output.wants_json():
            output.line()
        try:
            codes.append(_verify(desk, name, now))
        except TasksealError as fault:
            codes.append(output.error(fault, name if len(files) > 1 else None))
    return output.worst(codes)


def _verify(desk: Desk, name: str, at: int | None) -> int:
    found = check(desk, name, at)
    if output.wants_json():
        output.record(found.to_json())
    else:
        tell(name, found)
    note_strangers(desk, found)
    return code_of(found)


def check(desk: Desk, name: str, at: int | None) -> Accepted | Refused:
    """The verdict on the message in the file ``name``."""
    from taskseal import Refused

    read = opening.message(name, desk.signature)
    if isinstance(read, Refused):
        return read
    data, signature = read
    return desk.verifier.check(
        data,
        profile=desk.profile,
        signature=signature,
        artefacts=desk.artefacts,
        context=desk.context,
        at=at,
    )


def tell(name: str, found: Accepted | Refused) -> None:
    """The verdict in words."""
    from taskseal import Refused

    if isinstance(found, Refused):
        verdict.refused(name, found)
    else:
        verdict.accepted(name, found, claimed=False)


def code_of(found: Accepted | Refused) -> int:
    """The exit code of a verdict."""
    from taskseal import Refused

    return output.exit_code(found.reason) if isinstance(found, Refused) else 0


def note_strangers(desk: Desk, found: object) -> None:
    """Says which ``--artefact`` options an accepted message does not name."""
    from taskseal import Accepted

    if isinstance(found, Accepted) and desk.named:
        strangers(desk.named, desk.profile_of(found.profile), found.envelope)


def strangers(named: frozenset[str], profile: Profile, envelope: Mapping[str, Any]) -> None:
    """Says which artefacts ``envelope`` does not bind; they are ignored."""
    bound = {binding.ref for binding in profile.bindings(envelope)}
    for ref in sorted(named - bound):
        output.note(f"note: the message names no artefact {ref}; it is ignored")


@click.command(context_settings=SETTINGS)
@click.argument("subject", metavar="FILE|CODE", type=FILE)
@checking_options
@identity_options
@at_option("Verify")
@output.json_option
def explain(subject: str, at: str | None, **given: Any) -> int:
    """Say at length why a message is refused, or what a reason is.

    A CODE wins over a file of that name; write ./CODE for the file.

    \b
    Example:
      taskseal explain sealed.json --trust pins.json
      taskseal explain key_retired
    """
    from taskseal.cli import errors

    if subject in REASONS:
        return errors.one(Reason(subject))
    if opening.is_missing(subject):
        raise _unknown(subject)
    desk = desk_for(read_checking(given), read_identity(given))
    found = check(desk, subject, opening.instant(at))
    if output.wants_json():
        output.record(_explained(found))
    else:
        tell(subject, found)
        _tell_cause(found)
        _tell_checks(found.checks)
    note_strangers(desk, found)
    return code_of(found)


def _unknown(subject: str) -> InputError:
    """What is said of a word that is no reason, and of a path where nothing stands."""
    from difflib import get_close_matches

    close = get_close_matches(subject, list(REASONS), n=1)
    return InputError(
        # Only what could be a code is a slip of the command line; the rest is a file's name.
        Reason.USAGE if re.fullmatch(r"\w+", subject) else Reason.FILE_MISSING,
        f"{subject!r} is neither a reason nor a file",
        hint=f"did you mean {close[0]}?" if close else "`taskseal errors` lists the reasons",
    )


def _explained(found: Accepted | Refused) -> dict[str, Any]:
    from taskseal import Refused

    entry = REASONS[found.reason] if isinstance(found, Refused) else None
    return {
        **found.to_json(),
        "cause": None if entry is None else entry.text,
        "remedy": None if entry is None else entry.remedy,
    }


def _tell_cause(found: Accepted | Refused) -> None:
    from taskseal import Refused

    if not isinstance(found, Refused):
        return
    output.line()
    entry = REASONS[found.reason]
    again = "yes, it may pass later" if found.retryable else "no, it will be refused again"
    output.fields(
        [
            ("cause", entry.text),
            ("remedy", None if found.hint == entry.remedy else entry.remedy),
            ("at fault", f"the {entry.blame}"),
            ("try again", again),
            ("authentic", "yes: the signature held" if found.authenticated else "not proven"),
        ]
    )


def _tell_checks(checks: tuple[Check, ...]) -> None:
    output.line()
    output.line("checks, in order")
    width = max((len(output.shown(check.check)) for check in checks), default=0)
    for check in checks:
        word, style = _MARKS[check.result]
        detail = ": ".join(each for each in (check.reason, check.detail) if each)
        lead = f"  {output.styled(word.ljust(7), style)}  {output.shown(check.check).ljust(width)}"
        first, *rest = output.folded(detail, max(output.WIDTH - 13 - width, 20))
        output.line(f"{lead}  {first}".rstrip())
        for part in rest:
            output.line(" " * (13 + width) + part)

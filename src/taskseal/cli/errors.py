"""``errors``: the table of reasons.

Source: SPEC section 7.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import click

from taskseal.cli import output
from taskseal.cli.main import SETTINGS
from taskseal.errors import REASONS, InputError, Reason


def _codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [reason for reason in Reason if reason.startswith(incomplete)]


@click.command(context_settings=SETTINGS)
@click.argument("code", metavar="[CODE]", required=False, shell_complete=_codes)
@output.json_option
def errors(code: str | None) -> int:
    """List every reason, or tell about one.

    \b
    Example:
      taskseal errors replay_conflict
    """
    if code is not None:
        return one(_reason(code))
    if output.wants_json():
        output.record({"reasons": [row(reason) for reason in REASONS]})
        return 0
    for reason, entry in REASONS.items():
        about = f"exit {entry.exit_code}, HTTP {entry.http}"
        output.line(f"{output.styled(reason, 'bad')}  {about}")
        output.fields([("why", entry.text), ("do", entry.remedy)])
    return 0


def one(reason: Reason) -> int:
    """Tells about one reason."""
    if output.wants_json():
        output.record(row(reason))
        return 0
    entry = REASONS[reason]
    output.line(output.styled(reason, "bad"))
    output.fields(
        [
            ("cause", entry.text),
            ("remedy", entry.remedy),
            ("at fault", f"the {entry.blame}"),
            ("try again", "it may pass later" if entry.retryable else "it stays so"),
            ("exit code", str(entry.exit_code)),
            ("HTTP", str(entry.http)),
        ]
    )
    return 0


def row(reason: Reason) -> dict[str, Any]:
    """One row of the table as JSON."""
    entry = REASONS[reason]
    return {
        "reason": reason,
        "cause": entry.text,
        "remedy": entry.remedy,
        "exit": entry.exit_code,
        "http": entry.http,
        "retryable": entry.retryable,
        "fault": entry.blame,
    }


def _reason(code: str) -> Reason:
    try:
        return Reason(code)
    except ValueError:
        close = get_close_matches(code, list(Reason), n=1)
        raise InputError(
            Reason.USAGE,
            f"there is no reason {code!r}",
            hint=f"did you mean {close[0]}?" if close else "`taskseal errors` lists them",
        ) from None

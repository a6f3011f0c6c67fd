"""The command itself: its subcommands, imported when they are run, and its way out.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from taskseal import __version__
from taskseal.cli import output
from taskseal.errors import InputError, Reason, TasksealError

NAME = "taskseal"
COMPLETE = "_TASKSEAL_COMPLETE"
"""The variable by which a shell asks for completion."""

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

_EPILOG = """\b
Example:
  taskseal keys new kms/tasks/1 --for dharma.task/v1
  taskseal keys pin -o pins.json
  taskseal sign task.json -o sealed.json
  taskseal verify sealed.json --trust pins.json

\b
Exit codes: 0 accepted or done, 1 refused, 2 usage, 3 your input is malformed,
4 key or signer, 5 ledger, 6 file or I/O, 7 duplicate.

\b
Completion: eval "$(_TASKSEAL_COMPLETE=bash_source taskseal)" in ~/.bashrc;
zsh_source and fish_source for the others.
"""


class LazyGroup(click.Group):
    """A group whose commands are modules, each imported when it is first asked for."""

    def __init__(self, *args: Any, homes: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = self._homes.get(cmd_name)
        if home is None:
            return None
        module, _, attribute = home.partition(":")
        command = getattr(import_module(f"taskseal.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command


class Program(LazyGroup):
    """The top of the command line: every ending becomes an exit code and, at most, two lines."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        if COMPLETE in os.environ:
            super().main(args, NAME, COMPLETE)
        given = list(sys.argv[1:] if args is None else args)
        # A usage error may come before the option is read, and is to be JSON all the same.
        options = given[: given.index("--")] if "--" in given else given
        as_json = "--json" in options
        try:
            with self.make_context(NAME, given, **extra) as context:
                code = self.invoke(context) or 0
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        except click.UsageError as fault:
            code = _usage(fault, as_json)
        except TasksealError as fault:
            code = _report(fault, as_json and not isinstance(fault, output.OutputBroken))
        except (click.Abort, KeyboardInterrupt):
            code = _interrupted(as_json)
        except BrokenPipeError:
            # The help, which click prints itself; nobody reads it any more.
            output.silence(sys.stdout)
            code = 0
        except OSError as fault:
            code = _report(InputError(Reason.FILE_UNREADABLE, str(fault)), as_json)
        except Exception as defect:
            if sys.flags.dev_mode:
                raise
            code = _defect(defect, as_json)
        sys.exit(code)


def _usage(fault: click.UsageError, as_json: bool) -> int:
    """A command line that cannot be understood; without any argument, the help."""
    context = fault.ctx
    where = NAME if context is None else context.command_path
    text = fault.format_message()
    if isinstance(fault, click.MissingParameter):
        # It lists what there is to choose from on lines of their own.
        text = text.replace("\n\t", " ")
    if context is not None and text == context.get_help():
        if not as_json:
            output.manual(text)
            return output.EXIT_USAGE
        text = "a command is missing"
    hint = f"see {where} --help"
    return _report(InputError(Reason.USAGE, text, hint=hint), as_json)


def _report(fault: TasksealError, as_json: bool) -> int:
    _tell(output.error_json(fault), str(fault), fault.hint, as_json)
    return fault.exit_code


def _interrupted(as_json: bool) -> int:
    if as_json:
        _tell({"error": "interrupted", "detail": "the command was interrupted"}, "", None, True)
    return output.EXIT_INTERRUPTED


def _defect(defect: Exception, as_json: bool) -> int:
    detail = f"{type(defect).__name__}: {defect}"
    hint = "this is a defect of taskseal; PYTHONDEVMODE=1 shows where"
    record = {"error": "internal", "detail": output.named(detail), "hint": hint}
    _tell(record, f"internal: {detail}", hint, as_json)
    return output.EXIT_DEFECT


def _tell(record: dict[str, Any], text: str, hint: str | None, as_json: bool) -> None:
    """The fault as the caller wants it, or on standard error where standard output is broken."""
    if as_json:
        with suppress(output.OutputBroken):
            output.record(record)
            return
    output.complain(text, hint)


def _print_version(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if not given or context.resilient_parsing:
        return
    if output.wants_json():
        output.record({"version": __version__})
    else:
        output.line(f"{NAME} {__version__}")
    context.exit()


@click.group(
    NAME,
    cls=Program,
    context_settings=SETTINGS,
    epilog=_EPILOG,
    homes={
        "sign": "sign:sign",
        "verify": "verify:verify",
        "accept": "accept:accept",
        "acceptance": "acceptance:acceptance",
        "explain": "verify:explain",
        "inspect": "inspect:inspect",
        "canon": "canon:canon",
        "digest": "canon:digest",
        "keys": "keys:keys",
        "keyset": "keyset:keyset",
        "trust": "trust:trust",
        "profiles": "profiles:profiles",
        "errors": "errors:errors",
        "init": "doctor:init",
        "doctor": "doctor:doctor",
        "demo": "demo:demo",
    },
)
@output.json_option
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
def taskseal() -> None:
    """Seal task envelopes between agent systems: sign before handoff, verify on receipt."""


def main() -> NoReturn:
    """Runs the command line of this process and ends it with the exit code."""
    taskseal.main()

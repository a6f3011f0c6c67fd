"""What the commands print, and the exit code that they end with.

Results go to standard output and everything else to standard error. What a message, a file
name or a key file says is shown without anything that a terminal would obey. A closed pipe
ends the printing, not the command: the exit code still says how it went.

Source: SPEC section 9; https://no-color.org.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from taskseal.errors import InputError, Reason, TasksealError

if TYPE_CHECKING:
    from taskseal import Refused

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_DEFECT = 70
"""What a defect of taskseal itself ends with; no verdict and no fault of the caller's does."""

WIDTH = 80
"""Columns of the text output."""

_SEVEREST_FIRST = (2, 3, 4, 5, 6, 1, 7, 0)
_JSON = "taskseal.json"
_STYLES = {"good": "green", "bad": "red", "mixed": "yellow"}

F = TypeVar("F", bound=Callable[..., Any])


class OutputBroken(InputError):
    """Nothing more can be said on standard output, not even what went wrong."""

    def __init__(self, why: str) -> None:
        super().__init__(Reason.FILE_UNWRITABLE, f"standard output cannot be written: {why}")


def json_option(command: F) -> F:
    """Adds ``--json`` to a command; :func:`wants_json` then answers."""
    return click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_json,
        help="Print one JSON object, whatever the exit code.",
    )(command)


def _note_json(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        context.meta[_JSON] = True


def wants_json() -> bool:
    """Whether the running command was given ``--json``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_JSON))


def shown(text: str) -> str:
    """``text`` as a terminal may show it: characters that do not print are escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def named(path: str) -> str:
    """A file name as JSON can hold it: bytes that are not Unicode are escaped."""
    return path.encode("utf-8", "backslashreplace").decode()


def worst(codes: Iterable[int]) -> int:
    """The exit code for several files: the first of 2 3 4 5 6 1 7 0 that occurred."""
    return min(codes, key=_SEVEREST_FIRST.index, default=0)


def line(text: str = "") -> None:
    """One line of text on standard output."""
    _print(text + "\n")


def note(text: str) -> None:
    """One line on standard error."""
    _say(shown(text) + "\n")


def manual(text: str) -> None:
    """Text of our own, of several lines, on standard error."""
    _say(text + "\n")


def record(value: Mapping[str, Any]) -> None:
    """One JSON object as one line of ASCII on standard output."""
    _print(json.dumps(value) + "\n")


def data(content: bytes) -> None:
    """Bytes on standard output, exactly."""
    _print(content)


def _print(content: str | bytes) -> None:
    try:
        _write(sys.stdout, content)
    except OSError as error:
        raise OutputBroken(error.strerror or "it failed") from None


def _say(text: str) -> None:
    # Nobody can be told that nobody can be told.
    with suppress(OSError):
        _write(sys.stderr, text)


def _write(stream: IO[str] | None, content: str | bytes) -> None:
    if stream is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    raw = content if isinstance(content, bytes) else content.encode(encoding, "backslashreplace")
    try:
        stream.flush()
        stream.buffer.write(raw)  # type: ignore[attr-defined]  # a text stream over a binary one
        stream.buffer.flush()  # type: ignore[attr-defined]  # as above
    except BrokenPipeError:
        silence(stream)
    except OSError:
        silence(stream)
        raise


def silence(stream: IO[str]) -> None:
    """Lets nothing more reach a stream that nobody reads, nor the flush at the end fail."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person looks at ``stream``."""
    return stream is not None and not stream.closed and stream.isatty()


def styled(text: str, style: str, stream: IO[str] | None = None) -> str:
    """``text`` as ``good``, ``bad`` or ``mixed`` news, in colour where colours are wanted."""
    wanted = is_terminal(stream or sys.stdout) and not os.environ.get("NO_COLOR")
    if not wanted or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, fg=_STYLES[style], bold=True)


def fields(rows: Iterable[tuple[str, str | Iterable[str] | None]], indent: int = 2) -> None:
    """Labelled values below each other; a value of None is left out, a long one is folded.

    A value of several texts stands on several lines under one label.
    """
    known = [(label, value) for label, value in rows if value is not None]
    column = indent + max((len(label) for label, _ in known), default=0) + 2
    for label, value in known:
        texts = [value] if isinstance(value, str) else list(value)
        lead, room = " " * indent + label.ljust(column - indent), WIDTH - column
        if any(len(word) > room for text in texts for word in text.split(" ")):
            # A digest does not break: it goes below its label, where there is more room.
            line(lead.rstrip())
            lead = " " * (indent + 2)
            room = WIDTH - len(lead)
        for text in texts:
            for part in folded(text, room):
                line(lead + part)
                lead = " " * len(lead)


def folded(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` columns, broken at blanks; a long word stays whole."""
    lines: list[str] = []
    for word in shown(text).split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], below: Sequence[str] | None = None
) -> None:
    """A table with aligned columns; the last one is folded at the edge.

    ``below`` holds a text for each row that stands under it.
    """
    printable = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *printable, strict=True)]
    start = sum(widths[:-1]) + 2 * (len(widths) - 1)
    for number, row in enumerate((head, *printable)):
        lead = "".join(cell.ljust(width + 2) for cell, width in zip(row, widths, strict=False))
        first, *rest = folded(row[-1], max(WIDTH - start, 20))
        line((lead[:start] + first).rstrip())
        for part in rest:
            line(" " * start + part)
        if below is not None and number:
            for part in folded(below[number - 1], WIDTH - 2):
                line("  " + part)


def error(fault: TasksealError, about: str | None = None, **more: Any) -> int:
    """Reports a fault of the caller's or the machine's, and gives its exit code.

    Args:
        fault: what was raised.
        about: the file that it concerns, when there are several.
        more: further members of the JSON object.

    Raises:
        OutputBroken: when that is the fault.
    """
    if isinstance(fault, OutputBroken):
        raise fault
    if wants_json():
        record({**error_json(fault), **({} if about is None else {"file": named(about)}), **more})
    else:
        complain(f"{about}: {fault}" if about is not None else str(fault), fault.hint)
    return fault.exit_code


def error_json(fault: TasksealError) -> dict[str, Any]:
    """The object that ``--json`` prints for a fault."""
    return {
        "error": fault.code,
        "detail": named(fault.detail),
        "pointer": None if fault.pointer is None else named(fault.pointer),
        "hint": named(fault.hint),
        "offset": fault.offset,
    }


def complain(text: str, hint: str | None = None) -> None:
    """One line of fault and one of cure on standard error."""
    _say(f"{styled('error:', 'bad', sys.stderr)} {shown(text)}\n")
    if hint:
        note(f"hint: {hint}")


def refusal(refused: Refused) -> int:
    """Reports that nothing was done because the receiver would refuse it; gives the exit code."""
    if wants_json():
        record({"error": refused.reason, **refused.to_json(), "hint": refused.hint})
    else:
        _say(f"{styled('refused:', 'bad', sys.stderr)} {shown(str(refused))}\n")
        note(f"hint: {refused.hint}")
    return exit_code(refused.reason)


def exit_code(reason: Reason) -> int:
    """The exit code of a verdict for ``reason``."""
    from taskseal.errors import REASONS

    return REASONS[reason].exit_code

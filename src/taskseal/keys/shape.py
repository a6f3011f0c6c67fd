"""Reading closed JSON objects of our own files, each fault with its pointer.

Source: RFC 6901 for the pointers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taskseal.canon.pointer import join
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.validity import DAY, SECOND, Instant, read_duration, read_instant

LONGEST_SPAN = 36_500 * DAY
"""Nanoseconds of the longest span that a file may name; with any date it fits into 64 bits."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How one file is read: where it came from, and the code that its faults bear."""

    source: str
    code: Reason

    def fault(self, pointer: str, detail: str, hint: str | None = None) -> MaterialError:
        """The error for ``detail`` at ``pointer``; the caller raises it."""
        return MaterialError(self.code, f"{self.source}: {detail}", pointer=pointer, hint=hint)

    def document(self, data: bytes) -> Any:
        """The JSON value of the whole file, strictly parsed."""
        try:
            return parse(data).value
        except InputError as error:
            raise MaterialError(
                self.code,
                f"{self.source}: {error.detail} ({error.code})",
                pointer=error.pointer,
                hint=error.hint,
                offset=error.offset,
            ) from None

    def toml(self, data: bytes) -> dict[str, Any]:
        """The table that a whole TOML file is."""
        import tomllib

        try:
            return tomllib.loads(data.decode())
        except RecursionError:
            raise self.fault("", "it is not TOML: too much is open at once") from None
        except ValueError as error:  # also for bytes beyond UTF-8 and for endless numbers
            raise self.fault("", f"it is not TOML: {error}") from None

    def members(
        self, value: object, pointer: str, required: Sequence[str], optional: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """``value`` as an object with all ``required`` members and none beyond ``optional``."""
        if not isinstance(value, Mapping):
            raise self.fault(pointer, "an object belongs here")
        known = (*required, *optional)
        for name in value:
            if name not in known:
                from difflib import get_close_matches

                close = get_close_matches(name, [k for k in known if k not in value], n=1)
                raise self.fault(
                    pointer + join([name]),
                    f"no member {name[:60]!a} belongs here",
                    f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}",
                )
        for name in required:
            if name not in value:
                raise self.fault(pointer + join([name]), f"the member {name} is missing")
        return value

    def text(self, value: object, pointer: str, longest: int, shortest: int = 1) -> str:
        """``value`` as a string of ``shortest`` to ``longest`` characters."""
        if type(value) is not str or not shortest <= len(value) <= longest:
            raise self.fault(pointer, f"a text of {shortest} to {longest} characters belongs here")
        return value

    def items(self, value: object, pointer: str, most: int | None = None) -> Sequence[Any]:
        """``value`` as an array of one to ``most`` items."""
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise self.fault(pointer, "an array of at least one item belongs here")
        if most is not None and len(value) > most:
            raise self.fault(pointer, f"at most {most} items belong here")
        return value

    def number(self, value: object, pointer: str, least: int, most: int) -> int:
        """``value`` as an integer from ``least`` to ``most``."""
        if type(value) is not int or not least <= value <= most:
            raise self.fault(pointer, f"an integer from {least} to {most} belongs here")
        return value

    def instant(self, value: object, pointer: str) -> Instant:
        """``value`` as an RFC 3339 instant."""
        found = read_instant(value)
        if found is None:
            raise self.fault(
                pointer, "an RFC 3339 time belongs here", "write it as 2026-09-01T08:35:00Z"
            )
        return found

    def constant(self, value: object, pointer: str, wanted: str) -> None:
        """Refuses any ``value`` but the text ``wanted``."""
        if value != wanted:
            raise self.fault(pointer, f"the text {wanted} belongs here")

    def flag(self, value: object, pointer: str) -> bool:
        """``value`` as true or false."""
        if type(value) is not bool:
            raise self.fault(pointer, "true or false belongs here")
        return value

    def span(self, value: object, pointer: str, least: int = 0) -> int:
        """``value`` as nanoseconds, ``least`` at least: text such as ``90s``, or whole seconds."""
        found = read_duration(f"{value}s" if type(value) is int else value)
        if found is None:
            raise self.fault(
                pointer, "a span belongs here", 'write it as "90s", "24h" or whole seconds'
            )
        if not least <= found <= LONGEST_SPAN:
            shortest, longest = -(-least // SECOND), LONGEST_SPAN // DAY
            raise self.fault(pointer, f"a span from {shortest}s to {longest}d belongs here")
        return found

    def one_of(self, value: object, pointer: str, known: Sequence[str]) -> str:
        """``value`` as one of the ``known`` texts."""
        if type(value) is not str or value not in known:
            from difflib import get_close_matches

            close = get_close_matches(value, known, n=1) if type(value) is str else []
            raise self.fault(
                pointer,
                f"{value[:60]!a} is not known here"
                if type(value) is str
                else "a name belongs here",
                f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}",
            )
        return value

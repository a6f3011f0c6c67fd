"""The errors of the house.

There are four roots. Three blame the caller, the operator or the machine and are raised:
:class:`InputError`, :class:`MaterialError`, :class:`Unavailable`. The fourth,
:class:`taskseal.Refused`, is the verdict on a message, value and exception in one.
Each carries ``code`` (a :class:`Reason`), ``hint`` and ``pointer``.

Source: SPEC section 7.
"""

from __future__ import annotations

from types import UnionType

from taskseal.reason import Reason
from taskseal.reason_table import REASONS, Entry

__all__ = [
    "REASONS",
    "Entry",
    "InputError",
    "MaterialError",
    "Reason",
    "TasksealError",
    "Unavailable",
    "expect",
]


class TasksealError(Exception):
    """What the three raised errors share: ``code``, ``hint``, ``pointer`` and a one-line text."""

    default_exit_code = 3

    def __init__(
        self,
        code: Reason,
        detail: str = "",
        *,
        pointer: str | None = None,
        hint: str | None = None,
        offset: int | None = None,
    ) -> None:
        self.code = code
        self.detail = detail or REASONS[code].text
        self.pointer = pointer
        self.hint = hint or REASONS[code].remedy
        self.offset = offset
        super().__init__(self.detail)

    @property
    def exit_code(self) -> int:
        """The process exit code that this error asks for (SPEC section 9)."""
        own = REASONS[self.code].exit_code
        return self.default_exit_code if own == 1 else own

    def __str__(self) -> str:
        where = "" if self.pointer is None else f" at {self.pointer or 'the top'}"
        byte = "" if self.offset is None else f" (byte {self.offset})"
        return f"{self.code}{where}{byte}: {self.detail}"


class InputError(TasksealError, ValueError):
    """What you gave to canonicalise, digest or sign is at fault."""

    default_exit_code = 3


class MaterialError(TasksealError):
    """Your keys, trust, profiles, configuration or a missing extra are at fault."""

    default_exit_code = 4


class Unavailable(TasksealError):
    """A signer or a ledger does not answer; nothing was done, and trying again may help."""

    default_exit_code = 5
    retryable = True


def expect(value: object, kind: type | UnionType, what: str, hint: str) -> None:
    """That a caller gave something of the right kind, where a slip is likely and is felt late.

    Raises:
        InputError: ``usage`` when ``value`` is not of ``kind``.
    """
    if not isinstance(value, kind):
        raise InputError(
            Reason.USAGE, f"{what} belongs here, not {type(value).__name__}", hint=hint
        )

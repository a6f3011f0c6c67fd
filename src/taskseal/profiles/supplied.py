"""Typed reads of what the receiver supplied: a wrong type there blames the receiver's own file.

Source: SPEC section 9 (``--context``); the members are those of ``samples/context.json``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any

from taskseal.canon.pointer import join
from taskseal.errors import MaterialError, Reason


def malformed(what: str, *tokens: str) -> MaterialError:
    """The error for the context member that ``tokens`` lead to: ``what`` it should have been."""
    return MaterialError(
        Reason.CONTEXT_MALFORMED, f"{tokens[-1]} is not {what}", pointer=join(tokens)
    )


def mapping(within: Mapping[str, Any], *tokens: str) -> Mapping[str, Any] | None:
    """The object that stands as the last of ``tokens`` in ``within``, or None when it is absent.

    Raises:
        MaterialError: ``context_malformed`` when it is anything else.
    """
    value = within.get(tokens[-1])
    if value is None or isinstance(value, Mapping):
        return value
    raise malformed("an object", *tokens)


def listing(within: Mapping[str, Any], *tokens: str) -> Collection[Any] | None:
    """The array (or set) that stands as the last of ``tokens``, or None when it is absent.

    Raises:
        MaterialError: ``context_malformed`` when it is anything else.
    """
    value = within.get(tokens[-1])
    if value is None or isinstance(value, list | tuple | set | frozenset):
        return value
    raise malformed("an array", *tokens)


def number(within: Mapping[str, Any], *tokens: str) -> int | float | None:
    """The finite number that stands as the last of ``tokens``, or None when it is absent.

    Raises:
        MaterialError: ``context_malformed`` when it is anything else; a bool is no number.
    """
    value = within.get(tokens[-1])
    if value is None or (type(value) is int) or (type(value) is float and isfinite(value)):
        return value
    raise malformed("a finite number", *tokens)

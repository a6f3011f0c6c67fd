"""JSON Pointers: the way every refusal names the place that it means.

Source: RFC 6901.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Final

from taskseal.errors import InputError, Reason


class _Missing(Enum):
    MISSING = "MISSING"


MISSING: Final = _Missing.MISSING
"""What :func:`resolve` gives when there is nothing at the place; distinct from a JSON null."""


def escape(token: str) -> str:
    """``token`` as it stands between two slashes: ``~`` is ``~0``, ``/`` is ``~1``."""
    if "~" in token or "/" in token:
        return token.replace("~", "~0").replace("/", "~1")
    return token


def join(tokens: Iterable[str | int]) -> str:
    """The pointer that goes through ``tokens``: member names and array indices, from the top.

    No tokens give ``""``, the whole document.
    """
    return "".join([f"/{escape(str(token))}" for token in tokens])


@lru_cache(maxsize=4096)
def split(pointer: str) -> tuple[str, ...]:
    """The tokens of ``pointer``, unescaped.

    Raises:
        InputError: ``usage`` when it neither is empty nor begins with ``/``, or when a ``~``
            is not followed by ``0`` or ``1``.
    """
    if pointer == "":
        return ()
    if pointer[0] != "/" or pointer.count("~") != pointer.count("~0") + pointer.count("~1"):
        raise InputError(
            Reason.USAGE,
            f"{pointer!r} is not a JSON Pointer",
            hint="write /name/0/name; a slash in a name is ~1, a tilde is ~0 (RFC 6901)",
        )
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def resolve(value: object, pointer: str, default: object = MISSING) -> object:
    """What stands at ``pointer`` in the JSON value ``value``, or ``default``.

    Array indices are canonical decimal; ``-`` names no element.

    Raises:
        InputError: ``usage`` when ``pointer`` is malformed.
    """
    steps = _steps(pointer)
    if len(steps) == 1 and type(value) is dict:
        return value.get(steps[0][0], default)  # nearly all that is ever asked
    here: object = value
    for token, index in steps:
        if isinstance(here, dict):
            here = here.get(token, MISSING)
        elif index is not None and isinstance(here, list) and index < len(here):
            here = here[index]
        else:
            return default
        if here is MISSING:
            return default
    return here


@lru_cache(maxsize=4096)
def _steps(pointer: str) -> tuple[tuple[str, int | None], ...]:
    """The tokens of ``pointer``, each with the array index that it is, if it is one."""
    return tuple((token, _index(token)) for token in split(pointer))


def _index(token: str) -> int | None:
    # Eighteen digits are more than any array has and few enough to convert at once.
    digits = token.isascii() and token.isdigit() and len(token) <= 18
    return int(token) if digits and (token == "0" or token[0] != "0") else None

"""What a custom profile must not mix up: the marks of other kinds, and its members' own roles.

What is signed bare says what it is by a mark inside alone. So a custom embedded profile carries
no mark of another kind, and nothing that gives a message its name or its time escapes the
signature or changes with a rotation.

Source: SPEC sections 4.7 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from taskseal.keys.shape import Shape
from taskseal.profiles.aisa import TYPES

_RESERVED = re.compile(r"(dharma\.|taskseal\.|agent\.external-runtime\.).*", re.DOTALL)


class Roles(NamedTuple):
    """The pointers of a custom profile by what they are for."""

    signature: str | None
    key_version: tuple[str, ...]
    replay: tuple[str, ...]
    scope: str | None
    issued: str | None
    expires: str | None
    discriminator: tuple[str, str] | None


def keep_apart(shape: Shape, roles: Roles) -> None:
    """Refuses roles that contradict each other, or that the signature does not cover.

    Raises:
        MaterialError: ``profile_malformed`` with the pointer of the role at fault.
    """
    mark = None if roles.discriminator is None else roles.discriminator[0]
    covered = (*roles.key_version, *roles.replay, roles.scope, roles.issued, roles.expires, mark)
    for pointer in covered:
        if roles.signature and pointer and (pointer + "/").startswith(roles.signature + "/"):
            raise shape.fault("/signature", f"{pointer} would not be signed")
    # What a rotation changes is no name for a message, and no mark of its kind.
    for pointer in (*roles.replay, mark):
        if pointer is not None and pointer in roles.key_version:
            raise shape.fault("/key_version", f"{pointer} has another role already")
    if roles.issued is not None and roles.issued == roles.expires:
        raise shape.fault("/expires", "it is the issue time's member")


def is_reserved(name: object) -> bool:
    """Whether ``name`` is what a built-in kind of document calls itself, or is no text at all."""
    return not isinstance(name, str) or _RESERVED.fullmatch(name) is not None


def foreign_mark(value: Mapping[str, Any], own: str | None) -> str | None:
    """The pointer of a mark by which ``value`` passes for another kind of document, or None.

    ``own`` is the pointer of the profile's own discriminator.
    """
    kind, receipt = value.get("type"), value.get("receipt")
    if own != "/schema" and "schema" in value and is_reserved(value["schema"]):
        return "/schema"
    if own != "/type" and isinstance(kind, str) and kind in TYPES:
        return "/type"
    if isinstance(receipt, dict) and is_reserved(receipt.get("schema", "")):
        return "/receipt/schema"
    return None


def unmarked(value: Any) -> bool:
    """Whether no discriminator could claim ``value`` for another kind."""
    return type(value) is dict and "schema" not in value and "type" not in value

"""A policy as one digest, so that an acceptance says by which rules it was given.

Source: SPEC sections 7 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.profiles.schema import Schema
from taskseal.verify.policy import Policy, ProfilePolicy


def policy_digest(policy: Policy) -> Digest:
    """SHA-256 of the canonical form of ``policy``: equal policies give equal digests.

    Its members stand under their own names, sets as sorted arrays, schemas as their documents.
    Whole numbers are decimal text, since spans in nanoseconds pass 2^53.

    Raises:
        InputError: ``unsupported_type`` with the pointer of a member that has no such form.
    """
    members = {
        each.name: _plain(getattr(policy, each.name), f"/{each.name}") for each in fields(policy)
    }
    return Digest.of(canonicalise(members))


def _plain(value: object, pointer: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Schema):
        return value.document
    if isinstance(value, ProfilePolicy):
        # What is left to the policy stands there already.
        own = {each.name: getattr(value, each.name) for each in fields(value)}
        return _plain({name: item for name, item in own.items() if item is not None}, pointer)
    if isinstance(value, Mapping):
        return {str(name): _plain(item, f"{pointer}/{name}") for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{pointer}/{index}") for index, item in enumerate(value)]
    if isinstance(value, set | frozenset):
        return sorted(str(item) for item in value)
    raise InputError(
        Reason.UNSUPPORTED_TYPE,
        f"a policy holds a {type(value).__name__}, which has no canonical form",
        pointer=pointer,
    )

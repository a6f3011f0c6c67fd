"""Reading ``taskseal.toml``: every member is known, and nothing in it is taken half.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from taskseal.config.config import Config
from taskseal.config.permissions import LONGEST_PATH, check_safe, read_safely
from taskseal.config.places import config_file
from taskseal.config.policy import read_policy
from taskseal.config.receiver import ReceiverPart, read_receiver
from taskseal.config.trust import TrustRule, read_trust
from taskseal.errors import InputError, Reason
from taskseal.keys.shape import Shape
from taskseal.profiles import BUILT_IN, Profile
from taskseal.profiles.custom import custom_profile
from taskseal.storage import read_file
from taskseal.verify import Policy

CONFIG_LIMIT = 1 << 20
"""Bytes of the largest configuration."""
SIDE_FILE_LIMIT = 1 << 24
"""Bytes of the largest profile or schema that it names."""


def load_config(path: str | os.PathLike[str] | None = None) -> Config:
    """The configuration in a file; all that it names is read, and no ledger or key is opened.

    Args:
        path: the file; TASKSEAL_CONFIG or the user's own otherwise, never one in the working
            directory that nobody named.

    Raises:
        MaterialError: ``config_malformed`` with the pointer of the first fault; ``config_unsafe``
            when others could write the file or what it names; ``trust_malformed``,
            ``trust_signature_bad``, ``profile_malformed``, ``keyset_rollback`` and the like for
            what it names.
        InputError: ``file_missing``, ``file_unreadable``, ``too_large``.
    """
    found = config_file(path)
    if found is None:
        raise InputError(
            Reason.FILE_MISSING,
            "there is no configuration",
            hint="make one with `taskseal init`, or name it with --config or TASKSEAL_CONFIG",
        )
    final = check_safe(found)
    shape = Shape(str(final), Reason.CONFIG_MALFORMED)
    return _read(shape.toml(read_file(final, CONFIG_LIMIT)), shape, final)


def _read(value: Mapping[str, Any], shape: Shape, path: Path) -> Config:
    top = shape.members(value, "", (), ("receiver", "trust", "policy", "profile"))
    folder = path.parent
    profiles = dict(BUILT_IN)
    if "profile" in top:
        profiles |= _read_profiles(top["profile"], shape, folder)
    policy = Policy()
    if "policy" in top:
        policy = read_policy(top["policy"], shape, profiles, partial(_side_file, folder))
    trust: tuple[TrustRule, ...] = ()
    if "trust" in top:
        trust = read_trust(
            top["trust"], shape, folder, profiles, allow_published_keys=policy.allow_published_keys
        )
    receiver = ReceiverPart()
    if "receiver" in top:
        receiver = read_receiver(top["receiver"], shape, folder)
    return Config(path, trust, policy, MappingProxyType(profiles), **receiver._asdict())


def _side_file(folder: Path, name: str) -> tuple[bytes, str]:
    path = folder / name
    return read_safely(path, SIDE_FILE_LIMIT), str(path)


def _schema_file(folder: Path, name: str) -> bytes:
    return _side_file(folder, name)[0]


def _read_profiles(value: object, shape: Shape, folder: Path) -> dict[str, Profile]:
    """The custom profiles by id; no two of them may claim the same documents."""
    if isinstance(value, Mapping):
        raise shape.fault("/profile", "an array of tables belongs here", "write [[profile]]")
    found: dict[str, Profile] = {}
    marks: dict[tuple[str, str] | None, str] = {}
    for index, item in enumerate(shape.items(value, "/profile")):
        at = f"/profile/{index}"
        given = shape.members(item, at, ("file",))
        name = shape.text(given["file"], f"{at}/file", LONGEST_PATH)
        data, source = _side_file(folder, name)
        beside = Path(source).parent
        kind = custom_profile(data, source=source, read_schema=partial(_schema_file, beside))
        if kind.id in found:
            raise shape.fault(f"{at}/file", f"another file describes {kind.id} already")
        other = marks.get(kind.discriminator) if kind.detect else None
        if other is not None:
            raise shape.fault(f"{at}/file", f"{kind.id} and {other} have the same discriminator")
        marks[kind.discriminator] = kind.id
        found[kind.id] = kind
    return found

"""The ``[receiver]`` table: who the receiver is, what it remembers, and what it answers with.

Source: SPEC sections 7 to 9.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from taskseal.config.permissions import LONGEST_PATH
from taskseal.errors import MaterialError
from taskseal.keys.shape import Shape
from taskseal.keys.version import MAX_KEY_VERSION
from taskseal.ledger.urls import read_ledger_url
from taskseal.profiles import AisaIdentity
from taskseal.validity import SECOND
from taskseal.verify import Identity

MAX_NAME = 500
"""Characters of the longest name of a receiver."""
_LARGEST_VERSION = (1 << 53) - 1
_NAMES = {
    "audience": "audience",
    "organization": "organisation",
    "workspace": "workspace",
    "device": "device",
}
_OTHERS = ("any", "aisa", "ledger", "keyring", "sign_with", "lease", "keep_acceptances")


class ReceiverPart(NamedTuple):
    """What the table says; None stands for what it does not say."""

    identity: Identity | None = None
    ledger: str | None = None
    keyring: Path | None = None
    sign_with: str | None = None
    lease: int | None = None
    keep_acceptances: int | None = None


def read_receiver(value: object, shape: Shape, folder: Path) -> ReceiverPart:
    """The receiver that the table describes.

    Args:
        value: what stands under ``receiver``.
        shape: how the file is read.
        folder: what paths are relative to.

    Raises:
        MaterialError: ``config_malformed`` with the pointer of the first fault.
    """
    given = shape.members(value, "/receiver", (), (*_NAMES, *_OTHERS))
    keyring, version = given.get("keyring"), given.get("sign_with")
    if keyring is not None:
        keyring = folder / shape.text(keyring, "/receiver/keyring", LONGEST_PATH)
    if version is not None:
        shape.text(version, "/receiver/sign_with", MAX_KEY_VERSION)
    lease, keep = given.get("lease"), given.get("keep_acceptances")
    if lease is not None:
        lease = shape.span(lease, "/receiver/lease", SECOND)
    if keep is not None:
        keep = shape.span(keep, "/receiver/keep_acceptances")
        if version is None:
            raise shape.fault(
                "/receiver/keep_acceptances",
                "without sign_with no acceptance is made, so that none is kept",
                'name the key that signs them, as in sign_with = "receiver/1"',
            )
    ledger = given.get("ledger")
    if ledger is not None:
        ledger = _ledger(ledger, shape, folder)
    return ReceiverPart(_identity(given, shape), ledger, keyring, version, lease, keep)


def _identity(given: Any, shape: Shape) -> Identity | None:
    named = {
        member: shape.text(given[name], f"/receiver/{name}", MAX_NAME)
        for name, member in _NAMES.items()
        if name in given
    }
    aisa = _aisa(given["aisa"], shape) if "aisa" in given else None
    anyone = shape.flag(given.get("any", False), "/receiver/any")
    if anyone and named:
        raise shape.fault(
            "/receiver/any",
            "any compares nothing, and a name beside it would not be compared",
            "leave it away: a member that is not named is not compared",
        )
    found = Identity(**named, aisa=aisa, any=anyone)
    return found if found.stated else None


def _aisa(value: object, shape: Shape) -> AisaIdentity:
    at = "/receiver/aisa"
    texts = ("task_id", "profile_key", "task_path")
    given = shape.members(value, at, (*texts, "profile_version"), ("runtime_version",))
    runtime = given.get("runtime_version")
    if runtime is not None:
        shape.text(runtime, f"{at}/runtime_version", MAX_NAME)
    version = shape.number(given["profile_version"], f"{at}/profile_version", 1, _LARGEST_VERSION)
    named = {name: shape.text(given[name], f"{at}/{name}", MAX_NAME) for name in texts}
    return AisaIdentity(**named, profile_version=version, runtime_version=runtime)


def _ledger(value: object, shape: Shape, folder: Path) -> str:
    """The ledger's URL, its path made relative to nothing."""
    at = "/receiver/ledger"
    try:
        place = read_ledger_url(shape.text(value, at, LONGEST_PATH))
        if place.scheme == "memory":
            return str(value)
        query = str(value).partition("?")[1:]
        url = "".join((f"sqlite:{folder / place.path}", *query))
        if read_ledger_url(url).max_records != place.max_records:
            raise shape.fault(at, "the folder's name holds a question mark")
    except MaterialError as fault:
        raise shape.fault(at, fault.detail, fault.hint) from None
    return url

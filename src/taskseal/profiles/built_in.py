"""The profiles that are there without a file of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from taskseal.errors import InputError, Reason, expect
from taskseal.profiles.a2a import AGENT_CARD
from taskseal.profiles.acceptance import ACCEPTANCE
from taskseal.profiles.aisa import AISA_MESSAGE
from taskseal.profiles.base import Profile
from taskseal.profiles.dharma import DHARMA_TASK
from taskseal.profiles.dharma_action import DHARMA_TASK_ACTION
from taskseal.profiles.dharma_receipt import DHARMA_ACTION_DECISION
from taskseal.profiles.orbiplex import ORBIPLEX_TURN_REQUEST

BUILT_IN: Mapping[str, Profile] = MappingProxyType(
    {
        profile.id: profile
        for profile in (
            DHARMA_TASK,
            AISA_MESSAGE,
            ORBIPLEX_TURN_REQUEST,
            DHARMA_ACTION_DECISION,
            DHARMA_TASK_ACTION,
            ACCEPTANCE,
            AGENT_CARD,
        )
    }
)
"""The built-in profiles by id."""


def named_profile(name: str | Profile | None, profiles: Mapping[str, Profile]) -> Profile | None:
    """The profile that ``name`` means: itself, or the one of that id; None stays None.

    Raises:
        InputError: ``usage`` when no profile at hand has that id.
    """
    if name is None or isinstance(name, Profile):
        return name
    expect(name, str, "a profile", "give a Profile, or the id of one")
    found = profiles.get(name)
    if found is None:
        known = ", ".join(sorted(profiles))
        raise InputError(Reason.USAGE, f"no profile {name!r}", hint=f"known: {known}")
    return found

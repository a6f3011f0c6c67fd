"""What each envelope means: the built-in profiles, and the words that a profile is made of."""

from taskseal.profiles.a2a import AGENT_CARD
from taskseal.profiles.acceptance import ACCEPTANCE
from taskseal.profiles.aisa import AISA_MESSAGE
from taskseal.profiles.base import AisaIdentity, Binding, Check, Context, Facts, Profile
from taskseal.profiles.built_in import BUILT_IN, named_profile
from taskseal.profiles.dharma import DHARMA_TASK
from taskseal.profiles.dharma_acknowledgement import (
    Acknowledgement,
    acknowledge,
    check_acknowledgement,
)
from taskseal.profiles.dharma_action import DHARMA_TASK_ACTION, action_digest, task_action
from taskseal.profiles.dharma_receipt import DHARMA_ACTION_DECISION
from taskseal.profiles.orbiplex import ORBIPLEX_TURN_REQUEST

__all__ = [
    "ACCEPTANCE",
    "AGENT_CARD",
    "AISA_MESSAGE",
    "BUILT_IN",
    "DHARMA_ACTION_DECISION",
    "DHARMA_TASK",
    "DHARMA_TASK_ACTION",
    "ORBIPLEX_TURN_REQUEST",
    "Acknowledgement",
    "AisaIdentity",
    "Binding",
    "Check",
    "Context",
    "Facts",
    "Profile",
    "acknowledge",
    "action_digest",
    "check_acknowledgement",
    "named_profile",
    "task_action",
]

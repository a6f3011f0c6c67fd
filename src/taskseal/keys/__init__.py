"""Public halves, lifecycle and trust; the keyring is the only door to secrets."""

from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.entry import BARE_PROFILES, KeyEntry
from taskseal.keys.pins import Pins
from taskseal.keys.screening import is_published
from taskseal.keys.trust import Trust, load_trust_file
from taskseal.keys.version import KeyVersion, check_new_key_version, readable_key_version

__all__ = [
    "BARE_PROFILES",
    "Algorithm",
    "DharmaKeyset",
    "KeyEntry",
    "KeyVersion",
    "Pins",
    "PublicKey",
    "Trust",
    "check_new_key_version",
    "is_published",
    "load_trust_file",
    "readable_key_version",
]

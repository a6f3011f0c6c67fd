"""taskseal: signing and canonicalisation for agent systems.

Sign a task before handoff, verify tasks and receipts at the receiver, rotate keys without
losing a message. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taskseal.acceptance import verify_acceptance
    from taskseal.canon.digest import Digest
    from taskseal.canon.jcs import canonicalise, recanonicalise
    from taskseal.config import Config, load_config
    from taskseal.errors import (
        REASONS,
        InputError,
        MaterialError,
        Reason,
        TasksealError,
        Unavailable,
    )
    from taskseal.keys.keyring import Keyring
    from taskseal.keys.pins import Pins
    from taskseal.keys.trust import Trust, load_trust_file
    from taskseal.keys.trust_store import TrustStore
    from taskseal.ledger import Decision, Ledger, open_ledger
    from taskseal.profiles import BUILT_IN, AisaIdentity, Profile
    from taskseal.profiles.custom import custom_profile
    from taskseal.receiver import Duplicate, InDoubt, Job, Outcome, Receiver
    from taskseal.signers import KeySigner, Signer
    from taskseal.signing import Signed, sign
    from taskseal.verify import Accepted, Identity, Policy, ProfilePolicy, Refused, Verifier
    from taskseal.verify.revocation import Evidence

__version__ = "0.1.0"

_HOMES = {
    "verify_acceptance": "acceptance",
    "canonicalise": "canon.jcs",
    "recanonicalise": "canon.jcs",
    "Digest": "canon.digest",
    "Config": "config",
    "load_config": "config",
    "InputError": "errors",
    "MaterialError": "errors",
    "REASONS": "errors",
    "Reason": "errors",
    "TasksealError": "errors",
    "Unavailable": "errors",
    "Keyring": "keys.keyring",
    "Pins": "keys.pins",
    "Trust": "keys.trust",
    "TrustStore": "keys.trust_store",
    "Evidence": "verify.revocation",
    "load_trust_file": "keys.trust",
    "Decision": "ledger",
    "Ledger": "ledger",
    "open_ledger": "ledger",
    "AisaIdentity": "profiles",
    "BUILT_IN": "profiles",
    "Profile": "profiles",
    "custom_profile": "profiles.custom",
    "Duplicate": "receiver",
    "InDoubt": "receiver",
    "Job": "receiver",
    "Outcome": "receiver",
    "Receiver": "receiver",
    "Signed": "signing",
    "sign": "signing",
    "KeySigner": "signers",
    "Signer": "signers",
    "Accepted": "verify",
    "Identity": "verify",
    "Policy": "verify",
    "ProfilePolicy": "verify",
    "Refused": "verify",
    "Verifier": "verify",
}

__all__ = [
    "BUILT_IN",
    "REASONS",
    "Accepted",
    "AisaIdentity",
    "Config",
    "Decision",
    "Digest",
    "Duplicate",
    "Evidence",
    "Identity",
    "InDoubt",
    "InputError",
    "Job",
    "KeySigner",
    "Keyring",
    "Ledger",
    "MaterialError",
    "Outcome",
    "Pins",
    "Policy",
    "Profile",
    "ProfilePolicy",
    "Reason",
    "Receiver",
    "Refused",
    "Signed",
    "Signer",
    "TasksealError",
    "Trust",
    "TrustStore",
    "Unavailable",
    "Verifier",
    "__version__",
    "canonicalise",
    "custom_profile",
    "load_config",
    "load_trust_file",
    "open_ledger",
    "recanonicalise",
    "sign",
    "verify_acceptance",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

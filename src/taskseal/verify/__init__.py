"""Verification: pure, repeatable, a verdict as a value."""

from taskseal.verify.policy import Identity, Policy, ProfilePolicy
from taskseal.verify.result import Accepted, Refused, SignerInfo
from taskseal.verify.revocation import Evidence
from taskseal.verify.verifier import Verifier

__all__ = [
    "Accepted",
    "Evidence",
    "Identity",
    "Policy",
    "ProfilePolicy",
    "Refused",
    "SignerInfo",
    "Verifier",
]

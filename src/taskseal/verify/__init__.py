"""Verification: pure, repeatable, a verdict as a value."""

from taskseal.verify.policy import Identity, Policy
from taskseal.verify.result import Accepted, Refused, SignerInfo
from taskseal.verify.verifier import Verifier

__all__ = ["Accepted", "Identity", "Policy", "Refused", "SignerInfo", "Verifier"]

"""What a receiver hands back: a signed account of what it accepted, and the proof of the pair."""

from taskseal.acceptance.pair import verify_acceptance
from taskseal.acceptance.policy_digest import policy_digest
from taskseal.acceptance.statement import AcceptanceSigner, Account, artefacts_of, outcome_of

__all__ = [
    "AcceptanceSigner",
    "Account",
    "artefacts_of",
    "outcome_of",
    "policy_digest",
    "verify_acceptance",
]

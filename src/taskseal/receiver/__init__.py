"""The receiver: a verifier with a memory. Each message is accepted once.

Source: SPEC sections 7 and 8.
"""

from taskseal.receiver.job import Job
from taskseal.receiver.outcome import Duplicate, InDoubt, Outcome
from taskseal.receiver.receiver import KEEP_ACCEPTANCES, LEASE, Receiver

__all__ = [
    "KEEP_ACCEPTANCES",
    "LEASE",
    "Duplicate",
    "InDoubt",
    "Job",
    "Outcome",
    "Receiver",
]

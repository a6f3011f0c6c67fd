"""Who holds the private key."""

from taskseal.signers.base import Signer
from taskseal.signers.file import KeySigner, signer_from_seed

__all__ = ["KeySigner", "Signer", "signer_from_seed"]

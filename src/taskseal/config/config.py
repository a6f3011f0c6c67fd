"""A configuration as a value, and what is made of it.

Source: SPEC section 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taskseal.config.places import keyring_folder, open_ledger_at
from taskseal.config.trust import TrustRule
from taskseal.keys.trust import Trust
from taskseal.ledger import Ledger
from taskseal.profiles import Profile
from taskseal.validity import Clock, Instant, system_clock
from taskseal.verify import Identity, Policy, Verifier

if TYPE_CHECKING:
    from taskseal.keys.keyring import Unlock
    from taskseal.signers.base import Signer


@dataclass(frozen=True, slots=True)
class Config:
    """What one ``taskseal.toml`` says; get one by :func:`load_config`.

    ``path`` is the file with links followed, to whose folder paths in it are relative.
    ``profiles`` are the built-in ones and the file's own, by id. ``ledger`` is a URL.
    ``sign_with`` names the key in ``keyring`` that signs acceptances. ``lease`` and
    ``keep_acceptances`` are nanoseconds. None stands for what the file does not say.
    """

    path: Path
    trust: tuple[TrustRule, ...]
    policy: Policy
    profiles: Mapping[str, Profile]
    identity: Identity | None = None
    ledger: str | None = None
    keyring: Path | None = None
    sign_with: str | None = None
    lease: int | None = None
    keep_acceptances: int | None = None

    def verifier(self, *, clock: Clock = system_clock) -> Verifier:
        """A verifier with this trust, policy, identity and these profiles.

        Raises:
            MaterialError: ``trust_missing`` when the file trusts nobody, ``trust_conflict``, and
                what a trust store raises, such as ``keyset_rollback``.
            InputError: when a trust store cannot be read.
        """
        return Verifier(
            Trust.of(*(rule.source for rule in self.trust)),
            self.policy,
            identity=self.identity,
            profiles=self.profiles,
            clock=clock,
        )

    def open_ledger(self) -> Ledger:
        """The ledger that the file names; else TASKSEAL_LEDGER, else in the user state directory.

        Raises:
            MaterialError: ``usage`` for the variable.
            Unavailable: ``ledger_unavailable``.
        """
        return open_ledger_at(self.ledger)

    def signer(self, at: Instant, passphrase: Unlock = None) -> Signer | None:
        """The key that signs acceptances, or None when the file names none.

        Args:
            at: the instant at which it must be able to sign, in nanoseconds since 1970.
            passphrase: what unlocks it, or gives that when it is needed.

        Raises:
            MaterialError: there is no such key, it may not sign acceptances, or stays locked.
        """
        if self.sign_with is None:
            return None
        from taskseal.keys.keyring import Keyring
        from taskseal.profiles import ACCEPTANCE

        ring = Keyring.open(keyring_folder(self.keyring), passphrase=passphrase)
        return ring.signer(ACCEPTANCE.id, key_version=self.sign_with, at=at)

"""A sender, a receiver and a clock that the test sets: what the tests of receiving share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import finalize

from support import NOW, embed, instant, key_entry, pins_of

from taskseal.canon.digest import Digest
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.ledger import Ledger, open_ledger
from taskseal.profiles import ACCEPTANCE, Profile
from taskseal.profiles.custom import custom_profile
from taskseal.receiver import Job, Receiver
from taskseal.validity import HOUR, MINUTE, SECOND, write_instant
from taskseal.verify import Identity, Policy, Verifier

T0 = instant(NOW)
PLAN, DATA = b"# The plan\n", b"rows\n"

JOB: Profile = custom_profile(
    b"""
id = "acme.job/v1"
discriminator = { pointer = "/kind", constant = "acme.job" }
signature = "/proof"
key_version = "/signedBy"
replay_ids = ["/jobId", "/nonce"]
scope = "/customer"
issued = "/issuedAt"
expires = "/expiresAt"
digests = [
  { pointer = "/plan", codec = "sha256:hex", material = "plan" },
  { pointer = "/data", codec = "hex", material = "data" },
]
""",
    source="job.toml",
)
"""Signed inside, two replay ids, two artefacts."""

NOTE: Profile = custom_profile(
    b"""
id = "acme.note/v1"
discriminator = { pointer = "/kind", constant = "acme.note" }
detached = true
replay_ids = ["/noteId"]
""",
    source="note.toml",
)
"""Signed outside, without times of its own."""

PROFILES = {each.id: each for each in (JOB, NOTE, ACCEPTANCE)}


def signer_for(*profiles: str, version: str = "test/1", seed: int = 0, **members: Any) -> KeySigner:
    """A signer for custom profiles; the same ``seed`` gives the same key, 0 a fresh one."""
    key = PrivateKey(bytes([seed]) * 32) if seed else PrivateKey.generate()
    return KeySigner(key_entry(key.public, version, profiles=profiles, **members), key)


def job(name: str = "1", **members: Any) -> dict[str, Any]:
    """A job that is issued at ``NOW`` and lives for a quarter of an hour."""
    return {
        "kind": "acme.job",
        "jobId": f"job-{name}",
        "nonce": f"nonce-{name}",
        "customer": "c-1",
        "signedBy": "test/1",
        "issuedAt": NOW,
        "expiresAt": write_instant(T0 + 15 * MINUTE),
        "plan": Digest.of(PLAN).text("sha256:hex"),
        "data": Digest.of(DATA).text("hex"),
    } | members


class Post:
    """A sender, a receiver, and a clock in nanoseconds that the test sets."""

    def __init__(
        self,
        ledger: str | Ledger = "memory:",
        *,
        signing: bool = True,
        trusted: Iterable[KeySigner] = (),
        policy: Policy | None = None,
        **options: Any,
    ) -> None:
        self.now = T0
        self.sender = signer_for(JOB.id, NOTE.id)
        self.key = signer_for(ACCEPTANCE.id, version="receiver/1", issuer="worker")
        if isinstance(ledger, str):
            ledger = open_ledger(ledger)
            finalize(self, ledger.close)
        self.ledger = ledger
        self.verifier = Verifier(
            pins_of(self.sender, *trusted), policy, profiles=PROFILES, clock=self.clock
        )
        identity = options.pop("identity", Identity(audience="me"))
        self.receiver = Receiver(
            self.verifier,
            self.ledger,
            identity,
            signer=self.key if signing else None,
            clock=self.clock,
            **options,
        )

    def clock(self) -> int:
        """The present, as the test set it."""
        return self.now

    def wait(self, span: int) -> None:
        """Lets ``span`` nanoseconds pass."""
        self.now += span

    def blob(self, name: str = "1", **members: Any) -> bytes:
        """A signed job."""
        return embed(job(name, **members), self.sender, "proof")

    def take(self, name: str = "1", **members: Any) -> Job:
        """A job that must come out of the receiver."""
        found = self.receiver.receive(self.blob(name, **members), artefacts=self.artefacts())
        assert isinstance(found, Job), found
        return found

    def artefacts(self) -> dict[str, Any]:
        """What a job binds."""
        return {"plan": PLAN, "data": DATA}

    def requester(self) -> Verifier:
        """Who trusts the receiver's key."""
        return Verifier(pins_of(self.key), profiles=PROFILES, clock=self.clock)


__all__ = [
    "DATA",
    "HOUR",
    "JOB",
    "MINUTE",
    "NOTE",
    "PLAN",
    "PROFILES",
    "SECOND",
    "T0",
    "Post",
    "job",
    "signer_for",
]

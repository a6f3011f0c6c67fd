"""What a process does over and over until it is killed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

from taskseal.keys.keyring import Keyring
from taskseal.keys.keyset import Keyset, SignedKeyset
from taskseal.keys.keyset_draft import Plan, propose, seal
from taskseal.keys.pin import Pin
from taskseal.keys.private import PrivateKey
from taskseal.keys.rotation import Wish
from taskseal.keys.succession import Offer, read_offer
from taskseal.keys.trust_store import TrustStore
from taskseal.validity import DAY, SECOND, read_instant

TASK, KEYSET = "dharma.task/v1", "taskseal.keyset/v1"
NOW = read_instant("2026-09-01T08:35:00Z") or 0


def next_keyset(ring: Keyring, current: Keyset | None, now: int) -> SignedKeyset:
    """The keyset that follows ``current``, signed by all that the keyring holds."""
    drafted = propose(ring.issuer, ring.entries(), current, now, Plan(lifetime=30 * DAY))
    return seal(
        SignedKeyset.unsigned(drafted),
        ring.entries(),
        now,
        older=current,
        holder=lambda entry, purpose: ring.holder(entry.key_version),
    )


def offers(ring: Keyring, length: int) -> list[bytes]:
    """A line of signed keysets."""
    found: list[bytes] = []
    current: Keyset | None = None
    for number in range(length):
        signed = next_keyset(ring, current, NOW + number * SECOND)
        found.append(signed.to_json())
        current = signed.keyset
    return found


def work(path: str, line: list[bytes], ready: Connection) -> None:
    """Changes a keyring and a trust store without end."""
    ring = Keyring.open(Path(path) / "ring")
    store = TrustStore(Path(path) / "trust", mark=Path(path) / "mark")
    following = _after(store, line)
    PrivateKey.generate().sign(b"")  # what is imported late is here from now on
    ready.send(True)
    for number in count():
        lineage = f"k{number % 3}/"
        newest = [e for e in ring.entries() if e.key_version.startswith(lineage)][-1]
        ring.rotate(newest.key_version, at=NOW, wish=Wish(0, 0), allow_plain=True)
        if number % 4 == 3:
            ring.revoke(newest.key_version, at=NOW)
        offer = next(following, None)
        if offer is not None:
            store.update([offer], NOW + DAY)


def _after(store: TrustStore, line: list[bytes]) -> Iterator[Offer]:
    """The keysets that the store does not know."""
    known = store.state().issuers["local"].highest
    for data in line:
        offer = read_offer(data, "offer")
        if offer.generation > known:
            yield offer


def begin(path: Path) -> list[bytes]:
    """Makes a keyring and a trust store in ``path``; the keysets that the store is to follow."""
    ring = Keyring.create(path / "ring")
    for version, profile in (("root/1", KEYSET), *((f"k{n}/1", TASK) for n in range(3))):
        ring.new(version, [profile], not_before=NOW - DAY, allow_plain=True)
    line = offers(ring, 60)
    store = TrustStore(path / "trust", mark=path / "mark")
    first = read_offer(line[0], "offer")
    root = ring.show("root/1").key
    assert root is not None
    store.add(first, [Pin("root/1", root.thumbprint)], NOW + DAY)
    return line

"""Writes the example keys again, byte for byte: their seeds are no secret.

    python keys-example/make.py

Every seed is the SHA-256 of the text in ``SEED`` followed by the key's name.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from taskseal.keys.entry import KeyEntry
from taskseal.keys.formats import write_private_key
from taskseal.keys.pins import Pins
from taskseal.keys.private import PrivateKey
from taskseal.validity import to_instant

SEED = "taskseal example key, public on purpose: "
HERE = Path(__file__).resolve().parent

PINNED = {
    "tasks": ("example/tasks/1", ("dharma.task/v1",)),
    "messages": ("example/messages/1", ("aisa.message/v1", "orbiplex.turn-request/v1")),
    "decisions": ("example/decisions/1", ("dharma.action-decision-receipt/v1",)),
}
"""File name → key version and profiles of the keys in ``pins.json``."""
UNPINNED = ("stranger",)
"""Keys that no example trusts."""


def key(name: str) -> PrivateKey:
    """The example key of that name."""
    return PrivateKey(sha256((SEED + name).encode()).digest())


def files() -> dict[str, bytes]:
    """File name → content of everything that is made here."""
    made = {f"{name}.pem": write_private_key(key(name), "pem") for name in (*PINNED, *UNPINNED)}
    entries = [
        KeyEntry(
            issuer="example",
            key_version=version,
            key=key(name).public,
            not_before=to_instant("2026-01-01T00:00:00Z"),
            sign_from=to_instant("2026-01-01T00:00:00Z"),
            sign_until=to_instant("2036-01-01T00:00:00Z"),
            accept_until=to_instant("2036-02-01T00:00:00Z"),
            profiles=frozenset(profiles),
        )
        for name, (version, profiles) in PINNED.items()
    ]
    return {**made, "pins.json": Pins.of(entries).to_json()}


if __name__ == "__main__":
    for name, content in files().items():
        (HERE / name).write_bytes(content)

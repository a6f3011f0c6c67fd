"""A folder with a configuration in it, and what the configuration names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import VECTORS, load, new_signer, pins_of

from taskseal.config import Config, load_config
from taskseal.errors import InputError, MaterialError
from taskseal.keys.private import KeySigner

TASK_AT = "2026-08-17T20:00:00Z"
"""The instant at which the task below is fresh."""
TASK, AISA = "dharma.task/v1", "aisa.message/v1"
SENDER: KeySigner = new_signer("tasks/1", profiles=[TASK, AISA], at=TASK_AT, issuer="desk")
OTHER: KeySigner = new_signer("tasks/2", profiles=[TASK], at=TASK_AT, issuer="desk")


class Desk:
    """The folder ``path`` with ``pins.json``, ``ceiling.json`` and whatever a test adds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700)
        self.file = path / "taskseal.toml"
        self.write("pins.json", pins_of(SENDER, OTHER).to_json())
        self.write("ceiling.json", CEILING)

    def write(self, name: str, content: bytes | str | dict[str, Any]) -> Path:
        """A file that only its owner may write."""
        if isinstance(content, dict):
            content = json.dumps(content)
        path = self.path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o644)
        return path

    def load(self, text: str | bytes) -> Config:
        """The configuration that ``text`` is."""
        self.write("taskseal.toml", text)
        return load_config(self.file)

    def fault(self, text: str | bytes) -> MaterialError:
        """Why ``text`` is no configuration."""
        try:
            found = self.load(text)
        except MaterialError as fault:
            return fault
        raise AssertionError(found)

    def absence(self, text: str) -> InputError:
        """What the configuration names and is not there."""
        try:
            found = self.load(text)
        except InputError as fault:
            return fault
        raise AssertionError(found)


CEILING: dict[str, Any] = {
    "properties": {
        "authority": {
            "properties": {
                "network": {"const": "deny"},
                "writePaths": {"items": {"pattern": "^out/"}},
            }
        },
        "execution": {"properties": {"timeoutSeconds": {"maximum": 600}}},
        "budget": {"properties": {"maximumDharmaCostCents": {"maximum": 500}}},
    }
}
"""What a receiver lets a Dharma task ask for."""


def task(**members: Any) -> dict[str, Any]:
    """A Dharma task, unsigned; members of its parts are given as ``authority={…}``."""
    vectors = load(VECTORS / "dharma" / "task-envelopes.json")["vectors"]
    (found,) = [v["input"] for v in vectors if v["name"] == "task-external-request-minimal"]
    document = {name: item for name, item in found.items() if name != "signature"}
    for name, item in members.items():
        document[name] = document[name] | item if isinstance(item, dict) else item
    return document | {"signerKeyVersion": "tasks/1"}

"""One document a form, what is known beside it, and what `sign` makes of it."""

from __future__ import annotations

import json
from typing import Any

from support import NOW, SAMPLES, pins_of, sample_artefacts, sample_context

from taskseal.keys.private import KeySigner
from taskseal.signing import FORMATS, sign
from taskseal.verify import Identity, Policy, Verifier
from taskseal.verify.policy import FORMS
from taskseal.wire.forms import FORMATS as BY_FORMAT

KNOWN: dict[str, Any] = {
    "artefacts": sample_artefacts(),
    "context": sample_context(),
    "at": NOW,
}
OUTER = {
    "aisa": (SAMPLES / "aisa/consult.json").read_bytes(),
    "finding": (SAMPLES / "aisa/finding.json").read_bytes(),
    "orbiplex": (SAMPLES / "orbiplex/start.json").read_bytes(),
}
CARD: dict[str, Any] = {
    "name": "Größe 🎈",
    "description": "",
    "version": "1.0",
    "supportedInterfaces": [
        {
            "url": "https://a.example",
            "protocolBinding": "JSONRPC",
            "tenant": "",
            "protocolVersion": "1.0",
        }
    ],
    "capabilities": {"streaming": False, "extensions": []},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "s", "name": "n", "description": "d", "tags": ["t"], "examples": []}],
}
DOCUMENTS = {
    name: OUTER["orbiplex"] if name == "ed25519+domain-v1" else OUTER["aisa"] for name in FORMATS
} | {"a2a": json.dumps(CARD).encode()}
"""What each format signs here."""
PROFILES = {
    name: "orbiplex.turn-request/v1" if name == "ed25519+domain-v1" else "aisa.message/v1"
    for name in FORMATS
} | {"a2a": "a2a.agent-card/v1"}
BESIDE = frozenset(name for name, form in BY_FORMAT.items() if form.place == "beside")


def signed(format: str, signer: KeySigner, **how: Any) -> bytes:
    """The document of ``format``, signed in it."""
    return sign(DOCUMENTS[format], signer, format=format, **(KNOWN | how)).blob


def verifier(*signers: KeySigner, threshold: int = 1, identity: Identity | None = None) -> Verifier:
    """A receiver that trusts ``signers`` and takes every form."""
    policy = Policy(allow_forms=frozenset(FORMS), threshold=threshold)
    return Verifier(pins_of(*signers), policy, identity=identity)

"""Writes the test vectors of this folder: one file a form, the same each time.

The keys are those of RFC 8037 appendix A and RFC 7515 appendix A.3. Everyone has their private
halves, so that taskseal refuses them unless it is told to allow published keys.

    python docs/test-vectors/make.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.entry import KeyEntry
from taskseal.keys.private import PrivateKey
from taskseal.profiles.a2a import covered
from taskseal.signers import KeySigner, signer_from_seed
from taskseal.signing import sign
from taskseal.verify import Policy
from taskseal.wire.embedded import without
from taskseal.wire.forms import FORMATS

FOLDER = Path(__file__).resolve().parent
SAMPLES = FOLDER.parents[1] / "tests" / "vectors" / "samples"
AT = "2026-09-01T08:35:00Z"
ISSUER = "example"
PROFILES = (
    "dharma.task/v1",
    "aisa.message/v1",
    "orbiplex.turn-request/v1",
    "a2a.agent-card/v1",
)
SECRETS = {
    Algorithm.ED25519: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    Algorithm.P256: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
}
VERSIONS = {Algorithm.ED25519: "rfc8037/1", Algorithm.P256: "rfc7515/1"}

TASK: dict[str, Any] = {
    "schema": "dharma.task/v1",
    "taskId": "5f0c8d1e-7a40-4c6e-9f0b-2d6f3c1b9a55",
    "organizationId": "org_example",
    "workspaceId": "ws_1",
    "taskType": "external_request",
    "target": {"deviceId": "dev_1", "provider": "codex"},
    "skillBundle": None,
    "instructions": "Compare the rows — ą.",
    "requiredSkills": [],
    "authority": {
        "readPaths": ["src"],
        "writePaths": [],
        "commands": [{"commandId": "verify"}],
        "network": "deny",
        "git": "task_branch",
    },
    "execution": {
        "isolation": "git_worktree",
        "timeoutSeconds": 600,
        "leaseSeconds": 900,
        "maximumConcurrentAgents": 1,
    },
    "acceptance": {"commands": [{"commandId": "verify"}], "requiredArtifacts": []},
    "budget": {"mode": "byok_local", "maximumDharmaCostCents": 0},
    "createdAt": AT,
    "expiresAt": "2026-09-01T08:50:00Z",
    "nonce": "a-nonce-that-never-changes",
    "signerKeyVersion": VERSIONS[Algorithm.ED25519],
}
CARD: dict[str, Any] = {
    "name": "Größe",
    "description": "",
    "version": "1.0",
    "supportedInterfaces": [
        {
            "url": "https://agent.example/a2a",
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


class Recorder:
    """A signer that keeps what it signed."""

    def __init__(self, signer: KeySigner) -> None:
        self.signer = signer
        self.message = self.signature = b""

    @property
    def entry(self) -> KeyEntry:
        return self.signer.entry

    def sign(self, message: bytes) -> bytes:
        self.message, self.signature = message, self.signer.sign(message)
        return self.signature


def signer_of(algorithm: Algorithm) -> KeySigner:
    """The published key of that algorithm, for every profile here."""
    secret = b64url_decode(SECRETS[algorithm])
    assert secret is not None
    made = signer_from_seed(secret, VERSIONS[algorithm], PROFILES, issuer=ISSUER)
    if algorithm is Algorithm.ED25519:
        return made
    key, was = PrivateKey(secret, algorithm), made.entry
    return KeySigner(replace(was, key=key.public), key)


def document_of(format: str) -> dict[str, Any]:
    """What a format signs here."""
    if format == "embedded":
        return TASK
    if format == "a2a":
        return CARD
    path = "orbiplex/start.json" if format == "ed25519+domain-v1" else "aisa/consult.json"
    document: dict[str, Any] = json.loads((SAMPLES / path).read_bytes())
    return document


def vectors() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each vector by its name."""
    for format, form in FORMATS.items():
        for algorithm in SECRETS:
            takes = form.algorithms is None or algorithm.value in form.algorithms
            if takes and (form.name != "embedded" or algorithm is Algorithm.ED25519):
                end = "" if algorithm is Algorithm.ED25519 else ".es256"
                yield f"{format}{end}", vector(format, algorithm)


def vector(format: str, algorithm: Algorithm) -> dict[str, Any]:
    """One document under one signature in one form."""
    document = document_of(format)
    signer = Recorder(signer_of(algorithm))
    signed = sign(
        document,
        signer,
        format=format,
        policy=Policy(allow_published_keys=True),
        fill=False,
        at=AT,
    )
    entry, form = signer.entry, FORMATS[format]
    assert entry.key is not None
    return {
        "form": form.name,
        "format": format,
        "place": form.place,
        "profile": signed.profile,
        "at": AT,
        "input": document,
        "canonicalHex": covered_bytes(document, signed.profile).hex(),
        "signingInputHex": signer.message.hex(),
        "alg": entry.key.algorithm.value,
        "issuer": entry.issuer,
        "keyVersion": entry.key_version,
        "key": {**entry.key.jwk(), "d": SECRETS[algorithm]},
        "signatureHex": signer.signature.hex(),
        "file": signed.blob.decode(),
    }


def covered_bytes(document: dict[str, Any], profile: str) -> bytes:
    """The canonical bytes of what the signature covers."""
    if profile == "a2a.agent-card/v1":
        _, bare = next(iter(covered(document)))
        return canonicalise(bare)
    return canonicalise(without(document, ("/signature",)))


def written(value: dict[str, Any]) -> bytes:
    """A vector as it stands in its file."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def main() -> None:
    """Writes every file, and removes those that no form has any more."""
    made = {f"{name}.json": written(value) for name, value in vectors()}
    for path in FOLDER.glob("*.json"):
        if path.name not in made:
            path.unlink()
    for name, data in made.items():
        (FOLDER / name).write_bytes(data)


if __name__ == "__main__":
    main()

"""What several tests need: keys, pins, and a signature over anything at all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.entry import KeyEntry
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.profiles import BUILT_IN, Profile
from taskseal.profiles.custom import custom_profile
from taskseal.validity import DAY, read_instant
from taskseal.wire.jws import signing_input, write_detached, write_flattened, write_protected

VECTORS = Path(__file__).resolve().parent / "vectors"
SAMPLES = VECTORS / "samples"
CASES = VECTORS / "cases"
NOW = "2026-09-01T08:35:00Z"
"""The instant that the samples are verified at."""


def load(path: Path) -> Any:
    """The JSON in a file of test data."""
    return json.loads(path.read_bytes())


def instant(text: str) -> int:
    """The instant that ``text`` names."""
    at = read_instant(text)
    assert at is not None, text
    return at


def key_entry(
    public: PublicKey,
    version: str = "test/1",
    *,
    profiles: Iterable[str] = tuple(BUILT_IN),
    at: str = NOW,
    **members: Any,
) -> KeyEntry:
    """An entry that stands from 400 days before ``at`` to 400 days after it."""
    now = instant(at)
    given: dict[str, Any] = {
        "issuer": "local",
        "not_before": now - 400 * DAY,
        "sign_from": now - 400 * DAY,
        "sign_until": now + 400 * DAY,
        "accept_until": now + 400 * DAY,
    }
    return KeyEntry(
        key_version=version, key=public, profiles=frozenset(profiles), **(given | members)
    )


def new_signer(
    version: str = "test/1", algorithm: Algorithm = Algorithm.ED25519, **members: Any
) -> KeySigner:
    """A signer with a fresh key."""
    key = PrivateKey.generate(algorithm)
    return KeySigner(key_entry(key.public, version, **members), key)


def pins_of(*signers: KeySigner) -> Pins:
    """What a receiver that trusts ``signers`` pins."""
    return Pins.of([signer.entry for signer in signers])


def public_key(text: str) -> PublicKey:
    """The Ed25519 key in 43 base64url characters."""
    raw = b64url_decode(text)
    assert raw is not None
    return PublicKey(Algorithm.ED25519, raw)


def sign_anyway(
    payload: bytes | dict[str, Any],
    signer: KeySigner,
    profile: Profile,
    *,
    at: str = NOW,
    lifetime: int = 600,
    detached: bool = False,
    **header: Any,
) -> bytes:
    """A JWS over whatever ``payload`` is, good or not; ``header`` adds to it or replaces."""
    body = payload if isinstance(payload, bytes) else canonicalise(payload)
    iat = instant(at) // 10**9
    protected = write_protected(
        {
            "alg": signer.key.algorithm.value,
            "kid": signer.entry.key_version,
            "iss": signer.entry.issuer,
            "typ": profile.typ,
            "iat": iat,
            "exp": iat + lifetime,
        }
        | header
    )
    signature = signer.sign(signing_input(protected, body))
    if detached:
        return write_detached(protected, signature)
    return write_flattened(protected, signature, body)


def embed(value: dict[str, Any], signer: KeySigner, member: str = "signature") -> bytes:
    """``value`` with a signature inside over all the rest, good or not."""
    bare = {name: item for name, item in value.items() if name != member}
    return canonicalise(bare | {member: b64url_encode(signer.sign(canonicalise(bare)))})


def neutral_profile() -> Profile:
    """The custom profile that reads the envelopes of ``vectors/cases``."""
    path = VECTORS / "neutral.profile.toml"
    return custom_profile(path.read_bytes(), source=path.name)


def case_pins(case: str) -> Pins:
    """A case's keyset as pins, by the reading that ``vectors/SOURCES.md`` gives."""
    return keyset_pins(load(CASES / case / "keyset.json"))


def keyset_pins(keyset: dict[str, Any]) -> Pins:
    """A keyset of ``vectors/cases`` as pins."""
    keys = []
    for key in keyset["keys"]:
        keys.append(
            {
                "keyVersion": f"{key['kid']}#{key['version']}",
                "alg": key["alg"],
                "publicKey": {"kty": "OKP", "crv": "Ed25519", "x": key["public"]},
                "notBefore": key["not_before"],
                "signUntil": key.get("retired_at", key["not_after"]),
                "acceptUntil": key.get("accept_until", key["not_after"]),
                "profiles": ["cases.neutral/v1"],
            }
        )
    pins = {"schema": "taskseal.pins/v1", "issuer": "cases", "keys": keys}
    return Pins.load(json.dumps(pins).encode())


def sample_context() -> dict[str, Any]:
    """The samples' context with the Orbiplex binding read in, as the command line makes it."""
    context: dict[str, Any] = load(SAMPLES / "context.json")
    context["orbiplex"]["binding"] = load(SAMPLES / context["orbiplex"]["binding"])
    return context


def sample_artefacts() -> dict[str, Path]:
    """Every artefact that the samples bind, by the name that they give it."""
    context = load(SAMPLES / "context.json")
    files = context["aisa"]["artefact_files"] | context["orbiplex"]["artifact_files"]
    artefacts = {ref: SAMPLES / path for ref, path in files.items()}
    artefacts["instruction"] = SAMPLES / "orbiplex/support/instruction-material.json"
    return artefacts

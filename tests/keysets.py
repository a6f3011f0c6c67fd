"""Keysets for tests: holders with keys, keysets that they sign or forge, and offers of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from support import instant

from taskseal.keys.entry import KEYSET, KeyEntry
from taskseal.keys.keyset import Keyset, Purpose, SignedKeyset
from taskseal.keys.keyset_draft import seal
from taskseal.keys.pin import Pin
from taskseal.keys.private import PrivateKey
from taskseal.keys.succession import Offer, read_offer
from taskseal.validity import DAY, Instant, Window

START = instant("2026-09-01T00:00:00Z")
PLAN = "aisa.message/v1"


def private(name: str) -> PrivateKey:
    """A key that is the same in each run."""
    return PrivateKey(name.encode().ljust(32, b"."))


def entry(name: str, *, profiles: Iterable[str] = (KEYSET,), **members: Any) -> KeyEntry:
    """The key ``name`` as its keyset lists it: a keyset key unless told otherwise."""
    given: dict[str, Any] = {
        "issuer": "acme",
        "key_version": name,
        "key": private(name).public,
        "not_before": START - DAY,
        "sign_from": START - DAY,
        "sign_until": START + 300 * DAY,
        "accept_until": START + 330 * DAY,
        "profiles": frozenset(profiles),
    }
    return KeyEntry(**(given | members))


def keyset(
    *entries: KeyEntry,
    generation: int = 1,
    issued: Instant = START,
    lifetime: int = 30 * DAY,
    threshold: int = 1,
    issuer: str = "acme",
) -> Keyset:
    """A keyset that nobody has signed."""
    return Keyset(issuer, generation, Window(issued, issued + lifetime), threshold, entries)


def signed(
    listed: Keyset,
    *by: str,
    proof: Iterable[str] | None = None,
    older: Keyset | None = None,
    keys: dict[str, PrivateKey] | None = None,
) -> SignedKeyset:
    """``listed`` as ``by`` sign it; all of its keys, or those in ``proof``, are proven held."""
    proven = {e.key_version for e in listed.entries} if proof is None else set(proof)
    holders = {name: private(name) for name in (*by, *proven)} | (keys or {})
    result = SignedKeyset.unsigned(listed)
    for purpose, names in (("keyset", by), ("possession", sorted(proven))):
        for name in names:
            result = sign_one(result, name, purpose, holders[name])  # type: ignore[arg-type]
    return result


def sign_one(offered: SignedKeyset, name: str, purpose: Purpose, key: PrivateKey) -> SignedKeyset:
    """``offered`` with one signature more, whatever the rules say of it."""
    listed = offered.keyset.find(name) or entry(name, issuer=offered.issuer)
    # A keyset of this one key alone, so that nothing is asked but the signature.
    alone = replace(listed, key=key.public, profiles=frozenset({KEYSET}), revoked_at=None)
    wide = replace(alone, not_before=0, sign_from=0, sign_until=10**19, accept_until=10**19)
    bare = replace(offered, keyset=replace(offered.keyset, entries=(wide,)), signatures=())
    made = seal(bare, [wide], START, older=None, holder=lambda *_: key, allow_published_keys=True)
    (one,) = [each for each in made.signatures if each.purpose == purpose]
    return offered.with_signature(purpose, name, one.jws)


def offer(keyset: SignedKeyset, source: str = "keyset.json") -> Offer:
    """``keyset`` as it is read from its file."""
    return read_offer(keyset.to_json(), source)


def pin(name: str) -> Pin:
    """The pin of the key ``name``."""
    return Pin(name, private(name).public.thumbprint)


def dharma_offer(value: dict[str, Any], source: str = "keyset.json") -> Offer:
    """A Dharma keyset as it is read from its file."""
    return read_offer(json.dumps(value).encode(), source)


def dharma_member(key: PrivateKey, version: str, **more: Any) -> dict[str, Any]:
    """One key of a Dharma keyset."""
    return {
        "keyVersion": version,
        "publicKeyEd25519": key.public.jwk()["x"],
        "status": "active",
        "notBefore": "2026-08-17T19:59:00.000Z",
        "notAfter": "2026-08-27T20:00:00.000Z",
        **more,
    }


def dharma_document(*keys: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A Dharma keyset of ``keys``, not signed yet."""
    return {
        "schema": "dharma.server-signing-keyset/v1",
        "organizationId": "org_test",
        "generation": 1,
        "keys": list(keys),
        "signedByKeyVersion": "k/1",
        "issuedAt": "2026-08-17T20:00:00.000Z",
        "expiresAt": "2026-08-24T20:00:00.000Z",
        **more,
    }

"""Dharma keysets as their owner writes them: the next one, unsigned, and its one signature.

Source: SPEC section 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.dharma_keyset import MAX_KEYSET_LIFETIME, SIGNED_PROFILES
from taskseal.keys.entry import DHARMA_KEYSET, KeyEntry
from taskseal.keys.keyset_draft import Holder, Plan
from taskseal.validity import Instant, read_instant, write_instant


def propose_dharma(
    organization: str,
    own: Sequence[KeyEntry],
    current: Mapping[str, Any] | None,
    issued: Instant,
    plan: Plan,
) -> dict[str, Any]:
    """The next keyset of an organisation, without signer and signature.

    A key that the current keyset lists keeps its notBefore letter for letter, and its notAfter
    is never extended: Dharma refuses either change in the key that signs. Dharma knows no
    revocation: a revoked key is left out.

    Args:
        organization: its organizationId.
        own: the keyring's keys; those of Dharma profiles are listed.
        current: the keyset that it follows, checked before; None for the first.
        issued: its issuedAt, in nanoseconds since 1970.
        plan: the rest; Dharma has no threshold.

    Raises:
        InputError: ``usage`` for a lifetime over 30 days, or a generation that does not rise.
        MaterialError: ``no_signing_key`` without any key to list.
    """
    if not 0 < plan.lifetime <= MAX_KEYSET_LIFETIME:
        raise InputError(Reason.USAGE, "a Dharma keyset lives 30 days at most")
    before = {item["keyVersion"]: item for item in current["keys"]} if current else {}
    listed: dict[str, dict[str, Any]] = {}
    gone = set(plan.revoke)
    for entry in own:
        if entry.revoked_at is not None:
            gone.add(entry.key_version)
        elif _listable(entry) and issued < entry.accept_until:
            listed[entry.key_version] = _item(entry, before.get(entry.key_version), issued)
    for version, item in before.items():
        ends = read_instant(item["notAfter"])
        if version not in listed and ends is not None and issued < ends:
            listed[version] = dict(item)
    keys = [item for version, item in listed.items() if version not in gone]
    if not keys:
        raise MaterialError(Reason.NO_SIGNING_KEY, "there is no Dharma key to list")
    first = current["generation"] + 1 if current else 1
    if plan.generation is not None and plan.generation < first:
        raise InputError(Reason.USAGE, f"the next generation is {first}")
    return {
        "schema": DHARMA_KEYSET,
        "organizationId": organization,
        "generation": plan.generation or first,
        "keys": keys,
        "issuedAt": write_instant(issued),
        "expiresAt": write_instant(issued + plan.lifetime),
    }


def _listable(entry: KeyEntry) -> bool:
    """Whether a Dharma keyset has a place for the key: Ed25519, and for Dharma profiles only."""
    ours = entry.key is not None and entry.key.algorithm is Algorithm.ED25519
    return ours and entry.profiles <= SIGNED_PROFILES


def _item(entry: KeyEntry, before: Mapping[str, Any] | None, issued: Instant) -> dict[str, Any]:
    assert entry.key is not None
    item = {
        "keyVersion": entry.key_version,
        "publicKeyEd25519": entry.key.jwk()["x"],
        "status": "active" if issued < entry.sign_until else "overlap",
        "notBefore": write_instant(entry.not_before),
        "notAfter": write_instant(entry.accept_until),
    }
    if before is not None:
        item["notBefore"] = before["notBefore"]
        ends = read_instant(before["notAfter"])
        if ends is not None and ends < entry.accept_until:
            item["notAfter"] = before["notAfter"]
    return item


def seal_dharma(draft: Mapping[str, Any], entry: KeyEntry, holder: Holder) -> bytes:
    """``draft`` signed by one key, in canonical form with one line end.

    The same key gives the same bytes; another one replaces the signature, since there is one.

    Args:
        draft: what :func:`propose_dharma` gave, or a signed keyset.
        entry: the signing key.
        holder: signs with it.
    """
    rest = {name: value for name, value in draft.items() if name != "signature"}
    rest["signedByKeyVersion"] = entry.key_version
    signature = holder.sign(canonicalise(rest))
    return canonicalise({**rest, "signature": b64url_encode(signature)}) + b"\n"

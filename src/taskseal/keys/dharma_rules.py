"""Which Dharma keyset may be the first, and which may follow which: the peer's rules, then ours.

The peer's order and reasons are kept text for text, so that both sides refuse the same keyset for
the same reason. What the peer lets through and we do not comes after: a keyset that only we refuse
is refused for a reason that the peer never gives.

Source: SPEC section 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taskseal.canon.encoding import b64url_decode
from taskseal.canon.jcs import canonicalise
from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.dharma_keyset import (
    KEY_MEMBERS,
    KEY_TEXT,
    MAX_INTEGER,
    MAX_KEYS,
    MAX_KEYSET_LIFETIME,
    MAX_ORGANIZATION,
    TOP_MEMBERS,
)
from taskseal.keys.entry import DHARMA_KEYSET
from taskseal.keys.keyset_rules import FAST_FORWARD, OVERLAP
from taskseal.keys.pin import Pin
from taskseal.keys.screening import is_published
from taskseal.keys.shape import Shape
from taskseal.keys.version import MAX_KEY_VERSION
from taskseal.validity import FUTURE_SKEW, Instant, is_loose_instant, read_instant

_MAX_SIGNATURE = 1000
"""Characters of the longest signature that the peer's schema lets through."""

Value = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DharmaHistory:
    """The current keyset as parsed, and each key version ever listed with its key's text."""

    current: Value
    bound: Mapping[str, str]

    @classmethod
    def of(cls, keysets: Sequence[Value]) -> DharmaHistory:
        """The history of keysets in their order; the last one is the current."""
        bound: dict[str, str] = {}
        for keyset in keysets:
            bound.update(_bindings(keyset))
        return cls(keysets[-1], bound)

    def after(self, keyset: Value) -> DharmaHistory:
        """The history once ``keyset`` is the current one."""
        return DharmaHistory(keyset, {**self.bound, **_bindings(keyset)})


def check_schema(value: object, source: str) -> Value:
    """The keyset as its members, when it fits the peer's schema.

    Raises:
        MaterialError: ``schema_invalid`` with the pointer.
    """
    shape = Shape(source, Reason.SCHEMA_INVALID)
    top = shape.members(value, "", TOP_MEMBERS)
    shape.constant(top["schema"], "/schema", DHARMA_KEYSET)
    shape.text(top["organizationId"], "/organizationId", MAX_ORGANIZATION)
    shape.number(top["generation"], "/generation", 1, MAX_INTEGER)
    for index, item in enumerate(shape.items(top["keys"], "/keys", MAX_KEYS)):
        _check_key(item, f"/keys/{index}", shape)
    shape.text(top["signedByKeyVersion"], "/signedByKeyVersion", MAX_KEY_VERSION)
    _check_time(top["issuedAt"], "/issuedAt", shape)
    _check_time(top["expiresAt"], "/expiresAt", shape)
    shape.text(top["signature"], "/signature", _MAX_SIGNATURE)
    return top


def check_first(
    offered: Value,
    pins: Sequence[Pin],
    now: Instant,
    *,
    organization: str | None = None,
    allow_published_keys: bool = False,
) -> None:
    """Whether ``offered`` may be the first keyset that a receiver knows of its organisation.

    Args:
        offered: what :func:`check_schema` gave.
        pins: keys that the operator knows by another way; the signer must be each of them.
        now: the instant, in nanoseconds since 1970.
        organization: whose keyset it must be, where the receiver knows.
        allow_published_keys: also take keys whose private half anyone can read.

    Raises:
        MaterialError: with the reason of the first rule that does not hold.
    """
    if organization is not None and offered["organizationId"] != organization:
        raise _organization(offered, organization)
    _check_times(offered, now)
    version, signer = offered["signedByKeyVersion"], _find(offered, offered["signedByKeyVersion"])
    key = None if signer is None else _key(signer)
    trusted = isinstance(key, PublicKey) and all(pin.fits(version, key) for pin in pins)
    if not pins or not trusted:
        detail = f"no key is pinned as {version!a}" if not pins else f"signed by {version!a}"
        raise _fault(Reason.UNTRUSTED_INITIAL_SIGNER, detail, "/signedByKeyVersion")
    _check_signature(offered, key)
    _check_keys(offered, allow_published_keys)
    assert signer is not None
    if not _in_window(signer, now):
        detail = f"key version {version!a} does not stand now"
        raise _fault(Reason.INITIAL_SIGNER_EXPIRED, detail, "/signedByKeyVersion")


def check_update(
    history: DharmaHistory,
    offered: Value,
    now: Instant,
    *,
    fast_forward: int = FAST_FORWARD,
    allow_published_keys: bool = False,
) -> tuple[str, ...]:
    """Whether ``offered`` may follow the current keyset; arguments as for :func:`check_first`.

    Returns:
        What a person should know although it is allowed.

    Raises:
        MaterialError: with the reason of the first rule that does not hold.
    """
    current = history.current
    if offered["organizationId"] != current["organizationId"]:
        raise _organization(offered, current["organizationId"])
    if offered["generation"] <= current["generation"]:
        detail = f"it is generation {offered['generation']}, and {current['generation']} is known"
        raise _fault(Reason.GENERATION_NOT_ADVANCED, detail, "/generation")
    stale = _time_fault(current, now)
    if stale is not None:
        reason, detail, pointer = stale
        raise _fault(Reason(f"current_{reason}"), f"the current keyset: {detail}", pointer)
    _check_times(offered, now)
    version = offered["signedByKeyVersion"]
    signer = _find(current, version)
    if signer is None or not _in_window(signer, now):
        state = "is not listed" if signer is None else "does not stand now"
        detail = f"key version {version!a} {state} in the current keyset"
        raise _fault(Reason.UNTRUSTED_UPDATE_SIGNER, detail, "/signedByKeyVersion")
    _check_overlap(signer, offered, now)
    _check_signature(offered, _key(signer))
    _check_keys(offered, allow_published_keys)
    for index, item in enumerate(offered["keys"]):
        if (
            history.bound.get(item["keyVersion"], item["publicKeyEd25519"])
            != (item["publicKeyEd25519"])
        ):
            detail = f"key version {item['keyVersion']!a} was another key before"
            raise _fault(Reason.KEY_VERSION_REBOUND, detail, f"/keys/{index}")
    if _instant(offered["issuedAt"]) < _instant(current["issuedAt"]):
        detail = f"the current one was issued {current['issuedAt']}"
        raise _fault(Reason.ISSUED_AT_REGRESSED, detail, "/issuedAt")
    if offered["generation"] - current["generation"] > fast_forward:
        detail = f"from {current['generation']}, at most {fast_forward} at once"
        raise _fault(Reason.KEYSET_FAST_FORWARD, detail, "/generation")
    return _notes(current, offered)


def _notes(current: Value, offered: Value) -> tuple[str, ...]:
    """What Dharma allows and is worth a person's look."""
    signer, before = offered["signedByKeyVersion"], current["signedByKeyVersion"]
    if signer == before:
        return ()
    return (
        f"{signer!a} signed it, and {before!a} the current one: in a Dharma keyset every listed "
        "key may sign the next, a decision key too",
    )


def _check_key(value: object, at: str, shape: Shape) -> None:
    item = shape.members(value, at, KEY_MEMBERS)
    shape.text(item["keyVersion"], f"{at}/keyVersion", MAX_KEY_VERSION)
    shape.text(item["publicKeyEd25519"], f"{at}/publicKeyEd25519", KEY_TEXT[1], KEY_TEXT[0])
    if item["status"] not in ("active", "overlap"):
        raise shape.fault(f"{at}/status", "the text active or overlap belongs here")
    _check_time(item["notBefore"], f"{at}/notBefore", shape)
    _check_time(item["notAfter"], f"{at}/notAfter", shape)


def _check_time(value: object, at: str, shape: Shape) -> None:
    if type(value) is not str or not is_loose_instant(value):
        raise shape.fault(at, "time_malformed: a date and a time with their offset belong here")


def _check_times(keyset: Value, now: Instant) -> None:
    fault = _time_fault(keyset, now)
    if fault is not None:
        raise _fault(*fault)


def _time_fault(keyset: Value, now: Instant) -> tuple[Reason, str, str] | None:
    """The first of the peer's time rules that does not hold, and where."""
    issued, expires = read_instant(keyset["issuedAt"]), read_instant(keyset["expiresAt"])
    if issued is None or expires is None:
        at = "/issuedAt" if issued is None else "/expiresAt"
        return Reason.INVALID_LIFETIME, "time_malformed: the instant is unreadable", at
    if not issued < expires <= issued + MAX_KEYSET_LIFETIME:
        detail = "a keyset expires after it is issued, within 30 days"
        return Reason.INVALID_LIFETIME, detail, "/expiresAt"
    if issued > now + FUTURE_SKEW:
        return Reason.NOT_YET_VALID, f"issued {keyset['issuedAt']}", "/issuedAt"
    if now >= expires:
        return Reason.EXPIRED, f"expired {keyset['expiresAt']}", "/expiresAt"
    seen: set[str] = set()
    for index, item in enumerate(keyset["keys"]):
        at, version = f"/keys/{index}", item["keyVersion"]
        if version in seen:
            detail = f"key version {version!a} stands twice"
            return Reason.DUPLICATE_KEY_VERSION, detail, f"{at}/keyVersion"
        seen.add(version)
        begins, ends = read_instant(item["notBefore"]), read_instant(item["notAfter"])
        if begins is None or ends is None or ends <= begins:
            return Reason.INVALID_KEY_LIFETIME, f"key version {version!a}", f"{at}/notAfter"
    if not any(item["status"] == "active" for item in keyset["keys"]):
        return Reason.NO_ACTIVE_KEY, "none of its keys is active", "/keys"
    return None


def _check_overlap(signer: Value, offered: Value, now: Instant) -> None:
    """Whoever signed the update is still listed, unchanged, for ten minutes at least."""
    version = signer["keyVersion"]
    listed = _find(offered, version)
    if listed is None:
        detail = f"the signing key version {version!a} is not listed any more"
        raise _fault(Reason.ROTATION_OVERLAP_MISSING, detail, "/keys")
    for member in ("publicKeyEd25519", "notBefore"):
        if listed[member] != signer[member]:
            detail = f"{member} of the signing key version {version!a} has changed"
            raise _fault(Reason.ROTATION_OVERLAP_MISSING, detail, "/keys")
    ends = _instant(listed["notAfter"])
    if ends > _instant(signer["notAfter"]) or ends < now + OVERLAP:
        detail = f"notAfter of the signing key version {version!a} is extended, or too near"
        raise _fault(Reason.ROTATION_OVERLAP_MISSING, detail, "/keys")


def _check_signature(keyset: Value, key: PublicKey | Reason | None) -> None:
    signature = b64url_decode(keyset["signature"])
    signed = canonicalise({name: keyset[name] for name in TOP_MEMBERS if name != "signature"})
    if isinstance(key, Reason):
        # The peer would go by it; what it says is worth nothing.
        raise _fault(key, "the signing key is unusable", "/signedByKeyVersion")
    if key is None or signature is None or not key.verify(signed, signature):
        raise _fault(Reason.BAD_SIGNATURE, "", "/signature")


def _check_keys(keyset: Value, allow_published_keys: bool) -> None:
    """Every listed key may verify something."""
    for index, item in enumerate(keyset["keys"]):
        key, at = _key(item), f"/keys/{index}/publicKeyEd25519"
        if isinstance(key, Reason):
            raise _fault(key, f"key version {item['keyVersion']!a}", at)
        if is_published(key.thumbprint) and not allow_published_keys:
            raise _fault(Reason.PUBLISHED_KEY, f"key version {item['keyVersion']!a}", at)


def _find(keyset: Value, version: str) -> Value | None:
    for item in keyset["keys"]:
        if item["keyVersion"] == version:
            found: Value = item
            return found
    return None


def _key(item: Value) -> PublicKey | Reason:
    raw = b64url_decode(item["publicKeyEd25519"])
    if raw is None:
        return Reason.KEY_MALFORMED
    try:
        return PublicKey(Algorithm.ED25519, raw)
    except MaterialError as flaw:
        return flaw.code


def _in_window(item: Value, now: Instant) -> bool:
    return _instant(item["notBefore"]) <= now < _instant(item["notAfter"])


def _instant(text: str) -> Instant:
    """The instant of a text that was read before."""
    found = read_instant(text)
    assert found is not None
    return found


def _bindings(keyset: Value) -> dict[str, str]:
    return {item["keyVersion"]: item["publicKeyEd25519"] for item in keyset["keys"]}


def _organization(offered: Value, wanted: str) -> MaterialError:
    detail = f"it is of {offered['organizationId']!a}, not of {wanted!a}"
    return _fault(Reason.ORGANIZATION_MISMATCH, detail, "/organizationId")


def _fault(reason: Reason, detail: str, pointer: str | None) -> MaterialError:
    return MaterialError(reason, detail, pointer=pointer)

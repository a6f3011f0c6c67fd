"""Signers whose private key is in this process: from a keyring, a key file or a seed.

Source: SPEC sections 4.4 to 4.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from taskseal.keys.algorithms import Algorithm
from taskseal.keys.entry import KeyEntry, Scalar, freeze_bind
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.keys.version import check_name, check_new_key_version
from taskseal.validity import Instant, read_instant

__all__ = ["KeySigner", "signer_from_seed"]

_ALWAYS: tuple[Instant, Instant] = (0, read_instant("9999-12-31T23:59:59Z") or 0)


def signer_from_seed(
    seed: bytes,
    key_version: str,
    profiles: Iterable[str],
    *,
    algorithm: Algorithm = Algorithm.ED25519,
    issuer: str = "local",
    not_before: Instant = _ALWAYS[0],
    sign_until: Instant = _ALWAYS[1],
    accept_until: Instant | None = None,
    principal: str | None = None,
    bind: Mapping[str, Iterable[Scalar]] | None = None,
) -> KeySigner:
    """A signer for a key that the caller holds already.

    Args:
        seed: the 32 bytes of the private half: the seed, or P-256's scalar.
        key_version: the name that messages will give the key.
        profiles: what it may sign.
        algorithm: whose key it is.
        issuer: whose key it is.
        not_before: its first instant; by default it always stands.
        sign_until: the first instant at which it signs no more.
        accept_until: the first instant at which nothing by it is accepted; ``sign_until`` by
            default.
        principal: whom it speaks for.
        bind: pointer → values that it may put there.

    Raises:
        MaterialError: ``key_malformed`` when the seed is not 32 bytes, or no scalar of P-256.
        InputError: ``usage`` when the key version or the issuer is not one for a new key.
    """
    key = PrivateKey(seed, algorithm)
    entry = KeyEntry(
        issuer=check_name(issuer, "issuer"),
        key_version=check_new_key_version(key_version),
        key=key.public,
        not_before=not_before,
        sign_from=not_before,
        sign_until=sign_until,
        accept_until=sign_until if accept_until is None else accept_until,
        profiles=frozenset(profiles),
        principal=principal,
        bind=freeze_bind(bind or {}),
    )
    return KeySigner(entry, key)

"""What `sign` fills: times, nonce, key version, audience, digests.

Source: SPEC sections 3, 5.1 and 9.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from taskseal.canon.encoding import b64url_encode
from taskseal.canon.pointer import MISSING, resolve
from taskseal.profiles.material import measure
from taskseal.validity import SECOND, write_instant
from taskseal.verify.examination import Examination
from taskseal.wire.embedded import put

NONCE_SIZE = 24
"""Random bytes in a nonce."""


def new_nonce() -> str:
    """24 random bytes in base64url."""
    return b64url_encode(secrets.token_bytes(NONCE_SIZE))


def filled(
    exam: Examination, value: dict[str, Any], lifetime: int, audience: str | None
) -> dict[str, Any]:
    """``value`` with the members that its profile names and it lacks; none is overwritten.

    ``lifetime`` is in nanoseconds from now to the expiry that is filled, which never passes the
    key's acceptUntil.
    """
    kind, entry = exam.kind, exam.entry
    assert entry is not None
    whole_now = exam.now - exam.now % SECOND
    expiry = min(whole_now + lifetime, entry.accept_until)
    fills: dict[str, Callable[[], str]] = {
        "now": lambda: write_instant(whole_now),
        "expiry": lambda: write_instant(expiry - expiry % SECOND),
        "nonce": new_nonce,
        "key_version": lambda: entry.key_version,
    }
    for pointer, what in kind.fills.items():
        if resolve(value, pointer) is MISSING:
            value = put(value, pointer, fills[what]())
    place = kind.audience
    if place is not None and audience is not None and resolve(value, place) is MISSING:
        value = put(value, place, audience)
    return _fill_digests(exam, value)


def _fill_digests(exam: Examination, value: dict[str, Any]) -> dict[str, Any]:
    for binding in exam.kind.bindings(value):
        if resolve(value, binding.pointer) is not MISSING:
            continue
        source = None if binding.ref is None else exam.artefacts.get(binding.ref)
        found = measure(binding, value, source)
        if found is None:
            continue
        value = put(value, binding.pointer, found.digest.text(binding.codec))
        if binding.size_pointer and resolve(value, binding.size_pointer) is MISSING:
            value = put(value, binding.size_pointer, found.size)
    return value

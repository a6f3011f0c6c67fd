"""What a receiver is handed, as it came.

Source: SPEC section 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from taskseal.profiles.base import Profile
from taskseal.profiles.material import Source


class Delivery(NamedTuple):
    """One delivery: the arguments of :meth:`taskseal.Receiver.receive`."""

    data: bytes
    profile: str | Profile | None
    signature: bytes | None
    artefacts: Mapping[str, Source] | None
    context: Mapping[str, Any] | None

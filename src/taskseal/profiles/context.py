"""What the receiver knows beside the message, read from its JSON form.

Source: SPEC section 9 (``--context``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taskseal.errors import MaterialError, Reason
from taskseal.profiles.base import NO_CONTEXT, Context
from taskseal.profiles.schema import Schema

CONTEXT_SCHEMA = Schema.named("taskseal.context.v1")


def read_context(value: Mapping[str, Any] | None) -> Context:
    """The context in ``value``, whose members are those of the context schema.

    Raises:
        MaterialError: ``context_malformed`` with the pointer of the member at fault.
    """
    if value is None:
        return NO_CONTEXT
    fault = CONTEXT_SCHEMA.fault(value)
    if fault is not None:
        raise MaterialError(Reason.CONTEXT_MALFORMED, fault.detail, pointer=fault.pointer)
    binding = value.get("orbiplex", {}).get("binding")
    if isinstance(binding, str):
        raise MaterialError(
            Reason.CONTEXT_MALFORMED,
            "the binding is a path",
            pointer="/orbiplex/binding",
            hint="give the binding object itself; only the command line reads paths",
        )
    return Context(
        aisa=value.get("aisa", {}),
        orbiplex=value.get("orbiplex", {}),
        dharma=value.get("dharma", {}),
    )

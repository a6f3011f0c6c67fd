"""Sentences for what is wrong with a value, with a short and harmless piece of it.

Source: SPEC section 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

LONGEST = 80
"""How many characters of a value a sentence holds at most."""

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_INSTANT = "an instant such as 2026-09-01T08:35:00Z, of the years 1970 to 9999"
_FORMATS = {
    "date-time": f"time_malformed: {{}} is not {_INSTANT}",
    "date-time-loose": "time_malformed: {} is not a date and a time with their offset",
    "uuid": "{} is not a UUID of 36 characters",
}


def show(value: Any) -> str:
    """``value`` in at most :data:`LONGEST` characters, controls and non-ASCII ones escaped."""
    if value is None or value is True or value is False:
        return json.dumps(value)
    if isinstance(value, str):
        return _cut(json.dumps(value[: LONGEST + 1]))
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):  # its digits are counted first: writing them out takes long
        return str(value) if value.bit_length() <= 200 else "a very large integer"
    return f"a Python {type(value).__name__}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + '…"'


def listed(values: Iterable[Any]) -> str:
    """``values`` in a row, as many as fit."""
    row: list[str] = []
    for value in map(show, values):
        if row and len(", ".join(row)) + len(value) > 2 * LONGEST:
            row.append("…")
            break
        row.append(value)
    return ", ".join(row)


def _type(argument: Any, value: Any) -> str:
    wanted = [argument] if isinstance(argument, str) else argument
    names = " or ".join(_TYPES.get(one, str(one)) for one in wanted)
    return f"{names} belongs here, not {show(value)}"


def _format(argument: Any, value: Any) -> str:
    return _FORMATS.get(argument, f"{{}} is no {argument}").format(show(value))


_SENTENCES: dict[str, Callable[[Any, Any], str]] = {
    "missing": lambda name, _: f"the member {show(name)} is missing",
    "surplus": lambda name, _: f"no member {show(name)} belongs here",
    "type": _type,
    "format": _format,
    "const": lambda wanted, value: f"{show(wanted)} belongs here, not {show(value)}",
    "enum": lambda wanted, value: f"{show(value)} is not one of {listed(wanted)}",
    "pattern": lambda wanted, value: f"{show(value)} does not match {wanted}",
    "minLength": lambda least, value: f"{len(value)} characters are fewer than {least}",
    "maxLength": lambda most, value: f"{len(value)} characters are more than {most}",
    "minimum": lambda least, value: f"{show(value)} is less than {least}",
    "maximum": lambda most, value: f"{show(value)} is more than {most}",
    "exclusiveMinimum": lambda least, value: f"{show(value)} is not more than {least}",
    "exclusiveMaximum": lambda most, value: f"{show(value)} is not less than {most}",
    "multipleOf": lambda step, value: f"{show(value)} is not a multiple of {step}",
    "minItems": lambda least, value: f"{len(value)} items are fewer than {least}",
    "maxItems": lambda most, value: f"{len(value)} items are more than {most}",
    "uniqueItems": lambda _, value: "an item stands in the array twice",
    "minProperties": lambda least, value: f"{len(value)} members are fewer than {least}",
    "maxProperties": lambda most, value: f"{len(value)} members are more than {most}",
    "contains": lambda _, value: "too few or too many items are of the kind that is asked for",
    "none": lambda count, value: (
        f"{show(value)} fits none of the {count} forms that may stand here"
    ),
    "several": lambda count, value: (
        f"{show(value)} fits {count} forms at once; exactly one is meant"
    ),
    "unreadable": lambda *_: "it holds what is no JSON value, or is nested too deep to be read",
    "not": lambda _, value: f"{show(value)} is what may not stand here",
}


def fault_of(rule: str, argument: Any, value: Any = None) -> str:
    """The sentence for a ``value`` that breaks ``rule``, whose argument in the schema is given.

    ``rule`` is a keyword of JSON Schema, or ``missing`` or ``surplus`` (of a member that
    ``argument`` names), ``none`` or ``several`` (of the branches that fit), or ``unreadable``.
    """
    sentence = _SENTENCES.get(rule)
    if sentence is None:
        return f"{show(value)} breaks the rule {rule}"
    try:
        return sentence(argument, value)
    except TypeError:  # no JSON value at all: it passes no keyword, whatever its type
        return f"a JSON value belongs here, not {show(value)}"

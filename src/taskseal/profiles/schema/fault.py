"""Of all that is wrong with a value, the one fault to name.

A value that does not fit breaks many rules at once. Named is the shallowest fault; of several
at one depth first a member that selects a branch, then a missing member, then a surplus one,
then a wrong value, each in schema order. Below ``oneOf``, ``anyOf`` and ``if`` only the branch
that the value selects is looked at.

The search goes down level by level, and only into parts that do not fit: its cost follows the
size of the value, not the number of faults.

Source: SPEC section 5; JSON Schema 2020-12.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

from taskseal.canon.pointer import join
from taskseal.profiles.schema.catalogue import Catalogue, Node
from taskseal.profiles.schema.visit import WIDEST, Found, Place, Visit
from taskseal.profiles.schema.words import fault_of, show


class SchemaFault(NamedTuple):
    """Where a value does not fit its schema, and how.

    ``pointer`` is RFC 6901; a missing or surplus member is named by its own. ``detail`` is one
    sentence and holds no more than a short, escaped piece of the value.
    """

    pointer: str
    detail: str


def explain(catalogue: Catalogue, root: Node, value: Any) -> SchemaFault:
    """The fault to name of a ``value`` that does not fit ``root``. Raises nothing."""
    level = [Place((), value, [root])]
    found: list[Found] = []
    while level:
        visits = [Visit(catalogue, place) for place in islice(level, WIDEST)]
        found += [one for visit in visits for one in visit.own]
        if found:
            break
        found = [one for visit in visits for one in visit.members]
        level = [place for visit in visits for place in visit.children]
    if not found:
        return _foreign(catalogue, root, value)
    first = min(found, key=lambda one: one.rank)
    return SchemaFault(join(first.path), first.detail)


def _foreign(catalogue: Catalogue, root: Node, value: Any) -> SchemaFault:
    # What the rules do not follow is left to the engine, whose shallowest error is named.
    try:
        errors = list(islice(catalogue.validator(root).iter_errors(value), WIDEST))
    except (ValueError, TypeError, OverflowError):
        errors = []
    if not errors:
        return SchemaFault("", f"{show(value)} does not fit the schema")
    first = min(errors, key=lambda one: len(one.instance_path))
    rule, argument, path = first.kind.name, first.kind.value, first.instance_path
    if rule == "unevaluatedProperties":
        name = min(argument)
        return SchemaFault(join([*path, name]), fault_of("surplus", name))
    if rule == "required":
        return SchemaFault(join([*path, argument]), fault_of("missing", argument))
    return SchemaFault(join(path), fault_of(rule, argument, first.instance))

"""How the keywords that hold schemas, and those about members, are followed.

Each rule gets the visit that it writes to, the schema it stands in and its argument. The
keywords that are not here (unevaluated members and items, dynamic references) are left to the
engine's own errors.

Source: JSON Schema 2020-12, core sections 8 and 10, validation section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from taskseal.profiles.schema.catalogue import Node

if TYPE_CHECKING:
    from taskseal.profiles.schema.visit import Visit

ASSERTIONS = frozenset({
    "type", "enum", "const", "pattern", "format", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems",
    "minProperties", "maxProperties",
})  # fmt: skip
"""The keywords that look at the value alone and hold no schema."""

Rule = Callable[["Visit", Node, Any], None]


def _ref(visit: Visit, node: Node, argument: Any) -> None:
    target = visit.catalogue.target(node, argument)
    if target is not None:
        visit.meet(target)


def _all_of(visit: Visit, node: Node, argument: Any) -> None:
    for index in range(len(argument)):
        visit.meet(node.below("allOf", index))


def _if(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(argument, dict):
        properties = argument.get("properties", {})
        visit.selectors |= {name for name, rule in properties.items() if _options(rule)}
    branch = "then" if visit.holds(node.below("if"), visit.value) else "else"
    if branch in node.schema:
        visit.meet(node.below(branch))


def _one_of(visit: Visit, node: Node, argument: Any) -> None:
    _choice(visit, [node.below("oneOf", index) for index in range(len(argument))], most=1)


def _any_of(visit: Visit, node: Node, argument: Any) -> None:
    branches = [node.below("anyOf", index) for index in range(len(argument))]
    _choice(visit, branches, most=len(branches))


def _choice(visit: Visit, branches: list[Node], most: int) -> None:
    fitting = sum(visit.holds(branch, visit.value) for branch in branches)
    if fitting > most:
        visit.wrong("several", fitting)
    if fitting:
        return
    shapes = [_shape(visit, branch) for branch in branches]
    open_to = [
        (branch, shape)
        for branch, shape in zip(branches, shapes, strict=True)
        if visit.passes("type", shape.get("type", _ANY_TYPE), visit.value)
    ]
    if not open_to:
        visit.wrong("type", sorted({name for shape in shapes for name in _types(shape)}))
        return
    if isinstance(visit.value, dict):
        open_to = list(_selected(visit, open_to))
    if len(open_to) == 1:
        visit.meet(open_to[0][0])
    elif open_to:
        visit.vague("none", len(branches))


_ANY_TYPE = ["array", "boolean", "null", "number", "object", "string"]


def _types(shape: dict[str, Any]) -> list[str]:
    types = shape.get("type", _ANY_TYPE)
    return [types] if isinstance(types, str) else types


def _shape(visit: Visit, branch: Node) -> dict[str, Any]:
    # A branch is often nothing but a reference, perhaps to another one.
    for _ in range(16):
        if not isinstance(branch.schema, dict) or "properties" in branch.schema:
            break
        target = visit.catalogue.target(branch, branch.schema.get("$ref", "?"))
        if target is None:
            break
        branch = target
    return branch.schema if isinstance(branch.schema, dict) else {}


def _selected(
    visit: Visit, branches: list[tuple[Node, dict[str, Any]]]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """The branches that the members of the value leave open.

    A member selects when every branch fixes it, by ``const`` or ``enum``. One that selects no
    branch is the fault itself, and then no branch is left.
    """
    options = [
        {name: _options(rule) for name, rule in shape.get("properties", {}).items()}
        for _, shape in branches
    ]
    common = [
        name for name in options[0] if len(branches) > 1 and all(o.get(name) for o in options)
    ]
    for name in common:
        if name not in visit.value:
            visit.selectors.add(name)
            visit.missing(name)
            return
        allowed = [value for one in options for value in one[name]]
        if visit.value[name] not in allowed:
            visit.unselecting(name, allowed)
            return
    for branch, one in zip(branches, options, strict=True):
        if all(visit.value[name] in one[name] for name in common):
            yield branch


def _options(rule: Any) -> list[str]:
    """The strings that ``rule`` allows, when it allows nothing else; else none."""
    if not isinstance(rule, dict):
        return []
    found = [rule["const"]] if "const" in rule else rule.get("enum", [])
    return found if all(isinstance(one, str) for one in found) else []


def _not(visit: Visit, node: Node, argument: Any) -> None:
    if not visit.holds(node.below("not"), visit.value):
        return
    names = _required_alone(argument) if isinstance(visit.value, dict) else []
    for name in names:
        if name in visit.value:
            visit.surplus(name)
    if not names:
        visit.vague("not", argument)


def _required_alone(schema: Any) -> list[str]:
    """The names that ``schema`` asks for, when it asks for nothing else; else none."""
    if not isinstance(schema, dict) or len(schema) != 1:
        return []
    if "required" in schema:
        return list(schema["required"])
    parts = [_required_alone(one) for one in schema.get("anyOf", ())]
    return [name for part in parts for name in part] if all(parts) else []


def _required(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, dict):
        for name in argument:
            if name not in visit.value:
                visit.missing(name)


def _dependent_required(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, dict):
        for name, needed in argument.items():
            if name in visit.value:
                _required(visit, node, needed)


def _dependent_schemas(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, dict):
        for name in argument:
            if name in visit.value:
                visit.meet(node.below("dependentSchemas", name))


def _properties(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, dict):
        for name in argument:
            if name in visit.value:
                visit.child(name, node.below("properties", name))


def _pattern_properties(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, dict):
        for pattern in argument:
            for name in sorted(visit.value):
                if visit.passes("pattern", pattern, name):
                    visit.child(name, node.below("patternProperties", pattern))


def _additional_properties(visit: Visit, node: Node, argument: Any) -> None:
    if not isinstance(visit.value, dict):
        return
    known = node.schema.get("properties", {})
    patterns = node.schema.get("patternProperties", {})
    names = (
        name
        for name in visit.value
        if name not in known
        and not any(visit.passes("pattern", pattern, name) for pattern in patterns)
    )
    if argument is False:
        _first_surplus(visit, names)
    else:
        rule = node.below("additionalProperties")
        for name in sorted(names):
            visit.child(name, rule)


def _first_surplus(visit: Visit, names: Iterable[str]) -> None:
    # The first by name: the order in which a sender writes its members changes no verdict.
    first = min(names, default=None)
    if first is not None:
        visit.surplus(first)


def _property_names(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, dict):
        rule = node.below("propertyNames")
        _first_surplus(visit, (name for name in visit.value if not visit.holds(rule, name)))


def _prefix_items(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, list):
        for index in range(min(len(argument), len(visit.value))):
            visit.child(index, node.below("prefixItems", index))


def _items(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, list):
        visit.row(len(node.schema.get("prefixItems", ())), node.below("items"))


def _contains(visit: Visit, node: Node, argument: Any) -> None:
    if isinstance(visit.value, list):
        rule = node.below("contains")
        count = sum(visit.holds(rule, item) for item in visit.value)
        least = node.schema.get("minContains", 1)
        if not least <= count <= node.schema.get("maxContains", count):
            visit.wrong("contains", argument)


RULES: dict[str, Rule] = {
    "$ref": _ref,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "required": _required,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "prefixItems": _prefix_items,
    "items": _items,
    "contains": _contains,
}
"""By keyword."""

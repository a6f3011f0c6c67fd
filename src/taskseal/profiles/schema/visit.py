"""One place of a value, held against all the schemas that meet there.

Source: JSON Schema 2020-12, core section 10 and validation section 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from taskseal.profiles.schema.catalogue import Catalogue, Node
from taskseal.profiles.schema.formats import FORMATS
from taskseal.profiles.schema.rules import ASSERTIONS, RULES
from taskseal.profiles.schema.words import fault_of

if TYPE_CHECKING:
    from jsonschema_rs import Validator

SELECTS, MISSING, SURPLUS, WRONG = range(4)
"""The order in which faults of one depth are named."""

WIDEST = 200
"""How many faulty places of one level are looked at: an array may hold a million of them."""
_ROW = 512
"""How many items the engine is asked about at once."""

Path = tuple[str | int, ...]


class Found(NamedTuple):
    """A fault, where it is named and how early."""

    rank: int
    path: Path
    detail: str


class Place(NamedTuple):
    """A part of the value and the schemas for it; ``selects`` when its parent branches on it."""

    path: Path
    value: Any
    nodes: list[Node]
    selects: bool = False


class Visit:
    """What is wrong at one place, among its members, and which children are to be visited next.

    The rules of :mod:`.rules` write into it while it follows the schemas.
    """

    def __init__(self, catalogue: Catalogue, place: Place) -> None:
        self.catalogue = catalogue
        self.path = place.path
        self.value = place.value
        self.selectors: set[str] = set()
        self._rank = SELECTS if place.selects else WRONG
        self._own: list[Found] = []
        self._vague: list[Found] = []
        self._members: list[tuple[int, str, str]] = []
        self._below: list[tuple[str | int, Node]] = []
        self._rows: list[tuple[int, Node]] = []
        self._seen: set[tuple[str, Path]] = set()
        for node in place.nodes:
            self.meet(node)

    @property
    def own(self) -> list[Found]:
        """The faults of the place itself."""
        if self._own or not self._vague or self._members or self.children:
            return self._own
        return self._vague

    @property
    def members(self) -> list[Found]:
        """The members that are missing or surplus, or select no branch."""
        return [
            Found(SELECTS if name in self.selectors else rank, (*self.path, name), detail)
            for rank, name, detail in self._members
        ]

    @cached_property
    def children(self) -> list[Place]:
        """The members and items that do not fit, each with the schemas that it does not fit."""
        failing: dict[str | int, list[Node]] = {}
        for token, node in self._below:
            if not self.holds(node, self.value[token]):
                failing.setdefault(token, []).append(node)
        for start, node in self._rows:
            for index in islice(self._failing(start, node), WIDEST):
                failing.setdefault(index, []).append(node)
        return [
            Place((*self.path, token), self.value[token], nodes, token in self.selectors)
            for token, nodes in failing.items()
        ]

    def meet(self, node: Node) -> None:
        """Holds the place against ``node`` and every schema that applies in the same place."""
        if node.schema is True or (node.uri, node.path) in self._seen:
            return
        if node.path and "$id" in (node.schema or ()):
            return  # a document inside a document, with references of its own
        self._seen.add((node.uri, node.path))
        if node.schema is False:
            name = self.path[-1] if self.path else ""
            self._own.append(Found(SURPLUS, self.path, fault_of("surplus", name)))
            return
        for keyword, argument in node.schema.items():
            if keyword in ASSERTIONS:
                self._assertion(node, keyword, argument)
            elif keyword in RULES:
                RULES[keyword](self, node, argument)

    def holds(self, node: Node, value: Any) -> bool:
        """Whether ``value`` fits ``node``; a value that the engine cannot read does not."""
        if isinstance(node.schema, bool):
            return node.schema
        return _fits(self.catalogue.validator(node), value) is True

    def passes(self, keyword: str, argument: Any, value: Any) -> bool:
        """Whether ``value`` passes one keyword alone."""
        return _fits(self.catalogue.assertion(keyword, argument), value) is True

    def child(self, token: str | int, node: Node) -> None:
        """The member or item ``token`` is to fit ``node``."""
        self._below.append((token, node))

    def row(self, start: int, node: Node) -> None:
        """Every item from ``start`` on is to fit ``node``."""
        self._rows.append((start, node))

    def wrong(self, rule: str, argument: Any) -> None:
        """The place itself breaks ``rule``."""
        self._own.append(Found(self._rank, self.path, fault_of(rule, argument, self.value)))

    def vague(self, rule: str, argument: Any) -> None:
        """The place breaks ``rule``, which is named only when nothing else here or below is."""
        self._vague.append(Found(self._rank, self.path, fault_of(rule, argument, self.value)))

    def missing(self, name: str) -> None:
        """The member ``name`` is missing."""
        self._members.append((MISSING, name, fault_of("missing", name)))

    def surplus(self, name: str) -> None:
        """The member ``name`` may not be there."""
        self._members.append((SURPLUS, name, fault_of("surplus", name)))

    def unselecting(self, name: str, options: list[Any]) -> None:
        """The member ``name`` has to be one of ``options`` to select a branch, and is none."""
        self.selectors.add(name)
        self._members.append((WRONG, name, fault_of("enum", options, self.value[name])))

    def _assertion(self, node: Node, keyword: str, argument: Any) -> None:
        fits = _fits(self.catalogue.assertion(keyword, argument), self.value)
        if fits:
            return
        if fits is None and isinstance(self.value, dict | list):
            self.vague("unreadable", None)
            return
        detail = fault_of(keyword, argument, self.value)
        if keyword == "type" and node.schema.get("format") in FORMATS:
            detail = f"time_malformed: {detail}"
        self._own.append(Found(self._rank, self.path, detail))

    def _failing(self, start: int, node: Node) -> Iterator[int]:
        for low in range(start, len(self.value), _ROW):
            items = self.value[low : low + _ROW]
            if not isinstance(node.schema, bool) and _fits(self.catalogue.row(node), items):
                continue
            yield from (low + at for at, item in enumerate(items) if not self.holds(node, item))


def _fits(validator: Validator, value: Any) -> bool | None:
    """What the engine says; None when it cannot read the value."""
    try:
        return validator.is_valid(value)
    except (ValueError, TypeError, OverflowError):
        return None

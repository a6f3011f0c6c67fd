"""The documents that a schema may refer to, and the validators compiled from them.

Nothing is ever fetched: a reference leads into a document of the catalogue or nowhere. Every
pattern runs on an engine whose time is linear in the text, with the meaning of ECMA-262.

Source: JSON Schema 2020-12, core section 8.2 and validation section 7; SPEC section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from taskseal.canon.pointer import join, split
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.profiles.schema.formats import FORMATS, hastened

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from jsonschema_rs import Validator

NAMES = (
    "dharma.task.v1",
    "dharma.action-decision-receipt.v1",
    "dharma.action-decision.v1",
    "dharma.task-action.v1",
    "dharma.action-acknowledgement.v1",
    "dharma.server-signing-keyset.v1",
    "aisa.message.v1",
    "orbiplex.turn-request.v1",
    "orbiplex.classification.v1",
    "orbiplex.binding.v1",
    "taskseal.context.v1",
    "taskseal.acceptance.v1",
    "taskseal.keyset.v1",
    "a2a.agent-card.v1",
)
"""The shipped schemas. The file of each is ``NAME.schema.json``."""

LARGEST_PATTERN = 2 << 20
"""How large a compiled pattern may grow, in bytes; it bounds the time for a character of text."""


class Node(NamedTuple):
    """One schema inside a document: ``uri`` names the document, ``path`` leads to the schema."""

    uri: str
    path: tuple[str | int, ...]
    schema: Any

    def below(self, *tokens: str | int) -> Node:
        """The schema that stands ``tokens`` further down."""
        schema = self.schema
        for token in tokens:
            schema = schema[token]
        return Node(self.uri, (*self.path, *tokens), schema)


NOTHING: Mapping[str, Any] = MappingProxyType({})


class Catalogue:
    """Documents by URI, and what was compiled from them so far.

    ``engine`` holds what the engine gets in place of some documents: others of the same verdicts,
    in which every schema stands at the same place.

    Safe to share between threads: at worst two of them compile the same piece at once.
    """

    def __init__(self, documents: Mapping[str, Any], engine: Mapping[str, Any] = NOTHING) -> None:
        self.documents = documents
        self._engine = {**documents, **engine}
        self._options: dict[str, Any] = {}
        self._compiled: dict[tuple[object, ...], Validator] = {}

    def root(self, uri: str) -> Node:
        """The whole document ``uri``."""
        return Node(uri, (), self.documents[uri])

    def target(self, node: Node, reference: str) -> Node | None:
        """Where ``reference`` leads from ``node``; None for an anchor or an unknown place."""
        uri, _, fragment = reference.partition("#")
        here: Any = self.documents.get(uri or node.uri)
        tokens: list[str | int] = []
        try:
            for token in split(unquote(fragment)):
                step = int(token) if isinstance(here, list) else token
                here = here[step]
                tokens.append(step)
        except (InputError, ValueError, LookupError, TypeError):
            return None
        return None if here is None else Node(uri or node.uri, tuple(tokens), here)

    def validator(self, node: Node) -> Validator:
        """``node``, compiled."""
        key = (node.uri, node.path)
        return self._compiled.get(key) or self._keep(key, {"$ref": _reference(node)})

    def row(self, node: Node) -> Validator:
        """For arrays whose every item is to fit ``node``."""
        key = (node.uri, node.path, "row")
        found = self._compiled.get(key)
        return found or self._keep(key, {"items": {"$ref": _reference(node)}})

    def assertion(self, keyword: str, argument: Any) -> Validator:
        """One keyword compiled alone; its argument holds no reference."""
        key = (keyword, repr(argument), "alone")
        return self._compiled.get(key) or self._keep(key, {keyword: argument})

    def _keep(self, key: tuple[object, ...], schema: dict[str, Any]) -> Validator:
        found = self._compiled[key] = self.compile(schema)
        return found

    def compile(self, schema: dict[str, Any]) -> Validator:
        """``schema`` compiled, with references into the documents.

        Raises:
            ValueError: when it cannot be compiled.
        """
        from jsonschema_rs import Draft202012Validator

        return Draft202012Validator(schema, **self._settled())

    def lookup(self, base: str, fragment: str = "") -> Any:
        """What the engine finds at ``fragment`` of the document or part ``base``; else None."""
        from jsonschema_rs import ReferencingError

        try:
            return self._settled()["registry"].resolver(base).lookup(f"#{fragment}").contents
        except (ReferencingError, ValueError):
            return None

    def _settled(self) -> dict[str, Any]:
        from jsonschema_rs import RegexOptions, Registry

        if not self._options:
            self._options = {
                "formats": dict(FORMATS),
                "validate_formats": True,
                "ignore_unknown_formats": False,
                "offline": True,
                "registry": Registry(list(self._engine.items())),
                "pattern_options": RegexOptions(size_limit=LARGEST_PATTERN),
            }
        return self._options


def _reference(node: Node) -> str:
    return f"{node.uri}#{quote(join(node.path))}"


def shipped_file(name: str) -> Traversable:
    """The file of the shipped schema ``name``: in the wheel, else in the work tree."""
    from importlib.resources import files

    inside = files("taskseal") / "schemas" / f"{name}.schema.json"
    if inside.is_file():
        return inside
    return Path(__file__).parents[4] / "schemas" / f"{name}.schema.json"


@cache
def shipped() -> tuple[Catalogue, Mapping[str, str]]:
    """The catalogue of all shipped schemas, and the URI of each by name.

    Raises:
        MaterialError: ``file_missing`` when the installation lacks them.
    """
    uris: dict[str, str] = {}
    documents: dict[str, Any] = {}
    for name in NAMES:
        try:
            document = parse(shipped_file(name).read_bytes()).value
        except OSError as error:
            raise MaterialError(
                Reason.FILE_MISSING,
                f"the schema {name} is not installed: {error.strerror}",
                hint="install taskseal anew",
            ) from None
        uris[name] = document["$id"]
        documents[document["$id"]] = document
    return Catalogue(documents, {uri: hastened(each) for uri, each in documents.items()}), uris

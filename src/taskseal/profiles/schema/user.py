"""A user's own schema, looked through before it is ever used.

Source: SPEC section 5; JSON Schema 2020-12, core sections 8 and 9.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple
from urllib.parse import urljoin

from taskseal.canon.jcs import canonicalise
from taskseal.canon.pointer import join
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.profiles.schema.catalogue import Catalogue, Node, shipped
from taskseal.profiles.schema.pattern import foreign

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_THE_STANDARD = ("https://json-schema.org/", "http://json-schema.org/")
"""What the engine has documents of its own for; a user's of that name would not be read."""
_URI_TEXT = re.compile(r"[!-~]*")
_NAMELESS = "https://nameless.invalid/schema"
"""The base of a document without an ``$id``; relative names inside it need one that has paths."""

_ONE = (
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_ROW = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_REFERENCES = ("$ref", "$dynamicRef")

Tokens = tuple[str | int, ...]


class UserSchema(NamedTuple):
    """A user's document that can be used. ``recursive``: it refers into itself."""

    catalogue: Catalogue
    root: Node
    recursive: bool


class _Part(NamedTuple):
    """One schema of the document: where it stands, and what its references are relative to."""

    tokens: Tokens
    schema: Mapping[str, Any]
    base: str


def load(document: Any, source: str) -> UserSchema:
    """Checks ``document`` and compiles it; ``source`` names it in errors.

    Raises:
        MaterialError: ``profile_malformed`` with the pointer of what cannot be used.
    """
    return _Loading(source).load(document)


class _Loading:
    def __init__(self, source: str) -> None:
        self.source = source
        self.shipped = shipped()[0].documents

    def fault(self, tokens: Tokens, detail: str, hint: str | None = None) -> MaterialError:
        return MaterialError(
            Reason.PROFILE_MALFORMED, f"{self.source}: {detail}", pointer=join(tokens), hint=hint
        )

    def load(self, document: Any) -> UserSchema:
        self._check_plain(document)
        document = deepcopy(document)
        self._check_dialect(document)
        uri = document.get("$id", _NAMELESS).partition("#")[0] or _NAMELESS
        parts = list(_parts(document, uri))
        known = {**self.shipped, uri: document}
        inner = {part.base for part in parts}
        catalogue = Catalogue(known)
        for part in parts:
            self._check_id(part, catalogue)
            self._check_patterns(part, catalogue)
            self._check_format(part, catalogue)
            self._check_references(part, catalogue, known.keys() | inner)
        root = catalogue.root(uri)
        try:
            catalogue.validator(root)
        except ValueError as error:
            reason = str(error).partition("\n")[0]
            raise self.fault((), f"it cannot be compiled: {reason[:200]!a}") from None
        return UserSchema(
            catalogue, root, any(name in part.schema for part in parts for name in _REFERENCES)
        )

    def _check_plain(self, document: Any) -> None:
        if not isinstance(document, dict):
            raise self.fault((), "a schema is an object")
        try:
            canonicalise(document)
        except InputError as error:
            raise MaterialError(
                Reason.PROFILE_MALFORMED,
                f"{self.source}: {error.detail}",
                pointer=error.pointer,
                hint=error.hint,
            ) from None

    def _check_dialect(self, document: dict[str, Any]) -> None:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import best_match

        if document.get("$schema", DIALECT) not in (DIALECT, DIALECT + "#"):
            raise self.fault(("$schema",), "only 2020-12 is read", f"write {DIALECT}")
        meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
        error = best_match(meta.iter_errors(document))
        if error is not None:
            raise self.fault(
                tuple(error.absolute_path),
                f"the meta-schema does not allow it: {error.message[:200]!a}",
            )

    def _check_id(self, part: _Part, catalogue: Catalogue) -> None:
        if "$schema" in part.schema and part.schema["$schema"] not in (DIALECT, DIALECT + "#"):
            raise self.fault((*part.tokens, "$schema"), "only 2020-12 is read", f"write {DIALECT}")
        if "$id" in part.schema and (
            part.base in self.shipped
            or part.base.lower().startswith(_THE_STANDARD)
            or catalogue.lookup(part.base) != part.schema
        ):
            raise self.fault(
                (*part.tokens, "$id"),
                "it is no URI, or already the name of another schema",
                "give the schema a URI of its own",
            )

    def _check_patterns(self, part: _Part, catalogue: Catalogue) -> None:
        places: dict[Tokens, str] = {}
        if "pattern" in part.schema:
            places[(*part.tokens, "pattern")] = part.schema["pattern"]
        for pattern in part.schema.get("patternProperties", ()):
            places[(*part.tokens, "patternProperties", pattern)] = pattern
        for tokens, pattern in places.items():
            detail = foreign(pattern)
            if detail is None and not _compiles(catalogue, "pattern", pattern):
                detail = "the pattern is malformed or too large for the linear engine"
            if detail is not None:
                raise self.fault(tokens, detail, "write it without, or check it in your own code")

    def _check_format(self, part: _Part, catalogue: Catalogue) -> None:
        name = part.schema.get("format")
        if name is not None and not _compiles(catalogue, "format", name):
            raise self.fault(
                (*part.tokens, "format"),
                f"no format {name[:60]!a} is known",
                "every format is asserted: use a known one, or a pattern",
            )

    def _check_references(self, part: _Part, catalogue: Catalogue, known: set[str]) -> None:
        for keyword in _REFERENCES:
            reference = part.schema.get(keyword)
            if reference is None:
                continue
            if _URI_TEXT.fullmatch(reference) is None:
                raise self.fault(
                    (*part.tokens, keyword), "it is no URI reference", "percent-encode its text"
                )
            target, _, fragment = reference.partition("#")
            target = _absolute(part.base, target)
            if target not in known:
                raise self.fault(
                    (*part.tokens, keyword),
                    "it leads out of this document; nothing is ever fetched",
                    "put what it refers to under $defs",
                )
            if catalogue.lookup(target, fragment) is None:
                raise self.fault((*part.tokens, keyword), "it leads to nothing")


def _compiles(catalogue: Catalogue, keyword: str, argument: str) -> bool:
    try:
        catalogue.assertion(keyword, argument)
    except ValueError:
        return False
    return True


def _absolute(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference) if reference else base
    except ValueError:  # no URI; it will be found nowhere
        return reference


def _parts(document: dict[str, Any], uri: str) -> Iterator[_Part]:
    """Every schema of ``document``, outer ones first."""
    pending: deque[tuple[Tokens, Any, str]] = deque([((), document, uri)])
    while pending:
        tokens, schema, base = pending.popleft()
        if not isinstance(schema, dict):
            continue
        if tokens and "$id" in schema:
            base = _absolute(base, schema["$id"].partition("#")[0])
        yield _Part(tokens, schema, base)
        for keyword in _ONE:
            if keyword in schema:
                pending.append(((*tokens, keyword), schema[keyword], base))
        for keyword in _ROW:
            for index, inner in enumerate(schema.get(keyword, ())):
                pending.append(((*tokens, keyword, index), inner, base))
        for keyword in _MAP:
            for name, inner in schema.get(keyword, {}).items():
                pending.append(((*tokens, keyword, name), inner, base))

"""A schema, compiled when it is first used, that decides and names what is wrong.

Source: SPEC section 5.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from taskseal.errors import MaterialError, Reason
from taskseal.profiles.schema.catalogue import NAMES, Catalogue, Node, shipped
from taskseal.profiles.schema.fault import SchemaFault, explain

if TYPE_CHECKING:
    from jsonschema_rs import Validator

DEEPEST = 128
"""How many containers may be open at once where a schema refers into itself (SPEC section 1.2)."""


class Schema:
    """One schema. Get one by :meth:`named` or :meth:`user`.

    A shipped one is compiled when it is first used, once a process. Safe to share between
    threads.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._lock = Lock()
        self._catalogue: Catalogue
        self._root: Node
        self._validator: Validator | None = None
        self._recursive = False

    @classmethod
    def named(cls, name: str) -> Schema:
        """The shipped schema ``name``, such as ``dharma.task.v1``. Reads nothing yet.

        Raises:
            MaterialError: ``profile_malformed`` when there is none of that name.
        """
        found = _SHIPPED.get(name)
        if found is None:
            raise MaterialError(
                Reason.PROFILE_MALFORMED,
                f"no schema {name[:60]!a} is shipped",
                hint=f"there are {', '.join(NAMES)}",
            )
        return found

    @classmethod
    def user(cls, document: dict[str, Any], source: str) -> Schema:
        """A user's own schema (JSON Schema 2020-12), checked and compiled at once.

        Formats are asserted, patterns have the meaning of ECMA-262 and run in linear time, and
        references lead into the document itself or to the ``$id`` of a shipped schema.

        Args:
            document: the schema as a JSON value; it is copied.
            source: where it came from, for errors.

        Raises:
            MaterialError: ``profile_malformed`` with the pointer of what cannot be used: it is
                no 2020-12 schema, a pattern needs backtracking, a format is unknown, a
                reference leads elsewhere.
        """
        from taskseal.profiles.schema.user import load

        schema = cls(source)
        schema._catalogue, schema._root, schema._recursive = load(document, source)
        schema._validator = schema._catalogue.validator(schema._root)
        return schema

    @property
    def document(self) -> dict[str, Any]:
        """The schema itself; not to be changed."""
        self._ready()
        found: dict[str, Any] = self._root.schema
        return found

    def fault(self, value: Any) -> SchemaFault | None:
        """What is wrong with ``value``, or None when it fits.

        Raises nothing for any value: one that is no plain JSON value, or is nested too deep to
        be read, does not fit.

        Raises:
            MaterialError: ``file_missing`` when the installation lacks the shipped schemas.
        """
        validator = self._validator or self._ready()
        if self._recursive and _is_deep(value):
            return SchemaFault("", f"more than {DEEPEST} containers are open at once")
        try:
            if validator.is_valid(value):
                return None
        except (ValueError, TypeError, OverflowError):
            pass  # not a JSON value: the search below says where
        return explain(self._catalogue, self._root, value)

    def _ready(self) -> Validator:
        with self._lock:
            if self._validator is None:
                self._catalogue, uris = shipped()
                self._root = self._catalogue.root(uris[self.source])
                self._validator = self._catalogue.validator(self._root)
            return self._validator


_SHIPPED = {name: Schema(name) for name in NAMES}


def _is_deep(value: Any) -> bool:
    # The engine follows a recursive schema down a value on the machine's own stack. By identity,
    # so that a value that holds a part of itself twice does not double with every level.
    level = {id(value): value} if isinstance(value, dict | list) else {}
    for _ in range(DEEPEST):
        level = {
            id(item): item
            for container in level.values()
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, dict | list)
        }
        if not level:
            return False
    return True

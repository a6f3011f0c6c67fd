"""A profile of the user's own, from a TOML file.

Every member of the file is one of the table below; an unknown one is an error. The file is
text that the caller has read: nothing here opens anything.

Source: SPEC section 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from taskseal.canon.pointer import split
from taskseal.errors import InputError, Reason
from taskseal.keys.entry import is_profile_id
from taskseal.keys.shape import Shape
from taskseal.profiles.aisa import TYPES
from taskseal.profiles.base import Binding, Kind, Profile, by_constant
from taskseal.profiles.roles import Roles, is_reserved, keep_apart, unmarked
from taskseal.profiles.schema import Schema
from taskseal.validity import MAX_LIFETIME

DEFAULT_SIZE = 1024 * 1024
"""The size limit of a custom profile that states none, in bytes."""
LARGEST_SIZE = 64 * 1024 * 1024

_RESERVED_ID = re.compile(r"(dharma|aisa|orbiplex|taskseal|a2a)\..*")

_MEMBERS = (
    "title",
    "discriminator",
    "schema",
    "canonical",
    "signature",
    "detached",
    "key_version",
    "algorithm",
    "replay_ids",
    "scope",
    "replay",
    "issued",
    "expires",
    "max_age",
    "max_lifetime",
    "past_skew",
    "principal",
    "audience",
    "size_limit",
    "digests",
)
_CODECS = ("hex", "sha256:hex", "sha256:b64url")
_KINDS: tuple[Kind, ...] = ("bytes", "text", "json", "directory")


def custom_profile(
    text: bytes, *, source: str = "profile", read_schema: Callable[[str], bytes] | None = None
) -> Profile:
    """The profile that a TOML file describes.

    Args:
        text: the file's bytes.
        source: what errors call it.
        read_schema: gives the bytes of the schema file that ``schema`` names; without it the
            schema must be a table inside the file.

    Raises:
        MaterialError: ``profile_malformed`` with the pointer of the member at fault.
    """
    shape = Shape(source, Reason.PROFILE_MALFORMED)
    value = shape.toml(text)
    shape.members(value, "", ("id",), _MEMBERS)
    return _Reader(shape, value, read_schema).profile()


class _Reader:
    """One file while it is read."""

    def __init__(
        self, shape: Shape, value: Mapping[str, Any], read_schema: Callable[[str], bytes] | None
    ) -> None:
        self.shape = shape
        self.value = value
        self.read_schema = read_schema

    def profile(self) -> Profile:
        value = self.value
        signature = self._signature()
        discriminator = self._discriminator(embedded=signature is not None)
        versions, fixed = self._key_version(signature)
        replay, scope = self._replay()
        issued, expires, max_age = self._times(signature)
        ids = tuple(pointer for _, pointer in replay)
        keep_apart(
            self.shape, Roles(signature, versions, ids, scope, issued, expires, discriminator)
        )
        title = self.shape.text(value.get("title", value["id"]), "/title", 200)
        fills: dict[str, Literal["now", "expiry", "nonce", "key_version"]] = {}
        if issued is not None:
            fills[issued] = "now"
        if expires is not None:
            fills[expires] = "expiry"
        if len(versions) == 1:
            fills[versions[0]] = "key_version"
        return Profile(
            id=self._id(),
            title=title,
            recognise=unmarked if discriminator is None else by_constant(*discriminator),
            detect=discriminator is not None,
            discriminator=discriminator,
            schema=self._schema(),
            canonical=self._canonical(),
            signature=signature,
            key_version=versions,
            fixed_key_version=fixed,
            algorithm=self._pointer("algorithm"),
            replay=replay,
            scope=scope,
            issued=issued,
            expires=expires,
            max_age=max_age,
            max_lifetime=self._duration("max_lifetime", MAX_LIFETIME),
            past_skew=self._duration("past_skew", None),
            size_limit=self.shape.number(
                value.get("size_limit", DEFAULT_SIZE), "/size_limit", 1, LARGEST_SIZE
            ),
            audience=self._pointer("audience"),
            principal=self._pointer("principal"),
            fills=fills,
            bindings=partial(_bindings, self._digests()),
        )

    def _id(self) -> str:
        found = self.value["id"]
        if not is_profile_id(found):
            raise self.shape.fault(
                "/id", "it is not a profile id", "write it as my.messages/v1: lower case, a version"
            )
        if _RESERVED_ID.match(found):
            raise self.shape.fault(
                "/id", f"{found} is a name of the house", "choose your own prefix"
            )
        return str(found)

    def _pointer(self, name: str) -> str | None:
        found = self.value.get(name)
        return None if found is None else self._as_pointer(found, "/" + name)

    def _as_pointer(self, found: object, where: str) -> str:
        try:
            if type(found) is str and found and split(found):
                return found
        except InputError:
            pass
        raise self.shape.fault(where, "a JSON pointer belongs here", "write it as /member")

    def _discriminator(self, *, embedded: bool) -> tuple[str, str] | None:
        found = self.value.get("discriminator")
        if found is None:
            return None
        shape, where = self.shape, "/discriminator"
        shape.members(found, where, ("pointer", "constant"))
        pointer = self._as_pointer(found["pointer"], where + "/pointer")
        constant = shape.text(found["constant"], where + "/constant", 200)
        taken = is_reserved(constant) or (pointer == "/type" and constant in TYPES)
        if taken and embedded:
            raise shape.fault(
                where, f"{constant} marks another kind of document", "choose a constant of your own"
            )
        return pointer, constant

    def _schema(self) -> Schema | None:
        found, source = self.value.get("schema"), self.shape.source
        if found is None:
            return None
        if isinstance(found, str) and self.read_schema is not None:
            source = f"{source}: {found}"
            found = Shape(source, Reason.PROFILE_MALFORMED).document(self.read_schema(found))
        if not isinstance(found, Mapping):
            raise self.shape.fault("/schema", "a schema (a table, or a file's name) belongs here")
        return Schema.user(dict(found), source)

    def _canonical(self) -> Literal["rfc8785", "dharma"]:
        found = self.value.get("canonical", "rfc8785")
        if found == "dharma":
            return "dharma"
        self.shape.constant(found, "/canonical", "rfc8785")
        return "rfc8785"

    def _signature(self) -> str | None:
        detached = self.shape.flag(self.value.get("detached", False), "/detached")
        pointer = self._pointer("signature")
        if detached == (pointer is not None):
            raise self.shape.fault(
                "/signature",
                "say where the signature stands, or that it is detached",
                'write signature = "/signature", or detached = true',
            )
        return pointer

    def _key_version(self, signature: str | None) -> tuple[tuple[str, ...], str | None]:
        found = self.value.get("key_version")
        if signature is None:
            if found is not None:
                raise self.shape.fault("/key_version", "a detached signature names it itself (kid)")
            return (), None
        if isinstance(found, list) and found:
            parts = [self._as_pointer(p, f"/key_version/{i}") for i, p in enumerate(found)]
            return tuple(parts), None
        text = self.shape.text(found, "/key_version", 500)
        return ((text,), None) if text.startswith("/") else ((), text)

    def _replay(self) -> tuple[tuple[tuple[str, str], ...], str | None]:
        shape, value = self.shape, self.value
        if "replay" in value:
            shape.constant(value["replay"], "/replay", "none")
            if "replay_ids" in value or "scope" in value:
                raise shape.fault("/replay", "replay is none, yet ids or a scope are named")
            return (), None
        found = value.get("replay_ids")
        if found is None:
            raise shape.fault(
                "/replay_ids",
                "say which members name a message once",
                'write replay_ids = ["/nonce"], or replay = "none" if a repeat does no harm',
            )
        ids = shape.items([found] if isinstance(found, str) else found, "/replay_ids", 2)
        pointers = [self._as_pointer(p, f"/replay_ids/{i}") for i, p in enumerate(ids)]
        return tuple((pointer, pointer) for pointer in pointers), self._pointer("scope")

    def _times(self, signature: str | None) -> tuple[str | None, str | None, int | None]:
        shape, value = self.shape, self.value
        issued, max_age = self._pointer("issued"), self._duration("max_age", None)
        if value.get("expires") == "none":
            expires = None
            if max_age is None or issued is None:
                raise shape.fault("/max_age", "expires is none: issued and max_age are needed")
        else:
            expires = self._pointer("expires")
            if max_age is not None:
                raise shape.fault("/max_age", 'it goes with expires = "none" only')
        if signature is not None and issued is None:
            raise shape.fault("/issued", "an embedded signature has no times: name the issue time")
        if signature is not None and expires is None and max_age is None:
            raise shape.fault(
                "/expires",
                "say when a message ends",
                'write expires = "/expires_at", or expires = "none" with max_age = "1h"',
            )
        if expires is not None and issued is None:
            raise shape.fault("/issued", "an expiry needs the issue time beside it")
        return issued, expires, max_age

    def _duration(self, name: str, default: int | None) -> int | None:
        if name not in self.value:
            return default
        return self.shape.span(self.value[name], "/" + name)

    def _digests(self) -> tuple[Binding, ...]:
        found = self.value.get("digests", [])
        if not isinstance(found, list):
            raise self.shape.fault("/digests", "an array of tables belongs here")
        return tuple(self._digest(item, f"/digests/{i}") for i, item in enumerate(found))

    # A material is a pointer into the envelope, or the name of an artefact.
    def _digest(self, item: object, where: str) -> Binding:
        shape = self.shape
        table = shape.members(item, where, ("pointer", "codec", "material"), ("kind", "size"))
        pointer = self._as_pointer(table["pointer"], where + "/pointer")
        if table["codec"] not in _CODECS:
            raise shape.fault(where + "/codec", f"one of {', '.join(_CODECS)} belongs here")
        material = shape.text(table["material"], where + "/material", 500)
        inline = material.startswith("/")
        kind = table.get("kind", "json" if inline else "bytes")
        if kind not in (_KINDS[1:3] if inline else _KINDS):
            raise shape.fault(where + "/kind", f"one of {', '.join(_KINDS)} belongs here")
        return Binding(
            name=f"digest {pointer}",
            pointer=pointer,
            codec=table["codec"],
            kind=kind,
            ref=None if inline else material,
            inline=self._as_pointer(material, where + "/material") if inline else None,
            size_pointer=(
                self._as_pointer(table["size"], where + "/size") if "size" in table else None
            ),
        )


def _bindings(bindings: tuple[Binding, ...], envelope: Mapping[str, Any]) -> tuple[Binding, ...]:
    return bindings

"""The signature inside the envelope: bare bytes, one member left out.

What is signed is the canonical form of the object without its signature member; nothing is
put in front of it. What keeps it apart from other uses of the key is the discriminator inside
and the rule that such a key has one bare profile (SPEC sections 4.7 and 6).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.canon.pointer import MISSING, resolve, split
from taskseal.errors import InputError, Reason
from taskseal.wire.base import Draft, Form, Sealing


def without(value: dict[str, Any], pointers: Iterable[str]) -> dict[str, Any]:
    """A copy of ``value`` without the members at ``pointers``; what is not on a path is shared."""
    copy = value
    for pointer in pointers:
        copy = _without_one(copy, split(pointer))
    return copy


def _without_one(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    name, rest = path[0], path[1:]
    if name not in value:
        return value
    copy = dict(value)
    if not rest:
        del copy[name]
    elif type(copy[name]) is dict:
        copy[name] = _without_one(copy[name], rest)
    return copy


def read_signature(value: dict[str, Any], pointer: str) -> bytes:
    """The signature's bytes at ``pointer``.

    Raises:
        InputError: ``signature_missing`` when it is absent, null or empty,
            ``signature_malformed`` when it is not strict base64url.
    """
    text = resolve(value, pointer)
    if text is MISSING or text is None or text == "":
        raise InputError(Reason.SIGNATURE_MISSING, "the member holds no signature", pointer=pointer)
    raw = b64url_decode(text)
    if raw is None:
        raise InputError(
            Reason.SIGNATURE_MALFORMED, "it is not base64url in its one spelling", pointer=pointer
        )
    return raw


def put(value: dict[str, Any], pointer: str, item: object) -> dict[str, Any]:
    """A copy of ``value`` with ``item`` at ``pointer``; objects on the way are made as needed.

    Raises:
        InputError: ``schema_invalid`` when something on the way is not an object.
    """
    name, *rest = split(pointer)
    copy = dict(value)
    if not rest:
        copy[name] = item
        return copy
    inner = copy.get(name, {})
    if type(inner) is not dict:
        raise InputError(Reason.SCHEMA_INVALID, "it is not an object", pointer="/" + name)
    copy[name] = put(
        inner, "".join("/" + t.replace("~", "~0").replace("/", "~1") for t in rest), item
    )
    return copy


def _write(draft: Draft) -> Sealing:
    value, pointer = dict(draft.subject.value), draft.subject.pointer
    assert pointer is not None, "a profile that is signed so says where"
    return Sealing(
        draft.subject.payload,
        lambda signature: canonicalise(put(value, pointer, b64url_encode(signature))),
    )


EMBEDDED = Form(name="embedded", formats=("embedded",), place="inside", write=_write)
"""A member of the document; only its profile knows which, and where the key version stands."""

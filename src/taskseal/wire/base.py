"""What every form of a signature has in common: how it is told, read and written.

A form is one file of this room and one row of :mod:`.forms`. Nothing here knows keys or
profiles: what a form has to know of them comes in as plain values.

Source: SPEC section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from taskseal.errors import InputError
from taskseal.validity import Instant
from taskseal.wire.jws import Jws

MAX_SEALS = 16
"""Signatures that one message may carry; each costs a check."""

Place = Literal["inside", "around", "beside"]
"""Where a signature stands: in a member of the document, as its wrapping, in a file of its own."""
Times = Literal["window", "issue", "none"]
"""What a form says of time: issue and expiry, the issue alone, or nothing."""


class Subject(NamedTuple):
    """What is signed. ``payload`` is the canonical form of ``value``, ``profile`` the id of what
    it is, ``tag`` its own system's name for that, and ``pointer`` where an embedded signature
    stands in it.
    """

    payload: bytes
    value: Mapping[str, Any]
    profile: str
    tag: str
    pointer: str | None = None


class Holder(NamedTuple):
    """A public key that a signature shows instead of naming its version.

    ``algorithm`` is the JOSE name; ``point`` the 32 bytes of Ed25519, or the compressed point.
    """

    algorithm: str
    point: bytes


class Received(NamedTuple):
    """One signature as received; nothing of it is proven.

    ``signing_input`` gives the bytes signed, or raises :class:`InputError` where the signature
    cannot be one over that subject. A signature that is ``attached`` covers what came with it,
    whatever the canonical form is. ``typ`` is what the signature says that it is for.
    ``audience`` is None where the form has no place for one. ``at`` points to what the signature
    says of itself and ``signature_at`` to the signature, in what was received. ``fault`` is why
    nothing more could be read of one signature among several.
    """

    signature: bytes
    signing_input: Callable[[Subject], bytes]
    attached: bool = False
    key_version: str | None = None
    issuer: str | None = None
    alg: str | None = None
    typ: str | None = None
    holder: Holder | None = None
    issued: Instant | None = None
    expires: Instant | None = None
    audience: tuple[str, ...] | None = None
    at: str | None = None
    signature_at: str | None = None
    jws: Jws | None = None
    fault: InputError | None = None


class Sealed(NamedTuple):
    """The signatures of one message; ``payload`` is what they came around, if they did."""

    seals: tuple[Received, ...]
    payload: bytes | None = None


class Draft(NamedTuple):
    """A signature to be made.

    ``alg`` is the JOSE name to write, ``algorithm`` the key's own and ``public`` its raw public
    half. Instants are nanoseconds since 1970, None where the form says nothing of them.
    ``existing`` is the value that already carries signatures, when one is to be added to it.
    """

    subject: Subject
    format: str
    key_version: str
    issuer: str
    alg: str
    algorithm: str
    public: bytes
    issued: Instant | None = None
    expires: Instant | None = None
    nonce: str | None = None
    audience: str | None = None
    existing: Any = None


class Sealing(NamedTuple):
    """The bytes to sign, and what makes the finished file of their signature."""

    signing_input: bytes
    finish: Callable[[bytes], bytes]


def no_mark(profile: str) -> str | None:
    """The mark of a form whose signatures do not say what they are for."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One way in which signatures travel.

    ``formats`` are the names under which `sign` writes it. ``detect`` tells it: around a document
    from its JSON value, beside one from the file's JSON value, or its bytes where it is not JSON.
    ``read`` takes the same, or the document itself for signatures inside; None where only a
    profile knows where the signature stands. ``mark`` is what ``typ`` must be for a profile id.
    ``audience`` says whether there is a place for one; ``algorithms`` are the JOSE names of those
    that it can carry, None for all.
    """

    name: str
    formats: tuple[str, ...]
    place: Place
    write: Callable[[Draft], Sealing]
    detect: Callable[[Any], bool] = field(default=lambda value: False)
    read: Callable[[Any], Sealed] | None = None
    mark: Callable[[str], str | None] = no_mark
    times: Times = "none"
    audience: bool = False
    algorithms: frozenset[str] | None = None


def dotted(profile: str) -> str:
    """A profile id as media types and namespaces spell it: ``aisa.message.v1``."""
    return profile.replace("/", ".")

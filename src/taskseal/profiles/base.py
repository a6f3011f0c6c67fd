"""What a profile says: one frozen value per kind of envelope.

A profile names where things stand (by RFC 6901 pointer), which digests bind what, and the
checks beyond JSON Schema. It does no I/O and reads no clock; what a check may look at comes
in as :class:`Facts`.

Source: SPEC section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from taskseal.canon.pointer import resolve, split
from taskseal.errors import Reason
from taskseal.profiles.schema import Schema
from taskseal.validity import MAX_LIFETIME, Instant
from taskseal.wire.forms import FORMS

Result = Literal["passed", "failed", "skipped"]
Kind = Literal["bytes", "text", "json", "nfc-json", "directory", "skill", "bundle"]
Envelope = Mapping[str, Any]


class Check(NamedTuple):
    """One line of the check list: what was looked at and how it went.

    ``reason`` stands on failed checks, ``detail`` on failed and skipped ones, ``pointer`` on failed
    ones and on those of a digest.
    """

    check: str
    result: Result
    reason: Reason | None = None
    detail: str = ""
    pointer: str | None = None


def passed(check: str, pointer: str | None = None) -> Check:
    """``check`` held."""
    return Check(check, "passed", None, "", pointer)


def skipped(check: str, why: str, pointer: str | None = None) -> Check:
    """``check`` could not be made; ``why`` says what was not supplied."""
    return Check(check, "skipped", None, why, pointer)


def failed(check: str, reason: Reason, detail: str, pointer: str | None) -> Check:
    """``check`` did not hold at ``pointer``."""
    return Check(check, "failed", reason, detail, pointer)


@dataclass(frozen=True, slots=True)
class Context:
    """What the receiver knows beside the message, one mapping a system.

    The members are those of ``schemas/taskseal.context.v1.schema.json``; an Orbiplex binding is
    the object itself here, never a path.
    """

    aisa: Mapping[str, Any] = field(default_factory=dict)
    orbiplex: Mapping[str, Any] = field(default_factory=dict)
    dharma: Mapping[str, Any] = field(default_factory=dict)


NO_CONTEXT = Context()
"""Nothing is known beside the message."""


@dataclass
class Facts:
    """What a profile's checks may look at. They get the examination itself, as this type: nothing
    else of it is their affair, and they write nothing into it.

    ``now`` is in nanoseconds since 1970. ``signing`` is true when the sender's own tool asks.
    ``fence_in_ledger`` is true when a ledger will compare the fence epoch in its transaction.
    """

    envelope: Envelope
    now: Instant
    context: Context = NO_CONTEXT
    signing: bool = False
    fence_in_ledger: bool = False
    allow_truncated: bool = False


class Binding(NamedTuple):
    """A digest in the envelope and the material that it covers.

    ``pointer`` is where the digest stands and ``codec`` how it is spelt; ``size_pointer`` is
    where the size in bytes stands, if anywhere. The material is either in the envelope
    (``inline``, a pointer), or an artefact that the caller names by ``ref``. ``kind`` says how
    the material becomes bytes. ``any_case`` marks a digest whose schema also takes upper-case
    hexadecimal (Dharma's ``contentHash``): it is read in lower case.
    """

    name: str
    pointer: str
    codec: str
    kind: Kind
    ref: str | None = None
    inline: str | None = None
    size_pointer: str | None = None
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class AisaIdentity:
    """Who this receiver is among AISA tasks; what a ready DeadEnd is sent as."""

    task_id: str
    profile_key: str
    profile_version: int
    task_path: str
    runtime_version: str | None = None


Checks = Iterable[Check]


def _no_bindings(envelope: Envelope) -> Iterable[Binding]:
    return ()


def _no_advance(envelope: Envelope) -> tuple[str, int] | None:
    return None


def _no_answer(facts: Facts, reason: Reason, me: AisaIdentity) -> dict[str, Any] | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One kind of envelope: where things stand in it and what must hold.

    Pointers are RFC 6901. ``signature`` is None when the schema has no place for one, so that
    it travels outside. ``replay`` pairs a name with the pointer of an id; ``scope`` is the
    member beside profile and issuer that an id is unique in. ``key_version`` holds the pointers
    whose values, joined with ``#``, are the key version of an embedded signature;
    ``fixed_key_version`` is used where the envelope has none. ``fills`` says what `sign` puts
    where the document has nothing. ``identity`` maps a receiver's member to where it stands.
    ``size_limit`` is in bytes, ``max_lifetime`` and ``max_age`` in nanoseconds.
    ``fold`` lists replay ids that compare without letter case. ``detect`` is false for a profile
    that is chosen by name only; then ``recognise`` says which documents it leaves to others.
    ``signed`` is the part that an embedded signature covers, where it is not all but the
    signature. ``forms`` are the only forms that a signature may have; None leaves them to policy.
    ``decision`` is where an action decision stands, ``""`` when the document is one.
    ``tag`` is its own system's name for the kind of document, where signatures name that.
    ``covered`` gives, by the name of the rule, what a signature may cover where that is not the
    document as it is. ``known`` is asked before the schema, ``semantics`` after it, ``relations``
    of what the receiver knows and ``rules`` of what the standard allows and we do not; None where
    there is nothing to ask. ``timeless`` marks a document that may go without any times.
    """

    id: str
    title: str
    recognise: Callable[[Any], bool]
    detect: bool = True
    discriminator: tuple[str, str] | None = None
    schema: Schema | None = None
    schema_reason: Reason = Reason.SCHEMA_INVALID
    canonical: Literal["rfc8785", "dharma"] = "rfc8785"
    signature: str | None = None
    signed: str | None = None
    forms: tuple[str, ...] | None = None
    decision: str | None = None
    tag: str | None = None
    covered: Callable[[Envelope], Iterable[tuple[str, dict[str, Any]]]] | None = None
    timeless: bool = False
    key_version: tuple[str, ...] = ()
    fixed_key_version: str | None = None
    algorithm: str | None = None
    replay: tuple[tuple[str, str], ...] = ()
    fold: frozenset[str] = frozenset()
    scope: str | None = None
    issued: str | None = None
    expires: str | None = None
    max_age: int | None = None
    max_lifetime: int | None = MAX_LIFETIME
    past_skew: int | None = None
    size_limit: int
    audience: str | None = None
    principal: str | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    fills: Mapping[str, Literal["now", "expiry", "nonce", "key_version"]] = field(
        default_factory=dict
    )
    known: Callable[[Facts], Checks] | None = None
    semantics: Callable[[Facts], Checks] | None = None
    bindings: Callable[[Envelope], Iterable[Binding]] = _no_bindings
    relations: Callable[[Facts], Checks] | None = None
    rules: Callable[[Facts], Checks] | None = None
    advance: Callable[[Envelope], tuple[str, int] | None] = _no_advance
    answer: Callable[[Facts, Reason, AisaIdentity], dict[str, Any] | None] = _no_answer
    form: str = field(init=False)
    """The form that the profile is signed in unless another is asked for."""

    def __post_init__(self) -> None:
        form = "jws" if self.signature is None else "embedded"
        if self.forms is not None:
            form = self.forms[0] if self.forms else "digest"
        object.__setattr__(self, "form", form)

    @property
    def typ(self) -> str:
        """The JOSE ``typ`` that keeps this profile apart from all others (SPEC section 6)."""
        return f"vnd.taskseal.{self.id.replace('/', '.')}+jws"

    def has_form(self, form: str) -> bool:
        """Whether a signature may have ``form`` at all, whatever a policy says."""
        if self.forms is not None:
            return form in self.forms
        known = FORMS.get(form)
        if known is None or known.place != "inside":
            return known is not None
        return form == "embedded" and self.signature is not None

    @property
    def domain(self) -> str:
        """What tells it apart from all others where a signature names no media type."""
        return self.tag or self.id

    @property
    def bare(self) -> bool:
        """Whether its own form signs bytes that no header keeps apart (SPEC section 4.7)."""
        return self.signature is not None


def by_constant(pointer: str, constant: str) -> Callable[[Any], bool]:
    """Recognises an envelope by one constant member."""

    names = split(pointer)
    if len(names) == 1:
        (name,) = names

        def recognise_member(value: Any) -> bool:
            return type(value) is dict and value.get(name) == constant

        return recognise_member

    def recognise(value: Any) -> bool:
        return resolve(value, pointer) == constant

    return recognise

"""What a receiver allows, and who it is.

Source: SPEC sections 3, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeVar

from taskseal.profiles.base import AisaIdentity, Profile
from taskseal.profiles.schema import Schema
from taskseal.validity import FUTURE_SKEW, MAX_AGE, PAST_SKEW, Limits
from taskseal.wire.forms import FORMS as BY_NAME

FORMS: tuple[str, ...] = tuple(BY_NAME)
"""The names of the forms in which a signature travels."""


@dataclass(frozen=True, slots=True)
class ProfilePolicy:
    """What holds for one profile in place of the policy's own; None leaves that as it is.

    ``ceiling`` is a stricter schema of the receiver's own, laid over the profile's: what the
    message asks for beyond it is ``ceiling_exceeded``.
    """

    future_skew: int | None = None
    past_skew: int | None = None
    max_age: int | None = None
    require_artefacts: bool | None = None
    require_receipt: bool | None = None
    allow_truncated: bool | None = None
    ceiling: Schema | None = None


_NOTHING_OWN = ProfilePolicy()


class Terms(NamedTuple):
    """What a policy says of one profile, every default settled.

    ``forms`` are those in which a message may arrive, ``oldest`` how many nanoseconds old one may
    be where nothing says when it ends. ``artefacts`` says that everything bound must be supplied,
    ``receipt`` that a decision must come with it, ``truncated`` that it may say that something in
    it was cut off; ``ceiling`` is the receiver's own schema for it.
    """

    profile: Profile
    forms: frozenset[str]
    limits: Limits
    oldest: int
    artefacts: bool
    receipt: bool
    truncated: bool
    ceiling: Schema | None


@dataclass(frozen=True, slots=True)
class Policy:
    """What this receiver allows beyond, or forbids within, the standard.

    Times are nanoseconds. ``allow_forms`` adds to a profile's own form and ``jws-detached``;
    ``forms`` replaces them for a profile id. ``max_lifetime`` replaces a profile's own.
    ``unversioned_key`` is the key version for messages that name none. ``max_age`` is for AISA
    messages in a form without times. ``require_receipt`` refuses a Dharma task that comes without
    a decision; ``allow_unauthorised`` accepts one whose decision is not to release it, for audits.
    ``allow_signed_before_revocation`` accepts, for audits, a message by a revoked key when evidence
    shows that it is older than the revocation. ``per_profile`` holds by profile id what differs.
    ``threshold`` is how many distinct trusted keys must have signed a message.
    """

    allow_forms: frozenset[str] = frozenset()
    forms: Mapping[str, frozenset[str]] = field(default_factory=dict)
    future_skew: int = FUTURE_SKEW
    past_skew: int = PAST_SKEW
    max_lifetime: Mapping[str, int] = field(default_factory=dict)
    max_age: int = MAX_AGE
    require_artefacts: bool = False
    allow_published_keys: bool = False
    allow_truncated: bool = False
    require_receipt: bool = False
    allow_unauthorised: bool = False
    allow_signed_before_revocation: bool = False
    unversioned_key: str | None = None
    threshold: int = 1
    per_profile: Mapping[str, ProfilePolicy] = field(default_factory=dict)

    def terms(self, profile: Profile) -> Terms:
        """What holds for ``profile``."""
        own = self.per_profile.get(profile.id, _NOTHING_OWN)
        replaced = self.forms.get(profile.id)
        taken = (profile.form, "jws-detached") if replaced is None else replaced
        return Terms(
            profile,
            frozenset(form for form in {*taken, *self.allow_forms} if profile.has_form(form)),
            Limits(
                _either(own.future_skew, self.future_skew),
                _either(own.past_skew, _either(profile.past_skew, self.past_skew)),
                self.max_lifetime.get(profile.id, profile.max_lifetime),
            ),
            _either(own.max_age, self.max_age),
            _either(own.require_artefacts, self.require_artefacts),
            _either(own.require_receipt, self.require_receipt),
            _either(own.allow_truncated, self.allow_truncated),
            own.ceiling,
        )


T = TypeVar("T")


def _either(own: T | None, general: T) -> T:
    return general if own is None else own


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the receiver is; a member not given is not compared.

    ``audience`` meets a header's ``aud`` or a custom profile's audience member; the others meet
    a Dharma task's ``organizationId``, ``workspaceId`` and ``target.deviceId``. ``aisa`` is what
    a ready DeadEnd is sent as. ``Identity.ANY`` spells out that no one is refused for it.
    """

    audience: str | None = None
    organisation: str | None = None
    workspace: str | None = None
    device: str | None = None
    aisa: AisaIdentity | None = None
    any: bool = False

    ANY: ClassVar[Identity]

    @property
    def stated(self) -> bool:
        """Whether it says anything at all, if only that anyone will do."""
        return self.any or any(
            (self.audience, self.organisation, self.workspace, self.device, self.aisa)
        )


Identity.ANY = Identity(any=True)

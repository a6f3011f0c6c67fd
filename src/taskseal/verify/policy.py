"""What a receiver allows, and who it is.

Source: SPEC sections 3, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

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

    def takes(self, profile: Profile, form: str) -> bool:
        """Whether ``profile`` may arrive in ``form``."""
        if not profile.has_form(form):
            return False
        if form in self.allow_forms:
            return True
        own = self.forms.get(profile.id)
        return form in own if own is not None else form in (profile.form, "jws-detached")

    def limits(self, profile: Profile) -> Limits:
        """The skews and the longest lifetime that hold for ``profile``."""
        own = self._own(profile)
        future = self.future_skew if own.future_skew is None else own.future_skew
        past = profile.past_skew if own.past_skew is None else own.past_skew
        longest = self.max_lifetime.get(profile.id, profile.max_lifetime)
        return Limits(future, self.past_skew if past is None else past, longest)

    def oldest(self, profile: Profile) -> int:
        """How old a message of ``profile`` may be where nothing says when it ends."""
        own = self._own(profile).max_age
        return self.max_age if own is None else own

    def wants_artefacts(self, profile: Profile) -> bool:
        """Whether every artefact that a message of ``profile`` binds must be supplied."""
        own = self._own(profile).require_artefacts
        return self.require_artefacts if own is None else own

    def wants_receipt(self, profile: Profile) -> bool:
        """Whether a task of ``profile`` must come with a decision."""
        own = self._own(profile).require_receipt
        return self.require_receipt if own is None else own

    def takes_truncated(self, profile: Profile) -> bool:
        """Whether a message of ``profile`` may say that something in it was cut off."""
        own = self._own(profile).allow_truncated
        return self.allow_truncated if own is None else own

    def ceiling(self, profile: Profile) -> Schema | None:
        """The receiver's own schema for ``profile``, if it has one."""
        return self._own(profile).ceiling

    def _own(self, profile: Profile) -> ProfilePolicy:
        return self.per_profile.get(profile.id, _NOTHING_OWN)


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

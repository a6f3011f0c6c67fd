"""What a receiver allows, and who it is.

Source: SPEC sections 3, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from taskseal.profiles.base import AisaIdentity, Profile
from taskseal.validity import FUTURE_SKEW, MAX_AGE, PAST_SKEW, Limits

FORMS: tuple[str, ...] = ("embedded", "jws", "jws-detached")
"""The forms in which a signature travels."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What this receiver allows beyond, or forbids within, the standard.

    Times are nanoseconds. ``allow_forms`` adds to a profile's own form and ``jws-detached``;
    ``forms`` replaces them for a profile id. ``max_lifetime`` replaces a profile's own.
    ``unversioned_key`` is the key version for messages that name none. ``max_age`` is for AISA
    messages in a form without times. ``require_receipt`` refuses a Dharma task that comes without
    a decision; ``allow_unauthorised`` accepts one whose decision is not to release it, for audits.
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
    unversioned_key: str | None = None

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
        past = self.past_skew if profile.past_skew is None else profile.past_skew
        longest = self.max_lifetime.get(profile.id, profile.max_lifetime)
        return Limits(self.future_skew, past, longest)


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

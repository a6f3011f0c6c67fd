"""The ``[policy]`` table and those within it, one a profile.

What ``[policy]`` says holds for every profile; what ``[policy."PROFILE ID"]`` says, for that one
instead.

Source: SPEC sections 3, 6, 7 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from taskseal.canon.pointer import join
from taskseal.config.permissions import LONGEST_PATH
from taskseal.errors import MaterialError, Reason
from taskseal.keys.shape import Shape
from taskseal.keys.version import MAX_KEY_VERSION
from taskseal.profiles import Profile
from taskseal.profiles.schema import Schema
from taskseal.validity import SECOND
from taskseal.verify.policy import FORMS, Policy, ProfilePolicy

_SPANS = ("future_skew", "past_skew", "max_age")
_FLAGS = ("require_artefacts", "require_receipt", "allow_truncated")
_BOTH = ("forms", "max_lifetime", *_SPANS, *_FLAGS)
_DEFAULTS = (*_BOTH, "allow_published_keys", "unversioned_key")


class _Common(TypedDict, total=False):
    future_skew: int
    past_skew: int
    max_age: int
    require_artefacts: bool
    require_receipt: bool
    allow_truncated: bool


def read_policy(
    value: object,
    shape: Shape,
    profiles: Mapping[str, Profile],
    read_schema: Callable[[str], tuple[bytes, str]],
) -> Policy:
    """The policy that the table holds.

    Args:
        value: what stands under ``policy``.
        shape: how the file is read.
        profiles: the profiles at hand; others have no policy.
        read_schema: gives the bytes of the schema file that ``ceiling`` names, and its path.

    Raises:
        MaterialError: ``config_malformed`` with the pointer of the first fault, in a ceiling
            that of its own file; ``config_unsafe``.
        InputError: a file code.
    """
    top = shape.members(value, "/policy", (), (*_DEFAULTS, *profiles))
    forms, longest = _defaults(top, shape, profiles)
    per_profile: dict[str, ProfilePolicy] = {}
    for id in profiles.keys() & top.keys():
        kind, at = profiles[id], "/policy" + join([id])
        own = shape.members(top[id], at, (), (*_BOTH, "ceiling"))
        if "forms" in own:
            forms[id] = _forms(own["forms"], f"{at}/forms", shape, kind)
        if "max_lifetime" in own:
            longest[id] = _lifetime(own, at, shape)
        if "require_receipt" in own and not kind.decision:
            raise shape.fault(f"{at}/require_receipt", f"no {id} ever carries a decision")
        ceiling = None
        if "ceiling" in own:
            ceiling = _ceiling(own["ceiling"], f"{at}/ceiling", shape, read_schema)
        found = ProfilePolicy(**_common(own, at, shape), ceiling=ceiling)
        if found != ProfilePolicy():
            per_profile[id] = found
    version = top.get("unversioned_key")
    if version is not None:
        shape.text(version, "/policy/unversioned_key", MAX_KEY_VERSION)
    return Policy(
        **_common(top, "/policy", shape),
        forms=forms,
        max_lifetime=longest,
        allow_published_keys=shape.flag(
            top.get("allow_published_keys", False), "/policy/allow_published_keys"
        ),
        unversioned_key=version,
        per_profile=per_profile,
    )


def _defaults(
    top: Mapping[str, Any], shape: Shape, profiles: Mapping[str, Profile]
) -> tuple[dict[str, frozenset[str]], dict[str, int]]:
    """What holds for all, profile by profile: the forms, and the longest lifetimes.

    It shortens what a profile sets itself and never lengthens it, as for receipts.
    """
    forms: dict[str, frozenset[str]] = {}
    longest: dict[str, int] = {}
    if "forms" in top:
        found = _forms(top["forms"], "/policy/forms", shape)
        forms = dict.fromkeys(profiles, found)
    if "max_lifetime" in top:
        most = _lifetime(top, "/policy", shape)
        for id, kind in profiles.items():
            if kind.max_lifetime is None or most < kind.max_lifetime:
                longest[id] = most
    return forms, longest


def _common(given: Mapping[str, Any], at: str, shape: Shape) -> _Common:
    """The members that stand for all profiles and for one alike."""
    found: Any = {}  # whose names are those of the class
    for name in _SPANS:
        if name in given:
            least = SECOND if name == "max_age" else 0
            found[name] = shape.span(given[name], f"{at}/{name}", least)
    for name in _FLAGS:
        if name in given:
            found[name] = shape.flag(given[name], f"{at}/{name}")
    common: _Common = found
    return common


def _lifetime(given: Mapping[str, Any], at: str, shape: Shape) -> int:
    return shape.span(given["max_lifetime"], f"{at}/max_lifetime", SECOND)


def _forms(value: object, at: str, shape: Shape, kind: Profile | None = None) -> frozenset[str]:
    """Forms of signature; those of one profile must be ones that it can have."""
    known = [form for form in FORMS if kind is None or kind.has_form(form)]
    if not known and kind is not None:
        raise shape.fault(at, f"{kind.id} is never signed")
    listed = enumerate(shape.items(value, at))
    return frozenset(shape.one_of(form, f"{at}/{index}", known) for index, form in listed)


def _ceiling(
    value: object, at: str, shape: Shape, read_schema: Callable[[str], tuple[bytes, str]]
) -> Schema:
    """A JSON Schema in a file of its own, or as a table in this one."""
    source = f"{shape.source}: {at}"
    if isinstance(value, str):
        data, source = read_schema(shape.text(value, at, LONGEST_PATH))
        value = Shape(source, shape.code).document(data)
    if not isinstance(value, Mapping):
        raise shape.fault(at, "a schema (the name of its file, or a table) belongs here")
    try:
        return Schema.user(dict(value), source)
    except MaterialError as fault:
        if fault.code is not Reason.PROFILE_MALFORMED:
            raise
        raise MaterialError(
            shape.code, fault.detail, pointer=fault.pointer, hint=fault.hint
        ) from None

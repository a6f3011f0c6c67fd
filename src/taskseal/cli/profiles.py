"""``profiles``: the kinds of document that are known, and the check of one's own.

Source: SPEC sections 5 and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.cli.main import SETTINGS, LazyGroup
from taskseal.cli.options import FILE
from taskseal.validity import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from taskseal import Profile

_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"))


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    homes={"list": "profiles:list_profiles", "show": "profiles:show", "check": "profiles:check"},
)
@output.json_option
def profiles() -> None:
    """List, show and check kinds of document."""


@click.command("list", context_settings=SETTINGS)
@output.json_option
def list_profiles() -> int:
    """List the built-in profiles."""
    from taskseal import BUILT_IN

    if output.wants_json():
        output.record({"profiles": [as_json(profile) for profile in BUILT_IN.values()]})
        return 0
    output.table(
        ("PROFILE", "FORM", "LARGEST", "WHAT"),
        [
            (profile.id, profile.form, _size(profile.size_limit), profile.title)
            for profile in BUILT_IN.values()
        ],
    )
    return 0


@click.command(context_settings=SETTINGS)
@click.argument("profile_id", metavar="ID|FILE.toml", type=FILE)
@output.json_option
def show(profile_id: str) -> int:
    """Show where things stand in a document of a profile."""
    found = opening.profile_named(profile_id)
    assert found is not None
    _tell(found)
    return 0


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE.toml", type=FILE)
@output.json_option
def check(file: str) -> int:
    """Check a profile of your own and show how it reads.

    \b
    Example:
      taskseal profiles check my.profile.toml
    """
    _tell(opening.profile_file(file))
    return 0


def _tell(profile: Profile) -> None:
    if output.wants_json():
        output.record(as_json(profile))
        return
    found = as_json(profile)
    mark = found["discriminator"]
    output.line(output.shown(profile.id))
    output.fields(
        [
            ("title", profile.title),
            ("recognised by", _mark(mark) if mark else _unmarked(profile)),
            ("signed", _signed(profile)),
            ("typ", profile.typ),
            ("canonical", profile.canonical),
            ("key version", found["keyVersion"]),
            ("algorithm", profile.algorithm),
            ("replay ids", found["replayIds"] or "none: a repeat is taken again"),
            ("scope", profile.scope or "the issuer"),
            ("issued", profile.issued),
            ("expires", profile.expires or _by_age(profile)),
            ("lives at most", span(profile.max_lifetime)),
            ("past skew", span(profile.past_skew)),
            ("largest", _size(profile.size_limit)),
            ("audience", profile.audience),
            ("principal", profile.principal),
            ("identity", [f"{name}: {at}" for name, at in profile.identity.items()] or None),
            ("digests", [_digest(each) for each in found["digests"]] or None),
            ("schema", "yes" if found["schema"] else "no: its members are not checked"),
            ("filled in", [f"{at}: {what}" for at, what in profile.fills.items()] or None),
        ]
    )


def as_json(profile: Profile) -> dict[str, Any]:
    """What a profile says, as JSON; spans such as ``24h``."""
    mark = profile.discriminator
    return {
        "id": profile.id,
        "title": profile.title,
        "form": profile.form,
        "discriminator": None if mark is None else {"pointer": mark[0], "constant": mark[1]},
        "detected": profile.detect,
        "canonical": profile.canonical,
        "signature": profile.signature,
        "signed": profile.signed,
        "typ": profile.typ,
        "keyVersion": list(profile.key_version) or profile.fixed_key_version,
        "algorithm": profile.algorithm,
        "replayIds": [pointer for _, pointer in profile.replay],
        "scope": profile.scope,
        "issued": profile.issued,
        "expires": profile.expires,
        "maxAge": span(profile.max_age),
        "maxLifetime": span(profile.max_lifetime),
        "pastSkew": span(profile.past_skew),
        "sizeLimit": profile.size_limit,
        "audience": profile.audience,
        "principal": profile.principal,
        "identity": dict(profile.identity),
        "fills": dict(profile.fills),
        "digests": [
            {
                "pointer": each.pointer,
                "codec": each.codec,
                "material": each.inline or each.ref,
                "kind": each.kind,
            }
            # Those that every document has; what it lists itself may bring more.
            for each in profile.bindings({})
        ],
        "schema": profile.schema is not None,
    }


def span(nanoseconds: int | None) -> str | None:
    """A span as options and profile files spell it."""
    if nanoseconds is None:
        return None
    for unit, letter in _UNITS:
        if nanoseconds and nanoseconds % unit == 0:
            return f"{nanoseconds // unit}{letter}"
    return f"{nanoseconds / SECOND:g}s"


def _size(limit: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if limit % unit == 0:
            return f"{limit // unit} {name}"
    return f"{limit} bytes"


def _digest(each: dict[str, str]) -> str:
    return f"{each['pointer']} = {each['codec']} of {each['material']} ({each['kind']})"


def _mark(mark: dict[str, str]) -> str:
    return f"{mark['pointer']} = {mark['constant']}"


def _unmarked(profile: Profile) -> str:
    return "its members" if profile.detect else "--profile only"


def _signed(profile: Profile) -> str:
    if profile.form == "digest":
        return "never: others bind its digest"
    if profile.signature is None:
        return "from outside (jws, jws-detached)"
    part = "" if profile.signed is None else f", over {profile.signed}"
    return f"in place, at {profile.signature}{part}"


def _by_age(profile: Profile) -> str:
    age = span(profile.max_age)
    return "the signature's expiry" if age is None else f"{age} after issue"

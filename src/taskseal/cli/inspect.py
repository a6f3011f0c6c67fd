"""``inspect``: what a message says of itself, with nothing verified.

Source: SPEC section 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.cli.desk import identity_of
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import (
    FILE,
    Checking,
    at_option,
    checking_options,
    identity_options,
    read_checking,
    read_identity,
)
from taskseal.errors import InputError, Reason, TasksealError

if TYPE_CHECKING:
    from taskseal import Profile
    from taskseal.wire.base import Received
    from taskseal.wire.jws import Header

WARNING = "NOT VERIFIED: this is what the message says of itself"

LONGEST = 200
"""Characters of a value that the text output shows."""


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@checking_options
@identity_options
@at_option("Verify")
@output.json_option
def inspect(file: str, at: str | None, **given: Any) -> int:
    """Show what a message says of itself; NOTHING is verified.

    The options of verify are taken so that a command line can be reused; trust is not asked. - is
    standard input.

    \b
    Example:
      taskseal inspect sealed.json
    """
    options = read_checking(given)
    identity_of(read_identity(given))
    opening.instant(at)
    found = _look(file, options)
    if output.wants_json():
        output.record(found.to_json())
    else:
        _tell(file, found)
    return 0


@dataclass(slots=True)
class Seen:
    """What could be read of a message, and what could not (``faults``)."""

    size: int
    form: str | None = None
    seals: tuple[Received, ...] = ()
    profile: Profile | None = None
    envelope: Any = None
    digest: str | None = None
    faults: list[TasksealError] = field(default_factory=list)

    def member(self, pointer: str | None) -> Any:
        """What stands at ``pointer``, or None."""
        from taskseal.canon.pointer import resolve

        return None if pointer is None else resolve(self.envelope, pointer, None)

    @property
    def header(self) -> Header | None:
        """The JOSE header of the signature, or of the first of several."""
        return next((seal.jws.header for seal in self.seals if seal.jws is not None), None)

    @property
    def key_version(self) -> Any:
        """The key version that the message names."""
        if self.seals or self.profile is None:
            return next((seal.key_version for seal in self.seals), None)
        parts = [self.member(pointer) for pointer in self.profile.key_version]
        named = [str(part) for part in parts if isinstance(part, str | int)]
        return "#".join(named) or self.profile.fixed_key_version

    def digests(self) -> list[dict[str, Any]]:
        """Each digest of the envelope, and what it covers."""
        if self.profile is None or any(f.code is Reason.SCHEMA_INVALID for f in self.faults):
            return []
        return [
            {
                "pointer": binding.pointer,
                "codec": binding.codec,
                "digest": self.member(binding.pointer),
                "covers": binding.inline or binding.ref,
            }
            for binding in self.profile.bindings(self.envelope)
        ]

    def to_json(self) -> dict[str, Any]:
        """The object that ``inspect --json`` prints."""
        kind = self.profile
        return {
            "verified": False,
            "form": self.form,
            "header": None if self.header is None else self.header._asdict(),
            "profile": None if kind is None else kind.id,
            "keyVersion": self.key_version,
            "issuedAt": None if kind is None else self.member(kind.issued),
            "expiresAt": None if kind is None else self.member(kind.expires),
            "scope": None if kind is None else self.member(kind.scope),
            "replayIds": [
                {"pointer": pointer, "value": self.member(pointer)}
                for _, pointer in (() if kind is None else kind.replay)
            ],
            "digest": self.digest,
            "digests": self.digests(),
            "size": self.size,
            "faults": [output.error_json(fault) for fault in self.faults],
        }


def _look(file: str, options: Checking) -> Seen:
    """Reads as far as there is something to read."""
    from taskseal import BUILT_IN, Digest, Refused, canonicalise
    from taskseal.canon.strictjson import parse
    from taskseal.wire.embedded import without
    from taskseal.wire.forms import FORMS, around, read_around, read_beside

    read = opening.message(file, options.signature)
    if isinstance(read, Refused):
        raise InputError(read.reason, read.detail)
    data, signature = read
    found = opening.config(options.config)
    profiles = BUILT_IN if found is None else found.profiles
    named = opening.profile_named(options.profile, profiles)
    seen = Seen(len(data), envelope=parse(data).value)
    wrapping = None if signature is not None else around(seen.envelope)
    try:
        if signature is not None:
            beside, sealed = read_beside(signature)
            seen.form, seen.seals = beside.name, sealed.seals
        elif wrapping is not None:
            seen.form = wrapping.name
            sealed = read_around(wrapping, seen.envelope)
            seen.seals = sealed.seals
            seen.envelope = parse(sealed.payload or b"").value
    except InputError as fault:
        seen.faults.append(fault)
        if wrapping is not None:
            return seen
    kind = seen.profile = _profile(seen, named, profiles)
    bare = seen.envelope
    inside = None if kind is None else FORMS.get(kind.form)
    if inside is not None and inside.place != "inside":
        # Its signatures come around the document or beside it: this one has none.
        inside = None
    if seen.form is None and inside is not None and inside.read is not None:
        try:
            seen.seals = inside.read(bare).seals
            seen.form = inside.name
        except InputError as fault:
            seen.faults.append(fault)
    if kind is not None and kind.covered is not None and isinstance(bare, dict):
        _, bare = next(iter(kind.covered(bare)))
    if kind is not None and kind.signature is not None and isinstance(bare, dict):
        seen.form = seen.form or ("embedded" if seen.member(kind.signature) is not None else None)
        bare = without(bare, (kind.signature,)) if kind.signed is None else seen.member(kind.signed)
    seen.digest = Digest.of(canonicalise(bare)).text("sha256:hex")
    return seen


def _profile(seen: Seen, kind: Profile | None, profiles: Mapping[str, Profile]) -> Profile | None:
    """The profile of what was read; that there is none, or what does not fit it, is a fault."""
    if kind is None:
        recognised = (
            each for each in profiles.values() if each.detect and each.recognise(seen.envelope)
        )
        kind = next(recognised, None)
    if kind is None:
        seen.faults.append(InputError(Reason.UNKNOWN_PROFILE))
    elif kind.schema is not None:
        fault = kind.schema.fault(seen.envelope)
        if fault is not None:
            seen.faults.append(
                InputError(Reason.SCHEMA_INVALID, fault.detail, pointer=fault.pointer)
            )
    return kind


def _tell(file: str, found: Seen) -> None:
    about = found.to_json()
    output.line(f"{output.styled(WARNING, 'mixed')}")
    output.line()
    output.line(output.shown(file))
    digests = [
        f"{each['pointer']} over {each['covers']}: {each['digest']}" for each in about["digests"]
    ]
    ids = [f"{each['pointer']} {_text(each['value'])}" for each in about["replayIds"]]
    output.fields(
        [
            ("form", found.form or "unsigned"),
            ("profile", about["profile"] or "not recognised"),
            ("key version", _text(about["keyVersion"])),
            ("issued", _text(about["issuedAt"])),
            ("expires", _text(about["expiresAt"])),
            ("scope", _text(about["scope"])),
            ("replay ids", ids or None),
            ("digests", digests or None),
            ("canonical", found.digest),
            ("size", f"{found.size} bytes"),
            ("header", None if found.header is None else _header(found.header)),
            ("faults", [str(fault) for fault in found.faults] or None),
        ]
    )


def _header(header: Header) -> list[str]:
    """The header's members that are there; epoch times in words as well."""
    from taskseal.validity import SECOND, write_instant

    lines = []
    for name, value in header._asdict().items():
        if value is None or value == () or (name == "b64" and value):
            continue
        when = f" ({write_instant(value * SECOND)})" if name in ("iat", "exp") else ""
        lines.append(f"{name} {' '.join(value) if name == 'aud' else _text(value)}{when}")
    return lines


def _text(value: Any) -> str | None:
    """A JSON value in a line; one that fills the screen is cut."""
    import json

    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"

"""``sign``: the dispatcher's job.

Source: SPEC sections 5, 6 and 9.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output, passphrase
from taskseal.cli.desk import artefacts_given, context_file
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import (
    FILE,
    Passphrases,
    at_option,
    keyring_option,
    material_options,
    output_options,
    passphrase_options,
    profile_option,
    published_option,
)
from taskseal.cli.verify import strangers
from taskseal.errors import InputError, Reason

if TYPE_CHECKING:
    from taskseal import Profile, Refused, Signed

FORMATS = (
    *("embedded", "jws", "jws-detached", "jws-compact", "jws-unencoded", "jws-general", "dsse"),
    *("eddsa-jcs-2022", "sshsig", "ed25519+domain-v1", "a2a"),
)
"""What ``--format`` takes."""
SEALED_MODE = 0o644
"""Permissions of a sealed envelope, less the umask: it is made to be sent."""


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@keyring_option
@click.option("--key-version", metavar="V", help="Which key; else the one that may sign this now.")
@profile_option
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    type=click.Choice(FORMATS),
    help=f"The signature's form, else the profile's own: {', '.join(FORMATS)}.",
)
@click.option(
    "--expires-in", metavar="SPAN", help="From now to expiry, such as 90s, 15m (default) or 2h."
)
@click.option("--audience", metavar="A", help="For whom it is.")
@material_options
@click.option("--no-fill", is_flag=True, help="Add nothing to the document.")
@at_option("Sign")
@published_option
@passphrase_options
@output_options
@output.json_option
def sign(file: str, out: str | None, force: bool, **given: Any) -> int:
    """Sign a document as its receiver wants it.

    What the document lacks is filled in, what the receiver would refuse is refused here. A
    signature that stands beside it (--format jws-detached and the like) fills nothing. The result
    is one blob, on standard output unless -o says otherwise. - is standard input.

    \b
    Example:
      taskseal sign task.json -o sealed.json
      taskseal sign plan.json --artefact papers/plan.md=plan.md --audience worker-1
    """
    from taskseal import Refused

    try:
        signed = _sign(file, given)
    except Refused as refused:
        return output.refusal(refused)
    if out not in (None, opening.STDIN):
        assert out is not None
        opening.write_output(out, signed.blob, SEALED_MODE, force=force)
        _tell_written(out, signed)
    elif output.wants_json():
        output.record({**_summary(None, signed), "blob": signed.blob.decode()})
    else:
        # A file is exact; a person's prompt deserves a line of its own.
        output.data(signed.blob + (b"\n" if output.is_terminal(sys.stdout) else b""))
    return 0


def _sign(file: str, given: dict[str, Any]) -> Signed:
    from taskseal import Policy, Refused, recanonicalise
    from taskseal import sign as seal

    secrets = Passphrases(given["passphrase_file"], given["no_passphrase"])
    opener = passphrase.Opener(secrets, "the key")
    keys = opening.keyring(given["keyring"], opener)
    profile = opening.profile_named(given["profile"])
    named = artefacts_given(given["artefact"])
    context, supplied = context_file(given["context"])
    at, lifetime = opening.instant(given["at"]), _span(given["expires_in"])
    if given["audience"] == "":
        raise InputError(Reason.USAGE, "--audience names nobody", hint="leave it away")
    document = opening.read_input(file, opening.MESSAGE_LIMIT)
    try:
        signed = opener.tried(
            lambda: seal(
                document,
                keys,
                profile=profile,
                key_version=given["key_version"],
                format=given["form"],
                expires_in=lifetime,
                audience=given["audience"],
                artefacts=supplied | named,
                context=context,
                policy=Policy(allow_published_keys=given["allow_published_keys"]),
                fill=not given["no_fill"],
                at=at,
            )
        )
    except Refused as refused:
        if given["form"] is not None and not given["no_fill"]:
            _hint_at_filling(refused, given["form"], profile, document)
        raise
    _note_form(signed, profile)
    if signed.format == "sshsig" and recanonicalise(document) != document:
        output.note("note: ssh-keygen checks the canonical form alone: send `taskseal canon` of it")
    if named:
        kind = opening.profile_of(signed.profile, profile)
        strangers(frozenset(named), kind, opening.parsed(document))
    return signed


def _hint_at_filling(refused: Refused, form: str, profile: Profile | None, document: bytes) -> None:
    """Says of what a detached signature does not fill in that the usual one would."""
    from taskseal.canon.pointer import MISSING, resolve
    from taskseal.wire.forms import FORMATS as BY_FORMAT

    if refused.profile is None or BY_FORMAT[form].place != "beside":
        return
    kind, value = opening.profile_of(refused.profile, profile), opening.parsed(document)
    filled = [*kind.fills, *(each.pointer for each in kind.bindings(value))]
    if refused.pointer in filled and resolve(value, refused.pointer) is MISSING:
        refused.hint = (
            "a detached signature fills nothing into the document: add it, or sign without --format"
        )


def _note_form(signed: Signed, profile: Profile | None) -> None:
    """Says when receivers do not take a form unless they are told to."""
    from taskseal import Policy
    from taskseal.wire.forms import FORMATS as BY_FORMAT

    form = BY_FORMAT[signed.format].name
    if form not in Policy().terms(opening.profile_of(signed.profile, profile)).forms:
        output.note(f"note: receivers need --allow-form {form}")


def _span(text: str | None) -> timedelta | None:
    from taskseal.validity import read_duration

    if text is None:
        return None
    found = read_duration(text)
    if not found:
        raise InputError(
            Reason.USAGE, f"--expires-in {text!r} is no span", hint="write it as 90s, 15m or 2h"
        )
    return timedelta(microseconds=found // 1000)


def _summary(written: str | None, signed: Signed) -> dict[str, Any]:
    from taskseal.validity import write_instant

    return {
        "written": None if written is None else output.named(written),
        "profile": signed.profile,
        "signer": signed.signer.to_json(),
        "digest": signed.digest.text("sha256:hex"),
        "expiresAt": write_instant(signed.expires),
    }


def _tell_written(out: str, signed: Signed) -> None:
    summary = _summary(out, signed)
    if output.wants_json():
        output.record(summary)
        return
    signer = signed.signer
    output.note(
        f"signed {out}: {signed.profile} by {signer.key_version} of {signer.issuer}, "
        f"until {summary['expiresAt']}"
    )

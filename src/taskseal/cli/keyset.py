"""``keyset``: a keyset is looked at, compared, and made public.

Source: SPEC sections 4.9, 5.3 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.cli.main import SETTINGS, LazyGroup
from taskseal.cli.options import FILE, at_option, output_options, published_option
from taskseal.errors import REASONS, InputError, MaterialError, Reason
from taskseal.validity import system_clock, write_instant

if TYPE_CHECKING:
    from taskseal.keys.keyset_diff import Difference, Listing
    from taskseal.keys.succession import Known, Line, Offer

F = TypeVar("F", bound=Callable[..., Any])

PUBLIC_MODE = 0o644


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    homes={
        "propose": "keyset_make:propose",
        "sign": "keyset_make:sign",
        "publish": "keyset:publish",
        "verify": "keyset:verify",
        "diff": "keyset:diff",
    },
)
@output.json_option
def keyset() -> None:
    """Make keysets, sign them together, and check what follows what."""


def current_option(command: F) -> F:
    """``--current OLD``."""
    return click.option(
        "--current", metavar="OLD", type=FILE, help="The keyset that receivers know now."
    )(command)


def pin_option(*, required: bool) -> Callable[[F], F]:
    """``--pin V=X``, repeatable."""
    return click.option(
        "--pin",
        "pins",
        metavar="V=X",
        multiple=True,
        required=required,
        help="A key version that must have signed it, and its public key, or sha256: and its "
        "thumbprint, as you were told by another way. Repeat it for more.",
    )


def offer_in(name: str) -> Offer:
    """The keyset in a file, its signatures unchecked.

    Raises:
        InputError: a file code.
        MaterialError: ``trust_malformed``, ``schema_invalid``.
    """
    from taskseal.keys.keyset import MAX_KEYSET
    from taskseal.keys.succession import read_offer

    return read_offer(opening.read_input(name, MAX_KEYSET), name)


def line_from(name: str | None) -> Line | None:
    """The line that a ``--current`` file is the end of.

    Raises:
        MaterialError: ``trust_signature_bad`` when it is not whole.
    """
    from taskseal.keys.succession import Line

    if name is None:
        return None
    current = offer_in(name)
    if current.ours is not None:
        current.known()
    return Line([current])


def refused(fault: MaterialError, about: str | None = None) -> int:
    """Reports that a keyset is refused, and gives the exit code.

    Raises:
        MaterialError: ``fault`` itself, when it is no verdict on the keyset.
    """
    if REASONS[fault.code].exit_code != output.EXIT_REFUSED:
        raise fault
    if output.wants_json():
        told = output.error_json(fault)
        output.record({"verdict": "refused", "reason": fault.code, "file": about, **told})
    else:
        output.complain(f"refused: {fault}" if about is None else f"{about}: {fault}", fault.hint)
    return output.EXIT_REFUSED


def about_keyset(known: Known, digest: str) -> dict[str, Any]:
    """A good keyset as JSON."""
    from taskseal.keys import DharmaKeyset

    dharma = isinstance(known, DharmaKeyset)
    window = known.window if isinstance(known, DharmaKeyset) else known.keyset.window
    return {
        "kind": "dharma.server-signing-keyset/v1" if dharma else "taskseal.keyset/v1",
        "issuer": known.issuer,
        "generation": known.generation,
        "issuedAt": write_instant(window.issued),
        "expiresAt": write_instant(window.expires),
        "threshold": 1 if isinstance(known, DharmaKeyset) else known.keyset.threshold,
        "signedBy": signers_of(known),
        "keyVersions": [entry.key_version for entry in known.entries],
        "digest": digest,
    }


def signers_of(known: Known) -> list[str]:
    """The versions whose signature vouches for a keyset."""
    from taskseal.keys import DharmaKeyset

    if isinstance(known, DharmaKeyset):
        return [known.signed_by]
    return sorted(known.made_by("keyset", known.keyset.signers()))


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@pin_option(required=False)
@current_option
@click.option("--organization", metavar="O", help="Whose keyset it must be.")
@published_option
@at_option("Verify")
@output.json_option
def verify(file: str, pins: tuple[str, ...], at: str | None, **given: Any) -> int:
    """Check a keyset, ours or Dharma's, as the first or as the next.

    Without --current it is checked as a first one, and every pinned key must have signed it; with
    --current it is checked as an update of that one. - is standard input.

    \b
    Example:
      taskseal keyset verify keyset.json --pin root/1=11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo
      taskseal keyset verify next.json --current keyset.json
    """
    from taskseal.keys.pin import Pin
    from taskseal.keys.succession import Rules, begin

    named = [Pin.parse(text) for text in pins]
    now = opening.instant(at) or system_clock()
    rules = Rules(allow_published_keys=given["allow_published_keys"])
    try:
        offer = offer_in(file)
        line, whose = line_from(given["current"]), given["organization"]
        if line is not None and whose not in (None, offer.issuer):
            detail = f"it is of {offer.issuer!a}, not of {whose!a}"
            raise MaterialError(Reason.ORGANIZATION_MISMATCH, detail)
        told: tuple[str, ...] = ()
        if line is not None:
            before = line.last
            told = line.follow(offer, now, rules)
            before.known()
        if line is None or named:
            told += begin(offer, named, now, rules, issuer=whose)
        known = offer.known()
    except MaterialError as fault:
        return refused(fault, output.named(file))
    _tell("accepted", file, about_keyset(known, offer.digest), dict.fromkeys(told))
    return 0


def _tell(verdict: str, file: str, about: dict[str, Any], told: Iterable[str]) -> None:
    if output.wants_json():
        output.record({"verdict": verdict, "reason": None, **about, "notes": list(told)})
        return
    output.line(f"{output.styled(verdict, 'good')}  {output.shown(file)}")
    output.fields(
        [
            ("kind", about["kind"]),
            ("issuer", about["issuer"]),
            ("generation", str(about["generation"])),
            ("issued", about["issuedAt"]),
            ("expires", about["expiresAt"]),
            ("signed by", f"{', '.join(about['signedBy'])} ({about['threshold']} must)"),
            ("lists", about["keyVersions"]),
        ]
    )
    for each in told:
        output.note(f"note: {each}")


@click.command(context_settings=SETTINGS)
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=FILE)
@current_option
@published_option
@output_options
@output.json_option
def publish(files: tuple[str, ...], out: str | None, force: bool, **given: Any) -> int:
    """Put the signed copies of a keyset together, when enough have signed.

    It refuses, and says whose signature is missing, until receivers would take the keyset: those
    of --current, or those that pin the keys of a first one.

    \b
    Example:
      taskseal keyset publish at-alice.json at-bob.json --current keyset.json -o next.json
    """
    from taskseal.keys.succession import Rules, check_publishable

    rules = Rules(allow_published_keys=given["allow_published_keys"])
    try:
        offer = _merged(files)
        line = line_from(given["current"])
        if line is None and offer.generation > 1:
            raise InputError(
                Reason.USAGE,
                f"generation {offer.generation} follows another keyset",
                hint="name the one that receivers know with --current",
            )
        told = check_publishable(offer, line, system_clock(), rules)
        known = offer.known()
    except MaterialError as fault:
        return refused(fault)
    content, about = offer.to_json(), about_keyset(known, offer.digest)
    target = None if out == opening.STDIN else out
    if target is not None:
        opening.write_output(target, content, PUBLIC_MODE, force=force)
    if output.wants_json():
        where = None if target is None else output.named(target)
        keyset = {} if target is not None else {"keyset": opening.parsed(content)}
        output.record({"written": where, **about, "notes": list(told), **keyset})
        return 0
    if target is None:
        output.data(content)
    for each in told:
        output.note(f"note: {each}")
    output.note(f"generation {offer.generation} of {offer.issuer} may go to its receivers")
    return 0


def _merged(files: Iterable[str]) -> Offer:
    """One keyset with the signatures of all its copies."""
    from dataclasses import replace

    offers = [offer_in(name) for name in files]
    merged = offers[0]
    for other in offers[1:]:
        if merged.ours is None or other.ours is None:
            raise InputError(Reason.USAGE, "a Dharma keyset has one signature, and one file")
        merged = replace(merged, ours=merged.ours.merged(other.ours))
    return merged


@click.command(context_settings=SETTINGS)
@click.argument("old", metavar="OLD", type=FILE)
@click.argument("new", metavar="NEW", type=FILE)
@output.json_option
def diff(old: str, new: str) -> int:
    """Say what changes from one keyset to another, and what that would break.

    NEW may be a proposal that nobody has signed yet.

    \b
    Example:
      taskseal keyset diff keyset.json next.json
    """
    from taskseal.keys.keyset_diff import difference

    now = system_clock()
    before, _ = _listing(old)
    after, offer = _listing(new)
    found = difference(before, after, now)
    verdict = None if offer is None else _verdict(offer_in(old), offer, now)
    if output.wants_json():
        refusal = None if verdict is None else {"reason": verdict.code, "detail": verdict.detail}
        output.record(
            {
                "changes": list(found.changes),
                "breaks": list(found.breaks),
                "signed": offer is not None,
                "refusal": refusal,
            }
        )
    else:
        _tell_difference(found, offer is not None, verdict)
    return 0


def _listing(name: str) -> tuple[Listing, Offer | None]:
    """What a file lists, and the keyset itself when it is signed."""
    from taskseal.cli.keyset_make import draft_in
    from taskseal.keys import DharmaKeyset
    from taskseal.keys.keyset import Keyset

    draft = draft_in(name)
    if isinstance(draft, Keyset):
        return draft, None
    if isinstance(draft, dict):
        raise InputError(Reason.USAGE, f"{name} is a Dharma proposal", hint="sign it first")
    known = draft.known() if draft.ours is None else None
    if isinstance(known, DharmaKeyset):
        return known, draft
    assert draft.ours is not None
    return draft.ours.keyset, draft


def _verdict(old: Offer, new: Offer, now: int) -> MaterialError | None:
    from taskseal.keys.succession import Line, Rules

    try:
        # Who may hold which key is not the question here.
        Line([old]).follow(new, now, Rules(allow_published_keys=True))
    except MaterialError as fault:
        return fault
    return None


def _tell_difference(found: Difference, signed: bool, verdict: MaterialError | None) -> None:
    output.line("changes" if found.changes else "nothing changes")
    for each in found.changes:
        _sentence(each)
    output.line("breaks" if found.breaks else "breaks nothing that stands")
    for each in found.breaks:
        _sentence(each)
    if not signed:
        output.line("nobody has signed it so far")
    elif verdict is None:
        output.line("receivers of the old keyset would take it")
    else:
        output.line("receivers of the old keyset would refuse it")
        _sentence(str(verdict))


def _sentence(text: str) -> None:
    first, *rest = output.folded(text, output.WIDTH - 4)
    output.line(f"  - {first}")
    for part in rest:
        output.line(f"    {part}")

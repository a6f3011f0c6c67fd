"""``trust``: the keysets that this machine follows.

Source: SPEC sections 4.9 and 9.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.cli.keyset import PUBLIC_MODE, about_keyset, offer_in, pin_option, refused
from taskseal.cli.main import SETTINGS, LazyGroup
from taskseal.cli.options import FILE, published_option
from taskseal.errors import MaterialError
from taskseal.validity import system_clock

if TYPE_CHECKING:
    from taskseal.keys.pin import Pin
    from taskseal.keys.trust_state import Chronicle
    from taskseal.keys.trust_store import Change, TrustStore

F = TypeVar("F", bound=Callable[..., Any])


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    homes={
        "add": "trust:add",
        "update": "trust:update",
        "show": "trust:show",
        "replace": "trust:replace",
    },
)
@output.json_option
def trust() -> None:
    """Keep the keysets of whom this machine trusts, and follow them."""


def store_option(command: F) -> F:
    """``--store DIR``."""
    return click.option(
        "--store",
        metavar="DIR",
        type=FILE,
        help="The trust store's folder, which verify takes as --trust DIR; else in the user data "
        "directory.",
    )(command)


def report_option(command: F) -> F:
    """``--report DIR``."""
    return click.option(
        "--report",
        metavar="DIR",
        type=FILE,
        help="Note in DIR where this machine stands, for `keys rotate --receivers DIR`.",
    )(command)


def _organization_option(command: F) -> F:
    return click.option("--organization", metavar="O", help="Whose keyset it must be.")(command)


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@pin_option(required=True)
@_organization_option
@store_option
@report_option
@published_option
@output.json_option
def add(file: str, pins: tuple[str, ...], organization: str | None, **given: Any) -> int:
    """Begin to follow an issuer, from a keyset that pinned keys have signed.

    \b
    Example:
      taskseal trust add keyset.json --pin root/1=11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo
    """
    named = _pins(pins)
    store = _store(given)
    try:
        change = store.add(offer_in(file), named, system_clock(), issuer=organization)
    except MaterialError as fault:
        return refused(fault, output.named(file))
    _report(store, given["report"])
    _tell(store, [change])
    return 0


@click.command(context_settings=SETTINGS)
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=FILE)
@click.option(
    "--fast-forward",
    metavar="N",
    type=click.IntRange(min=1),
    help="Generations that one update may rise by; else 1000.",
)
@store_option
@report_option
@published_option
@output.json_option
def update(files: tuple[str, ...], **given: Any) -> int:
    """Take the next keysets of issuers that are followed, all of them or none.

    Give a sequence when this machine was away for several generations. What is here already is
    passed over.

    \b
    Example:
      taskseal trust update next.json
    """
    store = _store(given)
    try:
        changes = store.update([offer_in(name) for name in files], system_clock())
    except MaterialError as fault:
        return refused(fault)
    _report(store, given["report"])
    _tell(store, changes)
    return 0


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@pin_option(required=True)
@click.option("--reason", metavar="TEXT", required=True, help="Why; it is kept in the store.")
@_organization_option
@store_option
@published_option
@output.json_option
def replace(
    file: str, pins: tuple[str, ...], reason: str, organization: str | None, **given: Any
) -> int:
    """Break the glass: take a keyset that the known one does not vouch for.

    For when the keys that sign an issuer's keysets are lost or stolen. Ask for the new pins by a
    way that the thief does not hold.

    \b
    Example:
      taskseal trust replace keyset.json --pin root/2=KEY --reason "root/1 was stolen"
    """
    named = _pins(pins)
    store = _store(given)
    try:
        change = store.replace(offer_in(file), named, reason, system_clock(), issuer=organization)
    except MaterialError as fault:
        return refused(fault, output.named(file))
    _tell(store, [change])
    return 0


def _store(given: dict[str, Any]) -> TrustStore:
    rules = {"allow_published_keys": given["allow_published_keys"]}
    if given.get("fast_forward") is not None:
        rules["fast_forward"] = given["fast_forward"]
    return opening.trust_store(given["store"], **rules)


def _report(store: TrustStore, folder: str | None) -> None:
    """Writes where the store stands: a file an issuer, whose name no other store would choose."""
    from hashlib import sha256

    from taskseal.keys.receivers import Sighting

    if folder is None:
        return
    state = store.state()
    for issuer, chronicle in state.issuers.items():
        seen = Sighting(issuer, chronicle.highest, chronicle.steps[-1].at)
        name = f"{state.id}-{sha256(issuer.encode()).hexdigest()[:16]}.json"
        opening.write_output(os.path.join(folder, name), seen.to_json(), PUBLIC_MODE, force=True)


def _pins(texts: tuple[str, ...]) -> list[Pin]:
    from taskseal.keys.pin import Pin

    return [Pin.parse(text) for text in texts]


def _tell(store: TrustStore, changes: Any) -> None:
    if output.wants_json():
        rows = [_change_json(change) for change in changes]
        output.record({"store": output.named(str(store.path)), "changes": rows})
        return
    for change in changes:
        what = "taken" if change.taken else "known already"
        output.line(f"{output.shown(change.issuer)}  generation {change.generation}  {what}")
        for each in change.notes:
            output.note(f"note: {each}")


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "issuer": change.issuer,
        "generation": change.generation,
        "taken": change.taken,
        "notes": list(change.notes),
    }


@click.command(context_settings=SETTINGS)
@store_option
@output.json_option
def show(store: str | None) -> int:
    """Show who is followed, at which generation, and how that came about."""
    found = opening.trust_store(store)
    state = found.state()
    # It raises when the store went back, so that nobody reads the listing as if all were well.
    known = {each.issuer: each for each in found.sources()} if state.issuers else {}
    rows = []
    for issuer, chronicle in state.issuers.items():
        about = about_keyset(known[issuer], chronicle.steps[-1].digest)
        rows.append({**about, "history": [step.to_json() for step in chronicle.steps]})
    if output.wants_json():
        output.record({"store": output.named(str(found.path)), "issuers": rows})
        return 0
    if not rows:
        output.line("nobody is followed yet")
    for row, chronicle in zip(rows, state.issuers.values(), strict=True):
        _tell_issuer(row, chronicle)
    return 0


def _tell_issuer(row: dict[str, Any], chronicle: Chronicle) -> None:
    output.line(output.shown(row["issuer"]))
    output.fields(
        [
            ("kind", row["kind"]),
            ("generation", str(row["generation"])),
            ("issued", row["issuedAt"]),
            ("expires", row["expiresAt"]),
            ("signed by", f"{', '.join(row['signedBy'])} ({row['threshold']} must)"),
            ("keys", row["keyVersions"]),
            ("history", [_step_words(step.to_json()) for step in chronicle.steps]),
        ]
    )


def _step_words(step: dict[str, Any]) -> str:
    words = f"{step['at']} {step['how']} generation {step['generation']}"
    return f"{words}: {step['reason']}" if "reason" in step else words

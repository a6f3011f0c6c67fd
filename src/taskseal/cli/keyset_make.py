"""``keyset propose`` and ``keyset sign``: what each holder does where their keys are.

Source: SPEC sections 4.9, 5.3 and 9.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from taskseal.cli import open as opening
from taskseal.cli import output, passphrase
from taskseal.cli.keyset import PUBLIC_MODE, current_option, line_from, offer_in
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import (
    FILE,
    Passphrases,
    keyring_option,
    output_options,
    passphrase_options,
    published_option,
)
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.validity import SECOND, read_duration, system_clock, write_instant

if TYPE_CHECKING:
    from taskseal import Keyring
    from taskseal.keys import KeyEntry
    from taskseal.keys.keyset import Keyset, Purpose, SignedKeyset
    from taskseal.keys.keyset_draft import Holder, Plan
    from taskseal.keys.succession import Offer

KINDS = ("taskseal", "dharma")
"""What ``--kind`` takes."""


@click.command(context_settings=SETTINGS)
@click.option("--kind", type=click.Choice(KINDS), default=KINDS[0], help="Whose form of keyset.")
@current_option
@click.option(
    "--with",
    "others",
    metavar="PINS",
    type=FILE,
    multiple=True,
    help="Keys that another holder keeps, as `keys pin` wrote them there. Repeat it for more.",
)
@click.option("--threshold", metavar="N", type=int, help="How many keys must sign a keyset.")
@click.option("--generation", metavar="N", type=int, help="Its generation; else the next.")
@click.option("--revoke", metavar="V", multiple=True, help="Revoke this key version.")
@click.option("--expires-in", metavar="SPAN", default="30d", help="How long it stands; else 30d.")
@click.option("--organization", metavar="O", help="Of a Dharma keyset; else the keyring's issuer.")
@keyring_option
@output_options
@output.json_option
def propose(kind: str, keyring: str | None, out: str | None, force: bool, **given: Any) -> int:
    """Write the next keyset of a keyring, unsigned, to be read and then signed.

    It lists the keyring's keys, those of --with, and what --current lists beside them.

    \b
    Example:
      taskseal keyset propose --current keyset.json -o next.json
    """
    ring = opening.keyring(keyring)
    issued = system_clock() // SECOND * SECOND
    content = (_propose_dharma if kind == "dharma" else _propose)(ring, issued, given)
    target = None if out == opening.STDIN else out
    if target is not None:
        opening.write_output(target, content, PUBLIC_MODE, force=force)
    if output.wants_json():
        where = None if target is None else output.named(target)
        output.record({"written": where, "proposal": opening.parsed(content)})
    elif target is None:
        output.data(content)
    else:
        output.note(f"proposed in {target}; read it, then have it signed: keyset sign {target}")
    return 0


def _plan(given: dict[str, Any]) -> Plan:
    from taskseal import Pins
    from taskseal.keys.keyset_draft import Plan
    from taskseal.keys.pins import TRUST_FILE_LIMIT

    span = read_duration(given["expires_in"])
    if not span:
        raise InputError(Reason.USAGE, "--expires-in is no span", hint="write it as 12h or 30d")
    for name in ("threshold", "generation"):
        if given[name] is not None and given[name] < 1:
            raise InputError(Reason.USAGE, f"--{name} is 1 at least")
    pins = [Pins.load(opening.read_input(f, TRUST_FILE_LIMIT), f) for f in given["others"]]
    return Plan(
        lifetime=span,
        threshold=given["threshold"],
        generation=given["generation"],
        revoke=frozenset(given["revoke"]),
        others=tuple(entry for each in pins for entry in each.entries),
    )


def _propose(ring: Keyring, issued: int, given: dict[str, Any]) -> bytes:
    from taskseal.keys.keyset_draft import propose as draft

    current = None if given["current"] is None else _ours(offer_in(given["current"]))
    if current is not None:
        current.checked(given["current"])
    keyset = draft(
        ring.issuer,
        ring.entries(),
        None if current is None else current.keyset,
        issued,
        _plan(given),
    )
    return keyset.proposal()


def _propose_dharma(ring: Keyring, issued: int, given: dict[str, Any]) -> bytes:
    from taskseal.keys.dharma_draft import propose_dharma

    for name in ("others", "threshold"):
        if given[name]:
            raise InputError(Reason.USAGE, "a Dharma keyset has one signer and one keyring")
    current = None if given["current"] is None else offer_in(given["current"]).dharma
    whose = given["organization"] or ring.issuer
    made = propose_dharma(whose, ring.entries(), current, issued, _plan(given))
    return (json.dumps(made, indent=2, ensure_ascii=False) + "\n").encode()


def _ours(offer: Offer) -> SignedKeyset:
    if offer.ours is None:
        raise InputError(
            Reason.USAGE, f"{offer.source} is a Dharma keyset", hint="add --kind dharma"
        )
    return offer.ours


def draft_in(name: str) -> Keyset | dict[str, Any] | Offer:
    """What a file holds: our proposal, Dharma's as its members, or a signed keyset.

    Raises:
        InputError: a file code.
        MaterialError: ``trust_malformed``, ``schema_invalid``.
    """
    from taskseal.keys.entry import DHARMA_KEYSET, KEYSET
    from taskseal.keys.keyset import MAX_KEYSET, Keyset
    from taskseal.keys.shape import Shape
    from taskseal.keys.succession import read_offer

    data = opening.read_input(name, MAX_KEYSET)
    shape = Shape(name, Reason.TRUST_MALFORMED)
    value = shape.document(data)
    found = value.get("schema") if isinstance(value, dict) else None
    if found == KEYSET:
        return Keyset.read(value, shape)
    if found == DHARMA_KEYSET and "signature" not in value:
        members: dict[str, Any] = value
        return members
    return read_offer(data, name)


@click.command(context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@current_option
@click.option("--key-version", metavar="V", help="Which key signs a Dharma keyset.")
@keyring_option
@passphrase_options
@published_option
@click.option("-o", "--output", "out", metavar="FILE", type=FILE, help="Write to FILE instead.")
@output.json_option
def sign(file: str, out: str | None, **given: Any) -> int:
    """Add this keyring's signatures to a keyset, in its file.

    Its keyset keys vouch for the keyset, and each of its listed keys shows that it is held here.
    Signing again changes nothing. - is standard input, and then standard output.

    \b
    Example:
      taskseal keyset sign next.json
    """
    secrets = Passphrases(given["passphrase_file"], given["no_passphrase"])
    opener = passphrase.Opener(secrets, "the keyring")
    ring = opening.keyring(given["keyring"], opener)
    draft = draft_in(file)
    dharma = draft if isinstance(draft, dict) else getattr(draft, "dharma", None)
    if dharma is not None:
        content, told = _sign_dharma(ring, opener, dharma, given)
    else:
        content, told = _sign(ring, opener, draft, given)
    target = out or file
    if target != opening.STDIN:
        opening.write_output(target, content, PUBLIC_MODE, force=True)
        told["written"] = output.named(target)
    if output.wants_json():
        output.record(told)
        return 0
    if target == opening.STDIN:
        output.data(content)
    for purpose in ("signedBy", "possessionBy"):
        if told.get(purpose):
            output.note(f"{purpose}: {', '.join(told[purpose])}")
    output.note(told["missing"] or "nobody is missing")
    return 0


def _sign(
    ring: Keyring, opener: passphrase.Opener, draft: Any, given: dict[str, Any]
) -> tuple[bytes, dict[str, Any]]:
    from taskseal.keys.entry import KEYSET
    from taskseal.keys.keyset import Keyset, SignedKeyset
    from taskseal.keys.keyset_draft import seal
    from taskseal.keys.keyset_history import count

    now = system_clock()
    before = SignedKeyset.unsigned(draft) if isinstance(draft, Keyset) else _ours(draft)
    line = line_from(given["current"])
    history = None if line is None else line.history

    def holder(entry: KeyEntry, purpose: Purpose) -> Holder:
        if purpose == "keyset":
            return opener.tried(lambda: ring.signer(KEYSET, key_version=entry.key_version, at=now))
        return opener.tried(lambda: ring.holder(entry.key_version))

    signed = seal(
        before,
        ring.entries(),
        now,
        older=None if history is None else history.current,
        holder=holder,
        allow_published_keys=given["allow_published_keys"],
    )
    mine = [entry for entry in ring.entries() if entry.issuer == signed.issuer]
    vouched = sorted(signed.made_by("keyset", mine))
    proven = sorted(signed.made_by("possession", mine))
    if not vouched and not proven:
        raise MaterialError(
            Reason.NO_SIGNING_KEY,
            "the keyring holds none of the keys that this keyset lists",
            hint="sign it where they are kept, or name that keyring with --keyring DIR",
        )
    short = count(signed, history, now).shortfall()
    missing = None if short is None else f"{short[0]}: {short[1]}"
    told = {
        "written": None,
        "issuer": signed.issuer,
        "generation": signed.generation,
        "signedBy": vouched,
        "possessionBy": proven,
        "missing": missing,
    }
    return signed.to_json(), told


def _sign_dharma(
    ring: Keyring, opener: passphrase.Opener, draft: Any, given: dict[str, Any]
) -> tuple[bytes, dict[str, Any]]:
    from taskseal.keys.dharma_draft import seal_dharma
    from taskseal.keys.entry import DHARMA_KEYSET
    from taskseal.keys.screening import is_published
    from taskseal.keys.succession import read_offer

    version, now = given["key_version"], system_clock()
    signer = opener.tried(lambda: ring.signer(DHARMA_KEYSET, key_version=version, at=now))
    entry = signer.entry
    assert entry.key is not None
    if is_published(entry.key.thumbprint) and not given["allow_published_keys"]:
        raise MaterialError(Reason.PUBLISHED_KEY, f"key version {entry.key_version!a}")
    content = seal_dharma(draft, entry, signer)
    offer = read_offer(content, "the signed keyset")
    # What the peer would refuse is better known here: the signer has to be listed.
    offer.known()
    told = {
        "written": None,
        "issuer": offer.issuer,
        "generation": offer.generation,
        "signedBy": [entry.key_version],
        "missing": None,
        "signedAt": write_instant(system_clock()),
    }
    return content, told

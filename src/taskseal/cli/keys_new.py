"""``keys new`` and ``keys import``: how a key gets into the keyring.

Source: SPEC sections 4.4 to 4.7 and 9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from taskseal.cli import open as opening
from taskseal.cli import passphrase
from taskseal.cli.keys import tell_entry
from taskseal.cli.main import SETTINGS
from taskseal.cli.options import FILE, Passphrases, keyring_option, passphrase_options, stacked
from taskseal.cli.output import json_option, note
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.validity import SECOND, system_clock

if TYPE_CHECKING:
    from taskseal import Keyring
    from taskseal.keys import KeyEntry
    from taskseal.keys.terms import Terms

F = TypeVar("F", bound=Callable[..., Any])

ALGORITHMS = ("Ed25519", "ES256", "ML-DSA-65")
"""What ``--alg`` takes, and what it also calls them."""
ALIASES = {"P-256": "ES256"}


def _terms_options(command: F) -> F:
    return stacked(
        click.option(
            "--for",
            "profiles",
            metavar="PROFILE",
            type=FILE,
            multiple=True,
            required=True,
            help="What the key may sign: a profile id, or a custom profile's FILE.toml. "
            "Repeat it for more.",
        ),
        click.option("--not-before", metavar="T", help="Its first instant; else now."),
        click.option("--sign-until", metavar="T", help="Signs no more from T; else after a year."),
        click.option(
            "--accept-until",
            metavar="T",
            help="Nothing by it is accepted from T; else 30 days after that.",
        ),
        click.option(
            "--issuer",
            metavar="I",
            help="Whose keys these are; the first key of a keyring says it. Else local.",
        ),
        click.option("--principal", metavar="P", help="Whom the key speaks for."),
        click.option(
            "--bind",
            metavar="POINTER=VALUE",
            multiple=True,
            help="What the signer may put at POINTER, such as /organizationId=org_1. Repeat it "
            "for more values or pointers.",
        ),
        keyring_option,
        passphrase_options,
        json_option,
    )(command)


@click.command(context_settings=SETTINGS)
@click.argument("key_version", metavar="KEY_VERSION")
@click.option(
    "--alg",
    type=click.Choice((*ALGORITHMS, *ALIASES)),
    default=ALGORITHMS[0],
    show_default=True,
    help="The signature algorithm; ES256 is ECDSA over P-256. Dharma's profiles take Ed25519.",
)
@_terms_options
def new(key_version: str, alg: str, **given: Any) -> int:
    """Make a key and keep it in the keyring.

    The keyring is made when there is none.

    \b
    Example:
      taskseal keys new kms/tasks/1 --for dharma.task/v1 --bind /organizationId=org_1
    """
    from taskseal.keys import Algorithm

    profiles, terms = _terms(key_version, given)
    secret = passphrase.chosen(_passphrases(given), f"key version {key_version}")
    terms["passphrase"], terms["allow_plain"] = secret, secret is None
    ring = _ring(given)
    algorithm = Algorithm(ALIASES.get(alg, alg))
    return _told(ring, ring.new(key_version, profiles, algorithm, **terms))


@click.command("import", context_settings=SETTINGS)
@click.argument("file", metavar="FILE", type=FILE)
@click.argument("key_version", metavar="KEY_VERSION")
@_terms_options
def import_key(file: str, key_version: str, **given: Any) -> int:
    """Keep a key that exists: PKCS#8, OpenSSH, JWK or an Ed25519 seed.

    Also 64 hexadecimal or 43 base64url characters; - is standard input. A passphrase that is
    given opens the file and locks the key here; --no-passphrase keeps it
    in the clear here.

    \b
    Example:
      taskseal keys import id_ed25519 kms/tasks/1 --for dharma.task/v1
    """
    from taskseal.keys import is_published
    from taskseal.keys.formats import KEY_FILE_LIMIT, read_private_key

    profiles, terms = _terms(key_version, given)
    data = opening.read_input(file, KEY_FILE_LIMIT)
    opener = passphrase.Opener(Passphrases(given["passphrase_file"]), file)
    try:
        key = read_private_key(data)
    except MaterialError as locked:
        if locked.code is not Reason.PASSPHRASE_NEEDED:
            raise
        key = opener.tried(lambda: read_private_key(data, opener()))
    secret = passphrase.chosen(_passphrases(given), f"key version {key_version}")
    terms["passphrase"], terms["allow_plain"] = secret, secret is None
    ring = _ring(given)
    entry = ring.import_key(key, key_version, profiles, **terms)
    if is_published(key.public.thumbprint):
        note("note: anyone can read this private key; it signs with --allow-published-keys only")
    return _told(ring, entry)


def _terms(key_version: str, given: dict[str, Any]) -> tuple[list[str], Terms]:
    """What the options say of the key, before anything is written."""
    from taskseal.keys import BARE_PROFILES, check_new_key_version

    check_new_key_version(key_version)
    profiles = [opening.signable(text) for text in given["profiles"]]
    now = system_clock()
    terms: Terms = {
        "not_before": given["not_before"] or now - now % SECOND,
        "sign_until": given["sign_until"],
        "accept_until": given["accept_until"],
        "issuer": given["issuer"],
        "principal": given["principal"],
        "bind": _bind(given["bind"]),
        "bare": BARE_PROFILES | {profile for profile, bare in profiles if bare},
    }
    return [profile for profile, _ in profiles], terms


def _bind(given: tuple[str, ...]) -> dict[str, list[str]]:
    bind: dict[str, list[str]] = {}
    for text in given:
        pointer, equals, value = text.partition("=")
        if not equals:
            raise InputError(
                Reason.USAGE,
                f"--bind {text!r} is not POINTER=VALUE",
                hint="write --bind /organizationId=org_1",
            )
        bind.setdefault(pointer, []).append(value)
    return bind


def _passphrases(given: dict[str, Any]) -> Passphrases:
    return Passphrases(given["passphrase_file"], given["no_passphrase"])


def _ring(given: dict[str, Any]) -> Keyring:
    from taskseal import Keyring

    return Keyring.open_or_create(opening.keyring_folder(given["keyring"]))


def _told(ring: Keyring, entry: KeyEntry) -> int:
    tell_entry(entry, system_clock(), sealed=ring.is_sealed(entry.key_version))
    return 0

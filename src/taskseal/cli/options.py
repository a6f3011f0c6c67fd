"""Options that several commands share, and the values that they are read into.

Source: SPEC section 9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Parameter = click.ParamType[str]
else:
    Parameter = click.ParamType  # older releases of click have no type arguments here

F = TypeVar("F", bound=Callable[..., Any])

ARRIVING_FORMS = (
    *("embedded", "jws", "jws-detached", "jws-general", "dsse", "eddsa-jcs-2022", "sshsig"),
    *("ed25519+domain-v1", "a2a"),
)
"""What ``--allow-form`` takes."""


class FileName(Parameter):
    """A file's name as it is: nothing is looked up, and shells complete it."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


FILE = FileName()


@dataclass(frozen=True, slots=True)
class Passphrases:
    """Where a passphrase is to come from, as far as options say."""

    file: str | None = None
    none: bool = False


@dataclass(frozen=True, slots=True)
class WhoIAm:
    """The identity options of a receiver."""

    audience: str | None = None
    any_audience: bool = False
    organization: str | None = None
    workspace: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Checking:
    """The options of ``verify`` that ``accept``, ``explain`` and ``inspect`` take as well."""

    trust: tuple[str, ...]
    config: str | None
    profile: str | None
    signature: str | None
    allow_form: tuple[str, ...]
    artefact: tuple[str, ...]
    context: str | None
    unversioned_key: str | None
    threshold: int | None
    allow_published_keys: bool


def stacked(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, listed by ``--help`` in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def keyring_option(command: F) -> F:
    """``--keyring DIR``."""
    return click.option(
        "--keyring",
        metavar="DIR",
        type=FILE,
        help="The keyring's folder; else TASKSEAL_KEYRING, else in the user data directory.",
    )(command)


def passphrase_options(command: F) -> F:
    """``--passphrase-file F`` and ``--no-passphrase``."""
    return stacked(
        click.option(
            "--passphrase-file",
            metavar="FILE",
            type=FILE,
            help="Read the passphrase from FILE, without one line end; else "
            "TASKSEAL_PASSPHRASE, else the file TASKSEAL_PASSPHRASE_FILE, else a prompt.",
        ),
        click.option(
            "--no-passphrase",
            is_flag=True,
            help="Never ask for one; what is new is kept in the clear.",
        ),
    )(command)


def output_options(command: F) -> F:
    """``-o FILE`` and ``--force``."""
    return stacked(
        click.option(
            "-o",
            "--output",
            "out",
            metavar="FILE",
            type=FILE,
            help="Write to FILE, whole or not at all.",
        ),
        click.option("--force", is_flag=True, help="Replace FILE where it stands already."),
    )(command)


def profile_option(command: F) -> F:
    """``--profile ID|FILE.toml``."""
    return click.option(
        "--profile",
        metavar="ID|FILE.toml",
        type=FILE,
        help="Which profile the document is of, instead of what the document says.",
    )(command)


def material_options(command: F) -> F:
    """``--artefact REF=PATH`` and ``--context FILE``."""
    return stacked(
        artefact_option,
        click.option(
            "--context",
            metavar="FILE",
            type=FILE,
            help="What this side knows beside the message, as JSON.",
        ),
    )(command)


def published_option(command: F) -> F:
    """``--allow-published-keys``."""
    return click.option(
        "--allow-published-keys",
        is_flag=True,
        help="Take keys whose private half anyone can read; for demos and tests.",
    )(command)


def trust_option(command: F) -> F:
    """``--trust FILE``."""
    return click.option(
        "--trust",
        metavar="FILE",
        type=FILE,
        multiple=True,
        help="Pins or a keyset whose keys count. Repeat it for more.",
    )(command)


def config_option(command: F) -> F:
    """``--config FILE``."""
    return click.option(
        "--config",
        metavar="FILE",
        type=FILE,
        help="Whom this receiver trusts, who it is and what it allows; else TASKSEAL_CONFIG, "
        "else taskseal.toml in the user configuration directory.",
    )(command)


def signature_option(command: F) -> F:
    """``--signature SIG``."""
    return click.option(
        "--signature", metavar="FILE", type=FILE, help="The file of the detached signature."
    )(command)


def artefact_option(command: F) -> F:
    """``--artefact REF=PATH``."""
    return click.option(
        "--artefact",
        metavar="REF=PATH",
        multiple=True,
        help="The file that the message calls REF. Repeat it for more.",
    )(command)


def checking_options(command: F) -> F:
    """The options that :class:`Checking` holds."""
    return stacked(
        trust_option,
        config_option,
        profile_option,
        signature_option,
        click.option(
            "--allow-form",
            metavar="FORM",
            multiple=True,
            type=click.Choice(ARRIVING_FORMS),
            help=f"Take this form of signature too: {', '.join(ARRIVING_FORMS)}.",
        ),
        material_options,
        click.option(
            "--unversioned-key", metavar="V", help="The key version of messages that name none."
        ),
        click.option(
            "--threshold",
            metavar="N",
            type=click.IntRange(1, 16),
            help="How many distinct trusted keys must have signed; 1 otherwise.",
        ),
        published_option,
    )(command)


def identity_options(command: F) -> F:
    """The options that :class:`WhoIAm` holds."""
    return stacked(
        click.option("--audience", metavar="A", help="Who this receiver is."),
        click.option("--any-audience", is_flag=True, help="Take what is meant for anyone."),
        click.option("--organization", metavar="O", help="This receiver's organisation."),
        click.option("--workspace", metavar="W", help="This receiver's workspace."),
        click.option("--device", metavar="D", help="This receiver's device."),
    )(command)


def at_option(what: str) -> Callable[[F], F]:
    """``--at T``, the instant at which ``what`` happens."""
    return click.option(
        "--at", metavar="T", help=f"{what} as if it were T, such as 2026-09-01T08:35:00Z."
    )


def read_checking(given: dict[str, Any]) -> Checking:
    """Takes the members of :class:`Checking` out of a command's arguments."""
    return Checking(**{name: given.pop(name) for name in Checking.__slots__})


def read_identity(given: dict[str, Any]) -> WhoIAm:
    """Takes the members of :class:`WhoIAm` out of a command's arguments."""
    return WhoIAm(**{name: given.pop(name) for name in WhoIAm.__slots__})

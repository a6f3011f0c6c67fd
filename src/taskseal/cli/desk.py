"""What a message is checked with, put together from the options of ``verify``.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from taskseal.cli import open as opening
from taskseal.cli.options import Checking, WhoIAm
from taskseal.errors import InputError, Reason
from taskseal.storage import read_file

if TYPE_CHECKING:
    from taskseal import Config, Identity, Policy, Profile, Verifier

Artefacts = dict[str, os.PathLike[str] | BinaryIO]
"""What the message names, by the name that it gives it."""

_IN_MEMORY = 1 << 20
"""Bytes of a streamed artefact that are kept in memory; the rest goes to a temporary file."""


def identity_of(who: WhoIAm, configured: Identity | None = None) -> Identity | None:
    """The receiver's identity: what options say, and for the rest the configuration.

    None when nobody says anything.

    Raises:
        InputError: ``usage`` for an empty name, or for anyone beside someone.
    """
    from taskseal import Identity

    names = (who.audience, who.organization, who.workspace, who.device)
    if any(name == "" for name in names):
        raise InputError(Reason.USAGE, "a receiver has no empty name", hint="leave the option away")
    if who.any_audience:
        if any(names):
            raise InputError(
                Reason.USAGE,
                "--any-audience stands alone: it compares nothing",
                hint="leave it away; a member that is not named is not compared",
            )
        return Identity(aisa=None if configured is None else configured.aisa, any=True)
    if not any(names):
        return configured
    mine = configured or Identity()
    return Identity(
        audience=who.audience or mine.audience,
        organisation=who.organization or mine.organisation,
        workspace=who.workspace or mine.workspace,
        device=who.device or mine.device,
        aisa=mine.aisa,
    )


def artefacts_given(given: Iterable[str]) -> Artefacts:
    """``REF=PATH`` options as a mapping; split at the first ``=``, ``-`` is standard input.

    Raises:
        InputError: ``usage``, ``file_missing``.
    """
    found: Artefacts = {}
    for text in given:
        ref, equals, path = text.partition("=")
        if not (ref and equals and path):
            raise InputError(
                Reason.USAGE,
                f"--artefact {text!r} is not REF=PATH",
                hint="write --artefact papers/plan.md=./plan.md",
            )
        if ref in found:
            raise InputError(
                Reason.USAGE, f"the artefact {ref!r} is given twice", hint="give one path for it"
            )
        found[ref] = _spooled() if path == opening.STDIN else _present(Path(path))
    return found


def _present(path: Path) -> Path:
    """``path`` when something stands there: its kind shows when it is read."""
    try:
        path.stat()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no file name"
        raise InputError(Reason.FILE_MISSING, f"the artefact {path}: {why}") from None
    return path


def _spooled() -> BinaryIO:
    """Standard input where it can be read more than once, in little memory."""
    # It lives as long as the command, which closes it.
    file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by the context
    spool = click.get_current_context().with_resource(file)
    shutil.copyfileobj(opening.standard_input(), spool)
    spool.seek(0)
    return spool  # type: ignore[return-value]  # it has every method that is used of a stream


def context_file(path: str | None) -> tuple[dict[str, Any] | None, Artefacts]:
    """What a ``--context`` file says, its binding read in, and the artefacts that it names.

    Paths in it are relative to its folder.

    Raises:
        MaterialError: ``context_malformed`` with the pointer.
        InputError: a file code.
    """
    if path is None:
        return None, {}
    from taskseal.keys.shape import Shape
    from taskseal.profiles.context import CONTEXT_SCHEMA, read_context

    shape = Shape(path, Reason.CONTEXT_MALFORMED)
    value = shape.document(opening.read_option("--context", path, opening.SIDE_FILE_LIMIT))
    fault = CONTEXT_SCHEMA.fault(value)
    if fault is not None:
        raise shape.fault(fault.pointer, fault.detail)
    folder = Path(path).parent
    orbiplex, aisa = value.get("orbiplex", {}), value.get("aisa", {})
    binding = orbiplex.get("binding")
    if isinstance(binding, str):
        source = folder / binding
        within = Shape(str(source), Reason.CONTEXT_MALFORMED)
        orbiplex["binding"] = within.document(read_file(source, opening.SIDE_FILE_LIMIT))
    read_context(value)
    files = {**aisa.get("artefact_files", {}), **orbiplex.get("artifact_files", {})}
    return value, {ref: folder / name for ref, name in files.items()}


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that a message is checked with; ``named`` are the artefacts given by option."""

    verifier: Verifier
    identity: Identity | None
    profile: Profile | None
    signature: str | None
    artefacts: Artefacts
    named: frozenset[str]
    context: dict[str, Any] | None
    config: Config | None

    def profile_of(self, profile_id: str) -> Profile:
        """The profile of that id: the one that was named, or one at hand."""
        return self.profile or self.verifier.profiles[profile_id]


def desk_for(options: Checking, who: WhoIAm, files: int = 1) -> Desk:
    """What the options of ``verify`` stand for.

    Args:
        options: the options.
        who: the receiver.
        files: how many messages there are; a detached signature belongs to one.

    Raises:
        InputError, MaterialError: as the parts do.
    """
    from taskseal import BUILT_IN, Policy, Verifier

    if options.signature is not None and files != 1:
        raise InputError(
            Reason.USAGE, "--signature allows one file", hint="run the command once a file"
        )
    found = opening.config(options.config)
    me = identity_of(who, None if found is None else found.identity)
    profiles = BUILT_IN if found is None else found.profiles
    profile = opening.profile_named(options.profile, profiles)
    keys = opening.trust(options.trust, found)
    rules = policy(options, Policy() if found is None else found.policy)
    given = artefacts_given(options.artefact)
    known, supplied = context_file(options.context)
    return Desk(
        verifier=Verifier(keys, rules, identity=me, profiles=profiles),
        identity=me,
        profile=profile,
        signature=options.signature,
        artefacts=supplied | given,
        named=frozenset(given),
        context=known,
        config=found,
    )


def policy(options: Checking, configured: Policy) -> Policy:
    """The configured policy and what the options add to it."""
    if options.unversioned_key == "":
        raise InputError(Reason.USAGE, "--unversioned-key names no key", hint="leave it away")
    return replace(
        configured,
        allow_forms=configured.allow_forms | frozenset(options.allow_form),
        allow_published_keys=configured.allow_published_keys or options.allow_published_keys,
        unversioned_key=options.unversioned_key or configured.unversioned_key,
        threshold=options.threshold or configured.threshold,
    )

"""Verdicts in words: one short block a message.

Source: SPEC section 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from taskseal.cli import output
from taskseal.errors import Reason
from taskseal.validity import Instant, write_instant

if TYPE_CHECKING:
    from taskseal import Accepted, Duplicate, Refused
    from taskseal.ledger import ReplayId
    from taskseal.profiles import Check
    from taskseal.verify import SignerInfo

NOT_CLAIMED = "  replay: not claimed"
"""What a pure verification says at its end: it took no replay id."""


def accepted(name: str, found: Accepted, *, claimed: bool) -> None:
    """The block of an accepted message; ``claimed`` when a ledger took its replay ids."""
    heading("accepted", "good", name)
    output.fields(
        [
            ("profile", f"{found.profile}, {found.form}"),
            *about_signer(found.signer),
            ("digest", found.digest.text("sha256:hex")),
            ("bytes", _canonical(found.canonical)),
            ("issued", write_instant(found.issued)),
            ("expires", write_instant(found.expires)),
            ("authorised", None if found.authorised is None else str(found.authorised).lower()),
            ("unchecked", _unchecked(found.checks)),
            ("replay ids", replay_ids(found.replay_ids) if claimed else None),
        ]
    )
    if not claimed:
        output.line(NOT_CLAIMED)


def refused(name: str, found: Refused, *, verdict: str = "refused") -> None:
    """The block of a refused message: why, where, and what to do."""
    heading(verdict, "bad", name)
    output.fields(
        [
            ("reason", found.reason),
            ("where", place(found.pointer)),
            ("detail", found.detail),
            ("to do", found.hint),
            ("profile", _profile(found.profile, found.form)),
            *about_signer(found.signer),
            ("issued", _time(found.issued)),
            ("expires", _time(found.expires)),
        ]
    )


def duplicate(name: str, found: Duplicate) -> None:
    """The block of a message that was accepted before."""
    heading("duplicate", "mixed", name)
    stored = found.acceptance
    output.fields(
        [
            ("reason", Reason.REPLAYED),
            ("profile", f"{found.profile}, {found.form}"),
            *about_signer(found.signer),
            ("digest", found.digest.text("sha256:hex")),
            ("replay ids", replay_ids(found.replay_ids)),
            ("acceptance", None if stored is None else stored.decode("utf-8", "backslashreplace")),
        ]
    )


def heading(verdict: str, style: str, name: str) -> None:
    """The first line of a block."""
    output.line(f"{output.styled(verdict, style)}  {output.shown(name)}")


def about_signer(signer: SignerInfo | None) -> list[tuple[str, str | None]]:
    """Who signed, as lines; none when that is not proven."""
    if signer is None:
        return []
    return [
        ("signer", f"{signer.key_version} of {signer.issuer}"),
        ("principal", signer.principal),
        ("thumbprint", signer.thumbprint),
    ]


def place(pointer: str | None) -> str | None:
    """Where a fault stands."""
    return "the top of the document" if pointer == "" else pointer


def replay_ids(ids: Iterable[ReplayId]) -> list[str] | str:
    """Replay ids in words: each the name that its profile gives it, and its value."""
    return [f"{id_name(each)} {each.value}" for each in ids] or "none"


def id_name(each: ReplayId) -> str:
    """What the profile calls a replay id: the last part of its scope."""
    return str(json.loads(each.scope)[-1])


def _unchecked(checks: Iterable[Check]) -> list[str] | str:
    skipped = [f"{check.check}: {check.detail}" for check in checks if check.result == "skipped"]
    return skipped or "nothing"


def _canonical(rule: str) -> str | None:
    return None if rule == "rfc8785" else f"canonical by {rule}'s own order"


def _profile(profile: str | None, form: str | None) -> str | None:
    if profile is None:
        return None
    return profile if form is None else f"{profile}, {form}"


def _time(at: Instant | None) -> str | None:
    return None if at is None else write_instant(at)

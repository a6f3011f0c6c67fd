"""Verdicts in words: one short block a message.

Source: SPEC section 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from taskseal.cli import output
from taskseal.errors import REASONS, Reason
from taskseal.validity import Instant, write_instant

if TYPE_CHECKING:
    from taskseal import Accepted, Refused
    from taskseal.ledger import ReplayId
    from taskseal.profiles import Check
    from taskseal.receiver import Outcome
    from taskseal.receiver.outcome import Seen
    from taskseal.verify import SignerInfo

NOT_CLAIMED = "replay: not claimed"
"""What a pure verification says at its end: it took no replay id."""


def accepted(name: str, found: Accepted, *, claimed: bool, acceptance: bytes | None = None) -> None:
    """The block of an accepted message; ``claimed`` when a ledger took its replay ids."""
    heading("accepted", "good", name)
    output.fields(
        [
            ("profile", f"{found.profile}, {found.form}"),
            *about_signer(found.signer),
            ("also by", [f"{s.key_version} of {s.issuer}" for s in found.signers[1:]] or None),
            ("digest", found.digest.text("sha256:hex")),
            ("bytes", _canonical(found.canonical)),
            ("issued", write_instant(found.issued)),
            ("expires", write_instant(found.expires)),
            ("authorised", None if found.authorised is None else str(found.authorised).lower()),
            ("unchecked", _unchecked(found.checks)),
            ("replay ids", replay_ids(found.replay_ids) if claimed else None),
            ("acceptance", _acceptance(acceptance)),
        ]
    )
    if not claimed:
        output.line(NOT_CLAIMED)


def refused(name: str, found: Refused) -> None:
    """The block of a refused message: why, where, and what to do."""
    heading("refused", "bad", name)
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


def received(name: str, found: Outcome) -> None:
    """The block of a message that was to be accepted."""
    from taskseal import Accepted, Duplicate, Refused

    match found:
        case Accepted():
            accepted(name, found, claimed=True, acceptance=found.acceptance)
        case Refused():
            refused(name, found)
        case Duplicate():
            text = _acceptance(found.acceptance)
            seen(name, found, "duplicate", Reason.REPLAYED, [("acceptance", text)])
        case _:
            held = None if found.until is None else f"until {write_instant(found.until)}"
            seen(name, found, "in_doubt", Reason.IN_DOUBT, [("in hand", held)])


def seen(
    name: str,
    found: Seen,
    verdict: str,
    reason: Reason,
    more: Iterable[tuple[str, str | None]],
) -> None:
    """The block of a message that came before."""
    heading(verdict, "mixed", name)
    output.fields(
        [
            ("reason", reason),
            ("to do", REASONS[reason].remedy),
            ("profile", f"{found.profile}, {found.form}"),
            *about_signer(found.signer),
            ("digest", found.digest.text("sha256:hex")),
            ("replay ids", replay_ids(found.replay_ids)),
            *more,
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


def _acceptance(stored: bytes | None) -> str | None:
    """That there is one; it is for the sender's tools, not for eyes."""
    return None if stored is None else "signed and kept; --json prints it"


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

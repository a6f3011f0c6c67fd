"""``keys rotate --rehearse``: the corpus, and what a rotation would cost of it.

Source: SPEC section 9.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.errors import InputError, Reason, TasksealError
from taskseal.validity import SECOND, write_instant

if TYPE_CHECKING:
    from taskseal.keys import KeyEntry
    from taskseal.keys.rotation import Rotation
    from taskseal.rehearsal import Live, Rehearsal

SIGNATURE = ".sig"
"""How the file of a detached signature ends: FILE + this, beside FILE."""
LINES = (".jsonl", ".ndjson")


def rehearse(
    entries: Sequence[KeyEntry],
    plan: Rotation,
    now: int,
    *,
    corpus: str,
    lag: int,
    allow_published_keys: bool,
) -> int:
    """Tries ``plan`` out on a corpus and tells; 1 when a message would stop verifying."""
    from taskseal import Policy
    from taskseal.cli.keys_rotate import plan_json, tell_plan
    from taskseal.rehearsal import rehearse as tried

    policy = Policy(allow_published_keys=allow_published_keys)
    found = tried(read_corpus(corpus), entries, plan, now, lag=lag, policy=policy)
    if output.wants_json():
        told = plan_json(plan, now, dry_run=True)
        output.record({**told, "rehearsal": _json(found, lag)})
    else:
        tell_plan(plan, now, dry_run=True)
        _tell(found, plan)
    return output.EXIT_REFUSED if found.lost else 0


def read_corpus(name: str) -> Iterator[Live]:
    """The messages of a folder, with those below it, or of a file with one a line.

    Raises:
        InputError: ``file_missing``, ``file_unreadable``, ``too_large``; ``usage`` when there is
            no message at all.
    """
    found = False
    for message in _folder(name) if os.path.isdir(name) else _file(name, name):
        found = True
        yield message
    if not found:
        raise InputError(
            Reason.USAGE,
            f"there is no message in {name!a}",
            hint="name a folder of envelopes, or a file with one envelope a line",
        )


def _folder(name: str) -> Iterator[Live]:
    def unreadable(error: OSError) -> None:
        raise InputError(Reason.FILE_UNREADABLE, f"{error.filename!a}: {error.strerror}")

    for folder, below, files in os.walk(name, onerror=unreadable):
        below.sort()
        pairs = {each for each in files if each.endswith(SIGNATURE)}
        for each in sorted(files):
            alone = each not in pairs or each.removesuffix(SIGNATURE) not in files
            if not each.startswith(".") and alone:
                path = os.path.join(folder, each)
                yield from _file(path, os.path.relpath(path, name), pair=each + SIGNATURE in pairs)


def _file(path: str, name: str, *, pair: bool = False) -> Iterator[Live]:
    from taskseal.rehearsal import Live

    data = opening.read_input(path, opening.JSON_LIMIT)
    if pair:
        signature = opening.read_input(path + SIGNATURE, opening.SIDE_FILE_LIMIT)
        yield Live(name, data, signature)
        return
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if not path.endswith(LINES) and (len(lines) == 1 or _is_one(data)):
        yield Live(name, data)
        return
    for number, line in lines:
        yield Live(f"{name}:{number}", line)


def _is_one(data: bytes) -> bool:
    """Whether a text is one JSON value, so that its lines are not."""
    try:
        opening.parsed(data)
    except TasksealError:
        return False
    return True


def _json(found: Rehearsal, lag: int) -> dict[str, Any]:
    return {
        "instants": [write_instant(at) for at in found.instants],
        "live": found.live,
        "byOldKey": found.by_old,
        "lost": [
            {
                "message": output.named(each.name),
                "at": write_instant(each.at),
                "reason": each.reason,
                "keyVersion": each.key_version,
                "expiresAt": write_instant(each.expires),
            }
            for each in found.lost
        ],
        "notLive": [
            {"message": output.named(each.name), "reason": each.reason, "detail": each.detail}
            for each in found.dead
        ],
        "latestExpiry": _at(found.latest_expiry),
        "longestLifeSeconds": None if found.longest_life is None else found.longest_life // SECOND,
        "lagSeconds": lag // SECOND,
        "earliestSafeEnd": _at(found.safe_end),
        "earliestSafeEndForLater": _at(found.later_safe_end),
    }


def _at(at: int | None) -> str | None:
    return None if at is None else write_instant(at)


def _tell(found: Rehearsal, plan: Rotation) -> None:
    output.line()
    output.line(f"rehearsal with {found.live + len(found.dead)} messages; nothing was changed")
    by = output.shown(plan.old.key_version)
    output.fields(
        [
            ("verify now", f"{found.live}, {found.by_old} of them by {by}"),
            ("not live", str(len(found.dead)) if found.dead else None),
            ("latest expiry", _at(found.latest_expiry)),
            ("safe end of the overlap", _at(found.safe_end)),
            ("the same for later messages", _at(found.later_safe_end)),
            ("planned end", write_instant(plan.end)),
        ]
    )
    for at in found.instants:
        gone = [each for each in found.lost if each.at == at]
        output.line(f"at {write_instant(at)}: {len(gone) or 'none'} would stop verifying")
        for each in gone:
            expires = write_instant(each.expires)
            _sentence(f"{each.name}: {each.reason}, by {each.key_version}, lives until {expires}")
    for other in found.dead:
        output.note(f"note: {other.name} does not verify even now: {other.reason}")
    if found.later_safe_end is not None and found.later_safe_end > plan.end:
        output.note(
            "note: messages that live as long, signed shortly before the switch, need an overlap "
            f"until {write_instant(found.later_safe_end)}"
        )


def _sentence(text: str) -> None:
    first, *rest = output.folded(text, output.WIDTH - 4)
    output.line(f"  - {first}")
    for part in rest:
        output.line(f"    {part}")

"""``keys list --timeline``: windows and overlaps of all versions, as text.

Source: SPEC sections 4.6 and 9.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from taskseal.cli import open as opening
from taskseal.cli import output
from taskseal.validity import write_instant

if TYPE_CHECKING:
    from taskseal.keys import KeyEntry
    from taskseal.keys.timeline import Moment

SIGNS = {"waiting": "-", "signing": "=", "overlap": "~", "revoked": "x"}
MEANINGS = {
    "waiting": "accepted, does not sign yet",
    "signing": "signs",
    "overlap": "accepted, signs no more",
    "revoked": "revoked",
}
_LETTERS = string.ascii_lowercase + string.ascii_uppercase + string.digits
_LABEL = 24
"""Columns of the longest key version that stands beside its bar; a longer one stands above."""
PUBLIC_MODE = 0o644


def timeline(
    issuer: str, entries: Sequence[KeyEntry], now: int, *, svg: str | None, force: bool
) -> int:
    """Shows the keys along time, and draws them into the file ``svg``."""
    from taskseal.keys.timeline import moments, spans

    found = moments(entries, now)
    picture = None
    if svg is not None:
        from taskseal.cli.timeline_svg import draw

        picture = draw(issuer, entries, now, found).encode()
        if svg != opening.STDIN:
            opening.write_output(svg, picture, PUBLIC_MODE, force=force)
    if svg == opening.STDIN and picture is not None and not output.wants_json():
        output.data(picture)
    elif output.wants_json():
        output.record(_json(issuer, entries, now, found, spans) | _where(svg))
    else:
        for line in text(issuer, entries, now, found):
            output.line(line.rstrip())
        if svg is not None:
            output.note(f"drawn in {svg}")
    return 0


def _where(svg: str | None) -> dict[str, Any]:
    written = svg is not None and svg != opening.STDIN
    return {"written": output.named(svg) if written and svg is not None else None}


def _json(
    issuer: str, entries: Sequence[KeyEntry], now: int, found: Sequence[Moment], spans: Any
) -> dict[str, Any]:
    from taskseal.cli.keys import entry_json, state

    rows = [
        {
            **entry_json(entry),
            "state": state(entry, now),
            "spans": [
                {
                    "stage": span.stage,
                    "from": write_instant(span.begins),
                    "until": write_instant(span.ends),
                }
                for span in spans(entry)
            ],
        }
        for entry in entries
    ]
    events = [{"at": write_instant(each.at), "events": list(each.sentences)} for each in found]
    return {"issuer": issuer, "now": write_instant(now), "keys": rows, "timeline": events}


def letter(index: int) -> str:
    """The mark of the instant of that number, on the axis and in the list below."""
    return _LETTERS[index] if index < len(_LETTERS) else "+"


def text(
    issuer: str, entries: Sequence[KeyEntry], now: int, found: Sequence[Moment]
) -> Iterator[str]:
    """The lines of the timeline, at most 80 columns each."""
    from taskseal.keys.timeline import places

    yield f"issuer {output.shown(issuer)}"
    if not entries:
        yield "no keys yet"
        return
    names = [output.shown(entry.key_version) for entry in entries]
    beside = max((len(name) for name in names if len(name) <= _LABEL), default=0)
    width = output.WIDTH - beside - 2
    margin = " " * (beside + 2)
    instants = [each.at for each in found]
    at = dict(zip(instants, places(instants, width), strict=True))
    yield ""
    yield margin + " " * min(at[now], width - 3) + "now"
    marks = [" "] * width
    for index, each in enumerate(instants):
        marks[at[each]] = letter(index)
    yield margin + "".join(marks)
    for name, entry in zip(names, entries, strict=True):
        bar = _bar(entry, at, width, now)
        if len(name) <= _LABEL and name.isascii():
            yield name.ljust(beside + 2) + bar
        else:
            yield from output.folded(name, output.WIDTH)
            yield margin + bar
    yield ""
    for stage, sign in SIGNS.items():
        yield f"  {sign * 3}  {MEANINGS[stage]}"
    yield f"   |   now, {write_instant(now)}; the axis is not to scale"
    yield ""
    yield from _list(found)


def _bar(entry: KeyEntry, at: dict[int, int], width: int, now: int) -> str:
    from taskseal.keys.timeline import spans

    bar = [" "] * width
    for span in spans(entry):
        begins, ends = at[span.begins], at[span.ends]
        for column in range(begins, max(ends, begins + 1)):
            bar[column] = SIGNS[span.stage]
    bar[at[now]] = "|"
    return "".join(bar)


def _list(found: Sequence[Moment]) -> Iterator[str]:
    lead = " " * (7 + max(len(write_instant(each.at)) for each in found))
    for index, each in enumerate(found):
        first = f"  {letter(index)}  {write_instant(each.at)}".ljust(len(lead))
        for sentence in each.sentences:
            for part in output.folded(sentence, max(output.WIDTH - len(lead), 20)):
                yield first + part
                first = lead

"""The timeline of a keyring as a picture: SVG 1.1, readable on light and on dark.

Stages differ in pattern as well as in colour, and every bar says its times when it is pointed at.

Source: https://www.w3.org/TR/SVG11/, SPEC section 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from taskseal.cli.output import shown
from taskseal.cli.timeline import MEANINGS, letter
from taskseal.validity import write_instant

if TYPE_CHECKING:
    from taskseal.keys import KeyEntry
    from taskseal.keys.timeline import Moment

WIDTH = 960
_LEFT, _RIGHT = 200, 24
_TOP, _LANE, _BAR = 92, 34, 18
_LINE = 20
_LABEL = 22
"""Characters of a key version beside its lane; the rest shows when it is pointed at."""
_WORDS = 84
"""Characters of a sentence in the list below the lanes."""
_COLUMNS = (20, 44, 230)
"""Where mark, instant and sentence stand in it."""

_STYLE = """
text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1b1f24 }
.head { font-size: 15px; font-weight: bold }
.page { fill: #ffffff }
.lane { fill: #f0f2f5 }
.tick { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 1 3 }
.waiting { fill: none; stroke: #0b5cad; stroke-width: 1.5; stroke-dasharray: 4 3 }
.signing { fill: #0b5cad; stroke: #0b5cad; stroke-width: 1.5 }
.overlap { fill: url(#hatch); stroke: #0b5cad; stroke-width: 1.5 }
.revoked { fill: url(#cross); stroke: #b3261e; stroke-width: 1.5 }
.hatch { stroke: #0b5cad; stroke-width: 2.5 }
.cross { stroke: #b3261e; stroke-width: 1.5; fill: none }
.now { stroke: #b54708; stroke-width: 2 }
.nowtext { fill: #b54708; font-weight: bold }
@media (prefers-color-scheme: dark) {
text { fill: #e6e9ee }
.page { fill: #14171c }
.lane { fill: #22272f }
.tick { stroke: #6e7781 }
.waiting, .overlap { stroke: #6cb6ff }
.signing { fill: #6cb6ff; stroke: #6cb6ff }
.hatch { stroke: #6cb6ff }
.revoked, .cross { stroke: #ff8a80 }
.now { stroke: #ffb86b }
.nowtext { fill: #ffb86b }
}
"""
_PATTERNS = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path class="hatch" d="M1.5 0V6"/></pattern>'
    '<pattern id="cross" width="8" height="8" patternUnits="userSpaceOnUse">'
    '<path class="cross" d="M0 0L8 8M8 0L0 8"/></pattern></defs>'
)


def draw(issuer: str, entries: Sequence[KeyEntry], now: int, found: Sequence[Moment]) -> str:
    """The picture as one SVG document.

    Args:
        issuer: whose keys they are.
        entries: the keys, each of which gets a lane.
        now: the instant, in nanoseconds since 1970.
        found: what :func:`taskseal.keys.timeline.moments` says of them.
    """
    from taskseal.keys.timeline import places

    instants = [each.at for each in found]
    width = WIDTH - _LEFT - _RIGHT
    across = {
        at: _LEFT + place for at, place in zip(instants, places(instants, width), strict=True)
    }
    bottom = _TOP + _LANE * len(entries)
    listed = list(_listed(found))
    height = bottom + 44 + _LINE * len(listed) + 24
    title = f"Keys of {issuer} at {write_instant(now)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">',
        _title(title),
        f"<style>{_STYLE}</style>",
        _PATTERNS,
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        _text(20, 30, title, "head", limit=100),
        *_legend(54),
        *_axis(found, across, now, bottom),
        *(part for row, each in enumerate(entries) for part in _lane(each, row, across)),
        f'<path class="now" d="M{across[now]} {_TOP - 4}V{bottom + 4}"/>',
        *_list(listed, bottom + 44),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _legend(y: int) -> Iterator[str]:
    x = 20
    for stage, meaning in MEANINGS.items():
        yield f'<rect class="{stage}" x="{x}" y="{y - 12}" width="26" height="14"/>'
        yield _text(x + 34, y, meaning)
        x += 34 + 8 * len(meaning) + 26


def _axis(found: Sequence[Moment], across: dict[int, int], now: int, bottom: int) -> Iterator[str]:
    taken = -100
    for index, each in enumerate(found):
        x = across[each.at]
        yield f'<path class="tick" d="M{x} {_TOP - 4}V{bottom + 4}"/>'
        if each.at == now:
            at = min(x, WIDTH - _RIGHT - 14)
            yield _text(at, bottom + 20, "now", "nowtext", anchor="middle")
        if x - taken >= 9:
            said = f"{write_instant(each.at)}: {'; '.join(each.sentences)}"
            yield _text(x, _TOP - 10, letter(index), anchor="middle", title=said)
            taken = x


def _lane(entry: KeyEntry, row: int, across: dict[int, int]) -> Iterator[str]:
    from taskseal.keys.timeline import spans

    y = _TOP + _LANE * row + (_LANE - _BAR) // 2
    name = shown(entry.key_version)
    wide = WIDTH - _LEFT - _RIGHT
    yield f'<rect class="lane" x="{_LEFT}" y="{y}" width="{wide}" height="{_BAR}"/>'
    yield _text(20, y + 14, name, limit=_LABEL, title=name)
    for span in spans(entry):
        begins, ends = across[span.begins], across[span.ends]
        said = (
            f"{name}: {MEANINGS[span.stage]}, "
            f"{write_instant(span.begins)} to {write_instant(span.ends)}"
        )
        yield (
            f'<rect class="{span.stage}" x="{begins}" y="{y}" width="{max(ends - begins, 2)}" '
            f'height="{_BAR}">{_title(said)}</rect>'
        )


def _listed(found: Sequence[Moment]) -> Iterator[tuple[str, str, str]]:
    """The lines below: the mark and the instant where a new one begins, and a sentence."""
    for index, each in enumerate(found):
        mark, when = letter(index), write_instant(each.at)
        for sentence in each.sentences:
            yield mark, when, sentence
            mark = when = ""


def _list(lines: Sequence[tuple[str, str, str]], top: int) -> Iterator[str]:
    for row, line in enumerate(lines):
        for x, words in zip(_COLUMNS, line, strict=True):
            if words:
                yield _text(x, top + _LINE * row, words, limit=_WORDS)


def _text(
    x: int,
    y: int,
    words: str,
    style: str = "",
    *,
    anchor: str = "start",
    limit: int = 200,
    title: str = "",
) -> str:
    about = (f' class="{style}"' if style else "") + (
        f' text-anchor="{anchor}"' if anchor != "start" else ""
    )
    inner = (_title(title) if title else "") + _escaped(_cut(shown(words), limit))
    return f'<text x="{x}" y="{y}"{about}>{inner}</text>'


def _title(words: str) -> str:
    return f"<title>{_escaped(shown(words))}</title>"


def _cut(words: str, limit: int) -> str:
    return words if len(words) <= limit else words[: limit - 1] + "…"


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

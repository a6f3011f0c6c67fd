"""Keys along time: stages without gaps, instants in order, an axis with room for hours and years."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import key_entry

from taskseal.keys.private import PrivateKey
from taskseal.keys.timeline import Span, moments, places, spans
from taskseal.validity import DAY, HOUR

ENTRY = replace(
    key_entry(PrivateKey.generate().public, "k/1"),
    not_before=10 * DAY,
    sign_from=12 * DAY,
    sign_until=20 * DAY,
    accept_until=21 * DAY,
)


def test_a_key_waits_signs_and_is_still_accepted() -> None:
    assert spans(ENTRY) == (
        Span("waiting", 10 * DAY, 12 * DAY),
        Span("signing", 12 * DAY, 20 * DAY),
        Span("overlap", 20 * DAY, 21 * DAY),
    )


def test_empty_stages_are_left_out() -> None:
    plain = replace(ENTRY, sign_from=10 * DAY, accept_until=20 * DAY)
    assert spans(plain) == (Span("signing", 10 * DAY, 20 * DAY),)


@pytest.mark.parametrize("day", [0, 10, 11, 12, 15, 20, 21, 30])
def test_a_revocation_cuts_what_comes_after_it(day: int) -> None:
    revoked = replace(ENTRY, revoked_at=day * DAY)
    found = spans(revoked)
    assert all(span.ends <= day * DAY for span in found if span.stage != "revoked")
    assert [span.stage for span in found].count("revoked") == (day < 21)
    told = " ".join(sentence for each in moments([revoked], 0) for sentence in each.sentences)
    assert "k/1 is revoked" in told
    assert ("signs no more" in told) == (day > 20)


@given(
    st.lists(st.integers(0, 50), min_size=4, max_size=4).map(sorted),
    st.none() | st.integers(0, 60),
    st.integers(0, 60),
)
def test_every_end_of_a_stage_stands_on_the_axis(
    instants: list[int], revoked: int | None, now: int
) -> None:
    names = ("not_before", "sign_from", "sign_until", "accept_until")
    entry = replace(ENTRY, **dict(zip(names, instants, strict=True)), revoked_at=revoked)
    axis = [each.at for each in moments([entry], now)]
    assert axis == sorted(set(axis))
    assert now in axis
    for span in spans(entry):
        assert {span.begins, span.ends} <= set(axis)


@given(st.sets(st.integers(0, 10**19), min_size=1, max_size=150), st.integers(2, 700))
def test_instants_stand_in_order_from_edge_to_edge(instants: set[int], width: int) -> None:
    found = places(sorted(instants), width)
    assert list(found) == sorted(found)
    assert found[0] == 0
    assert found[-1] == (width - 1 if len(found) > 1 else 0)
    if len(found) <= width:
        assert len(set(found)) == len(found), "no two in one place while there is room"


def test_hours_and_years_have_room_on_one_axis() -> None:
    axis = places([0, 365 * DAY, 365 * DAY + 48 * HOUR, 365 * DAY + 72 * HOUR, 800 * DAY], 70)
    assert min(later - earlier for earlier, later in pairwise(axis)) >= 8

"""The one reader of times, and the window rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import CASES, load

from taskseal.errors import InputError, Reason
from taskseal.validity import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Limits,
    Window,
    read_duration,
    read_instant,
    to_datetime,
    to_instant,
    write_instant,
)

NOW = 1_788_251_700 * SECOND
TIMES = load(CASES / "27-lenient-iso-dates/timestamps.json")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.5Z", SECOND // 2),
        ("2026-09-01T08:35:00Z", NOW),
        ("2024-02-29T00:00:00Z", 1_709_164_800 * SECOND),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_800 * SECOND - 1),
    ],
)
def test_an_instant_is_read_to_the_nanosecond(text: str, at: int) -> None:
    assert read_instant(text) == at


BAD = [
    *[item["value"] for item in TIMES["reject"]],
    "2026-01-01T00:05:60Z",
    "2016-12-31T23:59:60Z",
    "2026-01-01T23:60:00Z",
    "2023-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00+01:60",
    "2026-01-01T00:00:00+01",
    "2026-01-01T00:00:00.1234567890Z",
    "0000-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "12026-01-01T00:00:00Z",
    " 2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z ",
    "2026-01-01T00:00:00Ż",
    "2026\u201001-01T00:00:00Z",
    "",
]


@pytest.mark.parametrize("value", [*BAD, None, 1767225900, 1.5, True, b"2026-01-01T00:00:00Z"])
def test_anything_else_is_no_instant(value: object) -> None:
    assert read_instant(value) is None


@given(st.integers(0, 253_402_300_800 * SECOND - 1))
def test_what_is_written_is_read_back(at: int) -> None:
    text = write_instant(at)
    assert text.endswith("Z")
    assert read_instant(text) == at


@given(st.text(max_size=40))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    assert read_instant(text) is None or text[4] == "-"


def test_what_a_caller_may_call_an_instant() -> None:
    east = timezone(timedelta(hours=2))
    for when in (
        NOW,
        "2026-09-01T08:35:00Z",
        datetime(2026, 9, 1, 8, 35, tzinfo=UTC),
        datetime(2026, 9, 1, 10, 35, tzinfo=east),
    ):
        assert to_instant(when) == NOW
    assert to_datetime(NOW + 1999) == datetime(2026, 9, 1, 8, 35, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "when", ["yesterday", datetime(2026, 9, 1), datetime(1969, 1, 1, tzinfo=UTC), -1, True, None]
)
def test_what_is_no_instant_is_the_callers_fault(when: object) -> None:
    with pytest.raises(InputError) as caught:
        to_instant(when)  # type: ignore[arg-type]
    assert caught.value.code is Reason.USAGE


LIMITS = Limits(future_skew=300 * SECOND, past_skew=10 * SECOND, max_lifetime=DAY)


@pytest.mark.parametrize(
    ("issued", "expires", "reason"),
    [
        (0, HOUR, None),
        (0, DAY, None),
        (0, DAY + 1, Reason.INVALID_LIFETIME),
        (0, 0, Reason.INVALID_LIFETIME),
        (HOUR, 0, Reason.INVALID_LIFETIME),
        (300 * SECOND, HOUR, None),
        (300 * SECOND + 1, HOUR, Reason.NOT_YET_VALID),
        (-HOUR, -10 * SECOND, Reason.EXPIRED),
        (-HOUR, -10 * SECOND + 1, None),
    ],
)
def test_a_window_holds_up_to_its_edges(issued: int, expires: int, reason: Reason | None) -> None:
    fault = Window(NOW + issued, NOW + expires).fault(NOW, LIMITS)
    assert (fault and fault[0]) == reason


def test_no_limit_means_none() -> None:
    far = Window(NOW, NOW + 5000 * DAY)
    assert far.fault(NOW, LIMITS._replace(max_lifetime=None)) is None


@pytest.mark.parametrize(
    ("text", "span"),
    [("90s", 90 * SECOND), ("15m", 15 * MINUTE), ("24h", DAY), ("30d", 30 * DAY), ("0s", 0)],
)
def test_a_span_is_a_number_and_a_unit(text: str, span: int) -> None:
    assert read_duration(text) == span


@pytest.mark.parametrize("text", ["", "15", "m", "1.5h", "-1h", "1w", "１h", "1h ", 15, None])
def test_anything_else_is_no_span(text: object) -> None:
    assert read_duration(text) is None

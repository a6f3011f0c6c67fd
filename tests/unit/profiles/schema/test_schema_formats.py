"""The formats: ours for instants, the peer's looser one, and the engine's for UUIDs."""

from __future__ import annotations

import random
import re
from datetime import datetime, timedelta

import pytest

from taskseal.profiles.schema import Schema
from taskseal.profiles.schema.formats import is_instant, is_peers_instant
from taskseal.validity import is_loose_instant, read_instant

UUID = Schema.user({"type": "string", "format": "uuid"}, "test")
HYPHENATED = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def altered(text: str, rng: random.Random, letters: str) -> str:
    characters = [*text]
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(characters))
        match rng.randrange(3):
            case 0:
                characters[at] = rng.choice(letters)
            case 1:
                characters.insert(at, rng.choice(letters))
            case _:
                del characters[at]
    return "".join(characters)


def test_a_uuid_is_36_hyphenated_characters_and_nothing_else() -> None:
    rng = random.Random(45)
    verdicts = set()
    for _ in range(20_000):
        text = altered("2eb8aa08-AA98-11ea-b4aa-73b441d16380", rng, "0aFg-{}: \nА٠")
        verdict = HYPHENATED.fullmatch(text) is not None
        assert (UUID.fault(text) is None) == verdict, text
        verdicts.add(verdict)
    assert verdicts == {True, False}
    for text in (
        "urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}",
        "2eb8aa08aa9811eab4aa73b441d16380",
        "2eb8aa08-aa98-11ea-b4aa-73b441d16380\n",
    ):
        assert UUID.fault(text) is not None


def test_date_time_is_what_the_reader_of_times_reads() -> None:
    rng = random.Random(27)
    verdicts = set()
    for _ in range(50_000):
        day = datetime(1968, 1, 1) + timedelta(
            days=rng.randrange(30_000), seconds=rng.randrange(86_400)
        )
        text = day.isoformat() + rng.choice(["Z", ".5Z", ".123456789Z", "+02:00", "z", "", ".Z"])
        text = altered(text, rng, "0123569-:TtZz. +\n٠")
        verdict = read_instant(text) is not None
        assert is_instant(text) == verdict, text
        verdicts.add(verdict)
    assert verdicts == {True, False}


@pytest.mark.parametrize("month", range(14))
def test_date_time_knows_the_calendar(month: int) -> None:
    for year in (1969, 1970, 2000, 2023, 2024, 2100, 9999):
        for day in range(33):
            text = f"{year:04}-{month:02}-{day:02}T00:00:00Z"
            assert is_instant(text) == (read_instant(text) is not None), text


@pytest.mark.parametrize(
    "text",
    [
        "2026-09-01T08:35:00Z",
        "2016-12-31T23:59:60Z",
        "2016-12-31T23:59:60.999Z",
        "2017-01-01T01:59:60+02:00",
        "2016-12-31T22:59:60-01:00",
        "2016-12-31T23:29:60-0030",
        "2026-09-01T08:35:00+02",
        "2026-09-01T08:35:00+0230",
        "2026-09-01t08:35:00z",
        "2026-09-01 08:35:00Z",
        "2026-09-01\n08:35:00Z",
        "2026-09-01\ufeff08:35:00Z",
        "1969-12-31T23:59:59Z",
        "0000-02-29T00:00:00Z",
        "2026-09-01T08:35:00.12345678901234567890Z",
    ],
)
def test_the_loose_date_time_takes_what_the_peer_takes(text: str) -> None:
    assert is_loose_instant(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-09-01",
        "2026-09-01T08:35:00",
        "2026-09-01T08:35Z",
        "2026-09-01T08:35:00.Z",
        "2026-09-01T24:00:00Z",
        "2026-09-01T08:60:00Z",
        "2026-09-01T08:35:60Z",
        "2016-12-31T23:59:60+01:00",
        "2016-12-31T23:59:61Z",
        "2026-09-01T08:35:00+24:00",
        "2026-09-01T08:35:00+00:60",
        "2026-09-01T08:35:00+2",
        "2026-09-01T08:35:00+02:0",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-09-01\x8508:35:00Z",
        "2026-09-01  08:35:00Z",
        "2026-09-01T08:35:00Z\n",
        "2026-W36-2T08:35:00Z",
        "٢026-09-01T08:35:00Z",
        "1788251700",
    ],
)
def test_the_loose_date_time_refuses_what_the_peer_refuses(text: str) -> None:
    assert not is_loose_instant(text)


def test_the_loose_one_takes_everything_that_the_strict_one_takes() -> None:
    rng = random.Random(3)
    for _ in range(20_000):
        text = altered("2026-09-01T23:59:59.5+02:00", rng, "0123569-:TtZz. +")
        assert is_loose_instant(text) or not is_instant(text), text
        assert is_peers_instant(text) == is_loose_instant(text), text


def test_a_receipt_may_hold_a_time_that_only_the_peer_reads() -> None:
    time = Schema.named("dharma.action-decision-receipt.v1").document["$id"] + "#/$defs/time"
    schema = Schema.user({"$ref": time}, "test")
    assert schema.fault("2016-12-31T23:59:60Z") is None
    fault = schema.fault("yesterday")
    assert fault is not None
    assert fault.detail.startswith("time_malformed: ")

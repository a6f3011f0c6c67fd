"""Strict base64url and hexadecimal: one spelling each."""

from __future__ import annotations

from string import ascii_letters, digits

import pytest

from taskseal.canon.encoding import b64url_decode, b64url_encode, hex_decode

ALPHABET = ascii_letters[26:] + ascii_letters[:26] + digits + "-_"
NOT_TEXT = [None, 1, 1.5, True, b"YQ", [], {}, ["YQ"], object()]


class Text(str):
    """A subclass is not the type itself."""


@pytest.mark.parametrize("size", range(70))
def test_what_was_encoded_decodes(size: int) -> None:
    data = bytes(range(256 - size, 256))
    assert b64url_decode(b64url_encode(data)) == data
    assert "=" not in b64url_encode(data)
    assert hex_decode(data.hex()) == data


def test_43_characters_end_in_one_of_sixteen() -> None:
    taken = {last for last in ALPHABET if b64url_decode("A" * 42 + last) is not None}
    assert taken == set("AEIMQUYcgkosw048")


def test_86_characters_end_in_one_of_four() -> None:
    taken = {last for last in ALPHABET if b64url_decode("A" * 85 + last) is not None}
    assert taken == set("AQgw")


@pytest.mark.parametrize(
    "text",
    [
        *["YQ==", "YQ=", "=YQ", "YQ\n", " YQ", "Y Q", "YQ\r\n", "Y", "YQE=", "ab+d", "ab/d"],
        *["YQ.", "YR", "é", "YQ\u200b", "\ud800", "Y\x00", "YQ==YQ==", "YQ%3D", "YQYQY"],
    ],
)
def test_any_other_base64url_spelling_is_none(text: str) -> None:
    assert b64url_decode(text) is None


@pytest.mark.parametrize(
    "text", ["A0", "a", "0x00", "a0 ", " a0", "a0 b0", "a0\n", "g0", "é0", "\ud800", "١٢", "a0\x00"]
)
def test_any_other_hexadecimal_spelling_is_none(text: str) -> None:
    assert hex_decode(text) is None


@pytest.mark.parametrize("thing", [*NOT_TEXT, Text("00")])
def test_what_is_not_exactly_text_is_none(thing: object) -> None:
    assert b64url_decode(thing) is None
    assert hex_decode(thing) is None


def test_the_empty_text_spells_no_bytes() -> None:
    assert b64url_decode("") == b""
    assert hex_decode("") == b""

"""Strict text codecs: exactly one text for each run of bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from taskseal.canon.digest import CODECS, Digest
from taskseal.canon.encoding import b64url_decode, b64url_encode, hex_decode
from taskseal.errors import InputError, Reason

BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
noise = st.text(st.sampled_from(BASE64 + "+/= \n") | st.characters(), max_size=20)


@given(st.binary(max_size=100))
def test_bytes_survive_the_round_trip(data: bytes) -> None:
    assert b64url_decode(b64url_encode(data)) == data
    assert hex_decode(data.hex()) == data


@settings(max_examples=300)
@given(st.text(st.sampled_from(BASE64), max_size=20) | noise)
def test_a_text_that_decodes_is_the_one_spelling(text: str) -> None:
    data = b64url_decode(text)
    assert data is None or b64url_encode(data) == text
    data = hex_decode(text)
    assert data is None or data.hex() == text


@given(st.binary(min_size=32, max_size=32), st.sampled_from(sorted(CODECS)), st.data())
def test_a_digest_text_with_one_character_changed_is_another_digest_or_malformed(
    value: bytes, codec: str, data: st.DataObject
) -> None:
    digest = Digest("blake3" if codec.startswith("blake3") else "sha256", value)
    text = digest.text(codec)
    assert Digest.read(text, codec) == digest
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(BASE64 + "+/=:. \n").filter(lambda mark: mark != text[at]))
    changed = text[:at] + other + text[at + 1 :]
    try:
        read = Digest.read(changed, codec)
    except InputError as error:
        assert error.code is Reason.DIGEST_MALFORMED
    else:
        assert read != digest
        assert read.text(codec) == changed

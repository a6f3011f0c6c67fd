"""The names of keys: what a message may bear, and what a new key may."""

from __future__ import annotations

import pytest

from taskseal.errors import InputError, Reason
from taskseal.keys.version import check_name, check_new_key_version, readable_key_version

GOOD = ["a", "kms/tasks/1", "v1#2", "ключ 1", "🗝️", "../x", "x" * 500, "0"]


@pytest.mark.parametrize("text", GOOD)
def test_an_ordinary_name_serves_for_new_keys_and_in_messages(text: str) -> None:
    assert check_new_key_version(text) == text
    assert readable_key_version(text) == text


@pytest.mark.parametrize(
    "text",
    [" a", "a ", "\u00a0a", "a\u3000", "a\nb", "a\0", "\x7f", "a\x85b", "a\u2028b", "\ud800", " "],
)
def test_a_name_with_controls_or_outer_blanks_serves_in_messages_only(text: str) -> None:
    assert readable_key_version(text) == text
    with pytest.raises(InputError) as caught:
        check_new_key_version(text)
    assert caught.value.code is Reason.USAGE
    str(caught.value).encode()


@pytest.mark.parametrize("value", ["", "x" * 501, None, 1, True, b"a", ["a"]])
def test_what_is_no_text_of_1_to_500_characters_names_no_key(value: object) -> None:
    assert readable_key_version(value) is None
    with pytest.raises(InputError):
        check_new_key_version(value)


def test_the_refusal_says_what_was_named() -> None:
    with pytest.raises(InputError, match="issuer"):
        check_name("", "issuer")

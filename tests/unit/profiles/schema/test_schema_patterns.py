"""Patterns: the meaning of ECMA-262, in linear time."""

from __future__ import annotations

import pytest

from taskseal.errors import MaterialError, Reason
from taskseal.profiles.schema import Schema


def matches(pattern: str, text: str) -> bool:
    return Schema.user({"pattern": pattern}, "test").fault(text) is None


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^a$", ["a"], ["a\n", "a\r\n", "\na", "b"]),
        ("a", ["xax", "a\n"], ["x"]),
        (r"^\s$", [*"\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"], [*"\x85\u180e\u200b\x1c", "a"]),
        (r"^[^\s]$", ["\x85", "a"], ["\ufeff", " "]),
        (r"^\S$", ["\x85"], ["\ufeff"]),
        (r"^\d$", ["1"], ["\u0661"]),
        (r"^[\w]$", ["a", "_"], ["é"]),
        (r"^.$", ["\x85", "\U0001f600"], ["\n", "\r", "\u2028", "\u2029", ""]),
        (r"^\p{Lu}\P{Lu}$", ["Aa", "Éé"], ["aA"]),
        (r"^\p{Script=Greek}$", ["α"], ["a"]),
        (r"^\u0041\x42\u{43}\cJ\t$", ["ABC\n\t"], ["ABC"]),
        (r"^(?:a|b)(?<n>c)$", ["ac", "bc"], ["c"]),
        (r"^a{2}b{1,}c{0,2}?d*?e+?$", ["aabe", "aabccde"], ["abe"]),
        (r"^[a\-z\]\[\\^&~]$", ["-", "]", "[", "\\", "^", "&", "~"], ["b"]),
        (r"^\$\(\)\*\+\.\?\[\]\\\^\{\}\|\/\-\_\#$", [r"$()*+.?[]\^{}|/-_#"], ["x"]),
        ("^]}$", ["]}"], ["]"]),
        ("^\U0001f600$", ["\U0001f600"], ["\U0001f601"]),
        (r"^[a-c&-]$", ["&", "-", "b"], ["d"]),
    ],
)  # fmt: skip
def test_a_pattern_means_what_it_means_in_ecma_262(
    pattern: str, good: list[str], bad: list[str]
) -> None:
    assert [text for text in good if not matches(pattern, text)] == []
    assert [text for text in bad if matches(pattern, text)] == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)", "look-around"),
        ("^(?!a)b", "look-around"),
        ("(?<=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "back-reference"),
        (r"(?<n>a)\k<n>", "back-reference"),
        (r"[\1]", "back-reference"),
        ("(?i)a", "no group"),
        ("(?i:a)", "no group"),
        ("(?x) a", "no group"),
        ("(?P<n>a)", "no group"),
        ("(?>a)", "no group"),
        ("(?#a)", "no group"),
        ("(?", "no group"),
        (r"\Aa", "no escape"),
        (r"a\z", "no escape"),
        (r"a\Z", "no escape"),
        (r"\a", "no escape"),
        (r"\h", "no escape"),
        (r"\Q.\E", "no escape"),
        (r"\<a\>", "no escape"),
        (r"\x{41}", "no escape"),
        (r"\x4", "no escape"),
        (r"\pL", "no escape"),
        (r"\U00000041", "no escape"),
        (r"\u{}", "no escape"),
        (r"\c1", "no escape"),
        (r"[\A]", "no escape"),
        ("a\\", "no escape"),
        ("[a\\", "no escape"),
        (r"\bword\b", "what a word is"),
        (r"\B", "what a word is"),
        (r"[\b]", "what a word is"),
        ("a++", "repeated"),
        ("a*+", "repeated"),
        ("a{2}{3}", "repeated"),
        ("a+??", "repeated"),
        ("[]a]", "empty class"),
        ("[^]", "empty class"),
        ("[[:alpha:]]", "escape ["),
        ("[a&&b]", "escape &"),
        ("[a--b]", "escape -"),
        ("[a~~b]", "escape ~"),
        ("(", "malformed"),
        ("a)", "malformed"),
        ("[a", "malformed"),
        ("*a", "malformed"),
        ("a{2,1}", "malformed"),
        ("a{", "malformed"),
        ("a{,3}", "malformed"),
        ("[z-a]", "malformed"),
        (r"\p{Nothing}", "malformed"),
        (r"\ud83d\ude00", "malformed"),
        (r"\0", "no escape"),
        ("(a{1000}){1000}", "too large"),
        ("(?:" * 5000 + ")" * 5000, "malformed"),
    ],
)
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_a_pattern_that_another_engine_reads_otherwise_fails_at_load(
    keyword: str, pattern: str, why: str
) -> None:
    document = (
        {"pattern": pattern} if keyword == "pattern" else {"patternProperties": {pattern: {}}}
    )
    with pytest.raises(MaterialError) as caught:
        Schema.user(document, "test")
    assert caught.value.code is Reason.PROFILE_MALFORMED
    assert caught.value.pointer is not None
    assert caught.value.pointer.startswith("/" + keyword)
    assert why in caught.value.detail.replace(r"\b", "").replace(r"\B", "")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a|a?)+$", "a" * 1_000_000 + "b"),
        ("(x+x+)+y", "x" * 1_000_000),
        (r"^([a-zA-Z0-9]+\s?)*$", "a" * 1_000_000 + "!"),
        ("(.*)*,(.*)*,", "x" * 1_000_000),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 1_000_000),
    ],
)
def test_a_pattern_that_would_backtrack_for_ever_comes_to_an_end(pattern: str, text: str) -> None:
    assert not matches(pattern, text)

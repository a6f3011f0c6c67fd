"""Dharma's order against a second reading of the rule, name by name."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from taskseal.canon.dharma import portability
from taskseal.canon.jcs import canonicalise
from taskseal.canon.strictjson import parse

ORDER = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
ascii_names = st.one_of(
    st.text(st.sampled_from("abAB_"), max_size=4),
    st.text(st.sampled_from("aB19_"), max_size=3),
    st.text(st.sampled_from("0129"), max_size=3),
    st.sampled_from(["taskId", "taskType", "task_id", "4294967294", "4294967295", "4294967296"]),
    st.text(st.characters(max_codepoint=127), max_size=3),
)


def compare(one: str, other: str) -> int:
    """Below zero when ``one`` comes first, zero for a tie."""
    left = [mark for mark in one if mark.lower() in ORDER]
    right = [mark for mark in other if mark.lower() in ORDER]
    for here, there in zip(left, right, strict=False):
        distance = ORDER.index(here.lower()) - ORDER.index(there.lower())
        if distance:
            return distance
    if len(left) != len(right):
        return len(left) - len(right)
    for here, there in zip(left, right, strict=True):
        if here != there:
            return -1 if here.islower() else 1
    return 0


def is_index(name: str) -> bool:
    return name in {str(int(name))} and int(name) < 2**32 - 1 if name.isdigit() else False


def arranged(names: list[str]) -> list[str] | None:
    """The names in Dharma's order, or None when two of them tie."""
    plain = sorted((name for name in names if not is_index(name)), key=cmp_to_key(compare))
    if any(compare(plain[at], plain[at + 1]) == 0 for at in range(len(plain) - 1)):
        return None
    return sorted(filter(is_index, names), key=int) + plain


@settings(max_examples=500)
@given(st.dictionaries(ascii_names, st.just(1), max_size=6))
def test_ascii_names_are_arranged_as_the_rule_says(members: dict[str, int]) -> None:
    found = portability({"k": members})
    expected = arranged(list(members))
    if expected is None:
        assert (found.verdict, found.pointer) == ("undecidable", "/k")
        assert found.names is not None
        assert compare(*found.names) == 0
    elif expected == sorted(members):
        assert found.verdict == "same"
    else:
        assert found.form is not None
        assert list(parse(found.form).value["k"]) == expected
        assert parse(found.form).value == {"k": members}
        assert found.names is not None
        assert sorted(found.names) == [found.names[0], found.names[1]]


@settings(max_examples=150)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), st.just(1)))
def test_a_name_outside_ascii_is_decidable_only_when_alone(members: dict[str, Any]) -> None:
    found = portability([members])
    if len(members) < 2:
        assert found.verdict == "same"
    elif not "".join(members).isascii():
        assert (found.verdict, found.pointer) == ("undecidable", "/0")
        assert found.names is not None and set(found.names) <= set(members)
        assert not found.names[0].isascii()


@settings(max_examples=150)
@given(st.dictionaries(ascii_names, st.just(1), max_size=6), st.permutations(range(6)))
def test_the_verdict_does_not_depend_on_the_order_of_the_members(
    members: dict[str, int], order: list[int]
) -> None:
    names = list(members)
    other = {names[at]: 1 for at in order if at < len(names)}
    assert canonicalise(other) == canonicalise(members)
    assert portability(other) == portability(members)

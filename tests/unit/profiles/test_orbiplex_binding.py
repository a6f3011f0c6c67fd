"""Orbiplex turn requests against the binding that the receiver supplied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskseal.canon.digest import self_digest
from taskseal.errors import MaterialError, Reason
from taskseal.profiles import ORBIPLEX_TURN_REQUEST, Check, Context, Facts

Sample = Callable[[str], dict[str, Any]]

AXES = ["max_tokens", "max_cost_micros", "max_wall_time_ms", "max_steps"]


@pytest.fixture
def request_(sample: Sample) -> dict[str, Any]:
    return sample("orbiplex/start")


@pytest.fixture
def binding(known: dict[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = known["orbiplex"]["binding"]
    return value


def _seal(request: dict[str, Any], binding: dict[str, Any]) -> None:
    """Makes both carry the digest that the binding has now."""
    text = self_digest(binding, "binding/digest").text("sha256:b64url")
    request["binding/digest"] = binding["binding/digest"] = text


def _relations(request: dict[str, Any], orbiplex: Any) -> list[Check]:
    made = []
    for check in ORBIPLEX_TURN_REQUEST.relations(Facts(request, 0, Context(orbiplex=orbiplex))):
        made.append(check)
        if check.result == "failed":
            break
    return made


def _last(request: dict[str, Any], binding: dict[str, Any]) -> tuple[Reason | None, str | None]:
    last = _relations(request, {"binding": binding})[-1]
    return last.reason, last.pointer


HOLDS = (None, None)


def test_without_a_binding_the_comparison_is_skipped(request_: dict[str, Any]) -> None:
    (check,) = _relations(request_, {})
    assert (check.check, check.result) == ("binding", "skipped")


def test_the_published_binding_holds(request_: dict[str, Any], binding: dict[str, Any]) -> None:
    made = _relations(request_, {"binding": binding})
    assert [(check.check, check.result) for check in made] == [
        ("binding refs", "passed"),
        ("binding digest", "passed"),
        ("binding expiry", "passed"),
        ("ceilings", "passed"),
        ("offers", "passed"),
    ]


@pytest.mark.parametrize(
    ("member", "where"), [("binding/ref", "/binding~1ref"), ("agent/id", "/agent~1id")]
)
def test_the_refs_are_equal(
    member: str, where: str, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    request_[member] += "x"
    assert _last(request_, binding) == (Reason.BINDING_MISMATCH, where)


def test_another_binding_than_the_one_digested_is_refused(
    request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    binding["max/passages"] = 256
    assert _last(request_, binding) == (Reason.DIGEST_MISMATCH, "/binding~1digest")


def test_a_binding_with_a_foreign_digest_of_its_own_is_refused(
    request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    binding["binding/digest"] = "sha256:" + "A" * 43
    assert _last(request_, binding) == (Reason.DIGEST_MISMATCH, "/binding~1digest")


def test_a_request_with_a_foreign_digest_is_refused(
    request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    request_["binding/digest"] = "sha256:" + "A" * 43
    assert _last(request_, binding) == (Reason.DIGEST_MISMATCH, "/binding~1digest")


def test_two_equal_wrong_digests_are_refused(
    request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    request_["binding/digest"] = binding["binding/digest"] = "sha256:" + "A" * 43
    assert _last(request_, binding) == (Reason.DIGEST_MISMATCH, "/binding~1digest")


def test_further_members_of_a_binding_are_digested_too(
    request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    binding["note"] = "new"
    assert _last(request_, binding) == (Reason.DIGEST_MISMATCH, "/binding~1digest")
    _seal(request_, binding)
    assert _last(request_, binding) == HOLDS


@pytest.mark.parametrize(
    ("deadline", "expected"),
    [
        ("2026-09-01T12:00:00Z", HOLDS),
        ("2026-09-01T14:00:00+02:00", HOLDS),
        ("2026-09-01T12:00:00.000000001Z", (Reason.BINDING_MISMATCH, "/deadline~1at")),
    ],
)
def test_a_deadline_is_no_later_than_the_binding_s_expiry(
    deadline: str, expected: Any, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    request_["deadline/at"] = deadline
    assert _last(request_, binding) == expected


@pytest.mark.parametrize(
    ("passage", "expected"), [(4, HOLDS), (5, (Reason.CEILING_EXCEEDED, "/passage~1no"))]
)
def test_a_passage_is_within_the_most_that_are_bound(
    passage: int, expected: Any, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    request_["passage/no"] = passage
    assert _last(request_, binding) == expected


@pytest.mark.parametrize("axis", AXES)
def test_every_axis_of_the_budget_has_its_ceiling(
    axis: str, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    ceiling = binding["budget/turn-ceiling"][axis]
    request_["budget/reservation"][axis] = ceiling
    assert _last(request_, binding) == HOLDS
    request_["budget/reservation"][axis] = ceiling + 1
    where = f"/budget~1reservation/{axis}"
    assert _last(request_, binding) == (Reason.CEILING_EXCEEDED, where)


VISIBILITIES = ["private", "operator", "shared"]
TIERS = ["Public", "Community", "Personal"]


@pytest.mark.parametrize("ceiling", VISIBILITIES)
@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_visibility_rises_from_private_over_operator_to_shared(
    visibility: str, ceiling: str, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    request_["visibility"], binding["visibility/ceiling"] = visibility, ceiling
    _seal(request_, binding)
    above = VISIBILITIES.index(visibility) > VISIBILITIES.index(ceiling)
    expected = (Reason.CEILING_EXCEEDED, "/visibility") if above else HOLDS
    assert _last(request_, binding) == expected


@pytest.mark.parametrize("ceiling", TIERS)
@pytest.mark.parametrize("tier", TIERS)
def test_the_effective_tier_rises_from_public_over_community_to_personal(
    tier: str, ceiling: str, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    request_["classification"]["effective_tier"] = tier
    binding["classification/ceiling"] = ceiling
    _seal(request_, binding)
    above = TIERS.index(tier) > TIERS.index(ceiling)
    where = "/classification/effective_tier"
    assert _last(request_, binding) == ((Reason.CEILING_EXCEEDED, where) if above else HOLDS)


@pytest.mark.parametrize(
    ("member", "offered", "where"),
    [
        ("prompt-policy/ref", "prompt-policy/refs", "/prompt-policy~1ref"),
        ("output-schema/ref", "output-schema/refs", "/output-schema~1ref"),
    ],
)
def test_policy_and_schema_are_among_those_offered(
    member: str, offered: str, where: str, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    binding[offered] = ["other:1", request_[member]]
    _seal(request_, binding)
    assert _last(request_, binding) == HOLDS
    binding[offered] = ["other:1"]
    _seal(request_, binding)
    assert _last(request_, binding) == (Reason.BINDING_MISMATCH, where)
    binding[offered] = []
    _seal(request_, binding)
    assert _last(request_, binding) == (Reason.BINDING_MISMATCH, where)


@pytest.mark.parametrize("value", ["binding.json", 7, [], True])
def test_a_binding_that_is_no_object_is_the_receiver_s_fault(
    value: Any, request_: dict[str, Any]
) -> None:
    with pytest.raises(MaterialError) as caught:
        _relations(request_, {"binding": value})
    assert (caught.value.code, caught.value.pointer) == (
        Reason.CONTEXT_MALFORMED,
        "/orbiplex/binding",
    )


@pytest.mark.parametrize(
    ("member", "value", "where"),
    [
        ("max/passages", "4", "/orbiplex/binding/max~1passages"),
        ("visibility/ceiling", "public", "/orbiplex/binding/visibility~1ceiling"),
        ("expires/at", "tomorrow", "/orbiplex/binding/expires~1at"),
        ("budget/turn-ceiling", {}, "/orbiplex/binding/budget~1turn-ceiling/max_tokens"),
        ("prompt-policy/refs", None, "/orbiplex/binding/prompt-policy~1refs"),
    ],
)
def test_a_binding_that_does_not_fit_its_schema_is_the_receiver_s_fault(
    member: str, value: Any, where: str, request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    binding[member] = value
    with pytest.raises(MaterialError) as caught:
        _relations(request_, {"binding": binding})
    assert (caught.value.code, caught.value.pointer) == (Reason.CONTEXT_MALFORMED, where)


def test_a_binding_without_a_canonical_form_is_the_receiver_s_fault(
    request_: dict[str, Any], binding: dict[str, Any]
) -> None:
    binding["note"] = 2**53
    with pytest.raises(MaterialError) as caught:
        _relations(request_, {"binding": binding})
    assert (caught.value.code, caught.value.pointer) == (
        Reason.CONTEXT_MALFORMED,
        "/orbiplex/binding/note",
    )

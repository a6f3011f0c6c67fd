"""The schemas give the verdicts of the ones that their projects publish.

Valid envelopes are altered some thousands of times, at random and rule by rule. Each time our
verdict, which jsonschema-rs decides, is held against the published schema under both validators.
The listed repairs are made in the published schema first: formats are asserted (by the same
functions for all), and the Orbiplex reference resolves. Patterns are ECMA-262's, so jsonschema,
which reads them with Python's ``re``, is not asked about the three characters that it takes
otherwise.

Where ``TASKSEAL_SEEDS`` is unset, the comparisons with the published schemas are skipped, and ours
are read by both validators only.
"""

from __future__ import annotations

import json
import random
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_probes import (
    SEEDS,
    Verdict,
    altered,
    fits,
    for_python,
    probes,
    published,
    validators,
)

from taskseal.canon.pointer import MISSING, resolve
from taskseal.profiles.schema import Schema

EVERY_FAMILY = pytest.mark.parametrize("name", SEEDS)


@EVERY_FAMILY
def test_rule_by_rule_the_published_schemas_give_the_same_verdicts(seeds: Path, name: str) -> None:
    theirs = published(name, seeds)
    python, rust = validators(theirs)
    guided = chain(probes(name, theirs), probes(name, document(name)))
    verdicts = []
    for number, value in enumerate({json.dumps(value): value for value in guided}.values()):
        verdict = fits(name, value)
        assert rust(value) == verdict, value
        # jsonschema takes a hundred times as long: one in eight is enough to tell the two apart.
        if number % 8 == 0 and for_python(value):
            assert python(value) == verdict, value
        verdicts.append(verdict)
    assert verdicts.count(True) > 500
    assert verdicts.count(False) > 2_000


@EVERY_FAMILY
def test_at_random_the_published_schemas_give_the_same_verdicts(seeds: Path, name: str) -> None:
    compare(name, validators(published(name, seeds)), examples=700)


@EVERY_FAMILY
def test_both_validators_read_our_schemas_alike(name: str) -> None:
    compare(name, validators(document(name)), examples=300)


def compare(name: str, oracles: tuple[Verdict, Verdict], examples: int) -> None:
    python, rust = oracles
    verdicts = set()

    @settings(max_examples=examples)
    @given(st.randoms(use_true_random=False))
    def agree(rng: random.Random) -> None:
        value = altered(name, rng)
        verdict = fits(name, value)
        assert rust(value) == verdict
        assert not for_python(value) or python(value) == verdict
        verdicts.add(verdict)

    agree()
    assert verdicts == {True, False}


def document(name: str) -> dict[str, Any]:
    return Schema.named(name).document


@EVERY_FAMILY
@settings(max_examples=300)
@given(rng=st.randoms(use_true_random=False))
def test_the_fault_named_is_really_there(name: str, rng: random.Random) -> None:
    value = altered(name, rng)
    fault = Schema.named(name).fault(value)
    if fault is None:
        return
    assert len(fault.detail) < 1000
    parent = fault.pointer.rpartition("/")[0]
    assert resolve(value, parent) is not MISSING
    missing = resolve(value, fault.pointer) is MISSING
    assert missing == fault.detail.endswith(" is missing")


@EVERY_FAMILY
@settings(max_examples=300)
@given(rng=st.randoms(use_true_random=False))
def test_the_fault_named_does_not_depend_on_the_order_of_members(
    name: str, rng: random.Random
) -> None:
    value = altered(name, rng)
    fault = Schema.named(name).fault(value)
    assert Schema.named(name).fault(json.loads(json.dumps(value, sort_keys=True))) == fault

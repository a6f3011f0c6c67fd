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
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_probes import SEEDS, altered, disagreements, probes, published, validators

from taskseal.canon.pointer import MISSING, resolve
from taskseal.profiles.schema import Schema

EVERY_FAMILY = pytest.mark.parametrize("name", SEEDS)


@EVERY_FAMILY
def test_rule_by_rule_the_published_schemas_give_the_same_verdicts(seeds: Path, name: str) -> None:
    theirs = published(name, seeds)
    oracles = validators(theirs)
    verdicts = []
    for guide in (theirs, Schema.named(name).document):
        for value in probes(name, guide):
            assert disagreements(name, value, oracles) == [], value
            verdicts.append(Schema.named(name).fault(value) is None)
    assert verdicts.count(True) > 200
    assert verdicts.count(False) > 1_000


@EVERY_FAMILY
def test_at_random_the_published_schemas_give_the_same_verdicts(seeds: Path, name: str) -> None:
    oracles = validators(published(name, seeds))
    verdicts = set()

    @settings(max_examples=700)
    @given(st.randoms(use_true_random=False))
    def compare(rng: random.Random) -> None:
        value = altered(name, rng)
        assert disagreements(name, value, oracles) == []
        verdicts.add(Schema.named(name).fault(value) is None)

    compare()
    assert verdicts == {True, False}


@EVERY_FAMILY
def test_both_validators_read_our_schemas_alike(name: str) -> None:
    oracles = validators(Schema.named(name).document)

    @settings(max_examples=300)
    @given(st.randoms(use_true_random=False))
    def compare(rng: random.Random) -> None:
        assert disagreements(name, altered(name, rng), oracles) == []

    compare()


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

"""The samples, and a walk through a profile's hooks in the order of the pipeline."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise
from taskseal.canon.pointer import resolve
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.profiles import Binding, Check, Context, Facts, Profile
from taskseal.validity import read_instant

Walk = Callable[..., list[Check]]


@pytest.fixture(scope="session")
def samples(vectors: Path) -> Path:
    return vectors / "samples"


@pytest.fixture
def sample(samples: Path) -> Callable[[str], dict[str, Any]]:
    """A fresh copy of a sample, by its path without ``.json``."""
    return lambda name: parse((samples / f"{name}.json").read_bytes()).value


@pytest.fixture(scope="session")
def now(samples: Path) -> int:
    at = read_instant(json.loads((samples / "context.json").read_bytes())["now"])
    assert at is not None
    return at


@pytest.fixture
def known(samples: Path) -> dict[str, Any]:
    """The members of the samples' context, the binding in place of its path."""
    value: dict[str, Any] = json.loads((samples / "context.json").read_bytes())
    value["orbiplex"]["binding"] = json.loads((samples / value["orbiplex"]["binding"]).read_bytes())
    return value


@pytest.fixture
def context(known: dict[str, Any]) -> Context:
    return Context(aisa=known["aisa"], orbiplex=known["orbiplex"])


@pytest.fixture(scope="session")
def artefacts(samples: Path) -> dict[str, bytes]:
    """The samples' artefacts by the name that the messages give them."""
    value = json.loads((samples / "context.json").read_bytes())
    named = {**value["aisa"]["artefact_files"], **value["orbiplex"]["artifact_files"]}
    return {ref: (samples / path).read_bytes() for ref, path in named.items()}


def _bound(binding: Binding, envelope: Mapping[str, Any], artefacts: Mapping[str, bytes]) -> Check:
    """A small stand-in for the pipeline's comparison, with nothing of it in common."""
    name = binding.name
    text = resolve(envelope, binding.pointer)
    if binding.any_case:
        text = str(text).lower()
    try:
        wanted = Digest.read(text, binding.codec)
    except InputError:
        return Check(name, "failed", Reason.DIGEST_MALFORMED, "", binding.pointer)
    if binding.inline is not None:
        value = resolve(envelope, binding.inline)
        data = str(value).encode() if binding.kind == "text" else canonicalise(value)
    elif binding.ref in artefacts:
        data = artefacts[binding.ref]
    else:
        return Check(name, "skipped")
    if binding.size_pointer and resolve(envelope, binding.size_pointer) != len(data):
        return Check(name, "failed", Reason.DIGEST_MISMATCH, "", binding.size_pointer)
    if wanted != Digest("sha256", hashlib.sha256(data).digest()):
        return Check(name, "failed", Reason.DIGEST_MISMATCH, "", binding.pointer)
    return Check(name, "passed")


def _walk(profile: Profile, facts: Facts, artefacts: Mapping[str, bytes]) -> Iterator[Check]:
    yield from profile.known(facts) if profile.known else ()
    assert profile.schema is not None
    fault = profile.schema.fault(facts.envelope)
    if fault is not None:
        yield Check("schema", "failed", Reason.SCHEMA_INVALID, fault.detail, fault.pointer)
    yield from profile.semantics(facts) if profile.semantics else ()
    for binding in profile.bindings(facts.envelope):
        yield _bound(binding, facts.envelope, artefacts)
    yield from profile.relations(facts) if profile.relations else ()
    yield from profile.rules(facts) if profile.rules else ()


@pytest.fixture
def walk(now: int, context: Context, artefacts: dict[str, bytes]) -> Walk:
    """Every check of a profile on a document, up to the first that failed."""

    def run(profile: Profile, envelope: Mapping[str, Any], **facts: Any) -> list[Check]:
        given = Facts(**{"envelope": envelope, "now": now, "context": context, **facts})
        made = []
        for check in _walk(profile, given, artefacts):
            made.append(check)
            if check.result == "failed":
                break
        return made

    return run

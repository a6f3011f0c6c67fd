"""The shipped schemas against the samples and the vectors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from taskseal.canon.pointer import join
from taskseal.errors import MaterialError, Reason
from taskseal.profiles.schema import Schema
from taskseal.profiles.schema.catalogue import NAMES, shipped_file

SYSTEMS = {"aisa": "aisa.message.v1", "orbiplex": "orbiplex.turn-request.v1"}
# What the manifest calls schema faults but ECMA-262 lets through: U+0085 is no white space there.
# A check on the characters of references refuses it.
LEFT_TO_A_CHECK = {"orbiplex-ref-nel.json"}


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def dharma(vectors: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load(vectors / "dharma" / f"{name}.json")["vectors"]
    return found


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_valid_sample_fits_its_schema(vectors: Path, system: str) -> None:
    files = sorted((vectors / "samples" / system).glob("*.json"))
    assert files
    for file in files:
        assert Schema.named(SYSTEMS[system]).fault(load(file)) is None, file.name


def test_the_binding_and_the_context_of_the_samples_fit(vectors: Path) -> None:
    context = load(vectors / "samples/context.json")
    binding = load(vectors / "samples/orbiplex/support/binding.json")
    assert Schema.named("orbiplex.binding.v1").fault(binding) is None
    assert Schema.named("taskseal.context.v1").fault(context) is None
    context["orbiplex"]["binding"] = binding
    assert Schema.named("taskseal.context.v1").fault(context) is None


def test_every_invalid_sample_is_named_at_the_place_of_its_manifest(vectors: Path) -> None:
    folder = vectors / "samples/invalid"
    seen = set()
    for entry in load(folder / "manifest.json")["entries"]:
        fault = Schema.named(SYSTEMS[entry["system"]]).fault(load(folder / entry["file"]))
        if entry["layer"] not in ("schema", "strict-pattern", "format"):
            continue
        seen.add(entry["layer"])
        if entry["file"] in LEFT_TO_A_CHECK:
            assert fault is None
            continue
        assert fault is not None, entry["file"]
        below = entry["code"] == "payload_kind_mismatch"
        named = fault.pointer.startswith(entry["pointer"] + "/") if below else False
        assert named or fault.pointer == entry["pointer"], (entry["file"], fault)
        assert fault.detail.startswith("time_malformed: ") == (entry["layer"] == "format")
    assert seen == {"schema", "strict-pattern", "format"}


def test_samples_that_fail_in_later_layers_fit_the_schema(vectors: Path) -> None:
    folder = vectors / "samples/invalid"
    later = [
        entry
        for entry in load(folder / "manifest.json")["entries"]
        if entry["layer"] in ("semantic", "canonical", "strict-closed")
    ]
    assert later
    for entry in later:
        fault = Schema.named(SYSTEMS[entry["system"]]).fault(load(folder / entry["file"]))
        assert fault is None, entry["file"]


def test_dharma_tasks_get_the_verdict_of_the_peer(vectors: Path) -> None:
    places = {
        "neg-task-schema-extra-property": "/extra",
        "neg-task-schema-state-on-external-request": "/stateEnvelope",
        "neg-task-schema-a2a-missing-source": "/source",
        "neg-task-schema-capability-without-decision": "/actionDecision",
        "neg-task-schema-decision-without-capability": "/requiredCapabilities",
        "neg-task-schema-no-timezone": "/expiresAt",
        "neg-task-schema-bad-skill-commit": "/requiredSkills/0/commit",
        # The peer lets these two through; the reader of times does not.
        "weak-task-expiresAt-leap-second-never-expires": "/expiresAt",
        "weak-task-date-newline-separator-ok": "/expiresAt",
    }
    schema = Schema.named("dharma.task.v1")
    found = {}
    for vector in dharma(vectors, "task-envelopes"):
        fault = schema.fault(vector["input"].get("task", vector["input"]))
        if fault is not None:
            found[vector["name"]] = fault.pointer
    assert found == places


def test_dharma_receipts_and_keysets_get_the_verdict_of_the_peer(vectors: Path) -> None:
    receipts = Schema.named("dharma.action-decision-receipt.v1")
    found = {}
    for vector in dharma(vectors, "receipts"):
        if "envelope" in vector["input"]:
            fault = receipts.fault(vector["input"]["envelope"]["receipt"])
            if fault is not None:
                found[vector["name"]] = fault.pointer
    assert found == {"neg-receipt-schema": "/extra", "neg-receipt-schema-missing": "/nonce"}
    keysets = [v["input"]["keyset"] for v in dharma(vectors, "keysets") if "keyset" in v["input"]]
    assert keysets
    for keyset in keysets:
        assert Schema.named("dharma.server-signing-keyset.v1").fault(keyset) is None


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_schema_fits_the_meta_schema_and_explains_itself(name: str) -> None:
    document = json.loads(shipped_file(name).read_bytes())
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["title"]
    assert document["description"]
    assert Schema.named(name).document == document


@pytest.mark.parametrize("name", NAMES)
def test_every_closed_object_requires_only_members_that_it_knows(name: str) -> None:
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), Schema.named(name).document)]
    while pending:
        path, part = pending.pop()
        items = enumerate(part) if isinstance(part, list) else part.items()
        pending += [((*path, k), v) for k, v in items if isinstance(v, dict | list)]
        if isinstance(part, dict) and part.get("additionalProperties") is False:
            assert set(part.get("required", ())) <= set(part["properties"]), join(path)


def test_the_readme_lists_every_schema_with_its_id(root: Path) -> None:
    readme = (root / "schemas/README.md").read_text(encoding="utf-8")
    files = {path.name for path in (root / "schemas").glob("*.schema.json")}
    assert files == {f"{name}.schema.json" for name in NAMES}
    for name in NAMES:
        assert f"| `{name}.schema.json` | `{Schema.named(name).document['$id']}` |" in readme


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(MaterialError) as caught:
        Schema.named("../../etc/passwd")
    assert caught.value.code is Reason.PROFILE_MALFORMED
    assert "dharma.task.v1" in caught.value.hint


def test_missing_schema_files_are_named_as_a_broken_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from taskseal.profiles.schema import catalogue

    monkeypatch.setattr(catalogue, "shipped_file", lambda name: tmp_path / name)
    with pytest.raises(MaterialError) as caught:
        catalogue.shipped.__wrapped__()
    assert caught.value.code is Reason.FILE_MISSING


def test_naming_a_schema_loads_neither_engine(root: Path) -> None:
    script = (
        "import sys\n"
        "from taskseal.profiles.schema import Schema\n"
        "Schema.named('dharma.task.v1')\n"
        "print(sorted({'jsonschema', 'jsonschema_rs', 'importlib.resources'} & set(sys.modules)))\n"
        "Schema.named('dharma.task.v1').fault({})\n"
        "print('jsonschema' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys\nsys.path[:0] = {sys.path!r}\n{script}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    assert done.stdout.split("\n")[:2] == ["[]", "False"]

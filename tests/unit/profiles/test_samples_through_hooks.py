"""Every published sample through its profile's hooks: the good pass, the bad stop at their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason
from taskseal.profiles import AISA_MESSAGE, BUILT_IN, ORBIPLEX_TURN_REQUEST

SAMPLES = Path(__file__).resolve().parents[2] / "vectors" / "samples"
GOOD = sorted(
    path.relative_to(SAMPLES).with_suffix("").as_posix()
    for system in ("aisa", "orbiplex")
    for path in (SAMPLES / system).glob("*.json")
)
ENTRIES = json.loads((SAMPLES / "invalid" / "manifest.json").read_bytes())["entries"]

REASON_OF = {
    "unknown_message_type": Reason.UNKNOWN_MESSAGE_TYPE,
    "unknown_message_version": Reason.UNKNOWN_MESSAGE_VERSION,
    "payload_kind_mismatch": Reason.SCHEMA_INVALID,
    "deadline_not_allowed": Reason.SEMANTIC_INVALID,
    "deadline_before_occurred": Reason.SEMANTIC_INVALID,
    "artefact_length_mismatch": Reason.DIGEST_MISMATCH,
    "pattern": Reason.SCHEMA_INVALID,
    "question_hash_mismatch": Reason.DIGEST_MISMATCH,
    "const": Reason.SCHEMA_INVALID,
    "fence_epoch_not_monotonic": Reason.FENCE_STALE,
    "trust_class_absent_misused": Reason.SEMANTIC_INVALID,
    "outcome_detail_missing": Reason.SEMANTIC_INVALID,
    "unexpected_member": Reason.SCHEMA_INVALID,
    "timestamp": Reason.SCHEMA_INVALID,
    "digest_noncanonical": Reason.DIGEST_MALFORMED,
    "binding_digest_mismatch": Reason.DIGEST_MISMATCH,
    "required_missing": Reason.SCHEMA_INVALID,
    "binding_expired": Reason.BINDING_MISMATCH,
    "visibility_above_ceiling": Reason.CEILING_EXCEEDED,
    "classification_above_ceiling": Reason.CEILING_EXCEEDED,
    "declassification_required": Reason.DECLASSIFICATION_MISSING,
    "budget_above_ceiling": Reason.CEILING_EXCEEDED,
    "passage_above_max": Reason.CEILING_EXCEEDED,
    "prompt_policy_not_offered": Reason.BINDING_MISMATCH,
    "artifact_size_mismatch": Reason.DIGEST_MISMATCH,
    "observation_contradiction": Reason.SEMANTIC_INVALID,
}
"""What each working name of the manifest is here."""
STRICT_PARSE = {
    "number_not_finite": Reason.NUMBER_OUT_OF_RANGE,
    "number_not_exact": Reason.NUMBER_NOT_EXACT,
    "integer_out_of_safe_range": Reason.INTEGER_OUT_OF_RANGE,
}
LEDGER = {"idempotency_conflict"}
PROFILE_OF = {"aisa": AISA_MESSAGE, "orbiplex": ORBIPLEX_TURN_REQUEST}


def _read(name: str) -> Any:
    return parse((SAMPLES / f"{name}.json").read_bytes()).value


def test_every_code_of_the_manifest_is_in_one_table() -> None:
    codes = {entry["code"] for entry in ENTRIES}
    assert codes == set(REASON_OF) | set(STRICT_PARSE) | LEDGER


@pytest.mark.parametrize("name", GOOD)
def test_a_good_sample_is_recognised_by_its_profile_alone(name: str) -> None:
    found = [profile.id for profile in BUILT_IN.values() if profile.recognise(_read(name))]
    assert found == [PROFILE_OF[name.split("/", maxsplit=1)[0]].id]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_sample_passes_every_hook(name: str, walk: Any) -> None:
    made = walk(PROFILE_OF[name.split("/", maxsplit=1)[0]], _read(name))
    assert made
    assert [check for check in made if check.result == "failed"] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_a_bad_sample_stops_at_its_place(entry: dict[str, Any], walk: Any) -> None:
    path = SAMPLES / "invalid" / entry["file"]
    if entry["code"] in STRICT_PARSE:
        with pytest.raises(InputError) as caught:
            parse(path.read_bytes())
        assert (caught.value.code, caught.value.pointer) == (
            STRICT_PARSE[entry["code"]],
            entry["pointer"],
        )
        return
    profile, envelope = PROFILE_OF[entry["system"]], parse(path.read_bytes()).value
    assert profile.recognise(envelope)
    last = walk(profile, envelope)[-1]
    if entry["code"] in LEDGER:
        assert last.result != "failed"
        return
    assert (last.result, last.reason) == ("failed", REASON_OF[entry["code"]])
    if entry["code"] == "payload_kind_mismatch":
        assert last.pointer == entry["pointer"] or last.pointer.startswith(f"{entry['pointer']}/")
    else:
        assert last.pointer == entry["pointer"]

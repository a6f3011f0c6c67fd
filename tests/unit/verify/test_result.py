"""What a verdict is as a value, and a refusal as an exception."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from support import NOW, SAMPLES, load, new_signer, pins_of

from taskseal.errors import REASONS, Reason
from taskseal.signing import sign
from taskseal.verify import Accepted, Refused, Verifier

SIGNER = new_signer()
VERIFIER = Verifier(pins_of(SIGNER))
BLOB = sign((SAMPLES / "aisa/finding.json").read_bytes(), SIGNER, at=NOW).blob


def accepted() -> Accepted:
    return VERIFIER.verify(BLOB, at=NOW)


def refused() -> Refused:
    verdict = VERIFIER.check(BLOB[:-9] + b'AAAAAAA"}', at=NOW)
    assert isinstance(verdict, Refused)
    return verdict


@pytest.mark.parametrize("verdict", [accepted(), refused()], ids=["accepted", "refused"])
def test_a_verdict_has_no_truth_value(verdict: Accepted | Refused) -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(verdict)


def test_verify_raises_the_very_refusal_that_check_returns() -> None:
    with pytest.raises(Refused) as caught:
        VERIFIER.verify(b"{", at=NOW)
    assert caught.value.reason is Reason.MALFORMED_JSON
    assert caught.value.to_json() == refusal_json(b"{")


def refusal_json(data: bytes) -> dict[str, Any]:
    verdict = VERIFIER.check(data, at=NOW)
    assert isinstance(verdict, Refused)
    return verdict.to_json()


def test_a_refusal_passes_through_a_pool_of_threads_whole() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(Refused):
        pool.submit(VERIFIER.verify, b"{", at=NOW).result()


def test_a_refusal_can_be_the_cause_of_another_error_and_be_printed() -> None:
    try:
        raise RuntimeError("the work stops") from refused()
    except RuntimeError as error:
        printed = "".join(traceback.format_exception(error))
    assert "bad_signature" in printed or "signature" in printed
    assert "the work stops" in printed


def test_a_returned_refusal_holds_no_frames() -> None:
    verdict = refused()
    assert verdict.__traceback__ is None
    assert verdict.__context__ is None


def test_the_envelope_is_read_only_and_equal_to_what_was_signed() -> None:
    envelope: Any = accepted().envelope
    assert envelope == load(SAMPLES / "aisa/finding.json")
    assert json.loads(json.dumps(envelope)) == envelope
    for write in (
        lambda: envelope.update(x=1),
        lambda: envelope.__setitem__("x", 1),
        lambda: envelope["payload"].pop("domain"),
        lambda: envelope["payload"]["evidence_refs"].append("x"),
        envelope["payload"]["evidence_refs"].sort,
    ):
        with pytest.raises(TypeError, match="read-only"):
            write()
    plain = copy.deepcopy(envelope)
    plain["payload"]["evidence_refs"].append("x")
    assert type(plain) is dict
    assert type(pickle.loads(pickle.dumps(envelope))) is dict


def test_an_accepted_message_says_by_whom_and_until_when() -> None:
    verdict = accepted()
    assert verdict.signer.key_version == SIGNER.entry.key_version
    assert verdict.issued_at == datetime(2026, 9, 1, 8, 8, tzinfo=UTC)
    assert verdict.expires_at == datetime(2026, 9, 1, 8, 50, tzinfo=UTC)
    assert verdict.authorised is None
    assert "audience" in verdict.unchecked


def test_every_verdict_prints_the_same_members() -> None:
    good, bad = accepted().to_json(), refused().to_json()
    assert list(good) == list(bad)
    assert good["reason"] is None
    assert bad["reason"] == Reason.BAD_SIGNATURE
    assert bad["signer"] is None


@pytest.mark.parametrize("reason", Reason, ids=str)
def test_every_reason_says_what_happened_and_what_to_do(reason: Reason) -> None:
    entry = REASONS[reason]
    assert entry.text and entry.remedy
    assert 400 <= entry.http < 600
    assert entry.exit_code in range(1, 8)


def test_a_refusal_that_may_pass_later_is_to_be_retried() -> None:
    verdict = VERIFIER.check(BLOB, at="2026-09-01T08:00:00Z")
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.disposition) == (Reason.NOT_YET_VALID, "retry")
    assert verdict.authenticated
    assert refused().disposition == "dead_letter"

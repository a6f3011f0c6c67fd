"""A task action is digested only: nobody signs one, and none is accepted."""

from __future__ import annotations

import json

import pytest
from support import VECTORS, load, new_signer, pins_of, sign_anyway

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.profiles import DHARMA_TASK_ACTION
from taskseal.signing import FORMATS, sign
from taskseal.verify import Policy, Refused, Verifier

PROFILE = "dharma.task-action/v1"
AT = "2026-08-17T20:00:00Z"
ACTION = load(VECTORS / "dharma/receipts.json")["vectors"][0]["input"]["action"]
SIGNER = new_signer(profiles=[PROFILE], at=AT)
EVERY_FORM = Policy(allow_forms=frozenset({"embedded", "jws", "jws-detached"}))


@pytest.mark.parametrize("profile", [None, PROFILE])
@pytest.mark.parametrize("member", [{}, {"x": 1}, {"signature": "A" * 86}])
def test_an_action_alone_carries_no_signature(
    profile: str | None, member: dict[str, object]
) -> None:
    data = json.dumps(ACTION | member).encode()
    verdict = Verifier(pins_of(SIGNER)).check(data, profile=profile, at=AT)
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.profile) == (Reason.SIGNATURE_MISSING, PROFILE)


@pytest.mark.parametrize("detached", [False, True])
def test_no_form_is_taken_whatever_policy_allows(detached: bool) -> None:
    blob = sign_anyway(ACTION, SIGNER, DHARMA_TASK_ACTION, at=AT, detached=detached)
    data = json.dumps(ACTION).encode() if detached else blob
    verdict = Verifier(pins_of(SIGNER), EVERY_FORM).check(
        data, signature=blob if detached else None, at=AT
    )
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.FORM_NOT_ALLOWED


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_sign_refuses_an_action_in_every_format(format: str | None) -> None:
    with pytest.raises(InputError) as caught:
        sign(ACTION, SIGNER, format=format, at=AT)
    assert caught.value.code is Reason.USAGE
    assert "digest" in caught.value.hint


def test_sign_refuses_an_action_under_another_name() -> None:
    for profile in ("dharma.task/v1", "aisa.message/v1", "dharma.action-decision-receipt/v1"):
        with pytest.raises((Refused, MaterialError)) as caught:
            sign(ACTION, SIGNER, profile=profile, at=AT)
        assert caught.value.code is Reason.SCHEMA_INVALID

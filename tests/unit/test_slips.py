"""What a caller gives by mistake is told at once, with what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import NOW, SAMPLES, new_signer, pins_of

from taskseal import Identity, InputError, Reason, Receiver, Refused, Verifier, open_ledger, sign
from taskseal.keys.trust import Trust

SIGNER = new_signer()
TRUST = pins_of(SIGNER)
VERIFIER = Verifier(TRUST)
FINDING = (SAMPLES / "aisa/finding.json").read_bytes()
ANY: Any = Identity.ANY

SLIPS: dict[str, Callable[[Any], object]] = {
    "trust": Verifier,
    "trust of several": lambda wrong: Trust.of(TRUST, wrong),
    "policy": lambda wrong: Verifier(TRUST, wrong),
    "identity": lambda wrong: Verifier(TRUST, identity=wrong),
    "profile": lambda wrong: VERIFIER.check(FINDING, profile=wrong),
    "instant": lambda wrong: VERIFIER.check(FINDING, at=wrong),
    "verifier": lambda wrong: Receiver(wrong, open_ledger("memory:"), ANY),
    "ledger": lambda wrong: Receiver(VERIFIER, wrong, ANY),
    "receiver": lambda wrong: Receiver(VERIFIER, open_ledger("memory:"), wrong),
    "url": open_ledger,
    "signer": lambda wrong: sign(FINDING, wrong, at=NOW),
    "lifetime": lambda wrong: sign(FINDING, SIGNER, at=NOW, expires_in=wrong),
}


@pytest.mark.parametrize("name", SLIPS)
@pytest.mark.parametrize("wrong", [b"{}", 1.5, [], object()])
def test_another_kind_of_thing_is_a_slip_of_the_caller(name: str, wrong: object) -> None:
    with pytest.raises(InputError) as caught:
        SLIPS[name](wrong)
    assert caught.value.code is Reason.USAGE
    assert "give" in caught.value.hint or "write" in caught.value.hint


def test_an_identity_in_the_place_of_the_policy_is_told_where_it_belongs() -> None:
    with pytest.raises(InputError, match="a policy belongs here, not Identity") as caught:
        Verifier(TRUST, ANY)
    assert "identity=" in caught.value.hint


@pytest.mark.parametrize("message", ["{}", None, 5, [1], {"a": 1}])
def test_a_message_that_is_not_bytes_is_refused(message: Any) -> None:
    verdict = VERIFIER.check(message)
    assert isinstance(verdict, Refused)
    assert verdict.reason is Reason.UNSUPPORTED_TYPE


def test_whatever_holds_bytes_is_a_message() -> None:
    blob = sign(FINDING, SIGNER, at=NOW).blob
    verdicts = [VERIFIER.check(kind(blob), at=NOW) for kind in (bytes, bytearray, memoryview)]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert not isinstance(verdicts[0], Refused)

"""What `sign` says of the end of a signature is what a receiver will find."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support import NOW, SAMPLES, instant, load, new_signer, pins_of, sample_artefacts

from taskseal.canon.jcs import canonicalise
from taskseal.errors import Reason
from taskseal.signing import sign
from taskseal.validity import MINUTE, SECOND, write_instant
from taskseal.verify import Accepted, Policy, Refused, Verifier
from taskseal.verify.policy import FORMS
from taskseal.wire.forms import FORMATS

SIGNER = new_signer()
AT = instant(NOW)
WINDOWED = ("jws", "jws-compact", "jws-unencoded", "jws-general", "dsse")


def consult(ends: int) -> dict[str, Any]:
    """A Consult that says itself when it ends."""
    return load(SAMPLES / "aisa/consult.json") | {"deadline": write_instant(ends)}


@pytest.mark.parametrize("format", WINDOWED)
@pytest.mark.parametrize("ends", [MINUTE, 20 * MINUTE, 90 * SECOND + 1])
@pytest.mark.parametrize("late", [0, 1])
def test_the_end_is_the_earliest_of_all(format: str, ends: int, late: int) -> None:
    document = consult(AT + ends)
    signed = sign(document, SIGNER, format=format, at=AT + late, artefacts=sample_artefacts())
    verifier = Verifier(pins_of(SIGNER), Policy(allow_forms=frozenset(FORMS)))
    if FORMATS[format].place == "beside":
        verdict = verifier.check(canonicalise(document), signature=signed.blob, at=AT + late)
    else:
        verdict = verifier.check(signed.blob, at=AT + late)
    assert isinstance(verdict, Accepted), verdict
    assert signed.expires == verdict.expires <= AT + ends


@pytest.mark.parametrize("format", ["jws", "jws-unencoded"])
def test_a_signature_that_would_not_live_a_second_is_not_made(format: str) -> None:
    with pytest.raises(Refused) as caught:
        sign(
            consult(AT + MINUTE),
            SIGNER,
            format=format,
            at=AT,
            expires_in=timedelta(milliseconds=500),
            artefacts=sample_artefacts(),
        )
    assert caught.value.reason is Reason.INVALID_LIFETIME

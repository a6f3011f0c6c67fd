"""What the two canonicalisers do not write alike is not signed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import rfc8785
from support import NOW, SAMPLES, new_signer

from taskseal.errors import InputError, Reason
from taskseal.signing import sign

REAL = rfc8785.dumps


def gives_up(value: object) -> bytes:
    raise RecursionError


@pytest.mark.parametrize("other", [lambda value: REAL(value) + b" ", gives_up])
def test_nothing_is_signed_when_the_reference_engine_differs(
    other: Callable[[object], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    document, signer = (SAMPLES / "aisa/finding.json").read_bytes(), new_signer()
    assert sign(document, signer, at=NOW).blob
    monkeypatch.setattr(rfc8785, "dumps", other)
    with pytest.raises(InputError) as caught:
        sign(document, signer, at=NOW)
    assert caught.value.code is Reason.ENGINES_DISAGREE

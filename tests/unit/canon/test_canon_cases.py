"""Small cases from public bug reports that concern the canonical form alone."""

from __future__ import annotations

from typing import Any

import pytest
from support import CASES, load

from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise, recanonicalise
from taskseal.errors import InputError, Reason

REASONS = {
    "03-int-beyond-2-53": Reason.INTEGER_OUT_OF_RANGE,
    "05-lone-surrogate": Reason.LONE_SURROGATE,
    "12-deep-nesting": Reason.NESTING_TOO_DEEP,
}


def items(case: str) -> list[dict[str, Any]]:
    expected = load(CASES / case / "expected.json")
    listed: list[dict[str, Any]] = expected.get("items", [expected | {"file": "input.json"}])
    return listed


@pytest.mark.parametrize(
    ("case", "item"),
    [(case, item) for case in ["01-utf16-key-order", *REASONS] for item in items(case)],
    ids=lambda part: part if isinstance(part, str) else part["file"],
)
def test_each_case_ends_as_it_should(case: str, item: dict[str, Any]) -> None:
    data = (CASES / case / item["file"]).read_bytes()
    if item["expect"] == "reject":
        with pytest.raises(InputError) as caught:
            recanonicalise(data)
        assert caught.value.code is REASONS[case]
        assert caught.value.pointer is not None
        return
    written = recanonicalise(data)
    assert canonicalise(load(CASES / case / item["file"])) == written
    expected = item.get("expected", {})
    assert written.hex() == expected.get("canonical_hex", written.hex())
    digest = Digest.of(written)
    assert digest.text("hex") == expected.get("sha256_hex", digest.text("hex"))
    b64url = digest.text("sha256:b64url").removeprefix("sha256:")
    assert b64url == expected.get("sha256_b64url", b64url)

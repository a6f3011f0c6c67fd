"""ML-DSA-65 against the published set, with the one departure that our policy on keys makes."""

from __future__ import annotations

import json
from pathlib import Path

from taskseal.errors import MaterialError, Reason
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.formats import read_public_key

ZERO = "ZeroPublicKey"


def test_every_wycheproof_verdict_is_ours_but_for_keys_that_anyone_can_sign_with(
    conformance: Path,
) -> None:
    """Those whose t1 is zero are refused when they are loaded, good signature or not."""
    path = conformance / "wycheproof/mldsa_65_verify_test.pruned.json"
    wrong, weak = [], []
    seen = 0
    for group in json.loads(path.read_bytes())["testGroups"]:
        for test in group["tests"]:
            seen += 1
            valid = test["result"] == "valid" and not test.get("ctx")
            try:
                key = PublicKey(Algorithm.MLDSA65, bytes.fromhex(group["publicKey"]))
            except MaterialError as refused:
                taken = False
                if refused.code is Reason.WEAK_KEY:
                    weak.append(test["flags"])
                    continue
                assert refused.code is Reason.KEY_MALFORMED
            else:
                taken = key.verify(bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"]))
            if taken is not valid:
                wrong.append((test["tcId"], test["flags"]))
    assert wrong == []
    assert seen == 98
    assert weak
    assert all(ZERO in flags for flags in weak)


def test_a_key_in_der_is_the_raw_one(conformance: Path) -> None:
    path = conformance / "wycheproof/mldsa_65_verify_test.pruned.json"
    group = json.loads(path.read_bytes())["testGroups"][0]
    raw = bytes.fromhex(group["publicKey"])
    assert read_public_key(bytes.fromhex(group["publicKeyDer"])).raw == raw

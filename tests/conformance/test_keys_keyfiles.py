"""Key files of a large foreign collection: each loads or is refused as its index says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from taskseal.errors import MaterialError, Reason
from taskseal.keys.formats import read_private_key, read_public_key

ENCRYPTED_OPENSSH = ("ed25519-psw.key", "ed25519-aesgcm-psw.key", "ecdsa-psw.key")
OTHER_CURVES = ("ecdsa-psw.key", "ecdsa-psw.key.pub")
"""Of P-384, which the index calls EC keys like the rest."""
HAS_BCRYPT = importlib.util.find_spec("bcrypt") is not None


def rows(conformance: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads((conformance / "keyfiles/INDEX.json").read_bytes())
    return listed


def verdict(conformance: Path, row: dict[str, Any]) -> str:
    """The code of the refusal, or "accept"."""
    data = (conformance / "keyfiles" / row["file"]).read_bytes()
    password = row["password"].encode() if row["password"] else b"password"
    try:
        if (row["loads_as"] or row["file"]).endswith(("public", "pub", "unused-bits.der")):
            read_public_key(data)
        else:
            read_private_key(data, password)
    except MaterialError as error:
        return error.code.value
    return "accept"


def test_every_ed25519_file_loads_or_is_refused_as_the_index_says(conformance: Path) -> None:
    seen = {}
    for row in rows(conformance):
        if (row["key"] or "").startswith("Ed25519") or row["file"].startswith("ed25519"):
            wanted = "key_malformed" if row["expect"] == "reject" else "accept"
            if row["file"] in ENCRYPTED_OPENSSH and not HAS_BCRYPT:
                wanted = "extra_missing"
            seen[row["file"]] = (verdict(conformance, row), wanted)
    assert {name: pair for name, pair in seen.items() if pair[0] != pair[1]} == {}
    assert len(seen) == 15


def test_every_p256_file_loads_as_the_index_says(conformance: Path) -> None:
    seen = {
        row["file"]: verdict(conformance, row)
        for row in rows(conformance)
        if (row["key"] or "").startswith("EC") and row["file"] not in OTHER_CURVES
    }
    assert set(seen.values()) == {"accept"}
    assert len(seen) == 5


def test_every_file_of_another_key_type_is_an_unsupported_algorithm(conformance: Path) -> None:
    found = {
        row["file"]: verdict(conformance, row)
        for row in rows(conformance)
        if row["expect"] == "accept"
        and (row["key"].startswith(("RSA", "MLDSA44")) or row["file"] in OTHER_CURVES)
    }
    if not HAS_BCRYPT:
        assert found.pop("ecdsa-psw.key") == "extra_missing"
    assert set(found.values()) == {"unsupported_algorithm"}
    assert len(found) == 4 + HAS_BCRYPT


def test_the_index_holds_no_file_beside_these(conformance: Path) -> None:
    kinds = [row["key"] for row in rows(conformance) if row["expect"] == "accept"]
    assert {kind.removesuffix("PrivateKey").removesuffix("PublicKey") for kind in kinds} == {
        "Ed25519",
        "EC",
        "MLDSA44",
        "RSA",
    }


def test_an_mldsa_key_without_its_seed_is_malformed_and_says_so(conformance: Path) -> None:
    data = (conformance / "keyfiles/mldsa65_noseed_priv.der").read_bytes()
    with pytest.raises(MaterialError) as caught:
        read_private_key(data)
    assert caught.value.code is Reason.KEY_MALFORMED
    assert "seed" in caught.value.detail


def test_every_file_that_must_be_refused_is_refused(conformance: Path) -> None:
    found = {
        row["file"]: verdict(conformance, row)
        for row in rows(conformance)
        if row["expect"] == "reject"
    }
    assert len(found) == 6
    assert "accept" not in found.values()


@pytest.mark.parametrize(
    "name", ["ed25519-pkcs8-enc.pem", "ed25519-pkcs8-enc.der", "ed25519-scrypt.pem"]
)
def test_an_encrypted_file_tells_a_missing_passphrase_from_a_wrong_one(
    name: str, conformance: Path
) -> None:
    data = (conformance / "keyfiles" / name).read_bytes()
    for passphrase, code in (
        (None, Reason.PASSPHRASE_NEEDED),
        (b"not this one", Reason.PASSPHRASE_WRONG),
    ):
        with pytest.raises(MaterialError) as caught:
            read_private_key(data, passphrase)
        assert caught.value.code is code


def test_the_private_and_public_file_of_a_pair_are_of_one_key(conformance: Path) -> None:
    folder = conformance / "keyfiles"
    for private, public in (
        ("ed25519-nopsw.key", "ed25519-nopsw.key.pub"),
        ("ed25519-pkcs8.pem", "ed25519-pub.pem"),
        ("ed25519-pkcs8.der", "ed25519-pub.der"),
        ("ecdsa-nopsw.key", "ecdsa-nopsw.key.pub"),
    ):
        key = read_private_key((folder / private).read_bytes())
        assert read_public_key((folder / public).read_bytes()) == key.public

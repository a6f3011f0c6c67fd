"""`keys … --alg`, and messages by keys of each algorithm from one command to the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import AISA, DHARMA, Cli
from support import SAMPLES

from taskseal.keys import Algorithm
from taskseal.keys.formats import read_private_key, read_public_key

PLAIN = ["--no-passphrase"]
OTHERS = ("ES256", "ML-DSA-65")
FINDING = SAMPLES / "aisa/finding.json"


@pytest.fixture(autouse=True)
def keyring(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = home / "ring"
    monkeypatch.setenv("TASKSEAL_KEYRING", str(path))
    return path


def made(cli: Cli, alg: str) -> None:
    cli(
        "keys",
        "new",
        "k/1",
        "--for",
        AISA,
        "--alg",
        alg,
        *PLAIN,
        "--not-before",
        "2026-01-01T00:00:00Z",
    )


@pytest.mark.parametrize(
    ("option", "algorithm"),
    [
        ("Ed25519", Algorithm.ED25519),
        ("ES256", Algorithm.P256),
        ("P-256", Algorithm.P256),
        ("ML-DSA-65", Algorithm.MLDSA65),
    ],
)
def test_a_key_of_each_algorithm_is_made_shown_and_pinned(
    option: str, algorithm: Algorithm, cli: Cli, home: Path
) -> None:
    made(cli, option)
    shown = cli("keys", "show", "k/1", "--json").json
    assert shown["alg"] == algorithm.value
    text = cli("keys", "show", "k/1").text
    assert algorithm.value in text
    assert shown["thumbprint"] in text
    assert max(map(len, text.splitlines())) < 120
    (pin,) = json.loads(cli("keys", "pin").out)["keys"]
    assert pin["publicKey"] == shown["publicKey"]


@pytest.mark.parametrize("alg", OTHERS)
def test_what_one_keyring_exports_another_imports(alg: str, cli: Cli, home: Path) -> None:
    made(cli, alg)
    for form in ("pem", "jwk"):
        file, ring = home / f"key.{form}", home / f"ring-{form}"
        cli("keys", "export", "k/1", "--as", form, "--private", *PLAIN, "-o", file)
        assert file.stat().st_mode & 0o777 == 0o600
        cli("keys", "import", file, "k/1", "--for", AISA, *PLAIN, "--keyring", ring)
        other = cli("keys", "show", "k/1", "--keyring", ring, "--json").json
        assert other["thumbprint"] == cli("keys", "show", "k/1", "--json").json["thumbprint"]
        assert read_private_key(file.read_bytes()).algorithm == alg


@pytest.mark.parametrize("alg", OTHERS)
def test_a_raw_private_half_is_ed25519s_alone(alg: str, cli: Cli, home: Path) -> None:
    made(cli, alg)
    out = home / "key"
    given = ["keys", "export", "k/1", "--as", "raw", "--private", *PLAIN, "-o", out, "--json"]
    refused = cli(*given, code=2).json
    assert refused["error"] == "usage"
    assert "pem or jwk" in refused["hint"]
    assert not out.exists()
    cli("keys", "export", "k/1", "--as", "raw", "-o", out)
    assert read_public_key(out.read_bytes()).algorithm == alg


def test_openssh_has_a_form_for_p256_and_none_for_mldsa65(cli: Cli, home: Path) -> None:
    made(cli, "ES256")
    assert cli("keys", "export", "k/1", "--as", "ssh").text.startswith("ecdsa-sha2-nistp256 ")
    ring = ["--keyring", home / "other"]
    cli("keys", "new", "k/1", "--for", AISA, "--alg", "ML-DSA-65", *PLAIN, *ring)
    for more in ([], ["--private", *PLAIN, "-o", home / "out"]):
        refused = cli("keys", "export", "k/1", "--as", "ssh", *more, *ring, "--json", code=2).json
        assert refused["error"] == "usage"
    assert not (home / "out").exists()


@pytest.mark.parametrize("alg", OTHERS)
def test_a_dharma_key_is_ed25519(alg: str, cli: Cli, keyring: Path) -> None:
    refused = cli("keys", "new", "k/1", "--for", DHARMA, "--alg", alg, *PLAIN, "--json", code=2)
    assert refused.json["error"] == "usage"
    assert "Ed25519" in refused.json["hint"]


@pytest.mark.parametrize("alg", ["Ed25519", *OTHERS])
def test_a_message_that_one_command_signs_another_verifies(alg: str, cli: Cli, home: Path) -> None:
    made(cli, alg)
    pins, blob, at = home / "pins.json", home / "blob.json", "2026-09-01T08:35:00Z"
    cli("keys", "pin", "-o", pins)
    cli("sign", FINDING, "-o", blob, "--at", at)
    verdict = cli("verify", blob, "--trust", pins, "--at", at, "--json").json
    assert verdict["verdict"] == "accepted"
    text = json.loads(blob.read_bytes())
    text["signature"] = ("B" if text["signature"][0] == "A" else "A") + text["signature"][1:]
    blob.write_text(json.dumps(text))
    verdict = cli("verify", blob, "--trust", pins, "--at", at, "--json", code=1).json
    assert verdict["reason"] == "bad_signature"

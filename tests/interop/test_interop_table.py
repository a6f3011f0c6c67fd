"""How many independent ways there are to check a signature, and that README.md tells the truth.

Packages are no measure: several share their canonical form or their cryptography. What counts is
a pair of canonicaliser and crypto core. Each pair of the table verifies here what taskseal signed,
and refuses it with a bit of the document flipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from interop_support import (
    FINDING,
    HERE,
    ROOT,
    Needs,
    Party,
    Peers,
    changed,
    party,
    respelt,
    run,
    sealed,
)
from support import SAMPLES, load

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.allowed_signers import write_allowed_signers
from taskseal.keys.formats import write_public_key

CARD: Mapping[str, Any] = {
    "name": "Ärztefinder 𝄞",
    "description": "Findet.",
    "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "https://a.example", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "find", "name": "Finden", "description": "Findet.", "tags": ["ä"]}],
}

Asked = tuple[Peers, Path]


def detached(peers: Peers, document: Any, home: str, op: str, alg: str = "Ed25519") -> bool:
    me = party()
    jws = json.loads(sealed(FINDING, me, "jws-detached"))
    return peers(home).takes(op, **jws, text=respelt(document), key=me.public, alg=alg)


def by_joserfc(asked: Asked, document: Any) -> bool:
    return detached(asked[0], document, "python", "joserfc_verify_detached")


def by_jose(asked: Asked, document: Any) -> bool:
    return detached(asked[0], document, "node", "joseVerifyDetached")


def by_awr(asked: Asked, document: Any) -> bool:
    me = party()
    proof = json.loads(sealed(FINDING, me, "eddsa-jcs-2022"))
    whole = {**document, "proof": proof}
    return asked[0]("python").takes("awr_verify", document=whole, key=me.public)


def card_of(document: Any, me: Party) -> dict[str, Any]:
    """A card that is signed as it is; where the document was changed, it is changed after."""
    signed = json.loads(sealed(CARD, me, "a2a", algorithm_name="EdDSA"))
    return signed if document == FINDING else signed | {"name": "Ärztefinder"}


def by_a2a(asked: Asked, document: Any) -> bool:
    me = party(profiles=("a2a.agent-card/v1",))
    card, keys = card_of(document, me), {me.version: me.public | {"alg": "EdDSA"}}
    return asked[0]("python").takes("a2a_verify", card=card, keys=keys, algs=["EdDSA"])


def by_a2a_js(asked: Asked, document: Any) -> bool:
    me = party(profiles=("a2a.agent-card/v1",))
    card, keys = card_of(document, me), {me.version: me.public | {"alg": "EdDSA"}}
    return asked[0]("node").takes("a2aVerify", card=card, keys=keys)


def by_pynacl(canonicaliser: str) -> Callable[[Asked, Any], bool]:
    def verify(asked: Asked, document: Any) -> bool:
        me = party()
        signature = b64url_encode(me.signer.sign(canonicalise(FINDING)))
        return asked[0]("python").takes(
            "bare_verify",
            by=canonicaliser,
            core="pynacl",
            text=respelt(document),
            signature=signature,
            key=me.public,
        )

    return verify


def canonical_in_node(peers: Peers, document: Any) -> bytes:
    raw = b64url_decode(peers("node").made("canonicalise", text=respelt(document)))
    assert raw is not None
    return raw


def by_ssh_keygen(asked: Asked, document: Any) -> bool:
    peers, folder = asked
    me = party()
    (folder / "signature").write_bytes(sealed(FINDING, me, "sshsig"))
    (folder / "allowed").write_bytes(write_allowed_signers([me.signer.entry]).data)
    command = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "local", "-s", "signature"]
    options = ["-n", "taskseal.aisa.message.v1", "-O", "verify-time=20260901083500Z"]
    message = canonical_in_node(peers, document)
    return run(*command, *options, data=message, folder=folder)[0] == 0


def by_openssl(asked: Asked, document: Any) -> bool:
    peers, folder = asked
    me = party()
    (folder / "key").write_bytes(write_public_key(me.signer.key.public, "pem"))
    (folder / "signature").write_bytes(me.signer.sign(canonicalise(FINDING)))
    (folder / "message").write_bytes(canonical_in_node(peers, document))
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "key"]
    return run(*command, "-in", "message", "-sigfile", "signature", folder=folder)[0] == 0


def mldsa(asked: Asked, document: Any, home: str, op: str, written: bytes) -> bool:
    me = party(Algorithm.MLDSA65)
    jws = json.loads(sealed(FINDING, me, "jws-detached"))
    message = f"{jws['protected']}.{b64url_encode(written)}".encode()
    return asked[0](home).takes(
        op, message=b64url_encode(message), signature=jws["signature"], key=me.public
    )


def by_noble(asked: Asked, document: Any) -> bool:
    return mldsa(asked, document, "node", "nobleVerify", canonical_in_node(asked[0], document))


def by_dilithium(asked: Asked, document: Any) -> bool:
    text = respelt(document)
    written = b64url_decode(asked[0]("python").made("canonicalise", by="rfc8785", text=text))
    assert written is not None
    return mldsa(asked, document, "python", "dilithium_verify", written)


PAIRS: Mapping[tuple[str, str], Callable[[Asked, Any], bool]] = {
    ("rfc8785", "OpenSSL in cryptography"): by_joserfc,
    ("a2a-sdk", "OpenSSL in cryptography"): by_a2a,
    ("awr", "OpenSSL in cryptography"): by_awr,
    ("rfc8785", "libsodium"): by_pynacl("rfc8785"),
    ("a2a-sdk", "libsodium"): by_pynacl("a2a"),
    ("awr", "libsodium"): by_pynacl("awr"),
    ("canonicalize", "Node"): by_jose,
    ("@a2a-js/sdk", "Node"): by_a2a_js,
    ("canonicalize", "OpenSSH"): by_ssh_keygen,
    ("canonicalize", "the openssl command"): by_openssl,
    ("canonicalize", "@noble/post-quantum"): by_noble,
    ("rfc8785", "dilithium-py"): by_dilithium,
}
"""Every pair, and what verifies by it."""

ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


@pytest.mark.parametrize("pair", PAIRS, ids=" + ".join)
def test_every_pair_of_canonicaliser_and_core_takes_the_signature_and_refuses_another_document(
    peers: Peers, needs: Needs, tmp_path: Path, pair: tuple[str, str]
) -> None:
    needs(*{"OpenSSH": ["ssh-keygen"], "the openssl command": ["openssl"]}.get(pair[1], []))
    verify = PAIRS[pair]
    assert verify((peers, tmp_path), FINDING)
    assert not verify((peers, tmp_path), changed(FINDING))


def test_the_table_in_the_readme_lists_exactly_the_pairs_that_are_tried() -> None:
    section = (HERE / "README.md").read_text(encoding="utf-8").partition("## Pairs")[2]
    rows = [tuple(cell.strip() for cell in row) for row in ROW.findall(section)]
    listed = [row[:2] for row in rows if row[0] != "canonicaliser" and set(row[0]) != {"-"}]
    assert sorted(listed) == sorted(PAIRS)


def test_there_are_at_least_four_canonicalisers_and_four_crypto_cores() -> None:
    canonicalisers = {canonicaliser for canonicaliser, _ in PAIRS}
    cores = {core for _, core in PAIRS}
    assert {"rfc8785", "canonicalize", "a2a-sdk", "awr"} <= canonicalisers
    assert {"OpenSSL in cryptography", "libsodium", "Node", "OpenSSH"} <= cores
    assert len(PAIRS) > max(len(canonicalisers), len(cores))


DOCUMENTS = sorted(
    str(path.relative_to(SAMPLES))
    for folder in ("aisa", "orbiplex")
    for path in (SAMPLES / folder).glob("*.json")
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_canonicaliser_writes_the_same_bytes_for_every_sample(
    peers: Peers, name: str
) -> None:
    document = load(SAMPLES / name)
    text, mine = respelt(document), canonicalise(document)
    fraction = re.search(rb"[0-9]\.[0-9]+[,}\]]", mine)
    for home, by in (("python", "rfc8785"), ("python", "a2a"), ("python", "awr"), ("node", "")):
        named = {"by": by} if by else {}
        answer = peers(home).ask("canonicalise", text=text, **named)
        if by == "awr" and fraction:
            # By its own specification awr signs whole numbers only.
            assert "AWR-CANON-001" in answer["why"]
        else:
            assert b64url_decode(answer["made"]) == mine, by


def test_the_lock_files_pin_everything_and_name_no_registry() -> None:
    python = (HERE / "python" / "requirements.lock").read_text(encoding="utf-8")
    assert not re.findall(r"https?:|file:|--index|--find-links", python)
    asked = (HERE / "python" / "requirements.in").read_text(encoding="utf-8")
    for line in asked.splitlines():
        if not line.startswith("#"):
            name, _, version = re.sub(r"\[.*\]", "", line).partition("==")
            assert f"\n{name.lower()}=={version} " in python, line

    locked = load(HERE / "node" / "package-lock.json")["packages"]
    assert locked[""]["dependencies"] == load(HERE / "node" / "package.json")["dependencies"]
    for name, package in locked.items():
        if name:
            assert package["integrity"].startswith("sha512-"), name
            assert "resolved" not in package, name


def test_the_versions_in_the_readme_are_the_ones_that_are_pinned() -> None:
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    pins = load(HERE / "node" / "package.json")["dependencies"]
    for line in (HERE / "python" / "requirements.in").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, _, version = line.partition("==")
            pins[name] = version
    missing = [
        f"{name} {version}" for name, version in pins.items() if f"{name} {version}" not in readme
    ]
    assert missing == []
    assert (ROOT / "tests" / "interop" / "README.md").exists()

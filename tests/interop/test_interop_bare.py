"""Bare signatures over canonical bytes, and Dharma's embedded ones: node:crypto and openssl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import minimal_task
from interop_support import (
    AISA,
    BAD_SIGNATURE,
    DHARMA,
    FINDING,
    Needs,
    Party,
    Peers,
    assert_accepted,
    assert_refused,
    changed,
    flipped,
    party,
    respelt,
    run,
    sealed,
    verdict,
)
from support import NOW, VECTORS, load, public_key

from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.canon.jcs import canonicalise
from taskseal.keys.formats import write_private_key, write_public_key

TASK = {
    **minimal_task(),
    "instructions": "Prüfe «7»: naïve 𝄞 \u2028.",
    "createdAt": NOW,
    "expiresAt": "2026-09-01T08:50:00Z",
    "nonce": "nonce-7",
}


def signer() -> Party:
    return party(version="kms/tasks/7", profiles=(DHARMA,))


def spoilt(task: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """A signed task with one thing wrong, and why we refuse it."""
    return [
        (task | {"signature": flipped(task["signature"])}, BAD_SIGNATURE),
        (task | {"instructions": task["instructions"] + "!"}, BAD_SIGNATURE),
        # The mark of another profile, which stands elsewhere in documents of that.
        (task | {"schema": "dharma.action-decision-receipt/v1"}, "unknown_profile"),
    ]


def test_an_embedded_signature_holds_in_node_and_here_until_it_is_spoilt(peers: Peers) -> None:
    me, stranger = signer(), signer()
    named = {**TASK, "signerKeyVersion": me.version}
    theirs = peers("node").made(
        "embeddedSign", text=respelt(named), key=me.private, member="signature"
    )

    def they_take(task: dict[str, Any], trusted: Party) -> bool:
        return peers("node").takes(
            "embeddedVerify", text=respelt(task), key=trusted.public, member="signature"
        )

    mine = json.loads(sealed(TASK, me, "embedded"))
    # Ed25519 is deterministic: the same key over the same bytes.
    assert mine == theirs
    assert they_take(mine, me)
    assert_accepted(verdict(me, "embedded", respelt(mine)), "embedded", me)
    for bad, reason in spoilt(mine):
        assert not they_take(bad, me)
        assert_refused(verdict(me, "embedded", respelt(bad)), reason)
    assert not they_take(mine, stranger)
    assert_refused(verdict(stranger, "embedded", respelt(mine)), BAD_SIGNATURE)


KEYS = [
    public_key(key["jwkPublic"]["x"])
    for key in load(VECTORS / "dharma" / "keys.json")["keys"].values()
]


def dharma_vectors() -> list[Any]:
    """What the real Dharma code signed and took, in plain JSON."""
    found = []
    for vector in load(VECTORS / "dharma" / "task-envelopes.json")["vectors"]:
        expected = vector["expected"]
        good = expected.get("ok") and "canonical" in expected and vector["name"][:5] != "weak-"
        if good and "inputText" not in vector:
            found.append(pytest.param(vector, id=vector["name"]))
    return found


# Its member names are sorted by Dharma's own rule, which RFC 8785 does not share.
DIVERGENT = "task-a2a-divergent-key-order"


@pytest.mark.parametrize("vector", dharma_vectors())
def test_what_the_real_dharma_code_signed_has_the_bytes_and_the_signature_of_rfc_8785(
    peers: Peers, vector: dict[str, Any]
) -> None:
    task = vector["input"]
    bare = {name: item for name, item in task.items() if name != "signature"}
    signature = b64url_decode(task["signature"])
    assert signature is not None
    canonical = canonicalise(bare)
    same = canonical.decode() == vector["expected"]["canonical"]
    assert same == (vector["name"] != DIVERGENT)
    by = [key for key in KEYS if key.verify(canonical, signature)]
    node = [
        key
        for key in KEYS
        if peers("node").takes(
            "embeddedVerify", text=respelt(task), key=key.jwk(), member="signature"
        )
    ]
    assert by == node
    assert len(by) == same


@pytest.mark.parametrize("by", ["rfc8785", "a2a", "awr"])
def test_a_bare_signature_holds_in_libsodium_and_here_whoever_writes_the_bytes(
    peers: Peers, by: str
) -> None:
    me, stranger = party(), party()
    theirs = peers("python").made("bare_sign", by=by, text=respelt(FINDING), key=me.private)
    assert theirs == b64url_encode(me.signer.sign(canonicalise(FINDING)))

    def they_take(signature: str, document: Any, trusted: Party) -> bool:
        text = respelt(document)
        key = trusted.public
        return peers("python").takes(
            "bare_verify", by=by, core="pynacl", text=text, signature=signature, key=key
        )

    assert they_take(theirs, FINDING, me)
    assert not they_take(flipped(theirs), FINDING, me)
    assert not they_take(theirs, changed(FINDING), me)
    assert not they_take(theirs, FINDING, stranger)


def openssl_takes(folder: Path, message: bytes, signature: bytes, trusted: Party) -> bool:
    (folder / "message").write_bytes(message)
    (folder / "signature").write_bytes(signature)
    (folder / "public.pem").write_bytes(write_public_key(trusted.signer.key.public, "pem"))
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "public.pem"]
    code, said = run(*command, "-in", "message", "-sigfile", "signature", folder=folder)
    assert (b"Signature Verified Successfully" in said) == (code == 0), said
    return code == 0


def openssl_signs(folder: Path, message: bytes, by: Party) -> bytes:
    (folder / "message").write_bytes(message)
    (folder / "private.pem").write_bytes(write_private_key(by.signer.key, "pem"))
    command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", "private.pem"]
    code, said = run(*command, "-in", "message", "-out", "made", folder=folder)
    assert code == 0, said
    return (folder / "made").read_bytes()


def test_openssl_takes_our_bare_signature_over_canonical_bytes_and_we_take_its(
    peers: Peers, needs: Needs, tmp_path: Path
) -> None:
    needs("openssl")
    me, stranger = signer(), signer()
    task = {**TASK, "signerKeyVersion": me.version}
    message = b64url_decode(peers("node").made("canonicalise", text=respelt(task)))
    assert message is not None
    mine = json.loads(sealed(TASK, me, "embedded"))
    signature = b64url_decode(mine["signature"])
    assert signature is not None
    assert openssl_takes(tmp_path, message, signature, me)
    assert not openssl_takes(tmp_path, message, bytes([signature[0] ^ 1]) + signature[1:], me)
    assert not openssl_takes(tmp_path, message, signature, stranger)
    other = message.replace(b"dharma.task/v1", b"dharma.task/v2")
    assert not openssl_takes(tmp_path, other, signature, me)

    theirs = {**task, "signature": b64url_encode(openssl_signs(tmp_path, message, me))}
    assert_accepted(verdict(me, "embedded", respelt(theirs)), "embedded", me)
    for bad, reason in spoilt(theirs):
        assert_refused(verdict(me, "embedded", respelt(bad)), reason)


def test_a_key_for_one_bare_profile_is_no_key_for_another(peers: Peers) -> None:
    me = party(version="kms/tasks/7", profiles=(AISA,))
    named = {**TASK, "signerKeyVersion": me.version}
    theirs = peers("node").made(
        "embeddedSign", text=respelt(named), key=me.private, member="signature"
    )
    assert_refused(verdict(me, "embedded", respelt(theirs)), "key_wrong_profile")

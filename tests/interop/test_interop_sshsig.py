"""SSHSIG: OpenSSH's own ssh-keygen, which signs and verifies without anything of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from interop_support import (
    AISA,
    BAD_SIGNATURE,
    FINDING,
    ORBIPLEX,
    Needs,
    Party,
    Peers,
    assert_accepted,
    assert_refused,
    changed,
    party,
    respelt,
    run,
    sealed,
    verdict,
)
from support import NOW, instant, key_entry

from taskseal import Accepted
from taskseal.canon.encoding import b64url_decode
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.allowed_signers import read_allowed_signers, write_allowed_signers
from taskseal.keys.formats import write_private_key
from taskseal.keys.private import KeySigner
from taskseal.validity import DAY, SECOND, Instant, to_datetime

KINDS = [
    pytest.param(Algorithm.ED25519, id="Ed25519"),
    pytest.param(Algorithm.P256, id="P-256"),
]


def namespace_of(profile: str) -> str:
    """A profile's namespace, spelt out here as another implementer would."""
    return f"taskseal.{profile.replace('/', '.')}"


class Receiver:
    """Someone who has OpenSSH and a file of allowed signers."""

    def __init__(self, folder: Path, *trusted: Party) -> None:
        self.folder = folder
        entries = [each.signer.entry for each in trusted]
        (folder / "allowed_signers").write_bytes(write_allowed_signers(entries).data)

    def takes(
        self,
        document: bytes,
        signature: bytes,
        profile: str = AISA,
        at: Instant | None = None,
    ) -> bool:
        (self.folder / "signature").write_bytes(signature)
        now = to_datetime(instant(NOW) if at is None else at)
        command = ["ssh-keygen", "-Y", "verify", "-f", "allowed_signers", "-I", "local"]
        when = f"verify-time={now:%Y%m%d%H%M%S}Z"
        code, said = run(
            *command,
            *("-s", "signature", "-n", namespace_of(profile), "-O", when),
            data=document,
            folder=self.folder,
        )
        assert (code == 0) == said.startswith(b"Good "), said
        return code == 0


def theirs(document: bytes, by: Party, profile: str, folder: Path) -> bytes:
    """What `ssh-keygen -Y sign` makes."""
    key = folder / "key"
    key.write_bytes(write_private_key(by.signer.key, "ssh"))
    key.chmod(0o600)
    command = ["ssh-keygen", "-Y", "sign", "-f", "key", "-n"]
    code, said = run(*command, namespace_of(profile), data=document, folder=folder)
    assert code == 0, said
    return said[said.index(b"-----BEGIN") :]


def canonical(peers: Peers, document: Any) -> bytes:
    """The document's canonical form by npm's canonicalize."""
    raw = b64url_decode(peers("node").made("canonicalise", text=respelt(document)))
    assert raw is not None
    return raw


def spoilt(signature: bytes) -> bytes:
    """The armoured file with one character near the end of what is signed exchanged."""
    lines = signature.splitlines()
    line = lines[-2]
    lines[-2] = line[:4] + (b"B" if line[4:5] == b"A" else b"A") + line[5:]
    return b"\n".join(lines) + b"\n"


@pytest.fixture(autouse=True)
def _openssh(needs: Needs) -> None:
    needs("ssh-keygen")


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_signature_holds_on_both_sides_until_it_is_spoilt(
    peers: Peers, tmp_path: Path, algorithm: Algorithm
) -> None:
    me, stranger = party(algorithm), party(algorithm)
    document, other = canonical(peers, FINDING), canonical(peers, changed(FINDING))
    receiver = Receiver(tmp_path, me)
    for signature in (
        sealed(FINDING, me, "sshsig"),
        theirs(document, me, AISA, tmp_path),
    ):
        assert receiver.takes(document, signature)
        assert_accepted(verdict(me, "sshsig", respelt(FINDING), signature), "sshsig", me)

        bad = spoilt(signature)
        assert not receiver.takes(document, bad)
        refused = verdict(me, "sshsig", respelt(FINDING), bad)
        assert_refused(refused, BAD_SIGNATURE, "signature_malformed")
        assert not receiver.takes(other, signature)
        assert_refused(verdict(me, "sshsig", respelt(changed(FINDING)), signature), BAD_SIGNATURE)

        assert not Receiver(tmp_path, stranger).takes(document, signature)
        assert_refused(verdict(stranger, "sshsig", respelt(FINDING), signature), "unknown_key")
        receiver = Receiver(tmp_path, me)
        assert not receiver.takes(document, signature, ORBIPLEX)

    # Signed under the namespace of another profile, the signature holds, but not for this.
    elsewhere = theirs(document, me, ORBIPLEX, tmp_path)
    assert receiver.takes(document, elsewhere, ORBIPLEX)
    assert not receiver.takes(document, elsewhere)
    assert_refused(verdict(me, "sshsig", respelt(FINDING), elsewhere), "wrong_typ")


def test_a_key_that_may_sign_one_profile_is_not_taken_for_another(
    peers: Peers, tmp_path: Path
) -> None:
    me = party(profiles=(AISA,))
    document = canonical(peers, FINDING)
    receiver = Receiver(tmp_path, me)
    assert receiver.takes(document, theirs(document, me, AISA, tmp_path))
    assert not receiver.takes(document, theirs(document, me, ORBIPLEX, tmp_path), ORBIPLEX)


def test_a_key_is_taken_from_its_beginning_to_its_end_to_the_second(tmp_path: Path) -> None:
    start, end = instant("2026-08-31T12:00:00Z"), instant("2026-09-02T12:00:00Z")
    me = party()
    times = {"not_before": start, "sign_from": start, "sign_until": end, "accept_until": end}
    entry = key_entry(me.signer.key.public, me.version, profiles=(AISA,), **times)
    me = Party(KeySigner(entry, me.signer.key))
    document = b"{}"
    receiver, signature = Receiver(tmp_path, me), theirs(document, me, AISA, tmp_path)
    taken = {
        at: receiver.takes(document, signature, at=at)
        for at in (start - DAY, start - SECOND, start, end - SECOND, end, end + DAY)
    }
    assert list(taken.values()) == [False, False, True, True, False, False]


def test_a_revoked_key_is_taken_only_before_its_revocation(tmp_path: Path) -> None:
    me = party()
    revoked = instant(NOW)
    entry = key_entry(me.signer.key.public, me.version, profiles=(AISA,), revoked_at=revoked)
    me = Party(KeySigner(entry, me.signer.key))
    receiver, signature = Receiver(tmp_path, me), theirs(b"{}", me, AISA, tmp_path)
    assert receiver.takes(b"{}", signature, at=revoked - SECOND)
    assert not receiver.takes(b"{}", signature, at=revoked)


@pytest.mark.parametrize("algorithm", KINDS)
def test_an_allowed_signers_file_with_a_key_that_openssh_made_is_read_as_pins(
    peers: Peers, tmp_path: Path, algorithm: Algorithm
) -> None:
    kind = "ed25519" if algorithm is Algorithm.ED25519 else "ecdsa"
    made = ["ssh-keygen", "-q", "-t", kind, "-f", "key", "-C", "peer/1", "-N", ""]
    code, said = run(*made, folder=tmp_path)
    assert code == 0, said
    public = (tmp_path / "key.pub").read_text()
    line = f'local namespaces="{namespace_of(AISA)}" {public}'
    document = canonical(peers, FINDING)
    command = ["ssh-keygen", "-Y", "sign", "-f", "key", "-n", namespace_of(AISA)]
    code, signature = run(*command, data=document, folder=tmp_path)
    assert code == 0, signature
    pins = read_allowed_signers(line.encode())
    armour = signature[signature.index(b"-----BEGIN") :]
    found = verdict(pins, "sshsig", respelt(FINDING), armour)
    (entry,) = pins.entries
    assert isinstance(found, Accepted), found
    assert entry.key is not None and found.signer.thumbprint == entry.key.thumbprint

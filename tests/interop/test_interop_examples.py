"""The receivers of examples/verify, on what taskseal has just signed, good and spoilt."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_support import minimal_task, moment
from click.testing import CliRunner
from interop_support import (
    AISA,
    DHARMA,
    FINDING,
    NODE_FOLDER,
    ORBIPLEX,
    PEERS_PYTHON,
    ROOT,
    Needs,
    changed,
    flipped,
    run,
)

from taskseal.canon.jcs import canonicalise
from taskseal.cli.main import taskseal as program

EXAMPLES = ROOT / "examples" / "verify"
MESSAGE_KEY, TASK_KEY = "survey/1", "kms/tasks/1"


class Sender:
    """A folder in which someone signs by the command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0
        self.message = {**FINDING, "occurred_on": moment(-60)}
        new = ["--no-passphrase", "--not-before", moment(-3600)]
        self.call("keys", "new", MESSAGE_KEY, "--for", AISA, "--for", ORBIPLEX, *new)
        self.call("keys", "new", TASK_KEY, "--for", DHARMA, *new)
        self.call("keys", "pin", "-o", "pins.json")
        self.call("keys", "pin", "--as", "allowed_signers", "-o", "allowed_signers")
        self.call("keys", "export", TASK_KEY, "--as", "pem", "-o", "task.pem")

    def call(self, *arguments: str) -> bytes:
        """What the command line prints, at work in this folder."""
        ring = ["--keyring", "ring"] if arguments[0] in ("keys", "sign") else []
        with contextlib.chdir(self.folder):
            result = CliRunner().invoke(program, [*arguments, *ring])
        assert result.exit_code == 0, (result.stderr, result.exception)
        return result.stdout_bytes

    def file(self, content: bytes | dict[str, Any]) -> str:
        """A new file, by its name."""
        self.made += 1
        name = f"file-{self.made}"
        data = content if isinstance(content, bytes) else json.dumps(content, indent=1).encode()
        (self.folder / name).write_bytes(data)
        return name

    def sign(self, document: dict[str, Any], *options: str) -> bytes:
        return self.call("sign", self.file(document), *options)


@pytest.fixture(scope="module")
def sender(tmp_path_factory: pytest.TempPathFactory) -> Sender:
    return Sender(tmp_path_factory.mktemp("sender"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Sender:
    """Someone else, with the same names for their keys."""
    return Sender(tmp_path_factory.mktemp("stranger"))


def assert_taken(ended: tuple[int, bytes], document: Any) -> None:
    assert ended == (0, canonicalise(document)), ended


def assert_refused(ended: tuple[int, bytes]) -> None:
    code, said = ended
    assert code == 1, said
    assert said.startswith(b"refused: "), said
    assert said.count(b"\n") == 1


class Receiver:
    """One of the examples, at work in the sender's folder."""

    def __init__(self, sender: Sender, *command: str | Path) -> None:
        self.sender, self.command = sender, command

    def __call__(self, *arguments: str | Path) -> tuple[int, bytes]:
        return run(*self.command, *arguments, folder=self.sender.folder)


@pytest.fixture(scope="module")
def node(needs: Needs, sender: Sender, tmp_path_factory: pytest.TempPathFactory) -> Receiver:
    """A copy of the example with its one package beside it."""
    needs("node")
    place = tmp_path_factory.mktemp("node") / "verify"
    shutil.copytree(EXAMPLES / "node", place, ignore=shutil.ignore_patterns("node_modules"))
    (place / "node_modules").symlink_to(NODE_FOLDER / "node_modules")
    return Receiver(sender, "node", place / "verify.mjs")


@pytest.mark.parametrize("format", ["jws-detached", "jws-compact"])
def test_node_takes_a_detached_signature_until_it_is_spoilt(
    node: Receiver, sender: Sender, stranger: Sender, format: str
) -> None:
    message = sender.message
    document = sender.file(message)
    blob = sender.call("sign", document, "--format", format).decode()
    signature = sender.file(blob.encode() + b"\n")
    assert_taken(node(AISA, "pins.json", document, signature), message)

    if format == "jws-compact":
        protected, _, text = blob.split(".")
        bad = f"{protected}..{flipped(text)}"
    else:
        jws = json.loads(blob)
        bad = json.dumps(jws | {"signature": flipped(jws["signature"])})
    assert_refused(node(AISA, "pins.json", document, sender.file(bad.encode())))
    assert_refused(node(AISA, "pins.json", sender.file(changed(message)), signature))
    assert_refused(node(AISA, stranger.folder / "pins.json", document, signature))
    assert_refused(node(ORBIPLEX, "pins.json", document, signature))
    assert_refused(node(AISA, "pins.json", document, sender.file(b"{}")))
    assert_refused(node(AISA, "pins.json", sender.file(b"[]"), signature))


def test_node_takes_a_task_with_its_signature_inside_until_it_is_spoilt(
    node: Receiver, sender: Sender, stranger: Sender
) -> None:
    task = json.loads(sender.sign(minimal_task()))
    bare = {name: item for name, item in task.items() if name != "signature"}
    assert_taken(node(DHARMA, "pins.json", sender.file(task)), bare)

    for bad in (
        task | {"signature": flipped(task["signature"])},
        task | {"instructions": "Delete the repository."},
        task | {"schema": "dharma.task/v2"},
        task | {"expiresAt": "never"},
        bare,
    ):
        assert_refused(node(DHARMA, "pins.json", sender.file(bad)))
    assert_refused(node(DHARMA, stranger.folder / "pins.json", sender.file(task)))
    assert_refused(node(AISA, "pins.json", sender.file(task)))


def test_node_takes_nothing_after_its_time_and_no_key_outside_its_own(
    node: Receiver, sender: Sender
) -> None:
    signed = sender.sign(minimal_task(), "--at", moment(-1800))
    assert_refused(node(DHARMA, "pins.json", sender.file(signed)))
    pins = json.loads((sender.folder / "pins.json").read_bytes())
    task, old = sender.sign(minimal_task()), moment(-60)
    for member in ("acceptUntil", "revokedAt"):
        keys = [key | {member: old} for key in pins["keys"]]
        assert_refused(node(DHARMA, sender.file(pins | {"keys": keys}), sender.file(task)))


@pytest.fixture
def joserfc(needs: Needs, sender: Sender) -> Receiver:
    needs("python")
    return Receiver(sender, PEERS_PYTHON, EXAMPLES / "python" / "verify.py")


def test_joserfc_takes_a_signature_around_the_document_until_it_is_spoilt(
    joserfc: Receiver, sender: Sender, stranger: Sender
) -> None:
    blob = sender.sign(sender.message)
    assert_taken(joserfc(AISA, "pins.json", sender.file(blob)), sender.message)

    jws = json.loads(blob)
    for bad in (
        jws | {"signature": flipped(jws["signature"])},
        jws | {"payload": flipped(jws["payload"])},
        {name: item for name, item in jws.items() if name != "payload"},
        jws | {"header": {"alg": "none"}},
    ):
        assert_refused(joserfc(AISA, "pins.json", sender.file(bad)))
    assert_refused(joserfc(ORBIPLEX, "pins.json", sender.file(blob)))
    assert_refused(joserfc(AISA, stranger.folder / "pins.json", sender.file(blob)))
    assert_refused(joserfc(AISA, "pins.json", sender.file(b"not JSON")))
    earlier = {**sender.message, "occurred_on": moment(-2000)}
    old = sender.sign(earlier, "--at", moment(-1800))
    assert_refused(joserfc(AISA, "pins.json", sender.file(old)))


def test_ssh_keygen_takes_a_signature_over_the_canonical_document_until_it_is_spoilt(
    needs: Needs, sender: Sender, stranger: Sender
) -> None:
    needs("ssh-keygen")
    verify = Receiver(sender, "sh", EXAMPLES / "ssh" / "verify.sh")
    document = sender.file(sender.message)
    canonical = sender.file(sender.call("canon", document))
    signature = sender.file(sender.call("sign", document, "--format", "sshsig"))
    named = ["allowed_signers", "local"]
    assert_taken(verify(AISA, *named, canonical, signature), sender.message)

    for arguments in (
        [AISA, *named, sender.file(canonicalise(changed(sender.message))), signature],
        [ORBIPLEX, *named, canonical, signature],
        [DHARMA, *named, canonical, signature],
        [AISA, "allowed_signers", "somebody", canonical, signature],
        [AISA, str(stranger.folder / "allowed_signers"), "local", canonical, signature],
        [AISA, *named, document, signature],
    ):
        code, said = verify(*arguments)
        assert code == 1 and said.startswith(b"refused: "), said


def test_openssl_takes_a_task_until_it_is_spoilt(
    needs: Needs, sender: Sender, stranger: Sender
) -> None:
    needs("openssl")
    verify = Receiver(sender, "sh", EXAMPLES / "openssl" / "verify.sh")
    blob = sender.sign(minimal_task())
    task = json.loads(blob)
    bare = {name: item for name, item in task.items() if name != "signature"}
    assert_taken(verify("task.pem", sender.file(blob)), bare)
    assert_taken(verify("task.pem", sender.file(blob + b"\n")), bare)

    member = f'"signature":"{task["signature"]}",'.encode()
    for bad in (
        canonicalise(task | {"signature": flipped(task["signature"])}),
        blob.replace(b"Verify", b"Delete"),
        blob.replace(member, b""),
        # A second one elsewhere: it would be left out, and the file would say more than was signed.
        blob.replace(b'"target":{', b'"target":{' + member),
        json.dumps(task, indent=1).encode(),
    ):
        assert_refused(verify("task.pem", sender.file(bad)))
    assert_refused(verify(stranger.folder / "task.pem", sender.file(blob)))

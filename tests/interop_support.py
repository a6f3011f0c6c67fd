"""What the tests against other people's software share: the pipe to it, parties, documents."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import NOW, SAMPLES, key_entry, load, pins_of

from taskseal import Accepted, Pins, Policy, Profile, Refused, Verifier, sign
from taskseal.canon.encoding import b64url_decode, b64url_encode
from taskseal.keys.algorithms import Algorithm, scheme
from taskseal.keys.private import KeySigner, PrivateKey

HERE = Path(__file__).resolve().parent / "interop"
ROOT = HERE.parent.parent
PEERS_PYTHON = ROOT / ".venv-interop" / "bin" / "python"
NODE_FOLDER = HERE / "node"

REQUIRED = "TASKSEAL_INTEROP"
"""Set to ``required``, a test that cannot run fails instead of being skipped."""

AISA, DHARMA, ORBIPLEX = "aisa.message/v1", "dharma.task/v1", "orbiplex.turn-request/v1"
FINDING: Mapping[str, Any] = load(SAMPLES / "aisa" / "finding.json")
TURN: Mapping[str, Any] = load(SAMPLES / "orbiplex" / "start.json")
# Beyond ASCII, beyond the first plane, and what JavaScript and Python escape differently.
FINDING["payload"]["statement"] = 'Zażółć «7»: naïve 𝄞 \u2028 " \\ / \x7f.'

BAD_SIGNATURE = "bad_signature"


class Peer:
    """A process that answers one JSON line with another."""

    def __init__(self, command: list[str | Path], folder: Path) -> None:
        # It lives as long as the process; `close` closes it.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            encoding="utf-8",
        )

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """The answer; anything that is not the software's own verdict fails the test."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps({"op": op, **arguments}) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._stderr.seek(0)
            raise AssertionError(f"it ended: {self._stderr.read().decode()[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        assert "fault" not in answer, answer["fault"]
        return answer

    def takes(self, op: str, **arguments: Any) -> bool:
        """Whether it takes the signature."""
        taken: bool = self.ask(op, **arguments)["ok"]
        return taken

    def made(self, op: str, **arguments: Any) -> Any:
        """What it makes."""
        answer = self.ask(op, **arguments)
        assert answer["ok"], answer["why"]
        return answer.get("made")

    def close(self) -> None:
        """Ends the process."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        stdout.close()
        self._stderr.close()


Peers = Callable[[str], Peer]
"""``peers("python")`` and ``peers("node")``."""
Needs = Callable[..., None]
"""``needs("openssl")``: the test does not run where the command is missing."""


OLDEST: Mapping[str, tuple[tuple[str, ...], str, tuple[int, int]]] = {
    "node": (("node", "--version"), r"v(\d+)\.(\d+)", (20, 0)),
    # The client of the same version tells; ssh-keygen does not. Older ones know no times in UTC.
    "ssh-keygen": (("ssh", "-V"), r"OpenSSH_(\d+)\.(\d+)", (9, 1)),
    # Older ones, and LibreSSL, sign no message of any length with Ed25519.
    "openssl": (("openssl", "version"), r"OpenSSL (\d+)\.(\d+)", (3, 0)),
}
"""How each command tells its version, and from which on it will do."""


def missing(what: str) -> str | None:
    """Why the software ``what`` cannot be asked here, or None.

    Args:
        what: ``python``, ``node`` or another of :data:`OLDEST`.
    """
    if what == "python":
        if PEERS_PYTHON.exists():
            return None
        return ".venv-interop with the Python packages is missing (make interop)"
    command, pattern, oldest = OLDEST[what]
    wanted = ".".join(map(str, oldest))
    if not shutil.which(what) or not shutil.which(command[0]):
        return f"{what} of version {wanted} or later is not on PATH"
    said = run(*command)[1].decode()
    found = re.search(pattern, said)
    if found is None or tuple(map(int, found.groups())) < oldest:
        return f"{what} is not of version {wanted} or later but {said.strip()[:60]!r}"
    if what == "node" and not (NODE_FOLDER / "node_modules" / ".package-lock.json").exists():
        return "the npm packages are missing (make interop)"
    return None


def started(what: str) -> Peer:
    """The runner of Python's packages or of npm's."""
    if what == "python":
        return Peer([PEERS_PYTHON, "peer.py"], HERE / "python")
    return Peer(["node", "peer.mjs"], NODE_FOLDER)


@dataclass(frozen=True, slots=True)
class Party:
    """Someone with a key, whose public half the other side knows."""

    signer: KeySigner

    @property
    def version(self) -> str:
        return self.signer.entry.key_version

    @property
    def algorithm(self) -> Algorithm:
        return self.signer.key.algorithm

    @property
    def public(self) -> dict[str, str]:
        """The public JWK."""
        return self.signer.key.public.jwk()

    @property
    def private(self) -> dict[str, str]:
        """The private JWK, for software that signs in this party's name."""
        secret = b64url_encode(self.signer.key.reveal_secret())
        return self.public | {scheme(self.algorithm).secret: secret}

    def header(self, profile: str, alg: str, **members: Any) -> dict[str, Any]:
        """What someone else writes into a JWS header for a receiver that runs taskseal."""
        return {
            "alg": alg,
            "kid": self.version,
            "iss": self.signer.entry.issuer,
            "typ": mark_of(profile),
            "iat": SECONDS,
            "exp": SECONDS + 600,
            **members,
        }


SECONDS = 1788251700
"""NOW in seconds since 1970."""


def mark_of(profile: str) -> str:
    """The JWS ``typ`` of a profile, spelt out here as another implementer would."""
    return f"vnd.taskseal.{profile.replace('/', '.')}+jws"


def party(
    algorithm: Algorithm = Algorithm.ED25519,
    version: str = "peer/1",
    profiles: tuple[str, ...] = (AISA, ORBIPLEX),
) -> Party:
    """Someone with a fresh key."""
    key = PrivateKey.generate(algorithm)
    return Party(KeySigner(key_entry(key.public, version, profiles=profiles), key))


ALGORITHMS = {
    "Ed25519": Algorithm.ED25519,
    "EdDSA": Algorithm.ED25519,
    "ES256": Algorithm.P256,
    "ML-DSA-65": Algorithm.MLDSA65,
}
"""Whose key a JOSE name asks for."""


def respelt(document: Mapping[str, Any]) -> str:
    """``document`` in a spelling far from the canonical one."""
    turned = dict(reversed(document.items()))
    return json.dumps(turned, indent=3, ensure_ascii=True)


def sealed(document: Mapping[str, Any] | bytes, by: Party, format: str, **options: Any) -> bytes:
    """What `sign` makes of ``document``."""
    return sign(document, by.signer, format=format, at=NOW, **options).blob


def verdict(
    trusted: Party | Pins,
    form: str,
    data: bytes | str,
    signature: bytes | None = None,
    *,
    profile: Profile | None = None,
    **policy: Any,
) -> Accepted | Refused:
    """Our verdict, at the samples' instant, of a receiver that also takes ``form``."""
    text = data.encode() if isinstance(data, str) else data
    pins = pins_of(trusted.signer) if isinstance(trusted, Party) else trusted
    allowed = Policy(allow_forms=frozenset({form}), **policy)
    return Verifier(pins, allowed).check(text, profile=profile, signature=signature, at=NOW)


def assert_accepted(found: Accepted | Refused, form: str, *signers: Party) -> None:
    """That it is accepted, in ``form``, and from whom."""
    assert isinstance(found, Accepted), found
    assert found.form == form
    assert found.signer.thumbprint in {each.signer.key.public.thumbprint for each in signers}


def assert_refused(found: Accepted | Refused, *reasons: str) -> None:
    """That it is refused for one of ``reasons``, and that nobody is named for it."""
    assert isinstance(found, Refused), found
    assert found.reason.value in reasons, found
    assert not found.authenticated


def flipped(text: str) -> str:
    """Base64url text with the first bit of what it spells turned over."""
    raw = b64url_decode(text)
    assert raw is not None
    return b64url_encode(bytes([raw[0] ^ 0x80]) + raw[1:])


def changed(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with one bit of one character turned over: the last of its id."""
    name = "message_id" if "message_id" in document else "turn/ref"
    text = document[name]
    return {**document, name: text[:-1] + chr(ord(text[-1]) ^ 1)}


def run(*command: str | Path, data: bytes = b"", folder: Path | None = None) -> tuple[int, bytes]:
    """Runs someone's command; its exit code and what it printed."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    done = subprocess.run(
        command,
        input=data,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout

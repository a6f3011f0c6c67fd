"""``demo``: the main job on real samples, and every refusal that it is for.

Keys, ledger and signatures are real and live in a temporary folder; the samples are of
September 2026, so that the demo's clock stands there.

Source: SPEC sections 0 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from taskseal.cli import output
from taskseal.cli.desk import context_file
from taskseal.cli.main import SETTINGS
from taskseal.errors import MaterialError, Reason, TasksealError
from taskseal.validity import DAY, read_instant

if TYPE_CHECKING:
    from taskseal import Keyring, Receiver

NOW = "2026-09-01T08:35:00Z"
"""The instant at which the samples are valid."""
NOT_BEFORE = "2026-01-01T00:00:00Z"
ME = "demo-receiver"
DHARMA, AISA, ORBIPLEX = "dharma.task/v1", "aisa.message/v1", "orbiplex.turn-request/v1"
KEYS = {DHARMA: "tasks/1", AISA: "messages/1", ORBIPLEX: "turns/1"}
"""Which key version signs which profile."""
PLAN = "papers/plan.md"

_TASK: dict[str, Any] = {
    "schema": DHARMA,
    "taskId": "0b6f7c1e-2f0a-4c55-9d0e-5a3f5d1f7a10",
    "organizationId": "org_demo",
    "workspaceId": "ws_demo",
    "taskType": "external_request",
    "target": {"deviceId": "dev_demo", "provider": "codex"},
    "skillBundle": None,
    "instructions": "Verify the repository.",
    "requiredSkills": [],
    "authority": {
        "readPaths": ["."],
        "writePaths": [],
        "commands": [{"commandId": "verify"}],
        "network": "deny",
        "git": "task_branch",
    },
    "execution": {
        "isolation": "git_worktree",
        "timeoutSeconds": 60,
        "leaseSeconds": 120,
        "maximumConcurrentAgents": 1,
    },
    "acceptance": {"commands": [{"commandId": "verify"}], "requiredArtifacts": []},
    "budget": {"mode": "byok_local", "maximumDharmaCostCents": 0},
}


class Step(NamedTuple):
    """One thing that was done, and how it should have gone."""

    what: str
    expected: str
    got: str

    @property
    def ok(self) -> bool:
        """Whether it went so."""
        return self.got == self.expected


@click.command(context_settings=SETTINGS)
@output.json_option
def demo() -> int:
    """Seal, check and refuse real envelopes of three systems.

    It needs nothing and leaves nothing: keys and ledger live in a temporary folder.
    """
    with TemporaryDirectory(prefix="taskseal-demo-") as folder:
        steps = list(run(Path(folder)))
    good = sum(step.ok for step in steps)
    if output.wants_json():
        rows = [{**step._asdict(), "ok": step.ok} for step in steps]
        output.record({"ok": good == len(steps), "at": NOW, "steps": rows})
    else:
        _tell(steps, good)
    return 0 if good == len(steps) else output.EXIT_REFUSED


def _tell(steps: list[Step], good: int) -> None:
    width = [max(map(len, column)) for column in zip(*steps, strict=True)]
    output.line("new keys, a new ledger, the clock at " + NOW)
    output.line()
    output.line(f"{'WHAT':{width[0]}}  {'EXPECTED':{width[1]}}  {'GOT':{width[2]}}  OK")
    for step in steps:
        mark = output.styled("yes", "good") if step.ok else output.styled("NO", "bad")
        cells = (cell.ljust(wide) for cell, wide in zip(step, width, strict=True))
        output.line("  ".join([*cells, mark]))
    output.line()
    style = "good" if good == len(steps) else "bad"
    output.line(output.styled(f"{good} of {len(steps)} as expected", style))


def run(folder: Path) -> Iterator[Step]:
    """Everything that the demo shows, in order; ``folder`` takes its keys and its ledger."""
    from taskseal import Identity, Receiver, Verifier, open_ledger

    ring = _keyring(folder / "keyring")
    context, artefacts = context_file(str(samples() / "context.json"))
    me = Identity(audience=ME, organisation="org_demo", workspace="ws_demo", device="dev_demo")
    verifier = Verifier(ring.pins(), identity=me, clock=_clock)
    with open_ledger(f"sqlite:{folder / 'ledger.sqlite3'}") as ledger:
        receiver = Receiver(verifier, ledger, me, clock=_clock)
        stage = Stage(folder, ring, receiver, {"artefacts": artefacts, "context": context})
        blobs: dict[str, bytes] = {}
        for profile in KEYS:
            yield from stage.accepting(profile, blobs)
        yield from stage.refusing(blobs)


@dataclass(frozen=True, slots=True)
class Stage:
    """What the demo works with; ``beside`` is what sender and receiver know of the messages."""

    folder: Path
    ring: Keyring
    receiver: Receiver
    beside: dict[str, Any]

    def accepting(self, profile: str, blobs: dict[str, bytes]) -> Iterator[Step]:
        """The sample of ``profile`` signed (into ``blobs``), verified, and accepted once."""
        from taskseal import BUILT_IN

        title = BUILT_IN[profile].title
        blobs[profile] = b""

        def seal() -> str:
            blobs[profile] = self.sealed(profile, self.ring)
            return "signed"

        yield Step(f"{title} signed", "signed", _word(seal))
        blob = blobs[profile]
        yield Step(f"{title} verified", "accepted", _word(lambda: self.check(blob)))
        yield Step(f"{title} accepted", "accepted", _word(lambda: self.receive(blob)))

    def refusing(self, blobs: dict[str, bytes]) -> Iterator[Step]:
        """What must not pass, each with its reason."""
        task, plan = blobs[DHARMA], blobs[AISA]
        tampered = task.replace(b"Verify the repository.", b"Delete the repository.")
        swapped = {"artefacts": {**self.beside["artefacts"], PLAN: b"# Another plan\n"}}
        late = _clock() + DAY
        bad: list[tuple[str, Reason, Callable[[], object]]] = [
            ("a tampered body", Reason.BAD_SIGNATURE, lambda: self.check(tampered)),
            ("a swapped artefact", Reason.DIGEST_MISMATCH, lambda: self.check(plan, **swapped)),
            ("an expired envelope", Reason.EXPIRED, lambda: self.check(task, at=late)),
            ("a wrong key", Reason.BAD_SIGNATURE, self._check_forged),
            ("a key for another profile", Reason.KEY_WRONG_PROFILE, self._check_misused),
            ("a replay", Reason.REPLAYED, lambda: self.receive(task)),
        ]
        for what, reason, attempt in bad:
            yield Step(what, reason.value, _word(attempt))

    def sealed(self, profile: str, ring: Keyring) -> bytes:
        """The sample of ``profile`` as its sender hands it over."""
        from taskseal import sign

        audience = None if profile == DHARMA else ME
        document = _document(profile)
        return sign(document, ring, audience=audience, clock=_clock, **self.beside).blob

    def check(self, blob: bytes, **beside: Any) -> object:
        """The verifier's verdict."""
        return self.receiver.verifier.check(blob, **{**self.beside, **beside})

    def receive(self, blob: bytes) -> object:
        """The receiver's verdict."""
        return self.receiver.accept(blob, **self.beside)

    def _check_forged(self) -> object:
        """The verdict on the AISA sample by a stranger's key that bears the same name."""
        return self.check(self.sealed(AISA, _keyring(self.folder / "stranger")))

    def _check_misused(self) -> object:
        """The verdict on the AISA sample signed with the key that was trusted for Orbiplex."""
        from taskseal import Keyring
        from taskseal.keys.formats import read_private_key

        version = KEYS[ORBIPLEX]
        key = read_private_key(self.ring.export(version, "raw", private=True))
        loose = Keyring.create(self.folder / "loose", "demo")
        loose.import_key(key, version, [AISA], not_before=NOT_BEFORE, allow_plain=True)
        return self.check(self.sealed(AISA, loose))


def _keyring(folder: Path) -> Keyring:
    from taskseal import Keyring

    ring = Keyring.create(folder, "demo")
    for profile, version in KEYS.items():
        ring.new(version, [profile], not_before=NOT_BEFORE, allow_plain=True)
    return ring


def _clock() -> int:
    now = read_instant(NOW)
    assert now is not None
    return now


def _word(attempt: Callable[[], object]) -> str:
    """How an attempt went, in a word."""
    from taskseal import Accepted, Duplicate, Refused

    try:
        found = attempt()
    except Refused as refused:
        found = refused
    except TasksealError as fault:
        return fault.code.value
    match found:
        case Refused():
            return found.reason.value
        case Duplicate():
            return Reason.REPLAYED.value
        case Accepted():
            return "accepted"
    return str(found)


def _document(profile: str) -> Any:
    if profile == DHARMA:
        return _TASK
    name = "aisa/plan.json" if profile == AISA else "orbiplex/start.json"
    return (samples() / name).read_bytes()


def samples() -> Path:
    """The samples' folder: beside the code in a wheel, else in the work tree.

    Raises:
        MaterialError: ``file_missing`` when the installation lacks them.
    """
    here = Path(__file__)
    for folder in (here.parents[1] / "samples", here.parents[3] / "tests" / "vectors" / "samples"):
        if (folder / "context.json").is_file():
            return folder
    raise MaterialError(
        Reason.FILE_MISSING, "the samples are not installed", hint="install taskseal anew"
    )

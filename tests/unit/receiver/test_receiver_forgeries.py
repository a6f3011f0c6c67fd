"""A forged message never touches the ledger, and costs one signature check at most."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from receiving import JOB, NOTE, Post, job, signer_for
from support import embed, sign_anyway

from taskseal.canon.jcs import encode
from taskseal.canon.strictjson import parse
from taskseal.errors import Reason
from taskseal.keys.algorithms import PublicKey
from taskseal.ledger.sqlite import SqliteLedger
from taskseal.profiles import DHARMA_TASK
from taskseal.profiles.material import measure
from taskseal.profiles.schema import Schema
from taskseal.receiver import Duplicate, Job
from taskseal.verify import Refused

WORK = ("lookup", "claim", "claim_many", "reserve", "start", "commit", "release", "abandon")
"""What a ledger is asked for in receiving."""


@pytest.fixture
def post(tmp_path: Path) -> Post:
    """A receiver with some past, so that there is something to be changed."""
    post = Post(f"sqlite:{tmp_path}/ledger.db")
    post.take("past").commit("done")
    post.take("in hand")
    return post


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each costly thing is done from here on."""
    calls: Counter[str] = Counter()

    def counting(real: Callable[..., Any], what: str) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            calls[what] += 1
            return real(*given, **named)

        return counted

    def method(owner: type, name: str, what: str) -> None:
        monkeypatch.setattr(owner, name, counting(getattr(owner, name), what))

    def function(real: Callable[..., Any], what: str) -> None:
        """Wherever it was imported to."""
        for name, module in list(sys.modules.items()):
            if name.startswith("taskseal.") and getattr(module, real.__name__, None) is real:
                monkeypatch.setattr(module, real.__name__, counting(real, what))

    function(parse, "parse")
    function(encode, "canonicalise")
    function(measure, "material")
    method(PublicKey, "verify", "signature")
    method(Schema, "fault", "schema")
    for name in WORK:
        method(SqliteLedger, name, "ledger")
    return calls


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file of the ledger: the database, its log, its index of the log."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def forgeries(post: Post) -> Iterator[tuple[str, bytes, int]]:
    """Messages that their key never signed: what, its bytes, how many signatures it may cost."""
    good = post.blob("new")
    other = signer_for(JOB.id, NOTE.id, version="test/1")
    for name in ("new", "past", "in hand"):
        yield f"{name}, by a stranger", embed(job(name), other, "proof"), 1
        value = json.loads(post.blob(name)) | {"customer": "c-2"}
        yield f"{name}, with another customer", json.dumps(value).encode(), 1
        del value["proof"]
        yield f"{name}, unsigned", json.dumps(value).encode(), 0
    yield "by a version that is not trusted", embed(job(signedBy="test/9"), other, "proof"), 0
    yield "with half a signature", good.replace(b'"proof":"', b'"proof":"AA'), 0
    yield "cut short", good[:-9], 0
    yield "no JSON", b"\x00" * 300, 0
    for aud in ("me", "you"):
        note = {"kind": "acme.note", "noteId": "n"}
        yield f"a note for {aud}", sign_anyway(note, other, NOTE, aud=aud), 1
        mine = sign_anyway(note, post.sender, NOTE, aud=aud)
        yield (
            f"a note for {aud}, moved",
            swapped(mine, sign_anyway({**note, "noteId": "m"}, post.sender, NOTE, aud=aud)),
            1,
        )
    yield (
        "a note of another typ",
        sign_anyway({"kind": "acme.note", "noteId": "n"}, post.sender, JOB),
        0,
    )
    yield "of an unknown profile", embed({"schema": DHARMA_TASK.id}, post.sender), 0


def swapped(one: bytes, other: bytes) -> bytes:
    """The payload of the one under the signature of the other."""
    return json.dumps(json.loads(other) | {"payload": json.loads(one)["payload"]}).encode()


def test_a_forgery_changes_no_byte_of_the_ledger_and_costs_one_signature_check(
    post: Post, tmp_path: Path, counted: Counter[str]
) -> None:
    before = bytes_of(tmp_path)
    assert {"ledger.db", "ledger.db-wal"} <= before.keys()
    seen = 0
    for what, data, signatures in forgeries(post):
        for call in (post.receiver.receive, post.receiver.accept):
            counted.clear()
            found = call(data, artefacts=post.artefacts())
            assert isinstance(found, Refused), what
            assert not found.authenticated, what
            assert counted["signature"] == signatures, what
            assert counted["ledger"] == counted["schema"] == counted["material"] == 0, what
            assert counted["canonicalise"] <= 1, what
            # A blob, its header, and the text that it carries.
            assert counted["parse"] <= 3, what
            seen += 1
    assert seen > 30
    assert bytes_of(tmp_path) == before


def test_the_same_counters_see_what_an_honest_message_costs(
    post: Post, tmp_path: Path, counted: Counter[str]
) -> None:
    before = bytes_of(tmp_path)
    assert isinstance(post.receiver.receive(post.blob("new"), artefacts=post.artefacts()), Job)
    honest = {"parse": 1, "signature": 1, "material": 2, "ledger": 3}
    assert {name: counted[name] for name in honest} == honest
    assert counted["canonicalise"] > 1
    assert bytes_of(tmp_path) != before


def test_flipping_any_bit_of_a_message_never_reaches_the_ledger_as_another_one(
    post: Post, tmp_path: Path
) -> None:
    good = post.blob("past")
    before = bytes_of(tmp_path)
    chosen = random.Random(7)
    for _ in range(400):
        at, bit = chosen.randrange(len(good)), 1 << chosen.randrange(8)
        changed = good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :]
        found = post.receiver.receive(changed, artefacts=post.artefacts())
        assert isinstance(found, Refused), changed
    assert bytes_of(tmp_path) == before
    assert isinstance(post.receiver.receive(good), Duplicate)


def test_an_authentic_message_that_is_refused_changes_no_byte_either(
    post: Post, tmp_path: Path
) -> None:
    before = bytes_of(tmp_path)
    late = post.blob("new", issuedAt="2026-08-01T00:00:00Z", expiresAt="2026-08-01T00:10:00Z")
    wrong = post.blob("new", plan="0" * 64)
    for data, reason in ((late, Reason.EXPIRED), (wrong, Reason.DIGEST_MALFORMED)):
        found = post.receiver.receive(data, artefacts=post.artefacts())
        assert isinstance(found, Refused)
        assert found.reason is reason
    assert database(bytes_of(tmp_path)) == database(before)


def database(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files that hold what is remembered; the index of the log also notes who reads it."""
    return {name: data for name, data in files.items() if not name.endswith("-shm")}

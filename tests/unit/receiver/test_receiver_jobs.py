"""A job in hand: how it ends, what arrives late, and what the ledger is told."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from receiving import DATA, PLAN, Post

from taskseal.canon.digest import Digest
from taskseal.canon.encoding import b64url_decode
from taskseal.canon.strictjson import parse
from taskseal.errors import InputError, Reason, Unavailable
from taskseal.ledger import Decision, Released
from taskseal.ledger.memory import MemoryLedger
from taskseal.receiver import LEASE, Duplicate, InDoubt, Job
from taskseal.verify import Policy, Refused


@pytest.fixture
def post(tmp_path: Path) -> Post:
    return Post(f"sqlite:{tmp_path}/ledger.db")


def statement(acceptance: bytes | None) -> dict[str, Any]:
    """What an acceptance says."""
    assert acceptance is not None
    payload = b64url_decode(parse(acceptance).value["payload"])
    assert payload is not None
    said: dict[str, Any] = parse(payload).value
    return said


def test_leaving_the_block_commits_without_an_outcome(post: Post) -> None:
    with post.take() as job:
        assert job.acceptance is None
    assert statement(job.acceptance)["outcome"] is None
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance == job.acceptance


def test_a_commit_in_the_block_is_the_one_that_counts(post: Post) -> None:
    with post.take() as job:
        acceptance = job.commit(b"the answer")
    assert job.acceptance == acceptance
    assert statement(acceptance)["outcome"] == {
        "kind": "bytes",
        "digest": Digest.of(b"the answer").text("sha256:hex"),
    }


class Trouble(Exception):
    """What a worker may run into."""


@pytest.mark.parametrize("fault", [Trouble, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_leaves_the_message_in_doubt_at_once(
    post: Post, fault: type[BaseException]
) -> None:
    with pytest.raises(fault), post.take():
        raise fault
    found = post.receiver.receive(post.blob())
    assert isinstance(found, InDoubt)
    assert found.until is None
    assert post.receiver.resolve(found.replay_ids, Decision.RELEASED) == Released()


def test_an_exception_after_the_commit_changes_nothing(post: Post) -> None:
    with pytest.raises(Trouble), post.take() as job:
        job.commit()
        raise Trouble
    assert isinstance(post.receiver.receive(post.blob()), Duplicate)


def test_an_exception_after_the_release_leaves_the_message_free(post: Post) -> None:
    with pytest.raises(Trouble), post.take() as job:
        job.release()
        raise Trouble
    with post.take():
        pass


def test_whoever_did_it_may_still_say_so_after_an_exception(post: Post) -> None:
    with pytest.raises(Trouble), post.take() as job:
        raise Trouble
    job.commit("it was done before the trouble")
    assert isinstance(post.receiver.receive(post.blob()), Duplicate)


def test_a_job_ends_once(post: Post) -> None:
    with post.take() as job:
        job.commit()
        for ending in (job.commit, job.release):
            with pytest.raises(InputError) as caught:
                ending()
            assert caught.value.code is Reason.USAGE


def test_a_worker_that_slept_through_its_lease_may_commit_while_nobody_decided(post: Post) -> None:
    job = post.take()
    post.wait(10 * LEASE)
    assert isinstance(post.receiver.receive(post.blob()), InDoubt)
    assert job.commit() is not None
    assert isinstance(post.receiver.receive(post.blob()), Duplicate)


def test_a_worker_that_slept_through_a_decision_learns_it_when_it_commits(post: Post) -> None:
    job = post.take()
    post.wait(LEASE)
    assert post.receiver.resolve(job.replay_ids, Decision.RELEASED) == Released()
    other = post.take()
    for ending in (job.commit, job.release):
        with pytest.raises(Refused) as caught:
            ending()
        assert (caught.value.reason, caught.value.authenticated) == (Reason.IN_DOUBT, True)
        assert not caught.value.retryable
    other.commit("by the other")
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance == other.acceptance


def test_leaving_the_block_after_a_decision_is_an_error_not_a_silence(post: Post) -> None:
    with pytest.raises(Refused) as caught, post.take() as job:
        post.wait(LEASE)
        post.receiver.resolve(job.replay_ids, Decision.RELEASED)
    assert caught.value.reason is Reason.IN_DOUBT


class Mute(MemoryLedger):
    """A ledger that now and then does its work and is not heard of again."""

    def __init__(self) -> None:
        super().__init__()
        self.mute = False

    def commit(self, *given: Any) -> Any:
        answer = super().commit(*given)
        if self.mute:
            raise Unavailable(Reason.LEDGER_UNAVAILABLE, "the answer was lost")
        return answer

    def abandon(self, *given: Any) -> Any:
        if self.mute:
            raise Unavailable(Reason.LEDGER_UNAVAILABLE, "it is gone")
        return super().abandon(*given)


def test_a_commit_whose_answer_was_lost_may_be_repeated_with_equal_bytes() -> None:
    ledger = Mute()
    post = Post(ledger)
    job = post.take()
    ledger.mute = True
    with pytest.raises(Unavailable):
        job.commit({"done": 1})
    ledger.mute = False
    post.wait(1_000_000)
    acceptance = job.commit({"done": 1})
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance == acceptance
    assert statement(acceptance)["acceptedAt"] == statement(acceptance)["receivedAt"]


def test_another_outcome_does_not_replace_one_that_was_kept() -> None:
    ledger = Mute()
    post = Post(ledger)
    job = post.take()
    ledger.mute = True
    with pytest.raises(Unavailable):
        job.commit(1)
    ledger.mute = False
    with pytest.raises(Refused) as caught:
        job.commit(True)
    assert caught.value.reason is Reason.IN_DOUBT


def test_the_trouble_itself_is_what_is_raised_when_the_ledger_is_gone_too() -> None:
    ledger = Mute()
    post = Post(ledger)
    with pytest.raises(Trouble), post.take():
        ledger.mute = True
        raise Trouble
    ledger.mute = False
    post.wait(LEASE)
    assert isinstance(post.receiver.receive(post.blob()), InDoubt)


@pytest.mark.parametrize(
    "outcome", [{1: 2}, {"x": {1, 2}}, float("nan"), 2**60, object(), "\ud800"]
)
def test_an_outcome_that_is_no_json_value_is_the_caller_s_fault(post: Post, outcome: Any) -> None:
    job = post.take()
    with pytest.raises(InputError):
        job.commit(outcome)
    assert job.commit("now it is") is not None


@pytest.mark.parametrize(
    "artefacts",
    [
        {"a": "sha256:00"},
        {1: Digest.of(b"")},
        {"": Digest.of(b"")},
        {"outcome": Digest.of(b"")},
        {"x" * 501: Digest.of(b"")},
        {"a": Digest("blake3", bytes(32))},
        {"\ud800": Digest.of(b"")},
    ],
)
def test_an_artefact_that_cannot_be_listed_is_the_caller_s_fault(
    post: Post, artefacts: Any
) -> None:
    job = post.take()
    with pytest.raises(InputError):
        job.commit(None, artefacts)
    listed = statement(job.commit(None, {"b": Digest.of(b"b"), "a": Digest.of(b"a")}))["artefacts"]
    assert [each["name"] for each in listed] == ["a", "b"]


def late(post: Post, **artefacts: Any) -> Job:
    found = post.receiver.receive(post.blob(), artefacts=artefacts)
    assert isinstance(found, Job), found
    return found


def test_an_artefact_that_arrives_late_is_checked_and_leaves_the_unchecked(
    post: Post, tmp_path: Path
) -> None:
    file = tmp_path / "plan"
    file.write_bytes(PLAN)
    job = late(post)
    assert job.unchecked == ("audience", "digest /plan", "digest /data")
    job.check("plan", file)
    assert job.unchecked == ("audience", "digest /data")
    job.check("data", io.BytesIO(DATA))
    assert job.unchecked == ("audience",)
    said = statement(job.commit())
    assert said["unchecked"] == ["audience"]
    by_pointer = {line["pointer"]: line["result"] for line in said["checks"] if line["pointer"]}
    assert by_pointer == {"/plan": "passed", "/data": "passed"}


def test_an_artefact_that_does_not_fit_is_refused_and_the_right_one_may_still_come(
    post: Post,
) -> None:
    job = late(post, data=DATA)
    before = job.checks
    with pytest.raises(Refused) as caught:
        job.check("plan", b"# Another plan\n")
    refused = caught.value
    assert (refused.reason, refused.pointer) == (Reason.DIGEST_MISMATCH, "/plan")
    assert refused.authenticated
    assert [line.check for line in refused.checks if line.result == "failed"] == ["digest /plan"]
    assert job.checks == before
    job.check("plan", PLAN)
    assert job.unchecked == ("audience",)


def test_a_wrong_artefact_in_the_block_leaves_the_message_in_doubt_unless_released(
    post: Post,
) -> None:
    with pytest.raises(Refused), late(post) as job:
        job.check("plan", b"wrong")
    assert isinstance(post.receiver.receive(post.blob()), InDoubt)
    post.receiver.resolve(job.replay_ids, Decision.RELEASED)
    with late(post) as again:
        try:
            again.check("plan", b"wrong")
        except Refused:
            again.release()
    with late(post):
        pass


def test_a_name_that_the_message_does_not_bind_is_the_caller_s_fault(post: Post) -> None:
    job = late(post)
    with pytest.raises(InputError) as caught:
        job.check("report", b"")
    assert caught.value.code is Reason.USAGE
    with pytest.raises(InputError) as missing:
        job.check("plan", Path("no such file"))
    assert missing.value.code is Reason.FILE_MISSING
    assert "digest /plan" in job.unchecked


def test_a_receiver_that_insists_hands_nothing_out_before_the_artefact_is_there() -> None:
    post = Post(policy=Policy(require_artefacts=True))
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Refused)
    assert found.reason is Reason.ARTEFACT_MISSING
    with post.take():
        pass


def test_what_is_verified_about_a_job_reads_as_an_accepted_message(post: Post) -> None:
    job = post.take()
    said = job.to_json()
    assert (said["verdict"], said["profile"]) == ("accepted", "acme.job/v1")
    assert job.expires_at.isoformat() == "2026-09-01T08:50:00+00:00"
    assert "_hold" not in repr(job)

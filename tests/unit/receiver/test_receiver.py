"""What comes out of a receiver: each message once, and whatever else as what it is."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from receiving import HOUR, JOB, MINUTE, NOTE, PLAN, SECOND, T0, Post, job, signer_for
from support import SAMPLES, embed, load, pins_of, sign_anyway

from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason, Unavailable
from taskseal.ledger import Committed, Decision, FenceStale, Lost, NotInDoubt, Released
from taskseal.ledger import Duplicate as Done
from taskseal.ledger.memory import MemoryLedger
from taskseal.profiles import ACCEPTANCE, AISA_MESSAGE, DHARMA_TASK
from taskseal.profiles.custom import custom_profile
from taskseal.receiver import LEASE, Duplicate, InDoubt, Job, Receiver
from taskseal.validity import DAY, write_instant
from taskseal.verify import Accepted, Identity, Refused, Verifier

STORES = ["memory:", "sqlite:{}/ledger.db"]


@pytest.fixture(params=STORES)
def post(request: pytest.FixtureRequest, tmp_path: Path) -> Post:
    return Post(request.param.format(tmp_path))


def test_a_message_is_handed_out_once_and_is_a_duplicate_once_it_is_committed(post: Post) -> None:
    taken = post.take()
    assert isinstance(taken, Accepted)
    assert [name for name, _ in JOB.replay] == ["/jobId", "/nonce"]
    assert [each.value for each in taken.replay_ids] == ['"job-1"', '"nonce-1"']
    with taken:
        assert taken.envelope["jobId"] == "job-1"
    again = post.receiver.receive(post.blob())
    assert isinstance(again, Duplicate)
    assert (again.profile, again.signer, again.form) == (JOB.id, taken.signer, "embedded")
    assert (again.digest, again.replay_ids) == (taken.digest, taken.replay_ids)
    assert again.to_json()["verdict"] == "duplicate"
    assert again.to_json()["reason"] == "replayed"


def test_a_message_in_hand_is_in_doubt_to_everyone_else_until_its_lease_ends(post: Post) -> None:
    post.take()
    post.wait(SECOND)
    found = post.receiver.receive(post.blob())
    assert isinstance(found, InDoubt)
    assert found.until == T0 + LEASE
    said = found.to_json()
    assert (said["verdict"], said["reason"]) == ("in_doubt", "in_doubt")
    assert said["signer"]["keyVersion"] == "test/1"


def test_a_message_that_nobody_finished_is_in_doubt_and_never_handed_out_again(post: Post) -> None:
    post.take()
    for span in (LEASE, MINUTE, 365 * DAY):
        post.wait(span)
        found = post.receiver.receive(post.blob())
        assert isinstance(found, InDoubt)
        assert found.until is None


def test_only_a_decision_ends_the_doubt(post: Post) -> None:
    ids = post.take().replay_ids
    held = post.receiver.receive(post.blob())
    assert isinstance(held, InDoubt)
    # Whoever holds it may still finish it.
    assert post.receiver.resolve(ids, Decision.COMMITTED) == NotInDoubt()
    post.wait(LEASE)
    assert post.receiver.resolve(ids, Decision.RELEASED) == Released()
    with post.take() as second:
        assert second.replay_ids == ids
    assert post.receiver.resolve(ids, Decision.RELEASED) == NotInDoubt()


def test_what_a_person_found_to_be_done_is_a_duplicate_without_an_acceptance(post: Post) -> None:
    ids = post.take().replay_ids
    post.wait(LEASE)
    assert post.receiver.resolve(list(ids), Decision.COMMITTED) == Committed()
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance is None


def test_a_duplicate_is_known_after_its_expiry_and_before_any_check_of_its_content(
    post: Post,
) -> None:
    post.take().commit()
    post.wait(2 * HOUR)
    late = post.receiver.receive(post.blob())
    assert isinstance(late, Duplicate)
    assert [line.check for line in late.checks][-1] == "signature"


def test_a_message_signed_again_by_another_key_version_is_the_same_message() -> None:
    rotated = signer_for(JOB.id, version="test/2")
    post = Post(trusted=[rotated])
    acceptance = post.take().commit({"done": True})
    again = embed(job(signedBy="test/2"), rotated, "proof")
    found = post.receiver.receive(again)
    assert isinstance(found, Duplicate)
    assert found.acceptance == acceptance
    assert found.signer.key_version == "test/2"


def test_a_copy_that_is_signed_to_live_longer_is_known_when_the_first_is_forgotten() -> None:
    post = Post(signing=False)
    profile, note = NOTE, {"kind": "acme.note", "noteId": "n-1"}
    first = sign_anyway(note, post.sender, profile, lifetime=600, aud="me")
    second = sign_anyway(note, post.sender, profile, lifetime=6 * 3600, aud="me")
    assert isinstance(post.receiver.accept(first), Accepted)
    post.wait(3 * HOUR)
    post.ledger.purge(post.now)
    assert isinstance(post.receiver.accept(second), Duplicate)


def test_a_copy_whose_signature_ends_early_does_not_shorten_what_is_known() -> None:
    post = Post(signing=False, identity=Identity.ANY)
    aisa = signer_for(AISA_MESSAGE.id, version="a/1")
    verifier = Verifier(pins_of(aisa), clock=post.clock)
    receiver = Receiver(verifier, post.ledger, Identity.ANY, clock=post.clock)
    consult = consultation(deadline=write_instant(T0 + 5 * HOUR))
    short = sign_anyway(consult, aisa, AISA_MESSAGE, lifetime=60)
    long = sign_anyway(consult, aisa, AISA_MESSAGE, lifetime=4 * 3600)
    assert isinstance(receiver.accept(short), Accepted)
    # Also a clock that leaps ahead and back forgets no more than lies before the horizon.
    post.ledger.purge(post.now + 365 * DAY)
    found = receiver.accept(long)
    assert isinstance(found, Refused)
    assert found.reason is Reason.BEFORE_HORIZON


def consultation(**members: Any) -> dict[str, Any]:
    consult: dict[str, Any] = load(SAMPLES / "aisa/consult.json")
    return consult | members


def test_another_message_under_a_taken_id_is_refused_at_the_id(post: Post) -> None:
    post.take()
    found = post.receiver.receive(post.blob("2", nonce="nonce-1"), artefacts=post.artefacts())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.REPLAY_CONFLICT, "/nonce")
    assert found.checks[-1].check == "ledger"
    assert found.disposition == "dead_letter"


def test_a_message_without_a_replay_id_is_refused_where_it_is_missing(post: Post) -> None:
    value = job()
    del value["nonce"]
    for call in (post.receiver.receive, post.receiver.accept):
        found = call(embed(value, post.sender, "proof"), artefacts=post.artefacts())
        assert isinstance(found, Refused)
        assert (found.reason, found.pointer) == (Reason.SCHEMA_INVALID, "/customer")


def test_a_message_that_was_given_back_may_be_taken_again(post: Post) -> None:
    with post.take() as first:
        first.release()
    with post.take():
        pass
    assert isinstance(post.receiver.receive(post.blob()), Duplicate)


def test_accepting_in_one_step_counts_as_done_and_keeps_the_acceptance(post: Post) -> None:
    found = post.receiver.accept(post.blob(), artefacts=post.artefacts())
    assert isinstance(found, Job)
    assert found.acceptance is not None
    again = post.receiver.accept(post.blob())
    assert isinstance(again, Duplicate)
    assert again.acceptance == found.acceptance
    for ending in (found.commit, found.release):
        with pytest.raises(InputError) as caught:
            ending()
        assert caught.value.code is Reason.USAGE


def test_an_exception_does_not_undo_what_was_accepted_in_one_step(post: Post) -> None:
    with pytest.raises(KeyError), post.receiver.accept(post.blob(), artefacts=post.artefacts()):  # type: ignore[union-attr]  # it is a Job
        raise KeyError
    assert isinstance(post.receiver.accept(post.blob()), Duplicate)


def test_accepting_in_one_step_what_is_in_hand_is_in_doubt_too(post: Post) -> None:
    post.take()
    assert isinstance(post.receiver.accept(post.blob()), InDoubt)


def test_a_receiver_without_a_key_makes_no_acceptance(tmp_path: Path) -> None:
    post = Post(f"sqlite:{tmp_path}/l.db", signing=False)
    assert post.take().commit({"done": True}) is None
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance is None
    accepted = post.receiver.accept(post.blob("2"), artefacts=post.artefacts())
    assert isinstance(accepted, Job)
    assert accepted.acceptance is None


def test_an_acceptance_is_kept_as_long_as_was_asked_for_and_no_longer() -> None:
    post = Post(keep_acceptances=2 * DAY)
    acceptance = post.take().commit()
    post.wait(15 * MINUTE + 2 * DAY - 1)
    assert post.ledger.purge(post.now) == 0
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance == acceptance
    post.wait(1)
    assert post.ledger.purge(post.now) == 1
    gone = post.receiver.receive(post.blob(), artefacts=post.artefacts())
    assert isinstance(gone, Refused)
    assert gone.reason is Reason.EXPIRED


def test_a_refused_message_leaves_nothing_behind_and_may_come_right(post: Post) -> None:
    wrong = post.receiver.receive(post.blob(), artefacts={"plan": b"another"})
    assert isinstance(wrong, Refused)
    assert wrong.reason is Reason.DIGEST_MISMATCH
    with post.take():
        pass


class Failing(MemoryLedger):
    """A ledger whose named calls do not answer, before or after they did their work."""

    def __init__(self) -> None:
        super().__init__()
        self.before: set[str] = set()
        self.after: set[str] = set()

    def _asked(self, name: str, *given: Any) -> Any:
        if name in self.before:
            raise Unavailable(Reason.LEDGER_UNAVAILABLE, f"{name} did not start")
        answer = getattr(super(), name)(*given)
        if name in self.after:
            raise Unavailable(Reason.LEDGER_UNAVAILABLE, f"{name} was not heard of again")
        return answer

    def lookup(self, *given: Any) -> Any:
        return self._asked("lookup", *given)

    def reserve(self, *given: Any) -> Any:
        return self._asked("reserve", *given)

    def start(self, *given: Any) -> Any:
        return self._asked("start", *given)

    def commit(self, *given: Any) -> Any:
        return self._asked("commit", *given)

    def claim(self, *given: Any) -> Any:
        return self._asked("claim", *given)


@pytest.mark.parametrize("name", ["lookup", "reserve", "start"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_ledger_that_does_not_answer_refuses_the_message_and_it_may_come_again(
    name: str, when: str
) -> None:
    ledger = Failing()
    post = Post(ledger)
    getattr(ledger, when).add(name)
    found = post.receiver.receive(post.blob(), artefacts=post.artefacts())
    assert isinstance(found, Refused)
    assert (found.reason, found.disposition) == (Reason.LEDGER_UNAVAILABLE, "retry")
    assert found.checks[-1].check == "ledger"
    getattr(ledger, when).clear()
    # Whatever the ledger did without telling is over when the lease is.
    post.wait(LEASE)
    with post.take():
        pass
    assert isinstance(post.receiver.receive(post.blob()), Duplicate)


def test_a_start_whose_answer_was_lost_is_given_back_at_once() -> None:
    ledger = Failing()
    post = Post(ledger)
    ledger.after.add("start")
    assert isinstance(post.receiver.receive(post.blob(), artefacts=post.artefacts()), Refused)
    ledger.after.clear()
    with post.take():
        pass


def test_a_claim_in_one_step_whose_answer_was_lost_is_a_duplicate_with_its_acceptance() -> None:
    ledger = Failing()
    post = Post(ledger)
    ledger.after.add("claim")
    lost = post.receiver.accept(post.blob(), artefacts=post.artefacts())
    assert isinstance(lost, Refused)
    assert lost.reason is Reason.LEDGER_UNAVAILABLE
    ledger.after.clear()
    found = post.receiver.accept(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance is not None


def test_a_reservation_that_lapses_before_the_start_is_no_acceptance() -> None:
    class Slow(MemoryLedger):
        def start(self, *given: Any) -> Any:
            return Lost("lapsed")

    post = Post(Slow())
    found = post.receiver.receive(post.blob(), artefacts=post.artefacts())
    assert isinstance(found, Refused)
    assert (found.reason, found.disposition) == (Reason.LEDGER_UNAVAILABLE, "retry")


@pytest.mark.parametrize("step", ["reserve", "start", "claim"])
def test_an_epoch_that_does_not_rise_is_refused_at_every_step(step: str) -> None:
    class Overtaken(MemoryLedger):
        def _stale(self, *given: Any) -> Any:
            return FenceStale(9)

    ledger = Overtaken()
    setattr(ledger, step, ledger._stale)
    post = Post(ledger)
    call = post.receiver.accept if step == "claim" else post.receiver.receive
    found = call(post.blob(), artefacts=post.artefacts())
    assert isinstance(found, Refused)
    assert (found.reason, found.pointer) == (Reason.FENCE_STALE, "/payload/fence_epoch")
    assert [line.check for line in found.checks].count("ledger") == 1


def test_who_wins_between_lookup_and_claim_is_told_as_what_it_is() -> None:
    """Two workers pass the lookup at once; the slower one finds the message taken."""

    class Racing(MemoryLedger):
        def lookup(self, *given: Any) -> Any:
            return None

    post = Post(Racing())
    first = post.take()
    for call in (post.receiver.receive, post.receiver.accept):
        held = call(post.blob(), artefacts=post.artefacts())
        assert isinstance(held, InDoubt)
        assert held.until == T0 + LEASE
        assert "ledger" not in [line.check for line in held.checks]
    acceptance = first.commit()
    for call in (post.receiver.receive, post.receiver.accept):
        done = call(post.blob(), artefacts=post.artefacts())
        assert isinstance(done, Duplicate)
        assert done.acceptance == acceptance


def test_the_lease_counts_from_when_the_checks_were_done_not_from_when_they_began() -> None:
    post = Post()

    class Slow:
        """An artefact that takes an hour to read."""

        def read(self, size: int = -1) -> bytes:
            post.wait(HOUR)
            return b""

        def seekable(self) -> bool:
            return False

    value = job(data="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    blob = embed(value, post.sender, "proof")
    found = post.receiver.receive(blob, artefacts={"plan": PLAN, "data": Slow()})  # type: ignore[dict-item]  # enough of a stream
    assert isinstance(found, Job), found
    held = post.receiver.receive(blob)
    assert isinstance(held, InDoubt)
    assert held.until == post.now + LEASE >= T0 + HOUR + LEASE


def test_a_replay_free_message_is_done_as_often_as_it_comes() -> None:
    free = custom_profile(
        b'id = "acme.ping/v1"\ndiscriminator = { pointer = "/kind", constant = "acme.ping" }\n'
        b'detached = true\nreplay = "none"\n',
        source="ping.toml",
    )
    post = Post(signing=False)
    pinger = signer_for(free.id)
    verifier = Verifier(pins_of(pinger), profiles={free.id: free}, clock=post.clock)
    receiver = Receiver(verifier, post.ledger, Identity.ANY, clock=post.clock)
    blob = sign_anyway({"kind": "acme.ping"}, pinger, free)
    for _ in range(2):
        found = receiver.receive(blob)
        assert isinstance(found, Job)
        assert found.replay_ids == ()
        with found:
            pass
        assert isinstance(receiver.accept(blob), Job)


def test_a_receiver_needs_an_identity_whole_spans_and_a_key_that_may_sign_acceptances() -> None:
    post = Post()
    with pytest.raises(InputError) as nobody:
        Receiver(post.verifier, post.ledger, Identity())
    assert nobody.value.code is Reason.USAGE
    for spans in ({"lease": 0}, {"lease": 1.5}, {"keep_acceptances": -1}, {"lease": True}):
        with pytest.raises(InputError) as span:
            Receiver(post.verifier, post.ledger, Identity.ANY, **spans)  # type: ignore[arg-type]  # that is the point
        assert span.value.code is Reason.USAGE
    with pytest.raises(MaterialError) as wrong:
        Receiver(post.verifier, post.ledger, Identity.ANY, signer=signer_for(DHARMA_TASK.id))
    assert wrong.value.code is Reason.KEY_WRONG_PROFILE
    assert ACCEPTANCE.id in str(wrong.value.hint)


def test_a_receiver_whose_key_may_not_sign_says_so_before_anything_is_claimed() -> None:
    post = Post()
    over = signer_for(ACCEPTANCE.id, sign_until=T0, accept_until=T0)
    receiver = Receiver(post.verifier, post.ledger, Identity.ANY, signer=over, clock=post.clock)
    for call in (receiver.receive, receiver.accept):
        with pytest.raises(MaterialError) as caught:
            call(post.blob(), artefacts=post.artefacts())
        assert caught.value.code is Reason.KEY_NOT_SIGNING
    with post.take():
        pass


def test_the_ledger_s_own_answer_to_a_duplicate_is_what_is_passed_on() -> None:
    post = Post()
    taken = post.take()
    acceptance = taken.commit("done")
    known = post.ledger.lookup(taken.replay_ids, fingerprint(), post.now)
    assert known == Done(acceptance)


def fingerprint() -> bytes:
    bare = {name: item for name, item in job().items() if name not in ("proof", "signedBy")}
    return sha256(canonicalise(bare)).digest()


def test_outcomes_have_no_truth_value(post: Post) -> None:
    taken = post.take()
    held = post.receiver.receive(post.blob())
    taken.commit()
    done = post.receiver.receive(post.blob())
    for outcome in (taken, held, done):
        with pytest.raises(TypeError):
            bool(outcome)

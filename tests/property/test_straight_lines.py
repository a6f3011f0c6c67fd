"""What is passed in a straight line is what the longer way, which names the fault, passes too."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from taskseal.errors import Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.private import PrivateKey
from taskseal.keys.trust import Trust
from taskseal.profiles import BUILT_IN
from taskseal.profiles.schema.formats import USUAL, is_instant, is_peers_instant
from taskseal.validity import (
    FUTURE_SKEW,
    SECOND,
    Limits,
    Window,
    holds,
    read_instant,
    to_instant,
    write_instant,
)
from taskseal.verify.examination import Examination, Proof
from taskseal.verify.freshness import check_freshness
from taskseal.verify.policy import Policy
from taskseal.verify.result import Refused
from taskseal.verify.revocation import Evidence
from taskseal.verify.standing import key_fault

PUBLIC = PrivateKey(bytes(range(32))).public
TASK = BUILT_IN["dharma.task/v1"]
NOW = to_instant("2026-09-01T08:35:00Z")

# Few values, so that edges meet; the skew is one of them.
STEPS = (0, 1, 2, 3, FUTURE_SKEW, FUTURE_SKEW + 1)
INSTANTS = st.sampled_from([NOW + sign * step for step in STEPS for sign in (1, -1)])
SPANS = st.sampled_from(STEPS)


@st.composite
def entries(draw: st.DrawFn) -> KeyEntry:
    flaw = draw(st.sampled_from([None, None, None, Reason.WEAK_KEY]))
    keyset = draw(st.none() | st.builds(Window, INSTANTS, INSTANTS))
    return KeyEntry(
        issuer="i",
        key_version="v",
        key=PUBLIC,
        not_before=draw(INSTANTS),
        sign_from=draw(INSTANTS),
        sign_until=draw(INSTANTS),
        accept_until=draw(INSTANTS),
        profiles=frozenset({TASK.id}),
        revoked_at=draw(st.none() | INSTANTS),
        flaw=flaw,
        keyset=keyset,
    )


@given(entries(), INSTANTS)
def test_a_key_stands_when_nothing_speaks_against_it(entry: KeyEntry, now: int) -> None:
    assert entry.stands(now) == (entry.gate_fault(now) is None and entry.keyset_fault(now) is None)


@given(
    entries(),
    INSTANTS,
    st.booleans(),
    st.sampled_from([None, (), (Evidence(b"", NOW),)]),
    st.booleans(),
)
def test_a_key_is_barred_for_the_first_that_speaks_against_it(
    entry: KeyEntry, now: int, audit: bool, evidence: tuple[Evidence, ...] | None, fits: bool
) -> None:
    policy = Policy(allow_signed_before_revocation=audit)
    fault = key_fault(entry, TASK.id if fits else "a.b/v1", now, policy, evidence)
    dated = bool(evidence) or (audit and evidence is not None)
    seen = replace(entry, revoked_at=None) if dated else entry
    wrong = None if fits else Reason.KEY_WRONG_PROFILE
    assert (fault and fault[0]) == (seen.gate_fault(now) or seen.keyset_fault(now) or wrong)


@given(INSTANTS, INSTANTS, SPANS, SPANS, st.none() | SPANS)
def test_a_window_that_does_not_hold_has_a_fault_that_is_true(
    issued: int, expires: int, future: int, past: int, longest: int | None
) -> None:
    limits = Limits(future, past, longest)
    fault = Window(issued, expires).fault(NOW, limits)
    assert holds(issued, expires, NOW, limits) == (fault is None)
    too_long = longest is not None and expires - issued > longest
    true_of = {
        None: issued - future <= NOW < expires + past and not too_long and issued < expires,
        Reason.INVALID_LIFETIME: expires <= issued or too_long,
        Reason.NOT_YET_VALID: issued - future > NOW,
        Reason.EXPIRED: expires + past <= NOW,
    }
    assert true_of[fault and fault[0]]


def looked_at(exam: Examination) -> tuple[object, ...]:
    try:
        check_freshness(exam)
    except Refused as refused:
        return refused.reason, refused.detail, refused.pointer, tuple(exam.checks)
    return exam.issued, exam.expires, tuple(exam.checks)


@given(entries(), INSTANTS, INSTANTS, SPANS)
def test_a_message_is_as_fresh_whichever_way_it_is_looked_at(
    entry: KeyEntry, issued: int, expires: int, past: int
) -> None:
    entry = replace(entry, flaw=None)
    found = []
    for proofs in ((), (Proof(entry),)):
        exam = Examination(
            trust=Trust((), {}), policy=Policy(past_skew=past), identity=None, now=NOW
        )
        exam.take(TASK)
        exam.envelope = {"createdAt": write_instant(issued), "expiresAt": write_instant(expires)}
        exam.entry, exam.proofs = entry, proofs
        found.append(looked_at(exam))
    assert found[0] == found[1]


@given(st.from_regex(USUAL, fullmatch=True))
def test_what_looks_as_usual_is_of_both_formats(text: str) -> None:
    text = text.removesuffix("\n")  # which Python's $ lets stand, and ECMA-262's does not
    assert is_instant(text)
    assert is_peers_instant(text)


@given(st.integers(0, to_instant("9999-12-31T23:59:59Z") // SECOND))
def test_whole_seconds_are_read_as_they_were_written(second: int) -> None:
    assert read_instant(write_instant(second * SECOND)) == second * SECOND

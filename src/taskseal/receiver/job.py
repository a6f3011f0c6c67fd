"""An accepted message in a receiver's hands, until it is done, given back, or in doubt.

Source: SPEC sections 2, 7 and 8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Any, Literal, Self

from taskseal.acceptance import artefacts_of, outcome_of
from taskseal.canon.digest import Digest
from taskseal.errors import InputError, Reason, Unavailable
from taskseal.ledger.base import Ledger, Lost, Outcome
from taskseal.profiles.material import Source
from taskseal.validity import Clock, Instant
from taskseal.verify.bindings import check_binding
from taskseal.verify.examination import Examination
from taskseal.verify.result import Accepted

State = Literal["open", "in doubt", "released", "committed"]
Seal = Callable[[Accepted, Instant, Any, Mapping[str, Digest]], bytes | None]
"""Makes the acceptance of a message that is done: (verdict, now, outcome, artefacts)."""


class Hold:
    """A receiver's hand on one message.

    ``token`` and ``fence`` are the ledger's; both are empty for a message that was committed as
    it came.
    """

    def __init__(
        self,
        exam: Examination,
        ledger: Ledger,
        clock: Clock,
        seal: Seal,
        *,
        token: str = "",
        fence: int = 0,
    ) -> None:
        self.exam = exam
        self.ledger = ledger
        self.clock = clock
        self.seal = seal
        self.token = token
        self.fence = fence
        self.state: State = "open"
        self.acceptance: bytes | None = None
        self._sealed: tuple[object, bytes | None] | None = None

    def sealed(
        self, verdict: Accepted, now: Instant, outcome: Any, artefacts: Mapping[str, Digest]
    ) -> bytes | None:
        """The acceptance; the same bytes when the same is committed again.

        A commit whose answer was lost may have been kept, so that its repetition must be equal.
        """
        this = (outcome_of(outcome), artefacts_of(artefacts))
        if self._sealed is None or self._sealed[0] != this:
            self._sealed = (this, self.seal(verdict, now, outcome, artefacts))
        return self._sealed[1]

    def expect_open(self) -> None:
        """Raises ``usage`` when the message was committed or given back."""
        if self.state in ("released", "committed"):
            raise InputError(
                Reason.USAGE,
                f"the message is {self.state}",
                hint="commit or release a job once",
            )

    def settle(self, answer: Outcome, state: State) -> None:
        """Notes that the ledger took the message to ``state``.

        Raises:
            Refused: ``in_doubt`` when it did not: somebody decided otherwise in between.
        """
        if isinstance(answer, Lost):
            detail = f"the ledger does not take it from this worker any more ({answer.why})"
            exam = self.exam
            exam.checks = [check for check in exam.checks if check.check != "ledger"]
            exam.fail("ledger", Reason.IN_DOUBT, detail)
        self.state = state

    def abandon(self) -> None:
        """Leaves the message in doubt at once; where the ledger is gone, when the lease ends."""
        self.state = "in doubt"
        with suppress(Unavailable):
            self.ledger.abandon(self.token, self.clock())


@dataclass(frozen=True, slots=True)
class Job(Accepted):
    """An accepted message that is this receiver's to do, and nobody else's.

    It is a context manager. Leaving the block commits the message, unless it was committed or
    released within; an exception leaves it in doubt at once, since nobody knows how much of the
    work was done. Either way it is not handed out again::

        with job:
            answer = work(job.envelope)
            job.commit(answer)

    Used without a block, it has to be committed or released: when the lease ends before that, it
    is in doubt. ``async with`` is the same, with only the ledger awaited.
    """

    _hold: Hold = field(kw_only=True, repr=False, compare=False)

    @classmethod
    def of(cls, verdict: Accepted, hold: Hold) -> Job:
        """The message that ``verdict`` is on, held by ``hold``."""
        known = {each.name: getattr(verdict, each.name) for each in fields(Accepted)}
        return cls(**known, _hold=hold)

    @property
    def acceptance(self) -> bytes | None:
        """The signed acceptance, once committed by a receiver that has a key for it."""
        return self._hold.acceptance

    def check(self, ref: str, source: Source) -> None:
        """Verifies an artefact that arrives after its message; ``unchecked`` loses its name.

        Args:
            ref: what the message calls it.
            source: its bytes, its path, or a stream.

        Raises:
            Refused: ``digest_mismatch`` and what else a check of it may find. Inside a block it
                leaves the message in doubt; release it first where nothing was done yet.
            InputError: ``usage`` when the message names no such artefact; a file code when it
                cannot be read.
        """
        exam = self._hold.exam
        bound = [each for each in exam.bindings if each.ref == ref and each.inline is None]
        if not bound:
            raise InputError(
                Reason.USAGE,
                f"the message names no artefact {ref!r}",
                hint="use the name that the message gives it",
            )
        exam.artefacts, exam.measured = {ref: source}, {}
        lines = list(self.checks)
        for binding in bound:
            line = check_binding(exam, binding)
            where = (binding.name, binding.pointer)
            if line.result == "failed":
                exam.checks = [each for each in lines if (each.check, each.pointer) != where]
                exam.add(line)
            lines = [line if (each.check, each.pointer) == where else each for each in lines]
        exam.checks = lines
        # The one thing in a verdict that may change: what could not be checked yet, now was.
        object.__setattr__(self, "checks", tuple(lines))

    def commit(
        self, outcome: Any = None, artefacts: Mapping[str, Digest] | None = None
    ) -> bytes | None:
        """Says that the work is done, and how it came out.

        Args:
            outcome: the answer, whose digest the acceptance holds: bytes, a JSON value, or None
                for no answer.
            artefacts: the digests of what was made, by name.

        Returns:
            The signed acceptance to hand back; None when the receiver has no key for it.

        Raises:
            Refused: ``in_doubt`` when the message was decided on by somebody else in between.
            InputError: ``usage`` when it was committed or released before; the outcome is no JSON
                value.
            MaterialError, Unavailable: the acceptance cannot be signed, or the ledger does not
                answer; the same commit may be tried again.
        """
        hold = self._hold
        hold.expect_open()
        now = hold.clock()
        acceptance = hold.sealed(self, now, outcome, artefacts or {})
        hold.settle(hold.ledger.commit(hold.token, hold.fence, acceptance, now), "committed")
        hold.acceptance = acceptance
        return acceptance

    def release(self) -> None:
        """Says that nothing was done, and that the message is free to be offered again.

        Raises:
            Refused: ``in_doubt`` when the message was decided on by somebody else in between.
            InputError: ``usage`` when it was committed or released before.
            Unavailable: the ledger does not answer.
        """
        hold = self._hold
        hold.expect_open()
        hold.settle(hold.ledger.release(hold.token, hold.clock()), "released")

    async def acommit(
        self, outcome: Any = None, artefacts: Mapping[str, Digest] | None = None
    ) -> bytes | None:
        """:meth:`commit` for async callers."""
        return await asyncio.to_thread(self.commit, outcome, artefacts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hold.state != "open":
            return
        if kind is None:
            self.commit()
        else:
            self._hold.abandon()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, fault, trace)

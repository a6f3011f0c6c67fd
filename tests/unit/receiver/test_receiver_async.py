"""The receiver for async callers: only the ledger is awaited."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from receiving import Post

from taskseal.errors import Reason, Unavailable
from taskseal.ledger.memory import MemoryLedger
from taskseal.receiver import Duplicate, InDoubt, Job
from taskseal.verify import Refused


class Watched(MemoryLedger):
    """A ledger that notes in which thread it is asked, and can be held up."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: dict[str, int] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.at_the_gate = threading.Event()
        self.gone = False

    def _note(self, name: str) -> None:
        self.threads[name] = threading.get_ident()
        if self.gone:
            raise Unavailable(Reason.LEDGER_UNAVAILABLE, "gone")

    def lookup(self, *given: Any) -> Any:
        self._note("lookup")
        return super().lookup(*given)

    def reserve(self, *given: Any) -> Any:
        self._note("reserve")
        return super().reserve(*given)

    def start(self, *given: Any) -> Any:
        self._note("start")
        self.at_the_gate.set()
        self.gate.wait(30)
        return super().start(*given)

    def commit(self, *given: Any) -> Any:
        self._note("commit")
        return super().commit(*given)

    def release(self, *given: Any) -> Any:
        self._note("release")
        return super().release(*given)

    def abandon(self, *given: Any) -> Any:
        self._note("abandon")
        return super().abandon(*given)


def test_the_ledger_is_asked_in_another_thread_and_the_checks_run_in_this_one() -> None:
    ledger = Watched()
    post = Post(ledger)
    verified: list[int] = []
    true_clock = post.receiver.verifier.examination

    def noting(**given: Any) -> Any:
        verified.append(threading.get_ident())
        return true_clock(**given)

    post.receiver.verifier.examination = noting  # type: ignore[method-assign]

    async def work() -> bytes | None:
        found = await post.receiver.areceive(post.blob(), artefacts=post.artefacts())
        assert isinstance(found, Job)
        async with found as job:
            return await job.acommit({"done": True})

    acceptance = asyncio.run(work())
    here = threading.get_ident()
    assert verified == [here]
    assert set(ledger.threads) == {"lookup", "reserve", "start", "commit"}
    assert here not in ledger.threads.values()
    found = post.receiver.receive(post.blob())
    assert isinstance(found, Duplicate)
    assert found.acceptance == acceptance


def test_leaving_an_async_block_commits_and_an_exception_leaves_it_in_doubt() -> None:
    post = Post(Watched())

    async def work(name: str, *, fails: bool) -> None:
        found = await post.receiver.areceive(post.blob(name), artefacts=post.artefacts())
        assert isinstance(found, Job)
        async with found:
            if fails:
                raise KeyError

    asyncio.run(work("1", fails=False))
    with pytest.raises(KeyError):
        asyncio.run(work("2", fails=True))
    assert isinstance(post.receiver.receive(post.blob("1")), Duplicate)
    assert isinstance(post.receiver.receive(post.blob("2")), InDoubt)


def test_refusals_and_an_absent_ledger_are_outcomes_here_too() -> None:
    ledger = Watched()
    post = Post(ledger)
    forged = post.blob().replace(b"job-1", b"job-2")
    refused = asyncio.run(post.receiver.areceive(forged))
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.BAD_SIGNATURE
    assert ledger.threads == {}
    ledger.gone = True
    absent = asyncio.run(post.receiver.areceive(post.blob()))
    assert isinstance(absent, Refused)
    assert absent.reason is Reason.LEDGER_UNAVAILABLE


def test_many_callers_at_once_get_one_job_between_them() -> None:
    post = Post()

    async def work() -> list[str]:
        blob = post.blob()
        calls = [post.receiver.areceive(blob, artefacts=post.artefacts()) for _ in range(20)]
        return [type(found).__name__ for found in await asyncio.gather(*calls)]

    names = asyncio.run(work())
    assert sorted(names) == ["InDoubt"] * 19 + ["Job"]


def test_a_caller_that_is_cancelled_while_the_ledger_works_gives_the_message_back() -> None:
    ledger = Watched()
    post = Post(ledger)
    ledger.gate.clear()

    async def work() -> None:
        call = asyncio.create_task(post.receiver.areceive(post.blob(), artefacts=post.artefacts()))
        await asyncio.to_thread(ledger.at_the_gate.wait, 30)
        call.cancel()
        ledger.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(work())
    assert "release" in ledger.threads
    with post.take():
        pass


def test_a_job_that_is_cancelled_while_it_works_is_in_doubt() -> None:
    post = Post()

    async def work() -> None:
        begun = asyncio.Event()

        async def run() -> None:
            found = await post.receiver.areceive(post.blob(), artefacts=post.artefacts())
            assert isinstance(found, Job)
            async with found:
                begun.set()
                await asyncio.Event().wait()

        call = asyncio.create_task(run())
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(work())
    found = post.receiver.receive(post.blob())
    assert isinstance(found, InDoubt)
    assert found.until is None

"""A receiver's work as steps: it stops at each call of the ledger, which its driver makes.

So the one description serves callers that wait and callers that await; in both, all between two
calls of the ledger runs where the caller is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from taskseal.errors import Unavailable

T = TypeVar("T")
Steps = Generator[Callable[[], object], Any, T]
"""Yields calls, is sent their answers (or thrown their :class:`Unavailable`), and returns."""


def ask(call: Callable[[], T]) -> Steps[T]:
    """What ``call`` answers, by way of the driver."""
    answer: T = yield call
    return answer


def run(steps: Steps[T]) -> T:
    """Drives ``steps`` to their end, making each call in place."""
    try:
        call = next(steps)
        while True:
            try:
                answer = call()
            except Unavailable as fault:
                call = steps.throw(fault)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


async def arun(steps: Steps[T]) -> T:
    """Drives ``steps`` to their end, awaiting each call in a thread."""
    try:
        call = next(steps)
        while True:
            try:
                answer = await asyncio.to_thread(call)
            except Unavailable as fault:
                call = steps.throw(fault)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result

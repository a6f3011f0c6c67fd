"""Forks: SQLite's connections never cross one, and a memory ledger is never used on both sides.

Each test runs in an interpreter of its own, since a test runner has threads and is not forked.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import ctypes, os, sys, threading
from taskseal.errors import Unavailable
from taskseal.ledger import Claim, Duplicate, Lost, ReplayId, Won, open_ledger, transitions
NOW = 1_800_000_000_000_000_000
def claim(name):
    return Claim("p/v1", (ReplayId("s", name),), b"f" * 32, NOW + 10, NOW + 10)
def in_child(work, fork=os.fork):
    child = fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException as fault:
            print(repr(fault), file=sys.stderr)
            os._exit(2)
    return child
def ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
def unavailable(call):
    try:
        call()
    except Unavailable as fault:
        return fault.detail
url = sys.argv[1]
"""


def run(script: str, url: str) -> None:
    """Run ``script`` after the prelude; it asserts."""
    subprocess.run([sys.executable, "-c", PRELUDE + script, url], check=True, timeout=120)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/ledger.db"


def test_parent_and_child_share_a_ledger_opened_before_the_fork(url: str) -> None:
    run(
        """
ledger = open_ledger(url)
assert isinstance(ledger.claim(claim("a"), NOW), Won)
def work():
    assert ledger.claim(claim("a"), NOW) == Duplicate(None)
    assert isinstance(ledger.claim(claim("b"), NOW), Won)
    ledger.close()
    return True
child = in_child(work)
assert ended_well(child)
assert ledger.claim(claim("b"), NOW) == Duplicate(None)
assert isinstance(ledger.claim(claim("c"), NOW), Won)
ledger.close()
""",
        url,
    )


def test_no_connection_is_open_while_the_process_forks(url: str) -> None:
    run(
        """
path = url.removeprefix("sqlite:")
ledger = open_ledger(url)
ledger.claim(claim("a"), NOW)
def open_files():
    names = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
             if os.path.exists(f"/proc/self/fd/{n}")]
    return [name for name in names if name.startswith(path)]
assert open_files()
assert ended_well(in_child(lambda: open_files() == []))
assert open_files() == []
assert ledger.claim(claim("a"), NOW) == Duplicate(None)
assert open_files()
ledger.close()
""",
        url,
    )


def test_forked_processes_that_share_a_ledger_win_each_message_once(url: str) -> None:
    run(
        """
ledger = open_ledger(url)
ours, theirs = os.pipe()
def work():
    won = [n for n in range(200) if isinstance(ledger.claim(claim(str(n)), NOW), Won)]
    os.write(theirs, "".join(f"{n}\\n" for n in won).encode())
    return True
children = [in_child(work) for _ in range(4)]
assert all([ended_well(child) for child in children])
os.close(theirs)
won = sorted(int(line) for line in os.fdopen(ours))
assert won == list(range(200)), won
ledger.close()
""",
        url,
    )


def test_a_process_that_forks_while_its_threads_claim_goes_on_on_both_sides(url: str) -> None:
    run(
        """
ledger = open_ledger(url)
stop, won = threading.Event(), []
def claim_on(which):
    n = 0
    while not stop.is_set():
        n += 1
        if isinstance(ledger.claim(claim(f"{which} {n}"), NOW), Won):
            won.append((which, n))
threads = [threading.Thread(target=claim_on, args=(which,)) for which in range(3)]
for thread in threads:
    thread.start()
for n in range(5):
    assert ended_well(in_child(lambda: isinstance(ledger.claim(claim(f"child {n}"), NOW), Won)))
stop.set()
for thread in threads:
    thread.join()
assert won
known = ledger.claim_many([claim(f"{which} {n}") for which, n in won], NOW)
assert known == [Duplicate(None)] * len(won)
assert ledger.claim(claim("child 4"), NOW) == Duplicate(None)
ledger.close()
""",
        url,
    )


def test_a_fork_that_python_did_not_see_leaves_the_child_without_a_ledger(url: str) -> None:
    run(
        """
ledger = open_ledger(url)
ledger.claim(claim("a"), NOW)
def work():
    assert "another process" in unavailable(lambda: ledger.claim(claim("b"), NOW))
    assert "another process" in unavailable(lambda: ledger.counter("s"))
    ledger.close()
    with open_ledger(url + ".other") as own:
        return isinstance(own.claim(claim("b"), NOW), Won)
assert ended_well(in_child(work, fork=ctypes.PyDLL(None).fork))
assert isinstance(ledger.claim(claim("b"), NOW), Won)
ledger.close()
""",
        url,
    )


def test_a_fork_in_the_middle_of_anothers_long_claim_leaves_the_child_without_a_ledger(
    url: str,
) -> None:
    run(
        """
ledger = open_ledger(url, busy_timeout=20_000_000)
inside, done = threading.Event(), threading.Event()
real = transitions.claim
def slow(*arguments):
    inside.set()
    assert done.wait(60)
    return real(*arguments)
transitions.claim = slow
thread = threading.Thread(target=ledger.claim, args=(claim("a"), NOW))
thread.start()
assert inside.wait(60)
child = in_child(lambda: "another process" in unavailable(lambda: ledger.claim(claim("b"), NOW)))
done.set()
thread.join()
assert ended_well(child)
transitions.claim = real
assert ledger.claim(claim("a"), NOW) == Duplicate(None)
ledger.close()
""",
        url,
    )


def test_a_file_that_is_replaced_around_a_fork_is_unavailable_on_both_sides(url: str) -> None:
    run(
        """
path = url.removeprefix("sqlite:")
ledger = open_ledger(url)
ledger.claim(claim("a"), NOW)
def work():
    os.rename(path, path + ".moved")
    return unavailable(lambda: ledger.claim(claim("a"), NOW)) and not os.path.exists(path)
assert ended_well(in_child(work))
assert unavailable(lambda: ledger.claim(claim("a"), NOW))
open_ledger(url).close()
assert "another file" in unavailable(lambda: ledger.claim(claim("a"), NOW))
ledger.close()
""",
        url,
    )


def test_a_memory_ledger_is_unavailable_in_a_forked_child_only() -> None:
    run(
        """
ledger = open_ledger(url)
ledger.claim(claim("a"), NOW)
assert ended_well(in_child(lambda: "forked" in unavailable(lambda: ledger.claim(claim("a"), NOW))))
assert ended_well(in_child(lambda: ledger.close() is None))
assert ledger.claim(claim("a"), NOW) == Duplicate(None)
""",
        "memory:",
    )

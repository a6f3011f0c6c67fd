"""Other people's software, started once a worker; what is missing is said, or fails the run."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from functools import cache

import pytest
from interop_support import REQUIRED, Needs, Peer, Peers, missing, started

# Read here: every test gets an environment without settings of ours.
_REQUIRED = os.environ.get(REQUIRED) == "required"
_missing = cache(missing)


@pytest.fixture(scope="session")
def needs() -> Needs:
    """Skips the test, or fails it where all of these must run, unless all of that is at hand."""

    def check(*software: str) -> None:
        for what in software:
            why = _missing(what)
            if why is None:
                continue
            said = f"{why}, so this test against other people's software did not run"
            if _REQUIRED:
                pytest.fail(f"{said}, and {REQUIRED}=required", pytrace=False)
            pytest.skip(f"{said}; tests/interop/README.md says what it takes")

    return check


@pytest.fixture(scope="session")
def peers(needs: Needs) -> Iterator[Peers]:
    """The long-lived processes that speak for PyPI's packages and for npm's."""
    running: dict[str, Peer] = {}

    def peer(what: str) -> Peer:
        needs(what)
        if what not in running:
            running[what] = started(what)
        return running[what]

    yield peer
    for each in running.values():
        each.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where all of these must run, a skip for any other reason is a failure too."""
    report = yield
    if _REQUIRED and report.skipped and item.path.parent.name == "interop":
        report.outcome = "failed"
        report.longrepr = f"skipped, and {REQUIRED}=required: {report.longrepr}"
    return report

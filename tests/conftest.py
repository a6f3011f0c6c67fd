"""What every test gets: its own home, no settings from outside, and the folders of test data."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

CONFORMANCE = "TASKSEAL_CONFORMANCE"
SEEDS = "TASKSEAL_SEEDS"

# No deadline: a slow machine is no fault of the code. CI draws the same examples each time, so
# that it says yes or no to a commit; everyone else's runs go on searching.
settings.register_profile("search", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "search")

_serial = itertools.count()


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of this test's own; no TASKSEAL_* setting but where the data lies."""
    own = _homes / str(next(_serial))
    own.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(own))
    monkeypatch.setenv("USERPROFILE", str(own))
    for kind, folder in {
        "CONFIG": ".config",
        "DATA": ".local/share",
        "STATE": ".local/state",
        "CACHE": ".cache",
    }.items():
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(own / folder))
    for name in list(os.environ):
        if name.startswith("TASKSEAL_") and name not in (CONFORMANCE, SEEDS):
            monkeypatch.delenv(name)
    return own


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the work tree."""
    return ROOT


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The committed test data; tests/vectors/SOURCES.md says where it comes from."""
    return HERE / "vectors"


def _named_folder(variable: str, what: str) -> Path:
    given = os.environ.get(variable)
    if not given:
        missing = f"{variable} is unset, so {what}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    folder = Path(given).resolve()
    if not folder.is_dir():
        pytest.fail(f"{variable} names no folder: {given}", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def conformance() -> Path:
    """The third-party sets; a test that asks for them is skipped where they are not at hand."""
    return _named_folder(
        CONFORMANCE,
        "this test against a third-party set did not run; "
        "tests/conformance/README.md says where the sets come from",
    )


@pytest.fixture(scope="session")
def seeds() -> Path:
    """The three schemas, as their projects publish them, that the ones in schemas/ follow."""
    return _named_folder(
        SEEDS,
        "this comparison of schemas/ with the published schemas did not run; "
        "tests/conformance/README.md says which they are",
    )

"""The desk that every test of the configuration works at."""

from __future__ import annotations

from pathlib import Path

import pytest
from configs import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A new folder with pins and a ceiling in it."""
    return Desk(tmp_path / "desk")

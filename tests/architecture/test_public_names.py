"""What `import taskseal` offers is written down; a change of it is a change of that file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import taskseal

SNAPSHOT = Path(__file__).with_name("public_names.txt")
EXTRAS = ("blake3", "bcrypt")

WITHOUT_EXTRAS = f"""
import sys
for name in {EXTRAS!r}:
    sys.modules[name] = None  # an import of it fails as if it were not installed
import pkgutil, importlib, taskseal
for name in taskseal.__all__:
    getattr(taskseal, name)
for module in pkgutil.walk_packages(taskseal.__path__, "taskseal."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(len(taskseal.__all__))
"""


def test_the_public_names_are_the_ones_written_down() -> None:
    assert sorted(taskseal.__all__) == SNAPSHOT.read_text(encoding="utf-8").split()


def test_every_public_name_is_there_and_listed_by_dir() -> None:
    missing = [name for name in taskseal.__all__ if getattr(taskseal, name, None) is None]
    assert missing == []
    assert set(taskseal.__all__) <= set(dir(taskseal))


def test_everything_imports_without_the_extras() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == len(taskseal.__all__)

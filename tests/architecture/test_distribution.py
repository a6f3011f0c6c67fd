"""What is built is whole: schemas and samples are in the wheel, and found from it and from here."""

from __future__ import annotations

import configparser
import email
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

MAIN = "import sys; from taskseal.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the work tree."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel that this test looks into")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=root,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(params=["as installed here", "from the wheel"])
def taskseal(request: pytest.FixtureRequest, wheel: Path, tmp_path: Path, root: Path) -> Any:
    """The command line, from the wheel's own files or as installed for this run."""
    environment = dict(os.environ)
    if request.param == "from the wheel":
        site = tmp_path / "site"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        environment["PYTHONPATH"] = str(site)
    work = tmp_path / "work"
    work.mkdir()

    def run(*arguments: str | Path, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *map(str, arguments)],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def below(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_schema_and_every_module(wheel: Path, root: Path) -> None:
    package = {f"taskseal/{name}" for name in below(root / "src" / "taskseal")}
    schemas = {f"taskseal/schemas/{name}" for name in below(root / "schemas")}
    assert schemas
    assert package | schemas <= names(wheel)


def test_the_wheel_holds_the_samples_that_the_demo_signs(wheel: Path, vectors: Path) -> None:
    samples = vectors / "samples"
    wanted = {name for name in below(samples) if not name.startswith("invalid/")}
    held = {name for name in names(wheel) if name.startswith("taskseal/samples/")}
    assert held == {f"taskseal/samples/{name}" for name in wanted}


def test_the_wheel_holds_nothing_outside_the_package(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert len(tops) == 2
    assert "taskseal" in tops
    assert all(top == "taskseal" or top.endswith(".dist-info") for top in tops)


def test_the_wheel_names_its_command_its_licence_and_its_python(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        parts = {
            name.partition(".dist-info/")[2]: archive.read(name).decode()
            for name in archive.namelist()
            if ".dist-info/" in name
        }
    commands = configparser.ConfigParser()
    commands.read_string(parts["entry_points.txt"])
    metadata = email.message_from_string(parts["METADATA"])
    assert dict(commands["console_scripts"]) == {"taskseal": "taskseal.cli:main"}
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert "licenses/LICENSE" in parts


AT = "2026-09-01T08:35:00Z"


@pytest.mark.parametrize(
    ("profile", "sample", "at"),
    [
        ("dharma.task/v1", "dharma/task-envelopes.json", "2026-08-17T20:00:00Z"),
        ("aisa.message/v1", "samples/aisa/spawn.json", AT),
        ("orbiplex.turn-request/v1", "samples/orbiplex/start.json", AT),
    ],
)
def test_the_schemas_are_found_and_used(
    taskseal: Any, vectors: Path, tmp_path: Path, profile: str, sample: str, at: str
) -> None:
    """Signing checks against the schema: a good envelope passes, a surplus member is refused."""
    read = json.loads((vectors / sample).read_text(encoding="utf-8"))
    good = read["vectors"][0]["input"] if "vectors" in read else read
    good = {name: good[name] for name in good if name not in ("signature", "signerKeyVersion")}
    for name, document in {"good": good, "surplus": good | {"surplus": True}}.items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    ring = ["--keyring", tmp_path / "ring"]
    always = ["--for", profile, "--not-before", "2026-01-01T00:00:00Z", "--no-passphrase"]
    taskseal("keys", "new", "k1", *always, *ring)
    taskseal("keys", "pin", *ring, "-o", tmp_path / "pins.json")

    taskseal("sign", tmp_path / "good", *ring, "--at", at, "-o", tmp_path / "sealed")
    taskseal("verify", tmp_path / "sealed", "--trust", tmp_path / "pins.json", "--at", at)
    refused = taskseal("sign", tmp_path / "surplus", *ring, "--at", at, "--json", code=1)
    assert json.loads(refused)["reason"] == "schema_invalid"


def test_the_demo_runs_from_what_is_shipped(taskseal: Any) -> None:
    assert taskseal("demo").strip()

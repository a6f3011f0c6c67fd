"""Whatever is typed and whatever stands in the files: an exit code of the table, no traceback."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import pytest
from cli_support import ME, Cli, Place, run_on_terminal
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import SAMPLES

from taskseal import Identity, Pins, Receiver, Verifier, open_ledger
from taskseal.cli.main import taskseal as program

CODES = {0, 1, 2, 3, 4, 5, 6, 7}
COMMANDS = [
    "sign", "verify", "accept", "acceptance verify", "explain", "inspect", "canon", "digest", "keys new",
    "keys list", "keys show", "keys import", "keys export", "keys pin", "profiles list",
    "profiles show", "profiles check", "errors",
]  # fmt: skip
OPTIONS = [
    "--json", "--trust", "--profile", "--signature", "--allow-form", "--artefact", "--context",
    "--unversioned-key", "--at", "--audience", "--any-audience", "--organization", "--ledger",
    "--keyring", "--key-version", "--format", "--expires-in", "--no-fill", "--force", "-o",
    "--passphrase-file", "--no-passphrase", "--for", "--not-before", "--bind", "--issuer", "--as",
    "--private", "--check", "--json-input", "--allow-published-keys", "--help",
]  # fmt: skip


@pytest.fixture
def words(place: Place, sealed: Path) -> list[str]:
    """What could stand where a file, a name or a time belongs."""
    (place / "junk").write_bytes(bytes(range(256)))
    (place / "neutral.toml").write_text('id = "my.x/v1"\ndetached = true\nreplay = "none"\n')
    return [
        *(str(path) for path in (place.task, place.plan, place.pins, sealed, place.ring)),
        *("junk", "neutral.toml", "missing", "", "-", ".", "/", "/dev/null", "a/b", "\x1b[2J"),
        *("tasks/1", "messages/1", "dharma.task/v1", "aisa.message/v1", "no.such/v1", "expired"),
        *("2026-09-01T08:35:00Z", "15m", "0s", "jwk", "raw", "jws", "hex", "memory:", "sqlite:x"),
        *("x=y", "=", "/a=b", "sqlite:", "\ud800", "\udcff", "\x00", "\n", "x" * 300),
        *("--", "-x", "--nonsense", "1", "null", "é", "\u202e", "-o", "--json"),
        str(SAMPLES / "context.json"),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_no_combination_of_words_is_a_traceback(
    place: Place, words: list[str], seed: int, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    for _ in range(60):
        arguments = dice.choice(COMMANDS).split()
        for _ in range(dice.randrange(7)):
            arguments.append(dice.choice(OPTIONS if dice.random() < 0.5 else words))
        stdin = dice.choice([b"", b"{}", place.task.read_bytes(), b"\xff\x00", b"[" * 9999])
        result = CliRunner().invoke(program, arguments, input=stdin)
        assert result.exit_code in CODES, (arguments, result.stderr)
        assert "Traceback" not in result.stderr
        assert "\x1b" not in result.stdout + result.stderr, arguments
        options = arguments[: arguments.index("--")] if "--" in arguments else arguments
        if "--json" in options and "--help" not in options:
            for line in result.stdout.splitlines():
                assert isinstance(json.loads(line), dict), arguments


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=st.binary(max_size=200))
def test_no_bytes_of_a_file_are_a_traceback(place: Place, document: bytes) -> None:
    Path("bytes").write_bytes(document)
    trust = ["--trust", str(place.pins)]
    allowed = {
        ("canon", "bytes"): {0, 3},
        ("digest", "bytes", "--json-input"): {0, 3},
        ("sign", "bytes"): {1, 3},
        ("inspect", "bytes"): {0, 3},
        ("verify", "bytes", *trust): {1},
        ("accept", "bytes", *trust, "--any-audience", "--ledger", "memory:"): {1},
        ("verify", str(place.plan), *trust, "--signature", "bytes"): {1},
        ("verify", str(place.plan), "--trust", "bytes"): {3},
        ("verify", str(place.plan), *trust, "--context", "bytes"): {1, 3},
        ("profiles", "check", "bytes"): {3},
        ("keys", "import", "bytes", "k", "--for", "aisa.message/v1", "--no-passphrase"): {0, 4},
    }
    for arguments, codes in allowed.items():
        result = CliRunner().invoke(program, list(arguments))
        assert result.exit_code in codes, (arguments, result.stderr)
        assert "Traceback" not in result.stderr


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), value=JSON)
def test_no_value_in_a_document_is_a_traceback(
    place: Place, data: st.DataObject, value: object
) -> None:
    for path in (place.task, place.plan):
        document = json.loads(path.read_bytes())
        name = data.draw(st.sampled_from(["surplus", *document]))
        Path("one").write_text(json.dumps({**document, name: value}))
        for arguments in (["sign", "one"], ["inspect", "one", "--json"], ["inspect", "one"]):
            result = CliRunner().invoke(program, arguments)
            assert result.exit_code in (0, 1, 3), (arguments, name, value, result.stderr)
            assert "Traceback" not in result.stderr


def test_names_that_are_not_unicode_are_names(place: Place, process: Cli) -> None:
    name = b"\xff\xfe.json"
    (place.folder / "ü").mkdir()
    with open(name, "wb") as file:
        file.write(place.task.read_bytes())
    process("sign", name, "-o", b"\xfd.out")
    assert Path("\udcfd.out").exists()
    found = process("verify", b"\xfd.out", "--trust", "pins.json", "--json").json
    assert found["verdict"] == "accepted"
    told = process("verify", b"\xfd.out", b"\xfc", "--trust", "pins.json", code=6)
    assert "\\udcfd.out" in told.text
    written = process("sign", name, "-o", b"\xfb.out", "--json").json["written"]
    assert written == "\\udcfb.out"
    process("digest", name)
    process("canon", name)


def test_a_file_that_is_replaced_meanwhile_is_read_whole_or_not_at_all(
    place: Place, cli: Cli, sealed: Path
) -> None:
    stop = threading.Event()
    content = sealed.read_bytes()

    def flicker() -> None:
        while not stop.is_set():
            (place / "new").write_bytes(content)
            (place / "new").rename(sealed)

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        for _ in range(20):
            cli("verify", sealed, "--trust", place.pins)
    finally:
        stop.set()
        thread.join()


def test_a_message_that_another_worker_began_is_in_doubt(
    place: Place, cli: Cli, sealed: Path
) -> None:
    pins = Pins.load(place.pins.read_bytes())
    with open_ledger("sqlite:shared.db") as ledger:
        receiver = Receiver(Verifier(pins), ledger, Identity(audience=ME))
        receiver.receive(sealed.read_bytes())
    accept = ["accept", sealed, "--trust", place.pins, "--audience", ME]
    found = cli(*accept, "--ledger", "sqlite:shared.db", "--json", code=5).json
    assert (found["verdict"], found["reason"], found["duplicate"]) == (
        "in_doubt",
        "in_doubt",
        False,
    )
    told = cli(*accept, "--ledger", "sqlite:shared.db", code=5)
    assert told.text.startswith("in_doubt  ")


def test_standard_input_from_a_terminal_is_read_to_its_end(place: Place) -> None:
    code, shown = run_on_terminal(["canon", "-"], stdin=b'{"b":1,"a":2}')
    assert (code, shown) == (0, '{"a":2,"b":1}')

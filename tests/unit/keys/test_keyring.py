"""The keyring: what it keeps, what it refuses to keep, whom it lets sign, and how it survives."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskseal.errors import InputError, MaterialError, Reason, TasksealError, Unavailable
from taskseal.keys.entry import BARE_PROFILES
from taskseal.keys.formats import FORMS, read_private_key, read_public_key
from taskseal.keys.keyring import Keyring
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.keys.vault import Cost
from taskseal.storage import Disk, lock
from taskseal.validity import DAY, read_instant

NOW = read_instant("2026-09-01T08:35:00Z") or 0
CHEAP = Cost(passes=1, memory=1 << 13)
PLAIN: dict[str, Any] = {"not_before": NOW, "allow_plain": True}
SEALED: dict[str, Any] = {"not_before": NOW, "passphrase": b"pass", "cost": CHEAP}
TASK = "dharma.task/v1"
AISA = "aisa.message/v1"


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "ring")


def refused(call: Callable[[], object], kind: type[TasksealError] = MaterialError) -> TasksealError:
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def files(ring: Keyring) -> dict[str, int]:
    """Every file and folder of the keyring with its permissions."""
    return {
        str(path.relative_to(ring.path)): stat.S_IMODE(path.lstat().st_mode)
        for path in [ring.path, *ring.path.rglob("*")]
    }


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_everything_in_it_is_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        ring = Keyring.create(tmp_path / "deep/ring")
        entry = ring.new("k/1", [TASK], **SEALED)
        ring.new("k/2", [AISA], **PLAIN)
    finally:
        os.umask(before)
    assert entry.key is not None
    found = files(ring)
    assert {name: mode for name, mode in found.items() if mode not in (0o600, 0o700)} == {}
    assert found["."] == found["private"] == found["history"] == 0o700
    assert found["keyring.json"] == found["lock"] == 0o600
    assert found[f"private/{entry.key.thumbprint}.key"] == 0o600
    assert {"history/0000.json", "history/0001.json"} <= set(found)


def test_a_key_survives_the_process(ring: Keyring) -> None:
    entry = ring.new("kms/tasks/1", [TASK, AISA], **SEALED)
    again = Keyring.open(ring.path)
    assert again.entries() == (entry,)
    signer = again.signer(TASK, at=NOW, passphrase=b"pass")
    assert signer.entry == entry
    assert entry.key is not None
    assert entry.key.verify(b"m", signer.sign(b"m"))


def test_a_new_key_has_the_instants_of_the_contract(ring: Keyring) -> None:
    entry = ring.new("k/1", [TASK], **PLAIN)
    assert entry.not_before == entry.sign_from == NOW
    assert entry.sign_until == NOW + 365 * DAY
    assert entry.accept_until == NOW + 395 * DAY
    assert (entry.revoked_at, entry.principal, dict(entry.bind)) == (None, None, {})


def test_every_term_of_a_key_is_kept(ring: Keyring) -> None:
    terms: dict[str, Any] = {
        "not_before": "2026-01-01T00:00:00Z",
        "sign_from": "2026-01-02T00:00:00Z",
        "sign_until": "2026-02-01T00:00:00Z",
        "accept_until": "2026-03-01T00:00:00+01:00",
        "principal": "desk",
        "bind": {"/organizationId": ("org_a",)},
        "allow_plain": True,
    }
    entry = ring.new("k/1", [TASK], **terms)
    assert entry.sign_from == read_instant("2026-01-02T00:00:00Z")
    assert entry.accept_until == read_instant("2026-02-28T23:00:00Z")
    assert entry.principal == "desk"
    assert dict(entry.bind) == {"/organizationId": ("org_a",)}
    assert Keyring.open(ring.path).show("k/1") == entry


@pytest.mark.parametrize(
    ("terms", "sign_until", "accept_until"),
    [
        ({"accept_until": NOW + DAY}, NOW + DAY, NOW + DAY),
        ({"accept_until": NOW + 800 * DAY}, NOW + 365 * DAY, NOW + 800 * DAY),
        ({"sign_until": NOW + DAY}, NOW + DAY, NOW + 31 * DAY),
        ({"sign_from": NOW + DAY}, NOW + 366 * DAY, NOW + 396 * DAY),
    ],
)
def test_the_instants_not_given_follow_from_those_given(
    terms: dict[str, Any], sign_until: int, accept_until: int, ring: Keyring
) -> None:
    entry = ring.new("k/1", [TASK], **(PLAIN | terms))
    assert (entry.sign_until, entry.accept_until) == (sign_until, accept_until)


@pytest.mark.parametrize(
    "terms",
    [
        {"sign_from": NOW - 1},
        {"sign_until": NOW - 1},
        {"sign_until": NOW},
        {"accept_until": NOW - 1},
        {"sign_until": NOW + 2, "accept_until": NOW + 1},
        {"not_before": "2026-09-01"},
        {"not_before": -1},
        {"not_before": "9999-12-31T00:00:00Z"},
        {"issuer": " x"},
        {"principal": ""},
        {"principal": "a\nb"},
        {"bind": {"organizationId": ["a"]}},
        {"bind": {"/a": []}},
        {"bind": {"/a": [1.5]}},
        {"passphrase": b""},
    ],
)
def test_terms_that_no_key_may_have_are_refused(terms: dict[str, Any], ring: Keyring) -> None:
    error = refused(lambda: ring.new("k/1", [TASK], **(PLAIN | terms)), TasksealError)
    assert error.code is Reason.USAGE
    assert error.exit_code == 2
    assert Keyring.open(ring.path).entries() == ()
    assert os.listdir(ring.path / "private") == []


@pytest.mark.parametrize("version", ["", " k", "k ", "a\nb", "x" * 501, "\ud800"])
def test_a_version_that_no_new_key_may_have_is_refused(version: str, ring: Keyring) -> None:
    assert refused(lambda: ring.new(version, [TASK], **PLAIN), InputError).code is Reason.USAGE


@pytest.mark.parametrize(
    "profiles",
    [
        [],
        ["dharma.task"],
        ["dharma.task/v1\n"],
        ["dharma.task/v1", "dharma.action-decision-receipt/v1"],
        ["dharma.server-signing-keyset/v1", "dharma.task/v1"],
        ["taskseal.keyset/v1", "aisa.message/v1"],
    ],
)
def test_profiles_that_one_key_may_not_have_are_refused(profiles: list[str], ring: Keyring) -> None:
    for add in (
        lambda: ring.new("k/1", profiles, **PLAIN),
        lambda: ring.import_key(PrivateKey.generate(), "k/1", profiles, **PLAIN),
    ):
        assert refused(add, InputError).code is Reason.USAGE
    assert ring.entries() == ()


def test_a_custom_bare_profile_counts_when_the_caller_names_it(ring: Keyring) -> None:
    bare: dict[str, Any] = {**PLAIN, "bare": BARE_PROFILES | {"cases.neutral/v1"}}
    refused(lambda: ring.new("k/1", [TASK, "cases.neutral/v1"], **bare), InputError)
    assert ring.new("k/1", ["cases.neutral/v1", AISA], **bare).key_version == "k/1"


def test_a_key_without_passphrase_needs_the_spelt_out_word(ring: Keyring) -> None:
    error = refused(lambda: ring.new("k/1", [TASK], not_before=NOW))
    assert error.code is Reason.PASSPHRASE_NEEDED
    assert error.exit_code == 2
    assert ring.entries() == ()


def test_a_passphrase_seals_although_plain_is_allowed(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **{**SEALED, "allow_plain": True})
    ring.new("k/2", [AISA], **PLAIN)
    assert ring.is_sealed("k/1")
    assert not ring.is_sealed("k/2")


def test_a_version_and_a_key_are_taken_once(ring: Keyring) -> None:
    key = PrivateKey.generate()
    ring.import_key(key, "k/1", [TASK], **PLAIN)
    again = refused(lambda: ring.new("k/1", [AISA], **PLAIN))
    other = refused(
        lambda: ring.import_key(key, "k/2", ["dharma.action-decision-receipt/v1"], **PLAIN)
    )
    assert again.code is other.code is Reason.KEY_VERSION_TAKEN
    assert [entry.key_version for entry in Keyring.open(ring.path).entries()] == ["k/1"]
    assert ring.signer(TASK, at=NOW).key.reveal_secret() == key.reveal_secret()


@pytest.mark.parametrize(
    "version",
    ["../../etc/passwd", "/abs", "a/b", ".", "..", "lock", "keyring.json", "ключ", "C:\\x"],
)
def test_no_file_name_derives_from_a_version(version: str, ring: Keyring) -> None:
    ring.new(version, [TASK], **PLAIN)
    names = set(files(ring)) - {
        ".",
        "lock",
        "keyring.json",
        "private",
        "history",
        "history/0000.json",
    }
    (private,) = names
    assert re.fullmatch(r"private/[A-Za-z0-9_-]{43}\.key", private)
    assert os.listdir(ring.path.parent) == ["ring"]
    assert Keyring.open(ring.path).show(version).key_version == version


def test_the_first_key_fixes_the_issuer(ring: Keyring) -> None:
    assert ring.issuer == "local"
    assert ring.new("k/1", [TASK], issuer="acme", **PLAIN).issuer == "acme"
    assert Keyring.open(ring.path).issuer == "acme"
    assert ring.new("k/2", [TASK], **PLAIN).issuer == "acme"
    error = refused(lambda: ring.new("k/3", [TASK], issuer="other", **PLAIN), InputError)
    assert error.code is Reason.USAGE
    assert "acme" in error.detail


def test_the_one_key_that_may_sign_now_is_chosen(ring: Keyring) -> None:
    ring.new("old", [TASK], sign_until=NOW + DAY, **PLAIN)
    ring.new("next", [TASK], sign_from=NOW + DAY, **PLAIN)
    ring.new("other", [AISA], **PLAIN)
    assert ring.signer(TASK, at=NOW).entry.key_version == "old"
    assert ring.signer(TASK, at=NOW + DAY - 1).entry.key_version == "old"
    assert ring.signer(TASK, at=NOW + DAY).entry.key_version == "next"
    assert ring.signer(AISA, at=NOW).entry.key_version == "other"


def test_no_key_or_several_is_told_with_their_names(ring: Keyring) -> None:
    empty = refused(lambda: ring.signer(TASK, at=NOW))
    assert (empty.code, empty.exit_code) == (Reason.NO_SIGNING_KEY, 4)
    ring.new("k/1", [TASK], **PLAIN)
    early = refused(lambda: ring.signer(TASK, at=NOW - 1))
    assert early.code is Reason.NO_SIGNING_KEY
    assert "'k/1'" in early.detail
    ring.new("k/2", [TASK], **PLAIN)
    both = refused(lambda: ring.signer(TASK, at=NOW))
    assert (both.code, both.exit_code) == (Reason.SEVERAL_SIGNING_KEYS, 2)
    assert "'k/1', 'k/2'" in both.detail
    assert refused(lambda: ring.signer(None, at=NOW)).code is Reason.SEVERAL_SIGNING_KEYS
    assert ring.signer(TASK, key_version="k/2", at=NOW).entry.key_version == "k/2"


def test_a_named_key_is_refused_for_its_own_reason(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **PLAIN)
    for version, profile, at, code in (
        ("k/9", TASK, NOW, Reason.UNKNOWN_KEY),
        ("k/1", AISA, NOW, Reason.KEY_WRONG_PROFILE),
        ("k/1", TASK, NOW - 1, Reason.KEY_NOT_SIGNING),
        ("k/1", TASK, NOW + 365 * DAY, Reason.KEY_NOT_SIGNING),
        ("k/1", None, NOW - 1, Reason.KEY_NOT_SIGNING),
    ):
        error = refused(lambda: ring.signer(profile, key_version=version, at=at))  # noqa: B023
        assert (error.code, error.exit_code) == (code, 4)


def test_a_revoked_key_signs_nothing(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **PLAIN)
    document = json.loads((ring.path / "keyring.json").read_bytes())
    document["keys"][0]["revokedAt"] = "2026-09-01T08:35:00Z"
    (ring.path / "keyring.json").write_text(json.dumps(document))
    again = Keyring.open(ring.path)
    error = refused(lambda: again.signer(TASK, key_version="k/1", at=NOW))
    assert error.code is Reason.KEY_REVOKED
    assert refused(lambda: again.signer(TASK, at=NOW)).code is Reason.NO_SIGNING_KEY


def test_a_passphrase_is_asked_for_only_when_it_is_needed(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **SEALED)
    ring.new("k/2", [AISA], **PLAIN)
    asked: list[int] = []

    def ask() -> bytes:
        asked.append(1)
        return b"pass"

    assert ring.signer(AISA, at=NOW, passphrase=ask).entry.key_version == "k/2"
    assert asked == []
    assert ring.signer(TASK, at=NOW, passphrase=ask).entry.key_version == "k/1"
    assert asked == [1]


def test_the_passphrase_may_be_given_when_the_keyring_is_opened(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **SEALED)
    assert (
        Keyring.open(ring.path, passphrase=b"pass").signer(TASK, at=NOW).entry.key_version == "k/1"
    )
    assert Keyring.open(ring.path, passphrase=lambda: b"pass").signer(TASK, at=NOW) is not None
    for passphrase, code in (
        (None, Reason.PASSPHRASE_NEEDED),
        (lambda: None, Reason.PASSPHRASE_NEEDED),
        (b"wrong", Reason.PASSPHRASE_WRONG),
    ):
        opened = Keyring.open(ring.path, passphrase=passphrase)
        assert refused(lambda: opened.signer(TASK, at=NOW)).code is code  # noqa: B023


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_exported_in_each_form_and_imported_again(form: Any, ring: Keyring) -> None:
    entry = ring.new("k/1", [TASK], **SEALED)
    assert read_public_key(ring.export("k/1", form)) == entry.key
    refused(lambda: ring.export("k/1", form, private=True))
    exported = ring.export("k/1", form, private=True, passphrase=b"pass")
    other = Keyring.create(ring.path.parent / "other")
    moved = other.import_key(read_private_key(exported), "k/1", [TASK], **PLAIN)
    assert moved.key == entry.key


def test_an_exported_key_may_be_locked(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **PLAIN)
    locked = ring.export("k/1", "pem", private=True, lock_with=b"travel")
    assert read_private_key(locked, b"travel").public == ring.show("k/1").key
    assert refused(lambda: read_private_key(locked)).code is Reason.PASSPHRASE_NEEDED
    assert refused(lambda: ring.export("k/9", "pem")).code is Reason.UNKNOWN_KEY


def test_the_pins_of_a_keyring_hold_every_key_and_nothing_private(ring: Keyring) -> None:
    assert refused(ring.pins).code is Reason.NO_SIGNING_KEY
    ring.new("k/1", [TASK], **PLAIN)
    ring.new("k/2", [AISA], **SEALED)
    pins = ring.pins()
    assert pins.entries == ring.entries()
    assert Pins.load(pins.to_json()) == pins
    assert b'"d"' not in pins.to_json()


def test_there_is_no_keyring_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    for name in ("nothing", "file", "empty"):
        error = refused(lambda name=name: Keyring.open(tmp_path / name))
        assert (error.code, error.exit_code) == (Reason.KEYRING_MISSING, 4)
        assert "keys new" in error.hint


def test_a_keyring_is_created_once(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **PLAIN)
    error = refused(lambda: Keyring.create(ring.path), InputError)
    assert error.code is Reason.FILE_EXISTS
    assert len(Keyring.open_or_create(ring.path).entries()) == 1
    assert Keyring.open_or_create(ring.path.parent / "fresh", "acme").issuer == "acme"


def test_a_keyring_made_by_a_rival_meanwhile_is_opened(tmp_path: Path) -> None:
    class Rival(Disk):
        def mkdir(self, path: Path, mode: int) -> None:
            super().mkdir(path, mode)
            if path.name == "history":
                Keyring.create(path.parent, "rival")

    ring = Keyring.open_or_create(tmp_path / "ring", "mine", disk=Rival())
    assert ring.issuer == "rival"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"schema": "taskseal.keyring/v2"}, "/schema"),
        ({"issuer": ""}, "/issuer"),
        ({"revision": -1}, "/revision"),
        ({"revision": "1"}, "/revision"),
        ({"keys": {}}, "/keys"),
        ({"extra": 1}, "/extra"),
    ],
)
def test_a_keyring_file_of_another_shape_is_malformed(
    change: dict[str, Any], pointer: str, ring: Keyring
) -> None:
    path = ring.path / "keyring.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change))
    error = refused(lambda: Keyring.open(ring.path))
    assert (error.code, error.pointer) == (Reason.KEYRING_MALFORMED, pointer)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"profiles": [TASK, "dharma.action-decision-receipt/v1"]}, "/keys/0/profiles"),
        ({"publicKey": {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43}}, "/keys/0/publicKey"),
        ({"notBefore": "never"}, "/keys/0/notBefore"),
    ],
)
def test_a_key_that_may_not_sign_so_is_malformed_in_a_keyring(
    change: dict[str, Any], pointer: str, ring: Keyring
) -> None:
    ring.new("k/1", [TASK], **PLAIN)
    path = ring.path / "keyring.json"
    document = json.loads(path.read_bytes())
    document["keys"][0] |= change
    path.write_text(json.dumps(document))
    error = refused(lambda: Keyring.open(ring.path))
    assert (error.code, error.pointer) == (Reason.KEYRING_MALFORMED, pointer)


def test_a_private_file_that_is_gone_or_of_another_key_is_malformed(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **PLAIN)
    ring.new("k/2", [AISA], **PLAIN)
    one, two = (
        ring.path / "private" / f"{entry.key.thumbprint}.key"
        for entry in ring.entries()
        if entry.key
    )
    one.write_bytes(two.read_bytes())
    assert refused(lambda: ring.signer(TASK, at=NOW)).code is Reason.KEYRING_MALFORMED
    one.unlink()
    assert refused(lambda: ring.signer(TASK, at=NOW)).code is Reason.KEYRING_MALFORMED
    assert ring.signer(AISA, at=NOW).entry.key_version == "k/2"


def test_a_change_waits_for_the_lock_and_gives_up(ring: Keyring) -> None:
    ring.lock_wait = 0
    with lock(ring.path):
        error = refused(lambda: ring.new("k/1", [TASK], **PLAIN), Unavailable)
    assert error.code is Reason.KEYRING_BUSY
    assert ring.entries() == ()


def test_a_change_by_another_process_is_kept_and_seen(ring: Keyring) -> None:
    stale = Keyring.open(ring.path)
    ring.new("k/1", [TASK], **PLAIN)
    stale.new("k/2", [AISA], **PLAIN)
    assert [entry.key_version for entry in stale.entries()] == ["k/1", "k/2"]
    refused(lambda: Keyring.open(ring.path).new("k/1", [TASK], **PLAIN))


def test_the_history_holds_every_state_before_the_present_one(ring: Keyring) -> None:
    for number in range(3):
        ring.new(f"k/{number}", [TASK], **PLAIN)
    past = [
        [key["keyVersion"] for key in json.loads(path.read_bytes())["keys"]]
        for path in sorted((ring.path / "history").iterdir())
    ]
    assert past == [[], ["k/0"], ["k/0", "k/1"]]


class Crash(BaseException):
    """The machine stops."""


class Dying(Disk):
    """A disk that stops for good before its call number ``last``."""

    def __init__(self, last: int) -> None:
        self.left = last

    def _live(self) -> None:
        if self.left == 0:
            raise Crash
        self.left -= 1

    def open(self, path: Path, flags: int, mode: int) -> int:
        self._live()
        return super().open(path, flags, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._live()
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self._live()
        super().fsync(fd)

    def rename(self, source: Path, target: Path) -> None:
        self._live()
        super().rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        self._live()
        super().link(source, target)

    def unlink(self, path: Path) -> None:
        self._live()
        super().unlink(path)

    def mkdir(self, path: Path, mode: int) -> None:
        self._live()
        super().mkdir(path, mode)

    def sync_folder(self, path: Path) -> None:
        self._live()
        super().sync_folder(path)


def test_a_crash_at_any_call_leaves_the_old_keyring_or_the_new_one(tmp_path: Path) -> None:
    states = set()
    for last in range(100):
        path = tmp_path / str(last)
        Keyring.create(path).new("k/1", [TASK], **PLAIN)
        dying = Keyring.open(path, disk=Dying(last))
        finished = True
        try:
            dying.import_key(PrivateKey.generate(), "k/2", [AISA], **PLAIN)
        except Crash:
            finished = False
        after = Keyring.open(path)
        versions = [entry.key_version for entry in after.entries()]
        states.add(tuple(versions))
        for entry in after.entries():
            assert after.signer(None, key_version=entry.key_version, at=NOW).entry == entry
        after.new("k/3", [AISA], **PLAIN)
        left = [name for name in files(after) if name.endswith(".tmp")]
        assert left == []
        assert [entry.key_version for entry in after.entries()] == [*versions, "k/3"]
        if finished:
            break
    else:
        pytest.fail("the change never came to its end")
    assert states == {("k/1",), ("k/1", "k/2")}


def test_a_key_whose_import_crashed_is_imported_again(tmp_path: Path) -> None:
    key = PrivateKey.generate()
    for last in range(100):
        path = tmp_path / str(last)
        Keyring.create(path)
        try:
            Keyring.open(path, disk=Dying(last)).import_key(key, "k/1", [TASK], **PLAIN)
        except Crash:
            pass
        else:
            break
        ring = Keyring.open(path)
        if not ring.entries():
            ring.import_key(key, "k/1", [TASK], **SEALED)
        assert ring.signer(TASK, at=NOW, passphrase=b"pass").entry.key == key.public
    assert last > 10


def test_a_crash_during_creation_leaves_nothing_or_a_keyring(tmp_path: Path) -> None:
    for last in range(100):
        path = tmp_path / str(last)
        try:
            Keyring.create(path, disk=Dying(last))
        except Crash:
            assert Keyring.open_or_create(path).entries() == ()
        else:
            break
    assert Keyring.open(path).entries() == ()


def test_a_signer_whose_key_is_not_its_entrys_is_not_made(ring: Keyring) -> None:
    entry = ring.new("k/1", [TASK], **PLAIN)
    error = refused(lambda: KeySigner(entry, PrivateKey.generate()))
    assert error.code is Reason.KEY_MALFORMED


def test_nothing_secret_is_shown_of_a_keyring_or_its_signers(ring: Keyring) -> None:
    key = PrivateKey(bytes.fromhex("f0e1d2c3b4a59687") * 4)
    ring.import_key(key, "k/1", [TASK], **PLAIN)
    shown = f"{ring!r} {ring.signer(TASK, at=NOW)!r} {ring.entries()!r}"
    assert "f0e1d2c3" not in shown
    assert repr(key.reveal_secret()[:4])[2:-1] not in shown
    assert "8OHSw7Sl" not in shown


def test_many_processes_add_their_keys_without_losing_one(ring: Keyring) -> None:
    script = (
        "import sys; from taskseal.keys.keyring import Keyring\n"
        "for n in range(4):\n"
        "    Keyring.open(sys.argv[1]).new(f'{sys.argv[2]}/{n}', ['dharma.task/v1'],\n"
        "        not_before=0, allow_plain=True)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(ring.path), str(number)])
        for number in range(4)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    wanted = {f"{process}/{number}" for process in range(4) for number in range(4)}
    after = Keyring.open(ring.path)
    assert {entry.key_version for entry in after.entries()} == wanted
    for version in wanted:
        assert after.signer(None, key_version=version, at=1).entry.key_version == version


def test_a_state_too_large_to_be_one_is_malformed(ring: Keyring) -> None:
    ring.new("k/1", [TASK], **PLAIN)
    (entry,) = ring.entries()
    assert entry.key is not None
    (ring.path / "private" / f"{entry.key.thumbprint}.key").write_bytes(b" " * 5000)
    assert refused(lambda: ring.is_sealed("k/1")).code is Reason.KEYRING_MALFORMED

"""`taskseal.toml` read whole: every member, every fault with its place, nothing taken half."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from configs import AISA, TASK, Desk

from taskseal import (
    BUILT_IN,
    AisaIdentity,
    Identity,
    InputError,
    Policy,
    ProfilePolicy,
    Reason,
    load_config,
)
from taskseal.validity import DAY, HOUR, MINUTE, SECOND

WHOLE = """
[receiver]
audience = "worker-1"
organization = "org_test"
workspace = "ws_1"
device = "dev_1"
ledger = "sqlite:accepted.db?max_records=9"
keyring = "ring"
sign_with = "receiver/1"
lease = "5m"
keep_acceptances = 86400

[receiver.aisa]
task_id = "task-1"
profile_key = "worker"
profile_version = 3
task_path = "root/worker"
runtime_version = "1.2"

[[trust]]
issuer = "desk"
pins = "pins.json"
profiles = ["dharma.task/v1", "acme.note/v1"]
bind = { "/organizationId" = ["org_test"], "/workspaceId" = "ws_1" }

[policy]
forms = ["embedded", "jws"]
max_lifetime = "1h"
future_skew = "10s"
past_skew = 5
max_age = "30m"
require_artefacts = true
require_receipt = false
allow_truncated = true
allow_published_keys = true
unversioned_key = "tasks/1"

[policy."dharma.task/v1"]
forms = ["embedded"]
max_lifetime = "2d"
future_skew = "0s"
past_skew = "1m"
max_age = 60
require_artefacts = false
require_receipt = true
allow_truncated = false
ceiling = "ceiling.json"

[[profile]]
file = "note.toml"
"""
NOTE = 'id = "acme.note/v1"\ndetached = true\nreplay = "none"\n'


def test_every_member_is_read(desk: Desk) -> None:
    desk.write("note.toml", NOTE)
    found = desk.load(WHOLE)
    assert found.path == desk.file
    assert found.identity == Identity(
        "worker-1",
        "org_test",
        "ws_1",
        "dev_1",
        AisaIdentity("task-1", "worker", 3, "root/worker", "1.2"),
    )
    assert found.ledger == f"sqlite:{desk.path}/accepted.db?max_records=9"
    assert (found.keyring, found.sign_with) == (desk.path / "ring", "receiver/1")
    assert (found.lease, found.keep_acceptances) == (5 * MINUTE, DAY)
    assert list(found.profiles) == [*BUILT_IN, "acme.note/v1"]
    (rule,) = found.trust
    assert rule.place == desk.path / "pins.json"
    rules = found.policy
    assert rules.forms == dict.fromkeys(found.profiles, frozenset({"embedded", "jws"})) | {
        TASK: frozenset({"embedded"})
    }
    assert rules.max_lifetime[TASK] == 2 * DAY
    assert rules.max_lifetime[AISA] == HOUR
    assert (rules.future_skew, rules.past_skew, rules.max_age) == (
        10 * SECOND,
        5 * SECOND,
        30 * MINUTE,
    )
    assert rules.require_artefacts and rules.allow_truncated and rules.allow_published_keys
    assert (rules.require_receipt, rules.unversioned_key) == (False, "tasks/1")
    own = rules.per_profile[TASK]
    assert own.ceiling is not None
    assert own == ProfilePolicy(0, MINUTE, MINUTE, False, True, False, own.ceiling)
    assert list(rules.per_profile) == [TASK]


def test_an_empty_file_leaves_everything_as_it_is(desk: Desk) -> None:
    found = desk.load("")
    assert found.policy == Policy()
    assert (found.identity, found.trust, found.ledger) == (None, (), None)
    assert found.profiles == BUILT_IN
    assert (found.lease, found.keep_acceptances) == (None, None)
    assert (found.sign_with, found.keyring) == (None, None)


def test_the_default_lifetime_never_lengthens_what_a_profile_sets(desk: Desk) -> None:
    rules = desk.load('[policy]\nmax_lifetime = "12h"\n').policy
    receipt = "dharma.action-decision-receipt/v1"
    assert rules.max_lifetime[TASK] == 12 * HOUR
    assert receipt not in rules.max_lifetime
    assert rules.terms(BUILT_IN[receipt]).limits.max_lifetime == 30 * MINUTE


def test_a_profile_with_nothing_of_its_own_is_not_listed(desk: Desk) -> None:
    assert desk.load(f'[policy."{TASK}"]\nmax_lifetime = "1h"\n').policy.per_profile == {}


def test_anyone_is_spelt_out(desk: Desk) -> None:
    assert desk.load("[receiver]\nany = true\n").identity == Identity.ANY
    assert desk.load("[receiver]\nany = false\n").identity is None


T, P, R = "[[trust]]\n", "[policy]\n", "[receiver]\n"
TASK_POLICY = f'[policy."{TASK}"]\n'
AISA_POLICY = f'[policy."{AISA}"]\n'
AT_TASK = "/policy/dharma.task~1v1"
AISA_TABLE = 'task_id = "t"\nprofile_key = "k"\nprofile_version = 1\n'


@pytest.mark.parametrize(
    ("text", "pointer", "hint"),
    [
        ("[reciever]\n", "/reciever", "did you mean receiver?"),
        (R + 'audiance = "x"\n', "/receiver/audiance", "did you mean audience?"),
        (R + 'organisation = "x"\n', "/receiver/organisation", "did you mean organization?"),
        ("[[trust]]\nstor = 'p'\n", "/trust/0/stor", "did you mean store?"),
        (P + "max_lifetme = '1h'\n", "/policy/max_lifetme", "did you mean max_lifetime?"),
        (P + "ceiling = 'x'\n", "/policy/ceiling", "known are"),
        ('[policy."dharma.tsak/v1"]\n', "/policy/dharma.tsak~1v1", "did you mean dharma.task/v1?"),
        (TASK_POLICY + "cieling = 'x'\n", AT_TASK + "/cieling", "did you mean ceiling?"),
        (TASK_POLICY + "allow_published_keys = true\n", AT_TASK + "/allow_published_keys", "known"),
        ("[[profile]]\npath = 'x'\n", "/profile/0/path", "known are file"),
        (R + "[receiver.aisa]\ntask = 't'\n", "/receiver/aisa/task", "did you mean task_"),
    ],
)
def test_an_unknown_member_is_named_with_what_was_meant(
    desk: Desk, text: str, pointer: str, hint: str
) -> None:
    fault = desk.fault(text)
    assert (fault.code, fault.pointer) == (Reason.CONFIG_MALFORMED, pointer)
    assert hint in fault.hint
    assert fault.exit_code == 3
    assert str(desk.file) in fault.detail


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("receiver = 1\n", "/receiver"),
        (R + "audience = ''\n", "/receiver/audience"),
        (R + "device = 7\n", "/receiver/device"),
        (R + "any = 1\n", "/receiver/any"),
        (R + "any = true\naudience = 'x'\n", "/receiver/any"),
        (R + "ledger = 'redis://x'\n", "/receiver/ledger"),
        (R + "ledger = 'sqlite:'\n", "/receiver/ledger"),
        (R + "ledger = 'sqlite:x?max_records=0'\n", "/receiver/ledger"),
        (R + "ledger = 3\n", "/receiver/ledger"),
        (R + "lease = '0s'\n", "/receiver/lease"),
        (R + "lease = -1\n", "/receiver/lease"),
        (R + "lease = true\n", "/receiver/lease"),
        (R + "lease = 1.5\n", "/receiver/lease"),
        (R + "lease = '999999999d'\n", "/receiver/lease"),
        (R + "keep_acceptances = '1d'\n", "/receiver/keep_acceptances"),
        (R + "sign_with = 'k'\nkeep_acceptances = 'long'\n", "/receiver/keep_acceptances"),
        (R + "sign_with = ''\n", "/receiver/sign_with"),
        (R + "keyring = ['x']\n", "/receiver/keyring"),
        (R + f"[receiver.aisa]\n{AISA_TABLE}", "/receiver/aisa/task_path"),
        (R + f"[receiver.aisa]\n{AISA_TABLE}task_path = ''\n", "/receiver/aisa/task_path"),
        (
            R + f"[receiver.aisa]\n{AISA_TABLE}task_path = 'p'\nruntime_version = 1\n",
            "/receiver/aisa/runtime_version",
        ),
        (
            R
            + "[receiver.aisa]\ntask_id='t'\nprofile_key='k'\nprofile_version='1'\ntask_path='p'\n",
            "/receiver/aisa/profile_version",
        ),
        ("trust = []\n", "/trust"),
        ("trust = 'pins.json'\n", "/trust"),
        ("[trust]\npins = 'pins.json'\n", "/trust"),
        ("trust = [1]\n", "/trust/0"),
        (T, "/trust/0/pins"),
        (T + "pins = 'pins.json'\nstore = 'trust'\n", "/trust/0/pins"),
        (T + "pins = 1\n", "/trust/0/pins"),
        (T + "pins = 'pins.json'\nissuer = 'tower'\n", "/trust/0/issuer"),
        (T + "pins = 'pins.json'\nissuer = 1\n", "/trust/0/issuer"),
        (T + "pins = 'pins.json'\nmin_generation = 1\n", "/trust/0/min_generation"),
        (T + "pins = 'pins.json'\nmin_generation = 0\n", "/trust/0/min_generation"),
        (T + "pins = 'pins.json'\nprofiles = []\n", "/trust/0/profiles"),
        (T + "pins = 'pins.json'\nprofiles = ['dharma.tusk/v1']\n", "/trust/0/profiles/0"),
        (T + "pins = 'pins.json'\nprofiles = [1]\n", "/trust/0/profiles/0"),
        (T + "pins = 'pins.json'\npin = ['tasks/1']\n", "/trust/0/pin/0"),
        (T + "pins = 'pins.json'\npin = [1]\n", "/trust/0/pin/0"),
        (T + "pins = 'pins.json'\npin = []\n", "/trust/0/pin"),
        (T + "pins = 'pins.json'\nbind = { x = 'y' }\n", "/trust/0/bind/x"),
        (T + "pins = 'pins.json'\nbind = { '/x' = [1.5] }\n", "/trust/0/bind/~1x/0"),
        (T + "pins = 'pins.json'\nbind = { '/x' = [2026-01-01] }\n", "/trust/0/bind/~1x/0"),
        (T + "store = 'trust'\nmin_generation = 2\n", "/trust/0/issuer"),
        (T + "store = 'trust'\npin = ['a=sha256:" + "A" * 43 + "']\n", "/trust/0/issuer"),
        ("policy = 1\n", "/policy"),
        (P + "forms = 'jws'\n", "/policy/forms"),
        (P + "forms = []\n", "/policy/forms"),
        (P + "forms = ['smoke']\n", "/policy/forms/0"),
        (P + "max_lifetime = 0\n", "/policy/max_lifetime"),
        (P + "max_age = '0s'\n", "/policy/max_age"),
        (P + "future_skew = '5 m'\n", "/policy/future_skew"),
        (P + "past_skew = 2026-01-01\n", "/policy/past_skew"),
        (P + "require_artefacts = 'yes'\n", "/policy/require_artefacts"),
        (P + "allow_published_keys = 1\n", "/policy/allow_published_keys"),
        (P + "unversioned_key = ''\n", "/policy/unversioned_key"),
        (f"[policy]\n'{TASK}' = 1\n", AT_TASK),
        (AISA_POLICY + "forms = ['embedded']\n", "/policy/aisa.message~1v1/forms/0"),
        (AISA_POLICY + "require_receipt = true\n", "/policy/aisa.message~1v1/require_receipt"),
        (
            "[policy.'dharma.task-action/v1']\nforms = ['jws']\n",
            "/policy/dharma.task-action~1v1/forms",
        ),
        (TASK_POLICY + "ceiling = 1\n", AT_TASK + "/ceiling"),
        ("[profile]\nfile = 'x'\n", "/profile"),
        ("profile = ['x']\n", "/profile/0"),
        ("[[profile]]\n", "/profile/0/file"),
        ("[[profile]]\nfile = ''\n", "/profile/0/file"),
    ],
)
def test_a_fault_is_named_with_its_place(desk: Desk, text: str, pointer: str) -> None:
    (desk.path / "trust").mkdir(exist_ok=True)
    desk.write("trust/store.json", {})
    fault = desk.fault(text)
    assert (fault.code, fault.pointer) == (Reason.CONFIG_MALFORMED, pointer)
    assert fault.hint


@pytest.mark.parametrize(
    "text",
    [
        b"\xff",
        b"\xef\xbb\xbf[receiver]\n",
        b"a = ",
        b"a = 1\na = 2\n",
        b"x = " + b"[" * 5000,
        b"n = " + b"9" * 5000,
        b"\x00",
        b"d = 2026-13-45\n",
        b'"\\ud800" = 1\n',
    ],
)
def test_what_is_no_toml_is_a_fault_at_the_top(desk: Desk, text: bytes) -> None:
    fault = desk.fault(text)
    assert (fault.code, fault.pointer) == (Reason.CONFIG_MALFORMED, "")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[[trust]]\npins = 'none.json'\n", Reason.FILE_MISSING),
        ("[[trust]]\npins = '.'\n", Reason.FILE_UNREADABLE),
        ('[[trust]]\npins = "a\\u0000b"\n', Reason.FILE_MISSING),
        ("[[trust]]\nstore = 'none'\n", Reason.FILE_MISSING),
        ("[[profile]]\nfile = 'none.toml'\n", Reason.FILE_MISSING),
        (TASK_POLICY + "ceiling = 'none.json'\n", Reason.FILE_MISSING),
    ],
)
def test_a_file_that_it_names_must_be_there(desk: Desk, text: str, code: Reason) -> None:
    assert desk.absence(text).code is code


@pytest.mark.parametrize(
    ("content", "code", "pointer"),
    [
        (b"{", Reason.CONFIG_MALFORMED, ""),
        (b"[]", Reason.CONFIG_MALFORMED, AT_TASK + "/ceiling"),
        (b'{"type": "strnig"}', Reason.CONFIG_MALFORMED, "/type"),
        (
            b'{"properties": {"a": {"$ref": "https://example.org/x"}}}',
            Reason.CONFIG_MALFORMED,
            None,
        ),
    ],
)
def test_a_ceiling_that_is_no_schema_is_a_fault_of_the_configuration(
    desk: Desk, content: bytes, code: Reason, pointer: str | None
) -> None:
    desk.write("ceiling.json", content)
    fault = desk.fault(TASK_POLICY + "ceiling = 'ceiling.json'\n")
    assert fault.code is code
    assert pointer is None or fault.pointer == pointer


def test_faults_of_what_it_names_keep_their_own_codes(desk: Desk) -> None:
    desk.write("pins.json", b"{}")
    assert desk.fault(T + "pins = 'pins.json'\n").code is Reason.TRUST_MALFORMED
    desk.write("note.toml", "id = 1\n")
    assert desk.fault("[[profile]]\nfile = 'note.toml'\n").code is Reason.PROFILE_MALFORMED


def test_no_two_profiles_may_claim_the_same_documents(desk: Desk) -> None:
    two = "[[profile]]\nfile = 'a.toml'\n[[profile]]\nfile = 'b.toml'\n"
    desk.write("a.toml", NOTE)
    desk.write("b.toml", NOTE)
    assert desk.fault(two).pointer == "/profile/1/file"
    mark = 'discriminator = { pointer = "/kind", constant = "note" }\n'
    desk.write("a.toml", NOTE + mark)
    desk.write("b.toml", NOTE.replace("note/v1", "memo/v1") + mark)
    assert desk.fault(two).pointer == "/profile/1/file"
    desk.write("b.toml", NOTE.replace("note/v1", "memo/v1"))
    assert {"acme.note/v1", "acme.memo/v1"} <= desk.load(two).profiles.keys()


def test_a_profile_names_its_schema_relative_to_itself(desk: Desk) -> None:
    (desk.path / "sub").mkdir()
    desk.write("sub/note.toml", NOTE + 'schema = "note.json"\n')
    desk.write("sub/note.json", {"required": ["a"]})
    schema = desk.load("[[profile]]\nfile = 'sub/note.toml'\n").profiles["acme.note/v1"].schema
    assert schema is not None
    assert schema.fault({}) is not None


def test_paths_are_relative_to_the_file_and_not_to_the_working_directory(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = T + "pins = 'pins.json'\n" + R + "ledger = 'sqlite:l.db'\nkeyring = 'ring'\n"
    desk.load(text)
    monkeypatch.chdir(tmp_path)
    link = tmp_path / "link.toml"
    link.symlink_to(desk.file)
    for named in (Path("desk/taskseal.toml"), link, Path("link.toml")):
        found = load_config(named)
        assert found.ledger == f"sqlite:{desk.path}/l.db"
        assert found.keyring == desk.path / "ring"
    monkeypatch.chdir(desk.path)
    assert load_config("taskseal.toml").trust[0].place == desk.path / "pins.json"


def test_a_path_in_it_may_be_absolute(desk: Desk, tmp_path: Path) -> None:
    found = desk.load(R + f"ledger = 'sqlite:{tmp_path}/l.db'\n")
    assert found.ledger == f"sqlite:{tmp_path}/l.db"
    assert desk.load(R + "ledger = 'memory:'\n").ledger == "memory:"


def test_a_folder_that_would_break_the_ledgers_url_is_refused(tmp_path: Path) -> None:
    odd = Desk(tmp_path / "what?max_records=5")
    assert odd.fault(R + "ledger = 'sqlite:l.db'\n").pointer == "/receiver/ledger"


def test_a_configuration_that_is_no_file_is_refused(desk: Desk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    for path in (desk.path, tmp_path / "fifo"):
        with pytest.raises(InputError) as caught:
            load_config(path)
        assert caught.value.code is Reason.FILE_UNREADABLE

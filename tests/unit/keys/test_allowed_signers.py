"""allowed_signers: what OpenSSH is told of pins, and the pins that such a file gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support import instant, key_entry

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.allowed_signers import FOREVER, read_allowed_signers, write_allowed_signers
from taskseal.keys.entry import KeyEntry
from taskseal.keys.private import PrivateKey
from taskseal.validity import SECOND

PUBLIC = PrivateKey(bytes([1]) * 32).public
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
NAMESPACE = 'namespaces="taskseal.aisa.message.v1"'


def entry(**members: Any) -> KeyEntry:
    given = {
        "profiles": ["aisa.message/v1"],
        "not_before": instant("2026-08-01T00:00:00Z"),
        "sign_from": instant("2026-08-01T00:00:00Z"),
        "accept_until": instant("2027-08-01T00:00:00Z"),
        "sign_until": instant("2027-07-01T00:00:00Z"),
    }
    return key_entry(PUBLIC, **(given | members))


def line(**members: Any) -> str:
    return write_allowed_signers([entry(**members)]).data.decode()


def test_a_key_is_a_line_of_issuer_namespaces_times_and_version() -> None:
    assert line(profiles=["dharma.task/v1", "aisa.message/v1"]) == (
        'local namespaces="taskseal.aisa.message.v1,taskseal.dharma.task.v1",'
        'valid-after="20260801000000Z",valid-before="20270731235959Z" '
        f"{KEY} test/1\n"
    )


def test_a_fraction_of_a_second_is_never_given_away() -> None:
    early = instant("2026-08-01T00:00:00Z") + 1
    late = instant("2027-08-01T00:00:00Z") + 1
    text = line(not_before=early, sign_from=early, accept_until=late)
    assert 'valid-after="20260801000001Z"' in text
    assert 'valid-before="20270801000000Z"' in text
    # The last whole second before an end within a second belongs to the key still.
    (back,) = read_allowed_signers(text.encode()).entries
    assert back.not_before >= early
    assert back.accept_until - SECOND < late


def test_a_revoked_key_ends_when_it_was_revoked() -> None:
    assert 'valid-before="20260930235959Z"' in line(revoked_at=instant("2026-10-01T00:00:00Z"))


@pytest.mark.parametrize(
    "members",
    [
        {"revoked_at": instant("2026-08-01T00:00:00Z")},
        {"profiles": ["taskseal.keyset/v1"]},
        {"key": PrivateKey.generate(Algorithm.MLDSA65).public},
        {"key": None, "flaw": Reason.WEAK_KEY},
    ],
)
def test_a_key_that_openssh_cannot_use_is_left_out_and_noted(members: dict[str, Any]) -> None:
    given = replace(
        entry(), **{n: frozenset(v) if n == "profiles" else v for n, v in members.items()}
    )
    written = write_allowed_signers([given])
    assert written.data == b""
    assert len(written.notes) == 1


@pytest.mark.parametrize("issuer", ["a b", "a*", "a,b", "!a", "#a", 'a"', "ä", "a\nb", "a\\"])
def test_an_issuer_that_openssh_would_read_as_something_else_is_refused(issuer: str) -> None:
    with pytest.raises(InputError) as caught:
        write_allowed_signers([entry(issuer=issuer)])
    assert caught.value.code is Reason.USAGE


@pytest.mark.parametrize("version", ["k/1", "ä ö", " outer ", "50%", "a\nb", "#x", 'q"q', "\ud800"])
def test_every_key_version_comes_back(version: str) -> None:
    data = write_allowed_signers([replace(entry(), key_version=version)]).data
    assert data.count(b"\n") == 1
    try:
        (back,) = read_allowed_signers(data).entries
    except MaterialError as fault:
        assert version == "\ud800", fault  # no pins file can hold it either
    else:
        assert back.key_version == version


@pytest.mark.parametrize("algorithm", [Algorithm.ED25519, Algorithm.P256])
def test_pins_come_back_with_key_profiles_and_times(algorithm: Algorithm) -> None:
    public = PrivateKey.generate(algorithm).public
    given = key_entry(public, profiles=["aisa.message/v1", "orbiplex.turn-request/v1"])
    (back,) = read_allowed_signers(write_allowed_signers([given]).data).entries
    assert (back.issuer, back.key_version, back.key) == (given.issuer, given.key_version, given.key)
    assert (back.not_before, back.accept_until) == (given.not_before, given.accept_until)
    assert back.profiles == given.profiles


def test_a_line_of_somebody_elses_is_left_out_and_noted() -> None:
    text = f"""# a comment

me@here {KEY}
me@here namespaces="git,file" {KEY}
local cert-authority,{NAMESPACE} {KEY}
local {NAMESPACE},valid-after="20260801Z" {KEY} k
"""
    pins = read_allowed_signers(text.encode())
    assert [each.key_version for each in pins.entries] == ["k"]
    assert len(pins.notes) == 3
    assert pins.entries[0].accept_until == FOREVER


def test_a_line_without_comment_is_named_by_its_thumbprint() -> None:
    (found,) = read_allowed_signers(f"local {NAMESPACE} {KEY}\n".encode()).entries
    assert found.key_version == f"sha256:{PUBLIC.thumbprint}"
    assert found.not_before == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        f"me {KEY}",
        "\xff",
        f"local {NAMESPACE}",
        f"local {NAMESPACE} ssh-ed25519",
        f"local {NAMESPACE} ssh-ed25519 AAAA",
        f"local {NAMESPACE} ssh-ed25519 !",
        f"local {NAMESPACE} ecdsa-sha2-nistp256 {KEY.split()[1]}",
        f"local {NAMESPACE},{NAMESPACE} {KEY}",
        f"local {NAMESPACE},no-touch {KEY}",
        f"local {NAMESPACE},valid-after=20260801Z {KEY}",
        f'local {NAMESPACE},valid-after="20260801" {KEY}',
        f'local {NAMESPACE},valid-after="20261301Z" {KEY}',
        f'local {NAMESPACE},valid-after="19691231Z" {KEY}',
        f'local {NAMESPACE},valid-after="20260801Z",valid-before="20260701Z" {KEY}',
        f"lo*al {NAMESPACE} {KEY}",
        f"a,b {NAMESPACE} {KEY}",
        f"one {NAMESPACE} {KEY} k\ntwo {NAMESPACE} {KEY} l",
        f"local {NAMESPACE} {KEY} k\nlocal {NAMESPACE} {KEY} k",
        f"local {NAMESPACE} {KEY} {'k' * 501}",
    ],
)
def test_a_file_that_cannot_be_trusted_is_malformed(text: str) -> None:
    with pytest.raises(MaterialError) as caught:
        read_allowed_signers(text.encode("latin-1"))
    assert caught.value.code is Reason.TRUST_MALFORMED


def test_a_key_that_stands_for_less_than_a_second_is_left_out() -> None:
    start = instant("2026-08-01T00:00:00Z") + 1
    brief = entry(not_before=start, sign_from=start, sign_until=start + 9, accept_until=start + 9)
    assert write_allowed_signers([brief]).data == b""

"""A configuration that others could change is refused, and so is what it names."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from configs import TASK, Desk

from taskseal import MaterialError, Reason, load_config

TEXT = """
[[trust]]
pins = "pins.json"
[policy."dharma.task/v1"]
ceiling = "ceiling.json"
[[profile]]
file = "note.toml"
"""


@pytest.fixture
def laid(desk: Desk) -> Desk:
    desk.write("note.toml", 'id = "acme.note/v1"\ndetached = true\nreplay = "none"\n')
    desk.load(TEXT)
    return desk


def refusal(path: Path) -> MaterialError:
    with pytest.raises(MaterialError) as caught:
        load_config(path)
    assert caught.value.code is Reason.CONFIG_UNSAFE
    assert "chmod go-w" in caught.value.hint
    assert caught.value.exit_code == 6
    return caught.value


@pytest.fixture
def foreign() -> Iterator[int]:
    """A group that is not this user's own."""
    own = pwd.getpwuid(os.geteuid()).pw_gid
    if os.geteuid() == 0:
        yield next(each.gr_gid for each in grp.getgrall() if each.gr_gid != own)
        return
    others = [group for group in os.getgroups() if group != own]
    if not others:
        pytest.skip("this user is in no second group, so that no file can be given to one")
    yield others[0]


@pytest.mark.parametrize("mode", [0o666, 0o602, 0o646, 0o777])
def test_one_that_anyone_may_write_is_refused(laid: Desk, mode: int) -> None:
    laid.file.chmod(mode)
    assert "anyone" in refusal(laid.file).detail


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o644, 0o444])
def test_one_that_only_its_owner_may_write_is_read(laid: Desk, mode: int) -> None:
    laid.file.chmod(mode)
    assert load_config(laid.file).trust


def test_one_that_a_foreign_group_may_write_is_refused(laid: Desk, foreign: int) -> None:
    os.chown(laid.file, -1, foreign)
    laid.file.chmod(0o660)
    assert "group" in refusal(laid.file).detail
    laid.file.chmod(0o640)
    assert load_config(laid.file).trust


def test_one_that_the_owners_own_group_may_write_is_read(
    laid: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = pwd.getpwuid(os.geteuid())
    os.chown(laid.file, -1, account.pw_gid)
    laid.file.chmod(0o660)
    for members, safe in (([], True), ([account.pw_name, "root"], True), (["mallory"], False)):
        group = SimpleNamespace(gr_mem=members, gr_name="users")
        monkeypatch.setattr(grp, "getgrgid", lambda _, group=group: group)
        if safe:
            assert load_config(laid.file).trust
        else:
            assert "users" in refusal(laid.file).detail


def test_a_group_that_nobody_knows_is_not_the_owners_own(
    laid: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    laid.file.chmod(0o660)
    monkeypatch.setattr(grp, "getgrgid", unknown)
    assert str(laid.file.stat().st_gid) in refusal(laid.file).detail


@pytest.mark.parametrize("name", ["pins.json", "ceiling.json", "note.toml"])
def test_what_it_names_must_be_as_safe_as_itself(laid: Desk, name: str) -> None:
    (laid.path / name).chmod(0o666)
    assert name in refusal(laid.file).detail


def test_a_trust_store_must_be_as_safe_as_itself(desk: Desk) -> None:
    (desk.path / "trust").mkdir(mode=0o700)
    desk.write("trust/store.json", {})
    desk.write("taskseal.toml", "[[trust]]\nstore = 'trust'\n")
    (desk.path / "trust").chmod(0o777)
    assert "trust" in refusal(desk.file).detail
    (desk.path / "trust").chmod(0o700)
    (desk.path / "trust" / "store.json").chmod(0o666)
    assert "store.json" in refusal(desk.file).detail


def test_a_folder_in_which_it_could_be_replaced_is_refused(laid: Desk) -> None:
    laid.path.chmod(0o777)
    assert "replaced" in refusal(laid.file).detail
    laid.path.chmod(0o1777)
    assert load_config(laid.file).trust


def test_somebody_elses_file_in_a_folder_for_everyone_is_refused(
    laid: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a file somebody else's")
    laid.path.chmod(0o1777)
    os.chown(laid.file, 65534, -1)
    refusal(laid.file)


def test_a_link_is_as_safe_as_the_file_and_the_folders_on_the_way(
    laid: Desk, tmp_path: Path
) -> None:
    link, second = tmp_path / "link.toml", tmp_path / "shared" / "second.toml"
    link.symlink_to(laid.file)
    assert load_config(link).path == laid.file
    laid.file.chmod(0o666)
    refusal(link)
    laid.file.chmod(0o600)
    second.parent.mkdir()
    second.symlink_to(laid.file)
    link.unlink()
    link.symlink_to("shared/second.toml")
    assert load_config(link).path == laid.file
    second.parent.chmod(0o777)
    assert "second.toml" in refusal(link).detail


def test_a_ring_of_links_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ValueError) as caught:
        load_config(tmp_path / "a")
    assert getattr(caught.value, "code", None) is Reason.FILE_UNREADABLE


def test_a_folder_that_is_mounted_read_only_is_safe_whatever_its_mode(
    laid: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid.path.chmod(0o777)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert load_config(laid.file).policy.per_profile[TASK].ceiling is not None

"""``keyset``: proposed, signed by holders who each have a machine, made public, looked at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_support import DHARMA, Cli
from support import VECTORS, load

KEYSET, DHARMA_KEYSET = "taskseal.keyset/v1", "dharma.server-signing-keyset/v1"
PAST = ["--not-before", "2026-01-01T00:00:00Z", "--no-passphrase", "--issuer", "acme"]
LONG = ["--sign-until", "2036-01-01T00:00:00Z"]


@dataclass(frozen=True, slots=True)
class Holders:
    """Alice, who proposes, and Bob: a keyring each, with one keyset key each."""

    folder: Path
    alice: Path
    bob: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def holders(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Holders:
    found = Holders(tmp_path, tmp_path / "alice", tmp_path / "bob")
    monkeypatch.chdir(tmp_path)
    for ring, version, profile in (
        (found.alice, "root/a", KEYSET),
        (found.alice, "tasks/1", DHARMA),
        (found.bob, "root/b", KEYSET),
    ):
        cli("keys", "new", version, "--for", profile, *PAST, *LONG, "--keyring", ring)
    cli("keys", "pin", "--keyring", found.bob, "-o", found / "bob.json")
    return found


@pytest.fixture
def first(holders: Holders, cli: Cli) -> Path:
    """The first keyset: Alice alone."""
    cli("keyset", "propose", "--keyring", holders.alice, "-o", holders / "first.json")
    cli("keyset", "sign", holders / "first.json", "--keyring", holders.alice)
    cli("keyset", "publish", holders / "first.json", "-o", holders / "keyset.json")
    return holders / "keyset.json"


def pin(cli: Cli, ring: Path, version: str) -> str:
    shown = cli("keys", "show", version, "--keyring", ring, "--json").json
    return f"{version}={shown['publicKey']['x']}"


def edit(path: Path, **members: Any) -> Path:
    document = json.loads(path.read_bytes()) | members
    path.write_text(json.dumps(document))
    return path


def test_a_keyset_goes_from_proposal_to_publication_and_verifies_under_its_pin(
    holders: Holders, first: Path, cli: Cli
) -> None:
    key = pin(cli, holders.alice, "root/a")
    found = cli("keyset", "verify", first, "--pin", key, "--json").json
    assert (found["verdict"], found["kind"], found["generation"]) == ("accepted", KEYSET, 1)
    assert (found["issuer"], found["signedBy"], found["threshold"]) == ("acme", ["root/a"], 1)
    assert found["keyVersions"] == ["root/a", "tasks/1"]
    assert "accepted" in cli("keyset", "verify", first, "--pin", key).text
    thumbprint = cli("keys", "show", "root/a", "--keyring", holders.alice, "--json").json
    cli("keyset", "verify", first, "--pin", f"root/a=sha256:{thumbprint['thumbprint']}")
    cli("keyset", "verify", "-", "--pin", key, stdin=first.read_bytes())


def test_a_keyset_is_a_trust_file_by_the_operators_word(
    place: Any, cli: Cli, tmp_path: Path
) -> None:
    cli("keys", "new", "root/1", "--for", KEYSET, *PAST[:3], "--issuer", "desk")
    cli("keyset", "propose", "-o", "next.json")
    cli("sign", place.plan, "--audience", "worker-1", "-o", "sealed.json")
    assert cli("verify", "sealed.json", "--trust", "next.json", "--json", code=3).json["error"] == (
        "trust_malformed"
    )
    cli("keyset", "sign", "next.json")
    found = cli("verify", "sealed.json", "--trust", "next.json", "--json").json
    assert found["signer"]["keyVersion"] == "messages/1"


def test_without_a_pin_or_a_current_keyset_nothing_is_trusted(first: Path, cli: Cli) -> None:
    found = cli("keyset", "verify", first, "--json", code=1).json
    assert (found["verdict"], found["reason"]) == ("refused", "untrusted_initial_signer")
    assert "untrusted_initial_signer" in cli("keyset", "verify", first, code=1).err


def test_publishing_names_who_is_missing_until_all_have_signed(
    holders: Holders, first: Path, cli: Cli
) -> None:
    alice, bob = ["--keyring", holders.alice], ["--keyring", holders.bob]
    propose = ["keyset", "propose", "--current", first, "--with", holders / "bob.json"]
    cli(*propose, "--threshold", "2", *alice, "-o", holders / "next.json")
    publish = ["keyset", "publish", "--current", first]
    cli("keyset", "sign", holders / "next.json", *alice, "-o", holders / "at-alice.json")
    refused = cli(*publish, holders / "at-alice.json", "--json", code=1).json
    assert (refused["reason"], "missing: 'root/b'" in refused["detail"]) == (
        "threshold_not_met",
        True,
    )
    told = cli(
        "keyset", "sign", holders / "next.json", *bob, "-o", holders / "at-bob.json", "--json"
    ).json
    assert (told["signedBy"], told["possessionBy"]) == (["root/b"], ["root/b"])
    assert "root/a" in told["missing"]
    both = [holders / "at-alice.json", holders / "at-bob.json"]
    cli(*publish, *both, "-o", holders / "second.json")
    found = cli("keyset", "verify", holders / "second.json", "--current", first, "--json").json
    assert (found["generation"], found["signedBy"]) == (2, ["root/a", "root/b"])


def test_a_key_that_nobody_shows_to_hold_is_named(holders: Holders, first: Path, cli: Cli) -> None:
    cli(
        "keyset", "propose", "--current", first, "--with", holders / "bob.json",
        "--keyring", holders.alice, "-o", holders / "next.json",
    )  # fmt: skip
    cli("keyset", "sign", holders / "next.json", "--keyring", holders.alice)
    refused = cli(
        "keyset", "publish", holders / "next.json", "--current", first, "--json", code=1
    ).json
    assert (refused["reason"], "root/b" in refused["detail"]) == ("possession_missing", True)


def test_signing_again_changes_nothing(holders: Holders, first: Path, cli: Cli) -> None:
    before = (holders / "first.json").read_bytes()
    cli("keyset", "sign", holders / "first.json", "--keyring", holders.alice)
    assert (holders / "first.json").read_bytes() == before
    out = cli("keyset", "sign", "-", "--keyring", holders.alice, stdin=before)
    assert out.out == before


def test_a_keyring_without_a_listed_key_signs_nothing(
    holders: Holders, first: Path, cli: Cli
) -> None:
    refused = cli("keyset", "sign", first, "--keyring", holders.bob, "--json", code=4).json
    assert refused["error"] == "no_signing_key"


def test_a_keyset_that_lists_another_key_under_our_version_is_not_signed(
    holders: Holders, cli: Cli
) -> None:
    cli("keyset", "propose", "--keyring", holders.alice, "-o", holders / "next.json")
    document = json.loads((holders / "next.json").read_bytes())
    other = json.loads((holders / "bob.json").read_bytes())["keys"][0]["publicKey"]
    document["keys"][1]["publicKey"] = other
    edit(holders / "next.json", **document)
    refused = cli(
        "keyset", "sign", holders / "next.json", "--keyring", holders.alice, "--json", code=4
    ).json
    assert refused["error"] == "key_version_rebound"


def test_a_later_generation_is_published_against_what_receivers_know(
    holders: Holders, first: Path, cli: Cli
) -> None:
    cli("keyset", "propose", "--current", first, "--keyring", holders.alice, "-o", "n.json")
    cli("keyset", "sign", "n.json", "--keyring", holders.alice)
    assert cli("keyset", "publish", "n.json", "--json", code=2).json["error"] == "usage"
    cli("keyset", "publish", "n.json", "--current", first)


def test_copies_of_two_keysets_are_not_put_together(
    holders: Holders, first: Path, cli: Cli
) -> None:
    cli("keyset", "propose", "--current", first, "--keyring", holders.alice, "-o", "n.json")
    cli("keyset", "sign", "n.json", "--keyring", holders.alice)
    assert cli("keyset", "publish", first, "n.json", "--json", code=2).json["error"] == "usage"


@pytest.mark.parametrize(
    "more",
    [
        ["--threshold", "2"],
        ["--threshold", "0"],
        ["--revoke", "nobody/1"],
        ["--expires-in", "soon"],
        ["--generation", "0"],
    ],
)
def test_a_proposal_that_could_not_be_signed_is_not_made(
    holders: Holders, cli: Cli, more: list[str]
) -> None:
    propose = ["keyset", "propose", "--keyring", holders.alice]
    assert cli(*propose, *more, "--json", code=2).json["error"] == "usage"


def test_a_difference_is_told_in_words_with_what_it_would_break(
    holders: Holders, first: Path, cli: Cli
) -> None:
    propose = ["keyset", "propose", "--current", first, "--keyring", holders.alice]
    cli(*propose, "--revoke", "tasks/1", "--with", holders / "bob.json", "-o", "n.json")
    found = cli("keyset", "diff", first, "n.json", "--json").json
    assert found["signed"] is False
    assert any("'root/b' is new" in each for each in found["changes"])
    assert any("'tasks/1' is refused" in each for each in found["breaks"])
    assert f"nobody may sign {DHARMA} any more" in found["breaks"]
    text = cli("keyset", "diff", first, "n.json").text
    assert text.startswith("changes\n")
    cli("keyset", "sign", "n.json", "--keyring", holders.alice)
    told = cli("keyset", "diff", first, "n.json", "--json").json
    assert (told["signed"], told["refusal"]["reason"]) == (True, "possession_missing")
    cli("keyset", "sign", "n.json", "--keyring", holders.bob)
    assert cli("keyset", "diff", first, "n.json", "--json").json["refusal"] is None
    assert "would take it" in cli("keyset", "diff", first, "n.json").text


def test_a_keyset_beside_itself_changes_nothing(first: Path, cli: Cli) -> None:
    found = cli("keyset", "diff", first, first, "--json").json
    assert (found["changes"], found["breaks"]) == ([], [])
    assert cli("keyset", "diff", first, first).text.startswith("nothing changes\n")


def test_a_malformed_keyset_is_three_and_a_missing_one_six(first: Path, cli: Cli) -> None:
    first.write_text("{}")
    assert cli("keyset", "verify", first, "--json", code=3).json["error"] == "trust_malformed"
    assert cli("keyset", "verify", "gone.json", "--json", code=6).json["error"] == "file_missing"


@pytest.mark.parametrize("text", ["a", "=", "a=", "=AAAA", "a=AAAA", "a=sha256:AAAA", "a=*"])
def test_an_unreadable_pin_is_a_usage_error(first: Path, cli: Cli, text: str) -> None:
    found = cli("keyset", "verify", first, "--pin", text, "--json", code=2).json
    assert found["error"] == "usage"


VECTOR_KEYSETS = [
    v for v in load(VECTORS / "dharma/keysets.json")["vectors"] if v["kind"].startswith("keyset")
]


@pytest.mark.parametrize("vector", VECTOR_KEYSETS, ids=lambda v: v["name"])
def test_a_dharma_keyset_is_verified_by_the_peers_rules(
    tmp_path: Path, cli: Cli, vector: dict[str, Any]
) -> None:
    given, expected = vector["input"], vector["expected"]
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    new.write_text(json.dumps(given.get("keyset") or given["candidate"]))
    options: list[Any] = ["--at", vector["now"], "--allow-published-keys", "--json"]
    if "current" in given:
        old.write_text(json.dumps(given["current"]))
        options += ["--current", old]
    else:
        root = vector["keys"][given["pinnedRoot"]]
        options += ["--pin", f"{root['keyVersion']}={root['x']}"]
        options += ["--organization", given["organizationId"]]
    good = expected["ok"] and not vector.get("note", "").startswith("WEAKNESS")
    found = cli("keyset", "verify", new, *options, code=0 if good else 1).json
    assert found["verdict"] == ("accepted" if good else "refused")
    if "reason" in expected:
        assert found["reason"] == expected["reason"]


def test_a_dharma_keyset_is_proposed_signed_published_and_followed(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ring = ["--keyring", tmp_path / "ring"]
    terms = ["--not-before", "2026-01-01T00:00:00Z", "--issuer", "org_1", "--no-passphrase", *LONG]
    cli("keys", "new", "root/1", "--for", DHARMA_KEYSET, *terms, *ring)
    cli("keys", "new", "tasks/1", "--for", DHARMA, *terms, *ring)
    key = pin(cli, tmp_path / "ring", "root/1")
    propose = ["keyset", "propose", "--kind", "dharma", *ring]
    cli(*propose, "-o", "one.json")
    cli("keyset", "sign", "one.json", *ring)
    cli("keyset", "publish", "one.json", "-o", "1.json")
    cli("keyset", "verify", "1.json", "--pin", key, "--organization", "org_1")
    before = Path("one.json").read_bytes()
    cli("keyset", "sign", "one.json", *ring)
    assert Path("one.json").read_bytes() == before
    cli("keys", "new", "tasks/2", "--for", DHARMA, *terms, *ring)
    cli(*propose, "--current", "1.json", "-o", "two.json")
    cli("keyset", "sign", "two.json", *ring)
    cli("keyset", "publish", "two.json", "--current", "1.json", "-o", "2.json")
    found = cli("keyset", "verify", "2.json", "--current", "1.json", "--json").json
    assert (found["kind"], found["generation"], found["issuer"]) == (DHARMA_KEYSET, 2, "org_1")
    assert found["keyVersions"] == ["root/1", "tasks/1", "tasks/2"]
    assert any("'tasks/2' is new" in c for c in cli("keyset", "diff", "1.json", "2.json", "--json")
               .json["changes"])  # fmt: skip
    assert cli(*propose, "--expires-in", "31d", "--json", code=2).json["error"] == "usage"

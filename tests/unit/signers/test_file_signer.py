"""Signers for a key that the caller holds in memory."""

from __future__ import annotations

import pytest

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.signers import KeySigner, Signer, signer_from_seed
from taskseal.validity import read_instant

SEED = bytes(range(3, 35))


def test_a_seed_and_a_name_make_a_signer_that_always_stands() -> None:
    signer: Signer = signer_from_seed(SEED, "k/1", ["dharma.task/v1"])
    entry = signer.entry
    assert isinstance(signer, KeySigner)
    assert entry.key is not None
    assert entry.key.verify(b"m", signer.sign(b"m"))
    assert (entry.issuer, entry.key_version) == ("local", "k/1")
    assert entry.may_sign(0) is entry.may_sign(read_instant("9999-01-01T00:00:00Z") or 0) is None
    assert entry.state(0, 0) is None


def test_the_terms_given_are_the_entrys() -> None:
    entry = signer_from_seed(
        SEED,
        "k/1",
        ["dharma.task/v1"],
        issuer="acme",
        not_before=1,
        sign_until=2,
        accept_until=3,
        principal="desk",
        bind={"/organizationId": ["org"]},
    ).entry
    assert (entry.issuer, entry.principal) == ("acme", "desk")
    assert (entry.sign_from, entry.sign_until, entry.accept_until) == (1, 2, 3)
    assert dict(entry.bind) == {"/organizationId": ("org",)}


@pytest.mark.parametrize("seed", [b"", SEED[:31], SEED + b"\0", SEED * 2])
def test_what_is_no_seed_makes_no_signer(seed: bytes) -> None:
    with pytest.raises(MaterialError) as caught:
        signer_from_seed(seed, "k/1", ["dharma.task/v1"])
    assert caught.value.code is Reason.KEY_MALFORMED


def test_a_name_that_no_new_key_may_have_makes_no_signer() -> None:
    for version, issuer in ((" k", "acme"), ("k", ""), ("\ud800", "acme")):
        with pytest.raises(InputError) as caught:
            signer_from_seed(SEED, version, ["dharma.task/v1"], issuer=issuer)
        assert caught.value.code is Reason.USAGE

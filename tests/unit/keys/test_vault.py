"""Private halves at rest: sealed under their own parameters, bound to their public half."""

from __future__ import annotations

import json
from typing import Any

import pytest

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.private import PrivateKey
from taskseal.keys.vault import COST, Cost, is_sealed, seal, unseal

SEED = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f00112233445566778899aabbccddeeff")
KEY = PrivateKey(SEED)
CHEAP = Cost(passes=1, memory=1 << 13)


def opened(data: bytes, passphrase: bytes | None = None) -> PrivateKey:
    return unseal(data, KEY.public, passphrase, "a.key")


def refused(data: bytes, passphrase: bytes | None = b"pass") -> MaterialError:
    with pytest.raises(MaterialError) as caught:
        opened(data, passphrase)
    return caught.value


def test_a_sealed_key_opens_with_its_passphrase_only() -> None:
    sealed = seal(KEY, b"pass", CHEAP)
    assert is_sealed(sealed, "a.key")
    assert opened(sealed, b"pass").reveal_secret() == SEED
    assert refused(sealed, b"Pass").code is Reason.PASSPHRASE_WRONG
    assert refused(sealed, None).code is Reason.PASSPHRASE_NEEDED
    assert refused(sealed, b"").code is Reason.PASSPHRASE_NEEDED


def test_a_plain_key_opens_without_and_with_any_passphrase() -> None:
    plain = seal(KEY, None)
    assert not is_sealed(plain, "a.key")
    assert opened(plain).reveal_secret() == opened(plain, b"any").reveal_secret() == SEED


def test_the_sealed_file_holds_its_parameters_and_no_secret() -> None:
    sealed = seal(KEY, b"pass", CHEAP)
    document = json.loads(sealed)
    assert document["schema"] == "taskseal.private-key/v1"
    assert document["thumbprint"] == KEY.public.thumbprint
    assert document["kdf"]["name"] == "argon2id13"
    assert (document["kdf"]["passes"], document["kdf"]["memory"]) == (1, 1 << 13)
    assert SEED not in sealed
    assert SEED.hex().encode() not in sealed
    assert b"seed" not in sealed


def test_two_seals_of_one_key_share_neither_salt_nor_nonce_nor_box() -> None:
    one, two = (json.loads(seal(KEY, b"pass", CHEAP)) for _ in range(2))
    assert one["kdf"]["salt"] != two["kdf"]["salt"]
    assert one["nonce"] != two["nonce"]
    assert one["box"] != two["box"]


def test_the_default_cost_is_what_rfc_9106_recommends() -> None:
    assert Cost(passes=3, memory=64 * 1024 * 1024) == COST
    assert opened(seal(KEY, b"pass"), b"pass").public == KEY.public


def test_an_empty_passphrase_seals_nothing() -> None:
    with pytest.raises(InputError) as caught:
        seal(KEY, b"")
    assert caught.value.code is Reason.USAGE


def test_the_file_of_another_key_is_noticed() -> None:
    other = PrivateKey(bytes(range(32)))
    for data in (seal(other, b"pass", CHEAP), seal(other, None)):
        assert refused(data).code is Reason.KEYRING_MALFORMED
        renamed = json.dumps({**json.loads(data), "thumbprint": KEY.public.thumbprint}).encode()
        assert refused(renamed).code is Reason.KEYRING_MALFORMED


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        (["schema"], "taskseal.private-key/v2", "/schema"),
        (["cipher"], "none", "/cipher"),
        (["nonce"], "AAAA", "/nonce"),
        (["box"], "AAAA", "/box"),
        (["box"], None, "/box"),
        (["kdf"], [], "/kdf"),
        (["kdf", "name"], "scrypt", "/kdf/name"),
        (["kdf", "passes"], 0, "/kdf/passes"),
        (["kdf", "passes"], 17, "/kdf/passes"),
        (["kdf", "passes"], True, "/kdf/passes"),
        (["kdf", "memory"], 1 << 12, "/kdf/memory"),
        (["kdf", "memory"], 1 << 40, "/kdf/memory"),
        (["kdf", "salt"], "A" * 22 + "==", "/kdf/salt"),
        (["kdf", "lanes"], 4, "/kdf/lanes"),
        (["extra"], 1, "/extra"),
        (["seed"], "A" * 43, "/box"),
    ],
)
def test_a_file_that_is_not_exactly_of_its_kind_is_refused(
    path: list[str], value: object, pointer: str
) -> None:
    document: Any = json.loads(seal(KEY, b"pass", CHEAP))
    target = document
    for name in path[:-1]:
        target = target[name]
    target[path[-1]] = value
    error = refused(json.dumps(document).encode())
    assert (error.code, error.pointer) == (Reason.KEYRING_MALFORMED, pointer)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\xff", b"seed"])
def test_what_is_no_such_file_is_malformed(data: bytes) -> None:
    assert refused(data).code is Reason.KEYRING_MALFORMED
    with pytest.raises(MaterialError):
        is_sealed(data, "a.key")


def test_a_changed_bit_of_box_or_salt_or_nonce_never_opens() -> None:
    document = json.loads(seal(KEY, b"pass", CHEAP))
    for holder, name in ((document, "box"), (document, "nonce"), (document["kdf"], "salt")):
        kept = holder[name]
        holder[name] = ("B" if kept[0] == "A" else "A") + kept[1:]
        assert refused(json.dumps(document).encode()).code is Reason.PASSPHRASE_WRONG
        holder[name] = kept


def test_a_plain_seed_that_is_no_seed_is_malformed_and_not_shown() -> None:
    document = {**json.loads(seal(KEY, None)), "seed": "c2VjcmV0"}
    error = refused(json.dumps(document).encode())
    assert (error.code, error.pointer) == (Reason.KEYRING_MALFORMED, "/seed")
    assert "c2VjcmV0" not in f"{error} {error!r} {error.hint}"

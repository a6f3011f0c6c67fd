"""P-256 and ML-DSA-65 wherever keys go: keyring, vault, pins, keysets, signers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keysets import entry, keyset, signed
from support import NOW, instant, key_entry, pins_of

from taskseal.canon.encoding import b64url_encode
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.dharma_draft import propose_dharma
from taskseal.keys.entry import BARE_PROFILES, KEYSET
from taskseal.keys.formats import read_private_key, read_public_key
from taskseal.keys.keyring import Keyring
from taskseal.keys.keyset import SignedKeyset
from taskseal.keys.keyset_draft import Plan
from taskseal.keys.pin import Pin
from taskseal.keys.pins import Pins
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.keys.vault import Cost, seal, unseal
from taskseal.signers import signer_from_seed
from taskseal.validity import DAY

SECRET = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f00112233445566778899aabbccddeeff")
OTHERS = (Algorithm.P256, Algorithm.MLDSA65)
AISA = "aisa.message/v1"
PLAIN: dict[str, Any] = {"not_before": NOW, "allow_plain": True}
CHEAP = Cost(passes=1, memory=1 << 13)


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "ring")


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("passphrase", [None, b"pass"])
def test_a_keyring_makes_and_keeps_a_key_of_each_algorithm(
    algorithm: Algorithm, passphrase: bytes | None, ring: Keyring
) -> None:
    terms = PLAIN if passphrase is None else PLAIN | {"passphrase": passphrase, "cost": CHEAP}
    made = ring.new("k/1", [AISA], algorithm, **terms)
    assert made.key is not None
    assert made.key.algorithm is algorithm
    again = Keyring.open(ring.path, passphrase=passphrase)
    signer = again.signer(AISA, at=instant(NOW))
    assert made.key.verify(b"m", signer.sign(b"m"))
    assert again.pins() == Pins.of([made])
    assert ring.is_sealed("k/1") is (passphrase is not None)


@pytest.mark.parametrize("algorithm", OTHERS)
@pytest.mark.parametrize("profile", sorted(BARE_PROFILES))
def test_a_key_for_a_dharma_profile_is_ed25519(
    algorithm: Algorithm, profile: str, ring: Keyring
) -> None:
    makers: tuple[Callable[[], object], ...] = (
        lambda: ring.new("k/1", [profile], algorithm, **PLAIN),
        lambda: ring.import_key(PrivateKey.generate(algorithm), "k/1", [profile], **PLAIN),
    )
    for make in makers:
        with pytest.raises(InputError) as caught:
            make()
        assert caught.value.code is Reason.USAGE
        assert "Ed25519" in caught.value.hint
    assert ring.entries() == ()


@pytest.mark.parametrize("algorithm", OTHERS)
def test_a_dharma_keyset_lists_no_key_of_another_algorithm(algorithm: Algorithm) -> None:
    at = instant(NOW)
    ours = key_entry(PrivateKey.generate().public, "ed/1", profiles=["dharma.task/v1"])
    other = key_entry(PrivateKey.generate(algorithm).public, "x/1", profiles=["dharma.task/v1"])
    made = propose_dharma("org", [ours, other], None, at, Plan(lifetime=DAY))
    assert [item["keyVersion"] for item in made["keys"]] == ["ed/1"]
    with pytest.raises(MaterialError) as caught:
        propose_dharma("org", [other], None, at, Plan(lifetime=DAY))
    assert caught.value.code is Reason.NO_SIGNING_KEY


@pytest.mark.parametrize("algorithm", OTHERS)
def test_a_keyring_exports_in_the_forms_that_the_algorithm_has(
    algorithm: Algorithm, ring: Keyring
) -> None:
    key = PrivateKey(SECRET, algorithm)
    ring.import_key(key, "k/1", [AISA], **PLAIN)
    for form in ("pem", "jwk"):
        assert read_private_key(ring.export("k/1", form, private=True)).public == key.public
        assert read_public_key(ring.export("k/1", form)) == key.public
    assert ring.export("k/1", "raw") == key.public.raw
    with pytest.raises(InputError) as caught:
        ring.export("k/1", "raw", private=True)
    assert caught.value.code is Reason.USAGE


@pytest.mark.parametrize("algorithm", OTHERS)
def test_a_vault_file_holds_the_key_and_only_for_its_own_public_half(
    algorithm: Algorithm,
) -> None:
    key = PrivateKey(SECRET, algorithm)
    for passphrase in (None, b"pass"):
        data = seal(key, passphrase, CHEAP)
        assert (SECRET in data, SECRET.hex().encode() in data) == (False, False)
        again = unseal(data, key.public, passphrase, "a.key")
        assert (again.public, again.reveal_secret()) == (key.public, SECRET)
        for other in Algorithm:
            if other is not algorithm:
                with pytest.raises(MaterialError) as caught:
                    unseal(data, PrivateKey(SECRET, other).public, passphrase, "a.key")
                assert caught.value.code is Reason.KEYRING_MALFORMED


@pytest.mark.parametrize("passphrase", [None, b"pass"])
def test_a_vault_file_with_a_scalar_out_of_range_is_malformed(passphrase: bytes | None) -> None:
    public = PrivateKey(SECRET, Algorithm.P256).public
    data = seal(PrivateKey(bytes(32)), passphrase, CHEAP)
    with pytest.raises(MaterialError) as caught:
        unseal(data, public, passphrase, "a.key")
    assert caught.value.code is Reason.KEYRING_MALFORMED
    assert caught.value.pointer == ("/seed" if passphrase is None else "/box")


@pytest.mark.parametrize("algorithm", OTHERS)
def test_pins_hold_such_a_key_and_come_back(algorithm: Algorithm) -> None:
    key = PrivateKey.generate(algorithm)
    pins = pins_of(KeySigner(key_entry(key.public), key))
    written = json.loads(pins.to_json())["keys"][0]
    assert written["alg"] == algorithm.value
    assert written["publicKey"] == key.public.jwk()
    assert Pins.load(pins.to_json()) == pins


def pinned(algorithm: Algorithm, **change: Any) -> bytes:
    key = PrivateKey(SECRET, algorithm)
    document = json.loads(pins_of(KeySigner(key_entry(key.public), key)).to_json())
    (item,) = document["keys"]
    item["publicKey"] = {
        name: value for name, value in (item["publicKey"] | change).items() if value is not None
    }
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("algorithm", "change", "pointer"),
    [
        (Algorithm.P256, {"y": None}, "y"),
        (Algorithm.P256, {"y": 7}, "y"),
        (Algorithm.P256, {"kty": "OKP"}, "kty"),
        (Algorithm.P256, {"crv": "P-384"}, "crv"),
        (Algorithm.P256, {"alg": "EdDSA"}, "alg"),
        (Algorithm.P256, {"z": "A"}, "z"),
        (Algorithm.P256, {"d": "A" * 43}, "d"),
        (Algorithm.P256, {"priv": "A" * 43}, "priv"),
        (Algorithm.MLDSA65, {"alg": "ML-DSA-44"}, "alg"),
        (Algorithm.MLDSA65, {"alg": None}, "alg"),
        (Algorithm.MLDSA65, {"kty": "OKP"}, "kty"),
        (Algorithm.MLDSA65, {"pub": None}, "pub"),
        (Algorithm.MLDSA65, {"pub": "A" * 4001}, "pub"),
        (Algorithm.MLDSA65, {"priv": "A" * 43}, "priv"),
    ],
)
def test_a_wrong_member_of_a_pinned_key_is_refused_at_its_pointer(
    algorithm: Algorithm, change: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(MaterialError) as caught:
        Pins.load(pinned(algorithm, **change))
    assert caught.value.code is Reason.TRUST_MALFORMED
    assert caught.value.pointer == f"/keys/0/publicKey/{pointer}"


@pytest.mark.parametrize(
    ("algorithm", "change", "flaw"),
    [
        (Algorithm.P256, {"x": "A" * 43}, Reason.WEAK_KEY),
        (Algorithm.P256, {"x": "A" * 42}, Reason.KEY_MALFORMED),
        (Algorithm.P256, {"y": "A" * 44}, Reason.KEY_MALFORMED),
        (Algorithm.P256, {"y": "!"}, Reason.KEY_MALFORMED),
        (Algorithm.MLDSA65, {"pub": b64url_encode(bytes(1952))}, Reason.WEAK_KEY),
        (Algorithm.MLDSA65, {"pub": "A" * 43}, Reason.KEY_MALFORMED),
    ],
)
def test_an_unsound_pinned_key_is_an_entry_with_its_flaw(
    algorithm: Algorithm, change: dict[str, Any], flaw: Reason
) -> None:
    (found,) = Pins.load(pinned(algorithm, **change)).entries
    assert (found.key, found.flaw) == (None, flaw)


@pytest.mark.parametrize("algorithm", OTHERS)
def test_a_keyset_is_signed_and_its_keys_are_proven_with_such_keys(algorithm: Algorithm) -> None:
    root, worker = (PrivateKey.generate(algorithm) for _ in range(2))
    listed = keyset(
        entry("root", key=root.public), entry("worker", key=worker.public, profiles=[AISA])
    )
    made = signed(listed, "root", keys={"root": root, "worker": worker})
    again = SignedKeyset.load(made.to_json())
    assert again.to_json() == made.to_json()
    assert again.made_by("keyset", again.keyset.signers()) == {"root"}
    assert again.made_by("possession", again.entries) == {"root", "worker"}
    assert {each.jws.header.alg for each in again.signatures} == {algorithm.value}
    crossed = signed(listed, "root", keys={"root": root, "worker": root})
    with pytest.raises(MaterialError) as caught:
        SignedKeyset.load(crossed.to_json())
    assert caught.value.code is Reason.TRUST_SIGNATURE_BAD
    assert KEYSET in listed.entries[0].profiles


@pytest.mark.parametrize("algorithm", Algorithm)
def test_a_pin_is_a_raw_key_whose_size_tells_the_algorithm(algorithm: Algorithm) -> None:
    public = PrivateKey(SECRET, algorithm).public
    pin = Pin.parse(f"k=1={b64url_encode(public.raw)}")
    assert pin == Pin("k=1", public.thumbprint)
    assert pin.fits("k=1", public)
    with pytest.raises(InputError):
        Pin.parse(f"k={b64url_encode(public.raw + b'0')}")


@pytest.mark.parametrize("algorithm", Algorithm)
def test_a_signer_from_a_private_half_signs_with_its_algorithm(algorithm: Algorithm) -> None:
    signer = signer_from_seed(SECRET, "k/1", [AISA], algorithm=algorithm)
    assert signer.entry.key == PrivateKey(SECRET, algorithm).public
    assert signer.entry.key.verify(b"m", signer.sign(b"m"))

"""The list of published keys is exactly what its sources give, computed again here."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from taskseal.canon.encoding import b64url_decode
from taskseal.keys.algorithms import Algorithm, PublicKey
from taskseal.keys.private import PrivateKey
from taskseal.keys.screening import PUBLISHED, is_published

RFC8032_SECRETS = (
    # Section 7.1, TEST 1 (the key of RFC 8037 and of the JOSE cookbook too) to TEST SHA(abc).
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
    "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
    # Section 7.2.
    "0305334e381af78f141cb666f6199f57bc3495335a256a95bd2a55bf546663f6",
    "ab9c2853ce297ddab85c993b3ae14bcad39b2c682beabc27d6d4eb20711d6560",
)
CASES = (
    "xyAAQjv8QJc2leGKqEsUhibh7bdzEOrfONdntV31xaE",
    "0tRnEcFNkt4_aj7GrRfTPDzEysFDdnFHqMOVNF6Xk4o",
)


def of_seed(hexadecimal: str) -> str:
    return PrivateKey(bytes.fromhex(hexadecimal)).public.thumbprint


def of_public(text: str) -> str:
    raw = b64url_decode(text)
    assert raw is not None
    return PublicKey(Algorithm.ED25519, raw).thumbprint


def recomputed(root: Path, vectors: Path) -> set[str]:
    dharma = json.loads((vectors / "dharma/keys.json").read_bytes())["keys"]
    detached = json.loads(
        (vectors / "samples/orbiplex/support/detached-signature-vector.json").read_bytes()
    )
    example = runpy.run_path(str(root / "keys-example/make.py"))
    names = (*example["PINNED"], *example["UNPINNED"])
    return {
        *map(of_seed, RFC8032_SECRETS),
        *(of_seed(key["privateSeedHex"]) for key in dharma.values()),
        *map(of_public, CASES),
        of_seed(detached["secret_seed_hex"]),
        *(example["key"](name).public.thumbprint for name in names),
    }


def test_the_list_is_what_its_sources_give(root: Path, vectors: Path) -> None:
    assert set(PUBLISHED) == recomputed(root, vectors)


def test_the_cases_hold_no_key_beside_the_listed_and_the_weak(vectors: Path) -> None:
    weak = {
        "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "7v_______________________________________38",
    }
    held = {
        key["public"]
        for path in (vectors / "cases").glob("*/keyset*.json")
        for key in json.loads(path.read_bytes())["keys"]
    }
    assert held == weak | set(CASES)


def test_a_listed_key_is_published_and_a_new_one_is_not() -> None:
    assert is_published(of_seed(RFC8032_SECRETS[0]))
    assert not is_published(PrivateKey.generate().public.thumbprint)


def test_the_example_files_are_what_their_script_makes(root: Path) -> None:
    folder = root / "keys-example"
    made = runpy.run_path(str(folder / "make.py"))["files"]()
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert {name: kept.get(name) for name in made} == made
    assert set(kept) - set(made) == {"README.md", "make.py"}

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
P256_SECRETS = (
    # RFC 6979 appendix A.2.5 (the key of the W3C's ecdsa-jcs-2019 vectors too), RFC 7515 appendix
    # A.3, RFC 7517 appendix A.2, RFC 7518 appendix C (both parties), RFC 9052 appendix C.7.2
    # (two), RFC 9421 appendix B.1.3, RFC 9500, jwt.io; and the generator itself.
    "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
    "8e9b109e719098bf980487df1f5d77e9cb29606ebed2263b5f57c213df84f4b2",
    "f3bd0c07a81fb932781ed52752f60cc89a6be5e51934fe01938ddb55d8f77801",
    "d3f3716913d4310a0026de741b3f18893afc8114f0c84682ba677e313a13988a",
    "5449836690d75caf29f0dd029ddb31b3ddb8aba9d2d515c5012465e817d4a9dc",
    "aff907c99f9ad3aae6c4cdf21122bce2bd68b5283e6907154ad911840fa208cf",
    "57c92077664146e876760c9520d054aa93c3afb04e306705db6090308507b4d3",
    "529b85f3597e90ec5b8dfed3e26352bf4af9b4debb1a29bbae77fa105a5c603b",
    "e6cb5bdd80aa45ae9c95e8c15476679ffec953c16851e711e743939589c64fc1",
    "7af6732f581d005afcf216f6385ff6371029242cc60840dd7d2a7a5503b7d21c",
    f"{1:064x}",
)
MLDSA65_SECRETS = ("00" * 32,)
"""RFC 9964 appendix A: the seed of all zeros."""
CASES = (
    "xyAAQjv8QJc2leGKqEsUhibh7bdzEOrfONdntV31xaE",
    "0tRnEcFNkt4_aj7GrRfTPDzEysFDdnFHqMOVNF6Xk4o",
)


def of_seed(hexadecimal: str, algorithm: Algorithm = Algorithm.ED25519) -> str:
    return PrivateKey(bytes.fromhex(hexadecimal), algorithm).public.thumbprint


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
        *(of_seed(secret, Algorithm.P256) for secret in P256_SECRETS),
        *(of_seed(secret, Algorithm.MLDSA65) for secret in MLDSA65_SECRETS),
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
    for algorithm in Algorithm:
        assert not is_published(PrivateKey.generate(algorithm).public.thumbprint)


def test_the_example_files_are_what_their_script_makes(root: Path) -> None:
    folder = root / "keys-example"
    made = runpy.run_path(str(folder / "make.py"))["files"]()
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert {name: kept.get(name) for name in made} == made
    assert set(kept) - set(made) == {"README.md", "make.py"}

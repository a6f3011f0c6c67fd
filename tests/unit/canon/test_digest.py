"""Digests as values and as text, self-digests and the one normalisation."""

from __future__ import annotations

import hashlib
from string import ascii_letters, digits
from typing import Any

import pytest
from support import SAMPLES, load

from taskseal.canon.digest import CODECS, Digest, nfc, self_digest
from taskseal.errors import InputError, Reason

DATA = b"taskseal"
HEX = hashlib.sha256(DATA).hexdigest()


def test_the_digest_of_bytes_is_sha256() -> None:
    digest = Digest.of(DATA)
    assert (digest.algorithm, digest.value) == ("sha256", hashlib.sha256(DATA).digest())


def test_each_codec_has_one_spelling_and_reads_it_back() -> None:
    digest = Digest.of(DATA)
    texts = {codec: digest.text(codec) for codec in CODECS if codec != "blake3:hex"}
    assert texts["hex"] == HEX
    assert texts["sha256:hex"] == f"sha256:{HEX}"
    assert len(texts["sha256:b64url"]) == len("sha256:") + 43
    assert all(Digest.read(text, codec) == digest for codec, text in texts.items())


def test_a_blake3_digest_is_written_with_its_own_codec_alone() -> None:
    digest = Digest.read(f"blake3:{HEX}", "blake3:hex")
    assert digest.algorithm == "blake3"
    assert digest.text("blake3:hex") == f"blake3:{HEX}"
    for codec in ("hex", "sha256:hex", "sha256:b64url"):
        with pytest.raises(InputError) as caught:
            digest.text(codec)
        assert caught.value.code is Reason.USAGE


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("hex", HEX.upper()),
        ("hex", HEX[:-1]),
        ("hex", HEX + "0"),
        ("hex", HEX[:-2]),
        ("hex", f"sha256:{HEX}"),
        ("hex", f" {HEX}"),
        ("hex", f"{HEX}\n"),
        ("hex", "g" * 64),
        ("hex", "１" * 64),
        ("hex", ""),
        ("sha256:hex", HEX),
        ("sha256:hex", f"SHA256:{HEX}"),
        ("sha256:hex", f"sha256: {HEX}"),
        ("sha256:hex", f"sha256-{HEX}"),
        ("sha256:hex", f"blake3:{HEX}"),
        ("sha256:hex", f"sha512:{HEX}"),
        ("sha256:hex", f"sha256:{HEX.upper()}"),
        ("sha256:b64url", f"sha256:{HEX}"),
        ("sha256:b64url", "sha256:" + "A" * 43 + "="),
        ("sha256:b64url", "sha256:" + "A" * 42),
        ("sha256:b64url", "sha256:" + "A" * 44),
        ("sha256:b64url", "sha256:" + "+" + "A" * 42),
        ("sha256:b64url", "sha256:" + "/" + "A" * 42),
        ("sha256:b64url", "A" * 43),
        ("blake3:hex", f"sha256:{HEX}"),
    ],
)
def test_any_other_spelling_is_malformed(codec: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        Digest.read(text, codec, pointer="/input~1digest")
    assert caught.value.code is Reason.DIGEST_MALFORMED
    assert caught.value.pointer == "/input~1digest"


@pytest.mark.parametrize("thing", [None, 1, True, b"x", [], {}, Digest.of(b"")])
@pytest.mark.parametrize("codec", list(CODECS))
def test_what_is_not_text_is_malformed(thing: object, codec: str) -> None:
    with pytest.raises(InputError) as caught:
        Digest.read(thing, codec)
    assert caught.value.code is Reason.DIGEST_MALFORMED


def test_spare_bits_are_malformed() -> None:
    taken = []
    for last in ascii_letters + digits + "-_":
        try:
            Digest.read("sha256:" + "A" * 42 + last, "sha256:b64url")
            taken.append(last)
        except InputError as error:
            assert error.code is Reason.DIGEST_MALFORMED
    assert set(taken) == set("AEIMQUYcgkosw048")


@pytest.mark.parametrize("codec", ["", "sha256", "b64url", "SHA256:hex", "sha512:hex"])
def test_an_unknown_codec_is_a_usage_error(codec: str) -> None:
    with pytest.raises(InputError) as caught:
        Digest.read(HEX, codec)
    assert caught.value.code is Reason.USAGE
    with pytest.raises(InputError) as caught:
        Digest.of(DATA).text(codec)
    assert caught.value.code is Reason.USAGE


def test_digests_are_equal_by_algorithm_and_bytes() -> None:
    one, other = Digest.of(DATA), Digest.read(HEX, "hex")
    assert one == other
    assert hash(one) == hash(other)
    assert one != Digest.of(b"")
    assert one != Digest.read(f"blake3:{HEX}", "blake3:hex")
    assert one != HEX
    assert one != one.value


def test_the_digest_of_json_covers_the_canonical_bytes() -> None:
    value = {"b": 1.0, "a": "é"}
    assert Digest.of_json(value) == Digest.of('{"a":"é","b":1}'.encode())
    with pytest.raises(InputError) as caught:
        Digest.of_json({"a": b"x"})
    assert (caught.value.code, caught.value.pointer) == (Reason.UNSUPPORTED_TYPE, "/a")


def test_a_self_digest_covers_the_object_with_the_member_empty() -> None:
    value: dict[str, Any] = {"b": 1, "d": "anything"}
    expected = Digest.of(b'{"b":1,"d":""}')
    assert self_digest(value, "d") == expected
    assert self_digest({"b": 1}, "d") == expected
    assert value == {"b": 1, "d": "anything"}


@pytest.mark.parametrize("value", [[], "x", None, 1])
def test_only_an_object_carries_its_own_digest(value: object) -> None:
    with pytest.raises(InputError) as caught:
        self_digest(value, "d")
    assert caught.value.code is Reason.UNSUPPORTED_TYPE


def test_strings_and_names_are_composed_and_nothing_else_changes() -> None:
    value = {"e\u0301": ["e\u0301", 1.5, None, True, {"a": "\u212b"}], "b": "\ufb01"}
    assert nfc(value) == {"é": ["é", 1.5, None, True, {"a": "\u00c5"}], "b": "\ufb01"}
    assert list(value) == ["e\u0301", "b"]


def test_names_that_become_one_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        nfc({"a": [{"e\u0301/": 1, "é/": 2}]})
    assert caught.value.code is Reason.DUPLICATE_MEMBER
    assert caught.value.pointer == "/a/0/é~1"


def test_normalising_stops_at_the_depth_limit() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InputError) as caught:
        nfc(loop)
    assert caught.value.code is Reason.NESTING_TOO_DEEP


def test_the_published_orbiplex_digests_are_reproduced() -> None:
    start = load(SAMPLES / "orbiplex/start.json")
    support = SAMPLES / "orbiplex/support"
    codec = "sha256:b64url"
    material = load(support / "instruction-material.json")
    assert Digest.of_json(nfc(material)).text(codec) == start["instruction/hash"]
    assert Digest.of_json(material).text(codec) != start["instruction/hash"]
    assert Digest.of_json(start["input/parts"]).text(codec) == start["input/digest"]
    for name, member in (("binding", "binding/digest"), ("product", "product/digest")):
        value = load(support / f"{name}.json")
        assert self_digest(value, member).text(codec) == value[member]
    assert load(support / "binding.json")["binding/digest"] == start["binding/digest"]

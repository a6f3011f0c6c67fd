"""SSH signatures: byte by byte what OpenSSH writes, and nothing else is read."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from support import key_entry

from taskseal.errors import InputError, Reason
from taskseal.keys.algorithms import Algorithm
from taskseal.keys.private import KeySigner, PrivateKey
from taskseal.wire.base import Draft, Received, Subject
from taskseal.wire.sshsig import SSHSIG, armoured, namespace_of, public_blob, read_public_blob

SUBJECT = Subject(b'{"n":1}', {"n": 1}, "aisa.message/v1", "aisa.message/v1")
BEGIN, END = b"-----BEGIN SSH SIGNATURE-----\n", b"\n-----END SSH SIGNATURE-----"

# What `ssh-keygen -Y sign -n taskseal.aisa.message.v1` of OpenSSH 9.2 made over `{"n":1}` with the
# Ed25519 key of the seed 0x01 × 32.
THEIRS = b"""-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgiojj3XQJ8ZX9UtstPLpdcspnCb
8dlBIb83SIAbQPb1wAAAAYdGFza3NlYWwuYWlzYS5tZXNzYWdlLnYxAAAAAAAAAAZzaGE1
MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQHliJVeQ9ervzbGnk6Q8rweSS1e+cZiilRQPWa
xGitPiYOzI9XB1iIvckw55+w3Og59s9iw/UN5IBoPlUoZzwwo=
-----END SSH SIGNATURE-----
"""


def signer(algorithm: Algorithm = Algorithm.ED25519) -> KeySigner:
    key = PrivateKey(bytes([1]) * 32, algorithm)
    return KeySigner(key_entry(key.public), key)


def written(who: KeySigner) -> bytes:
    key = who.key.public
    name = key.algorithm.value
    draft = Draft(SUBJECT, "sshsig", "v", "i", name, name, key.raw)
    made = SSHSIG.write(draft)
    return made.finish(who.sign(made.signing_input))


def read(data: bytes) -> Received:
    assert SSHSIG.read is not None
    (seal,) = SSHSIG.read(data).seals
    return seal


def malformed(blob: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read(BEGIN + b64encode(blob) + END)
    assert caught.value.code in (Reason.SIGNATURE_MALFORMED, Reason.UNSUPPORTED_ALGORITHM)


def test_the_file_is_the_one_that_openssh_writes() -> None:
    assert written(signer()) == THEIRS


@pytest.mark.parametrize("algorithm", [Algorithm.ED25519, Algorithm.P256])
def test_what_is_written_is_read_back(algorithm: Algorithm) -> None:
    who = signer(algorithm)
    seal = read(written(who).removesuffix(b"\n"))
    assert seal.typ == namespace_of("aisa.message/v1") == "taskseal.aisa.message.v1"
    assert len(seal.signature) == 64
    assert who.key.public.verify(seal.signing_input(SUBJECT), seal.signature)


@pytest.mark.parametrize("algorithm", [Algorithm.ED25519, Algorithm.P256])
def test_halves_of_every_length_keep_their_value(algorithm: Algorithm) -> None:
    who = signer(algorithm)
    for start in (b"\x00\x00", b"\x00\x80", b"\x7f\xff", b"\x80\x00", b"\xff\xff"):
        raw = start + bytes([5]) * 30 + start + bytes([6]) * 30
        key = who.key.public
        draft = Draft(SUBJECT, "sshsig", "v", "i", "", key.algorithm.value, key.raw)
        assert read(SSHSIG.write(draft).finish(raw).removesuffix(b"\n")).signature == raw


def test_a_blob_cut_short_or_with_more_at_its_end_is_malformed() -> None:
    for algorithm in (Algorithm.ED25519, Algorithm.P256):
        blob = b64decode(b"".join(written(signer(algorithm)).splitlines()[1:-1]))
        for end in range(len(blob)):
            malformed(blob[:end])
        malformed(blob + b"\0")


def test_other_versions_hashes_keys_and_magic_are_refused() -> None:
    blob = b64decode(b"".join(written(signer()).splitlines()[1:-1]))
    malformed(blob.replace(b"SSHSIG", b"SSHSIH"))
    malformed(blob.replace(b"SSHSIG\0\0\0\x01", b"SSHSIG\0\0\0\x02"))
    malformed(blob.replace(b"sha512", b"sha384"))
    malformed(blob.replace(b"ssh-ed25519", b"ssh-ed25518", 1))
    at = blob.rindex(b"ssh-ed25519")
    malformed(blob[:at] + b"ssh-ed25518" + blob[at + 11 :])


@pytest.mark.parametrize(
    "text",
    [
        BEGIN.strip() + b"AAAA" + END,
        BEGIN + b"AAAA",
        BEGIN + b"AA AA" + END,
        BEGIN + b"AAA" + END,
        BEGIN + b"A===" + END,
        BEGIN + b"AAA=" + b"AAAA" + END,
        BEGIN + b"AAB=" + END,
        BEGIN + END,
        BEGIN + b"AAAA" + END + b"x",
        BEGIN + b"AAAA" + END + b"\n",
    ],
)
def test_a_spoilt_armour_is_malformed(text: bytes) -> None:
    assert armoured(text)
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.code is Reason.SIGNATURE_MALFORMED


def test_an_armour_may_be_folded_elsewhere_and_end_its_lines_with_crlf() -> None:
    data = written(signer()).removesuffix(b"\n")
    assert read(data.replace(b"\n", b"\r\n")) is not None
    first, *lines, last = data.split(b"\n")
    assert read(first + b"\n" + b"".join(lines) + b"\n" + last) is not None


def test_mpints_that_are_negative_or_padded_are_malformed() -> None:
    key = signer(Algorithm.P256).key.public
    public = public_blob("ES256", key.raw)
    assert public is not None
    string = lambda data: len(data).to_bytes(4, "big") + data  # noqa: E731 - as short as RFC 4251
    for r in (b"\x80" + bytes(31), b"\0\0" + b"\x80" * 31, b"\0\x01", b"\x01" * 33):
        body = string(b"ecdsa-sha2-nistp256") + string(string(r) + string(b"\x01"))
        parts = (public, b"n", b"", b"sha512", body)
        malformed(b"SSHSIG\0\0\0\x01" + b"".join(map(string, parts)))


def test_a_public_key_on_another_curve_or_compressed_is_refused() -> None:
    blob = public_blob("ES256", signer(Algorithm.P256).key.public.raw)
    assert blob is not None
    assert read_public_blob(blob).algorithm == "ES256"
    for bad in (blob.replace(b"nistp256", b"nistp384"), blob[:-65] + b"\x02" + blob[-64:], b""):
        with pytest.raises(InputError):
            read_public_blob(bad)
    assert public_blob("ML-DSA-65", bytes(1952)) is None

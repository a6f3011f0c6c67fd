"""Key files: every form in and out, every way to be wrong, and no secret in any text."""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, rsa, x25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys.algorithms import PublicKey
from taskseal.keys.asn1 import work_to_open, write_encrypted
from taskseal.keys.formats import (
    FORMS,
    Form,
    read_private_key,
    read_public_key,
    write_private_key,
    write_public_key,
)
from taskseal.keys.private import PrivateKey

SEED = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f00112233445566778899aabbccddeeff")
KEY = PrivateKey(SEED)
RAW = KEY.public.raw
OTHER = PrivateKey(bytes(range(32))).public.raw
BOM = b"\xef\xbb\xbf"
HEX = SEED.hex().encode()
B64URL = base64.urlsafe_b64encode(SEED).rstrip(b"=")


def seq(content: bytes) -> bytes:
    return b"\x30" + bytes([len(content)]) + content


def pkcs8(
    seed: bytes = SEED, version: int = 0, tail: bytes = b"", oid: str = "06032b6570"
) -> bytes:
    inner = bytes([4, len(seed)]) + seed
    identifier = bytes.fromhex(oid)
    return seq(bytes([2, 1, version]) + seq(identifier) + bytes([4, len(inner)]) + inner + tail)


def bits(public: bytes, tag: int = 0x81) -> bytes:
    return bytes([tag, len(public) + 1, 0]) + public


def pem(der: bytes, label: str = "PRIVATE KEY") -> bytes:
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN {label}-----\n{body}-----END {label}-----\n".encode()


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def openssh(
    outer: bytes = RAW, inner: bytes = RAW, last: bytes = RAW, rounds: int | None = None
) -> bytes:
    private = struct.pack(">II", 5, 5) + string(b"ssh-ed25519") + string(inner)
    private += string(SEED + last) + string(b"a comment")
    private += bytes(range(1, 1 + -len(private) % 8))
    blob = b"openssh-key-v1\0" + string(b"none") + string(b"none") + string(b"")
    if rounds is not None:
        blob = b"openssh-key-v1\0" + string(b"aes256-ctr") + string(b"bcrypt")
        blob += string(string(bytes(16)) + struct.pack(">I", rounds))
    blob += struct.pack(">I", 1) + string(string(b"ssh-ed25519") + string(outer)) + string(private)
    return pem(blob, "OPENSSH PRIVATE KEY")


def jwk(**change: Any) -> bytes:
    members = {**KEY.public.jwk(), "d": B64URL.decode(), **change}
    return json.dumps({k: v for k, v in members.items() if v is not None}).encode()


PRIVATE_FILES: dict[str, bytes] = {
    "seed of 32 bytes": SEED,
    "hexadecimal": HEX,
    "upper-case hexadecimal": HEX.upper(),
    "hexadecimal with a line end": HEX + b"\n",
    "hexadecimal from Windows": BOM + HEX + b"\r\n",
    "base64url": B64URL,
    "base64url with a line end": B64URL + b"\n",
    "base64url with CRLF": B64URL + b"\r\n",
    "base64url with CR": B64URL + b"\r",
    "seed and public half": SEED + RAW,
    "PKCS#8 PEM": pem(pkcs8()),
    "PKCS#8 DER": pkcs8(),
    "PKCS#8 version 2": pem(pkcs8(version=1, tail=bits(RAW))),
    "PKCS#8 version 2, wrapped": pkcs8(version=1, tail=b"\xa1\x23" + bits(RAW, 0x03)),
    "PKCS#8 with attributes": pkcs8(version=1, tail=b"\xa0\x02\x31\x00" + bits(RAW)),
    "OpenSSH": openssh(),
    "JWK": jwk(),
    "JWK with more members": jwk(alg="EdDSA", use="sig", kid="k", key_ops=["sign"]),
    "JWK laid out": b"\n  " + jwk() + b"\r\n",
    "JWK with a byte order mark": BOM + jwk(),
}


@pytest.mark.parametrize("data", PRIVATE_FILES.values(), ids=PRIVATE_FILES.keys())
def test_each_form_gives_the_same_key(data: bytes) -> None:
    key = read_private_key(data)
    assert key.public == KEY.public
    assert key.public.verify(b"m", key.sign(b"m"))


@pytest.mark.parametrize("wrapped", [pem(pkcs8()), openssh()], ids=["PKCS#8", "OpenSSH"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b"\r"),
        lambda text: text.rstrip(b"\n"),
        lambda text: text + b"\n\n\n",
        lambda text: BOM + text,
        lambda text: b"Made for a test\nkey: x\n\n" + text,
        lambda text: text + b"words after it\n",
        lambda text: BOM + b"preamble\r\n" + text.replace(b"\n", b"\r\n").rstrip(),
        lambda text: text.replace(b"\n", b"  \n"),
        lambda text: pem(b"\0", "CERTIFICATE") + text,
        lambda text: pem(b"\0", "PUBLIC KEY") + text,
    ],
    ids=[
        "CRLF",
        "CR",
        "no final line end",
        "blank lines after",
        "byte order mark",
        "preamble",
        "words after",
        "all of Windows",
        "blanks at line ends",
        "after a certificate",
        "after a public key",
    ],
)
def test_a_pem_block_loads_whatever_stands_around_it(
    wrapped: bytes, change: Callable[[bytes], bytes]
) -> None:
    assert read_private_key(change(wrapped)).public == KEY.public


@pytest.mark.parametrize("name", ["lf", "crlf", "no-final-newline", "preamble", "bom"])
def test_the_pem_files_of_the_cases_load_to_one_key(name: str, vectors: Path) -> None:
    """Case 18; a byte order mark is documented to load."""
    folder = vectors / "cases/18-pem-crlf"
    key = read_private_key((folder / f"{name}.pem").read_bytes())
    wanted = (folder / "expected-public.b64url").read_text().strip()
    assert key.public.jwk()["x"] == wanted


def test_the_seed_files_of_the_cases_load_or_are_refused_as_they_say(vectors: Path) -> None:
    """Case 21."""
    folder = vectors / "cases/21-seed-32-or-64"
    wanted = (folder / "expected-public.b64url").read_text().strip()
    items = json.loads((folder / "expected.json").read_bytes())["items"]
    for item in items:
        data = (folder / item["file"]).read_bytes()
        if item["expect"] == "accept":
            assert read_private_key(data).public.jwk()["x"] == wanted, item["file"]
        else:
            with pytest.raises(MaterialError) as caught:
                read_private_key(data)
            assert caught.value.code is Reason.KEY_MALFORMED, item["file"]
    assert len(items) == 8


MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "31 bytes": SEED[:31],
    "33 bytes": SEED + b"\0",
    "32 bytes and a line end": SEED + b"\n",
    "63 hexadecimal digits": HEX[:63],
    "hexadecimal with a blank": HEX[:32] + b" " + HEX[32:],
    "hexadecimal with two line ends": HEX + b"\n\n",
    "0x and hexadecimal": b"0x" + HEX,
    "base64url, padded": B64URL + b"=",
    "base64url with a blank before": b" " + B64URL,
    "base64url with two line ends": B64URL + b"\n\n",
    "base64url with spare bits": B64URL[:-1] + b"9",
    "seed and another public half": SEED + OTHER,
    "public half and seed": RAW + SEED,
    "PKCS#8 with another public half": pem(pkcs8(version=1, tail=bits(OTHER))),
    "PKCS#8 with a wrapped other public half": pkcs8(version=1, tail=b"\xa1\x23" + bits(OTHER, 3)),
    "PKCS#8 with an empty public half": pkcs8(version=1, tail=b"\x81\x01\x00"),
    "PKCS#8 of 31 bytes": pem(pkcs8(SEED[:31])),
    "PKCS#8 of 33 bytes": pem(pkcs8(SEED + b"\0")),
    "PKCS#8 with an unknown tail": pkcs8(tail=b"\x05\x00"),
    "PKCS#8 with two public halves": pkcs8(version=1, tail=bits(RAW) * 2),
    "PKCS#8 of version 3": pkcs8(version=2),
    "PKCS#8 and a byte more": pem(pkcs8() + b"\0"),
    "PKCS#8 cut short": pem(pkcs8()[:-1]),
    "PKCS#8 that is not base64": pem(b"").replace(b"-----END", b"@@@@\n-----END"),
    "PEM without content": pem(b""),
    "PEM without an end": pem(pkcs8()).partition(b"-----END")[0],
    "PEM with another end": pem(pkcs8()).replace(b"END PRIVATE", b"END PUBLIC"),
    "two private blocks": pem(pkcs8()) + pem(pkcs8()),
    "only a public block": pem(b"\0", "PUBLIC KEY"),
    "OpenSSH with another outer public half": openssh(outer=OTHER),
    "OpenSSH with another inner public half": openssh(inner=OTHER),
    "OpenSSH with another last public half": openssh(last=OTHER),
    "OpenSSH with another public half throughout": openssh(OTHER, OTHER, OTHER),
    "OpenSSH cut short": pem(b"openssh-key-v1\0\0\0", "OPENSSH PRIVATE KEY"),
    "JWK without x": jwk(x=None),
    "JWK without d": jwk(d=None),
    "JWK with another x": jwk(x=PrivateKey(bytes(range(32))).public.jwk()["x"]),
    "JWK with a short d": jwk(d=B64URL.decode()[:42]),
    "JWK with a padded d": jwk(d=B64URL.decode() + "="),
    "JWK for encryption": jwk(use="enc"),
    "JWK of another algorithm": jwk(alg="ES256"),
    "JWK with d twice": jwk()[:-1] + b',"d":"x"}',
    "JWK set": b'{"keys":[' + jwk() + b"]}",
    "JWK cut short": jwk()[:-1],
    "DER of nothing": b"\x30\x00",
    "DER that promises too much": b"\x30\x84\xff\xff\xff\xff",
    "DER of no stated length": b"\x30\x80\x00\x00",
    "a zip archive": b"PK\x03\x04" + bytes(100),
    "text": b"not a key at all\n",
    "a key after more than a key file may hold": b"x" * 65536 + pem(pkcs8()),
    "nothing but beginnings": b"-----BEGIN PRIVATE KEY-----\n" * 2300,
    "UTF-16": pem(pkcs8()).decode().encode("utf-16"),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_file_that_holds_no_whole_key_is_malformed(data: bytes) -> None:
    with pytest.raises(MaterialError) as caught:
        read_private_key(data, b"a passphrase")
    assert caught.value.code is Reason.KEY_MALFORMED
    assert_no_secret(caught.value)


def foreign_private() -> dict[str, bytes]:
    made: dict[str, Any] = {
        "P-384": ec.generate_private_key(ec.SECP384R1()),
        "secp256k1": ec.generate_private_key(ec.SECP256K1()),
        "ML-DSA-44": mldsa.MLDSA44PrivateKey.generate(),
        "ML-DSA-87": mldsa.MLDSA87PrivateKey.generate(),
        "RSA": rsa.generate_private_key(65537, 2048),
        "X25519": x25519.X25519PrivateKey.generate(),
        "Ed448": ed448.Ed448PrivateKey.generate(),
    }
    plain = NoEncryption()
    files = {
        f"{name} {encoding}": key.private_bytes(encoding, PrivateFormat.PKCS8, plain)
        for name, key in made.items()
        for encoding in (Encoding.PEM, Encoding.DER)
    }
    curve = made["P-384"]
    files["P-384 traditional"] = curve.private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, plain
    )
    files["P-384 OpenSSH"] = curve.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, plain)
    files["RSA traditional"] = made["RSA"].private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, plain
    )
    files["P-384 JWK"] = jwk(kty="EC", crv="P-384")
    files["ML-DSA-44 JWK"] = jwk(kty="AKP", alg="ML-DSA-44")
    files["X25519 JWK"] = jwk(crv="X25519")
    return files


def test_a_key_of_another_type_is_an_unsupported_algorithm() -> None:
    for name, data in foreign_private().items():
        with pytest.raises(MaterialError) as caught:
            read_private_key(data)
        assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM, name


def assert_no_secret(error: BaseException) -> None:
    """Nothing that is shown of the error, nor what it was raised from, holds the seed."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        seen.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    shown = "".join(
        f"{each} {each!r} {getattr(each, 'hint', '')} {getattr(each, 'pointer', '')}"
        for each in seen
    ).lower()
    forms = (SEED.hex(), B64URL.decode().lower(), base64.b64encode(SEED).decode().lower())
    for text in forms:
        for start in range(0, len(text) - 8, 4):
            assert text[start : start + 8] not in shown
    assert repr(SEED[:4])[2:-1].lower() not in shown


def test_a_private_key_shows_its_thumbprint_and_nothing_secret() -> None:
    shown = f"{KEY!r} {KEY}"
    assert KEY.public.thumbprint in shown
    assert SEED.hex()[:8] not in shown
    assert repr(SEED[:4])[2:-1] not in shown
    assert not hasattr(KEY, "__dict__")
    with pytest.raises(TypeError):
        KEY.__reduce__()


@pytest.mark.parametrize("form", FORMS)
def test_a_key_survives_each_form_that_it_is_written_in(form: Form) -> None:
    assert read_private_key(write_private_key(KEY, form)).reveal_secret() == SEED
    assert read_public_key(write_public_key(KEY.public, form)) == KEY.public


def test_an_encrypted_pem_opens_with_its_passphrase_only() -> None:
    locked = write_private_key(KEY, "pem", b"correct horse")
    assert read_private_key(locked, b"correct horse").public == KEY.public
    for passphrase, code in (
        (None, Reason.PASSPHRASE_NEEDED),
        (b"", Reason.PASSPHRASE_NEEDED),
        (b"wrong", Reason.PASSPHRASE_WRONG),
        (b"correct horse\n", Reason.PASSPHRASE_WRONG),
        (b"x" * 5000, Reason.PASSPHRASE_WRONG),
    ):
        with pytest.raises(MaterialError) as caught:
            read_private_key(locked, passphrase)
        assert caught.value.code is code
        assert_no_secret(caught.value)


def test_a_wrong_passphrase_is_told_as_one_however_the_padding_falls_out() -> None:
    """One wrong guess in 256 decrypts to well-formed padding."""
    held = ed25519.Ed25519PrivateKey.from_private_bytes(SEED)
    lock = BestAvailableEncryption(b"right")
    locked = held.private_bytes(Encoding.DER, PrivateFormat.PKCS8, lock)
    codes = set()
    for guess in range(600):
        with pytest.raises(MaterialError) as caught:
            read_private_key(locked, b"%d" % guess)
        codes.add(caught.value.code)
    assert codes == {Reason.PASSPHRASE_WRONG}


def test_a_passphrase_that_is_not_needed_is_passed_over() -> None:
    for data in PRIVATE_FILES.values():
        assert read_private_key(data, b"for another key").public == KEY.public


def test_an_encrypted_key_of_another_type_is_an_unsupported_algorithm() -> None:
    curve = ec.generate_private_key(ec.SECP384R1())
    locked = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"p"))
    with pytest.raises(MaterialError) as caught:
        read_private_key(locked, b"p")
    assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize("count", [(1 << 22) + 1, 1 << 31, 1 << 200])
def test_an_encrypted_file_that_asks_for_endless_work_is_refused_at_once(count: int) -> None:
    for data in (
        write_encrypted(bytes(16), count, bytes(16), bytes(64)),
        pem(write_encrypted(bytes(16), count, bytes(16), bytes(64)), "ENCRYPTED PRIVATE KEY"),
        openssh(rounds=min(count, 2**32 - 1)),
    ):
        with pytest.raises(MaterialError) as caught:
            read_private_key(data, b"p")
        assert caught.value.code is Reason.KEY_MALFORMED
        assert "stretched" in caught.value.detail


def test_an_encrypted_pem_is_stretched_as_far_as_is_advised_and_opens_elsewhere() -> None:
    locked = write_private_key(KEY, "pem", b"pass")
    der = base64.b64decode(b"".join(locked.splitlines()[1:-1]))
    assert work_to_open(der) == 600_000
    opened = load_pem_private_key(locked, b"pass")
    assert isinstance(opened, ed25519.Ed25519PrivateKey)
    assert opened.private_bytes_raw() == SEED


def test_a_plain_pem_is_what_openssl_writes() -> None:
    held = ed25519.Ed25519PrivateKey.from_private_bytes(SEED)
    plain = held.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert write_private_key(KEY, "pem") == plain


def test_encrypted_openssh_keys_open_with_the_extra_and_name_it_without() -> None:
    pytest.importorskip("bcrypt", reason="encrypted OpenSSH keys need the bcrypt extra")
    locked = write_private_key(KEY, "ssh", b"pass")
    assert read_private_key(locked, b"pass").public == KEY.public
    with pytest.raises(MaterialError) as caught:
        read_private_key(locked, b"wrong")
    assert caught.value.code is Reason.PASSPHRASE_WRONG
    with pytest.raises(MaterialError) as caught:
        read_private_key(locked)
    assert caught.value.code is Reason.PASSPHRASE_NEEDED


def test_without_the_extra_an_encrypted_openssh_key_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "bcrypt", None)
    with pytest.raises(MaterialError) as caught:
        write_private_key(KEY, "ssh", b"pass")
    assert caught.value.code is Reason.EXTRA_MISSING
    assert "taskseal[bcrypt]" in caught.value.hint


@pytest.mark.parametrize("form", ["jwk", "raw"])
def test_a_form_without_a_lock_takes_no_passphrase(form: Form) -> None:
    with pytest.raises(InputError) as caught:
        write_private_key(KEY, form, b"pass")
    assert caught.value.code is Reason.USAGE


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_passphrase_is_refused(form: Form) -> None:
    with pytest.raises(InputError) as caught:
        write_private_key(KEY, form, b"")
    assert caught.value.code is Reason.USAGE


def public_der(raw: bytes, unused: int = 0) -> bytes:
    return seq(seq(bytes.fromhex("06032b6570")) + bytes([3, 33, unused]) + raw)


SSH_LINE = b"ssh-ed25519 " + base64.b64encode(string(b"ssh-ed25519") + string(RAW))
PUBLIC_FILES: dict[str, bytes] = {
    "32 bytes": RAW,
    "hexadecimal": RAW.hex().encode() + b"\n",
    "base64url": KEY.public.jwk()["x"].encode() + b"\n",
    "PEM": pem(public_der(RAW), "PUBLIC KEY"),
    "PEM from Windows": BOM + pem(public_der(RAW), "PUBLIC KEY").replace(b"\n", b"\r\n"),
    "DER": public_der(RAW),
    "OpenSSH line": SSH_LINE,
    "OpenSSH line with a comment": SSH_LINE + b" me@here\r\n",
    "JWK": json.dumps(KEY.public.jwk()).encode(),
}


@pytest.mark.parametrize("data", PUBLIC_FILES.values(), ids=PUBLIC_FILES.keys())
def test_each_public_form_gives_the_same_key(data: bytes) -> None:
    assert read_public_key(data) == KEY.public


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", Reason.KEY_MALFORMED),
        (b"hello", Reason.KEY_MALFORMED),
        (pem(pkcs8()), Reason.KEY_MALFORMED),
        (jwk(), Reason.KEY_MALFORMED),
        (openssh(), Reason.KEY_MALFORMED),
        (pkcs8(), Reason.KEY_MALFORMED),
        (public_der(RAW, unused=1), Reason.KEY_MALFORMED),
        (public_der(RAW) + b"\0", Reason.KEY_MALFORMED),
        (b"ssh-ed25519 AAAA", Reason.KEY_MALFORMED),
        (b"ssh-ed25519 \xff", Reason.KEY_MALFORMED),
        (public_der(bytes(32)), Reason.WEAK_KEY),
        (bytes(32), Reason.WEAK_KEY),
        (b"00" * 32, Reason.WEAK_KEY),
        (b"A" * 43, Reason.WEAK_KEY),
    ],
)
def test_what_is_no_sound_public_key_is_refused(data: bytes, code: Reason) -> None:
    with pytest.raises(MaterialError) as caught:
        read_public_key(data)
    assert caught.value.code is code
    assert_no_secret(caught.value)


def test_a_public_key_of_another_type_is_an_unsupported_algorithm() -> None:
    curve = ec.generate_private_key(ec.SECP384R1()).public_key()
    files = [
        curve.public_bytes(encoding, form)
        for encoding, form in (
            (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            (Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
            (Encoding.OpenSSH, PublicFormat.OpenSSH),
        )
    ]
    others = (
        pem(b"\0", "RSA PUBLIC KEY"),
        b'{"kty":"EC","crv":"P-384","x":"","y":""}',
        b'{"kty":"AKP","alg":"ML-DSA-87","pub":""}',
        b"sk-ssh-ed25519@openssh.com " + SSH_LINE.split()[1],
        b"sk-ecdsa-sha2-nistp256@openssh.com AAAA",
    )
    for data in (*files, *others):
        with pytest.raises(MaterialError) as caught:
            read_public_key(data)
        assert caught.value.code is Reason.UNSUPPORTED_ALGORITHM


def test_a_written_public_key_is_what_openssh_and_openssl_write() -> None:
    held = ed25519.Ed25519PublicKey.from_public_bytes(RAW)
    spki = held.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert write_public_key(KEY.public, "pem") == spki
    assert write_public_key(KEY.public, "ssh") == SSH_LINE + b"\n"
    assert isinstance(read_public_key(spki), PublicKey)

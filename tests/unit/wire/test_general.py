"""JWS general JSON: one payload under several signatures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from taskseal.canon.encoding import b64url_encode
from taskseal.errors import InputError, Reason
from taskseal.wire.general import MAX_SIGNATURES, is_general, read_general, write_general
from taskseal.wire.jws import payload_bytes, write_protected

PLAIN = write_protected({"alg": "Ed25519", "kid": "a"})
RAW = write_protected({"alg": "Ed25519", "kid": "b", "b64": False, "crit": ["b64"]})


def document(*protected: str, payload: bytes = b"{}") -> dict[str, Any]:
    written = write_general(payload, [(each, bytes(64)) for each in protected])
    value: dict[str, Any] = json.loads(written)
    return value


def test_what_is_written_is_read_back_signature_by_signature() -> None:
    other = write_protected({"alg": "Ed25519", "kid": "b"})
    value = document(PLAIN, other, payload=b'{"n":1}')
    assert is_general(value)
    found = read_general(value)
    assert [each.header.kid for each in found.signatures] == ["a", "b"]
    for each in found.signatures:
        assert payload_bytes(each) == b'{"n":1}'
        signed = each.protected + "." + b64url_encode(b'{"n":1}')
        assert each.signing_input(b"") == signed.encode()


@pytest.mark.parametrize("value", [{}, [], None, {"payload": "", "signatures": [], "x": 1}])
def test_other_outer_members_are_not_the_general_form(value: Any) -> None:
    assert not is_general(value)


def test_a_general_jws_has_signatures_and_not_too_many() -> None:
    for signatures in ([], {}, None, [{}] * (MAX_SIGNATURES + 1)):
        with pytest.raises(InputError) as caught:
            read_general({"payload": "", "signatures": signatures})
        assert caught.value.code is Reason.SIGNATURE_MALFORMED
        assert caught.value.pointer == "/signatures"


@pytest.mark.parametrize(
    ("spoil", "pointer"),
    [
        ({"header": {"kid": "x"}}, "/signatures/1"),
        ({"protected": "*"}, "/signatures/1/protected"),
        ({"signature": "A"}, "/signatures/1/signature"),
        ({"signature": 1}, "/signatures/1/signature"),
    ],
)
def test_a_fault_is_told_with_the_place_of_its_signature(
    spoil: dict[str, Any], pointer: str
) -> None:
    value = document(PLAIN, PLAIN)
    value["signatures"][1] |= spoil
    with pytest.raises(InputError) as caught:
        read_general(value)
    assert (caught.value.code, caught.value.pointer) == (Reason.SIGNATURE_MALFORMED, pointer)


def test_all_signatures_encode_the_payload_alike() -> None:
    with pytest.raises(InputError) as caught:
        read_general(document(PLAIN, RAW))
    assert caught.value.code is Reason.SIGNATURE_MALFORMED


def test_a_payload_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read_general({"payload": 1, "signatures": []})
    assert caught.value.pointer == "/payload"

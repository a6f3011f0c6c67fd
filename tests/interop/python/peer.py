"""Other people's Python packages behind one pipe: a JSON request a line in, a JSON answer out.

It runs in an environment of its own and imports nothing of taskseal. An answer holds ``ok`` (the
package takes the signature, or with ``why`` refuses it), ``made`` (what it signed or wrote), or
``fault``: something that is no verdict of the package, which fails the test that asked.

Bytes travel as base64url without padding. Documents come as JSON text in any spelling, and each
package's own canonicaliser, or the one that is named, makes the bytes.
"""

from __future__ import annotations

import json
import sys
import traceback
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import a2a.utils.signing as a2a_signing
import awr
import awr.jcs
import awr.proof
import jwcrypto.common
import jwcrypto.jwk
import jwcrypto.jws
import jwt
import nacl.exceptions
import nacl.signing
import rfc8785
import securesystemslib.exceptions
from a2a.types import AgentCard
from a2a.utils import _jcs as a2a_jcs
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PublicKey
from dilithium_py.ml_dsa import ML_DSA_65
from google.protobuf.json_format import MessageToDict, ParseDict
from joserfc import jwk as joserfc_jwk
from joserfc import jws as joserfc_jws
from joserfc.errors import JoseError
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

Json = dict[str, Any]

CANONICALISERS: dict[str, Callable[[Any], bytes]] = {
    "rfc8785": rfc8785.dumps,
    "a2a": lambda value: a2a_jcs.canonicalize(value).encode(),
    "awr": awr.jcs.canonicalize,
}

REFUSALS = (
    InvalidSignature,
    JoseError,
    a2a_signing.SignatureVerificationError,
    awr.errors.AwrError,
    jwcrypto.common.JWException,
    jwt.PyJWTError,
    nacl.exceptions.BadSignatureError,
    securesystemslib.exceptions.VerificationError,
)
"""How the packages say that they do not take a signature."""


class Refused(Exception):
    """The verdict of a package that answers with false."""


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def canonicalise(by: str, text: str) -> str:
    return encoded(CANONICALISERS[by](json.loads(text)))


# joserfc


def _registry(*algorithms: str) -> joserfc_jws.JWSRegistry:
    # Strict checks would refuse iss and the like: RFC 7515 leaves header names open.
    return joserfc_jws.JWSRegistry(algorithms=list(algorithms), strict_check_header=False)


def joserfc_verify_detached(protected: str, signature: str, text: str, key: Json, alg: str) -> None:
    payload = rfc8785.dumps(json.loads(text))
    held = joserfc_jwk.import_key(key)
    joserfc_jws.deserialize_compact(
        f"{protected}..{signature}", held, registry=_registry(alg), payload=payload
    )


def joserfc_sign_detached(header: Json, text: str, key: Json) -> Json:
    payload = rfc8785.dumps(json.loads(text))
    held = joserfc_jwk.import_key(key)
    compact = joserfc_jws.serialize_compact(
        header, payload, held, registry=_registry(header["alg"])
    )
    protected, _, signature = joserfc_jws.detach_content(compact).split(".")
    return {"protected": protected, "signature": signature}


def joserfc_verify_flattened(blob: Json, key: Json, alg: str) -> str:
    held = joserfc_jwk.import_key(key)
    taken = joserfc_jws.deserialize_json(blob, held, registry=_registry(alg))
    return encoded(taken.payload)


def joserfc_sign_flattened(header: Json, text: str, key: Json) -> Json:
    payload = rfc8785.dumps(json.loads(text))
    held = joserfc_jwk.import_key(key)
    made = joserfc_jws.serialize_json(
        {"protected": header}, payload, held, registry=_registry(header["alg"])
    )
    return dict(made)


# jwcrypto


def jwcrypto_verify_detached(
    protected: str, signature: str, text: str, key: Json, alg: str
) -> None:
    token = jwcrypto.jws.JWS()
    token.allowed_algs = [alg]
    token.deserialize(json.dumps({"protected": protected, "signature": signature}))
    payload = rfc8785.dumps(json.loads(text))
    token.verify(jwcrypto.jwk.JWK(**key), detached_payload=payload)


def jwcrypto_sign_detached(header: Json, text: str, key: Json) -> Json:
    token = jwcrypto.jws.JWS(rfc8785.dumps(json.loads(text)))
    token.add_signature(jwcrypto.jwk.JWK(**key), protected=json.dumps(header))
    token.detach_payload()
    made = json.loads(token.serialize())
    return {"protected": made["protected"], "signature": made["signature"]}


def jwcrypto_verify_general(blob: Json, keys: dict[str, Json]) -> str:
    """Every signature must hold: each is checked by itself, by the key that its header names."""
    payload = b""
    for each in blob["signatures"]:
        token = jwcrypto.jws.JWS()
        token.deserialize(json.dumps({"payload": blob["payload"], **each}))
        token.verify(jwcrypto.jwk.JWK(**keys[token.jose_header["kid"]]))
        payload = token.payload
    return encoded(payload)


def jwcrypto_sign_general(headers: list[Json], text: str, keys: list[Json]) -> Json:
    token = jwcrypto.jws.JWS(rfc8785.dumps(json.loads(text)))
    for header, key in zip(headers, keys, strict=True):
        token.add_signature(jwcrypto.jwk.JWK(**key), protected=json.dumps(header))
    made: Json = json.loads(token.serialize())
    return made


# PyJWT: a detached payload only with b64 false, and the name EdDSA only.


def pyjwt_verify_detached(protected: str, signature: str, text: str, key: Json, alg: str) -> None:
    jwt.PyJWS().decode_complete(
        f"{protected}..{signature}",
        jwt.PyJWK(key, algorithm=alg),
        algorithms=[alg],
        detached_payload=rfc8785.dumps(json.loads(text)),
    )


def pyjwt_sign_detached(header: Json, text: str, key: Json) -> Json:
    alg = header["alg"]
    compact = jwt.PyJWS().encode(
        rfc8785.dumps(json.loads(text)),
        jwt.PyJWK(key, algorithm=alg),
        algorithm=alg,
        headers=header,
        is_payload_detached=True,
    )
    protected, _, signature = compact.split(".")
    return {"protected": protected, "signature": signature}


# a2a-sdk


def a2a_verify(card: Json, keys: dict[str, Json], algs: list[str]) -> None:
    def key_of(kid: str | None, _: str | None) -> jwt.PyJWK:
        if kid not in keys:
            raise jwt.InvalidKeyError(f"no key {kid!r}")
        return jwt.PyJWK(keys[kid], algorithm=algs[0] if len(algs) == 1 else None)

    verify = a2a_signing.create_signature_verifier(key_of, algs)
    verify(ParseDict(card, AgentCard()))


def a2a_sign(card: Json, header: Json, key: Json) -> Json:
    sign = a2a_signing.create_agent_card_signer(jwt.PyJWK(key, algorithm=header["alg"]), header)
    signed: Json = MessageToDict(sign(ParseDict(card, AgentCard())))
    return signed


# securesystemslib


def _sslib_key(kid: str, key: Json) -> SSlibKey:
    return SSlibKey.from_crypto(_held(key), kid)


def _held(key: Json) -> Any:
    if key["kty"] == "OKP":
        return Ed25519PublicKey.from_public_bytes(decoded(key["x"]))
    if key["kty"] == "AKP":
        return MLDSA65PublicKey.from_public_bytes(decoded(key["pub"]))
    x, y = (int.from_bytes(decoded(key[name])) for name in "xy")
    return EllipticCurvePublicNumbers(x, y, SECP256R1()).public_key()


def securesystemslib_verify(envelope: Json, keys: dict[str, Json], threshold: int) -> str:
    held = [_sslib_key(kid, key) for kid, key in keys.items()]
    found = Envelope.from_dict(envelope)
    found.verify(held, threshold)
    return encoded(found.payload)


def securesystemslib_sign(text: str, kind: str, keys: dict[str, Json]) -> Json:
    envelope = Envelope(rfc8785.dumps(json.loads(text)), kind, {})
    for kid, key in keys.items():
        private = Ed25519PrivateKey.from_private_bytes(decoded(key["d"]))
        envelope.sign(CryptoSigner(private, _sslib_key(kid, key)))
    made: Json = envelope.to_dict()
    return made


# awr


def awr_verify(document: Json, key: Json) -> None:
    proof = document["proof"]
    did = awr.derive_did_key(decoded(key["x"]))
    if proof["verificationMethod"] != awr.verification_method_for(did):
        raise Refused("it names another key")
    named = (proof["type"], proof["cryptosuite"], proof["proofPurpose"])
    if named != (awr.proof.PROOF_TYPE, awr.proof.CRYPTOSUITE, awr.proof.PROOF_PURPOSE):
        raise Refused("it is another kind of proof")
    if not awr.proof.verify_document_signature(document, proof, awr.parse_did_key(did)):
        raise Refused("the signature does not hold")


def awr_sign(text: str, key: Json, created: str) -> Json:
    held = awr.SigningKey.from_seed(decoded(key["d"]))
    made: Json = awr.proof.sign_document(json.loads(text), held, created)
    return made


# bare signatures: one of the canonicalisers, one of the cores


def _verify_pynacl(key: Json, message: bytes, signature: bytes) -> None:
    nacl.signing.VerifyKey(decoded(key["x"])).verify(message, signature)


def _verify_cryptography(key: Json, message: bytes, signature: bytes) -> None:
    Ed25519PublicKey.from_public_bytes(decoded(key["x"])).verify(signature, message)


CORES = {"pynacl": _verify_pynacl, "cryptography": _verify_cryptography}


def bare_verify(by: str, core: str, text: str, signature: str, key: Json) -> None:
    CORES[core](key, CANONICALISERS[by](json.loads(text)), decoded(signature))


def bare_sign(by: str, text: str, key: Json) -> str:
    held = nacl.signing.SigningKey(decoded(key["d"]))
    return encoded(held.sign(CANONICALISERS[by](json.loads(text))).signature)


# dilithium-py


def dilithium_verify(message: str, signature: str, key: Json) -> None:
    if not ML_DSA_65.verify(decoded(key["pub"]), decoded(message), decoded(signature)):
        raise Refused("the signature does not hold")


def dilithium_sign(message: str, key: Json) -> str:
    _, secret = ML_DSA_65.key_derive(decoded(key["priv"]))
    return encoded(ML_DSA_65.sign(secret, decoded(message)))


OPERATIONS: dict[str, Callable[..., Any]] = {
    operation.__name__: operation
    for operation in (
        canonicalise,
        joserfc_verify_detached,
        joserfc_sign_detached,
        joserfc_verify_flattened,
        joserfc_sign_flattened,
        jwcrypto_verify_detached,
        jwcrypto_sign_detached,
        jwcrypto_verify_general,
        jwcrypto_sign_general,
        pyjwt_verify_detached,
        pyjwt_sign_detached,
        a2a_verify,
        a2a_sign,
        securesystemslib_verify,
        securesystemslib_sign,
        awr_verify,
        awr_sign,
        bare_verify,
        bare_sign,
        dilithium_verify,
        dilithium_sign,
    )
}


def answered(request: Json) -> Json:
    """The answer to one request."""
    operation = OPERATIONS[request.pop("op")]
    try:
        return {"ok": True, "made": operation(**request)}
    except (Refused, *REFUSALS) as refusal:
        return {"ok": False, "why": f"{type(refusal).__name__}: {refusal}"}
    except Exception:
        return {"fault": traceback.format_exc()}


def main() -> None:
    """Answers until the pipe is closed."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answered(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

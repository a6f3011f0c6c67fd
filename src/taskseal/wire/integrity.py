"""W3C Data Integrity, cryptosuite ``eddsa-jcs-2022``: a proof in a file beside the document.

What is signed is the SHA-256 of the canonical proof options, then that of the canonical
document. The key is named by itself, as a did:key.

Source: W3C Data Integrity EdDSA Cryptosuites section 3.3, VC Data Integrity section 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason
from taskseal.validity import SECOND, Instant, read_instant, write_instant
from taskseal.wire.base import Draft, Form, Received, Sealed, Sealing, Subject
from taskseal.wire.multikey import base58_decode, base58_encode, read_did, write_did

PROOF_TYPE = "DataIntegrityProof"
SUITE = "eddsa-jcs-2022"
PURPOSE = "assertionMethod"

_REQUIRED = ("type", "cryptosuite", "verificationMethod", "proofPurpose", "proofValue")
_OPTIONAL = ("@context", "created", "domain", "expires", "id", "nonce")


def hash_data(options: Mapping[str, Any], document: Mapping[str, Any]) -> bytes:
    """The 64 bytes signed: the hashes of proof options and of document.

    Args:
        options: the proof without ``proofValue``.
        document: the document without ``proof``.

    Raises:
        InputError: either has no canonical form.
    """
    return (
        sha256(canonicalise(dict(options))).digest() + sha256(canonicalise(dict(document))).digest()
    )


def _is_proof(value: Any) -> bool:
    return type(value) is dict and "proofValue" in value


def _read(proof: dict[str, Any]) -> Sealed:
    for name in _REQUIRED:
        if name not in proof:
            raise _malformed(f"the proof has no {name}", "")
    for name in proof:
        if name not in _REQUIRED and name not in _OPTIONAL:
            raise _malformed(f"{name[:60]!r} in a proof is not understood here", "")
    if proof["type"] != PROOF_TYPE:
        raise _malformed(f"type is not {PROOF_TYPE}", "/type")
    if proof["cryptosuite"] != SUITE:
        detail = f"{str(proof['cryptosuite'])[:60]!r} is not {SUITE}"
        raise InputError(Reason.UNSUPPORTED_ALGORITHM, detail, pointer="/cryptosuite")
    if type(proof["proofPurpose"]) is not str:
        raise _malformed("proofPurpose is not a text", "/proofPurpose")
    signature = base58_decode(proof["proofValue"])
    if not signature:
        raise _malformed("proofValue is not multibase base58 (z…)", "/proofValue")
    try:
        holder = read_did(proof["verificationMethod"])
    except InputError as fault:
        raise InputError(fault.code, fault.detail, pointer="/verificationMethod") from None
    options = {name: item for name, item in proof.items() if name != "proofValue"}
    seal = Received(
        signature=signature,
        signing_input=lambda subject: _signing_input(options, subject),
        # The suite is the algorithm's name here; a key of another kind does not fit it.
        alg="Ed25519",
        typ=proof["proofPurpose"],
        holder=holder,
        issued=_instant(proof, "created"),
        expires=_instant(proof, "expires"),
        audience=_domain(proof),
        at="/verificationMethod",
        signature_at="/proofValue",
    )
    return Sealed((seal,))


def _signing_input(options: Mapping[str, Any], subject: Subject) -> bytes:
    """The document, whose context must be the proof's own.

    The standard lets a document's context go on after the proof's. What goes on there would be
    read here and signed by nobody, so it is refused (SPEC section 1.5).
    """
    if "proof" in subject.value:
        raise _malformed("the document holds a proof already", "/proof")
    if "@context" not in options:
        return sha256(canonicalise(dict(options))).digest() + sha256(subject.payload).digest()
    said, own = _listed(options["@context"]), _listed(subject.value.get("@context", []))
    if "@context" not in subject.value or own != said:
        raise _malformed("the document's @context is not the proof's", "/@context")
    return hash_data(options, {**subject.value, "@context": options["@context"]})


def _listed(context: Any) -> list[Any]:
    return context if isinstance(context, list) else [context]


def _instant(proof: Mapping[str, Any], name: str) -> Instant | None:
    if name not in proof:
        return None
    instant = read_instant(proof[name])
    if instant is None:
        raise _malformed(f"time_malformed: {name} is not an RFC 3339 instant", f"/{name}")
    return instant


def _domain(proof: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Where the proof is meant to be used; a proof that says nothing is no less whole for it."""
    if "domain" not in proof:
        return None
    names = _listed(proof["domain"])
    if not names or any(type(name) is not str for name in names):
        raise _malformed("domain is neither a text nor a list of texts", "/domain")
    return tuple(names)


def _write(draft: Draft) -> Sealing:
    document = draft.subject.value
    if "proof" in document:
        raise InputError(Reason.ALREADY_SIGNED, "it carries a proof", pointer="/proof")
    options: dict[str, Any] = {
        "type": PROOF_TYPE,
        "cryptosuite": SUITE,
        "verificationMethod": write_did(draft.algorithm, draft.public),
        "proofPurpose": PURPOSE,
    }
    if draft.issued is not None:
        options["created"] = write_instant(draft.issued - draft.issued % SECOND)
    if draft.audience is not None:
        options["domain"] = draft.audience
    if "@context" in document:
        options["@context"] = document["@context"]
    return Sealing(
        hash_data(options, document),
        lambda signature: canonicalise({**options, "proofValue": base58_encode(signature)}),
    )


def _malformed(detail: str, pointer: str) -> InputError:
    return InputError(Reason.SIGNATURE_MALFORMED, detail, pointer=pointer)


INTEGRITY = Form(
    name=SUITE,
    formats=(SUITE,),
    place="beside",
    detect=_is_proof,
    read=_read,
    write=_write,
    mark=lambda profile: PURPOSE,
    times="issue",
    audience=True,
    algorithms=frozenset({"Ed25519"}),
)
"""A Data Integrity proof. Its purpose is the same for every profile: what keeps two profiles
apart is that each document says itself what it is."""

"""The one table of reasons: text, remedy, HTTP status, exit code, retryability, whose fault.

Source: SPEC sections 7 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from taskseal.reason import Reason

Blame = Literal["sender", "receiver", "operator", "caller", "machine"]


class Entry(NamedTuple):
    """What the table says of one reason."""

    text: str
    remedy: str
    http: int = 422
    exit_code: int = 1
    retryable: bool = False
    blame: Blame = "sender"


_R = Reason

_TABLE: dict[Reason, Entry] = {
    _R.TOO_LARGE: Entry(
        "the document is larger than its profile allows",
        "send less, or move the bulk into an artefact that the message binds by digest",
        413,
    ),
    _R.MALFORMED_JSON: Entry(
        "the text is not one JSON value", "send exactly one JSON value (RFC 8259)", 400
    ),
    _R.NOT_UTF8: Entry(
        "the text is not UTF-8 without a byte order mark", "encode as UTF-8, no BOM", 400
    ),
    _R.DUPLICATE_MEMBER: Entry(
        "an object holds the same member name twice", "send each member once", 400
    ),
    _R.LONE_SURROGATE: Entry(
        "a string holds half of a surrogate pair", "send whole Unicode characters only", 400
    ),
    _R.NUMBER_NOT_EXACT: Entry(
        "a fraction would be rounded to an integer", "send the integer, or fewer digits", 400
    ),
    _R.INTEGER_OUT_OF_RANGE: Entry(
        "an integer lies outside ±(2^53−1)", "send big numbers as strings", 400
    ),
    _R.NUMBER_OUT_OF_RANGE: Entry(
        "a number has no finite double", "send finite numbers within the range of a double", 400
    ),
    _R.NESTING_TOO_DEEP: Entry(
        "more than 128 arrays and objects are open at once", "flatten the document", 400
    ),
    _R.UNSUPPORTED_TYPE: Entry(
        "a Python value has no JSON type of its own",
        "convert it to dict, list, str, int, float, bool or None yourself",
        blame="caller",
    ),
    _R.ENGINES_DISAGREE: Entry(
        "the two canonicalisers gave different bytes",
        "do not sign this; report the document as a defect of taskseal",
        500,
        blame="machine",
    ),
    _R.NOT_PORTABLE: Entry(
        "the bytes under this profile's own canonical rule differ from RFC 8785 or are undefined",
        "rename the two members so that both orders agree (lower-case ASCII letters are safe)",
    ),
    _R.UNKNOWN_PROFILE: Entry(
        "no profile at hand recognises the document",
        "check its discriminator, or name the profile with --profile",
    ),
    _R.UNKNOWN_MESSAGE_TYPE: Entry(
        "the message is of a type that this receiver does not know",
        "send the ready DeadEnd back; the sender needs a receiver that knows the type",
        501,
    ),
    _R.UNKNOWN_MESSAGE_VERSION: Entry(
        "the message is of a version that this receiver does not know",
        "send the ready DeadEnd back; the sender needs a receiver that knows the version",
        501,
    ),
    _R.SCHEMA_INVALID: Entry(
        "the document does not fit its profile's schema", "mend the member that the pointer names"
    ),
    _R.SEMANTIC_INVALID: Entry(
        "the message contradicts itself", "mend the member that the pointer names"
    ),
    _R.FORM_NOT_ALLOWED: Entry(
        "the signature came in a form that this receiver does not take for the profile",
        "sign in the profile's own form, or let the receiver add the form with --allow-form",
        400,
    ),
    _R.SIGNATURE_MISSING: Entry(
        "the message carries no signature and none was given",
        "sign it, or hand the detached signature over with --signature",
        401,
    ),
    _R.SIGNATURE_MALFORMED: Entry(
        "the signature or its header is not in its one spelling",
        "send the signature exactly as it was made",
        400,
    ),
    _R.CRITICAL_HEADER_UNKNOWN: Entry(
        "the header marks a parameter critical that is not understood here",
        "sign without that parameter (only b64 is understood)",
        400,
    ),
    _R.WRONG_TYP: Entry(
        "the signature is for another profile or another use",
        "sign under the document's own profile",
        400,
    ),
    _R.UNSUPPORTED_ALGORITHM: Entry(
        "the algorithm is not one that is verified here",
        "sign with Ed25519, ES256 or ML-DSA-65",
        400,
    ),
    _R.ALGORITHM_MISMATCH: Entry(
        "the message names another algorithm than its key has", "sign with the key's own algorithm"
    ),
    _R.BAD_SIGNATURE: Entry(
        "the signature does not fit these bytes and this key",
        "treat the message as forged or altered; ask the sender for it anew",
        401,
    ),
    _R.ALREADY_SIGNED: Entry(
        "the document carries a signature already",
        "sign the unsigned document; a signature is never replaced",
        blame="caller",
    ),
    _R.KEY_VERSION_MISSING: Entry(
        "the message does not say which key version signed it",
        "name the version in the message; a receiver may name one with --unversioned-key",
        401,
    ),
    _R.KEY_VERSION_MISMATCH: Entry(
        "the document names another key version than the signing key's",
        "remove the member, or sign with the version that it names",
        blame="caller",
    ),
    _R.UNKNOWN_KEY: Entry(
        "no trusted key has this version", "pin the key, or update the keyset", 401
    ),
    _R.AMBIGUOUS_KEY: Entry(
        "two trusted issuers hold a key of this version and the message names no issuer",
        "name the issuer in the header (iss), or trust one of the two only",
        401,
    ),
    _R.WEAK_KEY: Entry(
        "the public key lies outside the prime-order group or is not in canonical form",
        "replace the key: anyone could sign for it",
        401,
    ),
    _R.KEY_MALFORMED: Entry(
        "the key cannot be read", "give the key in one of the forms that `keys import` lists", 401
    ),
    _R.PUBLISHED_KEY: Entry(
        "the private half of this key is public knowledge",
        "make a key of your own with `taskseal keys new`; demos may add --allow-published-keys",
        401,
    ),
    _R.KEY_REVOKED: Entry("the key is revoked", "sign anew with a key that stands", 401),
    _R.KEY_NOT_YET_VALID: Entry(
        "the key is not valid yet",
        "wait for its notBefore, or check the clocks",
        401,
        retryable=True,
    ),
    _R.KEY_EXPIRED: Entry("the key is no longer accepted", "sign anew with the current key", 401),
    _R.KEY_RETIRED: Entry(
        "the key had stopped signing when this message says it was issued",
        "sign anew with the current key",
        401,
    ),
    _R.KEY_WRONG_PROFILE: Entry(
        "the key may not sign this profile",
        "sign with a key made for the profile (`keys new … --for PROFILE`)",
        403,
    ),
    _R.KEYSET_EXPIRED: Entry(
        "the keyset that holds the key has expired", "update the keyset", 401, blame="operator"
    ),
    _R.KEYSET_NOT_YET_VALID: Entry(
        "the keyset that holds the key is not valid yet",
        "check the clocks",
        401,
        retryable=True,
        blame="operator",
    ),
    _R.PRINCIPAL_MISMATCH: Entry(
        "the signer claims to be someone whom its key may not speak for",
        "sign with the key of that principal",
        403,
    ),
    _R.SIGNED_BEFORE_REVOCATION: Entry(
        "the key is revoked now, and the message is proven to be older than that",
        "sign anew with a key that stands; an audit may add allow_signed_before_revocation",
        401,
    ),
    _R.SIGNED_AFTER_REVOCATION: Entry(
        "the message says itself that it was issued when its key was revoked already",
        "treat it as forged: whoever holds the revoked key signed it",
        401,
    ),
    _R.REVOKED_TIME_UNKNOWN: Entry(
        "the key is revoked, and nobody but the message says that it is older than that",
        "bring evidence: the ledger's record, or an acceptance that another key signed",
        401,
    ),
    _R.NOT_YET_VALID: Entry(
        "the message is from the future", "check both clocks, or wait", 422, retryable=True
    ),
    _R.EXPIRED: Entry("the message has expired", "ask the sender for a fresh one", 410),
    _R.INVALID_LIFETIME: Entry(
        "the message's times are unreadable, out of order or too far apart",
        "issue before expiry, and no more than the largest lifetime apart",
    ),
    _R.AUDIENCE_MISSING: Entry(
        "the message does not say for whom it is", "sign with --audience", 403
    ),
    _R.AUDIENCE_MISMATCH: Entry(
        "the message is for another receiver", "deliver it to the receiver that it names", 403
    ),
    _R.DIGEST_MALFORMED: Entry(
        "a digest is not in its one spelling", "write the digest in the codec of its member", 400
    ),
    _R.DIGEST_MISMATCH: Entry(
        "the bytes are not the ones that the message binds",
        "fetch the artefact again, or ask the sender for a message that binds these bytes",
    ),
    _R.ARTEFACT_MISSING: Entry(
        "an artefact that the message binds was not supplied and policy wants it",
        "supply it with --artefact REF=PATH",
        blame="receiver",
    ),
    _R.BINDING_MISMATCH: Entry(
        "the message contradicts what the receiver supplied",
        "check that the right context was supplied; else refuse the message",
    ),
    _R.REPLY_MISMATCH: Entry(
        "the message answers a message that is not known or is of another kind",
        "answer a message of this case, of the right kind",
    ),
    _R.FENCE_STALE: Entry(
        "the fence epoch does not rise", "cancel with an epoch above the last one", 409
    ),
    _R.CEILING_EXCEEDED: Entry(
        "the message asks for more than it may have", "ask within the ceiling that the detail names"
    ),
    _R.DECLASSIFICATION_MISSING: Entry(
        "a tier is lowered without a valid fact for every step",
        "add the declassification facts, each unexpired and anchored",
        403,
    ),
    _R.QUARANTINED: Entry(
        "the content is in quarantine", "have an operator release it and send anew", 403
    ),
    _R.POLICY_REFUSED: Entry(
        "the standard allows it, this receiver does not", "see the detail for the rule", 403
    ),
    _R.RECEIPT_MISSING: Entry(
        "the task comes without the decision receipt that is wanted",
        "have the task decided, and send it with its actionDecision",
        403,
    ),
    _R.ENDPOINT_MISSING: Entry(
        "the task names no endpoint, so that no action can be made of it",
        "name the endpoint in target.endpointId",
    ),
    _R.ACTION_SCHEMA_INVALID: Entry(
        "the action that the receipt is held against is missing or does not fit its schema",
        "supply the action, or the task that it comes from (context: dharma.action, dharma.task)",
        blame="receiver",
    ),
    _R.RECEIPT_SCHEMA_INVALID: Entry(
        "the receipt, or the decision around it, does not fit its schema",
        "mend the member that the pointer names",
    ),
    _R.STATE_MISMATCH: Entry(
        "the receipt judges another state or other evidence than the task hands over",
        "have the task decided as it is",
    ),
    _R.NOT_AUTHORISED: Entry(
        "the decision does not release the task",
        "do not run it; have it decided anew if the grounds have changed",
        403,
    ),
    _R.KEYSET_ROLLBACK: Entry(
        "the keyset is older than the one that is known, or another one of its generation",
        "fetch the newest keyset; after a restored backup, update the trust store at once",
        409,
        blame="operator",
    ),
    _R.KEYSET_FAST_FORWARD: Entry(
        "the generation rises by more than one update may",
        "apply the generations in between, or raise the limit with --fast-forward",
        409,
        blame="operator",
    ),
    _R.ISSUED_AT_REGRESSED: Entry(
        "the keyset was issued before the one that it follows",
        "check the clock of whoever proposed it, and propose it anew",
        409,
        blame="operator",
    ),
    _R.KEY_VERSION_REBOUND: Entry(
        "a key version stands for another key than before",
        "give the new key a version of its own",
        409,
        blame="operator",
    ),
    _R.SAME_KEY_TWICE: Entry(
        "one key stands under two versions",
        "list each key once, under the version that it always had",
        409,
        blame="operator",
    ),
    _R.THRESHOLD_NOT_MET: Entry(
        "too few of the keys that must sign it have signed it",
        "have more of the holders sign it with `taskseal keyset sign`, or a message with `sign`",
        409,
        blame="operator",
    ),
    _R.POSSESSION_MISSING: Entry(
        "a newly listed key has not shown that anybody holds its private half",
        "run `taskseal keyset sign` where the key is kept; check the key for a typing error",
        409,
        blame="operator",
    ),
    _R.ROTATION_OVERLAP_MISSING: Entry(
        "a key that signs keysets leaves without the overlap that it must keep",
        "list it unchanged for 10 minutes at least; a revoked key stays listed with revokedAt",
        409,
        blame="operator",
    ),
    _R.UNTRUSTED_INITIAL_SIGNER: Entry(
        "no pinned key signed this first keyset, or not every one did",
        "pin a key that signed it: --pin KEY_VERSION=PUBLIC_KEY",
        409,
        blame="operator",
    ),
    _R.INITIAL_SIGNER_EXPIRED: Entry(
        "the pinned key that signed this first keyset does not stand now",
        "fetch a keyset that a standing key signed, and pin that key",
        409,
        blame="operator",
    ),
    _R.UNTRUSTED_UPDATE_SIGNER: Entry(
        "the update is signed by no key that the current keyset lists and that stands now",
        "apply the updates in between first, or ask for one that a current key signed",
        409,
        blame="operator",
    ),
    _R.ORGANIZATION_MISMATCH: Entry(
        "the keyset is of another organisation or issuer",
        "give the keyset of the organisation that was meant",
        409,
        blame="operator",
    ),
    _R.GENERATION_NOT_ADVANCED: Entry(
        "the generation is no higher than the current one",
        "fetch the newest keyset",
        409,
        blame="operator",
    ),
    _R.DUPLICATE_KEY_VERSION: Entry(
        "a key version stands twice in the keyset",
        "give each key a version of its own",
        409,
        blame="operator",
    ),
    _R.INVALID_KEY_LIFETIME: Entry(
        "a key has an unreadable instant, or ends no later than it begins",
        "mend notBefore and notAfter of the key that the pointer names",
        409,
        blame="operator",
    ),
    _R.NO_ACTIVE_KEY: Entry(
        "no key of the keyset is active",
        "list one key at least with the status active",
        409,
        blame="operator",
    ),
    _R.CURRENT_INVALID_LIFETIME: Entry(
        "the lifetime of the current keyset is unreadable or too long",
        "start anew from a pinned keyset: `taskseal trust replace`",
        409,
        blame="operator",
    ),
    _R.CURRENT_NOT_YET_VALID: Entry(
        "the current keyset is from the future",
        "check the clocks",
        409,
        blame="operator",
    ),
    _R.CURRENT_EXPIRED: Entry(
        "the current keyset has expired, and may not verify its successor",
        "start anew from a pinned keyset: `taskseal trust replace`",
        409,
        blame="operator",
    ),
    _R.CURRENT_DUPLICATE_KEY_VERSION: Entry(
        "a key version stands twice in the current keyset",
        "start anew from a pinned keyset: `taskseal trust replace`",
        409,
        blame="operator",
    ),
    _R.CURRENT_INVALID_KEY_LIFETIME: Entry(
        "a key of the current keyset has unreadable or disordered instants",
        "start anew from a pinned keyset: `taskseal trust replace`",
        409,
        blame="operator",
    ),
    _R.CURRENT_NO_ACTIVE_KEY: Entry(
        "no key of the current keyset is active",
        "start anew from a pinned keyset: `taskseal trust replace`",
        409,
        blame="operator",
    ),
    _R.REPLAYED: Entry("the message was accepted before", "do nothing: it is done", 409, 7),
    _R.REPLAY_CONFLICT: Entry(
        "another message was accepted under the same id", "send new work under a new id", 409
    ),
    _R.BEFORE_HORIZON: Entry(
        "the message expired before the oldest instant that the ledger still remembers",
        "ask the sender for a fresh one",
        410,
    ),
    _R.IN_DOUBT: Entry(
        "the message was begun and nobody knows whether it was done",
        "find out whether it was done, then resolve it in the ledger",
        409,
        5,
        blame="receiver",
    ),
    _R.LEDGER_UNAVAILABLE: Entry(
        "the ledger cannot tell whether the message was seen",
        "mend the ledger and offer the message again; nothing was accepted",
        503,
        5,
        True,
        "machine",
    ),
    _R.ACCEPTANCE_SWAPPED: Entry(
        "the acceptance is of another request",
        "ask the receiver for the acceptance of this request",
        409,
    ),
    _R.ACCEPTANCE_STALE: Entry(
        "the acceptance is of another attempt under the same id, or of another time",
        "ask the receiver again; to look into the past, verify as of then with --at",
        409,
    ),
    _R.ACCEPTANCE_PARTIAL: Entry(
        "the receiver accepted the request without checking all that it binds",
        "have the receiver check the rest, or take it as it is with --allow-partial",
        409,
    ),
    _R.USAGE: Entry("the command cannot be understood", "see --help", 400, 2, blame="caller"),
    _R.FILE_MISSING: Entry("there is no such file", "check the path", 400, 6, blame="caller"),
    _R.FILE_UNREADABLE: Entry(
        "the file cannot be read", "check its kind and permissions", 400, 6, blame="caller"
    ),
    _R.FILE_EXISTS: Entry(
        "a file stands there already", "choose another path, or add --force", 409, 6, blame="caller"
    ),
    _R.FILE_UNWRITABLE: Entry(
        "the file cannot be written; what stood there is whole",
        "check the folder, its permissions and the space left",
        500,
        6,
        blame="machine",
    ),
    _R.FILE_CHANGED: Entry(
        "the file changed while it was read",
        "read it again when nobody writes",
        409,
        6,
        True,
        "machine",
    ),
    _R.CONFIG_MALFORMED: Entry(
        "the configuration cannot be used", "mend the member named", 400, 3, blame="operator"
    ),
    _R.CONFIG_UNSAFE: Entry(
        "others than its owner could change what this receiver relies on",
        "take the permission to write away: chmod go-w",
        400,
        6,
        blame="operator",
    ),
    _R.PROFILE_MALFORMED: Entry(
        "the profile file cannot be used", "mend the member named", 400, 3, blame="operator"
    ),
    _R.CONTEXT_MALFORMED: Entry(
        "the context file cannot be used", "mend the member named", 400, 3, blame="caller"
    ),
    _R.TRUST_MISSING: Entry(
        "no trusted key was given",
        "name a pins file or a keyset with --trust FILE",
        400,
        2,
        blame="operator",
    ),
    _R.TRUST_MALFORMED: Entry(
        "the trust file cannot be used", "mend the member named", 400, 3, blame="operator"
    ),
    _R.TRUST_SIGNATURE_BAD: Entry(
        "the keyset's own signature does not hold",
        "fetch the keyset anew",
        400,
        4,
        blame="operator",
    ),
    _R.TRUST_CONFLICT: Entry(
        "two trusted entries give one issuer and version different keys",
        "remove the wrong one",
        400,
        4,
        blame="operator",
    ),
    _R.KEYRING_MISSING: Entry(
        "there is no keyring here",
        "make a key with `taskseal keys new`, or name --keyring DIR",
        400,
        4,
        blame="operator",
    ),
    _R.KEYRING_MALFORMED: Entry(
        "the keyring cannot be read", "restore it from a backup", 500, 4, blame="operator"
    ),
    _R.KEYRING_BUSY: Entry(
        "another process is changing the keyring",
        "try again when it has finished",
        503,
        4,
        True,
        "machine",
    ),
    _R.KEY_VERSION_TAKEN: Entry(
        "a key of this version exists already",
        "choose another version name",
        409,
        4,
        blame="caller",
    ),
    _R.KEY_NOT_SIGNING: Entry(
        "the key may not sign at this time",
        "choose a key within its signing window",
        409,
        4,
        blame="caller",
    ),
    _R.NO_SIGNING_KEY: Entry(
        "no key of the keyring may sign this profile now",
        "make one with `taskseal keys new VERSION --for PROFILE`",
        409,
        4,
        blame="caller",
    ),
    _R.SEVERAL_SIGNING_KEYS: Entry(
        "several keys may sign this profile now",
        "name one with --key-version",
        409,
        2,
        blame="caller",
    ),
    _R.RECEIVERS_BEHIND: Entry(
        "a receiver does not know the new key yet",
        "wait until it has taken the keyset, or insist with --force",
        409,
        4,
        blame="caller",
    ),
    _R.PASSPHRASE_NEEDED: Entry(
        "the key is locked and no passphrase was given",
        "set TASKSEAL_PASSPHRASE, or name a file with --passphrase-file",
        400,
        2,
        blame="caller",
    ),
    _R.PASSPHRASE_WRONG: Entry(
        "the passphrase does not open the key",
        "try again with the right one",
        400,
        4,
        blame="caller",
    ),
    _R.EXTRA_MISSING: Entry(
        "an optional part is not installed",
        "install the extra that the detail names",
        501,
        4,
        blame="operator",
    ),
}

REASONS: Mapping[Reason, Entry] = MappingProxyType(_TABLE)
"""Every reason with its text, remedy, HTTP status, exit code, retryability and whose fault it is.

The exit code is the one of a verdict. Where it is 1, an :class:`InputError` of the same code
exits 3 and a :class:`MaterialError` 4, since then the caller's own files are at fault.
"""

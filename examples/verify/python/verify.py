"""Checks what `taskseal sign` made, with nothing of taskseal: joserfc.

    python verify.py PROFILE PINS SEALED     a JWS with its document inside

The document goes to standard output, and only when everything holds. Exit code 1 is a refusal.
"""

import json
import sys
import time
from datetime import datetime

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import import_key

SKEW = 300  # seconds that a sender's clock may be ahead
TAKEN = ["Ed25519", "EdDSA"]


class Refused(Exception):
    """Why it is not taken."""


def must(holds, reason):
    if not holds:
        raise Refused(reason)


def seconds(text):
    return datetime.fromisoformat(text).timestamp()


def key_for(profile, pins, now):
    """Gives joserfc the one key that the header names, if it may sign this profile."""

    def find(signature):
        header = signature.headers()
        kind = f"vnd.taskseal.{profile.replace('/', '.')}+jws"
        must(header.get("typ") == kind, "it is for something else")
        must(header.get("iss") == pins["issuer"], "it is by another issuer")
        issued, expires = header.get("iat"), header.get("exp")
        must(type(issued) is int and type(expires) is int, "it says nothing of its time")
        must(issued - SKEW <= now < expires, "it has expired, or is not valid yet")

        named = [key for key in pins["keys"] if key["keyVersion"] == header.get("kid")]
        must(len(named) == 1, "the key is unknown")
        (key,) = named
        must(key["alg"] == "Ed25519", "the key is of another algorithm")
        must(profile in key["profiles"], "the key may not sign this profile")
        must("revokedAt" not in key, "the key is revoked")
        must(seconds(key["notBefore"]) <= now, "the key is not yet valid")
        must(now < seconds(key["acceptUntil"]), "the key has expired")
        sign_until = seconds(key.get("signUntil", key["acceptUntil"]))
        must(now < sign_until or issued < sign_until, "the key is retired")
        return import_key(key["publicKey"])

    return find


def verify(profile, pins, sealed, now):
    """The document in a flattened JWS, as bytes."""
    must(isinstance(sealed, dict), "it is no JWS")
    must(sealed.keys() == {"payload", "protected", "signature"}, "it is no JWS with a payload")
    # RFC 7515 leaves header names open; what matters here is asked for in find.
    registry = jws.JWSRegistry(algorithms=TAKEN, strict_check_header=False)
    try:
        return jws.deserialize_json(sealed, key_for(profile, pins, now), registry=registry).payload
    except (JoseError, ValueError) as fault:
        raise Refused(f"the signature does not hold: {fault}") from None


def main():
    if len(sys.argv) != 4:
        print("usage: python verify.py PROFILE PINS SEALED", file=sys.stderr)
        return 2
    profile, pins_file, sealed_file = sys.argv[1:]
    with open(pins_file, "rb") as file:
        pins = json.load(file)
    with open(sealed_file, "rb") as file:
        text = file.read()
    try:
        try:
            sealed = json.loads(text)
        except (ValueError, RecursionError):
            raise Refused("it is not JSON") from None
        payload = verify(profile, pins, sealed, time.time())
    except Refused as refused:
        print(f"refused: {refused}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(payload)
    return 0


if __name__ == "__main__":
    sys.exit(main())

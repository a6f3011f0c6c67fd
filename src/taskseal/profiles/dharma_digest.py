"""Digests of open content under the two canonical forms that Dharma systems may have used.

Source: SPEC sections 1 ("Dharma's real canonicaliser is not RFC 8785") and 2.6.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from taskseal.canon.dharma import portability
from taskseal.canon.digest import Digest
from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, Reason

CODEC = "sha256:hex"


class Fit(NamedTuple):
    """Whether a digest covers a value: under which canonical rule it does, or why it does not.

    Exactly one of ``canonical`` and ``fault`` is set. The fault is ``digest_mismatch``, or
    ``not_portable`` where Dharma's own form is not known, so that nobody can tell.
    """

    canonical: Literal["rfc8785", "dharma"] | None
    fault: tuple[Reason, str] | None = None


def fit(text: object, value: object) -> Fit:
    """Holds the digest that ``text`` spells against ``value``, in either canonical form.

    Raises:
        InputError: as :func:`taskseal.canon.jcs.canonicalise`.
    """
    own = Digest.of(canonicalise(value))
    try:
        wanted = Digest.read(text, CODEC)
    except InputError as fault:
        return Fit(None, (Reason.DIGEST_MISMATCH, fault.detail))
    if wanted == own:
        return Fit("rfc8785")
    other = portability(value)
    if other.form is not None and wanted == Digest.of(other.form):
        return Fit("dharma")
    if other.verdict == "undecidable":
        return Fit(None, (Reason.NOT_PORTABLE, other.said))
    return Fit(None, (Reason.DIGEST_MISMATCH, f"the digest is {own.text(CODEC)}"))


def portable_digest(value: object, *, allow_divergent: bool = False) -> Digest:
    """The digest of ``value``, whose canonical form is the same for every reader.

    Args:
        value: a JSON value.
        allow_divergent: give the digest of the RFC 8785 form also where Dharma's differs.

    Raises:
        InputError: ``not_portable`` where the forms differ or Dharma's is undefined; else as
            :func:`taskseal.canon.jcs.canonicalise`.
    """
    data = canonicalise(value)
    found = portability(value)
    if found.verdict != "same" and not allow_divergent:
        raise InputError(Reason.NOT_PORTABLE, found.said, pointer=found.pointer)
    return Digest.of(data)

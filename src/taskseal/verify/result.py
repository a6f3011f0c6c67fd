"""What a verification gives: :class:`Accepted` or :class:`Refused`, never a truth value.

Source: SPEC section 7.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, NoReturn

from taskseal.canon.digest import Digest
from taskseal.errors import REASONS, Reason
from taskseal.ledger.base import ReplayId
from taskseal.profiles.base import Check
from taskseal.validity import Instant, to_datetime, write_instant
from taskseal.verify.frozen import freeze

Disposition = Literal["dead_letter", "retry", "answer"]


def no_truth(self: object) -> NoReturn:
    """The ``__bool__`` of a verdict: an ``if`` must not pass for having looked at it."""
    raise TypeError(
        f"{type(self).__name__} has no truth value: match on its type, or call verify()"
    )


class SignerInfo(NamedTuple):
    """Who signed: the issuer's key version that verified, never what a message claims.

    ``thumbprint`` is the 43-character RFC 7638 one.
    """

    issuer: str
    key_version: str
    principal: str | None
    thumbprint: str

    def to_json(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "keyVersion": self.key_version,
            "principal": self.principal,
            "thumbprint": self.thumbprint,
        }


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message is authentic, fresh, for this receiver, and bound to what was supplied.

    ``expires_at`` is the smallest of all expiries. ``unchecked`` names the checks that were
    skipped. ``replay_ids`` are those that a ledger took; a pure verification takes none.
    ``authorised`` is None where the profile knows no authorisation. ``signers`` are all whose
    signatures count, ``signer`` is the first of them by issuer and key version. A document
    without any times counts as issued when its key began, and stands as long as that does.
    """

    profile: str
    signers: tuple[SignerInfo, ...]
    form: str
    canonical: str
    issued: Instant
    expires: Instant
    checks: tuple[Check, ...]
    _signed: bytes
    _value: Mapping[str, Any]
    replay_ids: tuple[ReplayId, ...] = ()
    authorised: bool | None = None

    __bool__ = no_truth

    @property
    def signer(self) -> SignerInfo:
        """Who signed: the first of them."""
        return self.signers[0]

    @property
    def digest(self) -> Digest:
        """SHA-256 of the bytes signed: the canonical envelope without its signature."""
        return Digest.of(self._signed)

    @property
    def envelope(self) -> Mapping[str, Any]:
        """The verified value, read-only."""
        frozen: Mapping[str, Any] = freeze(self._value)
        return frozen

    @property
    def issued_at(self) -> datetime:
        """When it was issued, UTC, cut to microseconds."""
        return to_datetime(self.issued)

    @property
    def expires_at(self) -> datetime:
        """When it stops being valid, UTC, cut to microseconds."""
        return to_datetime(self.expires)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The names of the checks that could not be made."""
        return unchecked(self.checks)

    def to_json(self) -> dict[str, Any]:
        """The object that ``verify --json`` prints (SPEC section 9)."""
        return verdict_json(
            "accepted",
            profile=self.profile,
            signer=self.signer,
            form=self.form,
            canonical=self.canonical,
            digest=self.digest,
            issued=self.issued,
            expires=self.expires,
            authorised=self.authorised,
            checks=self.checks,
        ) | ({} if len(self.signers) < 2 else {"signers": [s.to_json() for s in self.signers]})


class Refused(Exception):
    """The message is refused; value and exception in one.

    ``pointer`` is RFC 6901 into the envelope (into the signature's outer object for faults of
    the header). ``authenticated`` is true when the signature held and its signer is known; only
    then ``signer`` and ``answer`` are set. ``disposition`` says what to do with the message:
    put it aside, offer it again later, or send ``answer`` back.
    """

    def __init__(
        self,
        reason: Reason,
        detail: str = "",
        pointer: str | None = None,
        *,
        checks: Iterable[Check] = (),
        hint: str | None = None,
        profile: str | None = None,
        form: str | None = None,
        canonical: str | None = None,
        signer: SignerInfo | None = None,
        signed: bytes | None = None,
        issued: Instant | None = None,
        expires: Instant | None = None,
        authorised: bool | None = None,
        answer: dict[str, Any] | None = None,
    ) -> None:
        entry = REASONS[reason]
        self.reason = self.code = reason
        self.detail = detail or entry.text
        self.pointer = pointer
        self.checks = tuple(checks)
        self.hint = hint or entry.remedy
        self.retryable = entry.retryable
        self.profile = profile
        self.form = form
        self.canonical = canonical
        self.signer = signer
        self._signed = signed
        self.issued = issued
        self.expires = expires
        self.authorised = authorised
        self.answer = answer
        super().__init__(self.detail)

    def __bool__(self) -> bool:
        # In flight it is true like every exception, since executors and test tools ask
        # `if error`; and always to the standard library's printer of tracebacks, which asks so
        # of every cause. As a value in hand it has no truth value.
        if self.__traceback__ is not None:
            return True
        asking = sys._getframe(1).f_globals.get("__name__")
        return True if asking == "traceback" else no_truth(self)

    def as_value(self) -> Refused:
        """Itself, free of the frames that it was raised through."""
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)

    @property
    def digest(self) -> Digest | None:
        """SHA-256 of the bytes signed, once the signature held."""
        return None if self._signed is None else Digest.of(self._signed)

    @property
    def authenticated(self) -> bool:
        """Whether the signature held and its signer is known."""
        return self.signer is not None

    @property
    def disposition(self) -> Disposition:
        """What to do with the message."""
        if self.answer is not None:
            return "answer"
        return "retry" if self.retryable else "dead_letter"

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The names of the checks that could not be made."""
        return unchecked(self.checks)

    def __str__(self) -> str:
        where = "" if self.pointer is None else f" at {self.pointer or 'the top'}"
        return f"{self.reason}{where}: {self.detail}"

    def __repr__(self) -> str:
        return f"Refused({self})"

    def to_json(self) -> dict[str, Any]:
        """The object that ``verify --json`` prints (SPEC section 9)."""
        return verdict_json(
            "refused",
            reason=self.reason,
            detail=self.detail,
            pointer=self.pointer,
            profile=self.profile,
            signer=self.signer,
            form=self.form,
            canonical=self.canonical,
            digest=self.digest,
            issued=self.issued,
            expires=self.expires,
            authorised=self.authorised,
            checks=self.checks,
            answer=self.answer,
        )


def unchecked(checks: Iterable[Check]) -> tuple[str, ...]:
    """The names of the skipped checks among ``checks``."""
    return tuple(check.check for check in checks if check.result == "skipped")


def verdict_json(
    verdict: str,
    *,
    reason: Reason | None = None,
    detail: str | None = None,
    pointer: str | None = None,
    profile: str | None = None,
    signer: SignerInfo | None = None,
    form: str | None = None,
    canonical: str | None = None,
    digest: Digest | None = None,
    issued: Instant | None = None,
    expires: Instant | None = None,
    authorised: bool | None = None,
    checks: Iterable[Check] = (),
    answer: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One verdict as the JSON object of SPEC section 9; the same members for every verdict."""
    checks = tuple(checks)
    return {
        "verdict": verdict,
        "reason": reason,
        "detail": detail,
        "pointer": pointer,
        "profile": profile,
        "signer": None if signer is None else signer.to_json(),
        "form": form,
        "canonical": canonical,
        "digest": None if digest is None else digest.text("sha256:hex"),
        "issuedAt": None if issued is None else write_instant(issued),
        "expiresAt": None if expires is None else write_instant(expires),
        "authorised": authorised,
        "unchecked": list(unchecked(checks)),
        "checks": [
            {
                "check": check.check,
                "result": check.result,
                "reason": check.reason,
                "detail": check.detail or None,
                "pointer": check.pointer,
            }
            for check in checks
        ],
        "answer": answer,
    }

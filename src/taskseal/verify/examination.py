"""One message under examination: what is known so far, and how a refusal is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NoReturn

from taskseal.canon.digest import Digest
from taskseal.canon.jcs import encode
from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.trust import Trust
from taskseal.ledger.base import ReplayId
from taskseal.profiles.base import AisaIdentity, Binding, Check, Context, Facts, Profile, failed
from taskseal.profiles.material import Source
from taskseal.validity import Instant
from taskseal.verify.policy import Identity, Policy
from taskseal.verify.result import Accepted, Refused, SignerInfo
from taskseal.wire.embedded import without
from taskseal.wire.jws import Jws


@dataclass(slots=True)
class Examination:
    """The state of one verification, filled step by step; it lives for one call.

    ``envelope`` is the value exactly as parsed, ``plain`` says that the fast writer may write
    it, ``received`` is the text when that is its canonical form already. ``signed`` is the
    canonical envelope without an embedded signature: what the digest covers. ``outcome`` is what
    an action decision says, once all else in it has held, and ``authorised`` what follows.
    """

    trust: Trust
    policy: Policy
    identity: Identity | None
    now: Instant
    context: Context = field(default_factory=Context)
    artefacts: Mapping[str, Source] = field(default_factory=dict)
    fence_in_ledger: bool = False
    signing: bool = False
    checks: list[Check] = field(default_factory=list)
    profile: Profile | None = None
    envelope: dict[str, Any] = field(default_factory=dict)
    plain: bool = False
    received: bytes | None = None
    form: str | None = None
    jws: Jws | None = None
    entry: KeyEntry | None = None
    bindings: tuple[Binding, ...] = ()
    signature: bytes = b""
    signed: bytes = b""
    canonical: str = "rfc8785"
    authentic: bool = False
    issued: Instant | None = None
    expires: Instant | None = None
    outcome: str | None = None
    authorised: bool | None = None

    def add(self, check: Check) -> None:
        """Notes ``check``; a failed one ends the examination.

        Raises:
            Refused: when ``check`` failed.
        """
        self.checks.append(check)
        if check.result == "failed":
            raise self._refused(check)

    def add_all(self, checks: Iterable[Check]) -> None:
        """Notes ``checks`` in order, up to the first failed one."""
        for check in checks:
            self.add(check)

    def fail(
        self, check: str, reason: Reason, detail: str = "", pointer: str | None = None
    ) -> NoReturn:
        """Notes that ``check`` failed, and ends the examination.

        Raises:
            Refused: always.
        """
        line = failed(check, reason, detail, pointer)
        self.checks.append(line)
        raise self._refused(line)

    @property
    def kind(self) -> Profile:
        """The profile, known from the first step on."""
        assert self.profile is not None
        return self.profile

    @property
    def claims(self) -> Mapping[str, Any]:
        """The part of the envelope for which its signature speaks."""
        pointer = self.kind.signed
        part = self.envelope if pointer is None else resolve(self.envelope, pointer)
        return part if isinstance(part, dict) else {}

    @property
    def facts(self) -> Facts:
        """What the profile's checks may look at."""
        return Facts(
            envelope=self.envelope,
            now=self.now,
            context=self.context,
            signing=self.signing,
            fence_in_ledger=self.fence_in_ledger,
            allow_truncated=self.policy.allow_truncated,
        )

    @property
    def signer(self) -> SignerInfo | None:
        """Who signed, once that is proven."""
        entry = self.entry
        if not self.authentic or entry is None or entry.key is None:
            return None
        return SignerInfo(entry.issuer, entry.key_version, entry.principal, entry.key.thumbprint)

    @property
    def digest(self) -> Digest | None:
        """The digest of the bytes signed, once the signature held."""
        return Digest.of(self.signed) if self.authentic else None

    def fingerprint(self) -> bytes:
        """SHA-256 of the canonical envelope without signature and key version (SPEC section 8).

        A message signed again after a rotation has the same one.
        """
        kind = self.kind
        outside = (*kind.key_version, *([kind.signature] if kind.signature else ()))
        bare: object = without(self.envelope, outside)
        if kind.signed is not None:
            bare = resolve(bare, kind.signed)
        return sha256(encode(bare, plain=self.plain)).digest()

    def replay_ids(self, issuer: str | None = None) -> tuple[ReplayId, ...] | None:
        """The ids under which a ledger remembers the message (SPEC sections 0 and 8).

        ``issuer`` is the signer's, unless somebody else has proven who signed. None when an id is
        missing, which only a schema can rule out.
        """
        kind = self.kind
        if issuer is None:
            assert self.entry is not None
            issuer = self.entry.issuer
        within = None if kind.scope is None else resolve(self.envelope, kind.scope)
        ids = []
        for name, pointer in kind.replay:
            value = resolve(self.envelope, pointer)
            if value is MISSING or within is MISSING:
                return None
            if name in kind.fold and type(value) is str:
                value = value.lower()
            # In a spelling that no other names share.
            scope = encode([kind.id, issuer, within, name], plain=False).decode()
            ids.append(ReplayId(scope, encode(value, plain=False).decode()))
        return tuple(ids)

    def accepted(self, replay_ids: tuple[ReplayId, ...] = ()) -> Accepted:
        """The verdict when nothing failed; ``replay_ids`` are those that a ledger took."""
        signer, digest = self.signer, self.digest
        assert signer is not None and digest is not None
        assert self.issued is not None and self.expires is not None
        return Accepted(
            profile=self.kind.id,
            signer=signer,
            form=self.form or "",
            canonical=self.canonical,
            digest=digest,
            issued=self.issued,
            expires=self.expires,
            checks=tuple(self.checks),
            replay_ids=replay_ids,
            authorised=self.authorised,
            _value=self.envelope,
        )

    def _refused(self, check: Check) -> Refused:
        assert check.reason is not None
        return Refused(
            check.reason,
            check.detail,
            check.pointer,
            checks=self.checks,
            profile=None if self.profile is None else self.profile.id,
            form=self.form,
            canonical=self.canonical if self.authentic else None,
            signer=self.signer,
            digest=self.digest,
            issued=self.issued,
            expires=self.expires,
            authorised=self.authorised,
            answer=self._answer(check.reason),
        )

    def _answer(self, reason: Reason) -> dict[str, Any] | None:
        me: AisaIdentity | None = None if self.identity is None else self.identity.aisa
        if not self.authentic or self.profile is None or me is None:
            return None
        return self.profile.answer(self.facts, reason, me)

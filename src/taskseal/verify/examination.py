"""One message under examination: what is known so far, and how a refusal is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NoReturn

from taskseal.canon.digest import Digest
from taskseal.canon.files import Hashed
from taskseal.canon.jcs import encode
from taskseal.canon.pointer import MISSING, resolve
from taskseal.errors import Reason
from taskseal.keys.entry import KeyEntry
from taskseal.keys.trust import Trust
from taskseal.ledger.base import ReplayId
from taskseal.profiles.base import (
    AisaIdentity,
    Binding,
    Check,
    Facts,
    Profile,
    failed,
    skipped,
)
from taskseal.profiles.material import Source
from taskseal.validity import Instant
from taskseal.verify.policy import Identity, Policy, Terms
from taskseal.verify.result import Accepted, Refused, SignerInfo
from taskseal.verify.revocation import Evidence
from taskseal.wire.base import Received
from taskseal.wire.embedded import without
from taskseal.wire.jws import Jws


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A signature that holds, and the key that it is of; an embedded one says nothing itself."""

    entry: KeyEntry
    seal: Received | None = None

    @property
    def issued(self) -> Instant | None:
        """When the signature says that it was made."""
        return None if self.seal is None else self.seal.issued


@dataclass(kw_only=True)
class Examination(Facts):
    """The state of one verification, filled step by step; it lives for one call.

    A profile's own checks get it as :class:`Facts`. ``settled`` is what ``policy`` says of the
    profiles at hand, where that was settled before. ``envelope`` is the value exactly as
    parsed, ``plain`` says that the fast writer may write it, ``written`` is its canonical
    form, once that is known. ``signed`` is the canonical envelope without an embedded
    signature: what the digest covers. ``seals`` are the signatures as received and ``proofs``
    those that count, by issuer and key version; ``entry`` and ``jws`` are the first one's.
    ``outcome`` is what an action decision says, once all else in it has held, and ``authorised``
    what follows.
    """

    trust: Trust
    policy: Policy
    settled: Mapping[str, Terms] = field(default_factory=dict)
    identity: Identity | None
    artefacts: Mapping[str, Source] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    checks: list[Check] = field(default_factory=list)
    measured: dict[tuple[str, str, str], Hashed | None] = field(default_factory=dict)
    # What is found on the way. Until then the class's own value stands, where there is one.
    envelope: dict[str, Any] = field(init=False)
    profile: Profile | None = field(init=False, default=None)
    kind: Profile = field(init=False)
    terms: Terms = field(init=False)
    plain: bool = field(init=False, default=False)
    written: bytes | None = field(init=False, default=None)
    form: str | None = field(init=False, default=None)
    seals: tuple[Received, ...] = field(init=False, default=())
    proofs: tuple[Proof, ...] = field(init=False, default=())
    issuers: tuple[str, ...] = field(init=False, default=())
    jws: Jws | None = field(init=False, default=None)
    entry: KeyEntry | None = field(init=False, default=None)
    bindings: tuple[Binding, ...] = field(init=False, default=())
    signature: bytes = field(init=False, default=b"")
    signed: bytes = field(init=False, default=b"")
    canonical: str = field(init=False, default="rfc8785")
    authentic: bool = field(init=False, default=False)
    issued: Instant | None = field(init=False, default=None)
    expires: Instant | None = field(init=False, default=None)
    outcome: str | None = field(init=False, default=None)
    authorised: bool | None = field(init=False, default=None)

    def add(self, check: Check) -> None:
        """Notes ``check``; a failed one ends the examination.

        Raises:
            Refused: when ``check`` failed.
        """
        self.checks.append(check)
        if check.reason is not None:
            raise self._refused(check)

    def add_all(self, checks: Iterable[Check]) -> None:
        """Notes ``checks`` in order, up to the first failed one."""
        for check in checks:
            self.checks.append(check)
            if check.reason is not None:
                raise self._refused(check)

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

    def narrow(self, judge: Callable[[Proof], Check]) -> None:
        """Keeps the signatures that ``judge`` passes, and notes how the check went.

        Raises:
            Refused: for the first that failed, when too few are left.
        """
        if len(self.standing) == 1:
            self.add(judge(self.proofs[0]))
            return
        lines = [(proof, judge(proof)) for proof in self.standing]
        kept = [(proof, line) for proof, line in lines if line.result != "failed"]
        if len(kept) < len(lines):
            spoilt = [line for _, line in lines if line.result == "failed"]
            if self.signed_by(proof for proof, _ in kept) < self.threshold:
                self.add(spoilt[0])
            for line in spoilt:
                self.set_aside(line.reason, line.detail, line.pointer)
            self.keep(proof for proof, _ in kept)
        self.add(kept[0][1])

    def keep(self, proofs: Iterable[Proof]) -> None:
        """Lets these signatures count and no other, in an order that is not the sender's choice."""
        self.proofs = tuple(
            sorted(proofs, key=lambda each: (each.entry.issuer, each.entry.key_version))
        )
        self.entry = self.proofs[0].entry
        headed = [each.seal.jws for each in self.proofs if each.seal and each.seal.jws]
        # The one that may live longest: how long a ledger must know of the message.
        self.jws = max(headed, key=lambda jws: jws.header.iat or 0, default=None)

    def set_aside(self, reason: Reason | None, detail: str, pointer: str | None) -> None:
        """Notes that one signature among several does not count, and why."""
        said = f"{reason}: {detail}" if detail else str(reason)
        self.checks.append(skipped("co-signature", said, pointer))

    @property
    def standing(self) -> tuple[Proof, ...]:
        """The signatures that count."""
        if not self.proofs:
            assert self.entry is not None
            self.proofs = (Proof(self.entry),)
        return self.proofs

    @property
    def threshold(self) -> int:
        """How many distinct keys must have signed."""
        return max(1, self.policy.threshold)

    @staticmethod
    def signed_by(proofs: Iterable[Proof]) -> int:
        """How many distinct keys ``proofs`` are of, whatever their versions are called."""
        return len({each.entry.key.thumbprint for each in proofs if each.entry.key is not None})

    def take(self, profile: Profile) -> Profile:
        """Settles what the message is; from here on ``kind`` and ``terms`` are known."""
        self.profile = self.kind = profile
        terms = self.settled.get(profile.id)
        if terms is None or terms.profile is not profile:
            terms = self.policy.terms(profile)
        self.terms = terms
        self.allow_truncated = self.terms.truncated
        return profile

    @property
    def claims(self) -> Mapping[str, Any]:
        """The part of the envelope for which its signature speaks."""
        pointer = self.kind.signed
        part = self.envelope if pointer is None else resolve(self.envelope, pointer)
        return part if isinstance(part, dict) else {}

    def find_key(self, version: str, issuer: str | None = None) -> KeyEntry | Reason:
        """The trusted key of that version, as :meth:`Trust.find`; an unknown one is looked up
        once more where a trust store may have changed."""
        found = self.trust.find(version, issuer)
        if found is Reason.UNKNOWN_KEY:
            self.trust = self.trust.after_miss()
            found = self.trust.find(version, issuer)
        return found

    def find_holder(self, fits: Callable[[str, bytes], bool]) -> KeyEntry | Reason:
        """The one trusted key whose algorithm and bytes ``fits`` takes; as :meth:`find_key`."""
        for trust in (self.trust, None):
            self.trust = trust or self.trust.after_miss()
            found = [
                entry
                for entry in self.trust.entries()
                if entry.key is not None and fits(entry.key.algorithm, entry.key.raw)
            ]
            if found:
                return found[0] if len(found) == 1 else Reason.AMBIGUOUS_KEY
        return Reason.UNKNOWN_KEY

    @property
    def signer(self) -> SignerInfo | None:
        """Who signed, once that is proven."""
        if not self.authentic or self.entry is None:
            return None
        return signer_info(self.entry)

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

        ``issuer`` is the signer's, unless somebody else has proven who signed. What several
        issuers have signed has the ids of each: taking a signature away makes no new message.
        None when an id is missing, which only a schema can rule out.
        """
        kind = self.kind
        if issuer is not None:
            issuers: tuple[str, ...] = (issuer,)
        else:
            assert self.entry is not None
            issuers = self.issuers or (self.entry.issuer,)
        within = None if kind.scope is None else resolve(self.envelope, kind.scope)
        ids = []
        for name, pointer in kind.replay:
            value = resolve(self.envelope, pointer)
            if value is MISSING or within is MISSING:
                return None
            if name in kind.fold and type(value) is str:
                value = value.lower()
            for each in issuers:
                # In a spelling that no other names share.
                scope = encode([kind.id, each, within, name], plain=False).decode()
                ids.append(ReplayId(scope, encode(value, plain=False).decode()))
        return tuple(ids)

    def accepted(self, replay_ids: tuple[ReplayId, ...] = ()) -> Accepted:
        """The verdict when nothing failed; ``replay_ids`` are those that a ledger took."""
        assert self.authentic and self.entry is not None and self.form is not None
        assert self.issued is not None and self.expires is not None
        several = tuple(signer_info(each.entry) for each in self.proofs) if self.proofs else ()
        return Accepted(
            profile=self.kind.id,
            signers=several or (signer_info(self.entry),),
            form=self.form,
            canonical=self.canonical,
            issued=self.issued,
            expires=self.expires,
            checks=tuple(self.checks),
            _signed=self.signed,
            _value=self.envelope,
            replay_ids=replay_ids,
            authorised=self.authorised,
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
            signed=self.signed if self.authentic else None,
            issued=self.issued,
            expires=self.expires,
            authorised=self.authorised,
            answer=self._answer(check.reason),
        )

    def _answer(self, reason: Reason) -> dict[str, Any] | None:
        me: AisaIdentity | None = None if self.identity is None else self.identity.aisa
        if not self.authentic or self.profile is None or me is None:
            return None
        return self.profile.answer(self, reason, me)


def signer_info(entry: KeyEntry) -> SignerInfo:
    """Whose key it is, as a verdict says it."""
    assert entry.key is not None
    return SignerInfo(entry.issuer, entry.key_version, entry.principal, entry.key.thumbprint)

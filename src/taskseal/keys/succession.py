"""A keyset on offer, ours or Dharma's, and whether it may be the first or the next.

Source: SPEC sections 4.9 and 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from taskseal.canon.jcs import canonicalise
from taskseal.errors import InputError, MaterialError, Reason
from taskseal.keys import dharma_rules, keyset_rules
from taskseal.keys.dharma_keyset import DharmaKeyset
from taskseal.keys.dharma_rules import DharmaHistory
from taskseal.keys.entry import DHARMA_KEYSET, KEYSET, KeyEntry
from taskseal.keys.keyset import MAX_KEYSET, SignedKeyset
from taskseal.keys.keyset_history import History, count
from taskseal.keys.keyset_rules import FAST_FORWARD
from taskseal.keys.pin import Pin
from taskseal.keys.shape import Shape
from taskseal.validity import Instant

Known = SignedKeyset | DharmaKeyset
"""A keyset whose own signatures hold."""


class Rules(NamedTuple):
    """What a receiver asks of keysets beyond the standard."""

    fast_forward: int = FAST_FORWARD
    allow_published_keys: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A keyset as it was handed over, its signatures unchecked.

    ``ours`` is None for a Dharma keyset, ``dharma`` None for one of ours.
    """

    issuer: str
    generation: int
    digest: str
    source: str
    ours: SignedKeyset | None = None
    dharma: Mapping[str, Any] | None = None

    @property
    def kind(self) -> str:
        """The profile id of the keyset."""
        return DHARMA_KEYSET if self.ours is None else KEYSET

    def to_json(self) -> bytes:
        """The file, in canonical form with one line end."""
        return self.ours.to_json() if self.ours else canonicalise(self.dharma) + b"\n"

    def entries(self) -> tuple[KeyEntry, ...]:
        """The listed keys; raises as :meth:`known` for a Dharma keyset."""
        return self.known().entries if self.ours is None else self.ours.entries

    def known(self) -> Known:
        """The keyset as a trust source.

        Raises:
            MaterialError: ``trust_malformed``, ``trust_signature_bad``.
        """
        if self.ours is not None:
            return self.ours.checked(self.source)
        return DharmaKeyset.read(self.dharma, Shape(self.source, Reason.TRUST_MALFORMED))


def read_offer(data: bytes, source: str) -> Offer:
    """The keyset of a file, of either kind.

    Args:
        data: the file's bytes.
        source: what errors call the file, such as its path.

    Raises:
        MaterialError: ``trust_malformed`` with the pointer; ``schema_invalid`` for a Dharma one.
        InputError: ``too_large``.
    """
    if len(data) > MAX_KEYSET:
        raise InputError(Reason.TOO_LARGE, f"{source}: {len(data)} bytes, at most {MAX_KEYSET}")
    shape = Shape(source, Reason.TRUST_MALFORMED)
    value = shape.document(data)
    if isinstance(value, Mapping) and value.get("schema") == DHARMA_KEYSET:
        keyset = dharma_rules.check_schema(value, source)
        digest = sha256(canonicalise(keyset)).hexdigest()
        issuer, generation = keyset["organizationId"], keyset["generation"]
        return Offer(issuer, generation, digest, source, dharma=keyset)
    signed = SignedKeyset.read(value, shape)
    return Offer(signed.issuer, signed.generation, signed.digest, source, ours=signed)


def begin(
    offer: Offer,
    pins: Sequence[Pin],
    now: Instant,
    rules: Rules = Rules(),  # noqa: B008 - an immutable value
    *,
    issuer: str | None = None,
) -> tuple[str, ...]:
    """Whether ``offer`` may be the first keyset of its issuer; what to note about it.

    Raises:
        MaterialError: with the reason of the first rule that does not hold.
    """
    allowed = rules.allow_published_keys
    if offer.ours is not None:
        return keyset_rules.check_first(
            offer.ours, pins, now, issuer=issuer, allow_published_keys=allowed
        )
    assert offer.dharma is not None
    dharma_rules.check_first(
        offer.dharma, pins, now, organization=issuer, allow_published_keys=allowed
    )
    return ()


def check_publishable(
    offer: Offer,
    line: Line | None,
    now: Instant,
    rules: Rules = Rules(),  # noqa: B008 - an immutable value
) -> tuple[str, ...]:
    """Whether receivers would take ``offer``, once they pin it or know ``line``; what to note.

    Args:
        offer: the keyset.
        line: the keysets that it follows; None for a first one.
        now: the instant, in nanoseconds since 1970.
        rules: what the receivers ask.

    Raises:
        MaterialError: with the reason of the first rule that does not hold; a missing signature
            is named by the version that is to make it.
    """
    if line is not None:
        return line.follow(offer, now, rules)
    if offer.ours is not None:
        made = offer.ours.made_by("keyset", offer.ours.keyset.signers())
        short = count(offer.ours, None, now).shortfall()
        if short is not None and not made:
            raise MaterialError(*short, pointer="/signatures")
        named = [entry for entry in offer.entries() if entry.key_version in made]
    else:
        assert offer.dharma is not None
        named = [e for e in offer.entries() if e.key_version == offer.dharma["signedByKeyVersion"]]
    pins = [Pin(each.key_version, each.key.thumbprint) for each in named if each.key]
    return begin(offer, pins, now, rules)


class Line:
    """The keysets of one issuer that follow each other; it grows by what may follow."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self._ours: History | None = None
        self._dharma: DharmaHistory | None = None
        self.last = offers[-1]
        if self.last.ours is not None:
            self._ours = History.of([each.ours.keyset for each in offers if each.ours])
        else:
            self._dharma = DharmaHistory.of([each.dharma for each in offers if each.dharma])

    @property
    def history(self) -> History | None:
        """What is known of our keysets; None in a line of Dharma's."""
        return self._ours

    def follow(
        self, offer: Offer, now: Instant, rules: Rules, *, last: bool = True
    ) -> tuple[str, ...]:
        """Takes ``offer`` as the current one, when it may follow; what to note about it.

        Args:
            offer: the next keyset.
            now: the instant, in nanoseconds since 1970.
            rules: what the receiver asks.
            last: whether it is to stay the current one; a link of a chain may have expired.

        Raises:
            MaterialError: with the reason of the first rule that does not hold.
        """
        allowed, limit = rules.allow_published_keys, rules.fast_forward
        if self._ours is not None and offer.ours is not None:
            found = keyset_rules.check_update(
                self._ours,
                offer.ours,
                now,
                last=last,
                fast_forward=limit,
                allow_published_keys=allowed,
            )
            self._ours = self._ours.after(offer.ours.keyset)
        elif self._dharma is not None and offer.dharma is not None:
            found = dharma_rules.check_update(
                self._dharma,
                offer.dharma,
                now,
                fast_forward=limit,
                allow_published_keys=allowed,
            )
            self._dharma = self._dharma.after(offer.dharma)
        else:
            raise MaterialError(
                Reason.TRUST_CONFLICT,
                f"{offer.source}: a {offer.kind} cannot follow a {self.last.kind}",
            )
        self.last = offer
        return found

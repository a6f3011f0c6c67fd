"""What a trust store knows of itself, as one value: what ``store.json`` holds.

Source: SPEC section 4.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from taskseal.canon.jcs import canonicalise
from taskseal.errors import Reason
from taskseal.keys.entry import KEYSET_PROFILES
from taskseal.keys.keyset import MAX_GENERATION
from taskseal.keys.pins import MAX_ISSUER
from taskseal.keys.shape import Shape
from taskseal.validity import Instant, write_instant

STORE_SCHEMA = "taskseal.trust-store/v1"
STATE_LIMIT = 1 << 26
"""Bytes of the largest ``store.json``."""
MAX_REASON = 1000
"""Characters of the longest reason for a replacement."""

How = Literal["added", "updated", "replaced"]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-f]{32}")
_REQUIRED = ("generation", "digest", "how", "at")


@dataclass(frozen=True, slots=True)
class Step:
    """How one keyset came into the store; ``digest`` names its file."""

    generation: int
    digest: str
    how: How
    at: Instant
    pins: tuple[str, ...] = ()
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The member of ``store.json``."""
        written: dict[str, Any] = {
            "generation": self.generation,
            "digest": self.digest,
            "how": self.how,
            "at": write_instant(self.at),
        }
        if self.pins:
            written["pins"] = list(self.pins)
        if self.reason is not None:
            written["reason"] = self.reason
        return written


@dataclass(frozen=True, slots=True)
class Chronicle:
    """All keysets of one issuer in the order in which they came; the last one counts."""

    kind: str
    steps: tuple[Step, ...]

    @property
    def highest(self) -> int:
        """The generation that counts; none below it ever will again."""
        return self.steps[-1].generation

    @property
    def line(self) -> tuple[Step, ...]:
        """The steps since the operator last vouched for a keyset: each follows the one before."""
        starts = [index for index, step in enumerate(self.steps) if step.how != "updated"]
        return self.steps[starts[-1] :]

    def with_step(self, step: Step) -> Chronicle:
        """The chronicle with one step more."""
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True, slots=True)
class StoreState:
    """Who stands in the store, and how each came to be trusted. ``id`` tells stores apart."""

    id: str
    issuers: Mapping[str, Chronicle] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def load(cls, data: bytes, source: str) -> StoreState:
        """The state that a file holds.

        Raises:
            MaterialError: ``trust_malformed`` with the pointer.
        """
        shape = Shape(source, Reason.TRUST_MALFORMED)
        top = shape.members(shape.document(data), "", ("schema", "id", "issuers"))
        shape.constant(top["schema"], "/schema", STORE_SCHEMA)
        if type(top["id"]) is not str or not _ID.fullmatch(top["id"]):
            raise shape.fault("/id", "32 hexadecimal digits belong here")
        listed = shape.items(top["issuers"], "/issuers") if top["issuers"] != [] else ()
        issuers: dict[str, Chronicle] = {}
        for index, item in enumerate(listed):
            at = f"/issuers/{index}"
            given = shape.members(item, at, ("issuer", "kind", "steps"))
            name = shape.text(given["issuer"], f"{at}/issuer", MAX_ISSUER)
            if given["kind"] not in KEYSET_PROFILES:
                raise shape.fault(f"{at}/kind", "the id of a keyset profile belongs here")
            steps = tuple(
                _read_step(step, f"{at}/steps/{number}", shape)
                for number, step in enumerate(shape.items(given["steps"], f"{at}/steps"))
            )
            _check_steps(steps, at, shape)
            issuers[name] = Chronicle(given["kind"], steps)
        if len(issuers) != len(listed):
            raise shape.fault("/issuers", "an issuer stands here twice")
        return cls(top["id"], MappingProxyType(issuers))

    def to_json(self) -> bytes:
        """The file, in canonical form with one line end."""
        issuers = [
            {"issuer": name, "kind": each.kind, "steps": [step.to_json() for step in each.steps]}
            for name, each in sorted(self.issuers.items())
        ]
        return canonicalise({"schema": STORE_SCHEMA, "id": self.id, "issuers": issuers}) + b"\n"

    def with_chronicle(self, issuer: str, chronicle: Chronicle) -> StoreState:
        """The state with another chronicle of ``issuer``."""
        return replace(self, issuers=MappingProxyType({**self.issuers, issuer: chronicle}))


def _read_step(value: object, at: str, shape: Shape) -> Step:
    given = shape.members(value, at, _REQUIRED, ("pins", "reason"))
    if type(given["digest"]) is not str or not _DIGEST.fullmatch(given["digest"]):
        raise shape.fault(f"{at}/digest", "64 hexadecimal digits belong here")
    if given["how"] not in ("added", "updated", "replaced"):
        raise shape.fault(f"{at}/how", "added, updated or replaced belongs here")
    pins = shape.items(given["pins"], f"{at}/pins") if "pins" in given else ()
    reason = given.get("reason")
    return Step(
        generation=shape.number(given["generation"], f"{at}/generation", 1, MAX_GENERATION),
        digest=given["digest"],
        how=given["how"],
        at=shape.instant(given["at"], f"{at}/at"),
        pins=tuple(shape.text(pin, f"{at}/pins", MAX_REASON) for pin in pins),
        reason=None if reason is None else shape.text(reason, f"{at}/reason", MAX_REASON),
    )


def _check_steps(steps: tuple[Step, ...], at: str, shape: Shape) -> None:
    if steps[0].how != "added":
        raise shape.fault(f"{at}/steps/0/how", "the first keyset of an issuer was added")
    for number in range(1, len(steps)):
        if steps[number].generation <= steps[number - 1].generation:
            raise shape.fault(f"{at}/steps/{number}/generation", "generations rise")

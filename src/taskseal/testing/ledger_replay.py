"""The model's events on a real ledger, so that both can be held against each other."""

from __future__ import annotations

from taskseal.errors import Unavailable
from taskseal.ledger import Full, Ledger, Outcome, Reserved
from taskseal.ledger.model import (
    Abandon,
    Advance,
    Answer,
    Commit,
    Event,
    LookUp,
    Offer,
    Purge,
    Release,
    Reserve,
    Resolve,
    Start,
)
from taskseal.validity import Instant


class Replay:
    """Puts events to ``ledger`` and gives its answers as the model would.

    A ledger makes tokens of its own: they are translated, both ways. A token that the ledger
    never made stands for itself, and a ledger without room answers :class:`Full`.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._tokens: dict[str, str] = {}

    def answer(self, event: Event, now: Instant) -> Answer:
        """What the ledger answers to ``event`` at ``now``."""
        try:
            if isinstance(event, Offer | Reserve):
                return self._offer(event, now)
            if isinstance(event, Start | Commit | Release | Abandon):
                return self._held(event, now)
        except Unavailable:
            return Full()
        match event:
            case LookUp(ids, fingerprint):
                return self.ledger.lookup(ids, fingerprint, now)
            case Resolve(ids, decision):
                return self.ledger.resolve(ids, decision, now)
            case Advance(scope, number):
                return self.ledger.advance(scope, number)
            case Purge():
                return self.ledger.purge(now)

    def _offer(self, event: Offer | Reserve, now: Instant) -> Outcome:
        if isinstance(event, Offer):
            return self.ledger.claim(event.claim, now)
        outcome = self.ledger.reserve(event.claim, now, event.lease)
        if isinstance(outcome, Reserved):
            self._tokens[event.token] = outcome.token
            return Reserved(event.token, outcome.until)
        return outcome

    def _held(self, event: Start | Commit | Release | Abandon, now: Instant) -> Outcome:
        token = self._tokens.get(event.token, event.token)
        match event:
            case Start():
                return self.ledger.start(token, now)
            case Commit(_, fence, acceptance):
                return self.ledger.commit(token, fence, acceptance, now)
            case Release():
                return self.ledger.release(token, now)
            case Abandon():
                return self.ledger.abandon(token, now)

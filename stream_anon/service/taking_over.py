"""Take over what the group gives: when that is due, and one attempt after another until it is done."""

from __future__ import annotations

from stream_anon.errors import BrokerError
from stream_anon.ports import Membership, Targets
from stream_anon.service.components import Components
from stream_anon.service.events import Away, Outcome, TakeoverStarted
from stream_anon.service.intake.input_reader import Reader
from stream_anon.service.joining import Joining
from stream_anon.service.retrying import Patience
from stream_anon.service.takeover.holdings import Holdings
from stream_anon.service.takeover.taken_over import Beginnings, Moved, TakenOver
from stream_anon.service.takeover.takeover_steps import take_over

WAIT = 0.2  # seconds for the group, before the loop goes on
RENEWED_WITHIN = 10.0  # seconds for the next heartbeat, which renews a membership that was turned away


class TakingOver:
    """Takes over whenever the group, the input or the ledger has changed.

    Parameters
    ----------
    joining, patience
        Of the worker.
    """

    def __init__(self, parts: Components, reader: Reader, joining: Joining, patience: Patience) -> None:
        self._parts, self._reader, self._joining, self._patience = parts, reader, joining, patience
        self._source, self._clock, self._reachability = parts.source, parts.clock, parts.reachability
        self.holdings = Holdings(parts.source, parts.policy.revision, parts.tell)
        self.targets: Targets | None = None  # where windows go; None if that must be asked
        self.beginnings = Beginnings(parts.choices.start)
        self._taken = -1  # the source's marks that the last takeover answered
        self._turned_away: Membership | None = None
        self._since: float | None = None
        self._attempts = 0

    @property
    def due(self) -> bool:
        """Return whether anything has changed since the last takeover."""
        changed = self._reader.is_another_topic or self._parts.ledger.is_gone
        return changed or self._source.marks != self._taken

    def demand(self) -> None:
        """Make a takeover due."""
        self._taken = -1

    def unpublished(self, outcome: Outcome, membership: Membership) -> None:
        """Demand a takeover after a window under this membership was not published."""
        self._turned_away = membership if outcome is Outcome.FENCED else None
        if outcome is Outcome.REFUSED:
            self.targets = None  # how much the topics take must be asked again
        self.demand()

    async def find_targets(self) -> None:
        """Ask where windows go. Raises BrokerError."""
        self.targets = await self._parts.sink.targets()

    def begin(self) -> None:
        """Begin to count, unless that was done; a takeover stays due until it is done."""
        self.demand()
        if self._since is None:
            self._since, self._attempts = self._clock.monotonic(), 0

    async def attempt(self) -> None:
        """Try once; no window may be on its way out."""
        marks = self._source.marks
        if not self._source.settled or self._still_turned_away():
            await self._joining.wait(marks, WAIT)
            return
        if not self._attempts:
            assigned = tuple(self._source.place(n) for n in sorted(self._source.assigned))
            self._parts.tell(TakeoverStarted(assigned))
        self._attempts += 1
        try:
            done, taken = await self._patience.unless_stopped(self._take_over())
        except Moved:
            await self._joining.wait(marks, 0.02)
        except BrokerError as error:
            self._reachability.failed(Away.TAKING_OVER, error)
            await self._patience.pause()
        else:
            if done and taken is not None:
                self._go_on(taken)

    def _still_turned_away(self) -> bool:
        """Return whether the client still holds the membership that was turned away.

        The next heartbeat renews it; until then a takeover would only be turned away again.
        """
        if self._turned_away is None or self._since is None:
            return False
        waited = self._clock.monotonic() - self._since
        return self._source.membership() == self._turned_away and waited < RENEWED_WITHIN

    async def _take_over(self) -> TakenOver:
        parts = self._parts
        await parts.sink.open()
        await parts.keeper.open(Away.TAKING_OVER)
        self.beginnings.ledger_is_new = parts.keeper.made
        if self.targets is None:
            await self.find_targets()
        return await take_over(
            parts.source,
            parts.sink,
            parts.ledger,
            parts.engine,
            self.beginnings,
            parts.at,
            parts.policy.revision,
            parts.counting,
        )

    def _go_on(self, taken: TakenOver) -> None:
        now = self._clock.monotonic()
        waiting = {number: stop.begins for number, stop in taken.stopped.items()}
        self._reader.go_on(taken.opened, taken.kept, waiting, taken.topic_ids)
        self._reader.leave(taken.left)
        self.holdings.change(taken, self._attempts, now - (now if self._since is None else self._since))
        self._taken, self._turned_away = taken.marks, None
        self._since, self._parts.keeper.made = None, False
        self._patience.relax()
        self._reachability.back(Away.TAKING_OVER)
        # No record waits for its schema any more, and those that come may name none that is unknown.
        self._reachability.back(Away.ASKING_REGISTRY)
        self._reachability.joined()

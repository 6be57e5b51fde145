"""The one state machine: coded batches and time in, sealed windows out.

It reads no clock, does no I/O and knows nothing of Kafka: a source is a small integer, an offset a position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from stream_anon.clustering.partitioning import Partitioner
from stream_anon.engine.partitioners import partitioners
from stream_anon.engine.release_counts import SourceCounts
from stream_anon.engine.returning import Returns
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.engine.window import Window
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.choices.window_limits import Shortfall
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.criteria import Criteria
from stream_anon.windowing.bounds import WindowBound
from stream_anon.windowing.limits import WindowTimer, takes_more


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """What may be shown of an open window: its count and its age, and nothing else.

    Its loss or its forest would tell an attacker whether records like a planted one are in the window. `records`
    counts all that it took: without those that are rejected or over their individual's limit, it would show which
    they are.
    """

    records: int
    opened_at: float | None


class Engine:
    """Fills windows with the records of open sources and seals them when they are full or due.

    Parameters
    ----------
    policy
        What rows look like and when windows close.
    draws
        For the age limits, and for what the policy's engine draws if it has no seed of its own.
    partitioner
        Makes the partitioner of each window; by default the policy's engine.
    bound
        What a window holds at the most; by default as many records as the policy says.
    size
        Asked when a window opens: at how many records it closes; None for as many as it may hold.
    returns
        Says who has been released too often, and counts who is in a window.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        draws: np.random.Generator,
        partitioner: Callable[[], Partitioner] | None = None,
        bound: WindowBound | None = None,
        size: Callable[[], int | None] = lambda: None,
        returns: Returns | None = None,
    ) -> None:
        self._policy = policy
        self._bound = WindowBound(policy.window.max_records) if bound is None else bound
        self._draws = draws
        self._partitioner = partitioner or partitioners(policy, draws=draws)
        self._criteria = Criteria.of(policy)
        self._size = size
        self._returns = returns
        # People for which a window is held, and below whom its size does not close it.
        self._least = max(policy.window.least_people, self._criteria.least_people)
        self._positions: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        self._now = self._arrived = -np.inf
        self._enough_since: float | None = None
        self._window = self._new_window()

    def _new_window(self) -> Window:
        timer = WindowTimer.draw(self._policy.window, self._draws, self._bound).sized(self._size())
        allowed = None if self._returns is None else self._returns.allowed
        return Window(self._policy, self._partitioner(), timer, allowed)

    # -- sources -------------------------------------------------------------------------------------------

    def open(self, source: int, offset: int, counts: SourceCounts | None = None) -> None:
        """Take records of `source` from `offset` on; rows of it that are already held stay.

        `counts` are of who was released of it before, where returns are counted.

        Raises
        ------
        ValueError
            If the source is open already.
        """
        if source in self._positions:
            raise ValueError("the source is open already")
        self._positions[source] = offset
        self._starts[source] = offset
        if self._returns is not None:
            self._returns.open(source, counts)

    def revoke(self, sources: Collection[int]) -> int:
        """Close sources and let their rows leave the open window; return how many records left."""
        for source in sources:
            self._positions.pop(source, None)
            self._starts.pop(source, None)
        if self._returns is not None:
            self._returns.close(sources)
        dropped = self._window.drop(set(sources))
        self._note_people()
        return dropped

    def skip(self, source: int, start: int, end: int, now: float) -> None:
        """Pass over what lies from `start` to before `end` of an open source, since it is lost.

        The open window covers it and tells it, also if no record comes. Raises KeyError if the source is not open.
        """
        self._advance(now)
        position = self._positions[source]
        if end > position:
            self._positions[source] = end
            self._window.pass_over(source, position, max(start, position), end, self._now)

    def position(self, source: int) -> int:
        """Return the next offset to take of an open source; KeyError if it is not open."""
        return self._positions[source]

    def started_at(self, source: int) -> int:
        """Return where the open window began on an open source; KeyError if it is not open."""
        return self._starts[source]

    @property
    def sources(self) -> frozenset[int]:
        """Return the open sources."""
        return frozenset(self._positions)

    # -- records -------------------------------------------------------------------------------------------

    def add(self, batch: CodedBatch, now: float, arrived: float | None = None) -> list[SealedWindow]:
        """Take a batch; return the windows it filled, in order.

        Records of closed sources and below a source's next offset are dropped: they were fetched before a takeover.

        Parameters
        ----------
        batch
            Offsets ascend within each source.
        now
            Clock reading; time never runs backwards here.
        arrived
            When the batch was received, if it was held since then.
        """
        self._advance(now)
        self._arrived = max(self._arrived, self._now if arrived is None else min(arrived, self._now))
        if self._window.oldest is None:  # it opens with its first record
            self._window.timer = self._window.timer.sized(self._size())
        sealed: list[SealedWindow] = []
        for source in np.union1d(batch.sources, batch.rejects.sources).tolist():
            if source in self._positions:
                sealed += self._add_of(source, batch.of_source(source, self._positions[source]))
        self._note_people()
        return sealed

    def _add_of(self, source: int, batch: CodedBatch) -> list[SealedWindow]:
        sealed: list[SealedWindow] = []
        row, rejects = 0, batch.rejects
        while True:
            row = self._window.take(batch, source, row, self._arrived)
            if row < len(batch):
                end = int(batch.offsets[row - 1]) + 1 if row else self._positions[source]
            else:
                end = max(
                    (int(part.max()) + 1 for part in (batch.offsets, rejects.offsets) if len(part)), default=0
                )
            before = rejects.offsets < end
            if before.any():
                self._window.reject(rejects.take(before), source, self._arrived)
                rejects = rejects.take(~before)
            self._positions[source] = max(self._positions[source], end)
            if self._full:
                sealed.append(self._seal())
            if row >= len(batch):
                return sealed

    @property
    def bound(self) -> WindowBound:
        """What a window holds at the most; if it is changed, the open one follows."""
        return self._bound

    @bound.setter
    def bound(self, bound: WindowBound) -> None:
        self._bound = bound
        self._window.timer = replace(self._window.timer, bound=bound)

    @property
    def _full(self) -> bool:
        """Return whether the open window closes by what it holds.

        One that has reached its size with too few people goes on to its bound: it would publish nothing. It does
        not close when the last of them comes, which would tell that moment.
        """
        if not self.space and self._window.individuals < self._least:
            self._window.timer = self._window.timer.sized(None)
        return not self.space

    # -- closing -------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """Return the clock reading at which `tick` must be called; None while nothing waits or all is held."""
        oldest = self._window.oldest
        return None if oldest is None or self.held else self._window.timer.due_at(oldest, self._enough_since)

    @property
    def held(self) -> bool:
        """Return whether the open window waits for more people.

        It asks for nothing but their number. If it asked what the criteria say, its publication would tell that the
        person who came last brought the value that was missing, and what everybody before them has.
        """
        if self._policy.window.shortfall is not Shortfall.HOLD or not self._window.admitted:
            return False
        # Without room nothing more may come in: waiting on would be waiting for ever.
        return self.room and self._window.individuals < self._least

    @property
    def room(self) -> bool:
        """Return False while so many dead letters, ignored records or losses wait that no more may be read."""
        return takes_more(self._policy.window, self._window.rejected, self._window.ignored, self._window.losses)

    @property
    def space(self) -> int:
        """Return how many more records the open window admits; this may not be shown."""
        return self._window.timer.room(self._window.admitted, self._window.held)

    @property
    def size(self) -> int:
        """Return at how many records a window closes that opens now, unless its age or memory closes it before."""
        return self._window.timer.sized(self._size()).room(0)

    @property
    def open_window(self) -> OpenWindow:
        """Return count and age of the open window."""
        return OpenWindow(self._window.read, self._window.oldest)

    def preparation(self, now: float) -> Callable[[], None] | None:
        """Return work that makes the open window's close cheaper; None if there is none.

        Call it once, in any thread, while the engine goes on; ask again when it has ended.
        It need not be done: what is not prepared is done at the close.
        """
        self._advance(now)
        return self._window.preparation(self._now)

    def tick(self, now: float) -> SealedWindow | None:
        """Seal the window if it is due; with `shortfall: hold` not before it has enough people."""
        self._advance(now)
        deadline = self.deadline
        due = self._full or (deadline is not None and self._now >= deadline)
        return self._seal() if due else None

    def seal(self, now: float) -> SealedWindow | None:
        """Seal the window whatever its age; None if nothing came in since the last one."""
        self._advance(now)
        return self._seal() if self._window.oldest is not None else None

    def _seal(self) -> SealedWindow:
        sealed = self._window.seal(self._starts, self._positions, self._now)
        if self._returns is not None:
            sealed = self._returns.counted(sealed, self._window.people)
        self._starts = dict(self._positions)
        self._window = self._new_window()
        self._enough_since = None
        return sealed

    def _note_people(self) -> None:
        """Take note of when a window that may be held first had enough people."""
        if self._policy.window.shortfall is not Shortfall.HOLD:
            return
        if self._window.individuals < self._least:
            self._enough_since = None
        elif self._enough_since is None:
            self._enough_since = self._now

    def _advance(self, now: float) -> None:
        self._now = max(self._now, now)

    def check_invariants(self) -> None:
        """Raise AssertionError if the engine is broken."""
        # Every open source has a start, and the window never reaches back behind it.
        assert self._starts.keys() == self._positions.keys()  # noqa: S101
        assert all(self._starts[s] <= p for s, p in self._positions.items())  # noqa: S101
        self._window.check_invariants()

"""The one state machine: coded batches and time in, sealed windows out.

It reads no clock, does no I/O and knows nothing of Kafka: a source is a small integer, an offset a position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from stream_anon.clustering.protocol import Partitioner
from stream_anon.engine.partitioners import partitioners
from stream_anon.engine.window import SealedWindow, Window
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import AboveMost, Policy, Shortfall
from stream_anon.privacy.criteria import Criteria
from stream_anon.windowing.limits import WindowTimer

LEAST_REJECTS = 100_000
MOST_IGNORED = 2_000_000  # 15 bytes each; a table that is emptied sends two for each of its rows
_PART = 16


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """What may be shown of an open window: its count and its age, and nothing else.

    Its loss or its forest would tell an attacker whether records like a planted one are in the window.
    """

    records: int
    opened_at: float | None


@dataclass(frozen=True, slots=True)
class _Hold:
    """What is known of a window that may be held since it would suppress too many records.

    Parameters
    ----------
    counted
        Records that it had taken when these were last counted; -1 if they were not.
    until
        Records with which they are counted again; 0 where nothing is held.
    begun
        Whether it is held.
    """

    counted: int = -1
    until: int = 0
    begun: bool = False


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
    """

    def __init__(
        self,
        policy: Policy,
        *,
        draws: np.random.Generator,
        partitioner: Callable[[], Partitioner] | None = None,
    ) -> None:
        self._policy = policy
        self._draws = draws
        self._partitioner = partitioner or partitioners(policy, draws=draws)
        self._criteria = Criteria.of(policy)
        self._positions: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        self._now = self._arrived = -np.inf
        self._in_reach: float | None = None
        self._hold = _Hold()
        self._window = self._new_window()

    def _new_window(self) -> Window:
        timer = WindowTimer.draw(self._policy.window, self._draws)
        return Window(self._policy, self._partitioner(), timer)

    # -- sources -------------------------------------------------------------------------------------------

    def open(self, source: int, offset: int) -> None:
        """Take records of `source` from `offset` on; rows of it that are already held stay.

        Raises
        ------
        ValueError
            If the source is open already.
        """
        if source in self._positions:
            raise ValueError("the source is open already")
        self._positions[source] = offset
        self._starts[source] = offset

    def revoke(self, sources: Collection[int]) -> int:
        """Close sources and let their rows leave the open window; return how many records left."""
        for source in sources:
            self._positions.pop(source, None)
            self._starts.pop(source, None)
        dropped = self._window.drop(set(sources))
        self._hold = _Hold(begun=self._hold.begun)
        self._note_reach()
        return dropped

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
        sealed: list[SealedWindow] = []
        for source in np.union1d(batch.sources, batch.rejects.sources).tolist():
            if source in self._positions:
                sealed += self._add_of(source, self._of_source(batch, source))
        self._note_reach()
        return sealed

    def _of_source(self, batch: CodedBatch, source: int) -> CodedBatch:
        """Return what is new of one source."""
        position = self._positions[source]
        fresh = (batch.sources == source) & (batch.offsets >= position)
        rejects = batch.rejects
        fresh_rejects = (rejects.sources == source) & (rejects.offsets >= position)
        chosen = batch if fresh.all() else batch.take(np.flatnonzero(fresh))
        return CodedBatch(
            chosen.codes,
            chosen.sensitive,
            chosen.individuals,
            chosen.sources,
            chosen.offsets,
            chosen.payload,
            rejects.take(fresh_rejects),
            chosen.sets,
        )

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
            if not self._window.timer.room(self._window.admitted):
                sealed.append(self._seal())
            if row >= len(batch):
                return sealed

    # -- closing -------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """Return the clock reading at which `tick` must be called; None while nothing waits or all is held."""
        oldest = self._window.oldest
        if oldest is None or self._out_of_reach():
            return None
        if self._hold.until and self.room and self._window.taken < self._hold.until:
            return None
        return self._window.timer.due_at(oldest, self._in_reach)

    @property
    def held(self) -> bool:
        """Return whether the open window is held, since it would be suppressed, whole or too much of it.

        O(n log n) with `above_max_suppressed: hold`.
        """
        return self._out_of_reach() or self._suppresses_too_much()

    @property
    def room(self) -> bool:
        """Return False while so many dead letters wait, or ignored records, that no more input may be taken."""
        many = max(LEAST_REJECTS, 4 * self._policy.window.max_records)
        return self._window.rejected < many and self._window.ignored < max(MOST_IGNORED, many)

    @property
    def open_window(self) -> OpenWindow:
        """Return count and age of the open window."""
        return OpenWindow(self._window.admitted, self._window.oldest)

    def preparation(self, now: float) -> Callable[[], None] | None:
        """Return work that makes the open window's close cheaper; None if there is none.

        Call it once, in any thread, while the engine goes on; ask again when it has ended.
        It need not be done: what is not prepared is done at the close.
        """
        self._advance(now)
        return self._window.preparation(self._now)

    def tick(self, now: float) -> SealedWindow | None:
        """Seal the window if it is due.

        With `shortfall: hold` not before it can hold a class, with `above_max_suppressed: hold` not while it would
        suppress too many records. How many these would be is counted when it is due, and again each time that it
        has grown by a sixteenth.
        """
        self._advance(now)
        if not self._is_due() or self._suppresses_too_much():
            return None
        # A window that was held waits longer, counted from now.
        return self._seal() if self._is_due() else None

    def _is_due(self) -> bool:
        deadline = self.deadline
        return deadline is not None and self._now >= deadline

    def seal(self, now: float) -> SealedWindow | None:
        """Seal the window whatever its age; None if nothing came in since the last one."""
        self._advance(now)
        return self._seal() if self._window.oldest is not None else None

    def _suppresses_too_much(self) -> bool:
        """Return whether the window is held since it would suppress too many records; take note of that."""
        most = self._policy.max_suppressed
        if most is None or self._policy.above_max_suppressed is not AboveMost.HOLD or not self.room:
            return False
        taken = self._window.taken
        if taken != self._hold.counted:
            above = self._window.would_suppress(self._criteria) > most.of(taken)
            if self._hold.begun and not above:
                self._in_reach = self._now
            self._hold = _Hold(taken, taken + max(1, taken // _PART) if above else 0, begun=above)
        return self._hold.begun

    def _out_of_reach(self) -> bool:
        if self._policy.window.shortfall is not Shortfall.HOLD or not self._window.admitted:
            return False
        if not self.room:  # nothing more may come in: waiting on would be waiting for ever
            return False
        return not self._criteria.in_reach(self._window.individuals, self._window.values)

    def _seal(self) -> SealedWindow:
        sealed = self._window.seal(self._starts, self._positions, self._now)
        self._starts = dict(self._positions)
        self._window = self._new_window()
        self._in_reach = None
        self._hold = _Hold()
        return sealed

    def _note_reach(self) -> None:
        """Take note of when a window that may be held could first hold a class."""
        if self._policy.window.shortfall is not Shortfall.HOLD:
            return
        if not self._criteria.in_reach(self._window.individuals, self._window.values):
            self._in_reach = None
        elif self._in_reach is None:
            self._in_reach = self._now

    def _advance(self, now: float) -> None:
        self._now = max(self._now, now)

    def check_invariants(self) -> None:
        """Raise AssertionError if the engine is broken."""
        # Every open source has a start, and the window never reaches back behind it.
        assert self._starts.keys() == self._positions.keys()  # noqa: S101
        assert all(self._starts[s] <= p for s, p in self._positions.items())  # noqa: S101
        self._window.check_invariants()

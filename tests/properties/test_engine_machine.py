"""The engine under random adds, revokes, opens, ticks and seals, beside a model in plain Python.

::

    source 0  ──┤ taken · taken · rejected ├── position      every record that was taken is in exactly one
    source 1  ────┤ taken ├── position                       window, or left with its partition
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stream_anon.clustering.forest.arriving import schedule
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.choices.window_limits import Shortfall
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Suppression
from stream_anon.privacy.costs.cost import cost_model
from tests.support.batches import batch_of, both, small_policy
from tests.support.effort import examples

SOURCES = (0, 1, 2)
K, L, MOST, DELAY, LIMIT = 2, 2, 8, 10.0, 3


@dataclass(frozen=True)
class Taken:
    """A record that the engine must have taken."""

    source: int
    offset: int
    arrived: float
    rejected: bool
    person: int = 0
    codes: tuple[int, int] = (0, 0)
    value: int = 0


class EngineMachine(RuleBasedStateMachine):
    """Windows that are suppressed where they cannot hold a class."""

    shortfall = Shortfall.SUPPRESS
    most = MOST

    def _engine(self, seed: int) -> Engine:
        return Engine(self.policy, draws=np.random.default_rng(seed))

    @initialize(seed=st.integers(0, 1000))
    def start(self, seed: int) -> None:
        self.policy: Policy = small_policy(
            K,
            distinct_l=L,
            max_records=self.most,
            max_delay=DELAY,
            max_records_per_individual=LIMIT,
            shortfall=self.shortfall,
        )
        self.engine = self._engine(seed)
        self.closer = Closer(self.policy)
        self.shuffle = np.random.default_rng(seed)
        self.now = 1_000.0
        self.engine.tick(self.now)  # the clock starts here for both
        self.position: dict[int, int] = {}
        self.began: dict[int, int] = {}
        self.taken: dict[tuple[int, int], Taken] = {}
        self.lost: dict[int, list[tuple[int, int]]] = {}
        self.met: dict[int, float] = {}  # when the first loss of each source was met

    # -- steps ---------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.position) < len(SOURCES))
    @rule(data=st.data(), offset=st.integers(0, 50))
    def open(self, data: st.DataObject, offset: int) -> None:
        source = data.draw(st.sampled_from([s for s in SOURCES if s not in self.position]))
        self.engine.open(source, offset)
        self.position[source] = self.began[source] = offset

    @precondition(lambda self: self.position)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        sources = data.draw(st.sets(st.sampled_from(SOURCES)))
        gone = [key for key, record in self.taken.items() if record.source in sources]
        assert self.engine.revoke(sources) == len(gone)
        for key in gone:
            del self.taken[key]
        for source in sources:
            for kept in (self.position, self.began, self.lost, self.met):
                kept.pop(source, None)

    @precondition(lambda self: self.position)
    @rule(data=st.data(), lost=st.integers(1, 5))
    def skip(self, data: st.DataObject, lost: int) -> None:
        source = data.draw(st.sampled_from(sorted(self.position)))
        start = self.position[source]
        self.position[source] += lost
        self.engine.skip(source, start, self.position[source], self.now)
        losses = self.lost.setdefault(source, [])
        merged = losses and losses[-1][1] == start
        losses.append((losses.pop()[0] if merged else start, self.position[source]))
        self.met.setdefault(source, self.now)

    @rule(data=st.data(), elapsed=st.sampled_from([0.0, 0.0, 0.5, -3.0]))
    def add(self, data: st.DataObject, elapsed: float) -> None:
        before = self.now
        self.now = max(self.now, self.now + elapsed)
        sources = data.draw(st.lists(st.sampled_from(SOURCES), min_size=1, max_size=3, unique=True))
        batch = both(*(self._batch(data, source) for source in sources))
        for window in self.engine.add(batch, before + elapsed):
            self._check_full(window)
            self._check(window)

    def _batch(self, data: st.DataObject, source: int) -> CodedBatch:
        first = max(0, self.position.get(source, 20) + data.draw(st.sampled_from([0, 0, 0, -2, 4])))
        steps = data.draw(st.lists(st.sampled_from([1, 1, 1, 3]), max_size=12))
        offsets, rejected, people, codes, values = [], [], [], [], []
        for step in steps:
            first += step
            offset = first - 1
            if data.draw(st.integers(0, 5)) == 0:
                rejected.append(offset)
                record = Taken(source, offset, self.now, rejected=True)
            else:
                offsets.append(offset)
                people.append(data.draw(st.integers(0, 6)))
                codes.append(data.draw(st.tuples(st.integers(0, 17), st.integers(0, 7))))
                values.append(data.draw(st.integers(0, 2)))
                record = Taken(source, offset, self.now, False, people[-1], codes[-1], values[-1])
            if source in self.position and offset >= self.position[source]:
                self.taken[source, offset] = record
        if source in self.position:
            last = max([*offsets, *rejected], default=-1)
            self.position[source] = max(self.position[source], last + 1)
        return batch_of(self.policy, source, offsets, people=people, codes=codes, values=values, rejected=rejected)

    @rule(elapsed=st.sampled_from([0.0, 1.0, 8.9, 10.0]))
    def tick(self, elapsed: float) -> None:
        self.now += elapsed
        window = self.engine.tick(self.now)
        if window is not None:
            assert self.now - window.opened_at >= 0.9 * DELAY
            self._check_reach(window)
            self._check(window)
        oldest = self._oldest()
        if oldest is not None and self.engine.deadline is not None:
            assert self.now < self._latest(oldest)  # nobody waits longer than promised
        assert self.engine.tick(self.now) is None

    @precondition(lambda self: self.engine.deadline is not None)
    @rule()
    def tick_at_the_deadline(self) -> None:
        deadline = self.engine.deadline
        assert deadline is not None
        oldest = self._oldest()
        assert oldest is not None
        assert deadline - oldest + 1e-6 >= 0.9 * DELAY
        assert deadline <= self._latest(oldest) + 1e-6
        self.now = max(self.now, deadline)
        window = self.engine.tick(deadline)
        assert window is not None
        self._check_reach(window)
        self._check(window)

    @rule()
    def seal(self) -> None:
        window = self.engine.seal(self.now)
        assert (window is None) == (not self.taken and not self.lost)
        if window is not None:
            self._check(window)

    # -- what must hold ------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        self.engine.check_invariants()
        assert self.engine.sources == self.position.keys()
        assert {s: self.engine.position(s) for s in self.position} == self.position
        assert {s: self.engine.started_at(s) for s in self.position} == self.began
        people = Counter(record.person for record in self.taken.values() if not record.rejected)
        # Which of a person's rows are over the limit depends on what left since; never fewer are kept than none.
        assert self.engine.space >= self._size() - sum(min(count, LIMIT) for count in people.values())
        assert 0 < self.engine.space <= self.most
        assert self.engine.open_window.opened_at == self._oldest()

    def _oldest(self) -> float | None:
        return min((*(record.arrived for record in self.taken.values()), *self.met.values()), default=None)

    def _latest(self, oldest: float) -> float:
        """Return when a window with that oldest record is sealed at the latest, once nothing holds it."""
        return oldest + DELAY

    def _size(self) -> int:
        """Return the least number of records at which the open window closes."""
        return self.most

    def _check_full(self, window: SealedWindow) -> None:
        """Check a window that closed by its number of records."""
        assert window.records == self.most

    def _check_reach(self, window: SealedWindow) -> None:
        """A window that is held for enough people is not sealed before it has them."""

    def _check(self, window: SealedWindow) -> None:
        inside: list[Taken] = []
        for part in window.ranges:
            assert part.start == self.began[part.source]  # no gap, no overlap
            assert part.start < part.end <= self.position[part.source]
            self.began[part.source] = part.end
            if part.source in self.lost and part.lost:
                assert list(part.lost) == self.lost.pop(part.source)
            inside += [r for r in self.taken.values() if r.source == part.source and r.offset < part.end]
        keys = [(record.source, record.offset) for record in inside]
        rows: Any = window.payload
        rejected = list(zip(window.rejects.sources.tolist(), window.rejects.offsets.tolist(), strict=True))
        assert len(set(rows)) == len(rows)
        assert sorted(rejected) == sorted((r.source, r.offset) for r in inside if r.rejected)
        assert set(rows) <= {(r.source, r.offset) for r in inside if not r.rejected}
        assert len(rows) + window.over_limit + len(rejected) == len(inside)
        assert len(rows) <= self.most
        assert window.opened_at == min([*(record.arrived for record in inside), *self.met.values()])
        self.met.clear()
        self._check_release(window, len(inside))
        for key in keys:
            del self.taken[key]

    def _check_release(self, window: SealedWindow, records: int) -> None:
        release = self.closer.release(window, self.shuffle)
        assert release.records_in == records
        assert release.gate_violations == 0
        assert release.suppressed.get(Suppression.OVER_LIMIT, 0) == window.over_limit
        published: dict[str, list[Taken]] = {}
        payload: Any = window.payload
        for row in release.order.tolist():
            number = int(release.class_of_row[row])
            tuple_of_row = json.dumps([values[number] for values in release.classes.values])
            published.setdefault(tuple_of_row, []).append(self.taken[payload[row]])
        assert len(set(release.order.tolist())) == release.released
        for members in published.values():
            people = Counter(record.person for record in members)
            assert len(people) >= K
            assert max(people.values()) * 2 <= len(members)
            assert len({record.value for record in members}) >= L


class HoldingMachine(EngineMachine):
    """Windows that wait until they can hold a class."""

    shortfall = Shortfall.HOLD

    def _latest(self, oldest: float) -> float:
        return max(oldest + DELAY, self.now + 0.1 * DELAY)  # company may have come just now

    def _check_reach(self, window: SealedWindow) -> None:
        # It does not wait for values: the moment of its release would tell what its last person has.
        assert not window.records or window.individuals >= K


class SizedMachine(EngineMachine):
    """Windows that close at a size that is chosen while others are open; each keeps the one it opened with."""

    sizes = st.integers(K, MOST)
    size = MOST

    def _engine(self, seed: int) -> Engine:
        self.asked: list[int] = []

        def size() -> int:
            self.asked.append(self.size)
            return self.size

        return Engine(self.policy, draws=np.random.default_rng(seed), size=size)

    @rule(size=sizes)
    def choose(self, size: int) -> None:
        self.size = size

    def _size(self) -> int:
        return min(self.asked)

    def _check_full(self, window: SealedWindow) -> None:
        # One that has too few people for a class when it reaches its size goes on, to any number of records.
        assert window.records == self.most or window.records in self.asked
        assert window.records == self.most or window.individuals >= L


class SizedHoldingMachine(SizedMachine, HoldingMachine):
    """Windows that close at a size, and wait for people: neither overrules the other."""


class PreparingMachine(EngineMachine):
    """Windows whose forest is laid before their end, by work that is done at once, late, or never."""

    most = 3 * MOST

    def __init__(self) -> None:
        super().__init__()
        # A third of such small windows is late, so that there is something to join.
        self._early = patch.multiple(
            schedule, LATE=0.3, LEAST_CLASSES=2, MOST_LATE=0.6, MOST_LATE_IN_LINE=0.6, MOST_LATE_IN_CLASSES=0.6
        )
        self._early.start()
        self.todo: list[Callable[[], None]] = []

    def _engine(self, seed: int) -> Engine:
        model = cost_model(self.policy.quasi_identifiers)
        cold = Digits.of(self.policy.quasi_identifiers).cold_order()
        book = OrderBook(self.policy.quasi_identifiers, model, 0, cold)  # as if learned: nothing is prepared before
        return Engine(self.policy, draws=np.random.default_rng(seed), partitioner=lambda: Forest(model, book, k=K))

    @rule()
    def prepare(self) -> None:
        while (work := self.engine.preparation(self.now)) is not None:
            work()
            self.engine.check_invariants()

    @rule()
    def begin_to_prepare(self) -> None:
        work = self.engine.preparation(self.now)
        if work is not None:
            self.todo.append(work)

    @precondition(lambda self: self.todo)
    @rule()
    def end_what_was_begun(self) -> None:
        self.todo.pop()()

    def teardown(self) -> None:
        self._early.stop()


_SETTINGS = settings(examples(60), stateful_step_count=25)
TestEngine = EngineMachine.TestCase
TestEngine.settings = _SETTINGS
TestPreparingEngine = PreparingMachine.TestCase
TestPreparingEngine.settings = _SETTINGS
TestHoldingEngine = HoldingMachine.TestCase
TestHoldingEngine.settings = _SETTINGS
TestSizedEngine = SizedMachine.TestCase
TestSizedEngine.settings = _SETTINGS
TestSizedHoldingEngine = SizedHoldingMachine.TestCase
TestSizedHoldingEngine.settings = _SETTINGS

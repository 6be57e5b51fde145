from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.clustering.partitioning import UNKNOWN, UNPLACED, Outlook
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.errors import SettingsError
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason
from stream_anon.microdata.choices.window_limits import Shortfall
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange, Release, Suppression
from stream_anon.privacy.criteria import Criteria
from tests.support.batches import batch_of, both, small_policy
from tests.support.traced import traced


def _engine(policy: Policy, **more: object) -> Engine:
    engine = Engine(policy, draws=np.random.default_rng(0), **more)  # type: ignore[arg-type]
    engine.open(0, 0)
    return engine


def _release(policy: Policy, batch: CodedBatch, **more: object) -> Release:
    engine = _engine(policy, **more)
    assert not engine.add(batch, 1.0)
    window = engine.seal(2.0)
    assert window is not None
    return Closer(policy).release(window, np.random.default_rng(0))


def test_a_full_window_is_followed_by_the_next_at_the_next_record() -> None:
    #  window 20:  0 ... 19 | 20 ... 39 | 40 ... 44
    policy = small_policy()
    engine = _engine(policy)
    first, second = engine.add(batch_of(policy, 0, range(45), rejected=[100, 101]), 1.0)
    assert first.ranges == (InputRange(0, 0, 20),)
    assert second.ranges == (InputRange(0, 20, 40),)
    assert (engine.space, engine.position(0), engine.started_at(0)) == (15, 102, 40)
    assert first.payload == [(0, i) for i in range(20)]
    assert len(first.rejects) == len(second.rejects) == 0
    engine.check_invariants()


def test_rejects_belong_to_the_window_of_their_neighbours() -> None:
    policy = small_policy()
    engine = _engine(policy)
    offsets = [i for i in range(50) if i % 5]
    (first, second) = engine.add(batch_of(policy, 0, offsets, rejected=range(0, 50, 5)), 1.0)
    assert first.ranges == (InputRange(0, 0, 25),)
    assert first.rejects.offsets.tolist() == [0, 5, 10, 15, 20]
    assert second.rejects.offsets.tolist() == [25, 30, 35, 40, 45]


def test_gaps_of_transaction_markers_do_not_part_the_ranges() -> None:
    policy = small_policy()
    engine = _engine(policy)
    engine.add(batch_of(policy, 0, [5, 9]), 1.0)
    window = engine.seal(1.0)
    assert window is not None
    assert window.ranges == (InputRange(0, 0, 10),)
    engine.add(batch_of(policy, 0, [30]), 2.0)
    window = engine.seal(2.0)
    assert window is not None
    assert window.ranges == (InputRange(0, 10, 31),)


def test_only_records_of_open_partitions_from_their_next_offset_are_taken() -> None:
    policy = small_policy()
    engine = _engine(policy)
    engine.open(1, 100)
    engine.add(
        both(
            batch_of(policy, 0, [0, 1]), batch_of(policy, 1, [98, 99, 100], rejected=[97]), batch_of(policy, 2, [7])
        ),
        1.0,
    )
    assert engine.open_window.records == 3
    engine.add(batch_of(policy, 0, [0, 1, 2], rejected=[1]), 1.0)
    assert engine.open_window.records == 4
    assert engine.position(0) == 3
    assert engine.revoke([0]) == 3
    assert engine.open_window.records == 1
    assert engine.sources == {1}
    engine.add(batch_of(policy, 0, [3]), 1.0)
    assert engine.open_window.records == 1
    with pytest.raises(ValueError, match="open already"):
        engine.open(1, 0)
    with pytest.raises(KeyError):
        engine.position(0)


def test_people_who_left_with_their_partition_do_not_count() -> None:
    policy = small_policy(k=3, max_records_per_individual=2)
    engine = _engine(policy)
    engine.open(1, 0)
    engine.add(batch_of(policy, 0, range(3), people=[1, 2, 7]), 1.0)
    engine.add(batch_of(policy, 1, range(4), people=[7, 7, 8, 8]), 1.0)  # one of 7 is over the limit
    engine.revoke([0])
    engine.check_invariants()
    window = engine.seal(1.0)
    assert window is not None
    assert (window.records, window.individuals, window.over_limit) == (3, 2, 1)
    release = Closer(policy).release(window, np.random.default_rng(0))
    assert release.suppressed == {Suppression.SHORTFALL: 3, Suppression.OVER_LIMIT: 1}
    assert release.gcp == 1
    assert release.records_in == 4


def test_one_flooding_id_neither_closes_windows_nor_fills_the_memory() -> None:
    policy = small_policy(max_records_per_individual=3)
    engine = _engine(policy)
    for i in range(200):
        assert not engine.add(batch_of(policy, 0, range(10 * i, 10 * i + 10), people=[7] * 10), 1.0)
    assert (engine.space, engine.open_window.records) == (17, 2000)
    assert len(engine._window._parts) <= 2
    window = engine.seal(2.0)
    assert window is not None
    assert (window.over_limit, window.ranges) == (1_997, (InputRange(0, 0, 2_000),))


def test_the_flood_of_one_partition_leaves_with_the_partition() -> None:
    policy = small_policy(max_records_per_individual=1)
    engine = _engine(policy)
    engine.open(1, 0)
    for i in range(3):
        engine.add(batch_of(policy, 0, [i], people=[7]), 1.0)
        engine.add(batch_of(policy, 1, [i], people=[7]), 1.0)
    assert engine.revoke([1]) == 3
    window = engine.seal(2.0)
    assert window is not None
    assert (window.records, window.over_limit) == (1, 2)


def test_time_never_runs_backwards() -> None:
    policy = small_policy()
    engine = _engine(policy)
    engine.add(batch_of(policy, 0, [0]), 100.0)
    engine.add(batch_of(policy, 0, [1]), 50.0)
    engine.check_invariants()
    assert engine.open_window.opened_at == 100.0
    window = engine.seal(10.0)
    assert window is not None
    assert window.closed_at == 100.0
    assert window.arrivals == ((100.0, 1), (100.0, 1))


def test_a_window_is_sealed_at_its_deadline_and_not_before() -> None:
    policy = small_policy()
    engine = _engine(policy)
    assert engine.deadline is None
    assert engine.tick(1e9) is None
    engine.add(batch_of(policy, 0, [0]), 1e9 + 5)
    deadline = engine.deadline
    assert deadline is not None
    assert 9.0 <= deadline - (1e9 + 5) <= 10.0
    assert engine.tick(np.nextafter(deadline, 0)) is None
    assert engine.tick(deadline) is not None
    assert engine.deadline is None
    assert engine.seal(2e9) is None


def test_rejects_alone_are_released_at_the_deadline() -> None:
    policy = small_policy()
    engine = _engine(policy)
    engine.add(batch_of(policy, 0, [], rejected=[3, 4]), 1.0)
    deadline = engine.deadline
    assert deadline is not None
    window = engine.tick(deadline)
    assert window is not None
    release = Closer(policy).release(window, np.random.default_rng(0))
    assert (release.released, len(release.rejects), release.suppressed, release.gcp) == (0, 2, {}, None)
    assert window.ranges == (InputRange(0, 0, 5),)


def test_a_held_window_waits_for_company_and_is_released_then() -> None:
    policy = small_policy(shortfall=Shortfall.HOLD)
    engine = _engine(policy)
    engine.add(batch_of(policy, 0, [0, 1], people=[1, 2]), 1.0)
    assert engine.deadline is None
    assert engine.tick(1e6) is None
    engine.add(batch_of(policy, 0, [2], people=[3]), 2.0)
    deadline = engine.deadline
    assert deadline is not None
    assert 1e6 <= deadline <= 1e6 + 1.0, "time had gone on to 1e6; a tenth of max_delay is drawn"
    window = engine.tick(deadline)
    assert window is not None
    assert Closer(policy).release(window, np.random.default_rng(0)).released == 3


def test_a_window_is_held_for_as_many_people_as_the_policy_asks() -> None:
    policy = small_policy(shortfall=Shortfall.HOLD, least_people=6)
    engine = Engine(policy, draws=np.random.default_rng(0))
    engine.open(0, 0)
    engine.add(batch_of(policy, 0, range(5)), 0.0)
    assert engine.deadline is None
    engine.add(batch_of(policy, 0, [5], people=[5]), 100.0)
    assert engine.deadline is not None
    with pytest.raises(SettingsError, match=r"window\.least_people: is for shortfall: hold"):
        small_policy(least_people=6)
    with pytest.raises(SettingsError, match=r"window\.least_people: must not be above max_records"):
        small_policy(shortfall=Shortfall.HOLD, least_people=21)


def test_a_held_window_that_lost_its_company_waits_again() -> None:
    policy = small_policy(shortfall=Shortfall.HOLD)
    engine = _engine(policy)
    engine.open(1, 0)
    engine.add(batch_of(policy, 0, [0, 1], people=[1, 2]), 0.0)
    engine.add(batch_of(policy, 1, [0], people=[3]), 40.0)
    assert engine.deadline is not None
    engine.revoke([1])
    assert engine.deadline is None
    engine.add(batch_of(policy, 0, [2], people=[4]), 70.0)
    deadline = engine.deadline
    assert deadline is not None
    assert 70.0 <= deadline <= 71.0


def test_a_held_window_that_has_company_in_time_waits_no_longer_than_others() -> None:
    policy = small_policy(shortfall=Shortfall.HOLD)
    engine = _engine(policy)
    engine.add(batch_of(policy, 0, [0, 1], people=[1, 2]), 0.0)
    engine.add(batch_of(policy, 0, [2], people=[3]), 8.9)
    deadline = engine.deadline
    assert deadline is not None
    assert 9.0 <= deadline <= 10.0


def test_a_held_window_without_room_for_rejects_is_sealed_and_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stream_anon.windowing.limits.LEAST_REJECTS", 5)
    policy = small_policy(shortfall=Shortfall.HOLD)
    engine = _engine(policy)
    engine.add(batch_of(policy, 0, [0], people=[1]), 1.0)
    assert engine.deadline is None
    assert engine.room
    engine.add(batch_of(policy, 0, [], rejected=range(1, 200)), 1.0)
    assert not engine.room
    assert engine.deadline is not None
    assert engine.tick(engine.deadline) is not None
    assert engine.room


def test_ignored_records_stop_no_reading_where_as_many_dead_letters_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is emptied must not hold up what comes behind."""
    monkeypatch.setattr("stream_anon.windowing.limits.LEAST_REJECTS", 5)
    monkeypatch.setattr("stream_anon.windowing.limits.MOST_IGNORED", 300)
    policy = small_policy(shortfall=Shortfall.HOLD)
    engine = _engine(policy)
    deletions = batch_of(policy, 0, [], rejected=range(299))
    deletions.rejects.reasons[:] = Reason.DELETED
    engine.add(deletions, 1.0)
    assert engine.room
    more = batch_of(policy, 0, [], rejected=[299])
    more.rejects.reasons[:] = Reason.TOMBSTONE
    engine.add(more, 1.0)
    assert not engine.room
    assert engine.revoke([0]) == 300
    assert engine.room


@pytest.mark.parametrize("each", [1, 3])
def test_ignored_records_that_trickle_in_cost_few_bytes_each(each: int) -> None:
    """Rows lie between them, as in a change stream whose table is written now and then."""
    policy, count = small_policy(max_records=100_000), 6_000
    engine = _engine(policy)
    engine.add(batch_of(policy, 0, [0], rejected=[1]), 1.0)
    with traced() as memory:
        for first in range(2, count, each):
            batch = batch_of(policy, 0, [], rejected=range(first, first + each))
            batch.rejects.reasons[:] = Reason.HEARTBEAT
            engine.add(batch, 1.0 + first)
        gc.collect()  # or the tuples that the interpreter keeps for reuse are counted too
        held = memory()[0]
    assert held < 20 * count + 10_000
    engine.add(batch_of(policy, 0, [2 * count]), 2.0)
    engine.check_invariants()
    window = engine.seal(3.0)
    assert window is not None
    assert window.rejects.offsets.tolist() == list(range(1, len(window.rejects) + 1))


def test_a_revocation_takes_dead_letters_of_its_partitions_alone() -> None:
    policy = small_policy()
    engine = _engine(policy)
    engine.open(1, 0)
    engine.open(2, 0)
    for second in range(9):
        source = second % 3
        engine.add(batch_of(policy, source, [], rejected=[second]), float(second + 1))
        engine.check_invariants()
    assert engine.open_window.opened_at == 1.0
    assert engine.revoke([0]) == 3
    engine.check_invariants()
    assert engine.open_window.opened_at == 2.0
    window = engine.seal(10.0)
    assert window is not None
    assert window.rejects.offsets.tolist() == [1, 2, 4, 5, 7, 8]
    assert window.opened_at == 2.0


class _Liar:
    """A partitioner that puts rows where it likes."""

    arrival_matters = False

    def __init__(self, classes: list[int]) -> None:
        self._classes = classes

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None: ...

    def keep(self, kept: np.ndarray, rows: Columns) -> None: ...

    def preparation(self) -> None: ...

    def close(self, rows: Columns, criteria: Criteria) -> np.ndarray:
        return np.array(self._classes, np.int32)

    def check_invariants(self) -> None: ...


@pytest.mark.parametrize(
    ("classes", "released", "violations"),
    [
        pytest.param([0, 0, 0, 1, 1, 1, 2, 2], 6, 1, id="one class too small"),
        pytest.param([0, 0, 1, 1, 2, 2, 3, 3], 0, 4, id="all too small"),
        pytest.param([0, 0, 0, 2, 2, 2, UNPLACED, UNPLACED], 6, 0, id="a number without a row"),
    ],
)
def test_the_gate_suppresses_what_a_faulty_partitioner_forms(
    classes: list[int], released: int, violations: int
) -> None:
    policy = small_policy()
    batch = batch_of(policy, 0, range(8), codes=[(2 * (c if c >= 0 else 7), 0) for c in classes])
    release = _release(policy, batch, partitioner=lambda: _Liar(classes))
    assert (release.released, release.gate_violations) == (released, violations)
    placed = sum(c >= 0 for c in classes)
    expected = {Suppression.GATE: placed - released, Suppression.UNPLACED: 8 - placed}
    assert release.suppressed == {reason: n for reason, n in expected.items() if n}
    assert len(release.classes) == len(set(release.class_of_row.tolist()) - {-1})
    assert release.records_in == 8


def test_classes_published_alike_become_one() -> None:
    policy = small_policy()
    classes = [0, 0, 0, 1, 1, 1]
    release = _release(policy, batch_of(policy, 0, range(6)), partitioner=lambda: _Liar(classes))
    assert release.classes.records.tolist() == [6]
    assert release.achieved_k == 6
    assert sorted(release.order.tolist()) == list(range(6))


def test_one_person_holds_no_more_than_half_of_what_is_released() -> None:
    policy = small_policy(k=2, max_records_per_individual=50)
    release = _release(policy, batch_of(policy, 0, range(10), people=[7] * 8 + [1, 2]))
    # Of the heavy person no more rows stay than the others have.
    assert release.released == 4
    assert release.suppressed == {Suppression.UNPLACED: 6}
    assert (release.classes.individuals >= 2).all()


def _with_gaps(policy: Policy, count: int) -> CodedBatch:
    """Return a batch in which every other person has no age and every third one no result."""
    absent = policy.quasi_identifiers[0].missing_code
    batch = batch_of(policy, 0, range(count), codes=[(absent if i % 2 else 3, 0) for i in range(count)])
    return replace(batch, payload=[(None if i % 3 == 0 else "fine",) for i in range(count)])


def test_a_release_counts_missing_values_by_attribute() -> None:
    released = _release(small_policy(k=2), _with_gaps(small_policy(k=2), 12))
    assert released.missing == {"age": 6, "result": 4}


def test_records_that_are_suppressed_count_among_those_without_a_value() -> None:
    policy = small_policy(k=13)
    suppressed = _release(policy, _with_gaps(policy, 12))
    assert (suppressed.released, suppressed.missing) == (0, {"age": 6, "result": 4})


def test_records_over_their_individuals_limit_count_among_those_without_a_value() -> None:
    policy = small_policy(k=2, max_records_per_individual=2)
    everybody = replace(_with_gaps(policy, 12), individuals=np.arange(12, dtype=np.int64) // 6)
    release = _release(policy, everybody)
    assert release.suppressed[Suppression.OVER_LIMIT] == 8
    assert release.missing == {"age": 6, "result": 4}


def test_records_of_a_revoked_partition_no_longer_count_as_missing() -> None:
    policy = small_policy(k=2)
    engine = _engine(policy)
    engine.open(1, 0)
    other = replace(_with_gaps(policy, 6), sources=np.ones(6, np.int32))
    engine.add(_with_gaps(policy, 6), 1.0)
    engine.add(other, 1.0)
    engine.revoke([1])
    window = engine.seal(2.0)
    assert window is not None
    assert Closer(policy).release(window, np.random.default_rng(0)).missing == {"age": 3, "result": 2}


def _without(policy: Policy, batch: CodedBatch, large: Sequence[tuple[int, int]], **more: int) -> Release:
    """Return the release of a window in which rows of these places, once in a class, are too large."""
    engine = _engine(policy)
    for source in set(batch.sources.tolist()) - {0}:
        engine.open(source, 0)
    assert not engine.add(batch, 1.0)
    window = engine.seal(2.0)
    assert window is not None

    def too_large(release: Release) -> NDArray[np.int64]:
        return np.array([row for row in release.order.tolist() if release.payload[row] in large], np.int64)

    return Closer(policy).release(window, np.random.default_rng(0), too_large)


def test_a_row_that_is_too_large_is_a_dead_letter_that_names_its_place() -> None:
    policy = small_policy(k=3)
    batch = both(batch_of(policy, 0, range(10, 15)), batch_of(policy, 1, range(4), people=range(20, 24)))
    release = _without(policy, batch, [(0, 12), (1, 3)])
    rejects = release.rejects
    places = zip(rejects.sources.tolist(), rejects.offsets.tolist(), strict=True)
    assert sorted(places) == [(0, 12), (1, 3)]
    assert set(rejects.reasons.tolist()) == {Reason.TOO_LARGE}
    assert set(rejects.attributes.tolist()) == {NO_ATTRIBUTE}
    assert sorted(release.payload[row] for row in release.order) == [
        *((0, 10), (0, 11), (0, 13), (0, 14)),
        *((1, 0), (1, 1), (1, 2)),
    ]
    assert (release.records_in, release.released, release.suppressed, release.gcp) == (9, 7, {}, 0.0)
    assert sum(count for _, count in release.arrivals) == 7
    assert release.classes.records.tolist() == [7]


def test_a_class_that_falls_below_k_without_its_large_rows_is_suppressed_without_a_violation() -> None:
    policy = small_policy(k=3)
    batch = batch_of(policy, 0, range(7), codes=[[0, 0]] * 3 + [[9, 4]] * 4)
    release = _without(policy, batch, [(0, 0)])
    assert [release.payload[row] for row in sorted(release.order)] == [(0, n) for n in range(3, 7)]
    assert release.suppressed == {Suppression.UNPLACED: 2}
    assert (len(release.rejects), release.gate_violations, release.achieved_k) == (1, 0, 4)
    assert release.records_in == 7


def test_a_class_is_generalized_without_the_rows_that_are_too_large() -> None:
    policy = small_policy(k=3)
    batch = batch_of(policy, 0, range(4), codes=[[0, 0], [0, 0], [0, 0], [0, 3]])
    whole, rest = _without(policy, batch, []), _without(policy, batch, [(0, 3)])
    assert whole.classes.values[1] == [["infarct", "cold"]]
    assert rest.classes.values[1] == ["infarct"], "the set of a class shows a value that no record of it has"


def test_a_violation_of_a_partitioner_is_counted_once_however_often_a_window_is_judged() -> None:
    policy = small_policy(k=3)
    engine = Engine(policy, draws=np.random.default_rng(0), partitioner=Pairs)
    engine.open(0, 0)
    engine.add(batch_of(policy, 0, range(8), codes=[[0, 0]] * 2 + [[9, 4]] * 6), 1.0)
    window = engine.seal(2.0)
    assert window is not None
    turns = iter([[5], [6], []])
    release = Closer(policy).release(window, np.random.default_rng(0), lambda _: np.array(next(turns), np.int64))
    assert release.gate_violations == 1
    assert release.suppressed == {Suppression.GATE: 2}
    assert (len(release.rejects), release.released, release.records_in) == (2, 4, 8)


class Pairs:
    """Puts rows of one tuple in one class, however few."""

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None:
        """Do nothing."""

    def preparation(self) -> None:
        """Return nothing."""

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        return np.unique(rows.codes[0], return_inverse=True)[1].astype(np.int32)


def test_a_window_keeps_the_size_that_it_opened_with() -> None:
    #  size 6:  0 ... 5 | size 9 asked when 6 comes: 6 ... 14 | size 4 meanwhile: asked when 15 comes
    policy = small_policy()
    sizes = iter([6, 6, 9, 4, 4, 4, 4])
    engine = _engine(policy, size=lambda: next(sizes))
    (first,) = engine.add(batch_of(policy, 0, range(7)), 1.0)
    assert not engine.add(batch_of(policy, 0, range(7, 14)), 1.0)
    second, third = engine.add(batch_of(policy, 0, range(14, 20)), 1.0)
    assert [window.records for window in (first, second, third)] == [6, 9, 4]
    assert engine.open_window.records == 1


def test_a_size_above_max_records_changes_nothing() -> None:
    policy = small_policy()
    (window,) = _engine(policy, size=lambda: 10_000).add(batch_of(policy, 0, range(25)), 1.0)
    assert window.records == 20


def test_a_window_of_too_few_people_goes_on_beyond_its_size_and_not_until_the_next_person_comes() -> None:
    policy = small_policy(k=3)
    engine = _engine(policy, size=lambda: 6)
    assert not engine.add(batch_of(policy, 0, range(6), people=[1, 2] * 3), 1.0)
    assert not engine.add(batch_of(policy, 0, range(6, 12), people=[3, 4, 5, 6, 7, 8]), 1.0), "its size is past"
    assert engine.size == 6, "polls follow the size in use"
    (window,) = engine.add(batch_of(policy, 0, range(12, 25), people=range(13)), 1.0)
    assert window.records == 20
    assert engine.space == 1, "the next one has its size again"


def test_a_held_window_is_not_closed_by_its_size_before_it_has_its_people() -> None:
    policy = small_policy(k=2, shortfall=Shortfall.HOLD, least_people=5, max_records=50)
    engine = _engine(policy, size=lambda: 6)
    assert not engine.add(batch_of(policy, 0, range(8), people=[1, 2, 3, 4] * 2), 1.0)
    assert engine.tick(100.0) is None
    assert not engine.add(batch_of(policy, 0, [8], people=[5]), 101.0)
    window = engine.tick(103.0)
    assert window is not None
    assert window.records == 9

"""`max_suppressed`: what becomes of a window that would suppress more records than the policy allows.

A city is published on level 0 here, so a record needs two more people of its own city; k is 3::

    Oslo Oslo Oslo  Rome Rome          2 of 5 would be suppressed
    Oslo Oslo Oslo  Rome Rome Rome     none
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Identifier, QuasiIdentifier
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import AboveMost, EngineChoice, Policy, Shortfall, WindowLimits
from stream_anon.microdata.release import Release, Suppression
from tests.support.batches import batch_of
from tests.support.lying import Told, sealed

OSLO, ROME, BARI = 0, 1, 2
DELAY = 10.0
LONG = 1_000.0


def _policy(above: AboveMost, bound: RecordBound | None = None, engine: str = "forest", **limits: Any) -> Policy:
    city = QuasiIdentifier("city", CategoricalDomain(Hierarchy.flat(["Oslo", "Rome", "Bari"])), max_level=0)
    return Policy(
        (Identifier("person"), city),
        3,
        "person",
        engine=EngineChoice(engine),
        window=WindowLimits(**{"max_records": 40, "max_delay": DELAY, "max_records_per_individual": 2} | limits),
        max_suppressed=bound or RecordBound(0.2),
        above_max_suppressed=above,
    )


def _batch(policy: Policy, first: int, cities: Sequence[int], people: Sequence[int] | None = None) -> CodedBatch:
    offsets = range(first, first + len(cities))
    return batch_of(policy, 0, offsets, people=people or offsets, codes=[[city] for city in cities])


def _engine(policy: Policy) -> Engine:
    engine = Engine(policy, draws=np.random.default_rng(0))
    engine.open(0, 0)
    return engine


def _released(policy: Policy, cities: Sequence[int], people: Sequence[int] | None = None) -> Release:
    engine = _engine(policy)
    engine.add(_batch(policy, 0, cities, people), 0.0)
    window = engine.seal(0.0)
    assert window is not None
    return Closer(policy).release(window, np.random.default_rng(0))


POOR, RICH = [OSLO] * 3 + [ROME] * 2, [OSLO] * 3 + [ROME] * 3


def test_a_window_within_the_bound_is_published_and_not_marked() -> None:
    for above in AboveMost:
        release = _released(_policy(above), RICH)
        assert (release.released, release.suppressed, release.above_max_suppressed) == (6, {}, False)
        release = _released(_policy(above, RecordBound(0.4)), POOR)  # exactly as many as are allowed
        assert (release.released, release.above_max_suppressed) == (3, False)
        release = _released(_policy(above, RecordBound(records=1)), POOR)
        assert release.above_max_suppressed


@pytest.mark.parametrize("above", [AboveMost.PUBLISH, AboveMost.HOLD])
def test_a_window_above_the_bound_that_cannot_wait_is_published_and_marked(above: AboveMost) -> None:
    release = _released(_policy(above), POOR)
    assert (release.released, release.suppressed) == (3, {Suppression.MAX_LEVEL: 2})
    assert release.above_max_suppressed


def test_a_window_above_the_bound_is_suppressed_whole_where_that_is_asked() -> None:
    release = _released(_policy(AboveMost.SUPPRESS), POOR)
    assert (release.released, len(release.classes), release.gcp) == (0, 0, 1.0)
    assert release.suppressed == {Suppression.MAX_LEVEL: 2, Suppression.MAX_SUPPRESSED: 3}
    assert release.class_of_row.tolist() == [-1] * 5
    assert release.above_max_suppressed


def test_rows_that_are_too_large_stay_dead_letters_where_their_window_is_suppressed_whole() -> None:
    policy = _policy(AboveMost.SUPPRESS, RecordBound(records=0))
    engine = _engine(policy)
    engine.add(_batch(policy, 0, [OSLO] * 4 + [ROME] * 2), 0.0)
    window = engine.seal(0.0)
    assert window is not None
    turns = iter([[0], []])
    release = Closer(policy).release(window, np.random.default_rng(0), lambda _: np.array(next(turns), np.int64))
    assert (release.released, len(release.rejects)) == (0, 1)
    assert release.suppressed == {Suppression.MAX_LEVEL: 2, Suppression.MAX_SUPPRESSED: 3}
    assert release.records_in == 6


@pytest.mark.parametrize(("victim", "released"), [([], 3), ([ROME], 0)])
def test_lone_records_that_were_planted_tell_whether_one_more_came(victim: list[int], released: int) -> None:
    """Not promised: docs/privacy.md says so, and who may write to the input."""
    planted = [BARI] * 2
    release = _released(_policy(AboveMost.SUPPRESS, RecordBound(records=2)), [OSLO] * 3 + planted + victim)
    assert release.released == released


def test_dead_letters_are_no_part_of_what_a_share_is_taken_of() -> None:
    policy = _policy(AboveMost.PUBLISH)
    engine = _engine(policy)
    engine.add(_batch(policy, 0, [OSLO] * 8 + [ROME]), 0.0)
    window = engine.seal(0.0)
    assert window is not None
    turns = iter([range(5), []])
    release = Closer(policy).release(window, np.random.default_rng(0), lambda _: np.array(next(turns), np.int64))
    assert (release.released, len(release.rejects), sum(release.suppressed.values())) == (3, 5, 1)
    assert release.above_max_suppressed  # 1 of 4, and not of 9


def test_a_violation_is_told_where_its_window_is_suppressed_whole() -> None:
    policy = _policy(AboveMost.SUPPRESS)
    rows = Columns(np.array([POOR], np.int32), np.arange(5, dtype=np.int32), np.empty((0, 5), np.int32))
    window = sealed(policy, rows, Told([0, 0, 0, 1, 1]))  # two people of Rome are no class
    release = Closer(policy).release(window, np.random.default_rng(0))
    assert release.suppressed == {Suppression.GATE: 2, Suppression.MAX_SUPPRESSED: 3}
    assert release.gate_violations == 1


def test_records_over_their_individuals_limit_are_among_the_suppressed() -> None:
    policy = _policy(AboveMost.SUPPRESS, RecordBound(records=1))
    people = [0, 1, 2, 2, 2, 2]  # two of the last person's records are over the limit
    release = _released(policy, [OSLO] * 6, people)
    assert release.suppressed == {Suppression.OVER_LIMIT: 2, Suppression.MAX_SUPPRESSED: 4}


def test_a_window_without_enough_people_is_above_the_bound_too() -> None:
    release = _released(_policy(AboveMost.PUBLISH), [OSLO] * 2)
    assert release.suppressed == {Suppression.SHORTFALL: 2}
    assert release.above_max_suppressed


def test_a_held_window_waits_for_records_and_a_little_longer() -> None:
    policy = _policy(AboveMost.HOLD)
    engine = _engine(policy)
    engine.add(_batch(policy, 0, POOR), 0.0)
    assert engine.deadline is not None  # whether it must be held is counted when it is due
    assert engine.tick(DELAY) is None
    assert engine.deadline is None
    assert engine.held
    assert engine.tick(LONG) is None
    engine.add(_batch(policy, 5, [ROME]), LONG)
    assert engine.tick(LONG) is None  # else it would tell when the last of three came
    assert not engine.held
    assert engine.deadline is not None
    assert LONG < engine.deadline <= LONG + 0.1 * DELAY
    window = engine.tick(LONG + 0.1 * DELAY)
    assert window is not None
    release = Closer(policy).release(window, np.random.default_rng(0))
    assert (release.released, release.above_max_suppressed) == (6, False)
    # The next window begins with nothing held.
    engine.add(_batch(policy, 6, RICH), LONG + 100)
    assert engine.tick(LONG + 100 + DELAY) is not None


def test_a_held_window_that_gets_worse_again_is_held_again() -> None:
    policy = _policy(AboveMost.HOLD)
    engine = _engine(policy)
    engine.add(_batch(policy, 0, POOR), 0.0)
    assert engine.tick(DELAY) is None
    engine.add(_batch(policy, 5, [ROME]), LONG)
    assert engine.tick(LONG) is None
    engine.add(_batch(policy, 6, [BARI, BARI]), LONG + 0.001)
    assert engine.tick(LONG + 0.1 * DELAY) is None
    assert engine.held


def test_a_full_window_closes_though_it_suppresses_too_many() -> None:
    policy = _policy(AboveMost.HOLD, max_records=5)
    engine = _engine(policy)
    (window,) = engine.add(_batch(policy, 0, POOR), 0.0)
    release = Closer(policy).release(window, np.random.default_rng(0))
    assert (release.released, release.above_max_suppressed) == (3, True)


def test_the_window_after_a_held_one_that_was_full_is_not_held() -> None:
    policy = _policy(AboveMost.HOLD, max_records=8)
    engine = _engine(policy)
    engine.add(_batch(policy, 0, POOR), 0.0)
    assert engine.tick(DELAY) is None
    assert engine.held
    (_,) = engine.add(_batch(policy, 5, [BARI] * 2 + [ROME]), LONG)
    engine.add(_batch(policy, 8, [OSLO] * 3), LONG)
    assert engine.deadline is not None
    assert not engine.held
    assert engine.tick(LONG + DELAY) is not None


def test_a_window_is_held_no_longer_when_too_many_dead_letters_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = _policy(AboveMost.HOLD)
    engine = _engine(policy)
    engine.add(_batch(policy, 0, POOR), 0.0)
    assert engine.tick(DELAY) is None
    monkeypatch.setattr(Engine, "room", property(lambda _: False))
    assert not engine.held
    assert engine.deadline is not None
    assert engine.tick(LONG) is not None


def test_a_window_is_counted_again_when_it_has_grown_by_a_sixteenth(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = _policy(AboveMost.HOLD, RecordBound(records=0), max_records=1_000)
    engine = _engine(policy)
    engine.add(_batch(policy, 0, [OSLO] * 31 + [ROME]), 0.0)
    counted = []
    window = type(engine._window)
    count = window.would_suppress
    monkeypatch.setattr(window, "would_suppress", lambda self, criteria: counted.append(0) or count(self, criteria))
    for extra in range(5):
        assert engine.tick(DELAY + extra) is None
        assert engine.tick(DELAY + extra) is None
        engine.add(_batch(policy, 32 + extra, [OSLO]), DELAY + extra)
    # With 32 records, and with 34 and 36.
    assert len(counted) == 3


def test_rows_that_leave_are_not_counted_any_more() -> None:
    policy = _policy(AboveMost.HOLD)
    engine = _engine(policy)
    engine.open(1, 0)
    engine.add(_batch(policy, 0, [OSLO] * 3), 0.0)
    lone = replace(_batch(policy, 0, [ROME] * 2, [70, 71]), sources=np.ones(2, np.int32))
    engine.add(lone, 0.0)
    assert engine.tick(DELAY) is None
    engine.revoke({1})
    assert engine.tick(LONG) is None  # as if the last of three had come
    assert engine.tick(LONG + 0.1 * DELAY) is not None


def test_both_holds_hold() -> None:
    policy = _policy(AboveMost.HOLD, shortfall=Shortfall.HOLD)
    engine = _engine(policy)
    engine.add(_batch(policy, 0, [OSLO]), 0.0)
    assert engine.deadline is None
    engine.add(_batch(policy, 1, [OSLO, ROME]), 1.0)
    assert engine.tick(DELAY) is None
    assert engine.held
    engine.add(_batch(policy, 3, [OSLO, OSLO, OSLO, OSLO]), LONG)
    assert engine.tick(LONG) is None
    assert engine.tick(LONG + DELAY) is not None


@pytest.mark.parametrize("engine", ["forest", "mondrian", "k-forest", "full-domain"])
@given(cities=st.lists(st.integers(0, 4), min_size=1, max_size=39), data=st.data())
def test_what_a_held_window_is_said_to_suppress_is_what_its_release_suppresses(
    engine: str, cities: list[int], data: st.DataObject
) -> None:
    people = data.draw(st.lists(st.integers(0, 20), min_size=len(cities), max_size=len(cities)))
    policy = _policy(AboveMost.HOLD, engine="forest")
    if engine == "full-domain":
        fixed = tuple(a.at_level(0) if isinstance(a, QuasiIdentifier) else a for a in policy.attributes)
        policy = replace(policy, attributes=fixed, engine=EngineChoice(engine))
    else:
        policy = replace(policy, engine=EngineChoice(engine))
    made = _engine(policy)
    made.add(_batch(policy, 0, cities, people), 0.0)
    said = made._window.would_suppress(made._criteria)
    window = made.seal(0.0)
    assert window is not None
    release = Closer(policy).release(window, np.random.default_rng(0))
    assert sum(release.suppressed.values()) == said
    assert release.gate_violations == 0


def test_what_to_do_above_a_bound_needs_a_bound() -> None:
    policy = _policy(AboveMost.SUPPRESS)
    with pytest.raises(SettingsError, match=r"privacy\.above_max_suppressed: is for max_suppressed"):
        replace(policy, max_suppressed=None)

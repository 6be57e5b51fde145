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

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.choices.window_limits import AboveMost, WindowLimits
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from tests.support.batches import batch_of
from tests.support.lying import Told, sealed

OSLO, ROME, BARI = 0, 1, 2
DELAY = 10.0


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


def test_a_window_above_the_bound_is_published_and_marked() -> None:
    release = _released(_policy(AboveMost.PUBLISH), POOR)
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
    """Not promised: docs/explain/privacy.md says so, and who may write to the input."""
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


def test_what_to_do_above_a_bound_needs_a_bound() -> None:
    policy = _policy(AboveMost.SUPPRESS)
    with pytest.raises(SettingsError, match=r"privacy\.above_max_suppressed: is for max_suppressed"):
        replace(policy, max_suppressed=None)

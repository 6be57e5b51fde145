"""Levels at the close: what would be published finer or coarser than allowed is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stream_anon.engine import closing
from stream_anon.engine.closing import Closer
from stream_anon.microdata.attributes import Sensitive, Unknown
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.diversity import Closeness, Diversity
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from tests.support.lying import Told, sealed

LEAVES = CategoricalDomain(balanced([str(i) for i in range(8)], 2))  # height 3


def _release(codes: Sequence[int], told: Sequence[int], values: Sequence[int] = (), **given: Any) -> Release:
    """Return what becomes of one class after the other as a partitioner told them."""
    attribute = QuasiIdentifier(
        "x", LEAVES, **{key: given.pop(key) for key in list(given) if key.endswith("level")}
    )
    policy = Policy((replace(attribute, unknown=Unknown.ROOT), Sensitive("s")), 2, EVERY_RECORD, **given)
    rows = Columns(
        np.array([codes], np.int32),
        np.arange(len(codes), dtype=np.int32),
        np.array([values] * len(policy.diverse), np.int32).reshape(len(policy.diverse), len(codes)),
    )
    return Closer(policy).release(sealed(policy, rows, Told(told)), np.random.default_rng(0))


def test_a_class_above_the_highest_level_is_suppressed_and_is_no_violation() -> None:
    release = _release([0, 1, 0, 2, 0, 4], [0, 0, 1, 1, 2, 2], max_level=1)
    assert release.class_of_row.tolist() == [0, 0, -1, -1, -1, -1]
    assert release.suppressed == {Suppression.MAX_LEVEL: 4}
    assert release.gate_violations == 0


def test_what_a_partitioner_says_is_too_high_is_counted_as_that() -> None:
    release = _release([0, 1, 0, 2, 5], [0, 0, -2, -1, -7], max_level=1)
    assert release.suppressed == {Suppression.MAX_LEVEL: 1, Suppression.UNPLACED: 2}


def test_a_row_that_is_too_high_joins_no_class_where_others_are_taken_away() -> None:
    release = _release([1, 7, 2, 3, 0], [0, 0, 1, 1, -2], max_level=1)
    assert release.class_of_row.tolist() == [-1, -1, 0, 0, -1]
    assert release.suppressed == {Suppression.MAX_LEVEL: 3}


def test_a_class_below_the_lowest_level_is_raised_to_it_and_joins_others_that_are() -> None:
    release = _release([0, 0, 1, 1, 4, 5], [0, 0, 1, 1, 2, 2], min_level=1)
    assert release.class_of_row.tolist() == [0, 0, 0, 0, 1, 1]
    assert release.classes.low.tolist() == [[0, 4]]
    assert release.classes.high.tolist() == [[1, 5]]


def test_what_is_published_too_fine_is_a_violation_that_the_gate_takes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generalize = closing.generalize

    def lowered(generalizers: Any, attributes: Any, *rest: Any) -> Any:
        finer = [replace(attribute, min_level=0) for attribute in attributes]
        return generalize([type(generalizers[0])(attribute) for attribute in finer], finer, *rest)

    monkeypatch.setattr(closing, "generalize", lowered)
    release = _release([0, 0, 4, 5], [0, 0, 1, 1], min_level=1)
    assert release.class_of_row.tolist() == [-1, -1, 0, 0]
    assert release.suppressed == {Suppression.GATE: 2}
    assert release.gate_violations == 1


def test_unknown_values_alone_are_published_as_the_root_and_with_others_are_too_high() -> None:
    unknown = LEAVES.size + 1
    alone = _release([unknown, unknown, 0, 1], [0, 0, 1, 1], max_level=1)
    assert alone.classes.values[0][0] == "*"
    assert (alone.released, alone.suppressed) == (4, {})
    mixed = _release([unknown, 0, 0, 1], [0, 0, 1, 1], max_level=1)
    assert mixed.suppressed == {Suppression.MAX_LEVEL: 2}


def test_a_missing_value_is_allowed_on_every_level_unless_it_is_merged_with_others() -> None:
    missing = LEAVES.size
    release = _release([missing, missing, missing, 0], [0, 0, 1, 1], max_level=2)
    assert release.classes.values == [[None]]
    assert release.suppressed == {Suppression.MAX_LEVEL: 2}
    assert _release([missing, 0], [0, 0], max_level=3).classes.values == [["*"]]


@pytest.mark.parametrize("seed", range(5))
def test_a_random_raise_ends_at_the_highest_level(seed: int) -> None:
    policy = Policy((QuasiIdentifier("x", LEAVES, max_level=2), Sensitive("s")), 2, EVERY_RECORD, extra_levels=10)
    rows = Columns(np.array([[0, 0, 6, 7]], np.int32), np.arange(4, dtype=np.int32), np.empty((0, 4), np.int32))
    window = sealed(policy, rows, Told([0, 0, 1, 1]))
    release = Closer(policy).release(window, np.random.default_rng(seed))
    assert release.suppressed == {}
    assert all(policy.quasi_identifiers[0].read(value) is not None for value in release.classes.values[0])


def test_classes_are_compared_with_what_is_left_and_a_failure_of_that_is_excused() -> None:
    """Class 0 shows value 0 only, class 1 value 1 only, too high: without it class 0 is all there is."""
    diversity = {"s": Diversity(t_closeness=Closeness(0.1))}
    values = [0, 0, 1, 1]
    gone = _release([0, 1, 0, 7], [0, 0, 1, 1], values, max_level=1, diversity=diversity)
    assert gone.class_of_row.tolist() == [0, 0, -1, -1]
    assert gone.gate_violations == 0
    four = _release([0, 1, 2, 3, 0, 7], [0, 0, 1, 1, 2, 2], [0, 1, 0, 0, 1, 1], max_level=1, diversity=diversity)
    assert (four.released, four.gate_violations) == (0, 0)

"""Classifiers within a time: what does not fit in is left out, and told."""

from __future__ import annotations

import numpy as np
import pytest

from stream_anon.adapters.clock import SystemClock
from stream_anon.operations.utility import classifiers
from stream_anon.operations.utility.classifiers import CLASSIFIERS, SEARCH, Effort, fit

pytest.importorskip("sklearn", reason="scikit-learn is not installed")


class _Ticking:
    """A clock that every reading moves on."""

    def __init__(self, step: float) -> None:
        self.now, self._step = 0.0, step

    def monotonic(self) -> float:
        self.now += self._step
        return self.now

    def wall(self) -> float:
        raise AssertionError("durations are no dates")


def _two_kinds(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 2, rows)
    return (labels[:, None] + draws.normal(0, 0.2, (rows, 3))).astype(np.float32), labels


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_tells_two_kinds_apart_and_does_so_again(name: str) -> None:
    rows, labels = _two_kinds(320)
    others, expected = _two_kinds(100, 1)
    effort = Effort(50, 3, _Ticking(1.0))
    fitted = fit(name, rows, labels, effort)
    assert fitted.rows == 320
    assert (fitted.says(others) == expected).mean() > 0.97
    again = fit(name, rows, labels, Effort(50, 3, _Ticking(1.0)))
    assert (fitted.says(others) == again.says(others)).all()


def test_what_a_stage_will_take_is_a_constant_and_one_and_a_half_times_the_growth() -> None:
    assert classifiers._expected([(10, 2.0)], 40) == 8
    assert classifiers._expected([(10, 2.0), (40, 5.0)], 160) == pytest.approx(5 + 1.5 * 12)
    assert classifiers._expected([(10, 2.0), (40, 1.0)], 160) == 1


@pytest.mark.parametrize(("seconds", "trained"), [(7, 10), (8, 160), (10, 160), (11, 640)])
def test_a_classifier_is_trained_on_as_many_rows_as_the_time_suffices_for(seconds: float, trained: int) -> None:
    # Each stage takes one tick, and a look at the clock takes one too: before the stages 2, 3 and 4 there are 4, 7
    # and 10 ticks gone. The second is expected to take four, the others one, as both before them.
    rows, labels = _two_kinds(640)
    assert fit("decision tree", rows, labels, Effort(seconds, 0, _Ticking(1.0))).rows == trained


def test_the_search_ends_with_its_time_and_finds_what_no_straight_line_does() -> None:
    pytest.importorskip("flaml", reason="FLAML is not installed")
    draws = np.random.default_rng(0)
    rows = draws.uniform(-1, 1, (600, 2)).astype(np.float32)
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(np.int64)
    clock = SystemClock()
    begun = clock.monotonic()
    fitted = fit(SEARCH, rows[:500], labels[:500], Effort(3, 0, clock))
    assert clock.monotonic() - begun < 30  # far more than three seconds, for a machine that does other things too
    assert (fitted.says(rows[500:]) == labels[500:]).mean() > 0.85


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_that_time_stopped_after_a_handful_of_rows_still_says_labels(name: str) -> None:
    rows, labels = _two_kinds(300)
    fitted = fit(name, rows, labels, Effort(0.01, 0, _Ticking(1.0)))
    assert fitted.rows == 4
    assert set(fitted.says(rows).tolist()) <= {0, 1}


def test_a_few_labels_that_are_missing_from_the_first_rows_are_no_trouble() -> None:
    rows, labels = _two_kinds(640)
    labels[:] = 0
    labels[7] = 1
    assert fit("decision tree", rows, labels, Effort(50, 0, _Ticking(0.1))).rows == 640
    with pytest.raises(ValueError, match="two labels"):
        fit("decision tree", rows, labels * 0, Effort(50, 0, _Ticking(0.1)))

"""What the closing does with a partitioner's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stream_anon.engine import closing
from stream_anon.engine.closing import Closer, missing_by_name
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.attributes import PublishedForm, ScalarType, Sensitive
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.columns import Columns, Sets
from stream_anon.microdata.diversity import Closeness, Diversity, Recursion
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from stream_anon.privacy.generalization import GeneralizedClasses
from tests.support.lying import Liar, Told, sealed

LEAVES = CategoricalDomain(balanced([str(i) for i in range(64)], 2))


def _policy(attributes: int = 1, k: int = 2, **more: object) -> Policy:
    names = [QuasiIdentifier(f"x{i}", LEAVES) for i in range(attributes)]
    return replace(Policy((*names, Sensitive("s")), k, EVERY_RECORD), **more)  # type: ignore[arg-type]


def _window(
    policy: Policy, codes: Sequence[Sequence[int]], values: Sequence[int], told: Sequence[int]
) -> SealedWindow:
    rows = Columns(
        np.array(codes, np.int32),
        np.arange(len(told), dtype=np.int32),
        np.array([values] * len(policy.diverse), np.int32).reshape(len(policy.diverse), len(told)),
    )
    return sealed(policy, rows, Told(told))


def _released(policy: Policy, window: SealedWindow, seed: int = 0) -> Release:
    return Closer(policy).release(window, np.random.default_rng(seed))


def test_the_rest_is_judged_again_after_a_suppression() -> None:
    """Class A shows value 0 in 9 of 12, B in 1 of 4; four pairs of people, below k, make the whole even.

    Beside them both are within 0.3 of the whole. Without them B is 0.375 away from what is released.
    """
    policy = _policy(k=4, diversity={"s": Diversity(t_closeness=Closeness(0.3))})
    told = [0] * 12 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, 5]
    codes = [8 * number for number in told]
    values = [0] * 9 + [1] * 3 + [0, 1, 1, 1] + [0, 1, 0, 1, 1, 1, 1, 1]
    release = _released(policy, _window(policy, [codes], values, told))
    assert release.class_of_row.tolist() == [0] * 12 + [-1] * 12
    assert release.suppressed == {Suppression.GATE: 12}
    assert release.achieved_spread["s"]["t"] == 0
    # What fails for the company it lost is no fault of the partitioner's.
    assert release.gate_violations == 4


def test_the_rest_is_published_after_a_suppression_if_it_is_legal() -> None:
    policy = _policy(k=3)
    release = _released(policy, _window(policy, [[0, 0, 0, 8, 16, 16, 16]], [0] * 7, [0, 0, 0, 1, 2, 2, 2]))
    assert release.class_of_row.tolist() == [0, 0, 0, -1, 1, 1, 1]
    assert release.classes.values[0] == ["0", "16"]
    assert (release.gate_violations, release.achieved_k) == (1, 3)


def test_a_window_whose_rows_are_all_unplaced_publishes_nothing() -> None:
    policy = _policy(attributes=2)
    release = _released(policy, _window(policy, [[0] * 5] * 2, [0] * 5, [-1] * 5))
    assert (release.released, len(release.classes), release.achieved_k, release.gcp) == (0, 0, None, 1.0)
    assert release.class_of_row.tolist() == [-1] * 5
    assert release.suppressed == {Suppression.UNPLACED: 5}
    assert [len(values) for values in release.classes.values] == [0, 0]
    assert release.classes.low.shape == release.classes.high.shape == release.classes.ncp.shape == (2, 0)


def test_a_window_that_cannot_meet_the_criteria_is_a_shortfall_and_not_partitioned() -> None:
    policy = _policy(k=6)
    window = replace(_window(policy, [[0] * 5], [0] * 5, [0] * 5), partitioner=Liar(lambda rows, criteria: 1 / 0))
    release = _released(policy, window)
    assert release.suppressed == {Suppression.SHORTFALL: 5}
    assert (release.released, release.gate_violations) == (0, 0)


def test_an_empty_window_publishes_nothing_and_loses_nothing() -> None:
    policy = _policy()
    release = _released(policy, _window(policy, [[]], [], []))
    assert (release.released, release.suppressed, release.gcp) == (0, {}, None)


def test_clusters_published_alike_are_one_class_and_unplaced_rows_stay_out() -> None:
    policy = _policy(k=3)
    release = _released(policy, _window(policy, [[0, 0, 0, 0, 8, 8, 8, 16]], [0] * 8, [0, 0, 1, 1, 2, 2, 2, -1]))
    assert release.class_of_row.tolist() == [0, 0, 0, 0, 1, 1, 1, -1]
    assert release.classes.records.tolist() == [4, 3]
    assert release.gate_violations == 0


def test_every_reason_of_suppression_is_counted_by_itself() -> None:
    policy = _policy(k=3)
    window = _window(policy, [[0, 0, 0, 8, 8, 16]], [0] * 6, [4, 4, 4, 2, 2, -1])
    release = _released(policy, replace(window, over_limit=7))
    assert release.suppressed == {Suppression.UNPLACED: 1, Suppression.GATE: 2, Suppression.OVER_LIMIT: 7}
    assert release.gcp == 10 / 13  # the released three show their own value
    assert release.class_of_row.tolist() == [0, 0, 0, -1, -1, -1]


def test_a_class_that_fails_is_a_fault_unless_it_was_united_for_frequencies() -> None:
    """Two clusters of one tuple are legal apart, and over people not together: 0 is shown by 2, 1 by 4."""
    policy = _policy(k=2, diversity={"s": Diversity(alpha=0.6)})

    def violations(codes: list[int], told: list[int], values: list[int], people: list[int]) -> int:
        window = _window(policy, [codes], values, told)
        rows = Columns(window.columns.codes, np.array(people, np.int32), window.columns.sensitive)
        return _released(policy, sealed(policy, rows, Told(told))).gate_violations

    values, people = [0, 0, 1, 1, 0, 0, 1, 1, 1], [0, 1, 2, 3, 0, 1, 4, 5, 6]
    apart = [0] * 4 + [8] * 5
    told = [0] * 4 + [1] * 5
    assert violations(apart, told, values, people) == 0
    assert violations([0] * 9, told, values, people) == 0
    assert violations([0] * 9, [0] * 9, values, people) == 1


def test_a_union_that_misses_the_criterion_of_lists_is_no_fault() -> None:
    """Two clusters of one tuple share person 1: of three people two hold item 0, and one of two in each cluster."""
    attributes = (QuasiIdentifier("x0", LEAVES), Sensitive("s", ScalarType.STRING, many=True))
    policy = Policy(attributes, 2, EVERY_RECORD, diversity={"s": Diversity(2)})
    values, people = np.array([[0, 1, 0, 1]], np.int32), np.array([0, 1, 2, 1], np.int32)

    def released(codes: list[int]) -> Release:
        rows = Columns(np.array([codes], np.int32), people, values, (Sets.of([[7], [8]]),))
        return _released(policy, sealed(policy, rows, Told([0, 0, 1, 1])))

    apart, united = released([0, 0, 8, 8]), released([0] * 4)
    assert (apart.released, apart.gate_violations) == (4, 0)
    assert (united.released, united.gate_violations) == (0, 0)


def test_each_reached_figure_is_that_of_the_worst_class() -> None:
    asked = Diversity(2, entropy_l=1.2, recursive_cl=Recursion(5, 2), t_closeness=Closeness(0.9), alpha=0.9)
    policy = _policy(diversity={"s": asked})
    values = [0, 1, 0, 1, 0, 0, 0, 1]
    release = _released(policy, _window(policy, [[0] * 4 + [8] * 4], values, [0] * 4 + [1] * 4))
    reached = release.achieved_spread["s"]
    assert reached["alpha"] == 0.75
    assert reached["recursive_c"] == 3
    assert reached["t"] == pytest.approx(0.125)
    assert reached["entropy_l"] == pytest.approx(4 / 3**0.75)
    assert release.achieved_l == {"s": 2}
    uneven = _policy(diversity={"s": Diversity(2)})
    release = _released(uneven, _window(uneven, [[0] * 3 + [8] * 5], [0, 1, 2, 0, 1, 0, 1, 0], [0] * 3 + [1] * 5))
    assert (release.achieved_k, release.achieved_l, release.achieved_spread) == (3, {"s": 2}, {})
    only = _policy(diversity={"s": Diversity(alpha=0.9)})
    release = _released(only, _window(only, [[0] * 8], values, [0] * 8))
    assert release.achieved_spread["s"] == {"alpha": 0.625}
    close = _policy(diversity={"s": Diversity(t_closeness=Closeness(0.5))})
    release = _released(close, _window(close, [[0] * 8], values, [0] * 8))
    assert release.achieved_spread["s"] == {"t": 0}
    assert release.achieved_l == {}, "no number of values was asked for"
    # A half of four against a quarter of eight: a third of all.
    pair = _window(close, [[0] * 4 + [8] * 8], [0, 1, 0, 1, *[0] * 6, 1, 1], [0] * 4 + [1] * 8)
    assert _released(close, pair).achieved_spread["s"]["t"] == pytest.approx(1 / 2 - 1 / 3)
    # A single value is e to the 0, and nothing is farther than 1.
    none = _policy(diversity={"s": Diversity(entropy_l=1.0000000001)})
    release = _released(none, _window(none, [[0] * 8], [0] * 8, [0] * 8))
    assert release.achieved_spread["s"] == {"entropy_l": 1}


def test_the_time_of_the_gate_is_measured_by_the_watch_that_was_given() -> None:
    policy = _policy()
    times = iter([3.0, 5.5])
    closer = Closer(policy, lambda: next(times))
    release = closer.release(_window(policy, [[0] * 2], [0] * 2, [0] * 2), np.random.default_rng(0))
    assert release.gate_seconds == 2.5


def test_extra_levels_are_drawn_for_each_class_and_attribute_separately() -> None:
    policy = _policy(attributes=4, extra_levels=2)
    told = np.repeat(np.arange(16), 2)
    codes = np.tile(4 * told, (4, 1))  # each class one value an attribute
    drawn = []
    for seed in range(3):
        release = _released(policy, _window(policy, codes.tolist(), [0] * 32, told.tolist()), seed)
        widths = release.classes.high - release.classes.low + 1
        drawn.append(np.log2(widths[:, release.class_of_row[::2]]).astype(int))
    for levels in drawn:
        assert set(levels.ravel().tolist()) == {0, 1, 2}
        assert all(len(set(of_attribute)) > 1 for of_attribute in levels.tolist())
        assert sum(len(set(of_class)) > 1 for of_class in levels.T.tolist()) > 8
    assert len({levels.tobytes() for levels in drawn}) == 3


def test_a_window_without_a_placed_row_draws_no_extra_levels() -> None:
    policy = _policy(attributes=2, extra_levels=1)
    release = _released(policy, _window(policy, [[0] * 5] * 2, [0] * 5, [-1] * 5))
    assert (release.released, release.suppressed) == (0, {Suppression.UNPLACED: 5})


def test_cluster_numbers_may_have_gaps() -> None:
    policy = _policy(k=2)
    release = _released(policy, _window(policy, [[0, 0, 0, 8, 8, 8, 16]], [0] * 7, [0, 0, 0, 2, 2, 2, -1]))
    assert release.class_of_row.tolist() == [0, 0, 0, 1, 1, 1, -1]
    assert release.suppressed == {Suppression.UNPLACED: 1}


def test_a_fault_beside_a_union_is_a_fault() -> None:
    """The first two clusters are one tuple and legal, as is the last; the third, alone, shows one value."""
    policy = _policy(k=2, diversity={"s": Diversity(alpha=0.7)})
    told, values = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 0, 0, 0, 1]
    release = _released(policy, _window(policy, [[0] * 4 + [8] * 2 + [16] * 2], values, told))
    assert release.class_of_row.tolist() == [0] * 4 + [-1] * 2 + [1] * 2
    assert release.gate_violations == 1


def test_a_union_is_excused_if_frequencies_of_any_attribute_are_asked_for() -> None:
    attributes = (QuasiIdentifier("x0", LEAVES), Sensitive("s"), Sensitive("u"))
    policy = Policy(attributes, 2, EVERY_RECORD, diversity={"s": Diversity(2), "u": Diversity(alpha=0.6)})
    # Of the second attribute 0 is shown by 2 people and 1 by 4 where both clusters are one class.
    values = np.array([[0, 1, 0, 1, 0, 1, 0, 1, 0], [0, 0, 1, 1, 0, 0, 1, 1, 1]], np.int32)
    rows = Columns(np.zeros((1, 9), np.int32), np.array([0, 1, 2, 3, 0, 1, 4, 5, 6], np.int32), values)
    release = _released(policy, sealed(policy, rows, Told([0] * 4 + [1] * 5)))
    assert (release.released, release.gate_violations) == (0, 0)


def test_the_gate_looks_at_the_sets_of_a_union(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters 0 and 1 publish one set; what is to be published leaves a row out of it."""

    def forgetful(*arguments: Any) -> GeneralizedClasses:
        found = genuine(*arguments)
        (sets,) = found.members
        assert sets is not None
        return replace(found, members=[[own[:-1] if own == (0, 1) else own for own in sets]])

    genuine = closing.generalize
    policy = Policy((QuasiIdentifier("x0", LEAVES, publication=PublishedForm.VALUES),), 2, EVERY_RECORD)
    window = _window(policy, [[0, 1, 0, 1, 8, 9, 9]], [0] * 7, [0, 0, 1, 1, 2, 2, 2])
    assert _released(policy, window).class_of_row.tolist() == [0, 0, 0, 0, 1, 1, 1]
    monkeypatch.setattr(closing, "generalize", forgetful)
    assert _released(policy, window).class_of_row.tolist() == [-1] * 4 + [0] * 3


def test_only_attributes_with_missing_values_are_named() -> None:
    policy = _policy(attributes=3)
    assert missing_by_name(policy, np.array([0, 4, 0, 2])) == {"x1": 4, "s": 2}
    with pytest.raises(ValueError, match="shorter"):
        missing_by_name(policy, np.array([0, 4]))


def _without(policy: Policy, codes: Sequence[int], told: Sequence[int], *large: Sequence[int]) -> Release:
    """Release a window of which these rows are too large, those of each turn in turn."""
    window = _window(policy, [codes], [0] * len(codes), told)
    n = len(codes)
    window = replace(window, offsets=np.arange(100, 100 + n), payload=[("value",)] * n)
    turns = iter([*large, []])
    return Closer(policy).release(window, np.random.default_rng(0), lambda _: np.array(next(turns), np.int64))


def test_rows_that_are_too_large_are_dead_letters_and_the_rest_of_their_classes_goes_out() -> None:
    release = _without(_policy(k=2), [0] * 4 + [8] * 4, [0] * 4 + [1] * 4, [0], [5])
    assert release.class_of_row.tolist() == [-1, 0, 0, 0, 1, -1, 1, 1]
    assert release.classes.records.tolist() == [3, 3]
    assert release.suppressed == {}
    assert release.rejects.offsets.tolist() == [100, 105]
    assert set(release.rejects.reasons.tolist()) == {Reason.TOO_LARGE}


@pytest.mark.parametrize(("unplaced", "reasons"), [(0, 2), (1, 3)])
def test_a_class_that_falls_below_k_without_its_large_rows_is_unplaced(unplaced: int, reasons: int) -> None:
    codes, told = [0] * 3 + [8] * 4 + [16] * unplaced, [0] * 3 + [1] * 4 + [-1] * unplaced
    release = _without(_policy(k=3), codes, told, [2])
    assert release.class_of_row.tolist() == [-1] * 3 + [0] * 4 + [-1] * unplaced
    assert release.suppressed == {Suppression.UNPLACED: reasons}
    assert (release.gate_violations, len(release.rejects)) == (0, 1)


def test_rows_that_the_gate_held_back_stay_back_when_a_window_is_judged_again() -> None:
    release = _without(_policy(k=3), [0] * 2 + [8] * 5, [0] * 2 + [1] * 5, [6])
    assert release.class_of_row.tolist() == [-1] * 2 + [0] * 4 + [-1]
    assert release.suppressed == {Suppression.GATE: 2}
    assert release.gate_violations == 1

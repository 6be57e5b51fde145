"""Entropy, recursion, closeness and largest share, counted again from nothing but records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from math import inf, log, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.spreads import NULL, Shown, disclosed, faults
from stream_anon.audit.verdict import Kind, Verdict
from stream_anon.measures.disclosure import SensitiveColumn, disclosure
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion, Surest
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import Story, encode, kinds

ASKED = Diversity(
    2,
    entropy_l=2.5,
    recursive_cl=Recursion(1, 2),
    t_closeness=Closeness(0.2),
    alpha=0.4,
    delta_disclosure=1.5,
    beta_likeness=2,
)
POLICY = ward_policy(diversity={"result": ASKED})
# Two classes, each with two of three values.
GROUPS = [ward_people(6), ward_people(6, first=6, age=60, illness="stroke")]
TRUE = {"entropy_l": 3.0, "recursive_c": 0.5, "t": 0.0, "alpha": 1 / 3, "delta": 0.0, "beta": 0.0}


def _verdict(results: dict[int, str | None], reached: Mapping[str, float] = TRUE) -> Verdict:
    """Audit both classes after some records' results were changed."""
    release = release_of(POLICY, GROUPS, reached={"result": reached})
    parts = certificate_parts(release, POLICY, frame_of(release, 1, None))
    records = sorted(released_records(release, POLICY), key=json.dumps)
    for number, result in results.items():
        records[number]["result"] = result
    return audit_in_order(Audit(POLICY), parts, [decode_record(encode(record)) for record in records])


def test_classes_that_are_spread_as_asked_pass() -> None:
    assert _verdict({}).clean


@pytest.mark.parametrize(
    ("results", "kind"),
    [
        ({0: "bad", 1: "bad", 2: "bad", 3: "bad", 4: "bad"}, Kind.UNEVEN_VALUES),
        ({0: "new", 1: "new", 2: "new", 3: "other", 4: "other"}, Kind.DISTANT_VALUES),
        ({0: None, 1: None, 2: None, 3: None}, Kind.DISTANT_VALUES),
    ],
)
def test_a_class_that_is_not_spread_as_asked_is_found(results: dict[int, str | None], kind: Kind) -> None:
    assert {kind, Kind.WRONG_ACHIEVED_SPREAD} <= kinds(_verdict(results))


@pytest.mark.parametrize(
    "changes",
    [
        {"entropy_l": 3.1},
        {"entropy_l": 2.4},
        {"recursive_c": 0.4},
        {"t": 0.21},
        {"alpha": 0.3},
        {"alpha": None},
        {"delta": 1.6},
        {"delta": None},
        {"beta": 2.1},
    ],
)
def test_a_certificate_that_overstates_its_spread_is_found(changes: dict[str, Any]) -> None:
    assert kinds(_verdict({}, TRUE | changes)) == {Kind.WRONG_ACHIEVED_SPREAD}


def _shown(text: str) -> Shown:
    shown = Shown()
    for value in text:
        shown.add(None if value == "-" else int(value))
    return shown


def test_the_example_of_the_paper_has_the_distances_of_the_paper() -> None:
    """Li et al. (2007): incomes 3k to 11k; {3k, 4k, 5k} is 0.375 away, {6k, 8k, 11k} 0.167."""
    whole = Shown()
    for income in range(3, 12):
        whole.add(income)
    for incomes, distance in (((3, 4, 5), 0.375), ((6, 8, 11), 1 / 6)):
        shown = Shown()
        for income in incomes:
            shown.add(income)
        assert shown.distance(whole, ordered=True) == pytest.approx(distance)
        assert shown.distance(whole, ordered=False) == pytest.approx(2 / 3)


def test_missing_values_count_for_distance_and_not_for_diversity() -> None:
    whole = _shown("0011----")
    assert _shown("01--").distance(whole, ordered=False) == pytest.approx(0)
    assert _shown("----").distance(whole, ordered=True) == pytest.approx(0.5)
    assert _shown("0---").distance(whole, ordered=False) == pytest.approx(0.5)
    assert faults(_shown("0---"), whole, Diversity(alpha=0.5)) == [Kind.TOO_FEW_VALUES, Kind.UNEVEN_VALUES]
    assert faults(_shown("01--"), whole, Diversity(entropy_l=2)) == []


def test_a_closeness_in_order_differs_from_one_without() -> None:
    whole = _shown("01234567" * 2)
    asked = Diversity(t_closeness=Closeness(0.3, Distance.ORDERED))
    assert faults(_shown("0246"), whole, asked) == []
    assert faults(_shown("0123"), whole, asked) == []
    assert faults(_shown("0011"), whole, asked) == [Kind.DISTANT_VALUES]


def test_figures_are_those_of_the_values_and_none_without_a_value() -> None:
    shown = _shown("0001--")
    assert shown.entropy_l == pytest.approx(4 / 3**0.75)
    assert shown.alpha == 0.75
    assert (shown.recursive_c(2), shown.recursive_c(3)) == (3, float("inf"))
    assert _shown("000112").recursive_c(2) == 1
    assert _shown("000112").recursive_c(3) == 3
    nothing = _shown("--")
    assert (nothing.entropy_l, nothing.alpha, nothing.recursive_c(2)) == (1, 0, float("inf"))
    both = Shown.together([shown, _shown("12-")])
    assert (dict(both.values), both.missing) == ({0: 3, 1: 2, 2: 1}, 3)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_window_of_one_value_or_of_none_is_at_no_distance_from_itself(ordered: bool) -> None:
    for text in ("0", "-", "00", "0-"):
        assert _shown(text).distance(_shown(text), ordered=ordered) == 0


def test_two_values_are_the_two_ends_of_an_order() -> None:
    whole = _shown("01")
    for ordered in (False, True):
        assert _shown("0").distance(whole, ordered=ordered) == pytest.approx(0.5)
    assert _shown("00").distance(_shown("0000011111"), ordered=True) == pytest.approx(0.5)
    # A class without a value is as far as its missing ones.
    assert _shown("-").distance(_shown("-0123"), ordered=True) == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("asked", "right", "wrong", "kind"),
    [
        (Diversity(3), "012", "0011", Kind.TOO_FEW_VALUES),
        (Diversity(entropy_l=2), "01", "001", Kind.UNEVEN_VALUES),
        (Diversity(alpha=0.5), "0011", "00011", Kind.UNEVEN_VALUES),
        (Diversity(recursive_cl=Recursion(2, 2)), "000112", "0011", None),
        (Diversity(recursive_cl=Recursion(1, 2)), "000112222", "0011", Kind.UNEVEN_VALUES),
        (Diversity(t_closeness=Closeness(0.25)), "0111", "0000", Kind.DISTANT_VALUES),
    ],
)
def test_a_bound_may_be_met_but_not_exceeded(asked: Diversity, right: str, wrong: str, kind: Kind | None) -> None:
    whole = _shown("0011")
    assert faults(_shown(right), whole, asked) == []
    assert faults(_shown(wrong), whole, asked) == ([] if kind is None else [kind])


def test_every_fault_of_a_class_is_told() -> None:
    asked = Diversity(3, alpha=0.4, t_closeness=Closeness(0.1))
    found = faults(_shown("00"), _shown("0123"), asked)
    assert found == [Kind.TOO_FEW_VALUES, Kind.UNEVEN_VALUES, Kind.DISTANT_VALUES]


def test_the_order_of_values_is_their_own_and_not_that_of_arrival() -> None:
    whole = _shown("3102")
    assert _shown("01").distance(whole, ordered=True) == pytest.approx((0.25 + 0.5 + 0.25) / 3)
    mixed = Shown()
    for value in ("a", 1, "a", 1):
        mixed.add(value)
    # Of a policy on trust a text may be any scalar, and has no order then.
    assert mixed.distance(mixed, ordered=False) == 0


def test_delta_counts_absent_values_and_beta_gains_only() -> None:
    whole = _shown("000011112222")
    assert _shown("001122").delta(whole) == pytest.approx(0)
    assert _shown("000012").delta(whole) == pytest.approx(log(2))
    assert _shown("000012").beta(whole) == pytest.approx(1)
    assert _shown("0011").delta(whole) == inf
    assert _shown("0011").beta(whole) == pytest.approx(1 / 2)
    assert _shown("001122").beta(whole) == pytest.approx(0)
    missing = _shown("01--01--")
    assert _shown("01-").delta(missing) == pytest.approx(log(3 / 2))
    assert _shown("01").delta(missing) == inf
    assert _shown("0---").beta(missing) == pytest.approx(1)
    assert _shown("01---").beta(missing) == pytest.approx(1 / 5)
    assert _shown("----").delta(missing) == inf


def test_reaching_delta_is_a_violation_and_reaching_beta_is_not() -> None:
    whole = _shown("000011112222")
    at, below = Diversity(delta_disclosure=log(2)), Diversity(delta_disclosure=log(2) + 1e-6)
    assert faults(_shown("000012"), whole, at) == [Kind.DISTANT_VALUES]
    assert faults(_shown("000012"), whole, below) == []
    assert faults(_shown("000012"), whole, Diversity(beta_likeness=1)) == []
    assert faults(_shown("000012"), whole, Diversity(beta_likeness=1 - 1e-6)) == [Kind.DISTANT_VALUES]


def _holding(values: list[Any]) -> Shown:
    shown = Shown()
    for value in values:
        shown.add(value)
    return shown


def test_an_item_counts_once_for_each_list_and_who_has_none_is_not_counted() -> None:
    shown = _holding([["x", "x"], ["y"], [], None])
    assert (dict(shown.values), shown.lists, shown.missing) == ({"x": 1, "y": 1}, 2, 2)
    assert shown.distinct == 2
    assert _holding([["x", "y"], ["x"], ["z"], []]).distinct == 1


_SINGLE = st.sampled_from(["x", "y", "z", None])
_LISTS = st.lists(st.sampled_from("xyz"), max_size=3) | st.none()


@given(
    st.lists(st.lists(_SINGLE, min_size=1, max_size=9), min_size=1, max_size=4)
    | st.lists(st.lists(_LISTS, min_size=1, max_size=9), min_size=1, max_size=4)
)
def test_what_classes_give_away_is_counted_here_as_by_the_measure_that_shares_no_code(classes: list[Any]) -> None:
    parts = list(map(_holding, classes))
    found = disclosed(parts, Shown.together(parts))
    numbers = np.repeat(np.arange(len(classes)), list(map(len, classes)))
    expected = disclosure(numbers, SensitiveColumn.of(value for own in classes for value in own))
    for name in ("prior", "told", "guess"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-9)
    assert (found.records, found.worst, found.alike) == (expected.records, expected.worst, expected.alike)


def test_the_verdict_says_of_all_windows_what_their_classes_give_away(story: Story) -> None:
    """Classes of five and of four records, and in the next window one of six: three results in turn."""
    for records in (story.records[0][:5], story.records[0][5:], story.records[1]):
        assert Counter(record["result"] for record in records).most_common(1)[0][1] == 2
    found = story.verdict().disclosed["result"]

    def bits(*counts: int) -> float:
        return sum(-count / sum(counts) * log2(count / sum(counts)) for count in counts)

    first = bits(4, 3, 2)
    told = first - 5 / 9 * bits(2, 2, 1) - 4 / 9 * bits(2, 1, 1)
    assert found.records == 15
    assert found.prior == pytest.approx((9 * first + 6 * log2(3)) / 15)
    assert found.told == pytest.approx(9 * told / 15)
    assert found.guess == pytest.approx((9 * 4 / 9 + 6 / 3) / 15)
    assert (found.worst, found.alike) == (Surest(4, 0.5), 0)


def test_attributes_without_a_criterion_count_too_and_classes_of_one_value_are_no_violation() -> None:
    policy = ward_policy(diversity={})
    story = Story(policy)
    for window in story.records:
        for record in window:
            record["result"] = record["illness"]
    verdict = story.verdict()
    assert verdict.kinds.keys() <= {Kind.WRONG_DIGEST}
    assert (verdict.disclosed["result"].records, verdict.disclosed["result"].alike) == (15, 15)
    assert verdict.disclosed["result"].worst == Surest(6, 1.0)


@pytest.mark.parametrize(
    ("values", "broken"),
    [
        (["a", "b"], False),
        (["a", "b", "a"], False),
        (["c", "d", None], False),
        (["a", "b", "c", "d", None], False),
        (["a"], True),
        (["a", "b", "c"], True),
        (["c", "d"], True),
        ([None], True),
        ([], False),
    ],
    ids=str,
)
def test_a_family_is_broken_where_some_of_its_values_show_and_not_all(
    values: list[str | None], broken: bool
) -> None:
    shown = Shown(null_is_value=True)
    for value in values:
        shown.add(value)
    assert shown.breaks([frozenset("ab"), frozenset(["c", "d", NULL])]) is broken


def test_a_missing_value_of_a_family_counts_as_any_other() -> None:
    shown = Shown(null_is_value=True)
    for value in ("a", None, None):
        shown.add(value)
    assert (shown.distinct, shown.missing, shown.records, shown.most) == (2, 0, 3, 2)
    assert shown.alpha == pytest.approx(2 / 3)

"""What a release leaks is the mean over what its values stand for, and follows from the published table alone."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.measures.boxes import Boxes, boxes_of, boxes_of_classes
from stream_anon.measures.leakage import Population, leakage, leakage_after
from stream_anon.measures.window_leakage.after import shares_after
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.release import Classes
from tests.attacks.town import Service, town_policy, townspeople
from tests.support.releases import ward_policy
from tests.unit.measures.tables import SIZES, covers, random_release, random_table

SEEDS = st.integers(0, 2**32 - 1)


def _written_out(boxes: Boxes, place: int) -> float:
    """Return the share of an attribute by the words of its definition."""
    stands_for = [
        [code for code in range(SIZES[place]) if covers(boxes, number, place, code)] for number in range(len(boxes))
    ]
    records, total = boxes.records.tolist(), sum(boxes.records.tolist())

    def over(code: int, *, spread: bool) -> float:
        return sum(
            many / (len(codes) if spread else 1)
            for many, codes in zip(records, stands_for, strict=True)
            if code in codes
        )

    bits = 0.0
    for many, codes in zip(records, stands_for, strict=True):
        occurring = [over(code, spread=True) for code in codes]
        told = [log2(total / over(code, spread=False)) for code in codes]
        bits += many / total * sum(a * b for a, b in zip(occurring, told, strict=True)) / sum(occurring)
    return bits / log2(total)


@given(SEEDS, st.integers(3, 60), st.booleans())
def test_shares_are_those_of_the_definition_written_out(seed: int, rows: int, sets: bool) -> None:
    draws = np.random.default_rng(seed)
    boxes, _ = random_release(draws, random_table(draws, rows), sets=sets)
    if boxes.records.sum() > 1:
        expected = [_written_out(boxes, place) for place in range(len(SIZES))]
        assert shares_after(boxes).tolist() == pytest.approx(expected, abs=1e-9)


@given(SEEDS, st.booleans())
def test_equal_tables_give_equal_bits_whatever_the_order_and_the_number_of_their_classes(
    seed: int,
    sets: bool,
) -> None:
    """A sum of floats tells the order of what was added, and that order may be one of the original records."""
    draws = np.random.default_rng(seed)
    boxes, _ = random_release(draws, random_table(draws, 200), sets=sets)
    order = np.append(draws.permutation(len(boxes)), 0)  # class 0 comes twice, with its records shared out
    records = boxes.records[order]
    records[order == 0] = boxes.records[0] - 1, 1
    members = {place: [of[number] for number in order] for place, of in boxes.members.items()}
    again = Boxes(boxes.low[:, order], boxes.high[:, order], records, members)
    assert shares_after(again).tobytes() == shares_after(boxes).tobytes()


def test_values_that_are_published_as_they_are_leak_what_they_leak_before() -> None:
    codes = random_table(np.random.default_rng(1), 300)
    people = Population(codes)
    found = shares_after(Boxes(codes, codes, np.ones(300, np.int64))) * log2(300)
    assert found.tolist() == pytest.approx([leakage(people, (place,)) for place in range(3)])


def test_what_is_published_as_anything_leaks_nothing_and_so_does_a_single_record() -> None:
    whole = Boxes(np.zeros((2, 3), np.int32), np.full((2, 3), 9, np.int32), np.array([3, 4, 5]))
    assert shares_after(whole).tolist() == [0.0, 0.0]
    one = Boxes(np.zeros((2, 1), np.int32), np.zeros((2, 1), np.int32), np.array([1]))
    assert shares_after(one).tolist() == [0.0, 0.0]
    assert shares_after(boxes_of_classes(ward_policy().quasi_identifiers, Classes.none(6))).tolist() == [0.0] * 6


def test_the_widest_domains_are_measured_as_exactly_as_others() -> None:
    """Half of the records are of one value of 2^30, the others of any: these leak what half of all leaks."""
    wide = Boxes(np.array([[5, 0]], np.int32), np.array([[5, 2**30 - 1]], np.int32), np.array([512, 512]))
    any_value = np.log2(1024 / 512) * (1 - 512 / 1024)  # of it half occurs where all match: 0 bits
    assert shares_after(wide)[0] == pytest.approx(0.5 * any_value / 10, abs=0.01)


@pytest.mark.parametrize("changes", [{}, {"tight": True}, {"publication": PublishedForm.VALUES}])
def test_shares_are_within_three_points_of_what_true_values_give(changes: dict[str, object]) -> None:
    policy, people = town_policy(5, **changes), townspeople(1000, 7)  # type: ignore[arg-type]
    release = Service(policy).release(people)
    attributes = policy.quasi_identifiers
    codes = np.array([[each.code(one[each.name]) for one in people] for each in attributes], np.int32)
    published = Population(codes[:, release.class_of_row >= 0])
    boxes = boxes_of_classes(attributes, release.classes)
    true = [leakage_after(published, boxes, (place,)) / log2(release.released) for place in range(3)]
    assert shares_after(boxes).tolist() == pytest.approx(true, abs=0.03)


def test_the_boxes_of_classes_are_those_that_are_read_from_what_is_published() -> None:
    for policy in (town_policy(), town_policy(tight=True), town_policy(publication=PublishedForm.VALUES)):
        classes = Service(policy).release(townspeople(200, 3)).classes
        own = boxes_of_classes(policy.quasi_identifiers, classes)
        read = boxes_of(policy.quasi_identifiers, list(zip(*classes.values, strict=True)), classes.records.tolist())
        assert shares_after(own).tobytes() == shares_after(replace(read)).tobytes()
        every = np.array([[0, 1, 2, 50], [0, 1, 2, 3], [0, 1, 2, 2]], np.int32)
        for place in range(3):
            numbers = np.arange(len(classes))
            assert (own.cover(place, every[place], numbers) == read.cover(place, every[place], numbers)).all()
            assert (own.width(place, numbers) == read.width(place, numbers)).all()

"""The example of Xiao and Tao (SIGMOD 2007, section 1): a hospital publishes twice, with counterfeits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stream_anon.recoding.invariance.buckets import Signature, bucketed
from stream_anon.recoding.invariance.invariant_groups import grouped

DYSPEPSIA, BRONCHITIS, FLU, GASTRITIS = range(4)
# The groups of the first release (table 1b), by the diseases of their people.
FIRST: dict[str, Signature] = {
    "Bob": (DYSPEPSIA, BRONCHITIS),
    "Alice": (DYSPEPSIA, BRONCHITIS),
    "Andy": (FLU, GASTRITIS),
    "David": (FLU, GASTRITIS),
    "Gary": (FLU, GASTRITIS),
    "Helen": (FLU, GASTRITIS),
    "Jane": (DYSPEPSIA, FLU, GASTRITIS),
    "Ken": (DYSPEPSIA, FLU, GASTRITIS),
    "Linda": (DYSPEPSIA, FLU, GASTRITIS),
    "Paul": (DYSPEPSIA, GASTRITIS),
    "Steve": (DYSPEPSIA, GASTRITIS),
}
SECOND = [  # table 2a: name, age, zip code, disease
    ("Bob", 21, 12000, DYSPEPSIA),
    ("David", 23, 25000, GASTRITIS),
    ("Emily", 25, 21000, FLU),
    ("Jane", 37, 33000, DYSPEPSIA),
    ("Linda", 43, 26000, GASTRITIS),
    ("Gary", 41, 20000, FLU),
    ("Mary", 46, 30000, GASTRITIS),
    ("Ray", 54, 31000, DYSPEPSIA),
    ("Steve", 56, 34000, GASTRITIS),
    ("Tom", 60, 44000, GASTRITIS),
    ("Vince", 65, 36000, FLU),
]
NAMES = [name for name, *_ in SECOND]
VALUES = np.array([value for *_, value in SECOND], np.int64)
KNOWN = [FIRST.get(name) for name in NAMES]
CODES = np.array([[age for _, age, _, _ in SECOND], [code // 1000 for _, _, code, _ in SECOND]], np.int32)
SIZES = np.array([100, 60], np.int64)


@pytest.mark.parametrize("seed", range(10))
def test_who_is_new_fills_no_place_of_the_second_release(seed: int) -> None:
    """The paper has Ray beside Steve, and two counterfeits. That Bob's is none of Ray's tells what Bob has."""
    buckets = bucketed(VALUES, KNOWN, 2, np.random.default_rng(seed))
    for bucket in buckets:
        bucket.check_invariants()
    assert sum(map(len, (rows for bucket in buckets for rows in bucket.rows.values()))) == len(VALUES)
    made = {bucket.signature: bucket.counterfeits for bucket in buckets if bucket.counterfeits}
    assert made == {
        (DYSPEPSIA, BRONCHITIS): {BRONCHITIS: 1},
        (DYSPEPSIA, FLU, GASTRITIS): {FLU: 1},
        (DYSPEPSIA, GASTRITIS): {DYSPEPSIA: 1},
    }
    held = {bucket.signature: {NAMES[row] for rows in bucket.rows.values() for row in rows} for bucket in buckets}
    assert held[DYSPEPSIA, BRONCHITIS] == {"Bob"}
    assert held[DYSPEPSIA, GASTRITIS] == {"Steve"}
    # Of those who are new one with each of three values, and the two others.
    assert {"Jane", "Linda", "Ray"} < held[DYSPEPSIA, FLU, GASTRITIS]
    assert {"David", "Gary"} < held[FLU, GASTRITIS]
    assert Counter(map(len, held.values())) == {1: 2, 4: 1, 5: 1}


def test_each_group_shows_the_signature_of_everybody_in_it() -> None:
    found = grouped(CODES, SIZES, VALUES, KNOWN, (1, 2), np.random.default_rng(1))
    assert (found.group_of_row >= 0).all()
    assert sorted(found.values.tolist()) == [DYSPEPSIA, BRONCHITIS, FLU]
    assert [found.signatures[row] for row, known in enumerate(KNOWN) if known] == [
        known for known in KNOWN if known
    ]


def test_where_two_people_are_asked_nobody_stands_alone_with_a_counterfeit() -> None:
    found = grouped(CODES, SIZES, VALUES, KNOWN, (2, 2), np.random.default_rng(1))
    sizes = np.bincount(found.group_of_row[found.group_of_row >= 0])
    assert sizes.min() >= 2
    assert (found.group_of_row >= 0).all()
    assert [found.signatures[NAMES.index(name)] for name in ("Bob", "Steve")] == [FIRST["Bob"], FIRST["Steve"]]

"""Entropy, recursion, closeness and largest share: tables with known answers, and pycanon on what was released."""

from __future__ import annotations

import csv
import math
import warnings
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from stream_anon.audit.spreads import Shown
from stream_anon.microdata.attributes import ScalarType, Sensitive
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.criteria import Criteria, Spread
from stream_anon.privacy.gate import recount
from tests.attacks.town import Service, classes_of, town_policy, townspeople
from tests.support.data import shared_data
from tests.support.recodings import TWELVE

PUPILS = ("Teacher", "Gender", "Ethnic", "Freeredu", "wesson")


def _read(name: str) -> list[dict[str, Any]]:
    with shared_data("pycanon", name).open(encoding="utf-8", newline="") as file:
        return [{**row, "Score": float(row["Score"])} for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("name", "k", "distinct", "entropy", "closeness"),
    [("StudentsMath_Score.csv", 1, 1, 1, 0.4165920), ("StudentsMath_Score_k5.csv", 5, 4, 3, 0.3102329)],
)
def test_a_table_with_known_answers_is_counted_right(
    name: str, k: int, distinct: int, entropy: int, closeness: float
) -> None:
    """Vector 9, through the gate's counting and through the audit's."""
    rows = _read(name)
    keys = [tuple(row[key] for key in PUPILS) for row in rows]
    group = np.array([sorted(set(keys)).index(key) for key in keys], np.int64)
    scores = sorted({row["Score"] for row in rows})
    column = np.array([[scores.index(row["Score"]) for row in rows]], np.int32)
    columns = Columns(np.zeros((1, len(rows)), np.int32), np.arange(len(rows), dtype=np.int32), column)
    asked = Criteria(2, 0.5, np.array([2]), (Spread(entropy_l=2, t=0.5, ordered=True),))
    counts = recount(group, len(set(keys)), columns, asked)
    (spread,) = counts.spreads
    assert spread is not None
    assert counts.individuals.min() == k
    assert counts.values.min() == distinct
    assert int(math.exp(spread.entropy.min()) + 1e-9) == entropy
    assert spread.distance.max() == pytest.approx(closeness, abs=1e-7)
    parts: dict[tuple[Any, ...], Shown] = {}
    for key, row in zip(keys, rows, strict=True):
        parts.setdefault(key, Shown()).add(row["Score"])
    whole = Shown.together(parts.values())
    assert min(len(part.values) for part in parts.values()) == distinct
    assert int(min(part.entropy_l for part in parts.values()) + 1e-9) == entropy
    assert max(part.distance(whole, ordered=True) for part in parts.values()) == pytest.approx(closeness, abs=1e-7)


def test_three_classes_of_four_are_counted_as_by_hand_and_by_pycanon() -> None:
    rows = [(ward, condition) for ward, held in TWELVE.items() for condition in held]
    group = np.array(["abc".index(ward) for ward, _ in rows], np.int64)
    values = np.array([["HVC".index(condition) for _, condition in rows]], np.int32)
    columns = Columns(np.zeros((1, 12), np.int32), np.arange(12, dtype=np.int32), values)
    counts = recount(group, 3, columns, Criteria(2, 0.5, np.array([4]), (Spread(entropy_l=2, t=0.5),)))
    (spread,) = counts.spreads
    assert spread is not None
    assert counts.individuals.tolist() == [4, 4, 4]
    assert counts.values[0].tolist() == [2, 3, 1]
    assert np.exp(spread.entropy).tolist() == pytest.approx([2, 2.828, 1], abs=5e-4)
    assert spread.distance.tolist() == pytest.approx([0.4167, 0.1667, 0.5833], abs=5e-5)
    parts = [Shown(Counter(held)) for held in TWELVE.values()]
    assert [part.distinct for part in parts] == [2, 3, 1]
    assert [part.entropy_l for part in parts] == pytest.approx([2, 2.828, 1], abs=5e-4)
    whole = Shown.together(parts)
    distances = [part.distance(whole, ordered=False) for part in parts]
    assert distances == pytest.approx([0.4167, 0.1667, 0.5833], abs=5e-5)
    for asked, permitted in (
        (Criteria(5, 0.5, np.array([1])), [False, False, False]),
        (Criteria(4, 0.5, np.array([1])), [True, True, True]),
        (Criteria(4, 0.5, np.array([2])), [True, True, False]),
        (Criteria(4, 0.5, np.array([1]), (Spread(entropy_l=2.828),)), [False, True, False]),
        (Criteria(4, 0.5, np.array([1]), (Spread(t=5 / 12),)), [True, True, False]),
        (Criteria(4, 0.5, np.array([1]), (Spread(t=0.166),)), [False, False, False]),
    ):
        assert asked.permit(counts).tolist() == permitted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what pandas thinks of pycanon is not our matter
        import pandas as pd
        from pycanon import anonymity as judge

        table = pd.DataFrame(rows, columns=["ward", "condition"])
        assert judge.k_anonymity(table, ["ward"]) == 4
        assert judge.t_closeness(table, ["ward"], ["condition"]) == pytest.approx(7 / 12)
        own = {ward: table[table["ward"] == ward].reset_index(drop=True) for ward in TWELVE}
        found = [judge.l_diversity(own[ward], ["ward"], ["condition"]) for ward in TWELVE]
        assert found == [2, 3, 1]
        # It rounds down: 2.828 to 2, and the 2 of the first class, which it computes as 1.99..., to 1.
        found = [judge.entropy_l_diversity(own[ward], ["ward"], ["condition"]) for ward in "bc"]
        assert found == [2, 1]


def _pupils(diversity: Diversity) -> Policy:
    rows = _read("StudentsMath_Score.csv")
    names = [QuasiIdentifier(key, _flat({row[key] for row in rows})) for key in PUPILS]
    return Policy((*names, Sensitive("Score", ScalarType.NUMBER)), 4, EVERY_RECORD, diversity={"Score": diversity})


def _flat(values: set[str]) -> CategoricalDomain:
    return CategoricalDomain(Hierarchy.flat(sorted(values)))


def _judged(policy: Policy, records: list[dict[str, Any]], name: str) -> None:
    """Release the records as one window and let pycanon count what came out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what pandas thinks of pycanon is not our matter
        import pandas as pd
        from pycanon import anonymity as judge

        release = Service(policy).release(records)
        assert release.gate_violations == 0
        assert release.released == len(records)
        rows = [
            {"class": str(number), name: records[row][name]}
            for number, members in enumerate(classes_of(release))
            for row in members
        ]
        table, asked, reached = pd.DataFrame(rows), policy.diversity[name], release.achieved_spread[name]
        assert judge.k_anonymity(table, ["class"]) == release.achieved_k
        if asked.values:
            assert judge.l_diversity(table, ["class"], [name]) == release.achieved_l[name]
        if asked.t_closeness:
            found = judge.t_closeness(table, ["class"], [name])
            assert found == pytest.approx(reached["t"])
            assert found <= asked.t_closeness.t + 1e-9
        if asked.entropy_l:
            assert judge.entropy_l_diversity(table, ["class"], [name]) == int(reached["entropy_l"] + 1e-9)
        if asked.alpha:
            assert judge.alpha_k_anonymity(table, ["class"], [name])[0] == pytest.approx(reached["alpha"])
        if asked.delta_disclosure:
            found = judge.delta_disclosure(table, ["class"], [name])
            assert found == pytest.approx(reached["delta"])  # it passes over absent values: there are none
            assert found < asked.delta_disclosure
        if asked.beta_likeness:
            found = judge.basic_beta_likeness(table, ["class"], [name])
            assert found == pytest.approx(reached["beta"])
            assert found <= asked.beta_likeness + 1e-9


@pytest.mark.parametrize(
    "diversity",
    [
        Diversity(t_closeness=Closeness(0.2, Distance.ORDERED)),
        Diversity(3, t_closeness=Closeness(0.3, Distance.ORDERED), recursive_cl=Recursion(2, 2)),
    ],
)
def test_an_independent_judge_agrees_on_the_closeness_of_numbers(diversity: Diversity) -> None:
    _judged(_pupils(diversity), _read("StudentsMath_Score.csv"), "Score")


@pytest.mark.parametrize(
    "diversity",
    [
        Diversity(t_closeness=Closeness(0.35)),
        Diversity(entropy_l=3, alpha=0.4),
        Diversity(delta_disclosure=2.5),
        Diversity(beta_likeness=2),
        Diversity(delta_disclosure=3, beta_likeness=1.5),
        Diversity(p_sensitive=2, recursive_cl=Recursion(1, 2), t_closeness=Closeness(0.6)),
    ],
)
def test_an_independent_judge_agrees_on_the_diversity_of_categories(diversity: Diversity) -> None:
    people = [dict(person) for person in townspeople(300)]
    policy = town_policy()
    _judged(
        Policy(policy.attributes, 5, policy.individual, diversity={"illness": diversity}, window=policy.window),
        people,
        "illness",
    )


def test_numbers_are_compared_by_their_own_order() -> None:
    """A number is its place in the order, whatever came first and however it is written."""
    policy = Policy(
        (
            QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0)),
            Sensitive("n", ScalarType.NUMBER),
        ),
        3,
        EVERY_RECORD,
        diversity={"n": Diversity(t_closeness=Closeness(0.25, Distance.ORDERED))},
    )
    numbers = [9, -3.5, 7.25, 0, 1e9, -200, 3, 2.5, 8, -1, 4, 100]
    _judged(policy, [{"x": i * 8, "n": number} for i, number in enumerate(numbers)], "n")

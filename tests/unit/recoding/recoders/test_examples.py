"""The worked examples of the papers, and those worked out beside them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from itertools import permutations

import numpy as np
import pytest

from stream_anon.errors import SettingsError
from stream_anon.formats.tables.small_texts import read_table
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.recoders.datafly import DataFly
from stream_anon.recoding.recoders.fixed_levels import FixedLevels
from stream_anon.recoding.recoders.iab import Iab
from stream_anon.recoding.recoders.incognito import Incognito
from stream_anon.recoding.recoders.min_gen import KMinimal, MinGen
from stream_anon.recoding.recoders.mu_argus import MuArgus
from stream_anon.recoding.recoders.optimal import Ola
from stream_anon.recoding.recoders.recoder import Recoder, Recoding, RecodingGoal, Table
from stream_anon.recoding.recoders.samarati import Samarati
from stream_anon.recoding.recoders.tds import Tds
from tests.support.adult import QUASI_IDENTIFIERS, SENSITIVE
from tests.support.data import shared_data
from tests.support.recodings import EIGHT, PREFIX, RACE, ZIP, cells, decades, levels, table_of

NAMES = (*QUASI_IDENTIFIERS, SENSITIVE)


@lru_cache
def adult(*names: str) -> Table:
    """Return Adult with ages in ARX's hierarchy; every record is somebody else's."""
    folder = shared_data("arx-adult", "hierarchies")
    attributes = []
    for name in names:
        rows = read_table(folder / f"adult_hierarchy_{name}.csv")
        attributes.append(QuasiIdentifier(name, CategoricalDomain(Hierarchy.from_rows(rows, name))))
    with shared_data("arx-adult", "adult.csv").open(encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file, delimiter=";"))
    codes = np.array([[own.code(record[own.name]) for record in records] for own in attributes], np.int32)
    n = len(records)
    return Table(tuple(attributes), Rows(codes, np.arange(n), np.empty((0, n), np.int64)))


def _eight() -> Table:
    return table_of((RACE, ZIP), EIGHT)


def test_minimal_generalizations_of_race_and_zip_are_those_of_the_paper() -> None:
    found = MinGen().recode(_eight(), RecodingGoal(2))
    minimal = [step.figures for step in found.steps if step.action == "minimal node"]
    assert [(one["levels"], one["prec"]) for one in minimal] == [
        ({"race": 0, "zip": 1}, 0.75),
        ({"race": 1, "zip": 0}, 0.5),
    ]
    (best,) = (step.figures for step in found.steps if step.action == "minimal distortion")
    assert best["levels"] == {"race": 0, "zip": 1}
    assert levels(found) == [0, 1]
    assert cells(_eight(), found)[:3] == [("Black", "0213*"), ("Black", "0213*"), ("Black", "0214*")]


def test_a_preferred_attribute_is_kept_finest_among_minimal_generalizations() -> None:
    assert levels(KMinimal().recode(_eight(), RecodingGoal(2))) == [0, 1]
    assert levels(KMinimal(("zip",)).recode(_eight(), RecodingGoal(2))) == [1, 0]
    # The other has less distortion, whatever is preferred.
    assert levels(MinGen(("zip",)).recode(_eight(), RecodingGoal(2))) == [0, 1]
    with pytest.raises(SettingsError, match=r"method\.prefer"):
        MinGen(("shoe-size",)).recode(_eight(), RecodingGoal(2))


def test_a_weight_makes_another_node_that_of_minimal_distortion() -> None:
    """[0, 1] distorts zip by 1/2 and [1, 0] race by 1: weights of 1 and 3 make these 3/8 and 1/4."""
    heavy = table_of((RACE, replace(ZIP, weight=3.0)), EIGHT)
    found = MinGen().recode(heavy, RecodingGoal(2))
    assert levels(found) == [1, 0]
    minimal = [step.figures for step in found.steps if step.action == "minimal node"]
    assert [(own["prec"], own["weighted prec"]) for own in minimal] == [(0.75, 0.625), (0.5, 0.75)]
    (best,) = (step.figures for step in found.steps if step.action == "minimal distortion")
    assert best["levels"] == {"race": 1, "zip": 0}
    # With 1 and 2 both are 1/3: a tie, which the preferred attribute decides.
    tied = table_of((RACE, replace(ZIP, weight=2.0)), EIGHT)
    assert levels(MinGen(("race",)).recode(tied, RecodingGoal(2))) == [0, 1]
    assert levels(MinGen(("zip",)).recode(tied, RecodingGoal(2))) == [1, 0]
    # Only the ratio counts, and a method that does not weigh is not changed.
    alike = table_of((replace(RACE, weight=7.0), replace(ZIP, weight=7.0)), EIGHT)
    assert MinGen().recode(alike, RecodingGoal(2)).steps == MinGen().recode(_eight(), RecodingGoal(2)).steps
    assert KMinimal().recode(heavy, RecodingGoal(2)).steps == KMinimal().recode(_eight(), RecodingGoal(2)).steps


@pytest.mark.parametrize("method", [MinGen, lambda **options: Ola("prec", **options), Incognito])
def test_prec_counts_a_hierarchy_as_it_is_given_unless_levels_alike_are_to_count_as_one(
    method: Callable[..., Recoder],
) -> None:
    """One digit of five costs a fifth, though the file has no use for the other four: 1 - (1/5 + 2/3) / 2.

    If levels that part the file's values alike count as one, it costs a half, as decades above pairs of them do.
    """
    ages = QuasiIdentifier(
        "age", NumericDomain(Decimal(20), Decimal(59), Decimal(1), 0, (Decimal(10), Decimal(20)))
    )
    table = table_of((PREFIX, ages), [("19332", 27), ("19334", 55), ("19334", 33), ("19332", 55)])
    given, alike = (
        method().recode(table, RecodingGoal(2)),
        method(collapse_levels=True).recode(table, RecodingGoal(2)),
    )
    assert levels(given) == [1, 2]
    assert levels(alike) == [0, 3]


def test_mingen_reports_the_prec_of_the_documents_formula() -> None:
    table = table_of((PREFIX, decades(20, 59)), [("19332", 27), ("19334", 26), ("19360", 33), ("19362", 33)])
    for collapse, heights, found in (
        (False, (5, 2), MinGen()),
        (True, (3, 2), MinGen(collapse_levels=True)),
    ):
        steps = found.recode(table, RecodingGoal(2)).steps
        told = {
            tuple(one["levels"].values()): one["prec"] for one in (step.figures for step in steps) if "prec" in one
        }  # type: ignore[attr-defined]
        assert told, collapse
        for vector, prec in told.items():
            cells = zip(vector, heights, strict=True)
            assert prec == pytest.approx(1 - sum(level / height for level, height in cells) / 2)


@pytest.mark.parametrize(("k", "node", "suppressed"), [(2, [0, 1], 0), (3, [1, 1], 0), (8, [0, 0], 8)])
def test_datafly_stops_on_the_node_that_was_worked_out(k: int, node: list[int], suppressed: int) -> None:
    found = DataFly().recode(_eight(), RecodingGoal(k))
    assert levels(found) == node
    assert found.suppressed.sum() == suppressed


def test_the_order_of_the_policy_decides_what_datafly_generalizes_of_two_attributes_alike() -> None:
    """Two races and two postal codes at [0, 1]: with k = 3 the first attribute goes on, to groups of four."""
    assert levels(DataFly().recode(_eight(), RecodingGoal(3))) == [1, 1]
    reversed_order = table_of((ZIP, RACE), [(code, race) for race, code in EIGHT])
    found = DataFly().recode(reversed_order, RecodingGoal(3))
    assert levels(found) == [2, 0]
    assert [step.action for step in found.steps[:2]] == ["generalized zip", "generalized zip"]
    assert set(cells(reversed_order, found)) == {("*", "Black"), ("*", "White")}


def kept_by_datafly(table: Table, seed: int = 0) -> Recoding:
    """Return what DataFly makes of a table whose suppressed rows it keeps."""
    return DataFly(keep_suppressed=True).recode(table, RecodingGoal(2, draws=np.random.default_rng(seed)))


def test_datafly_publishes_suppressed_rows_as_a_group_of_stars() -> None:
    table = table_of((RACE, ZIP), [*EIGHT[:2], *EIGHT[:2], ("White", "02142"), ("White", "02141")])
    plain = cells(table, DataFly().recode(table, RecodingGoal(2)))
    kept = cells(table, kept_by_datafly(table))
    assert plain == [*EIGHT[:2], *EIGHT[:2], None, None]
    assert kept == [*EIGHT[:2], *EIGHT[:2], ("*", "*"), ("*", "*")]


def test_a_lone_suppressed_row_is_joined_by_the_row_that_costs_least() -> None:
    # Three of one tuple can spare one, two of another cannot.
    table = table_of((RACE, ZIP), [*[EIGHT[0]] * 2, *[EIGHT[1]] * 3, EIGHT[7]])
    found = kept_by_datafly(table)
    assert Counter(cells(table, found)) == {EIGHT[0]: 2, EIGHT[1]: 2, ("*", "*"): 2}


def test_which_of_equal_rows_joins_a_suppressed_one_is_drawn() -> None:
    """Were it the one with the least illness, who knows all others' would know that of the suppressed person."""
    table = table_of((RACE, ZIP), [*[EIGHT[0]] * 6, EIGHT[7]])
    joined = [cells(table, kept_by_datafly(table, seed)).index(("*", "*")) for seed in range(150)]
    assert set(joined) == set(range(6))
    assert joined[:9] == [cells(table, kept_by_datafly(table, seed)).index(("*", "*")) for seed in range(9)]
    with pytest.raises(ValueError, match="needs draws"):
        DataFly(keep_suppressed=True).recode(table, RecodingGoal(2))


@pytest.mark.parametrize(
    ("k", "most", "suppressed", "node"),
    [(5, 1206, 906, "101132201"), (100, 1206, 866, "111132211"), (5, 0, 0, "121132211"), (100, 0, 0, "041132211")],
)
def test_the_optimal_levels_of_adult_are_those_that_arx_published(
    k: int, most: int, suppressed: int, node: str
) -> None:
    found = Ola("entropy").recode(adult(*NAMES), RecodingGoal(k, most_suppressed=most))
    assert levels(found) == [int(level) for level in node]
    assert found.suppressed.sum() == suppressed


def test_the_optimal_nodes_of_adult_make_the_classes_that_arx_published() -> None:
    table = adult(*NAMES)
    for k, classes, smallest in ((5, 48, 5), (100, 12, 397)):
        found = Ola("entropy").recode(table, RecodingGoal(k))
        groups, count = table.grouped(found.low, found.high)
        assert count == classes
        assert np.bincount(groups).min() == smallest


@pytest.mark.parametrize(
    ("k", "most", "node", "suppressed"), [(3, 10, "121", 6), (3, 5, "023", 1), (50, 40, "411", 37)]
)
def test_samarati_finds_the_heights_that_a_negotiation_relaxes_to(
    k: int, most: int, node: str, suppressed: int
) -> None:
    found = Samarati().recode(adult("age", "workclass", "education"), RecodingGoal(k, most_suppressed=most))
    assert levels(found) == [int(level) for level in node]
    assert found.suppressed.sum() == suppressed


def test_incognito_says_what_smaller_subsets_pruned() -> None:
    found = Incognito().recode(adult("age", "workclass", "education"), RecodingGoal(50, most_suppressed=40))
    by_subset = {step.action: step.figures for step in found.steps[:-1]}
    assert list(by_subset) == [
        "subset age",
        "subset workclass",
        "subset education",
        "subset age, workclass",
        "subset age, education",
        "subset workclass, education",
        "subset age, workclass, education",
    ]
    assert by_subset["subset age"]["pruned by smaller subsets"] == 0
    whole = by_subset["subset age, workclass, education"]
    assert whole["nodes"] == 60
    assert whole["pruned by smaller subsets"] > 0  # type: ignore[operator]
    told = whole["pruned by smaller subsets"], whole["counted"], whole["told from finer nodes"]
    assert sum(told) == 60  # type: ignore[arg-type]


@pytest.mark.parametrize(("k", "node"), [(2, [1, 1, 2]), (3, [2, 0, 3])])
def test_seven_records_become_what_arx_makes_of_them(k: int, node: list[int]) -> None:
    with shared_data("arx-test", "test.csv").open(encoding="utf-8", newline="") as file:
        records = [list(row.values()) for row in csv.DictReader(file, delimiter=";")]
    folder = shared_data("arx-test")
    age, gender = (
        QuasiIdentifier(
            name, CategoricalDomain(Hierarchy.from_rows(read_table(folder / f"test_hierarchy_{name}.csv"), name))
        )
        for name in ("age", "gender")
    )
    codes = ("81667", "81675", "81925", "81931")
    paths = [[code, *(code[:kept] + "*" * (5 - kept) for kept in range(4, 0, -1)), "*"] for code in codes]
    zips = QuasiIdentifier("zipcode", CategoricalDomain(Hierarchy.from_rows(paths, "zipcode")))
    table = table_of((age, gender, zips), records)
    # With entropy loss k = 3 has two optima, [1, 1, 3] and that of ARX.
    assert levels(Ola("ncp").recode(table, RecodingGoal(k))) == node


def test_tds_cuts_through_each_hierarchy() -> None:
    table = table_of(
        (PREFIX, decades(20, 39)),
        [("28488", 33), ("79203", 24), ("28473", 39), ("79203", 27)],
        labels=[0, 1, 1, 0],
    )
    found = Tds("class").recode(table, RecodingGoal(2))
    thirties, twenties = ("284**", {"min": 30, "max": 39}), ("79203", {"min": 20, "max": 29})
    assert cells(table, found) == [thirties, twenties, thirties, twenties]
    assert [step.action for step in found.steps] == ["specialized zip", "specialized age", "answer"]


def test_tds_specializes_what_tells_the_classes_apart() -> None:
    rows = [(race, code) for race, code in EIGHT for _ in range(2)]
    by_race = table_of((RACE, ZIP), rows, labels=[race == "Black" for race, _ in rows])
    found = Tds("class").recode(by_race, RecodingGoal(8))
    assert set(cells(by_race, found)) == {("Black", "*"), ("White", "*")}
    by_zip = table_of((RACE, ZIP), rows, labels=[code < "02140" for _, code in rows])
    found = Tds("class").recode(by_zip, RecodingGoal(8))
    assert set(cells(by_zip, found)) == {("*", "0213*"), ("*", "0214*")}


def test_tds_wants_a_class_attribute() -> None:
    with pytest.raises(SettingsError, match=r"method\.target"):
        Tds("class").recode(_eight(), RecodingGoal(2))


def test_fixed_levels_suppress_what_falls_short_on_them() -> None:
    table = table_of((RACE, ZIP), [*EIGHT[:3], *EIGHT[4:6]])
    found = FixedLevels({"zip": 1}).recode(table, RecodingGoal(2))
    assert [row is None for row in cells(table, found)] == [False, False, True, False, False]
    for wrong in ({"shoe-size": 1}, {"zip": 3}, {"zip": -1}):
        with pytest.raises(SettingsError, match=r"method\.levels"):
            FixedLevels(wrong).recode(table, RecodingGoal(2))


def test_fixed_levels_suppress_as_many_records_as_were_negotiated() -> None:
    table = adult("age", "workclass", "education")
    for chosen, suppressed in (("120", 37), ("121", 6), ("023", 1), ("400", 8)):
        named = dict(zip(table.names, map(int, chosen), strict=True))
        assert FixedLevels(named).recode(table, RecodingGoal(3)).suppressed.sum() == suppressed


def test_mu_argus_blanks_the_value_in_the_most_rare_combinations() -> None:
    rows = [("Black", "02138")] * 3 + [("White", "02141")] * 3 + [("Black", "02141")]
    table = table_of((RACE, ZIP), rows)
    found = MuArgus(most=("race",), more=("zip",), outliers=0.2).recode(table, RecodingGoal(2))
    assert cells(table, found) == [*rows[:6], ("*", "02141")]
    assert found.below_k == 1
    complete = MuArgus(most=("race",), more=("zip",), outliers=0.2, complete=True).recode(table, RecodingGoal(2))
    assert cells(table, complete) == [*rows[:6], None]
    assert complete.below_k == 0


def test_mu_argus_generalizes_while_outliers_are_many() -> None:
    rows = [("Black", "02138")] * 3 + [("White", "02141")] * 3 + [("Black", "02141")]
    table = table_of((RACE, ZIP), rows)
    found = MuArgus(most=("race",), more=("zip",), outliers=0.1).recode(table, RecodingGoal(2))
    assert [step.action for step in found.steps[:1]] == ["generalized race"]
    assert found.below_k == 0


def test_mu_argus_does_not_see_combinations_of_more_than_three_attributes() -> None:
    """Four bits of even parity: any three of them are shared by two, all four are unique."""
    bits = [QuasiIdentifier(name, CategoricalDomain(Hierarchy.flat(["0", "1"]))) for name in "abcd"]
    rows = [(str(a), str(b), str(c), str(a ^ b ^ c)) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    table = table_of(bits, [*rows, *[(a, b, c, str(1 - int(d))) for a, b, c, d in rows]])
    found = MuArgus(("a", "d"), ("b",), ("c",)).recode(table, RecodingGoal(2))
    assert found.below_k == 16
    assert str(found.steps[-1]) == "below what was asked: groups 16, records 16, the largest 1"


def test_mu_argus_refuses_a_name_that_stands_in_two_sets_or_in_no_policy() -> None:
    with pytest.raises(SettingsError, match=r"method\.more"):
        MuArgus(("race",), ("race",)).recode(_eight(), RecodingGoal(2))
    with pytest.raises(SettingsError, match=r"method\.most"):
        MuArgus(most=("shoe-size",)).recode(_eight(), RecodingGoal(2))


def test_iab_keeps_unique_rows_where_only_shields_are_asked() -> None:
    """Four people of each race, and eight unique tuples: a k of 2 would have raised one of the attributes."""
    found = Iab((Shield(("race",), 4),)).recode(_eight(), RecodingGoal(1))
    assert cells(_eight(), found) == list(EIGHT)
    coarser = Iab((Shield(("race",), 4),)).recode(_eight(), RecodingGoal(2))
    assert len(set(cells(_eight(), coarser))) == 4
    # A shield on postal codes raises them, and leaves races as they are.
    raised = Iab((Shield(("zip",), 4),)).recode(_eight(), RecodingGoal(1))
    assert {row[0] for row in cells(_eight(), raised) if row} == {"Black", "White"}
    assert {row[1] for row in cells(_eight(), raised) if row} == {"0213*", "0214*"}


@pytest.mark.parametrize("method", [KMinimal(), MinGen(), Samarati(), Incognito(), Ola()])
def test_levels_that_l_forbade_tell_of_values(method: Recoder) -> None:
    """Not promised (Wong et al., VLDB 2007): who replays a method without l finds groups that it did not publish.

    Here these are two young and four old people. One of the two groups must have shown one value only. It was not
    that of four, since no value occurs more than twice: both young ones have the one that does.
    """
    age = decades(0, 19)
    ages = [[3], [3], [14], [14], [14], [14]]
    posterior = Counter[tuple[int, ...]]()
    for values in set(permutations((0, 0, 1, 2, 3, 4))):
        table = table_of([age], ages, sensitive=[values])
        found = method.recode(table, RecodingGoal(k=2, l=2))
        if not found.suppressed.any() and len(set(cells(table, found))) == 1:
            posterior[values[:2]] += 1
    assert set(posterior) == {(0, 0)}

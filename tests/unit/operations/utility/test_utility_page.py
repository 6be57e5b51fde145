"""The page of `stream-anon utility`, also in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace

from stream_anon.measures.risk import Risk
from stream_anon.measures.uniqueness import Uniqueness
from stream_anon.operations.utility.classifier_scores import ClassifierReport, LearningReport, Score
from stream_anon.operations.utility.release_risks import RiskFound, RiskReport
from stream_anon.operations.utility.utility_page import utility_page
from stream_anon.operations.utility.utility_report import SHOWN_PAIRS, UtilityReport
from stream_anon.operations.utility.utility_study import AttributeKept, LabelKept, PairKept, Utility
from tests.support.pages import hostile, markup_of, rows_of, tags_of

NAME = "<b>age</b>"
LEARNED = ClassifierReport("decision tree", Score(0.9, 100, 100), (Score(0.7, 90, 90), Score(0.8, 60, 90)))
RISK = RiskReport(
    0.2,
    None,
    True,
    RiskFound(100, True, Risk(1.0, 0.8, 0.9), 0.87, None, None),
    (
        RiskFound(90, True, Risk(0.125, 0.0625, 0.0), 0.0, None, None),
        RiskFound(60, False, Risk(0.5, 0.25, 0.3), 0.0, None, None),
    ),
)
LEARNING = LearningReport("illness", 2, None, 50, None, 0.6, 2.5, (LEARNED,))


def _report(learning: LearningReport | None = LEARNING) -> UtilityReport:
    names = [NAME, *(f"a{i}" for i in range(5))]
    pairs = tuple(
        PairKept((one, other), (i + j) / 20, None if i == j else 0.5)
        for i, one in enumerate(names)
        for j, other in enumerate(names[i + 1 :], start=i + 1)
    )
    attributes = tuple(AttributeKept(name, None if name == "a4" else 0.25) for name in names)
    label = LabelKept(0.125, 0.375, None)
    figures = (1.5, 0.5, 0.75, 0.25, 123456.0, 5000, None, 0.5, 0.25, 0.25)
    one = Utility("out & about.csv", 90, 10, 7, *figures, attributes, pairs, label)
    if learning is None:
        one = replace(one, label=None)
    return UtilityReport("people.csv", 100, 5, 0, (one, replace(one, source="folder/other.csv")), RISK, learning)


def test_the_page_is_sound_and_no_text_is_markup() -> None:
    page = utility_page(_report())
    assert not {"b", "script", "link", "img"} & tags_of(page)
    assert markup_of(utility_page(hostile(_report()))) == markup_of(page)
    assert ["risk", "original", "out & about.csv", "other.csv"] in rows_of(page)


def test_the_page_has_every_figure() -> None:
    page = utility_page(_report())
    cells = [cell for row in rows_of(page) for cell in row]
    assert {"0.7500", "123,456", "12.5%", "37.5%", "70.0% (33%)"} <= set(cells)
    assert ["most frequent label", *["60.0%"] * 3] in rows_of(page)
    assert "No --test: releases are tested on the records that they were made of" in page


def test_bars_are_as_long_as_what_is_kept_and_faint_where_the_time_did_not_suffice() -> None:
    page = utility_page(_report())
    shares = {"information kept": 0.25, "Prec": 0.75, "1 - GCP": 0.75, "label information kept": 0.375}
    for measure, share in shares.items():
        for name in ("out & about.csv", "other.csv"):
            cells, parts = _bar(page, measure, name)
            assert cells == [f"{share:.1%}"]
            assert parts == [("after", 100 * share)]
    assert _bar(page, "decision tree", "out & about.csv") == (["33%"], [("after", 33.33)])
    assert _bar(page, "decision tree", "other.csv") == (["67% *"], [("before", 66.67)])
    assert "80.0% (67%) *" in [cell for row in rows_of(page) for cell in row]
    assert "* Trained on fewer records than there are (60 of 90): 2.5 s did not suffice for all." in page
    none = utility_page(_report(replace(LEARNING, classifiers=())))
    assert " *" not in none.partition("</head>")[2]


def test_risks_stand_in_a_table_and_as_bars_of_before_and_after() -> None:
    page = utility_page(_report())
    assert ["mean risk (marketer)", "80.00%", "6.25%", "≤ 25.00%"] in rows_of(page)
    assert ["individuals in classes", "100", "90", "≥ 60"] in rows_of(page)
    assert page.count("several of the original ones are") == 1
    assert "journalist" not in page.lower()
    assert _bar(page, "highest risk (prosecutor)", "other.csv") == (
        ["100.00%", "50.00%"],
        [("before", 100), ("after", 50)],
    )
    assert _bar(page, "unique", "out & about.csv") == (["87.00%", "0.00%"], [("before", 87), ("after", 0)])


def test_a_small_risk_is_not_written_as_none_nor_one_without_a_solution_as_a_number() -> None:
    estimates = Uniqueness(0.00002, None, 0.25, 0.00002)
    tiny = RiskFound(9, True, Risk(1.0, 0.5, 0.5), 0.0, Risk(0.00001, 0.0001, 0.0), estimates)
    told = dict(replace(_report(), risk=RiskReport(0.2, 1_000_000, True, tiny, (tiny, tiny))).risks())
    assert told["highest risk (journalist)"] == ["<0.01%"] * 3
    assert told["mean risk (journalist)"] == ["0.01%"] * 3
    assert told["risk above 0.2 (journalist)"] == ["0.00%"] * 3
    assert told["population unique, Pitman"] == ["-"] * 3
    assert told["  Zayatz"] == told["  by the rule of Dankar et al."] == ["<0.01%"] * 3
    assert told["  SNB"] == ["25.00%"] * 3


def test_a_bar_ends_at_nothing_and_at_all_and_is_missing_where_there_was_nothing_to_keep() -> None:
    full = Score(0.9, 100, 100)
    worse = ClassifierReport("worse", full, (replace(full, accuracy=0.5), replace(full, accuracy=0.95)))
    useless = ClassifierReport("useless", replace(full, accuracy=0.6), worse.releases)
    page = utility_page(_report(replace(LEARNING, classifiers=(worse, useless))))
    assert _bar(page, "worse", "out & about.csv") == (["-33%"], [("after", 0)])
    assert _bar(page, "worse", "other.csv") == (["117%"], [("after", 100)])
    assert rows_of(page).count(["useless", "other.csv", "-", ""]) == 1


def test_pairs_are_shown_that_lose_most() -> None:
    shown = dict(_report().pairs())
    assert len(shown) == SHOWN_PAIRS
    assert next(iter(shown.items())) == (f"{NAME}, a0", ["5% / 50%"] * 2)


def test_without_a_label_nothing_is_said_of_classifiers_and_what_is_kept_has_bars() -> None:
    page = utility_page(_report(None))
    assert "classif" not in page
    assert "label information kept" not in page
    assert _bar(page, "Prec", "other.csv") == (["75.0%"], [("after", 75)])
    assert page.count("<svg") == 2 * (3 + 4), "of each release, three measures and four risks"


def test_a_name_that_the_row_above_has_too_is_said_once_to_who_sees_the_page() -> None:
    page = utility_page(_report())
    assert page.count('<tr class="same">') == 4 + 4 + 1, (
        "of two releases, four measures, four risks, one classifier"
    )


def _bar(page: str, what: str, release: str) -> tuple[list[str], list[tuple[str, float]]]:
    """Return the other cells of the one row with a bar for something and a release, and the parts of the bar."""
    drawn = [row for row in re.findall("<tr.*?</tr>", page) if "<svg" in row]
    ((row, cells),) = [
        (row, cells)
        for row in drawn
        for (cells,) in [rows_of(f"<table>{row}</table>")]
        if cells[:2] == [what, release]
    ]
    parts = re.findall(r'class="(before|after)" width="([0-9.]+)"', row)
    return cells[2:-1], [(kind, float(width)) for kind, width in parts]

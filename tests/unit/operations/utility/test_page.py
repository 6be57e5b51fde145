"""The page of `stream-anon utility`, also in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from stream_anon.operations.utility.learning import ClassifierReport, Learned, LearningReport
from stream_anon.operations.utility.page import utility_page
from stream_anon.operations.utility.report import SHOWN_PAIRS, UtilityReport
from stream_anon.operations.utility.study import AttributeKept, LabelKept, PairKept, Utility
from tests.support.pages import TELEPHONE, on_a_telephone, tags_of

NAME = "<b>age</b>"
LEARNED = ClassifierReport("decision tree", Learned(0.9, 100), (Learned(0.7, 100), Learned(0.8, 60)))
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
    return UtilityReport("people.csv", 100, 5, 0, (one, replace(one, source="folder/other.csv")), learning)


def test_the_page_is_sound_and_names_are_no_markup() -> None:
    page = utility_page(_report())
    assert not {"b", "script", "link", "img"} & tags_of(page)
    assert "&lt;b&gt;age&lt;/b&gt;" in page
    assert "out &amp; about.csv" in page
    assert "<th>other.csv</th>" in page


def test_the_page_has_every_figure_and_bars_as_long_as_what_is_kept() -> None:
    page = utility_page(_report())
    for figure in (
        "<td>0.7500</td>",
        "<td>123,456</td>",
        "<td>12.5%</td>",
        "<td>37.5%</td>",
        "<td>70.0% (33%)</td>",
    ):
        assert page.count(figure) >= 1, figure
    assert page.count("<td>most frequent label</td><td>60.0%</td>") == 1
    assert "Trained on 60 to 100 records, within 2.5 s each." in page
    assert "No --test: releases are tested on the records that they were made of" in page
    widths = [float(width) for width in re.findall(r'class="after" width="([0-9.]+)"', page)]
    assert widths == pytest.approx([100 / 3, 200 / 3], abs=0.006)


def test_a_bar_ends_at_nothing_and_at_all_and_is_missing_where_there_was_nothing_to_keep() -> None:
    worse = ClassifierReport("worse", Learned(0.9, 100), (Learned(0.5, 100), Learned(0.95, 100)))
    useless = ClassifierReport("useless", Learned(0.6, 100), (Learned(0.5, 100), Learned(0.7, 100)))
    page = utility_page(_report(replace(LEARNING, classifiers=(worse, useless))))
    assert re.findall(r'class="after" width="([0-9.]+)"', page) == ["0.00", "100.00"]
    assert page.count("<td>-33%</td>") == page.count("<td>117%</td>") == 1
    assert page.count("<td>useless</td><td>other.csv</td><td>-</td><td></td>") == 1


def test_pairs_are_shown_that_lose_most() -> None:
    shown = dict(_report().pairs())
    assert len(shown) == SHOWN_PAIRS
    assert next(iter(shown.items())) == (f"{NAME}, a0", ["5% / 50%"] * 2)


def test_without_a_label_nothing_is_said_of_classifiers() -> None:
    page = utility_page(_report(None))
    assert "classif" not in page
    assert "<rect" not in page


@pytest.mark.slow
def test_on_a_telephone_nothing_sticks_out_of_the_page(tmp_path: Path) -> None:
    width, (bars, rows) = on_a_telephone(utility_page(_report()), tmp_path, "rect.after", "td:first-child")
    assert width <= TELEPHONE["width"]
    assert bars == 2
    assert rows == 2 + 16 + 6 + SHOWN_PAIRS + 2

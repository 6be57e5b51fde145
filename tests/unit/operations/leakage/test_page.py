"""The page of `stream-anon leakage`, also in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stream_anon.adapters.tables.format_names import Format
from stream_anon.cli.decide.leakage import Presentation, leakage
from stream_anon.measures.boxes import boxes_of
from stream_anon.measures.leakage import Population
from stream_anon.operations.leakage.page import leakage_page
from stream_anon.operations.leakage.study import LeakageReport, LeakageRequest, study_leakage
from stream_anon.operations.leakage.tables import LeakageTable, Released
from stream_anon.settings.policy_file import load_policy
from tests.support.pages import TELEPHONE, on_a_telephone, tags_of
from tests.support.policies import people, write_json_lines, write_policy

NAME = "<b>age</b>"


def _report(folder: Path, *, released: bool = False, asked: LeakageRequest | None = None) -> LeakageReport:
    attributes = {NAME: {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}}}
    policy = load_policy(write_policy(folder, attributes=attributes))
    draws = np.random.default_rng(0)
    codes = np.stack([draws.integers(0, 100, 60), draws.integers(0, 4, 60), draws.integers(0, 50, 60)])
    table = LeakageTable("people & co.csv", policy, Population(codes.astype(np.int32)), 3, whole=False)
    if not released:
        return study_leakage(table, asked or LeakageRequest(threshold=0.5))
    whole = LeakageTable("people & co.csv", policy, table.population, 0, whole=True)
    boxes = boxes_of(policy.quasi_identifiers, [("*", "north", "*"), ("*", "south", "*")], [30, 30])
    return study_leakage(whole, asked or LeakageRequest(), Released("out.csv", boxes))


@pytest.mark.parametrize("released", [False, True])
def test_the_page_is_sound_and_names_are_no_markup(released: bool, tmp_path: Path) -> None:
    page = leakage_page(_report(tmp_path, released=released))
    assert not {"b", "script", "link", "img"} & tags_of(page)
    assert "&lt;b&gt;age&lt;/b&gt;" in page
    assert "people &amp; co.csv" in page


def test_every_set_has_its_figures_and_a_bar_as_long_as_its_leakage(tmp_path: Path) -> None:
    report = _report(tmp_path)
    page = leakage_page(report)
    bars = [float(width) for width in re.findall(r'class="after" width="([0-9.]+)"', page)]
    assert bars == pytest.approx([100 * each.normalized for each in report.sets], abs=0.006)
    assert page.count('<tr class="bad">') == len(report.above) > 0
    assert "3 records do not fit the policy" in page
    assert "60 individuals in 60 records (a sample)" in page


def test_after_a_release_the_bar_has_two_parts(tmp_path: Path) -> None:
    report = _report(tmp_path, released=True, asked=LeakageRequest(("age",), 2, 2))
    page = leakage_page(report)
    for part, shares in (
        ("before", [each.normalized for each in report.sets]),
        ("after", [each.after[1] for each in report.sets if each.after]),
    ):
        widths = [float(width) for width in re.findall(rf'class="{part}" width="([0-9.]+)"', page)]
        assert widths == pytest.approx([100 * share for share in shares], abs=0.006)
    assert "Known already: age." in page
    assert "1 sets were not looked at: the bound of 2 was reached." in page
    assert "Released: 60 records, 0 suppressed." in page


def test_the_command_writes_the_page_beside_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, page = write_json_lines(tmp_path / "in.jsonl", people(90)), tmp_path / "page.html"
    asked = LeakageRequest(largest=2)
    assert leakage(write_policy(tmp_path), str(source), None, asked, Format.JSONL, Presentation(page=page)) == 0
    assert "attribute " in capsys.readouterr().out
    assert "90 individuals" in page.read_text()


def test_on_a_telephone_nothing_sticks_out_of_the_page(tmp_path: Path) -> None:
    page = leakage_page(_report(tmp_path, released=True))
    width, (bars, rows) = on_a_telephone(page, tmp_path, "rect.before", "td:first-child")
    assert width <= TELEPHONE["width"]
    assert bars == rows == 7

"""The page of `stream-anon leakage`, also in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stream_anon.cli.decide.leakage import Presentation, leakage
from stream_anon.measures.boxes import boxes_of
from stream_anon.measures.leakage import Population
from stream_anon.operations.leakage.leakage_page import leakage_page
from stream_anon.operations.leakage.leakage_study import LeakageReport, LeakageRequest, study_leakage
from stream_anon.operations.leakage.suggestion import Suggestion, suggest_levels
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.settings.policy_file import load_policy
from tests.support.pages import hostile, markup_of, rows_of, tags_of
from tests.support.policies import people, write_json_lines, write_policy

NAME = "<b>age</b>"


def _report(folder: Path, *, released: bool = False, asked: LeakageRequest | None = None) -> LeakageReport:
    attributes = {NAME: {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}}}
    policy = load_policy(write_policy(folder, attributes=attributes))
    draws = np.random.default_rng(0)
    codes = np.stack([draws.integers(0, 100, 60), draws.integers(0, 4, 60), draws.integers(0, 50, 60)])
    table = OriginalTable("people & co.csv", policy, Population(codes.astype(np.int32)), 3, whole=False)
    if not released:
        return study_leakage(table, asked or LeakageRequest(threshold=0.5))
    whole = OriginalTable("people & co.csv", policy, table.population, 0, whole=True)
    boxes = boxes_of(policy.quasi_identifiers, [("*", "north", "*"), ("*", "south", "*")], [30, 30])
    return study_leakage(whole, asked or LeakageRequest(), Released("out.csv", boxes))


def _suggestion(folder: Path, threshold: float, **limits: int) -> tuple[LeakageReport, Suggestion | None]:
    """Return a report on 300 people and what is suggested; `limits` are those of the age."""
    attributes = {NAME: {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, **limits}}
    policy = load_policy(write_policy(folder, attributes=attributes))
    draws = np.random.default_rng(0)
    sizes = (100, 4, 50)
    codes = np.stack([draws.integers(0, size, 300) for size in sizes]).astype(np.int32)
    table = OriginalTable("people & co.csv", policy, Population(codes), 0, whole=True)
    report = study_leakage(table, LeakageRequest(threshold=threshold, largest=2))
    return report, suggest_levels(table, report)


@pytest.mark.parametrize("released", [False, True])
def test_the_page_is_sound_and_no_text_is_markup(released: bool, tmp_path: Path) -> None:
    report = _report(tmp_path, released=released)
    page = leakage_page(report)
    assert not {"b", "script", "link", "img"} & tags_of(page)
    assert markup_of(leakage_page(hostile(report))) == markup_of(page)
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
    policy = write_policy(tmp_path)
    assert leakage(policy, SampleSource(str(source), policy), None, asked, Presentation(page=page)) == 0
    assert "attribute " in capsys.readouterr().out
    assert "90 individuals" in page.read_text()


def _cells(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table behind a heading, without their heads."""
    table = page.split(f"<h2>{heading}")[1].split("</table>", maxsplit=1)[0]
    return rows_of(f"{table}</table>")[1:]


def test_the_page_shows_suggested_levels_with_the_bits_before_and_on_them(tmp_path: Path) -> None:
    report, found = _suggestion(tmp_path, 0.4)
    assert found is not None
    assert found.levels
    page = leakage_page(report, found, suggests=True)
    assert not {"b", "script", "link", "img"} & tags_of(page)
    assert markup_of(leakage_page(hostile(report), hostile(found), suggests=True)) == markup_of(page)

    rows = _cells(page, "Suggested levels")
    assert [row[0] for row in rows] == list(found.levels)
    assert [int(row[1]) for row in rows] == list(found.levels.values())
    assert [int(row[2]) for row in rows] == list(found.before.values())
    assert [int(row[3]) for row in rows] == list(found.heights.values())
    alone = {each.attributes: each.bits for each in report.sets}
    assert [row[4] for row in rows] == [f"{alone[name,]:.2f}" for name in found.levels]
    assert all(float(row[5]) < float(row[4]) for row in rows)

    sets = _cells(page, "Sets that leaked more than 40%")
    assert [(row[0], row[1]) for row in sets] == [
        (", ".join(each.attributes), f"{each.bits:.2f}") for each in report.above
    ]
    assert all(float(row[2]) <= 0.4 * report.uncertainty + 0.005 for row in sets)
    assert f"at most {found.highest:.1%}" in page
    assert max(float(row[2]) for row in sets) == pytest.approx((found.highest or 0) * report.uncertainty, abs=0.006)


def test_the_page_says_if_no_levels_suffice_or_none_are_needed(tmp_path: Path) -> None:
    report, found = _suggestion(tmp_path, 0.1, max_level=1)
    assert found is None
    assert "No levels suffice" in leakage_page(report, found, suggests=True)
    report, found = _suggestion(tmp_path, 1.0)
    assert "Nothing has to be raised" in leakage_page(report, found, suggests=True)
    assert "uggest" not in leakage_page(report)


def test_the_command_writes_the_suggestion_into_the_page(tmp_path: Path) -> None:
    source, page = write_json_lines(tmp_path / "in.jsonl", people(90)), tmp_path / "page.html"
    told = Presentation(page=page, suggest=True, as_json=True)
    asked = LeakageRequest(largest=2, threshold=0.4)
    policy = write_policy(tmp_path)
    assert leakage(policy, SampleSource(str(source), policy), None, asked, told) == 0
    assert _cells(page.read_text(), "Suggested levels")

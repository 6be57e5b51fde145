"""The page of a report: whole, sound, and the same on paper."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_anon import extras
from stream_anon.errors import SettingsError
from stream_anon.operations.disclosures import cells, documents, from_document
from stream_anon.operations.report.frameworks import HEADINGS, SECTIONS
from stream_anon.operations.report.loss_curve import HEIGHT, WIDTH, loss_curve
from stream_anon.operations.report.report_page import assessment, report_page, report_pdf
from tests.support.fullest import full_report
from tests.support.pages import hostile, markup_of, missing, rows_of, tags_of


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return full_report(tmp_path_factory.mktemp("full"))


def _hostile(found: Any, key: str = "") -> Any:
    """Return a report whose texts try to be markup; those that the page reads as times or names stay."""
    if isinstance(found, dict):
        return {name: _hostile(value, name) for name, value in found.items()}
    if isinstance(found, list):
        return [_hostile(value, key) for value in found]
    return (
        hostile(found) if isinstance(found, str) and key not in {"from", "name", "sections", "attacker"} else found
    )


def test_the_page_is_sound_and_no_text_is_markup(told: dict[str, Any]) -> None:
    page = report_page(told)
    assert not {"b", "script", "link", "img"} & tags_of(page)
    assert markup_of(report_page(_hostile(told))) == markup_of(page)


def test_every_section_that_a_framework_names_stands_on_the_page(told: dict[str, Any]) -> None:
    page = report_page(told)
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert set(SECTIONS.values()) <= set(headings)
    assert {name for heading in HEADINGS for name in heading.sections} <= SECTIONS.keys()


def test_the_page_has_the_figures_of_the_document(told: dict[str, Any]) -> None:
    rows = rows_of(report_page(told))
    assert ["k: people in a class", "3", str(told["classes"]["smallest"])] in rows
    for one in told["fields"]:
        assert [one["name"], one["role"], one["technique"]] in rows
    for one in told["audit"]["sensitive"]:
        found = from_document(one)
        assert documents({one["attribute"]: found}) == [one]
        assert [one["attribute"], *cells(found)] in rows
    after = told["risks"]["after"][0]
    assert any(row[:3] == ["after", "prosecutor", f"{after['highest']:.1%}"] for row in rows), rows


def test_without_a_window_the_page_says_so(told: dict[str, Any]) -> None:
    empty = told | {
        "period": {"from": None, "to": None, "first": None, "last": None},
        "classes": {
            "classes": 0,
            "people": 0,
            "smallest": None,
            "median": None,
            "mean": None,
            "largest": 0,
            "sizes": [],
        },
        "risks": {"threshold": None, "holds": True, "after": [], "sample": None, "before": None},
        "loss": {"gcp": None, "attributes": {}, "stretch_seconds": 60, "over_time": []},
        "attacks": None,
    }
    page = report_page(empty)
    assert "no window" in page
    assert "<polyline" not in page
    assert "No attack was made" in page


def test_bars_over_time_stand_where_their_time_is() -> None:
    over_time = [
        {"from": "2026-10-01T00:00:00Z", "gcp": 0.5, "records": 7},
        {"from": "2026-10-02T00:00:00Z", "gcp": None, "records": 0},
        {"from": "2026-10-04T00:00:00Z", "gcp": 1.0, "records": 8},
    ]
    first, last = loss_curve(over_time, 86_400)
    assert (first.left, first.height) == (0, HEIGHT / 2)
    assert (last.left, last.height) == (WIDTH * 3 / 4, HEIGHT)
    assert last.left + last.width <= WIDTH
    assert loss_curve(over_time[1:2], 86_400) == ()


def test_an_assessment_has_the_figures_and_leaves_the_rest_to_people(told: dict[str, Any]) -> None:
    text = assessment(told)
    for field in told["fields"]:
        if "<" not in field["name"]:
            assert f"| {field['name']} | {field['role']} | {field['technique']} |" in text
    assert "<b>" not in text
    assert all(risk["text"] in text for risk in told["limits"] if "<" not in risk["text"])
    assert told["release"]["purpose"] in text
    assert "VIOLATIONS FOUND" in text
    assert "TO FILL IN" in text.split("Views of the people")[1]
    stated = assessment(told | {"release": {}})
    assert "- Purpose: TO FILL IN" in stated


def test_the_page_becomes_a_pdf(told: dict[str, Any]) -> None:
    try:
        pdf = report_pdf(report_page(told))
    except SettingsError:
        missing("Pango")
    assert pdf.startswith(b"%PDF-")
    assert len(pdf) > 20_000


def test_a_pdf_without_weasyprint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match="the extra `reports`"):
        report_pdf("<p>")


def test_a_pdf_without_pango_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    class Absent:
        def __getattr__(self, name: str) -> Any:
            raise OSError("cannot load library 'libpango-1.0-0'")

    monkeypatch.setitem(sys.modules, "weasyprint", Absent())
    monkeypatch.setattr(extras, "find_spec", lambda _: True)
    with pytest.raises(SettingsError, match="Pango"):
        report_pdf("<p>")


def test_nothing_is_fetched_for_a_pdf(told: dict[str, Any], tmp_path: Path) -> None:
    """A page of ours refers to nothing. One that did would become no PDF, rather than be read from somewhere."""
    style = tmp_path / "style.css"
    style.write_text("p { color: red }")
    page = report_page(told).replace("<style>", f'<link rel="stylesheet" href="{style.as_uri()}"><style>')
    try:
        from weasyprint.urls import FatalURLFetchingError
    except OSError:
        missing("Pango")
    with pytest.raises(FatalURLFetchingError):
        report_pdf(page)

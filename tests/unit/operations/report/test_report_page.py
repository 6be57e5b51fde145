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
from stream_anon.operations.report.report_page import assessment, report_page, report_pdf, statement
from tests.support.fullest import MANY, full_report
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
    assert "no proof that the release complies" in page
    assert {name for heading in HEADINGS for name in heading.sections} <= SECTIONS.keys()


def test_the_page_has_the_figures_of_the_document(told: dict[str, Any]) -> None:
    rows = rows_of(report_page(told))
    assert ["k: people in a class", "3", str(told["classes"]["smallest"])] in rows
    for one in told["fields"]:
        texts = [one["technique"], *one["formerly"]]
        assert [one["name"], one["role"], "; under another policy ".join(texts)] in rows
    for one in told["audit"]["sensitive"]:
        found = from_document(one)
        assert documents({one["attribute"]: found}) == [one]
        assert [one["attribute"], *cells(found)] in rows
    after = told["risks"]["after"][0]
    assert any(row[:3] == ["after", "prosecutor", f"{after['highest']:.1%}"] for row in rows), rows
    for one in told["classes"]["sizes"]:
        assert any(row[0].startswith(f"{one['from']:,} to ") and row[1] == f"{one['classes']:,}" for row in rows)
    shield = next(row for row in rows if row[0].startswith("shield on"))
    assert shield[2].endswith(f"(in {MANY - 1:,} of {MANY:,} windows)")


def test_what_must_be_known_stands_before_the_figures(told: dict[str, Any]) -> None:
    """In each form: whoever reads one of them only is told too."""
    page, text = report_page(told), assessment(told)
    for caution in told["cautions"]:
        assert page.index(caution) < page.index(SECTIONS["records"])
        assert text.index(caution) < text.index("## 1.")
    assert f"and {MANY:,} more: stream-anon audit lists them" in page


def test_a_statement_promises_no_more_than_was_found(told: dict[str, Any]) -> None:
    """A risk is that of being found by quasi-identifiers in one window, and of people only where k counts these."""
    sound = told | {
        "audit": told["audit"] | {"clean": True},
        "risks": told["risks"] | {"threshold": 0.09, "holds": True},
        "returning": None,
    }
    assert statement(sound).startswith("The audit found no violation. In no window is the risk that a person is")
    by_record = sound | {"classes": sound["classes"] | {"windows_counting_records": 1}}
    assert "that a record is found by quasi-identifiers" in statement(by_record)
    above = sound | {"risks": sound["risks"] | {"holds": False}}
    assert statement(above).endswith("is found by quasi-identifiers is above 9%.")
    unbounded = sound | {"risks": sound["risks"] | {"threshold": None}}
    assert "No risk was bounded" in statement(unbounded)
    for one in (sound, by_record, above, unbounded):
        assert statement(one) in assessment(one)


def test_a_risk_above_the_threshold_never_looks_as_if_it_were_at_it(told: dict[str, Any]) -> None:
    risk = told["risks"]["after"][0] | {"highest": 0.09004}
    above = told | {"risks": told["risks"] | {"threshold": 0.09, "after": [risk]}}
    for text in (assessment(above), report_page(above)):
        assert "9.004%" in text
    little = told | {"records": told["records"] | {"suppressed_share": 0.0004}}
    assert "0.04%" in report_page(little)


def test_without_a_window_the_page_says_so(told: dict[str, Any]) -> None:
    empty = told | {
        "period": {"from": None, "to": None, "first": None, "last": None},
        "records": told["records"] | {"windows": 0},
        "classes": {
            "windows": 0,
            "windows_counting_records": 0,
            "classes": 0,
            "people": 0,
            "smallest": None,
            "median": None,
            "mean": None,
            "largest": 0,
            "sizes": [],
        },
        "risks": {"threshold": None, "holds": True, "after": [], "sample": None, "before": None}
        | {"sample_people": None},
        "loss": {"gcp": None, "attributes": {}, "stretch_seconds": 60, "over_time": []},
        "attacks": None,
    }
    page = report_page(empty)
    assert "no window" in page
    assert '<p class="bad">No window closed in this period.</p>' in page
    assert "<polyline" not in page
    assert "No attack was made" in page


@pytest.mark.parametrize(
    ("low", "text"), [(1, "1"), (2, "2 to 4"), (5, "5 to 9"), (10, "10 to 19"), (2_000, "2,000 to 4,999")]
)
def test_sizes_are_told_from_and_to(low: int, text: str, told: dict[str, Any]) -> None:
    """Where a row said `10 or more` beside `20 or more`, it seemed to count the classes of the other one too."""
    sizes = told["classes"] | {"sizes": [{"from": low, "classes": 7}]}
    assert [text, "7"] in [row[:2] for row in rows_of(report_page(told | {"classes": sizes}))]


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
            assert f"| {field['name']} | {field['role']} | {field['technique']}" in text
    assert "<b>" not in text
    assert all(risk["text"] in text for risk in told["limits"] if "<" not in risk["text"])
    assert told["release"]["purpose"] in text
    assert "VIOLATIONS FOUND" in text
    assert "TO FILL IN" in text.split("Views of the people")[1]
    split = told["fields"][0] | {"name": "a|b"}
    assert f"| a\\|b | {split['role']} |" in assessment(told | {"fields": [split]})
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

"""What `stream-anon leakage` says of presence, on a population of twelve, counted by hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from stream_anon.operations.leakage.leakage_page import leakage_page
from stream_anon.operations.leakage.leakage_study import LeakageReport, LeakageRequest, study_leakage
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import read_released, read_table
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.pages import rows_of
from tests.support.policies import write_json_lines, write_policy

# Two of the four who are 30 and in Oslo, one of four in Bergen, and one in Rome whom the population lacks.
COUNTS = "age,home.city,count\n30,Oslo,4\n30,Bergen,4\n40,Bari,4\n"
RECORDS = [("a", "Oslo"), ("b", "Oslo"), ("b", "Oslo"), ("c", "Bergen"), ("d", "Rome")]


def _person(name: str, city: str, **more: Any) -> dict[str, Any]:
    return {"person": name, "age": 30, "home": {"city": city}, "visits": 1, "illness": "flu"} | more


def _policy(folder: Path, most: float = 0.3) -> Path:
    (folder / "counts.csv").write_text(COUNTS)
    privacy = {"k": 2, "individual": "person", "presence": {"population": "counts.csv", "most": most}}
    return write_policy(folder, privacy=privacy)


def _files(folder: Path, city: str = "north") -> tuple[Path, Path]:
    source = write_json_lines(folder / "in.jsonl", [_person(*each) for each in RECORDS])
    published = [{"age": 30, "home": {"city": city}, "visits": 1, "illness": "flu"} for _ in RECORDS[:4]]
    return source, write_json_lines(folder / "out.jsonl", published)


def _report(folder: Path, *, released: bool, city: str = "north") -> LeakageReport:
    policy = load_policy(_policy(folder))
    source, target = _files(folder, city)
    table = read_table(policy, SampleSource(str(source), folder))
    return study_leakage(table, LeakageRequest(), read_released(policy, target) if released else None)


def test_shares_are_of_people_before_a_release(tmp_path: Path) -> None:
    """2 of 4, 1 of 4, and 1 of none, which counts as certain."""
    found = _report(tmp_path, released=False).presence
    assert found is not None
    assert asdict(found) == {
        "most": 0.3,
        "people": 12,
        "before": {"classes": 3, "largest": 1.0, "mean": pytest.approx((0.5 + 0.25 + 1) / 3), "above": 2},
        "after": None,
    }
    assert not found.too_many


@pytest.mark.parametrize(("city", "fit", "above"), [("north", 8, 1), ("*", 8, 1), ("south", 0, 1)])
def test_after_a_release_records_count_as_people_beside_those_who_fit(
    city: str, fit: int, above: int, tmp_path: Path
) -> None:
    """Four records; nobody who is 30 lives in the south."""
    found = _report(tmp_path, released=True, city=city).presence
    assert found is not None
    assert found.after is not None
    assert (found.after.classes, found.after.above) == (1, above)
    assert found.after.largest == found.after.mean == (4 / fit if fit else 1.0)
    assert found.too_many


def test_without_a_bound_nothing_is_told(tmp_path: Path) -> None:
    source, _ = _files(tmp_path)
    policy = load_policy(write_policy(tmp_path))
    report = study_leakage(read_table(policy, SampleSource(str(source), tmp_path)), LeakageRequest())
    assert report.presence is None
    assert "presence" not in report.document()
    assert "Presence" not in leakage_page(report)


def test_the_page_and_the_terminal_show_what_the_document_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _report(tmp_path, released=True)
    schema = json.loads((ROOT / "schemas" / "leakage.schema.json").read_text())
    assert Draft202012Validator(schema).is_valid(report.document())
    rows = [["before", "3", "100.0%", "58.3%", "2"], ["after", "1", "50.0%", "50.0%", "1"]]
    page = leakage_page(report)
    assert [row for row in rows_of(page) if row[0] in ("before", "after")] == rows
    words = "Of 12 people of the population, at most 30% of those who fit a class may be in it."
    assert words in page
    asked = (_policy(tmp_path), "--input", tmp_path / "in.jsonl", "--released", tmp_path / "out.jsonl")
    assert run("leakage", *asked) == 0
    out = " ".join(capsys.readouterr().out.split())
    for row in rows:
        assert " ".join(row) in out
    assert words in out

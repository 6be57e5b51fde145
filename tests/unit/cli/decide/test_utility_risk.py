"""`stream-anon utility` on risk: figures that can be counted by hand, before and after releases."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from stream_anon.measures.uniqueness import SampleClasses, population_uniqueness
from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.pages import rows_of
from tests.support.policies import people, write_json_lines, write_policy

SCHEMA = json.loads((ROOT / "schemas" / "utility.schema.json").read_text())
AGE = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [10, 50]}}
YOUNG, OLD = {"min": 0, "max": 9}, {"min": 60, "max": 69}
# Eight people in classes of 2, 1, 3, 1, 1.
EIGHT = [
    ("p0", 1, "Oslo"),
    ("p1", 1, "Oslo"),
    ("p2", 2, "Oslo"),
    *((f"p{number}", 60, "Rome") for number in (3, 4, 5)),
    ("p6", 61, "Bari"),
    ("p7", 62, "Bari"),
]
# One of them is suppressed; the others are in classes of 3 and 4.
SEVEN = [(YOUNG, "north")] * 3 + [(OLD, "south")] * 4
# Three people: two records of one tuple, one of the same, three of another.
TWICE = [("p0", 1, "Oslo")] * 2 + [("p1", 1, "Oslo")] + [("p2", 2, "Oslo")] * 3


def _files(
    folder: Path, original: list[tuple[str, int, str]], *released: list[tuple[object, str]], **privacy: str
) -> list[object]:
    records = people(len(original))
    for record, (person, age, city) in zip(records, original, strict=True):
        record |= {"person": person, "age": age, "home": {"city": city}}
    policy = write_policy(folder, attributes={"age": AGE}, privacy={"k": 2, "individual": "person", **privacy})
    outputs = [
        write_json_lines(
            folder / f"out{number}.jsonl",
            [{"age": age, "home": {"city": city}, "visits": 1, "illness": "flu"} for age, city in each],
        )
        for number, each in enumerate(released)
    ]
    return [write_json_lines(folder / "in.jsonl", records), *outputs, "-c", policy]


def _told(asked: list[object], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run("utility", *asked, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(document)
    risk: dict[str, Any] = document["risk"]
    return risk


def test_risks_before_and_after_are_those_counted_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _files(tmp_path, EIGHT, SEVEN, [])
    risk = _told([*files, "--risk-threshold", "0.3"], capsys)
    assert (risk["threshold"], risk["population"], risk["told_apart"]) == (0.3, None, True)
    assert risk["original"] == {
        "individuals": 8,
        "exact": True,
        "prosecutor": {"highest": 1, "average": 5 / 8, "above": 1},
        "unique": 3 / 8,
        "journalist": None,
        "population_unique": None,
    }
    one, nothing = risk["releases"]
    assert (one["individuals"], one["exact"], one["unique"]) == (7, True, 0)
    assert one["prosecutor"] == pytest.approx({"highest": 1 / 3, "average": 2 / 7, "above": 3 / 7})
    assert (nothing["individuals"], nothing["prosecutor"]["highest"], nothing["unique"]) == (0, 0, 0)


def test_the_threshold_is_a_fifth_where_none_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = _files(tmp_path, EIGHT, SEVEN, [("*", "*")] * 8)
    one, other = _told(files, capsys)["releases"]
    assert (one["prosecutor"]["above"], other["prosecutor"]["above"]) == (1, 0)


def test_of_a_population_a_journalists_risk_and_its_uniques_are_estimated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _files(tmp_path, EIGHT, SEVEN)
    risk = _told([*files, "--risk-threshold", "0.04", "--population", "80"], capsys)
    # Ten people of the population stand behind each of the file: classes of 20, 10, 30, 10, 10, then of 30 and 40.
    before, after = risk["original"], risk["releases"][0]
    assert before["journalist"] == pytest.approx({"highest": 1 / 10, "average": 5 / 80, "above": 5 / 8})
    assert after["journalist"] == pytest.approx({"highest": 1 / 30, "average": 2 / 70, "above": 0})
    # Zayatz: Bayes' rule on classes of the population that are as those of the sample.
    once = {size: size * comb(80 - size, 7) / comb(80, 8) for size in (1, 2, 3)}
    truly = 0.6 * once[1] / (0.6 * once[1] + 0.2 * once[2] + 0.2 * once[3])
    assert before["population_unique"]["zayatz"] == pytest.approx(3 * truly / 8)
    found = population_uniqueness(SampleClasses.of(np.array([2, 1, 3, 1, 1]), 80))
    assert [before["population_unique"][name] for name in ("pitman", "snb", "chosen")] == [
        found.pitman,
        found.snb,
        found.chosen,
    ]
    assert set(after["population_unique"].values()) == {0}, "a release without unique records has none"


def test_individuals_are_counted_and_not_their_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = _files(tmp_path, TWICE, [(YOUNG, "north")] * 6)
    risk = _told([*files, "--risk-threshold", "0.4"], capsys)
    # By records there would be two classes of three, and nobody unique.
    assert risk["original"]["individuals"] == 3
    assert risk["original"]["prosecutor"] == pytest.approx({"highest": 1, "average": 2 / 3, "above": 1})
    assert risk["original"]["unique"] == pytest.approx(1 / 3)
    (after,) = risk["releases"]
    assert (after["individuals"], after["exact"]) == (3, True)
    assert after["prosecutor"] == pytest.approx({"highest": 1 / 3, "average": 1 / 3, "above": 0})


def test_where_every_record_is_another_persons_records_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _files(tmp_path, TWICE, [(YOUNG, "north")] * 4, individual="every-record")
    risk = _told(files, capsys)
    assert (risk["told_apart"], risk["original"]["individuals"], risk["original"]["unique"]) == (False, 6, 0)
    assert risk["releases"][0]["prosecutor"]["highest"] == 1 / 4
    assert run("utility", *files) == 0
    assert "records in classes" in capsys.readouterr().out


def test_individuals_that_a_release_does_not_tell_apart_are_as_few_as_they_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _files(tmp_path, TWICE, [(YOUNG, "north")] * 4)
    (after,) = _told([*files, "--risk-threshold", "0.4"], capsys)["releases"]
    # Four records may be of p2 and p0 alone, or of all three.
    assert (after["individuals"], after["exact"]) == (2, False)
    assert after["prosecutor"] == pytest.approx({"highest": 1 / 2, "average": 1 / 2, "above": 1})
    assert run("utility", *files) == 0
    out = capsys.readouterr().out
    assert "≥ 2" in out
    assert "≤ 50.00%" in out
    assert "as few as they can be" in " ".join(out.split())


def test_somebody_with_several_tuples_is_one_of_the_unique_and_counts_in_each_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = [("p0", 1, "Oslo"), ("p0", 2, "Oslo"), ("p1", 3, "Rome"), ("p2", 3, "Rome")]
    files = _files(tmp_path, several, [("*", "*")] * 4)
    # The population is no larger than the file, where p0 counts twice.
    risk = _told([*files, "--population", "3"], capsys)
    assert (risk["original"]["individuals"], risk["original"]["unique"]) == (4, pytest.approx(1 / 3))
    assert risk["original"]["prosecutor"]["average"] == 3 / 4
    assert risk["original"]["journalist"] == risk["original"]["prosecutor"]


def test_the_table_and_the_page_show_every_risk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, page = _files(tmp_path, EIGHT, SEVEN), tmp_path / "page.html"
    asked = [*files, "--risk-threshold", "0.3", "--population", "80", "--html", page]
    assert run("utility", *asked) == 0
    out, written = capsys.readouterr().out, page.read_text()
    rows = {
        "individuals in classes": ("8", "7"),
        "highest risk (prosecutor)": ("100.00%", "33.33%"),
        "mean risk (marketer)": ("62.50%", "28.57%"),
        "risk above 0.3": ("100.00%", "42.86%"),
        "unique": ("37.50%", "0.00%"),
        "highest risk (journalist)": ("10.00%", "3.33%"),
        "mean risk (journalist)": ("6.25%", "2.86%"),
        "risk above 0.3 (journalist)": ("0.00%", "0.00%"),
    }
    for name, (before, after) in rows.items():
        assert [name, before, after] in rows_of(written)
        assert any(line.split() == [*name.split(), before, after] for line in out.splitlines()), name
    assert "were drawn at random from 80." in " ".join(out.split())
    assert all(f"  {name} " in out for name in ("Zayatz", "SNB"))
    assert not any(value in out + written for value in ("Oslo", "north", "p0"))


def test_a_population_smaller_than_the_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("utility", *_files(tmp_path, EIGHT, SEVEN), "--population", "7") == 2
    assert "--population: must be at least the 8 individuals" in capsys.readouterr().err


def test_a_release_of_other_people_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("utility", *_files(tmp_path, TWICE, [(OLD, "south")])) == 2
    assert "it is not a release of" in capsys.readouterr().err

"""`negotiate` with files: the worked answers, their JSON, and the policy that is written."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.support.commands import run
from tests.support.data import shared_data
from tests.support.policies import people, write_document, write_json_lines, write_policy

POLICY = """\
# Of people who filled in a form.
privacy:
  k: 10   # people, not records
  individual: every-record
window: {max_records: 10000}

engine:
  name: forest
  seed: 7

attributes:
  age: {role: quasi-identifier, hierarchy: hierarchies/adult_hierarchy_age.csv}
  workclass: {role: quasi-identifier, hierarchy: hierarchies/adult_hierarchy_workclass.csv}
  education: {role: quasi-identifier, hierarchy: hierarchies/adult_hierarchy_education.csv}
  occupation: {role: sensitive, accept_linkable: true}
"""
LEVELS = ("--max-level", "age=1", "--max-level", "workclass=2", "--max-level", "education=1")


@pytest.fixture
def adult(tmp_path: Path) -> Path:
    shutil.copytree(shared_data("arx-adult", "hierarchies"), tmp_path / "hierarchies")
    shutil.copy(shared_data("arx-adult", "adult.csv"), tmp_path / "adult.csv")
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    return policy


def _answer(capsys: pytest.CaptureFixture[str], policy: Path, *options: object) -> dict[str, Any]:
    sample = policy.parent / "adult.csv"
    assert run("negotiate", policy, "--input", sample, "--json", *options) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document.pop("visited") > 0
    assert document.pop("milliseconds") >= 0
    return document


def _scheme(age: int, workclass: int, education: int, suppressed: int) -> dict[str, Any]:
    levels = {"age": age, "workclass": workclass, "education": education}
    return {"levels": levels, "suppressed": suppressed}


def test_the_answers_in_json_are_those_of_the_worked_example(
    adult: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exact = _answer(capsys, adult, "--k", 3, *LEVELS, "--max-suppressed", 40)
    assert exact == {"exact": _scheme(1, 2, 0, 37), "relaxations": None}
    relaxed = _answer(capsys, adult, "--k", 50, *LEVELS, "--max-suppressed", "40")
    assert relaxed == {
        "exact": None,
        "relaxations": {
            "suppression": _scheme(1, 2, 1, 505),
            "height": _scheme(4, 1, 1, 37),
            "privacy": {"k": 10, "suppressed": 32},
        },
    }
    with_l = _answer(capsys, adult, "--k", 3, "--l", 12, *LEVELS, "--max-suppressed", 100)
    assert with_l["exact"] is None
    privacy = with_l["relaxations"]["privacy"]
    assert list(privacy) == ["k", "l", "suppressed"]
    assert privacy["k"] == 3
    assert 2 <= privacy["l"] < 12
    assert privacy["suppressed"] <= 100


def test_a_share_of_the_sample_may_be_suppressed(adult: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 0.13 % of 30,162 records are 39, 0.12 % are 36.
    answer = _answer(capsys, adult, "--k", 3, *LEVELS, "--max-suppressed", "0.13%")
    assert answer["exact"] == _scheme(1, 2, 0, 37)
    answer = _answer(capsys, adult, "--k", 3, *LEVELS, "--max-suppressed", "0.12%")
    assert answer["exact"] == _scheme(1, 2, 1, 6)


def test_what_falls_short_of_a_shield_is_counted_beside_the_answer_as_a_run_suppresses_it(
    adult: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = POLICY.replace("  individual:", "  shields: [{attributes: [age, education], k: 150}]\n  individual:")
    adult.write_text(text.replace("{max_records: 10000}", "{max_records: 100000, max_records_per_individual: 100}"))
    chosen = tmp_path / "chosen.yaml"
    options = ("--k", 3, *LEVELS, "--max-suppressed", 40)
    (shield,) = _answer(capsys, adult, *options)["shields"]
    assert (shield["attributes"], shield["k"]) == (["age", "education"], 150)

    sample = adult.parent / "adult.csv"
    assert run("negotiate", adult, "--input", sample, *options, "--output", chosen) == 0
    assert f"{shield['records_short']:,} records more fall short of it" in capsys.readouterr().out
    report = tmp_path / "report.json"
    assert run("anonymize", sample, tmp_path / "out.csv", "-c", chosen, "--report", report) == 0
    suppressed = json.loads(report.read_text())["suppressed"]
    assert shield["records_short"] > 0
    assert sum(suppressed.values()) == 37 + shield["records_short"]


def test_an_answer_is_written_into_the_policy_and_its_comments_stay(
    adult: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = adult.parent / "answered.yaml"
    _answer(capsys, adult, "--k", 3, *LEVELS, "--max-suppressed", 40, "--output", target)
    kept, block = POLICY.split("\nengine:\n  name: forest\n  seed: 7\n")
    engine = "\nengine: {name: full-domain, levels: {age: 1, workclass: 2, education: 0}, seed: 7}\n"
    assert target.read_text() == kept.replace("k: 10 ", "k: 3 ") + block + engine


def test_without_an_exact_answer_a_person_chooses_what_is_written(
    adult: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = adult.parent / "answered.yaml"
    asked = ("negotiate", adult, "--input", adult.parent / "adult.csv", "--k", 50, *LEVELS, "--max-suppressed", 40)
    assert run(*asked, "--output", target) == 1
    assert "choose --relax, one of suppression, height, privacy" in capsys.readouterr().err
    assert not target.exists()
    for relaxation, k, levels in (
        ("suppression", 50, [1, 2, 1]),
        ("height", 50, [4, 1, 1]),
        ("privacy", 10, [1, 2, 1]),
    ):
        assert run(*asked, "--output", target, "--relax", relaxation) == 0
        document = yaml.safe_load(target.read_text())
        assert list(document["engine"]["levels"].values()) == levels
        assert document["privacy"]["k"] == k
    assert run(*asked, "--output", target, "--relax", "patience") == 2


def test_an_l_that_was_asked_for_is_written_into_the_policy(
    adult: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = adult.parent / "answered.yaml"
    options = ("--k", 3, "--l", 3, *LEVELS, "--max-suppressed", "1%", "--output", target)
    assert _answer(capsys, adult, *options)["exact"] is not None
    document = yaml.safe_load(target.read_text())
    assert document["privacy"] == {
        "k": 3,
        "individual": "every-record",
        "sensitive": {"occupation": {"distinct_l": 3}},
    }


def test_a_policy_is_not_written_where_its_hierarchies_are_not(
    adult: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = adult.parent / "hierarchies" / "answered.yaml"
    asked = ("negotiate", adult, "--input", adult.parent / "adult.csv", "--k", 3, "--output", target)
    assert run(*asked) == 2
    assert "must be in the folder of" in capsys.readouterr().err
    assert not target.exists()


def test_the_policy_that_was_read_is_not_written_over(adult: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, target = adult.read_text(), adult.parent / "answered.yaml"
    asked = ("negotiate", adult, "--input", adult.parent / "adult.csv", "--k", 3, *LEVELS, "--max-suppressed", 40)
    for option in ("--output", "-o"):
        assert run(*asked, option, adult) == 2
        assert "was read, and is not written over" in capsys.readouterr().err
        assert adult.read_text() == before
        assert run(*asked, option, target) == 0
        assert yaml.safe_load(target.read_text())["privacy"]["k"] == 3
        target.unlink()


def test_a_page_with_the_histograms_inside_is_written(adult: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = adult.parent / "page.html"
    _answer(capsys, adult, "--k", 3, *LEVELS, "--max-suppressed", 40, "--html", page)
    text = page.read_text()
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert data["asked"] == {"k": 3, "l": 1, "limits": [1, 2, 1], "most": 40}
    assert data["nodes"] == 60
    sizes, records, starts = (
        np.frombuffer(base64.b64decode(data[name]), kind)
        for name, kind in (("sizes", "<u2"), ("records", "<u4"), ("starts", "<u4"))
    )
    bottom = slice(starts[0], starts[1])
    assert records[bottom].sum() == 30162
    assert records[bottom][sizes[bottom] < 3].sum() == 1751
    assert not [value for value in ("Private", "Bachelors", "Adm-clerical") if value in text]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--k", 30163), "k: has no answer: it is above the number of individuals, 30162"),
        (("--k", 3, "--l", 99), "l: has no answer: it is above the number of sensitive values, 14"),
        (("--max-level", "age=5"), "--max-level: age has levels 0 to 4"),
        (("--max-level", "sex=0"), "--max-level: sex is not a quasi-identifier of the policy"),
        (("--max-level", "age"), "--max-level: must be an attribute and a level, such as age=1"),
        (("--max-suppressed", "some"), "--max-suppressed: must be a number of records"),
        (("--max-suppressed", "101%"), "--max-suppressed: must be a number of records"),
    ],
)
def test_a_request_that_makes_no_sense_ends_with_2_and_says_why(
    options: tuple[object, ...], said: str, adult: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("negotiate", adult, "--input", adult.parent / "adult.csv", *options) == 2
    assert said in capsys.readouterr().err


def test_what_is_printed_names_levels_and_counts_and_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path)
    sample = write_json_lines(tmp_path / "sample.jsonl", [*people(300, each=2), {"age": 1000}, {"person": "x"}])
    asked = ("--k", 4, "--l", 2, "--max-suppressed", "10%")
    assert run("negotiate", "-c", policy, "--input", sample, *asked) == 0
    said = capsys.readouterr().out
    assert "4 individuals and 2 values of illness in every group" in said
    assert "at most 30 of 301 records suppressed" in said
    assert "1 record does not fit the policy and is left out" in said
    assert "Exact: " in said
    assert not [value for value in ("Oslo", "Bergen", "Rome", "north", "flu", "secret", "p17") if value in said]


def test_people_with_several_records_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        {"person": i % 2, "age": 30, "home": {"city": "Oslo"}, "visits": 1, "illness": "flu"} for i in range(9)
    ]
    sample = write_json_lines(tmp_path / "sample.jsonl", records)
    policy = write_policy(tmp_path)
    assert run("negotiate", policy, "--input", sample, "--k", 2, "--json") == 0
    assert json.loads(capsys.readouterr().out)["exact"]["suppressed"] == 0
    assert run("negotiate", policy, "--input", sample, "--k", 3, "--json") == 2
    assert "above the number of individuals, 2" in capsys.readouterr().err


def test_the_policys_own_criteria_are_asked_for_where_no_option_says_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = {"individual": "person", "k": 2, "sensitive": {"illness": {"distinct_l": 2}}}
    policy = write_policy(tmp_path, privacy=person)
    alike = [{"person": i, "age": 30, "home": {"city": "Oslo"}, "visits": 1, "illness": "flu"} for i in range(4)]
    other = {"person": 9, "age": 80, "home": {"city": "Rome"}, "visits": 1, "illness": "cold"}
    sample = write_json_lines(tmp_path / "sample.jsonl", [*alike, other])
    assert run("negotiate", policy, "--input", sample, "--max-suppressed", 1, "--json") == 0
    roots = json.loads(capsys.readouterr().out)["exact"]
    assert roots == {"levels": {"age": 7, "home.city": 2}, "suppressed": 0}
    assert run("negotiate", policy, "--input", sample, "--l", 1, "--max-suppressed", 1, "--json") == 0
    assert json.loads(capsys.readouterr().out)["exact"] == {"levels": {"age": 0, "home.city": 0}, "suppressed": 1}


def test_levels_are_those_of_the_hierarchy_also_where_some_are_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {
        "privacy": {"k": 4, "individual": "every-record"},
        "window": {"max_records": 100},
        "attributes": {"zip": {"role": "quasi-identifier", "prefix": {"length": 5}}},
    }
    codes = [{"zip": code} for code in ("19362", "19360", "19332", "19334")]
    policy, sample = write_document(tmp_path, document), write_json_lines(tmp_path / "sample.jsonl", codes)
    for limit in (2, 3, 4, 5):
        assert run("negotiate", policy, "--input", sample, "--max-level", f"zip={limit}", "--json") == 0
        assert json.loads(capsys.readouterr().out)["exact"] == {"levels": {"zip": 2}, "suppressed": 0}
    none = ("--max-level", "zip=1", "--json")
    assert run("negotiate", policy, "--input", sample, *none) == 0
    relaxations = json.loads(capsys.readouterr().out)["relaxations"]
    assert relaxations["height"] == {"levels": {"zip": 2}, "suppressed": 0}
    assert relaxations["privacy"] == {"k": 2, "suppressed": 0}


def test_a_subset_of_too_many_levels_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"a{i}" for i in range(17)]  # of two levels each: 131,072 nodes
    document = {
        "privacy": {"k": 2, "individual": "every-record"},
        "window": {"max_records": 100},
        "attributes": {name: {"role": "quasi-identifier", "values": ["x", "y"]} for name in names},
    }
    policy = write_document(tmp_path, document)
    rows = [{name: "xy"[(i >> place) & 1] for place, name in enumerate(names)} for i in range(0, 4000, 7)]
    sample = write_json_lines(tmp_path / "sample.jsonl", rows)
    monkeypatch.setattr("stream_anon.recoding.lattice.subset.MOST_NODES", 64)
    monkeypatch.setattr("stream_anon.recoding.lattice.subset.chosen_levels.__defaults__", (64,))
    assert run("negotiate", policy, "--input", sample, "--max-level", "a3=0", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["subset"] == {"nodes": 64, "of": 131072}
    assert answer["exact"] is None or answer["exact"]["levels"]["a3"] == 0
    assert run("negotiate", policy, "--input", sample) == 0
    assert "The best of a chosen subset: all levels would make 131,072 nodes." in capsys.readouterr().out


def test_a_policy_needs_a_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = write_policy(tmp_path)
    assert run("negotiate", policy) == 2
    assert "give --config FILE, and --input FILE unless" in capsys.readouterr().err
    sample = write_json_lines(tmp_path / "sample.jsonl", [{"age": "no number"}])
    assert run("negotiate", policy, "--input", sample) == 2
    assert "holds no record that fits the policy; 1 do not" in capsys.readouterr().err

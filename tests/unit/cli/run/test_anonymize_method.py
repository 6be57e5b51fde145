from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from stream_anon.files import whole_table
from stream_anon.judging import one_table
from tests.support.commands import FileRun, run, told
from tests.support.data import shared_data
from tests.support.policies import PEOPLE, people, write_json_lines, write_policy

METHODS: list[dict[str, Any]] = [
    {"name": "k-minimal", "prefer": ["home.city"]},
    {"name": "mingen", "max_suppressed": "5%"},
    {"name": "samarati", "max_suppressed": 12},
    {"name": "incognito"},
    {"name": "ola", "loss": "entropy", "max_suppressed": "5%"},
    {"name": "datafly"},
    {"name": "datafly", "keep_suppressed": True},
    {"name": "mu-argus", "most": ["age"], "more": ["home.city"], "complete": True},
    {"name": "tds", "target": "visits"},
    {"name": "full-domain", "levels": {"age": 4}},
    {"name": "iab", "requirements": [{"attributes": ["age"], "k": 8}], "most_expanded": 20},
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: "-".join(map(str, method.values())))
def test_what_a_method_publishes_passes_the_audit(method: dict[str, Any], tmp_path: Path) -> None:
    criteria = {"sensitive": {"illness": {"distinct_l": 2}}}
    files = FileRun(write_policy(tmp_path, method=method, privacy=criteria), people(200, each=2))
    assert files.anonymize() == 0
    assert files.audit() == 0
    found = files.report
    _, certificate = files.parts  # the whole file is one window
    assert certificate["engine"] == found["engine"] == method["name"]
    assert found["gate_violations"] == 0
    assert found["records_in"] == 200
    assert 0 < found["released"] == len(files.released)
    assert found["explanation"]


def test_iab_counts_rows_with_all_fields_that_are_published(tmp_path: Path) -> None:
    files = FileRun(write_policy(tmp_path, method={"name": "iab", "most_expanded": 50}), people(40))
    assert files.anonymize() == 0
    answer = files.report["explanation"][-1]
    published = files.output.read_text().splitlines()
    assert len(published) == 40
    assert f"distinct rows {len(set(published))}," in answer
    tuples = {(json.dumps(row["age"]), row["home"]["city"]) for row in map(json.loads, published)}
    assert len(tuples) < len(set(published))


@pytest.mark.parametrize("method", ["mingen", "k-minimal"])
@pytest.mark.parametrize("collapse", [False, True])
def test_the_prec_by_which_a_method_chose_is_the_one_that_utility_reports(
    method: str, collapse: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of codes of five digits the first three are the same: two of five levels tell nobody apart."""
    code = {"role": "quasi-identifier", "prefix": {"length": 5, "alphabet": "digits"}}
    chosen = {"name": method, "collapse_levels": collapse}
    policy = write_policy(tmp_path, method=chosen, attributes={**PEOPLE["attributes"], "code": code})
    records = people(60)
    for i, record in enumerate(records):
        record["code"] = f"193{i * 7 % 30:02}"
    files = FileRun(policy, records)
    assert files.anonymize() == 0
    steps = files.report["explanation"]
    levels = steps[-1].split(", suppressed")[0].removeprefix("answer: ")
    (prec,) = (
        float(step.split("prec ")[1].split(",")[0]) for step in steps if step.startswith(f"minimal node: {levels}")
    )
    capsys.readouterr()
    options = ["--collapse-levels"] * collapse
    compared = ("utility", files.source, files.output, "-c", policy, *options)
    assert run(*compared, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["collapse_levels"] is collapse
    assert told["releases"][0]["prec"] == pytest.approx(prec, abs=1e-4)  # four digits are told
    assert 0 < prec < 1
    assert run(*compared) == 0
    assert ("levels that part the original values alike as one" in capsys.readouterr().out) is collapse


@pytest.mark.parametrize("finest", ["hour", "minute"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: "-".join(map(str, method.values())))
def test_hours_and_minutes_that_a_method_publishes_pass_the_audit(
    method: dict[str, Any], finest: str, tmp_path: Path
) -> None:
    """Over a night in which an hour comes twice; some do not say when, and some say a day outside of the range."""
    days = {
        "format": "epoch-s",
        "zone": "Europe/Berlin",
        "min": "2024-09-30",
        "max": "2024-11-02",
        "finest": finest,
    }
    seen = {"role": "quasi-identifier", "date": days, "unknown": "root"}
    policy = write_policy(tmp_path, method=method, attributes={**PEOPLE["attributes"], "seen": seen})
    records = people(200, each=2)
    for i, record in enumerate(records):
        record["seen"] = 1_729_983_600 + 600 * (i % 37) if i % 50 else [None, 0][i % 100 // 50]
    files = FileRun(policy, records)
    assert files.anonymize() == 0
    assert files.audit() == 0
    published = [record["seen"] for record in files.released]
    assert published
    assert all(one is None or isinstance(one, str) for one in published)


@pytest.mark.parametrize("publish", ["tight", "values"])
def test_a_method_publishes_nodes_of_attributes_that_publish_otherwise(publish: str, tmp_path: Path) -> None:
    age: dict[str, Any] = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}}
    city: dict[str, Any] = {
        "role": "quasi-identifier",
        "hierarchy": {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]},
    }
    if publish == "tight":
        age["numeric"]["publish"] = "tight"
    else:
        city["publish"] = "values"
    files = FileRun(write_policy(tmp_path, attributes={"age": age, "home.city": city}), people(200))
    assert files.anonymize("--method", "full-domain", "--option", "levels={age: 5, home.city: 1}") == 0
    records = files.released
    ages = {json.dumps(record["age"]) for record in records}
    cities = {json.dumps(record["home"]["city"]) for record in records}
    assert len(ages) == 4
    assert cities == ({'"north"', '"south"'} if publish == "tight" else {'["Oslo", "Bergen"]', '["Rome", "Bari"]'})
    assert files.audit() == 0


def test_criteria_that_no_method_knows_suppress_the_groups_that_miss_them(tmp_path: Path) -> None:
    criteria = {"sensitive": {"illness": {"alpha": 0.5}}}
    files = FileRun(write_policy(tmp_path, privacy=criteria, method={"name": "datafly"}), people(90))
    assert files.anonymize() == 0
    assert files.report["suppressed"].keys() == {"unplaced"}
    assert files.report["gate_violations"] == 0
    assert files.audit() == 0


def test_iab_refuses_criteria_that_would_suppress_what_its_requirements_count(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    method = {"name": "iab", "requirements": [{"attributes": ["age"], "k": 8}], "most_expanded": 20}
    policy = write_policy(tmp_path, privacy={"sensitive": {"illness": {"alpha": 0.5}}}, method=method)
    files = FileRun(policy, people(90))
    assert files.anonymize() == 1
    assert "on which its requirements count" in told(capfd)
    assert not files.output.exists()


def test_iab_explains_that_no_table_satisfies_where_the_file_has_too_few_people(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path, method={"name": "iab", "requirements": [{"attributes": ["age"], "k": 91}]})
    files = FileRun(policy, people(90))
    assert files.anonymize("--explain") == 0
    text = told(capfd)
    assert "no table satisfies: individuals 90, needed 91, suppressed 90" in text
    assert "expanded" not in text
    assert "optimal" not in text
    assert not files.released


def test_a_method_on_the_command_line_passes_the_audit_of_the_policy_without_it(tmp_path: Path) -> None:
    files = FileRun(write_policy(tmp_path), people(120))
    assert files.anonymize("--method", "ola", "--option", "loss=prec", "--option", "max_suppressed=5%") == 0
    assert files.audit() == 0


def test_what_mu_argus_leaves_below_k_is_explained_and_not_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path, method={"name": "mu-argus", "most": ["age"], "more": ["home.city"]})
    files = FileRun(policy, people(200))
    assert files.anonymize("--explain") == 1
    assert (files.report["written"], files.report["released"]) == (False, 0)
    assert "4 records" in files.report["refusal"]
    err = told(capfd)
    assert "blanked a value of each outlier" in err
    assert "below what was asked: groups 2, records 4" in err
    assert "nothing was written" in err
    assert not files.output.exists()


def test_a_file_of_more_records_than_a_table_may_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for module in (one_table, whole_table):
        monkeypatch.setattr(module, "MOST_RECORDS", 50)
    files = FileRun(write_policy(tmp_path, method={"name": "datafly"}), people(60))
    assert files.anonymize() == 2
    assert "at most 50 records" in told(capfd)
    assert not files.output.exists()


def test_explain_lists_some_minimal_nodes_and_all_lists_every_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = ("sex", "age", "race", "education", "workclass")
    folder = shared_data("arx-adult", "hierarchies")
    attributes = {
        name: {"role": "quasi-identifier", "hierarchy": str(folder / f"adult_hierarchy_{name}.csv")}
        for name in names
    }
    policy = tmp_path / "adult.yaml"
    settings = {"privacy": {"k": 10, "individual": "every-record"}, "attributes": attributes}
    policy.write_text(json.dumps(settings))
    source, target = shared_data("arx-adult", "adult.csv"), tmp_path / "out.csv"
    options = ("--method", "mingen", "--option", "max_suppressed=1%")
    assert run("anonymize", "-c", policy, source, target, *options, "--explain") == 0
    short = told(capfd)
    assert run("anonymize", "-c", policy, source, target, *options, "--all") == 0
    whole = told(capfd)
    assert short.count("minimal node: levels") == 20
    assert "more, --all lists them" in short
    assert whole.count("minimal node: levels") > 20
    assert whole.count("minimal distortion: levels") >= 1


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_service_refuses_a_method(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kafka = {"bootstrap_servers": "127.0.0.1:1", "group": "g", "input": "in", "output": "out"}
    policy = write_policy(tmp_path, kafka=kafka, method={"name": "datafly"})
    assert run(command, "-c", policy) == 2
    assert "method: is for files" in told(capfd)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "datafly", "--option", "prefer=[age]"], "prefer is for name: k-minimal or mingen only"),
        (["--method", "tds"], "target must name an attribute"),
        (["--method", "tds", "--option", "target=age"], "method.target"),
        (["--method", "ola", "--option", "max_suppressed=many"], "must be a number of records"),
        (["--method", "ola", "--option", "loss"], "--option: must be KEY=VALUE"),
        (["--method", "guess"], "method.name"),
        (["--explain"], "--explain: is for a method"),
        (["--option", "loss=ncp"], "method.name"),
        (
            ["--method", "full-domain", "--option", "levels={shoe: 1}", "--accept-risk", "rare-values"],
            "shoe is not a quasi-identifier",
        ),
        (["--method", "datafly", "--sensitive-table", "x.csv"], "is for method: anatomy only"),
        (["--method", "anatomy", "--option", "target=illness"], "distinct_l: is needed for anatomy"),
        (["--method", "anatomy", "--option", "target=visits"], "role: sensitive"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(
    options: list[str], words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, target = write_json_lines(tmp_path / "in.jsonl", people(9)), tmp_path / "out.jsonl"
    assert run("anonymize", "-c", write_policy(tmp_path), source, target, *options) == 2
    assert words in told(capfd)
    assert not target.exists()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_anatomy_writes_two_tables_that_a_group_joins(form: str, tmp_path: Path) -> None:
    policy = write_policy(tmp_path, privacy={"sensitive": {"illness": {"distinct_l": 2}}})
    records = people(100)
    source, target = write_json_lines(tmp_path / "in.jsonl", records), tmp_path / f"out.{form}"
    options = ("--method", "anatomy", "--option", "target=illness")
    assert run("anonymize", "-c", policy, source, target, *options) == 0
    rows, values = _read(target), _read(tmp_path / f"out.sensitive.{form}")
    assert set(rows[0]) == {"age", "home.city" if form == "csv" else "home", "visits", "group"}
    assert set(values[0]) == {"group", "illness", "count"}
    assert Counter(int(row["age"]) for row in rows) == Counter(record["age"] for record in records)
    told_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in values:
        told_of[str(row["group"])][row["illness"]] = int(row["count"])
    sizes = Counter(str(row["group"]) for row in rows)
    assert sizes == {group: own.total() for group, own in told_of.items()}
    assert sum(told_of.values(), Counter()) == Counter(record["illness"] for record in records)
    assert all(max(own.values()) * 2 <= own.total() for own in told_of.values())


def _read(path: Path) -> list[dict[str, Any]]:
    text = path.read_text()
    if path.suffix == ".csv":
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines()]


def test_anatomy_refuses_a_missing_value_and_a_value_or_a_person_with_too_many_rows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path, privacy={"sensitive": {"illness": {"distinct_l": 2}}})
    options = ("--method", "anatomy", "--option", "target=illness", "--accept-risk", "rare-values")
    often = [{**record, "illness": "flu" if place < 6 else "cold"} for place, record in enumerate(people(10))]
    ill = [{**record, "illness": ("flu", "cold")[place % 2]} for place, record in enumerate(people(10))]
    missing = [{**record, "illness": record["illness"] if place else None} for place, record in enumerate(ill)]
    for records, words in (
        (often, "more than 1/2 of the 10 rows"),
        (missing, "1 records have no value of the sensitive attribute"),
        (people(20, each=2), "has several records"),
    ):
        source, target = write_json_lines(tmp_path / "in.jsonl", records), tmp_path / "out.jsonl"
        assert run("anonymize", "-c", policy, source, target, *options) == 1
        assert words in told(capfd)
        assert not target.exists()
        assert not (tmp_path / "out.sensitive.jsonl").exists()

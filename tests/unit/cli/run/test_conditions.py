"""What forbids a run on topics forbids the release of a file, and `check --input` shows it without a broker."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_anon.judging import sample_study
from tests.support.commands import FileRun, run
from tests.support.policies import people, write_document, write_json_lines, write_policy, write_records

STAFF: dict[str, Any] = {
    "privacy": {"k": 10, "individual": "EmployeeNumber"},
    "attributes": {
        "EmployeeNumber": {"role": "identifier"},
        "Age": {"role": "quasi-identifier", "numeric": {"min": 18, "max": 60}},
        "Department": {"role": "quasi-identifier", "values": ["Sales", "Research", "Human Resources"]},
        "MonthlyIncome": {"role": "sensitive", "type": "integer"},
    },
}


def staff(count: int = 400) -> list[dict[str, Any]]:
    """Return made-up employees, of whom nearly everybody has an income of their own."""
    departments = STAFF["attributes"]["Department"]["values"]
    return [
        {
            "EmployeeNumber": place,
            "Age": 18 + place * 7 % 43,
            "Department": departments[place % 3],
            "MonthlyIncome": 3000 if place % 8 == 0 else 1009 + 37 * place,
        }
        for place in range(count)
    ]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_incomes_that_nobody_else_has_are_not_released_unless_somebody_accepts_it(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(write_document(tmp_path, STAFF), staff(), suffix)
    assert files.anonymize() == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "rare-values: attributes.MonthlyIncome: 350 of 400 records (87.50%) have a value" in told
    assert "fewer than k = 10 individuals" in told
    assert "Make it a quasi-identifier, leave it out, or write accept_linkable: true" in told
    assert "add --accept-risk rare-values; every certificate will name it" in told
    assert f"nothing was written to {files.output}" in told
    assert not files.output.exists()
    assert not files.certificates.exists()
    assert files.anonymize("--accept-risk", "rare-values") == 0
    assert [one["accepted"] for one in files.parts if "asked" in one and "achieved" in one] == [["rare-values"]]
    assert files.audit() == 0
    assert "accepted risk: rare-values (1 windows)" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_addresses_are_not_released_though_many_records_hold_each_unless_somebody_accepts_it(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writers = {**STAFF["attributes"], "MonthlyIncome": {"role": "insensitive", "type": "string"}}
    policy = write_document(tmp_path, {"privacy": {"k": 10, "individual": "every-record"}, "attributes": writers})
    records = [{**one, "MonthlyIncome": f"u{place % 20}@example.org"} for place, one in enumerate(staff())]
    files = FileRun(policy, records, suffix)
    assert files.anonymize() == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "disguised-identifier: attributes.MonthlyIncome: 100% of its different values look like e-mail" in told
    assert "example.org" not in told
    assert not files.output.exists()
    assert files.anonymize("--accept-risk", "disguised-identifier") == 0
    accepted = [one["accepted"] for one in files.parts if "asked" in one and "achieved" in one]
    assert accepted == [["disguised-identifier"]]


def test_a_field_that_never_comes_is_not_released_as_null(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [{("Age" if name == "age" else name): value for name, value in one.items()} for one in people(200)]
    files = FileRun(write_policy(tmp_path), records)
    assert files.anonymize() == 1
    assert "missing-field: attributes.age: none of 200 records has a value" in capsys.readouterr().err
    assert not files.output.exists()
    assert run("check", "-c", files.policy, "--input", files.source) == 1
    assert "only in case" in " ".join(capsys.readouterr().out.split())
    assert files.anonymize("--accept-risk", "missing-field") == 0


def test_a_file_of_which_nothing_fits_is_not_released_however_many_rejects_are_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(write_policy(tmp_path), [{**record, "age": 1000} for record in people(60)])
    assert files.anonymize("--max-rejected", "100%") == 1
    assert "no-record-fits: input: none of 60 records fits the policy" in capsys.readouterr().err
    assert files.anonymize("--max-rejected", "100%", "--accept-risk", "no-record-fits") == 0
    assert files.output.read_text() == ""


def test_a_value_that_is_rare_in_a_part_of_the_file_and_common_in_the_whole_is_released(tmp_path: Path) -> None:
    records = [{**record, "visits": place % 40} for place, record in enumerate(people(400))]
    files = FileRun(write_policy(tmp_path), records)
    assert files.anonymize() == 0
    assert run("check", "-c", files.policy, "--input", files.source) == 0


def test_standard_output_gets_no_record_before_they_are_judged(tmp_path: Path) -> None:
    policy = write_policy(tmp_path)  # windows of 50 records
    records = [{**record, "visits": place} for place, record in enumerate(people(400))]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    command = [sys.executable, "-m", "stream_anon.cli.main", "anonymize", "-c", str(policy), "-", "-"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "rare-values" in done.stderr


def test_standard_output_is_judged_window_by_window_once_a_sample_has_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sample_study, "LEAST_SAMPLED", 100)
    policy = write_policy(tmp_path)
    records = [{**record, "visits": place if place >= 20_000 else 1} for place, record in enumerate(people(30_000))]
    source = write_json_lines(tmp_path / "in.jsonl", records)
    assert run("anonymize", "-c", policy, source, "-", "--by-arrival") == 1
    said = capfdbinary.readouterr()
    rare = [line for line in said.out.splitlines() if json.loads(line)["visits"] != 1]
    assert said.out
    assert len(rare) <= 0.05 * len(records)
    assert b"what went to standard output before is not the whole" in said.err


@pytest.mark.parametrize("method", [(), ("--method", "datafly")])
def test_methods_are_judged_before_they_begin(
    method: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(write_document(tmp_path, STAFF), staff(), ".csv")
    assert files.anonymize(*method) == 1
    assert "rare-values: attributes.MonthlyIncome" in capsys.readouterr().err
    assert not files.output.exists()


def test_check_of_a_file_says_what_check_of_a_topic_says_and_asks_no_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_document(tmp_path, STAFF)
    source = write_records(tmp_path / "in.csv", staff())
    command = ("check", "-c", policy, "--input", source)
    assert run(*command) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "FORBIDS attributes.MonthlyIncome: 350 of 400 records (87.50%)" in text
    assert "warns attributes.MonthlyIncome: sensitive without a criterion" in text
    assert "It must not be released." in text
    assert "`anonymize --accept-risk NAME` releases it all the same" in text
    assert "Broker" not in text
    assert run(*command, "--accept-risk", "rare-values", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert not report["forbids"]
    accepted = [one for one in report["findings"] if one["severity"] == "accepted"]
    assert [one["condition"] for one in accepted] == ["rare-values"]
    assert report["sample"]["whole"]
    assert report["sample"]["records"] == 400


def test_check_counts_all_records_of_a_file_and_forecasts_the_first_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sample_study, "LEAST_SAMPLED", 100)
    policy = write_policy(tmp_path)
    records = people(12_000)
    records[11_990]["age"] = 1000
    source = write_json_lines(tmp_path / "in.jsonl", records)
    assert run("check", "-c", policy, "--input", source, "--json") == 0
    sample = json.loads(capsys.readouterr().out)["sample"]
    assert (sample["records"], sample["fit"], sample["individuals"]) == (12_000, 11_999, 11_999)
    assert [(each["reason"], each["records"]) for each in sample["rejects"]] == [("out-of-range", 1)]
    assert 0 < sample["forecast"]["records"] < 12_000
    assert sample["forecast"]["windows"] == 1  # as `anonymize` has it, however few `window.max_records` are
    assert run("check", "-c", policy, "--input", source) == 0
    assert "one, the whole table: the first" in capsys.readouterr().out


def test_check_of_a_csv_file_tells_ids_that_differ_in_their_spelling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path)
    rows = [
        {
            "person": f"{'P' if place % 2 else 'p'}{place // 2}",
            "age": 30,
            "home.city": "Oslo",
            "visits": 1,
            "illness": "flu",
        }
        for place in range(60)
    ]
    source = write_records(tmp_path / "in.csv", rows)
    assert run("check", "-c", policy, "--input", source) == 0
    assert "60 of 60 ids differ from another one in case only" in " ".join(capsys.readouterr().out.split())


def test_a_summary_says_the_reasons_of_suppression_and_warns_of_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path, window={"max_records": 1000, "max_records_per_individual": 2})
    few, many = people(300), people(300, each=6)
    for records, warned in ((few, False), (many, True)):
        source = write_json_lines(tmp_path / "in.jsonl", records)
        assert run("anonymize", "-c", policy, source, tmp_path / "out.jsonl") == 0
        said = capsys.readouterr().err
        assert ("stream-anon: warning: 200 of 300 records (66.7%) are left out, over-limit 200." in said) is warned
        assert ("200 suppressed (over-limit 200), 0 rejected" in said) is warned
        assert ("window.max_records_per_individual: raise it" in said) is warned


def test_a_condition_of_brokers_cannot_be_accepted_for_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source = write_policy(tmp_path), write_json_lines(tmp_path / "in.jsonl", people(60))
    for method in ((), ("--method", "anatomy", "--option", "target=illness")):
        target = tmp_path / "out.jsonl"
        assert run("anonymize", "-c", policy, source, target, *method, "--accept-risk", "brokers") == 2
        said = " ".join(capsys.readouterr().err.split())
        known = "no-record-fits, missing-field, rare-values, disguised-identifier, release-expired"
        assert f"can have {known}, not brokers" in said


OVER: dict[str, Any] = {"recipient": "the public", "valid_until": "2020-02-29", "owner": "dpo@example.org"}


@pytest.mark.parametrize(
    "method",
    [(), ("--method", "datafly"), ("--method", "anatomy", "--option", "target=illness")],
)
def test_no_file_is_released_after_the_last_day_that_the_policy_states(
    method: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    criteria = {"sensitive": {"illness": {"distinct_l": 2}}}
    files = FileRun(write_policy(tmp_path, privacy=criteria, release=OVER), people(100))
    anonymize = ("anonymize", "-c", files.policy, files.source, files.output, *method)
    assert run(*anonymize) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "release-expired: release.valid_until: was 2020-02-29, and that day has passed in UTC" in told
    assert "dpo" not in told
    assert not files.output.exists()
    write_policy(tmp_path, privacy=criteria, release={**OVER, "valid_until": "2999-12-31"})
    assert run(*anonymize) == 0


def test_what_is_stated_of_a_release_stands_in_its_policy_document_and_reports_and_outlives_its_last_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(write_policy(tmp_path, release=OVER), people(100))
    assert files.anonymize("--accept-risk", "release-expired") == 0
    document, certificate, *_ = files.parts
    assert json.loads(document["text"])["release"] == OVER
    assert certificate["accepted"] == ["release-expired"]
    assert files.report["release"] == OVER
    capsys.readouterr()
    # An audit asks for no valid release, and of a policy that states none as well.
    assert files.audit("--json") == 0
    assert json.loads(capsys.readouterr().out)["policy"]["release"] == OVER
    write_policy(tmp_path)
    assert files.audit("--json") == 0
    assert "release" not in json.loads(capsys.readouterr().out)["policy"]


def test_check_of_a_file_says_that_a_release_has_expired_or_soon_will(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(100))
    soon = (dt.datetime.now(dt.UTC) + dt.timedelta(days=10)).date().isoformat()
    for day, code, told in (("2020-02-29", 1, "was 2020-02-29"), (soon, 0, f"is {soon}"), ("2999-12-31", 0, "")):
        policy = write_policy(tmp_path, release={**OVER, "valid_until": day})
        assert run("check", "-c", policy, "--input", source, "--json") == code
        found = json.loads(capsys.readouterr().out)
        assert found["release"]["valid_until"] == day
        texts = [one["text"] for one in found["findings"] if one["place"] == "release.valid_until"]
        assert [text.startswith(told) for text in texts] == [True] * bool(told)
        assert run("check", "-c", policy, "--input", source) == code
        said = capsys.readouterr().out
        stated = {**OVER, "valid_until": day}
        assert all(f"  release.{key}: {text}\n" in said for key, text in stated.items())

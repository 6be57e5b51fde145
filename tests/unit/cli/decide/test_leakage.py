"""`stream-anon leakage` on files: ranking, what is disclosed, before and after a release, thresholds."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from math import log2
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from stream_anon.errors import InputError, SettingsError
from stream_anon.measures.boxes import boxes_of
from stream_anon.measures.leakage import Population
from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.operations import studied_records
from stream_anon.operations.leakage.leakage_study import LeakageRequest, study_leakage
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import Released, read_table
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import run
from tests.support.data import ROOT, shared_data
from tests.support.policies import PEOPLE, people, write_document, write_json_lines, write_policy

SCHEMA = json.loads((ROOT / "schemas" / "leakage.schema.json").read_text())
PERSONAL = "Zyxwvut"  # stands in values; must stand in nothing that is printed
STARS = {"age": "*", "home": {"city": "*"}, "visits": 1, "illness": "flu"}


def _report(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict[str, Any]:
    assert run("leakage", *arguments, "--json") == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert Draft202012Validator(SCHEMA).is_valid(found)
    return found


def test_sets_are_ranked_by_the_bits_that_they_leak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = people(120)
    source = write_json_lines(tmp_path / "in.jsonl", records)
    found = _report(capsys, write_policy(tmp_path), "--input", source)
    ages = Counter(record["age"] for record in records)
    cities = Counter(record["home"]["city"] for record in records)
    both = Counter((record["age"], record["home"]["city"]) for record in records)
    expected = [
        (
            names,
            sum(count / 120 * log2(120 / count) for count in counts.values()),
            sum(c == 1 for c in counts.values()),
        )
        for names, counts in ((["age"], ages), (["home.city"], cities), (["age", "home.city"], both))
    ]
    assert found["individuals"] == found["records"] == 120
    assert found["bits"] == pytest.approx(log2(120))
    assert [each["attributes"] for each in found["sets"]] == [names for names, _, _ in expected]
    for each, (_, bits, alone) in zip(found["sets"], expected, strict=True):
        assert each["bits"] == pytest.approx(bits)
        assert each["normalized"] == pytest.approx(bits / log2(120))
        assert each["unique"] == pytest.approx(alone / 120)
        assert "after" not in each
    assert (found["measured"], found["implied"], found["left"], found["above"]) == (3, 0, 0, 0)


def test_people_and_not_records_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = {"home": {"city": "Oslo"}, "visits": 1, "illness": "flu"}
    records = [{"person": f"p{i // 3}", "age": i // 3 % 2, **one} for i in range(48)]
    source = write_json_lines(tmp_path / "in.jsonl", records)
    found = _report(capsys, "-c", write_policy(tmp_path), "--input", source)
    assert (found["individuals"], found["records"], found["bits"]) == (16, 48, 4.0)
    assert found["sets"][0]["attributes"] == ["age"]
    assert found["sets"][0]["bits"] == 1.0
    every = write_policy(tmp_path, privacy={"individual": EVERY_RECORD})
    assert _report(capsys, every, "--input", source)["individuals"] == 48


def test_attributes_that_are_known_already_leak_nothing_and_are_in_no_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    policy = write_policy(tmp_path)
    alone, _, both = _report(capsys, policy, "--input", source)["sets"]
    found = _report(capsys, policy, "--input", source, "--disclosed", "age")
    assert found["disclosed"] == ["age"]
    assert [each["attributes"] for each in found["sets"]] == [["home.city"]]
    assert found["sets"][0]["bits"] == pytest.approx(both["bits"] - alone["bits"])
    assert found["sets"][0]["unique"] == both["unique"]
    with pytest.raises(SettingsError, match=r"'visits' is not a quasi-identifier; these are age, home\.city"):
        study_leakage(
            read_table(load_policy(policy), SampleSource(str(source), source)), LeakageRequest(("visits",))
        )


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_release_leaks_less_than_what_it_was_made_of(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path)
    source, target = tmp_path / "in.csv", tmp_path / f"out.{suffix}"
    with source.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "age", "home.city", "visits", "illness"])
        for record in people(150):
            writer.writerow([*(record[name] for name in ("person", "age")), record["home"]["city"], 1, "flu"])
    assert run("anonymize", "-c", policy, source, target) == 0
    capsys.readouterr()
    found = _report(capsys, policy, "--input", source, "--released", target)
    assert (found["released"], found["suppressed"]) == (150, 0)
    for each in found["sets"]:
        assert (
            0 <= each["after"]["bits"] <= each["bits"] + 1e-9
        )  # an attribute may be at its root, or at its leaves
        assert each["after"]["normalized"] == pytest.approx(each["after"]["bits"] / log2(150))
    assert sum(each["after"]["bits"] for each in found["sets"]) < 0.9 * sum(each["bits"] for each in found["sets"])
    most = max(each["after"]["normalized"] for each in found["sets"])
    common = (policy, "--input", source, "--released", target, "--threshold")
    assert _report(capsys, *common, most + 0.001)["above"] == 0
    assert _report(capsys, *common, most - 0.001, code=1)["above"] >= 1


def test_a_suppressed_record_may_be_of_anybody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(50))
    target = write_json_lines(tmp_path / "out.jsonl", [STARS] * 40)
    found = _report(capsys, write_policy(tmp_path), "--input", source, "--released", target)
    assert (found["released"], found["suppressed"]) == (40, 10)
    assert {each["after"]["bits"] for each in found["sets"]} == {0.0}


def test_a_set_above_the_threshold_ends_the_command_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    policy = write_policy(tmp_path)
    assert run("leakage", policy, "--input", source, "--threshold", "0.5") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "2 sets leak more than 50%, first of all: age." in said
    assert run("leakage", policy, "--input", source, "--threshold", "1") == 0
    assert "No set leaks more than 100%." in capsys.readouterr().out


def test_a_set_that_singles_out_too_many_ends_the_command_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [{"person": f"p{i}", "age": i // 5, "home": {"city": "Oslo"}} for i in range(95)]
    records += [{"person": f"q{i}", "age": 90 + i, "home": {"city": "Rome"}} for i in range(5)]
    source, policy = write_json_lines(tmp_path / "in.jsonl", records), write_policy(tmp_path)
    target = write_json_lines(tmp_path / "out.jsonl", [STARS] * 100)
    common = ("leakage", policy, "--input", source, "--singled-out")
    assert run(*common, "0.05") == 0
    assert "No set singles out more than 5% of the individuals." in capsys.readouterr().out
    assert run(*common, "0.04") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "2 sets single out more than 4% of the individuals, first of all: age." in said
    assert run(*common, "0.04", "--released", target, "--threshold", "0.01") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "No set leaks more than 1% after the release." in said
    assert "2 sets single out more than 4% of the individuals before the release" in said
    found = _report(capsys, *common[1:], "0.04", code=1)
    assert (found["threshold"], found["above"], found["singled_out"], found["singling_out"]) == (None, 0, 0.04, 2)
    page = tmp_path / "page.html"
    assert run(*common, "0.04", "--html", page) == 1
    assert '<p class="bad">2 sets single out more than 4% of the individuals.</p>' in page.read_text()
    assert run(*common, "0.04", "--suggest", "--threshold", "0.4") == 2
    assert "--singled-out: is not for --suggest" in capsys.readouterr().err


def test_a_document_with_a_key_that_is_not_declared_does_not_fit_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(20))
    found = _report(capsys, write_policy(tmp_path), "--input", source)
    assert not Draft202012Validator(SCHEMA).is_valid(found | {"value": "Oslo"})
    assert not Draft202012Validator(SCHEMA).is_valid({**found, "sets": [{**found["sets"][0], "value": "Oslo"}]})


def test_the_policy_that_was_read_is_not_replaced_by_the_suggested_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, policy = write_json_lines(tmp_path / "in.jsonl", people(120)), write_policy(tmp_path)
    before, better = policy.read_text(), tmp_path / "better.yaml"
    options = ("--input", source, "--threshold", "0.4", "--suggest")
    for chosen in ((policy,), ("-c", policy), ("--config", policy)):
        for option in ("--output", "-o"):
            assert run("leakage", *chosen, *options, option, policy) == 2
            assert "was read, and is not written over" in capsys.readouterr().err
            assert policy.read_text() == before
    for option in ("--output", "-o"):
        assert run("leakage", policy, *options, option, better) == 0
        assert load_policy(better).quasi_identifiers[0].min_level
        better.unlink()


def test_the_bound_on_sets_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    assert run("leakage", write_policy(tmp_path), "--input", source, "--most", "2") == 0
    assert "Not looked at: 1 sets, since --most 2 was reached." in capsys.readouterr().out


def test_no_value_of_anybody_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = people(60)
    for record in records:
        record["person"] += PERSONAL
    records[7]["home"]["city"] = PERSONAL
    source = write_json_lines(tmp_path / "in.jsonl", records)
    policy = write_policy(tmp_path)
    target = write_json_lines(tmp_path / "out.jsonl", [{**STARS, "home": {"city": PERSONAL}}] * 9)
    for more in ((), ("--json",), ("--disclosed", "age"), ("--released", target)):
        run("leakage", policy, "--input", source, *more)
        said = capsys.readouterr()
        assert PERSONAL not in said.out + said.err
    assert "home.city: a published value is none that the policy can publish" in said.err
    assert run("leakage", policy, "--input", source) == 0
    said = capsys.readouterr()
    assert "1 records do not fit the policy and are left out" in said.out
    assert not [city for city in ("Oslo", "Bergen", "Rome", "Bari") if city in said.out]


@pytest.mark.parametrize(
    ("released", "reason"),
    [
        ([STARS] * 51, "holds more records than"),
        ([{**STARS, "age": 200}] * 50, "age: a published value is none"),
        ([{**STARS, "age": {"min": 0, "max": 24}}] * 50, "compatible with no released record"),
        (["text"] * 50, "record 1 is not a record that a release can hold"),
    ],
)
def test_a_file_that_is_no_release_of_the_table_is_refused(
    released: list[Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(50))
    target = write_json_lines(tmp_path / "out.jsonl", released)
    assert run("leakage", write_policy(tmp_path), "--input", source, "--released", target) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "give --config FILE, and --input FILE unless"),
        (("policy.yaml",), "give --config FILE, and --input FILE unless"),
        (("--config", "policy.yaml", "--released", "out.jsonl"), "needs --input FILE"),
        (("--config", "policy.yaml"), "kafka"),
    ],
)
def test_options_that_say_too_little_or_too_much_are_refused(
    arguments: tuple[str, ...],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_policy(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run("leakage", *arguments) == 2
    assert reason in capsys.readouterr().err


def test_a_file_without_a_record_that_fits_is_refused(tmp_path: Path) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", [{"person": 1, "age": 900}])
    with pytest.raises(InputError, match="holds no record that fits the policy"):
        read_table(load_policy(write_policy(tmp_path)), SampleSource(str(source), source))


def test_of_a_large_file_the_first_records_are_looked_at_and_a_release_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studied_records, "MOST_STUDIED", 4_000)
    source = tmp_path / "in.csv"
    rows = [f"p{i},{i % 100},Oslo,1,flu" for i in range(9_000)]
    source.write_text("\n".join(["person,age,home.city,visits,illness", *rows]))
    table = read_table(load_policy(write_policy(tmp_path)), SampleSource(str(source), source))
    assert isinstance(table.population, Population)
    assert (table.population.rows, table.whole) == (4_000, False)
    nothing = Released("out.csv", boxes_of(table.policy.quasi_identifiers, [], []))
    with pytest.raises(InputError, match="too many to compare"):
        study_leakage(table, LeakageRequest(), nothing)


def _undrawn(text: str) -> str:
    """Return text without figures that differ from run to run: who of equal people is in which class is drawn."""
    lines = r"^(salary-class, after|warning: salary-class:)[^\n]*"
    return re.sub(lines, lambda line: re.sub(r" *[0-9][0-9,.]*", " 0", line[0]), text, flags=re.MULTILINE)


def test_the_page_shows_what_its_commands_print_of_the_census(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = shared_data("arx-adult", "adult.csv")
    (tmp_path / "adult.csv").symlink_to(source)
    (tmp_path / "hierarchies").symlink_to(source.parent / "hierarchies")
    page = (ROOT / "docs" / "explain" / "leakage.md").read_text()
    policies = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "policy.yaml").write_text(policies[0])
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"stream-anon ([a-z]+ [^`\n]*adult\.csv[^`\n]*(?:\n--[^`\n]*)?)", page)
    assert [command.split()[0] for command in commands] == ["anonymize", "leakage", "leakage", "leakage"]
    shown = []
    for command in commands:
        code = run(*command.split())
        out = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())
        shown.append((command.split()[0], code, out))
    (_, _, _), (_, above, after), (_, fine, known), (_, found, suggested) = shown
    assert (above, fine, found) == (1, 0, 0)
    for text in (after, known, suggested[suggested.index("36 sets leak") :]):
        assert f"```\n{_undrawn(text)}\n```\n" in _undrawn(page)
    assert load_policy(tmp_path / "better.yaml").quasi_identifiers[1].min_level == 2


def test_standard_input_is_read_where_a_dash_stands_for_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"p{i},{i % 10},Oslo,1,flu\n" for i in range(40))
    text = f"person,age,home.city,visits,illness\n{rows}".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
    assert run("leakage", write_policy(tmp_path), "--input", "-", "--format", "csv") == 0
    assert "standard input: 40 individuals in 40 records" in capsys.readouterr().out


def test_suggested_levels_make_a_policy_that_needs_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    policy, better = write_policy(tmp_path), tmp_path / "better.yaml"
    options = ("--input", source, "--threshold", "0.4", "--suggest")
    found = _report(capsys, policy, *options, "--output", better)["suggestion"]
    assert found["min_level"]
    assert found["highest"] <= 0.4 + 1e-9
    assert found["loss"] > found["loss_before"] == 0
    written = load_policy(better)
    levels = {attribute.name: attribute.min_level for attribute in written.quasi_identifiers}
    assert levels == {"age": 0, "home.city": 0} | found["min_level"]
    again = _report(capsys, better, *options)["suggestion"]
    assert (again["min_level"], again["loss"], again["optimal"]) == ({}, found["loss"], True)
    assert run("leakage", policy, *options) == 0
    out = capsys.readouterr().out
    assert "Suggested" in out
    assert out.endswith(better.read_text())


def test_a_release_under_suggested_levels_leaks_no_more_than_the_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    better, output = tmp_path / "better.yaml", tmp_path / "out.jsonl"
    limit = ("--input", source, "--threshold", "0.3")
    _report(capsys, write_policy(tmp_path), *limit, "--suggest", "--output", better)
    assert run("anonymize", source, output, "--config", better) == 0
    capsys.readouterr()
    assert _report(capsys, better, *limit, "--released", output)["above"] == 0


def test_levels_that_cannot_suffice_write_nothing_and_end_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    age = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "max_level": 1}
    policy, better = write_policy(tmp_path, attributes={"age": age}), tmp_path / "better.yaml"
    options = ("--input", source, "--threshold", "0.1", "--suggest", "--output", better)
    assert run("leakage", policy, *options) == 1
    assert "No levels suffice" in capsys.readouterr().out
    assert not better.exists()
    assert _report(capsys, policy, *options, code=1)["suggestion"] is None


def test_a_suggestion_needs_a_threshold_and_levels_that_are_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", people(20))
    policy = write_policy(tmp_path)
    for wrong in (
        ("--suggest",),
        ("--suggest", "--threshold", "0.5", "--released", source),
        ("--output", tmp_path / "out.yaml"),
    ):
        assert run("leakage", policy, "--input", source, *wrong) == 2
        assert "needs --" in capsys.readouterr().err
    fixed = write_policy(tmp_path, engine={"name": "full-domain", "levels": {"age": 1}})
    assert run("leakage", fixed, "--input", source, "--suggest", "--threshold", "0.5") == 2
    assert "whose levels are fixed" in capsys.readouterr().err


def test_figures_are_printed_whole_beside_long_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    city = {"role": "quasi-identifier", "values": ["Oslo", "Bergen", "Rome", "Bari"], "path": ["home", "city"]}
    age = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "path": ["age"]}
    named = {"person": {"role": "identifier"}, "patient.age_at_the_visit": age, "patient.residence.city": city}
    policy = write_document(tmp_path, {**PEOPLE, "attributes": named})
    source = write_json_lines(tmp_path / "in.jsonl", people(120))
    target = write_json_lines(tmp_path / "out.jsonl", [{"age": "*", "home": {"city": "*"}}] * 120)
    options = (policy, "--input", source, "--released", target)
    sets = _report(capsys, *options)["sets"]
    assert run("leakage", *options) == 0
    said = capsys.readouterr().out
    assert "…" not in said
    for each in sets:
        assert re.search(rf"{each['bits']:.2f} +{each['normalized']:.1%} +0\.0% +{each['unique']:.1%}", said)


def _all_cancer_or_all_flu(folder: Path) -> tuple[Path, Path, Path]:
    """Return a policy, eight people whose half of the country tells their illness, and a release of them."""
    records = people(8)
    cities = ["Oslo", "Oslo", "Bergen", "Bergen", "Rome", "Rome", "Bari", "Bari"]
    for record, city in zip(records, cities, strict=True):
        record["home"] = {"city": city}
        record["age"], record["illness"] = 30, f"{PERSONAL}1" if city in ("Oslo", "Bergen") else f"{PERSONAL}2"
    published = [
        STARS | {"home": {"city": "north" if place < 4 else "south"}, "illness": record["illness"]}
        for place, record in enumerate(records)
    ]
    return (
        write_policy(folder, privacy={"k": 2}),
        write_json_lines(folder / "in.jsonl", records),
        write_json_lines(folder / "out.jsonl", published),
    )


def test_what_classes_give_away_of_a_sensitive_attribute_is_told_before_and_after_a_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, target = _all_cancer_or_all_flu(tmp_path)
    found = _report(capsys, policy, "--input", source)["sensitive"]
    before = {"attribute": "illness", "records": 8, "bits": 1.0, "told": 1.0, "guess": 0.5, "alike": 8}
    assert found == {"before": [before | {"worst": {"records": 2, "share": 1.0}}], "after": None}
    asked = (policy, "--input", source, "--released", target)
    after = _report(capsys, *asked)["sensitive"]["after"]
    assert after == [before | {"worst": {"records": 4, "share": 1.0}}]
    page = tmp_path / "page.html"
    assert run("leakage", *asked, "--html", page) == 0
    out, written = " ".join(capsys.readouterr().out.split()), page.read_text()
    for text in (out, " ".join(written.split())):
        assert "illness: 8 of 8 records are in classes whose records all have one value" in text
        assert PERSONAL not in text
    assert "illness, after 1.00 1.00 (100.0%) 50.0% 100.0% of 4 8 of 8" in out


def test_a_star_for_all_gives_nothing_away_of_a_sensitive_attribute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, source, target = _all_cancer_or_all_flu(tmp_path)
    records = [json.loads(line) | {"home": {"city": "*"}} for line in target.read_text().splitlines()]
    write_json_lines(target, records)
    asked = (policy, "--input", source, "--released", target)
    (after,) = _report(capsys, *asked)["sensitive"]["after"]
    assert (after["told"], after["alike"], after["worst"]) == (0, 0, {"records": 8, "share": 0.5})
    assert run("leakage", *asked) == 0
    assert "warning" not in capsys.readouterr().out

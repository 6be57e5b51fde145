"""What a release keeps and loses: figures that can be counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_anon.errors import InputError
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import read_released, read_table
from stream_anon.operations.utility.utility_study import Utility, study_utility
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import run
from tests.support.policies import people, write_json_lines, write_policy

AGE = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [10, 50]}}


def _files(folder: Path, ages_and_cities: list[tuple[object, str]]) -> tuple[Path, Path, Path]:
    records = people(4)
    for record, (age, city) in zip(records, [(1, "Oslo"), (2, "Bergen"), (60, "Rome"), (61, "Rome")], strict=True):
        record["age"], record["home"] = age, {"city": city}
    published = [
        {"age": age, "home": {"city": city}, "visits": 1, "illness": "flu"} for age, city in ages_and_cities
    ]
    policy = write_policy(folder, attributes={"age": AGE}, privacy={"k": 2, "individual": "person"})
    source = write_json_lines(folder / "in.jsonl", records)
    return policy, source, write_json_lines(folder / "out.jsonl", published)


def _studied(folder: Path, published: list[tuple[object, str]]) -> Utility:
    path, source, output = _files(folder, published)
    policy = load_policy(path)
    return study_utility(read_table(policy, SampleSource(str(source), source)), read_released(policy, output))


def test_every_figure_is_the_one_counted_by_hand(tmp_path: Path) -> None:
    young = {"min": 0, "max": 9}
    found = _studied(tmp_path, [(young, "north"), (young, "north")])
    assert (found.records, found.suppressed, found.classes) == (2, 2, 1)
    # Two records on the levels (1, 1), two at the roots (3, 2).
    assert found.absolute == pytest.approx((2 + 2 + 5 + 5) / 4)
    assert found.relative == pytest.approx((2 * (1 / 3 + 1 / 2) + 2 * 2) / 4)
    assert found.prec == pytest.approx(1 - found.relative / 2)
    assert found.class_size == pytest.approx(1.0)
    assert found.discernibility == 2 * 2 + 2 * 4
    # Of each released cell one bit is unknown; of a suppressed one the entropy of its attribute, 2 and 1.5 bits.
    assert found.conditional_entropy == pytest.approx(4 * 1 + 2 * (2 + 1.5))


def test_what_is_published_as_it_is_loses_nothing(tmp_path: Path) -> None:
    found = _studied(tmp_path, [(1, "Oslo"), (2, "Bergen"), (60, "Rome"), (61, "Rome")])
    assert (found.absolute, found.relative, found.prec, found.gcp) == (0, 0, 1, 0)
    assert (found.conditional_entropy, found.query_error) == (0, 0)
    assert found.information == pytest.approx(1)
    assert found.dependence is None, "every age occurs once: any cities would agree with them as well"


def test_a_file_with_more_records_is_no_release(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is not a release of it"):
        _studied(tmp_path, [("*", "*")] * 5)


def test_several_releases_stand_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, source, output = _files(tmp_path, [("*", "*")] * 4)
    assert run("utility", source, output, output, "--config", policy, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["gcp"] for each in found["releases"]] == [1, 1]
    assert run("utility", source, output, "--config", policy) == 0
    out = capsys.readouterr().out
    assert "GCP (mean NCP)" in out
    assert "Oslo" not in out

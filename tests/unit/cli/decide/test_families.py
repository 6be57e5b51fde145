"""`stream-anon families`, and what becomes of what it prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.families import in_order
from stream_anon.privacy.promises import promises_of
from stream_anon.privacy.weakening import weakened
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import FileRun, run
from tests.support.policies import people, write_json_lines, write_policy

ILLNESSES = ["flu", "cold", "stroke", "angina", None]
WHOLE: dict[str, Any] = {"invariant": 2, "families": [["a", "b"], ["c", "d", "e"]], "publish": "value"}


def _people() -> list[dict[str, Any]]:
    return [{**person, "illness": ILLNESSES[place % 5]} for place, person in enumerate(people(200))]


def _promises(folder: Path, illness: dict[str, Any]) -> dict[str, Any]:
    return promises_of(load_policy(_policy(folder, **illness)))


def _policy(folder: Path, **illness: Any) -> Path:
    return write_policy(folder, privacy={"sensitive": {"illness": illness}} if illness else {"sensitive": {}})


def test_what_is_dealt_can_be_declared_released_and_audited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", _people())
    assert run("families", "-c", _policy(tmp_path), "--input", source, "--invariant", "2") == 0
    told = capsys.readouterr().out
    dealt = yaml.safe_load(told)["illness"]
    assert dealt["invariant"] == 2
    assert sorted(map(len, dealt["families"])) == [2, 3]
    files = FileRun(_policy(tmp_path, **dealt), _people())
    assert files.anonymize() == 0
    records = files.released
    shown = {record["illness"] for record in records}
    assert len(records) == 200
    assert len(shown) == 2
    assert {value for text in shown for value in text.split("|")} == {"flu", "cold", "stroke", "angina", "null"}
    assert files.audit() == 0

    records[3]["illness"] = "flu"
    write_json_lines(files.output, records)
    capsys.readouterr()
    assert files.audit() == 1
    assert "illness" in capsys.readouterr().out


def test_families_whose_values_are_published_are_dealt_by_what_they_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", _people())
    command = ("families", "--input", source, "--invariant", "2", "-c")
    assert run(*command, _policy(tmp_path), "--publish", "value") == 0
    told = capsys.readouterr().out
    assert re.search(r"A window of \d+ records of the sample loses 0\.\d{4} \(GCP\), and 0\.\d{4} where", told)
    dealt = yaml.safe_load(told)["illness"]
    assert dealt["publish"] == "value"
    assert sorted(map(len, dealt["families"])) == [2, 3]
    files = FileRun(_policy(tmp_path, **dealt), _people())
    assert files.anonymize() == 0
    records = files.released
    assert {record["illness"] for record in records} == set(ILLNESSES)
    assert files.audit() == 0
    capsys.readouterr()
    assert run(*command, files.policy) == 0
    again = yaml.safe_load(capsys.readouterr().out)["illness"]
    assert again["publish"] == "value", "as the policy has it"
    assert run(*command, files.policy, "--publish", "family") == 0
    assert "publish" not in yaml.safe_load(capsys.readouterr().out)["illness"]

    shown = [value for value in ILLNESSES if value is not None]
    records = [
        record | {"illness": "flu" if record["illness"] == "cold" else record["illness"]} for record in records
    ]
    write_json_lines(files.output, records)
    assert files.audit() == 1
    told = capsys.readouterr().out
    assert "values of a family" in " ".join(told.replace("│", " ").split())
    assert not any(value in told for value in shown)


def test_a_value_of_few_people_is_in_a_family_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = _people()
    records[0]["illness"] = records[1]["illness"] = "something rare"
    source = write_json_lines(tmp_path / "in.jsonl", records)
    assert run("families", "-c", _policy(tmp_path), "--input", source) == 0
    told = capsys.readouterr().out
    assert "Values that fewer than 3 people have are in families too (1)" in told
    listed = [value for family in yaml.safe_load(told)["illness"]["families"] for value in family]
    assert sorted(map(str, listed)) == sorted(map(str, [*ILLNESSES, "something rare"]))


def test_families_of_the_policy_stay_and_new_values_are_dealt_among_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"invariant": 2, "families": [["flu", "stroke"], ["nobody has it", "nor that"]]}
    source = write_json_lines(tmp_path / "in.jsonl", _people())
    before, policy = _promises(tmp_path, known), _policy(tmp_path, **known)
    command = ("families", "-c", policy, "--input", source, "--invariant")
    assert run(*command, "3") == 0
    told = capsys.readouterr().out
    assert "The families of the policy come first (2)" in told
    dealt = yaml.safe_load(told)["illness"]
    assert dealt["invariant"] == 2
    assert [set(family) for family in dealt["families"]] == [
        *map(set, known["families"]),  # type: ignore[call-overload]
        {"cold", "angina", None},
    ]
    assert run(*command, "4") == 2
    assert "3 values are in no family of the policy; a family needs 4" in " ".join(capsys.readouterr().err.split())
    assert weakened(before, _promises(tmp_path, dealt)) == ()
    larger = {"invariant": 2, "families": [["flu", "stroke", "cold"]]}
    assert run("families", "-c", _policy(tmp_path, **larger), "--input", source, "--invariant", "2") == 2
    assert "2 values are in no family of the policy; a family needs 3" in " ".join(capsys.readouterr().err.split())
    _policy(tmp_path, **dealt)
    assert run("families", "-c", _policy(tmp_path, **dealt), "--input", source) == 0
    assert yaml.safe_load(capsys.readouterr().out)["illness"] == dealt | {
        "families": [list(family) for family in in_order(tuple(map(tuple, dealt["families"])))]
    }


def test_a_rest_stays_and_new_families_of_its_values_are_said_to_be_weaker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"invariant": 2, "families": [["flu", "stroke"]], "rest": "other"}
    source = write_json_lines(tmp_path / "in.jsonl", _people())
    before, policy = _promises(tmp_path, known), _policy(tmp_path, **known)
    assert run("families", "-c", policy, "--input", source, "--invariant", "2") == 0
    told = capsys.readouterr().out
    assert "new families make it weaker" in told
    dealt = yaml.safe_load(told)["illness"]
    assert dealt["rest"] == "other"
    assert [each.place for each in weakened(before, _promises(tmp_path, dealt))] == [
        "privacy.sensitive.illness.rest"
    ]
    assert run("families", "-c", _policy(tmp_path, **dealt), "--input", source) == 0
    assert "weaker" not in capsys.readouterr().out


def test_values_that_are_one_in_other_letters_are_not_dealt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = _people()
    records[0]["illness"], records[1]["illness"] = "Flu", " cold"
    source = write_json_lines(tmp_path / "in.jsonl", records)
    assert run("families", "-c", _policy(tmp_path), "--input", source) == 2
    told = capsys.readouterr().err
    assert "2 values differ from another one only in case" in told
    assert "flu" not in told.lower()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(["--invariant", "9"], "a family needs 9"), (["--attribute", "age"], "role: sensitive")],
    ids=["too-few-values", "no-sensitive-attribute"],
)
def test_what_cannot_be_dealt_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    source = write_json_lines(tmp_path / "in.jsonl", _people())
    assert run("families", "-c", _policy(tmp_path), "--input", source, *arguments) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("illness", "why"),
    [
        ({"invariant": 2}, "both invariant and families"),
        ({"families": [["a", "b"]]}, "both invariant and families"),
        ({"distinct_l": 2, "rest": "other"}, "rest needs families"),
        ({"invariant": 3, "families": [["a", "b"]]}, "at least 3 values"),
        ({"invariant": 2, "families": [["a", "b"], ["b", "c"]]}, "twice"),
        ({"distinct_l": 2, "publish": "value"}, "publish is for families"),
        ({**WHOLE, "rest": "other"}, "is for publish: family"),
        ({**WHOLE, "distinct_l": 3}, "asks for 3 values in a class, and a class of one family may have 2"),
        ({**WHOLE, "alpha": 0.3}, "asks for 4 values"),
        ({**WHOLE, "t_closeness": {"t": 0.3}}, "never like its window"),
        ({**WHOLE, "beta_likeness": 1}, "never like its window"),
    ],
    ids=[
        "no-families",
        "no-number",
        "rest-alone",
        "small",
        "twice",
        "of-nothing",
        "rest-of-values",
        "values",
        "share",
        "closeness",
        "likeness",
    ],
)
def test_families_that_do_not_fit_the_setting_are_refused(
    tmp_path: Path, illness: dict[str, Any], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        load_policy(_policy(tmp_path, **illness))


def test_no_method_keeps_families_whole(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no method keeps families whole"):
        load_policy(write_policy(tmp_path, privacy={"sensitive": {"illness": WHOLE}}, method={"name": "datafly"}))


def test_families_need_a_sensitive_attribute(tmp_path: Path) -> None:
    families = {"invariant": 2, "families": [["a", "b"]]}
    with pytest.raises(SettingsError, match="role: sensitive"):
        load_policy(write_policy(tmp_path, privacy={"sensitive": {"visits": families}}))

"""`stream-anon attack`: planted faults are caught, a sound release is left in peace, and no value is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from stream_anon.operations.attack import attacked_records
from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.policies import write_document, write_json_lines

SCHEMA = json.loads((ROOT / "schemas" / "attack.schema.json").read_text())
ILLNESSES = ["flu", "cold", "gout", "pox", "mumps", "scurvy"]
ATTRIBUTES: dict[str, Any] = {
    "person": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
    "place": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 49}},
    "illness": {"role": "sensitive"},
}
PRIVACY: dict[str, Any] = {"k": 10, "individual": "every-record", "sensitive": {"illness": {"distinct_l": 3}}}


def _town(count: int = 2_000, each: int = 1) -> list[dict[str, Any]]:
    """Return people of a town, whose illness goes with nothing."""
    draws = np.random.default_rng(8)
    made = [
        {
            "person": f"somebody-{i}",
            "age": int(draws.integers(100)),
            "place": int(draws.integers(50)),
            "illness": ILLNESSES[draws.integers(6)],
            "nickname": f"nobody-{i}",
        }
        for i in range(count // each)
    ]
    return [record for record in made for _ in range(each)]


def _told(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    records: list[dict[str, Any]],
    *options: object,
    attributes: dict[str, Any] | None = None,
    privacy: dict[str, Any] | None = None,
    **sections: Any,
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Attack a trial; return the exit code, and what each attack found."""
    document = {"privacy": PRIVACY | (privacy or {}), "attributes": ATTRIBUTES | (attributes or {}), **sections}
    policy, source = write_document(folder, document), write_json_lines(folder / "in.jsonl", records)
    code = run("attack", "-c", policy, "--original", source, *options, "--json")
    told = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(told)
    return code, {one["attack"]: one for one in told["attacks"]}


def test_a_sound_release_is_left_in_peace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether somebody is in it is not promised. Ten people of a class have its most frequent value more often."""
    _, found = _told(tmp_path, capsys, _town())
    assert found.pop("membership")["success"]["value"] > 0.5
    small = found.pop("inference")["risk"]["value"]
    assert small < 0.3
    assert {name: one["risk"]["low"] for name, one in found.items() if one["risk"]["low"]} == {}
    assert found["found-again"]["surest"] <= 0.1
    assert found["homogeneity"]["risk"]["value"] == 0
    _, found = _told(tmp_path, capsys, _town(), privacy={"k": 200})
    assert found["inference"]["risk"]["value"] < small
    assert found["inference"]["risk"]["low"] == 0


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_a_name_that_passes_is_caught(role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = {"nickname": {"role": role}}
    code, found = _told(tmp_path, capsys, _town(), "--fail-above", 0.05, attributes=named)
    assert code == 1
    assert found["singling-out"]["risk"]["low"] > 0.2
    if role == "insensitive":
        assert found["found-again"]["risk"]["low"] > 0.9
        assert found["found-again"]["surest"] == 1
        assert found["inference"]["risk"]["low"] > 0.9


def test_a_name_that_passes_with_many_records_of_everybody_is_caught(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """More records show a name than k asks for; they are of one person."""
    named, privacy = {"nickname": {"role": "insensitive"}}, {"individual": "person"}
    records = [{**own, "nickname": own["person"]} for own in _town(6_000, each=20)]
    _, found = _told(tmp_path, capsys, records, attributes=named, privacy=privacy)
    assert found["found-again"]["risk"]["low"] > 0.9
    assert found["found-again"]["surest"] == 1


def test_who_is_found_by_what_a_policy_says_that_nobody_knows_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weighed = {"nickname": {"role": "insensitive", "accept_linkable": True}}
    document = {"privacy": PRIVACY, "attributes": ATTRIBUTES | weighed}
    policy, source = write_document(tmp_path, document), write_json_lines(tmp_path / "in.jsonl", _town())
    assert run("attack", "-c", policy, "--original", source, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(told)
    known, weighed_too = (one for one in told["attacks"] if one["attack"] == "found-again")
    assert (known["secret"], known["risk"]["value"]) == (None, 0)
    assert (weighed_too["secret"], weighed_too["surest"]) == ("nickname", 1)
    assert weighed_too["risk"]["low"] > 0.9
    assert next(one for one in told["attacks"] if one["attack"] == "inference")["risk"]["value"] < 0.3


def test_a_forgotten_quasi_identifier_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forgotten = {"place": {"role": "insensitive", "type": "integer"}}
    code, found = _told(tmp_path, capsys, _town(), "--fail-above", 0.05, attributes=forgotten)
    assert code == 1
    assert found["found-again"]["risk"]["low"] > 0.5


def test_k_that_counts_records_of_the_same_people_is_caught(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that was made under `every-record` is attacked with what is known: who each record is of."""
    records = _town(3_000, each=5)
    half = {f"somebody-{i}" for i in range(300)}
    inside = write_json_lines(tmp_path / "inside.jsonl", [own for own in records if own["person"] in half])
    outside = write_json_lines(tmp_path / "outside.jsonl", [own for own in records if own["person"] not in half])
    document = {"privacy": PRIVACY, "attributes": ATTRIBUTES}
    policy, released = write_document(tmp_path, document), tmp_path / "out.jsonl"
    assert run("anonymize", "-c", policy, inside, released, "--fresh-draws") == 0
    capsys.readouterr()
    known = {**document, "privacy": {**PRIVACY, "individual": "person"}}
    asked = ["--original", inside, "--released", released, "--control", outside, "--fail-above", 0.05, "--json"]
    assert run("attack", "-c", write_document(tmp_path, known), *asked) == 1
    found = {one["attack"]: one for one in json.loads(capsys.readouterr().out)["attacks"]}
    assert found["found-again"]["risk"]["low"] > 0.5
    assert found["found-again"]["surest"] >= 1 / 3
    # Of 300 people one record each: five of one person are no five people.
    assert found["found-again"]["attempts"] == found["inference"]["attempts"] == 300


def test_a_diagnosis_that_its_class_tells_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a criterion: where people live says what they have."""
    records = [{**record, "illness": ILLNESSES[record["place"] // 10]} for record in _town()]
    code, found = _told(tmp_path, capsys, records, "--fail-above", 0.3, privacy={"sensitive": {}})
    assert code == 1
    assert found["homogeneity"]["risk"]["low"] > 0.3
    assert found["inference"]["success"]["value"] > 0.5
    # Who is not in the release has what goes with their place, too: that is no risk of being in it.
    assert found["inference"]["control"]["value"] > 0.5
    assert found["inference"]["risk"]["low"] < 0.3


def test_incomes_of_a_class_that_differ_by_little_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No two people have the same income, but everybody earns nearly what their class does."""
    records = [{**own, "illness": 1_000 * 2 ** (own["age"] // 10) + row / 1_000} for row, own in enumerate(_town())]
    number = {"illness": {"role": "sensitive", "type": "number"}}
    _, found = _told(tmp_path, capsys, records, attributes=number, privacy={"sensitive": {}})
    assert found["inference"]["success"]["value"] > 0.5
    assert found["inference"]["surest"] == 1
    assert found["homogeneity"]["success"]["value"] == 0


REGULARS, SIZE, WINDOWS = 80, 800, 40


def _day_by_day() -> list[dict[str, Any]]:
    """Return windows that the same people come to with the same illness, and others with theirs."""
    draws, others = np.random.default_rng(4), SIZE - REGULARS
    town = _town(REGULARS + WINDOWS * others)
    days = [town[:REGULARS] + town[REGULARS + day * others :][:others] for day in range(WINDOWS)]
    return [day[place] for day in days for place in draws.permutation(SIZE).tolist()]


BY_ARRIVAL = {"window": {"max_records": SIZE // 2, "max_delay": "60s"}}
FAMILIES = [ILLNESSES[:3], ILLNESSES[3:]]


@pytest.mark.parametrize("families", [False, True])
def test_somebody_in_forty_windows_is_caught_and_families_leave_them_in_peace(
    families: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"illness": {"invariant": 3, "families": FAMILIES} if families else {"distinct_l": 3}}
    privacy = {"individual": "person", "sensitive": asked}
    options = ["--by-arrival", "--fail-above", 0.5]
    records = _day_by_day()
    code, found = _told(tmp_path, capsys, records, *options, privacy=privacy, **BY_ARRIVAL)
    told = found["intersection"]
    assert told["attempts"] == 33, "the seed says who"
    assert found["found-again"]["risk"]["value"] == 0, "whoever comes often is among k people each time"
    if families:
        assert code == 0
        assert told["surest"] < 0.34, "three values are left of everybody at the least"
        assert told["success"]["value"] < 0.8
        assert found["skewness"]["success"]["value"] == 0
        assert found["inference"]["risk"]["low"] < 0.05
        assert "homogeneity" not in found
        return
    assert code == 1
    assert told["surest"] == 1
    assert told["risk"]["low"] > 0.5
    assert told["control"]["value"] < 0.5
    assert "families" in told["answer"]


def test_the_windows_of_a_released_file_are_told_by_its_certificates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = _day_by_day()
    people = {record["person"] for record in records}
    half = set(sorted(people)[::2])
    inside = write_json_lines(tmp_path / "inside.jsonl", [own for own in records if own["person"] in half])
    outside = write_json_lines(tmp_path / "outside.jsonl", [own for own in records if own["person"] not in half])
    document = {"privacy": PRIVACY | {"individual": "person"}, "attributes": ATTRIBUTES, **BY_ARRIVAL}
    policy, released, proof = write_document(tmp_path, document), tmp_path / "out.jsonl", tmp_path / "proof.jsonl"
    made = ["anonymize", "-c", policy, inside, released, "--certificates", proof, "--fresh-draws", "--by-arrival"]
    assert run(*made) == 0
    asked = ["attack", "-c", policy, "--original", inside, "--released", released, "--control", outside, "--json"]

    def found(*options: object) -> dict[str, Any]:
        capsys.readouterr()
        assert run(*asked, *options) == 0
        return {one["attack"]: one for one in json.loads(capsys.readouterr().out)["attacks"]}

    with_windows, without = found("--certificates", proof), found()

    assert with_windows["intersection"]["risk"]["low"] > 0.4
    assert with_windows["intersection"]["surest"] == 1
    assert with_windows["found-again"]["risk"]["value"] == 0
    # Who does not know the windows takes all of them for one: then nearly every value is left.
    assert without["intersection"]["surest"] < 0.5
    lines = proof.read_bytes().splitlines()
    proof.write_bytes(b"\n".join(lines[:-1]))
    assert run(*asked, "--certificates", proof) == 2
    assert "certifies fewer records than were released" in capsys.readouterr().err
    released.write_bytes(b"".join(released.read_bytes().splitlines(keepends=True)[:50]))
    assert run(*asked, "--certificates", proof) == 2
    assert "certifies more records than were released" in capsys.readouterr().err


def test_a_skewed_diagnosis_of_which_a_class_says_more_than_the_town_is_caught(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Few have pox, all of them in one place: `distinct_l` holds in a class where nine of ten have it."""
    draws = np.random.default_rng(6)
    records = [
        {
            **own,
            "illness": ILLNESSES[3] if own["place"] == 7 and draws.random() < 0.9 else ILLNESSES[draws.integers(3)],
        }
        for own in _town(4_000)
    ]
    loose = {"sensitive": {"illness": {"distinct_l": 2}}}
    _, found = _told(tmp_path, capsys, records, privacy=loose)
    assert found["skewness"]["success"]["value"] > 0.002
    assert found["skewness"]["surest"] > 0.5
    strict = {"sensitive": {"illness": {"distinct_l": 2, "t_closeness": {"t": 0.15}}}}
    _, found = _told(tmp_path, capsys, records, privacy=strict)
    assert found["skewness"]["success"]["value"] == 0


def test_replays_and_planted_records_are_tried_where_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--replays", 1, "--planted", 9, "--targets", 3]
    _, found = _told(tmp_path, capsys, _town(400), *options, **BY_ARRIVAL)
    assert {found["replay"]["secret"]} == {"place"}
    assert found["replay"]["attempts"] == found["planted"]["attempts"] == 3
    assert found["planted"]["control"] is None
    again = ["attack", "-c", tmp_path / "policy.yaml", "--original", tmp_path / "in.jsonl", "--planted", 999]
    assert run(*again) == 2
    assert "--planted: a quarter of a window of 400 records holds fewer" in capsys.readouterr().err


@pytest.mark.parametrize("publish", ["tight", "nodes"])
def test_a_rare_income_at_the_end_of_a_tight_range_is_caught(
    publish: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draws = np.random.default_rng(2)
    records = [{**record, "income": int(draws.pareto(2) * 20_000) % 1_000_000} for record in _town()]
    numbers = {"min": 0, "max": 999_999, "step": 1} | ({"publish": "tight"} if publish == "tight" else {})
    income = {"role": "quasi-identifier", "numeric": numbers}
    code, found = _told(tmp_path, capsys, records, "--fail-above", 0.03, attributes={"income": income})
    if publish == "tight":
        assert code == 1
        assert found["refinement"]["risk"]["low"] > 0.03
        assert found["refinement"]["chance"] < 0.01
    else:
        assert found["refinement"]["risk"]["high"] < 0.01


def test_the_same_seed_attacks_the_same_way_and_few_people_are_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        _told(tmp_path, capsys, _town(400), "--targets", 50, "--guesses", 20, "--seed", 3)[1] for _ in range(2)
    ]
    for one in found:
        assert one["singling-out"]["attempts"] == 20
        assert one["found-again"]["attempts"] == one["inference"]["attempts"] == 50
    # The trial's release is drawn anew each time: what is known of people is not.
    assert found[0]["inference"]["chance"] == pytest.approx(found[1]["inference"]["chance"], abs=0.3)


def test_the_table_names_no_value_and_says_what_lowers_a_risk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {
        "privacy": PRIVACY,
        "attributes": ATTRIBUTES | {"nickname": {"role": "insensitive"}},
    }
    policy, source = write_document(tmp_path, document), write_json_lines(tmp_path / "in.jsonl", _town())
    assert run("attack", "-c", policy, "--original", source) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "half of the people, released as one table, in memory" in told
    assert "found-again: a field that is published unchanged tells people apart" in told
    assert not any(value in told for value in ("somebody-", "nobody-", *ILLNESSES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--released", "out.jsonl"], "--control: is needed with --released"),
        (["--control", "other.jsonl"], "--released: is needed with --control"),
        (["--released", "out.jsonl", "--control", "in.jsonl"], "--control: must be records of other people"),
        (["--certificates", "proof.jsonl"], "--certificates: are of a file that --released names"),
        (["--by-arrival", "--released", "out.jsonl", "--control", "other.jsonl"], "--by-arrival: is for a trial"),
    ],
)
def test_a_release_needs_a_control_group(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_document(tmp_path, {"privacy": PRIVACY, "attributes": ATTRIBUTES})
    assert run("attack", "-c", policy, "--original", "in.jsonl", *options) == 2
    assert message in capsys.readouterr().err


def test_too_few_people_and_an_empty_release_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_document(tmp_path, {"privacy": PRIVACY, "attributes": ATTRIBUTES})
    few = write_json_lines(tmp_path / "few.jsonl", _town(19))
    assert run("attack", "-c", policy, "--original", few) == 2
    assert "too few people" in capsys.readouterr().err
    empty = write_json_lines(tmp_path / "out.jsonl", [])
    asked = [
        "--original",
        few,
        "--released",
        empty,
        "--control",
        write_json_lines(tmp_path / "other.jsonl", _town(9)),
    ]
    assert run("attack", "-c", policy, *asked) == 2
    assert "no record is released" in capsys.readouterr().err


def test_who_is_in_the_release_is_in_no_control_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is known of them succeeds there, too, and no risk would be seen."""
    document = {"privacy": PRIVACY | {"individual": "person"}, "attributes": ATTRIBUTES}
    policy, released, records = write_document(tmp_path, document), tmp_path / "out.jsonl", _town()
    inside = write_json_lines(tmp_path / "inside.jsonl", records[:1_000])
    assert run("anonymize", "-c", policy, inside, released, "--fresh-draws") == 0
    asked = ["attack", "-c", policy, "--original", inside, "--released", released, "--json", "--control"]
    capsys.readouterr()
    assert run(*asked, write_json_lines(tmp_path / "all.jsonl", records[200:])) == 0
    assert json.loads(capsys.readouterr().out)["controls"] == 1_000
    assert run(*asked, write_json_lines(tmp_path / "some.jsonl", records[200:900])) == 2
    assert "holds records of nobody who is not in" in capsys.readouterr().err


def test_a_release_of_more_records_than_are_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fewer people would seem to fit a class than do."""
    policy, released = (
        write_document(tmp_path, {"privacy": PRIVACY, "attributes": ATTRIBUTES}),
        tmp_path / "out.jsonl",
    )
    inside = write_json_lines(tmp_path / "inside.jsonl", _town(9_000))
    others = write_json_lines(tmp_path / "others.jsonl", _town(100))
    assert run("anonymize", "-c", policy, inside, released, "--fresh-draws") == 0
    asked = ["attack", "-c", policy, "--released", released, "--control", others, "--original"]
    part = write_json_lines(tmp_path / "part.jsonl", _town(9_000)[:500])
    assert run(*asked, part) == 2
    assert "it is not a release of it" in capsys.readouterr().err
    monkeypatch.setattr(attacked_records, "MOST_STUDIED", 10)
    assert run(*asked, inside) == 2
    assert "too many to compare" in capsys.readouterr().err

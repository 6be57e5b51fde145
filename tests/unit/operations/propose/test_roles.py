"""Which field tells people apart, and what a name says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.operations.propose.proposing import propose
from stream_anon.operations.propose.roles import FieldKind, is_id, kind_of, person_score
from tests.support.identifiers import OF_PEOPLE
from tests.support.proposals import Record, proposed, write_json

FIRST = [f"Name{chr(65 + i)}" for i in range(26)]


def customers(count: int = 2_000) -> list[Record]:
    return [
        {
            "first_name": FIRST[i % 26],
            "last_name": f"Family{i % 700}",
            "email": f"u{i}@example.org",
            "age": 20 + i % 60,
        }
        for i in range(count)
    ]


def test_an_email_tells_people_apart_and_a_first_name_does_not(tmp_path: Path) -> None:
    text, attributes = proposed(tmp_path, customers())
    assert yaml.safe_load(text)["privacy"]["individual"] == "email"
    assert all(attributes[name] == {"role": "identifier"} for name in ("first_name", "last_name", "email"))


def test_people_are_counted_by_the_proposed_individual_alone(tmp_path: Path) -> None:
    path = write_json(tmp_path / "s.jsonl", customers())
    assert "the sample holds" not in propose(path, k=10)  # 2,000 people, not 26
    assert "# DECIDE: the sample holds 2,000 people, at most 4 classes of k = 500:" in propose(path, k=500)


def test_a_number_of_few_things_beside_one_of_people_makes_no_value_rare(tmp_path: Path) -> None:
    records = [{"userId": i % 270, "movieId": i % 27, "town": ["Oslo", "Bonn"][i % 2]} for i in range(5_000)]
    text, attributes = proposed(tmp_path, records)
    assert yaml.safe_load(text)["privacy"]["individual"] == "userId"
    assert attributes["movieId"] == {"role": "identifier"}
    assert attributes["town"]["values"] == ["Bonn", "Oslo"]


def test_first_names_alone_leave_every_record_a_person(tmp_path: Path) -> None:
    records = [{"first_name": record["first_name"], "age": record["age"]} for record in customers()]
    text, _ = proposed(tmp_path, records)
    assert yaml.safe_load(text)["privacy"]["individual"] == EVERY_RECORD


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (("email", 200, 200), ("first_name", 27, 200)),
        (("email", 200, 200), ("name", 150, 200)),
        (("email", 200, 200), ("movieId", 30, 200)),
        (("userId", 50, 200), ("movieId", 30, 200)),
        (("patientNumber", 200, 200), ("email", 200, 200)),
        (("customer_id", 200, 200), ("customer_name", 150, 200)),
        (("full_name", 150, 200), ("last_name", 90, 200)),
    ],
)
def test_the_kind_of_a_name_decides_before_repeats(
    better: tuple[str, int, int], worse: tuple[str, int, int]
) -> None:
    assert person_score(*better) > person_score(*worse)


@pytest.mark.parametrize(
    "name",
    ["movieId", "movie_id", "movieid", "MovieID", "user_id", "userid", "patientNumber", "customernr", "idUser"],
)
def test_an_id_is_known_by_its_name(name: str) -> None:
    assert is_id(name)
    assert kind_of(name, [i % 300 for i in range(2_000)], 2_000) is FieldKind.IDENTIFIER


@pytest.mark.parametrize("name", ["postcode", "paid", "humid", "zip_code", "number", "fluid_level", "casino"])
def test_what_only_ends_as_an_id_does_is_none(name: str) -> None:
    assert not is_id(name)


def test_ids_of_few_things_are_categories_and_no_range(tmp_path: Path) -> None:
    records = [{"person_id": i, "sex": "FM"[i % 2], "department_id": [10, 20, 70][i % 3]} for i in range(600)]
    _, attributes = proposed(tmp_path, records)
    assert attributes["department_id"]["values"] == ["10", "20", "70"]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [each for each in OF_PEOPLE if each[0] in ("note", "contact", "pay_to", "car", "code")],
)
def test_an_identifier_in_disguise_is_proposed_as_one_and_says_why(
    name: str, kind: str, values: list[object], suffix: str, tmp_path: Path
) -> None:
    records = [{"person_id": i, "sex": "FM"[i % 2], name: values[i % len(values)]} for i in range(600)]
    text, attributes = proposed(tmp_path, records, suffix)
    assert attributes[name] == {"role": "identifier"}
    lines = text.splitlines()
    reason = lines[lines.index(f"  {name}: {{role: identifier}}") - 1]
    assert reason.startswith(f"  # 100% of its different values look like {kind} (")
    assert reason.endswith(" in HIPAA's list)")
    assert not [value for value in values if str(value) in text]


def test_categories_and_places_are_proposed_as_before(tmp_path: Path) -> None:
    records = [
        {"person_id": i, "name_of_zone": f"Upper {'ABCDEFGHIJKLMNO'[i % 15]}", "lat": 52 + i % 30 / 1000}
        for i in range(600)
    ]
    _, attributes = proposed(tmp_path, records)
    assert {attributes[name]["role"] for name in ("name_of_zone", "lat")} == {"quasi-identifier"}

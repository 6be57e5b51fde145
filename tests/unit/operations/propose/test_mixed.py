"""Fields that hold a value here, and a list or an object there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.proposals import proposed


def tables(odd: Any, every: int, count: int = 1_000) -> list[dict[str, Any]]:
    return [
        {"person_id": i, "sex": "FM"[i % 2], "town": odd if i % every == 0 else ["Oslo", "Bonn"][i % 2]}
        for i in range(count)
    ]


@pytest.mark.parametrize("odd", [{"name": "Oslo", "jane": 1}, {}, ["Oslo"], [1, 2], []], ids=repr)
def test_a_field_stays_where_few_records_hold_something_of_another_kind(tmp_path: Path, odd: Any) -> None:
    text, attributes = proposed(tmp_path, tables(odd, every=100))
    assert attributes["town"]["values"] == ["Bonn", "Oslo"]
    assert "10 records (1.0 %) hold something of another kind here and would be rejected" in text
    assert set(attributes) == {"person_id", "sex", "town"}


def test_keys_of_objects_that_few_people_have_are_not_written(tmp_path: Path) -> None:
    text, _ = proposed(tmp_path, tables({"jane": 1}, every=200))
    assert "jane" not in text
    assert "fields that fewer than 10 individuals have" in text


def test_many_records_of_another_kind_must_be_decided_about(tmp_path: Path) -> None:
    text, attributes = proposed(tmp_path, tables({"name": "Oslo"}, every=5))
    assert attributes["town"]["values"] == ["Bonn", "Oslo"]
    assert "DECIDE: 200 records (20.0 %) hold something of another kind here: leave it out, or they are" in text
    assert "town.name: within an object that stands in place of a value, and not in most records" in text


def test_fields_of_an_object_stay_where_few_records_hold_a_value_in_its_place(tmp_path: Path) -> None:
    records = tables("unknown", every=100)
    for i, record in enumerate(records):
        if record["town"] != "unknown":
            record["town"] = {"city": ["Oslo", "Bonn"][i % 2]}
    text, attributes = proposed(tmp_path, records)
    assert set(attributes) == {"person_id", "sex", "town.city"}
    assert "10 records (1.0 %) hold something of another kind here and would be rejected" in text
    assert "#   town: of several kinds: one in 10 records, others in 990" in text


@pytest.mark.parametrize(
    ("usual", "odd", "kind"), [("flu", 7, None), (7, "flu", "integer"), (True, "flu", "boolean")]
)
def test_a_sensitive_field_is_of_the_type_of_most_values(
    tmp_path: Path, usual: Any, odd: Any, kind: str | None
) -> None:
    records = [
        {"person_id": i, "sex": "FM"[i % 2], "diagnosis": odd if i % 100 == 0 else usual} for i in range(2_000)
    ]
    text, attributes = proposed(tmp_path, records)
    assert attributes["diagnosis"].get("type") == kind
    assert "20 values (1.0 %) do not fit and would be rejected" in text

"""What the words of a field's name say."""

from __future__ import annotations

import pytest

from stream_anon.judging.disguises.field_words import names_person, words


def test_words_of_a_name_are_found_in_any_spelling() -> None:
    assert words("patient.birthDate") == ["patient", "birth", "date"]
    assert words("PatientID") == ["patient", "id"]
    assert words("movieid") == ["movie", "id"]
    assert words("postcode") == ["postcode"]


@pytest.mark.parametrize(
    "name",
    ["surname", "lastName", "patient.name", "customer_name", "given name", "FULL_NAME", "contact.first_name"],
)
def test_a_name_of_a_field_tells_that_it_holds_names_of_people(name: str) -> None:
    assert names_person(name)


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "product_name",
        "city",
        "renamed",
        "patient.address",
        "station.name",
        "patient.drug_name",
        "drug.fullName",
    ],
)
def test_other_fields_hold_no_names_of_people(name: str) -> None:
    assert not names_person(name)

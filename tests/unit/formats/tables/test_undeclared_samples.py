"""Samples of records whose fields nobody has declared yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.errors import InputError
from stream_anon.formats.tables.undeclared_samples import SampledField, read_sample


def csv_of(folder: Path, text: str) -> Path:
    path = folder / "s.csv"
    path.write_text(text)
    return path


def test_a_column_that_holds_its_own_name_is_told_and_not_refused(tmp_path: Path) -> None:
    rows = "remote,30\noffice,31\nhybrid,32\n" * 20
    sample = read_sample(csv_of(tmp_path, "remote,age\n" + rows))
    assert sample.own_names == ("remote",)
    assert list(sample.columns) == ["remote", "age"]
    assert sample.records == 60


def test_a_first_line_most_of_whose_values_come_again_is_a_record(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "Jane,Oslo,nurse\n" + "Joe,Oslo,nurse\nAnn,Bonn,clerk\n" * 20)
    with pytest.raises(InputError, match="it looks like a record") as caught:
        read_sample(path)
    assert "Oslo" not in str(caught.value)


def test_every_value_of_a_column_is_numbered_once() -> None:
    column = SampledField([0, 1, 2, 3, 4, 5], [True, 1, 1.0, "1", False, True])
    assert column.distinct == [True, 1, "1", False]
    assert [type(value) for value in column.distinct] == [bool, int, str, bool]
    assert column.places.tolist() == [0, 1, 1, 2, 3, 0]
    assert column.counts == [2, 2, 1, 1]


def test_objects_in_the_place_of_a_value_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"a": 1}\n{"a": {"b": 2}}\n{"a": {}}\n{"a": null}\n{"a": {"b": {"c": 1}}}\n')
    columns = read_sample(path).columns
    assert (columns["a"].values, columns["a"].objects) == ([1], 3)
    assert (columns["a.b"].values, columns["a.b"].objects) == ([2], 1)

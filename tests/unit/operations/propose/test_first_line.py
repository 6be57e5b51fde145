"""A record on the first line of a CSV file is refused: its values would be written as names of columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream_anon.errors import InputError
from stream_anon.operations.propose.proposing import propose

_FAMILIES = [f"{first}{last}" for first in ("Berg", "Holm", "Lund") for last in ("er", "mann", "by", "ow")]
_RECORDS = {
    "half of the values come again": "Anna,Bergmann,Oslo,flu",
    "one of two values comes again": "Bergmann,Oslo",
    "no value comes again": "Anna,Bergmann,Tromso,gout",
    "a number of a person": "p17,Bergmann,Oslo",
    "a moment": "2024-03-01T10:00:00Z,Bergmann,Oslo",
    "a missing age": "Bergmann,Oslo,n/a",
    "a mark for a missing age": "Bergmann,Oslo,?",
    "a word for a missing age": "Bergmann,refused,gout",
}


def _row(first: str, draws: np.random.Generator) -> str:
    """Return another record, made like the first one."""
    cells = {
        "Anna": lambda: draws.choice(["Eva", "Tom", "Ida", "Per", "Liv"]),
        "Bergmann": lambda: draws.choice([name for name in _FAMILIES if name != "Bergmann"]),
        "Oslo": lambda: draws.choice(["Oslo", "Bonn"]),
        "Tromso": lambda: draws.choice(["Oslo", "Bonn"]),
        "flu": lambda: draws.choice(["flu", "cold"]),
        "gout": lambda: draws.choice(["flu", "cold"]),
        "p17": lambda: f"p{draws.integers(100, 999)}",
        "2024-03-01T10:00:00Z": lambda: f"2024-04-{draws.integers(10, 30)}T10:00:00Z",
        "refused": lambda: str(draws.integers(20, 60)),
        "?": lambda: str(draws.integers(20, 60)),
        "n/a": lambda: str(draws.integers(20, 60)),
    }
    return ",".join(str(cells[cell]()) for cell in first.split(","))


def _file(folder: Path, first: str, like: str) -> Path:
    draws, path = np.random.default_rng(1), folder / "s.csv"
    path.write_text("\n".join([first, *(_row(like, draws) for _ in range(300))]) + "\n")
    return path


@pytest.mark.parametrize("record", _RECORDS.values(), ids=_RECORDS.keys())
def test_a_record_on_the_first_line_is_refused_without_quoting_it(tmp_path: Path, record: str) -> None:
    with pytest.raises(InputError, match="first line must hold the names") as caught:
        propose(_file(tmp_path, record, record))
    assert not any(cell in str(caught.value) for cell in record.split(","))


@pytest.mark.parametrize(
    "names",
    ["First Name,Ville,City,Krankheit", "x,y,z,w", "vorname,familie,ort,krankheit", "Vorname,City,Ort,Disease"],
)
def test_names_are_told_from_values_by_usual_words_or_small_letters(tmp_path: Path, names: str) -> None:
    assert "attributes:" in propose(_file(tmp_path, names, "Anna,Bergmann,Oslo,flu"))


def test_names_above_numbers_show_that_the_first_line_holds_names(tmp_path: Path) -> None:
    assert "attributes:" in propose(_file(tmp_path, "Ort,Familie,Alter,Jahr", "Oslo,Bergmann,n/a,?"))

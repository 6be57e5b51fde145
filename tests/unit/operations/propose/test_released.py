"""What is proposed is used as it stands, and no sensitive number that is released is one person's."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from stream_anon.errors import InputError
from stream_anon.microdata.attributes import PassThrough
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.propose.proposing import propose
from stream_anon.operations.propose.roles import FieldKind, kind_of
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import run
from tests.support.data import shared_data
from tests.support.proposals import Record, write_csv

MOST_RARE = 0.05  # of a field that passes: a run with more of it is refused
Row = dict[str, str]


def employees(count: int = 1_470) -> list[Record]:
    """Nearly every income is one person's alone, and one age is an error."""
    return [
        {
            "EmployeeNumber": 4_000 + i * 3,
            "Age": 18 + i % 43 if i != 700 else 333,
            "Department": ["Sales", "Research", "Human Resources"][i % 7 % 3],
            "MonthlyIncome": 1_000 + i * 7919 % 18_997,
            "remote": ["remote", "office"][i % 5 % 2],
            "Hired": f"{1 + i % 28:02}.{1 + i % 12:02}.{2010 + i % 9} 0{8 + i % 2}:00",
        }
        for i in range(count)
    ]


def rows_of(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        file.seek(0)
        return list(csv.DictReader(file, delimiter=";" if first.count(";") > first.count(",") else ","))


def released(source: Path, folder: Path) -> tuple[Policy, list[Row]]:
    """Anonymize a table by what is proposed for it, unedited; return the policy and the rows."""
    config, target = folder / "policy.yaml", folder / "out.csv"
    config.write_text(propose(source))
    assert run("anonymize", "-c", config, source, target) == 0
    return load_policy(config), rows_of(target)


def alone(rows: Sequence[Row], name: str) -> int:
    """Return how many rows carry a value that no other row carries."""
    return sum(count == 1 for count in Counter(row[name] for row in rows).values())


def sensitive_numbers(rows: Sequence[Row]) -> list[str]:
    """Return the columns of numbers whose names say that they are sensitive."""
    found = []
    for name in rows[0]:
        cells = [row[name].strip() for row in rows if row[name].strip()]
        digits = all(cell.replace(".", "", 1).removeprefix("-").isdecimal() for cell in cells)
        if cells and digits and kind_of(name, cells, len(rows)) is FieldKind.SENSITIVE:
            found.append(name)
    return found


def rare_share(policy: Policy, rows: Sequence[Row], name: str) -> float:
    """Return the share of rows whose value fewer than k individuals hold."""
    ids = [str(i) if policy.individual == EVERY_RECORD else row[policy.individual] for i, row in enumerate(rows)]
    holders = Counter(value for value, _ in {(row[name], person) for row, person in zip(rows, ids, strict=True)})
    return sum(holders[row[name]] < policy.k for row in rows) / len(rows)


def judge(source: Path, folder: Path) -> tuple[int, int]:
    """Return how many rows carry a sensitive number alone, in the table and in what is released of it."""
    before = rows_of(source)
    policy, after = released(source, folder)
    names = sensitive_numbers(before)
    counts = (
        sum(alone(before, name) for name in names),
        sum(alone(after, name) for name in names if name in after[0]),
    )
    assert len(after) >= 0.95 * len(before)
    passed = [a.name for a in policy.attributes if isinstance(a, PassThrough)]
    shares = {name: rare_share(policy, before, name) for name in passed}
    assert max(shares.values(), default=0.0) <= MOST_RARE  # or a run would be refused
    return counts


def test_incomes_that_are_one_persons_alone_are_released_to_nobody(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "employees.csv", employees())
    before, after = judge(source, tmp_path)
    assert before > 1_000
    assert after == 0
    text = (tmp_path / "policy.yaml").read_text()
    assert "numbers: far from all others" in text
    assert "# DECIDE: remote is a value of its own column too." in text


@pytest.mark.parametrize(
    "parts",
    [
        ("pycanon", "StudentsMath_Score.csv"),
        ("pycanon", "StudentsMath_Score_k5.csv"),
        ("pycanon", "drugs_k5.csv"),
        pytest.param(("nyc-taxi", "taxis.csv"), marks=pytest.mark.soak),
        pytest.param(("arx-adult", "adult.csv"), marks=pytest.mark.soak),
        pytest.param(("receipts", "receipt.csv"), marks=pytest.mark.soak),
    ],
    ids=lambda parts: parts[-1],
)
def test_no_row_released_of_a_real_table_carries_a_sensitive_number_alone(
    tmp_path: Path, parts: tuple[str, str]
) -> None:
    before, after = judge(shared_data(*parts), tmp_path)
    assert after == 0
    assert ("Score" in parts[1]) == (before > 0)


@pytest.mark.parametrize("parts", [("pycanon", "hospital_anonymized.csv"), ("arx-test", "test2.csv")])
def test_of_a_table_of_few_people_nothing_is_proposed(parts: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="fewer than 10 individuals"):
        propose(shared_data(*parts))

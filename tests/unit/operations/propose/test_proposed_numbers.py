"""Ranges of numbers: what outliers, texts and sensitive amounts become."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.tables.undeclared_samples import SampledField
from stream_anon.operations.propose.proposed_numbers import ranges
from stream_anon.operations.propose.support import FEWEST, People
from stream_anon.settings.attributes.domains import NumericSettings
from tests.support.effort import examples
from tests.support.proposals import Record, proposed

DRAWS = random.Random(5)
AGES = [18 + DRAWS.randrange(70) for _ in range(2_000)]


def of_ages(ages: list[int]) -> list[Record]:
    return [{"person_id": f"p{i}", "age": age, "sex": "FM"[i % 2]} for i, age in enumerate(ages)]


def mark_of(text: str, name: str) -> str:
    """Return the comment above an attribute."""
    return text[: text.index(f"\n  {name}:")].rpartition("}\n")[2]


@pytest.mark.parametrize("outliers", [1, FEWEST, 15])
def test_an_age_far_from_all_others_widens_no_range_and_must_be_decided(tmp_path: Path, outliers: int) -> None:
    text, attributes = proposed(tmp_path, of_ages([*AGES, *[333] * outliers]))
    numeric = attributes["age"]["numeric"]
    assert (numeric["min"], numeric["max"], numeric["levels"]) == (0, 100, [5, 10, 20])
    assert attributes["age"]["unknown"] == "root"
    assert f"DECIDE: {outliers} of {2_000 + outliers:,} numbers: far from all others" in mark_of(text, "age")
    assert "333" not in text


def test_many_ages_far_from_all_others_stay_in_the_range_and_must_be_decided(tmp_path: Path) -> None:
    text, attributes = proposed(tmp_path, of_ages([*AGES, *[333] * 60]))
    assert attributes["age"]["numeric"]["max"] >= 333
    assert "DECIDE: 60 of 2,060 numbers: far from all others; the range is so wide because of them" in text


def test_numbers_at_the_ends_are_counted_and_need_no_decision(tmp_path: Path) -> None:
    text, _ = proposed(tmp_path, of_ages([*AGES, 103]))
    told = mark_of(text, "age")
    assert "1 of 2,001 numbers, at the ends and of too few people: published as '*'" in told
    assert "DECIDE" not in told


def test_a_long_tail_is_no_outlier(tmp_path: Path) -> None:
    amounts = [round(DRAWS.lognormvariate(3, 0.6), 2) for _ in range(2_000)]
    text, _ = proposed(tmp_path, [{"id": i, "sex": "FM"[i % 2], "cost": cost} for i, cost in enumerate(amounts)])
    assert "far from all others" not in text


@pytest.mark.parametrize(
    ("suffix", "written", "coerced"),
    [
        ("jsonl", str, True),
        ("csv", str, False),
        ("jsonl", lambda n: f"{n / 10:.1f}".replace(".", ","), True),
        ("csv", lambda n: f"{n / 10:.1f}".replace(".", ","), True),
    ],
)
def test_numbers_that_come_as_texts_are_numbers(tmp_path: Path, suffix: str, written: Any, coerced: bool) -> None:
    records = [{"id": i, "sex": "FM"[i % 2], "steps": written(i % 400)} for i in range(2_000)]
    _, attributes = proposed(tmp_path, records, suffix)
    assert "numeric" in attributes["steps"]
    assert attributes["steps"].get("coerce", False) == coerced


def test_texts_with_a_mark_of_thousands_are_no_numbers(tmp_path: Path) -> None:
    records = [{"id": i, "sex": "FM"[i % 2], "steps": f"{1_000 + i % 40 * 111:,}"} for i in range(2_000)]
    _, attributes = proposed(tmp_path, records)
    assert "numeric" not in attributes["steps"]


def test_few_codes_that_are_quoted_stay_categories(tmp_path: Path) -> None:
    _, attributes = proposed(tmp_path, [{"id": i, "sex": "FM"[i % 2], "code": str(i % 5)} for i in range(500)])
    assert attributes["code"]["values"] == ["0", "1", "2", "3", "4"]


def incomes(count: int) -> list[Record]:
    return [{"person_id": i, "sex": "FM"[i % 2], "MonthlyIncome": 1_000 + i * 7919 % 19_000} for i in range(count)]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_sensitive_numbers_that_few_share_are_proposed_as_ranges(tmp_path: Path, suffix: str) -> None:
    text, attributes = proposed(tmp_path, incomes(1_470), suffix)
    given_ = attributes["MonthlyIncome"]
    assert given_["role"] == "quasi-identifier"
    assert given_["numeric"]["step"] >= 500
    assert "DECIDE: looks sensitive, but 100.0 % of its numbers are held by fewer than 12 people" in text
    assert "none narrower than `step`" in text


def test_sensitive_numbers_that_enough_share_are_proposed_as_they_are(tmp_path: Path) -> None:
    records = [{"person_id": i, "sex": "FM"[i % 2], "grade": 1 + i % 6} for i in range(600)]
    _, attributes = proposed(tmp_path, records)
    assert attributes["grade"] == {"role": "sensitive", "type": "integer"}
    records[0]["grade"] = 7  # somebody's alone
    _, attributes = proposed(tmp_path, records)
    assert attributes["grade"]["role"] == "quasi-identifier"


numbers = st.one_of(
    st.integers(-50, 50),
    st.integers(-(10**9), 10**9),
    st.decimals(-1_000, 1_000, places=2).map(float),
    st.floats(-1e9, 1e9),
)


@examples(200)
@given(st.lists(numbers, min_size=10, max_size=80))
def test_a_range_of_sensitive_numbers_holds_more_than_one_number_and_no_rare_end(values: list[float]) -> None:
    column = SampledField(list(range(len(values))), list(values))
    found = ranges(column, People(), texts=False)
    if found is None:
        return
    numeric = found.settings["numeric"]
    assert isinstance(numeric, dict)
    domain = NumericSettings.model_validate(numeric).build("numeric")
    for code in {0, 1, domain.size // 2, domain.size - 2, domain.size - 1} & set(range(domain.size)):
        published = domain.publish(code, code)
        assert published == "*" or (isinstance(published, dict) and published["min"] < published["max"])
    counts = {Decimal(str(value)): values.count(value) for value in values}
    for end in ("min", "max"):
        assert counts.get(Decimal(str(numeric[end])), FEWEST) >= FEWEST
    written = re.findall(r"[\d.]+", " ".join(found.remarks))
    assert all(float(each.strip(".") or 0) <= len(values) for each in written)  # counts alone

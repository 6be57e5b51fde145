"""Numbers of states are told from others by the check digits of many, not of one."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib import import_module

import numpy as np
import pytest

from stream_anon.judging.disguises.resembling import MOST
from stream_anon.judging.disguises.state_numbers import ALSO_OF_OTHERS, OF_PEOPLE, most_of_one_state

ALL = (*OF_PEOPLE, *ALSO_OF_OTHERS)
FORMS = (
    "%y%m%d%H%M%S",
    "%d%m%y%H%M",
    "%y%m%d%H%M",
    "%Y%m%d%H%M",
    "%Y%m%d%H%M%S",
    "%Y%m%d%H",
    "%d%m%Y",
    "%y%m%d%H%M%S0",
)


def digits(length: int, count: int) -> list[str]:
    draws = np.random.default_rng(length)
    return ["".join(map(str, row)) for row in draws.integers(0, 10, (count, length)).tolist()]


@pytest.mark.parametrize("state", ALL)
def test_few_random_digits_are_numbers_of_a_state(state: str) -> None:
    is_valid = import_module(f"stdnum.{state}").is_valid
    shares = [sum(map(is_valid, digits(length, 500))) / 500 for length in range(7, 17)]
    assert max(shares) < 0.22  # 0.15 of nine digits in Czechia, and what 500 draws may add


@pytest.mark.parametrize("state", ALL)
def test_few_moments_are_numbers_of_a_state(state: str) -> None:
    is_valid = import_module(f"stdnum.{state}").is_valid
    draws, first = np.random.default_rng(7), datetime(1990, 1, 1)  # noqa: DTZ001 - only its digits count
    moments = [first + timedelta(seconds=int(after)) for after in draws.integers(0, 10**9, 500)]
    assert max(sum(is_valid(moment.strftime(form)) for moment in moments) / 500 for form in FORMS) < 0.25


@pytest.mark.parametrize("length", range(7, 17))
def test_no_field_of_random_digits_is_one_of_numbers_of_a_state(length: int) -> None:
    for start in range(0, 1_000, 10):
        assert most_of_one_state(digits(length, 1_000)[start : start + 10], ALL, MOST) == 0


def test_numbers_of_one_state_are_counted_though_some_are_mistyped() -> None:
    is_valid = import_module("stdnum.pl.pesel").is_valid
    valid = [text for text in digits(11, 20_000) if is_valid(text)][:40]
    assert len(valid) == 40
    assert most_of_one_state(valid, ALL, MOST) == 40
    assert most_of_one_state([*valid, *digits(11, 8)], ["pl.pesel"], MOST) == 40 + sum(map(is_valid, digits(11, 8)))
    assert most_of_one_state([*valid, *["unknown"] * 11], ALL, MOST) == 0


def test_numbers_of_companies_are_no_numbers_of_people_in_italy() -> None:
    is_valid = import_module("stdnum.it.iva").is_valid
    companies = [text for text in digits(11, 20_000) if is_valid(text)][:40]
    assert len(companies) == 40
    assert most_of_one_state(companies, OF_PEOPLE, MOST) == 0


def test_numbers_of_different_states_are_of_no_state() -> None:
    valid = {
        state: [text for text in digits(11, 20_000) if import_module(f"stdnum.{state}").is_valid(text)][:20]
        for state in ("pl.pesel", "br.cpf")
    }
    assert most_of_one_state([*valid["pl.pesel"], *valid["br.cpf"]], ALL, MOST) == 0


@pytest.mark.parametrize("first", [241101001, 480101000, 530615001])
@pytest.mark.parametrize("form", ["plain", "slash"])
def test_lots_that_count_on_from_a_date_are_numbers_of_no_state(first: int, form: str) -> None:
    """Czech numbers of before 1954 have no check digit: a date and three digits."""
    lots = [str(number) for number in range(first, first + 200)]
    if form == "slash":
        lots = [f"{lot[:6]}/{lot[6:]}" for lot in lots]
    assert most_of_one_state(lots, OF_PEOPLE, MOST) == 0

"""A number that breaks a bound is not printed as if it met it, nor the other way round."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.rounding import exactly, in_percent, rounded

SHARES = st.floats(0, 1).filter(lambda share: share == 0 or share > 1e-12)


@pytest.mark.parametrize(
    ("share", "bound", "told"),
    [
        (0.0503, 0.05, "5.03%"),
        (0.0497, 0.05, "4.97%"),
        (0.05, 0.05, "5.0%"),
        (0.0500001, 0.05, "5.00001%"),
        (0.1234, 0.05, "12.3%"),
        (0.0503, None, "5.0%"),
        (0.0004, 0.0, "0.04%"),
        (0.99996, 1.0, "99.996%"),
        (0.3, 0.3, "30.0%"),
    ],
)
def test_a_share_has_the_decimals_that_show_on_which_side_of_its_bound_it_lies(
    share: float, bound: float | None, told: str
) -> None:
    assert in_percent(share, bound=bound) == told


@pytest.mark.parametrize(
    ("bound", "told"), [(0.05, "5%"), (0.3, "30%"), (1.0, "100%"), (0.0, "0%"), (0.0001, "0.01%")]
)
def test_a_bound_is_written_with_all_its_digits(bound: float, told: str) -> None:
    assert exactly(bound) == told


def test_a_number_of_seconds_is_rounded_by_the_same_rule() -> None:
    assert rounded(10.004, 2, 10.0) == "10.004"
    assert rounded(9.996, 2, 10.0) == "9.996"
    assert rounded(10.004, 2) == "10.00"
    assert rounded(12.345, 2, 10.0) == "12.34"


@given(SHARES, SHARES)
def test_what_is_printed_compares_as_the_numbers_do(share: float, bound: float) -> None:
    one, other = Decimal(in_percent(share, bound=bound)[:-1]), Decimal(exactly(bound)[:-1])
    assert (one > other, one < other) == (share > bound, share < bound)


@given(st.integers(0, 10_000), st.integers(0, 4))
def test_without_a_bound_it_is_rounding(share: int, places: int) -> None:
    assert abs(Decimal(in_percent(share / 10_000, places)[:-1]) - Decimal(share) / 100) <= Decimal(5) / 10 ** (
        places + 1
    )

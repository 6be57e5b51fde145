"""Bounds that a policy sets: on a number of records, and on a risk."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_anon.microdata.bounds import RecordBound, k_of_risk


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("5%", RecordBound(0.05)),
        (" 0.5 % ", RecordBound(0.005)),
        ("100%", RecordBound(1.0)),
        ("40", RecordBound(records=40)),
        ("0", RecordBound(records=0)),
    ],
)
def test_a_share_or_a_number_is_read(text: str, bound: RecordBound) -> None:
    assert RecordBound.parse(text) == bound
    assert RecordBound.parse(str(bound)) == bound


@pytest.mark.parametrize("text", ["", "101%", "-1", "five", "5 percent", "1e3", "5.0", "٣%"])
def test_other_texts_are_none(text: str) -> None:
    assert RecordBound.parse(text) is None


def test_a_share_of_so_many_records_is_rounded_down_and_products_of_floats_are_not() -> None:
    assert RecordBound(0.29).of(100) == 29
    assert RecordBound(0.05).of(99) == 4
    assert RecordBound(records=7).of(3) == 7


@pytest.mark.parametrize(("share", "records"), [(1.1, None), (-0.1, None), (0.0, -1)])
def test_impossible_bounds_are_refused(share: float, records: int | None) -> None:
    with pytest.raises(ValueError, match="a share from 0 to 1, or a number"):
        RecordBound(share, records)


@pytest.mark.parametrize(
    ("risk", "k"),
    [
        (0.5, 2),
        (0.4, 3),
        (0.34, 3),
        (0.33, 4),
        (0.1, 10),
        (0.09, 12),
        (0.075, 14),
        (0.05, 20),
        (0.01, 100),
        (1e-6, 10**6),
    ],
)
def test_a_risk_asks_for_the_k_that_its_decimals_name(risk: float, k: int) -> None:
    assert k_of_risk(risk) == k


@given(st.floats(1e-6, 0.5))
@example(0.1)
@example(0.07)
def test_the_k_of_a_risk_is_the_least_one_that_keeps_it(risk: float) -> None:
    k, written = k_of_risk(risk), Fraction(repr(risk))
    assert Fraction(1, k) <= written < Fraction(1, k - 1)


@given(st.integers(2, 1000))
def test_a_risk_of_one_in_k_asks_for_k_wherever_decimals_can_write_it(k: int) -> None:
    risk = 1 / k
    exact = Fraction(repr(risk)) >= Fraction(1, k)
    assert k_of_risk(risk) == (k if exact else k + 1)

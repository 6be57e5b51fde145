"""A bound on a number of records."""

from __future__ import annotations

import pytest

from stream_anon.microdata.bounds import RecordBound


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

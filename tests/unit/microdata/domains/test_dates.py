from __future__ import annotations

import datetime as dt

import pytest

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.code_reading import ByText
from stream_anon.microdata.domains.dates import DateDomain

DAYS = DateDomain("%Y-%m-%d", dt.date(2023, 11, 15), dt.date(2025, 3, 1))


def _code(day: str) -> int:
    return DAYS.code(day)


@pytest.mark.parametrize(
    ("low", "high", "published", "level"),
    [
        ("2024-05-13", "2024-05-13", "2024-05-13", 0),
        ("2024-05-01", "2024-05-31", "2024-05", 1),
        ("2024-05-13", "2024-06-01", "2024-Q2", 2),
        ("2024-03-31", "2024-04-01", "2024", 3),
        ("2023-12-31", "2024-01-01", "*", 4),
        ("2023-11-15", "2023-11-16", "2023-11", 1),  # a month the range cuts off
        ("2023-11-30", "2023-12-01", "2023-Q4", 2),
        ("2025-03-01", "2025-03-01", "2025-03-01", 0),  # the only day of its month
        ("2025-02-28", "2025-03-01", "2025-Q1", 2),
    ],
)
def test_days_are_published_as_the_node_above_them(low: str, high: str, published: str, level: int) -> None:
    node = DAYS.node(_code(low), _code(high))
    assert DAYS.publish(*node) == published
    assert DAYS.level(_code(low), _code(high)) == level
    assert DAYS.node(*node) == node
    assert node[0] <= _code(low) <= _code(high) <= node[1]


def test_a_cut_off_month_counts_only_its_days_in_the_range() -> None:
    assert DAYS.ncp(*DAYS.node(0, 1)) == pytest.approx(16 / DAYS.size)
    assert DAYS.ncp(5, 5) == 0
    assert DAYS.ncp(0, DAYS.size - 1) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2023-11-14", Reason.OUT_OF_RANGE),
        ("2025-03-02", Reason.OUT_OF_RANGE),
        ("2024-02-30", Reason.WRONG_TYPE),
        ("2024-05-13T10:00", Reason.WRONG_TYPE),
        ("soon", Reason.WRONG_TYPE),
        ("", Reason.WRONG_TYPE),
        (20240513, Reason.WRONG_TYPE),
        (True, Reason.WRONG_TYPE),
        ("2024-05-13" + " " * 10_000_000, Reason.WRONG_TYPE),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_that_is_no_day_of_the_range_is_rejected(value: object, reason: Reason) -> None:
    with pytest.raises(Unfit) as caught:
        DAYS.code(value)
    assert caught.value.reason == reason


def test_the_time_of_day_is_ignored() -> None:
    moments = DateDomain("%d.%m.%Y %H:%M", dt.date(2024, 1, 1), dt.date(2024, 12, 31))
    assert moments.code("13.05.2024 23:59") == moments.code("13.05.2024 00:00") == 133


def test_the_listed_days_have_the_codes_that_are_read() -> None:
    listed = DAYS.reading()
    assert isinstance(listed, ByText)
    assert len(listed.codes) == DAYS.size
    assert all(DAYS.code(day) == code for day, code in listed.codes.items())


@pytest.mark.filterwarnings("ignore:Parsing dates involving a day of month")  # Python 3.13 warns of what is refused
@pytest.mark.parametrize(
    ("form", "first", "last", "key"),
    [
        ("%Y-%m-%d", dt.date(2024, 1, 2), dt.date(2024, 1, 2), "date.min"),
        ("%Y-%m-%d", dt.date(1, 1, 1), dt.date(9999, 1, 1), "date.max"),
        ("%Y-%m", dt.date(2024, 1, 2), dt.date(2024, 5, 2), "date.format"),
        ("%Y", dt.date(2024, 1, 1), dt.date(2025, 1, 1), "date.format"),
        ("%d.%m.", dt.date(2024, 1, 2), dt.date(2024, 5, 2), "date.format"),
        ("yyyy-mm-dd", dt.date(2024, 1, 2), dt.date(2024, 5, 2), "date.format"),
        ("%Q", dt.date(2024, 1, 2), dt.date(2024, 5, 2), "date.format"),
        ("%", dt.date(2024, 1, 2), dt.date(2024, 5, 2), "date.format"),
        ("%y-%m-%d", dt.date(1900, 1, 2), dt.date(2024, 5, 2), "date.format"),
    ],
)
def test_a_format_that_loses_the_day_is_refused(form: str, first: dt.date, last: dt.date, key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        DateDomain(form, first, last)
    assert caught.value.key == key


def test_years_before_a_thousand_are_read() -> None:
    assert DateDomain("%Y-%m-%d", dt.date(996, 2, 29), dt.date(1001, 1, 1)).code("0996-03-01") == 1

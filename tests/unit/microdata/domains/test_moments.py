"""Which day of a zone a moment falls on, by Python's own calendar."""

from __future__ import annotations

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.domains.calendar.moments import iso_moment
from stream_anon.microdata.domains.calendar.offset_periods import days_of_zone
from stream_anon.microdata.domains.dates import DateDomain

ZONES = (
    "UTC",
    "Europe/Berlin",
    "Asia/Kathmandu",  # a quarter of an hour
    "Pacific/Apia",  # has no 30 December 2011
    "America/St_Johns",  # set its clocks back at one minute past midnight
    "America/Sao_Paulo",  # had days without a midnight
    "Australia/Lord_Howe",  # changes by half an hour
    "Africa/Monrovia",  # seconds in its offset
)
FIRST, LAST = dt.date(1970, 6, 1), dt.date(2013, 4, 5)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@cache
def _edges(zone: str) -> list[int]:
    table = days_of_zone(ZoneInfo(zone), FIRST, LAST, 1)
    return [*table.begins.tolist(), *(table.begins - 1).tolist()]


@cache
def _domain(form: str, zone: str) -> DateDomain:
    return DateDomain(form, FIRST, LAST, zone=zone)


@pytest.mark.parametrize("zone", ZONES)
@given(data=st.data())
def test_a_moment_has_the_day_that_the_zones_calendar_says(zone: str, data: st.DataObject) -> None:
    domain, text = _domain("epoch-s", zone), _domain("iso8601", zone)
    second = data.draw(st.sampled_from(_edges(zone)) | st.integers(0, 1_400_000_000))
    day = (_EPOCH + dt.timedelta(seconds=second)).astimezone(ZoneInfo(zone)).date()
    written = (_EPOCH + dt.timedelta(seconds=second)).isoformat()
    if FIRST <= day <= LAST:
        assert domain.publish(*[domain.code(second)] * 2) == day.isoformat()
        assert text.code(written) == domain.code(second)
    else:
        for one, value in ((domain, second), (text, written)):
            with pytest.raises(Unfit):
                one.code(value)


def test_days_of_summer_and_winter_time_have_23_and_25_hours() -> None:
    begins = days_of_zone(ZoneInfo("Europe/Berlin"), dt.date(2024, 3, 30), dt.date(2024, 10, 28), 1).begins
    lengths = (begins[2:] - begins[1:-1]) // 3600
    assert sorted(set(lengths.tolist())) == [23, 24, 25]
    assert (lengths == 23).sum() == (lengths == 25).sum() == 1


def test_without_a_zone_a_text_tells_its_own_day() -> None:
    for form in ("iso8601", "%Y-%m-%dT%H:%M:%S%z"):
        domain = DateDomain(form, dt.date(2024, 1, 1), dt.date(2024, 1, 9))
        assert domain.code("2024-01-02T23:30:00-11:00") == domain.code("2024-01-02T00:30:00Z") == 1


def test_a_pattern_with_an_offset_is_converted_to_the_zone() -> None:
    domain = DateDomain("%d.%m.%Y %H:%M %z", dt.date(2024, 1, 1), dt.date(2024, 1, 9), zone="Asia/Tokyo")
    assert domain.publish(*[domain.code("02.01.2024 16:00 +0100")] * 2) == "2024-01-03"


@pytest.mark.parametrize(
    ("form", "zone"),
    [
        ("iso8601", "Europe/Nowhere"), ("iso8601", "../etc/passwd"), ("iso8601", "Europe"), ("iso8601", "/etc/utc"),
        ("%Y-%m-%d", "Europe/Berlin"), ("%Y-%m-%d%%z", "Europe/Berlin"), ("epoch-d", "Europe/Berlin"),
    ],
)  # fmt: skip
def test_a_zone_that_is_none_or_has_nothing_to_say_is_refused(form: str, zone: str) -> None:
    with pytest.raises(SettingsError) as caught:
        DateDomain(form, dt.date(2024, 1, 1), dt.date(2024, 1, 9), zone=zone)
    assert caught.value.key == "date.zone"


@pytest.mark.parametrize(
    "text",
    [
        "", "2024", "2024-1-1", "2024-01-01T", "2024-01-01T10", "2024-01-01T10:00:00+1", "2024-01-01T10:60:00Z",
        "2024-01-01T10:00:00 Z", "0000-01-01", "\uff12024-01-01",
    ],
)  # fmt: skip
def test_what_is_no_moment_in_the_extended_form_is_none(text: str) -> None:
    assert iso_moment(text) is None


def test_a_leap_second_is_of_the_day_that_it_ends() -> None:
    assert iso_moment("2016-12-31T23:59:60Z") == dt.datetime(2016, 12, 31, 23, 59, 59, tzinfo=dt.UTC)


def test_the_ends_of_the_calendar_have_days() -> None:
    domain = DateDomain("epoch-us", dt.date(9990, 1, 1), dt.date.max, zone="Pacific/Kiritimati")
    assert domain.publish(*[domain.size - 1] * 2) == "9999-12-31"
    assert DateDomain("epoch-s", dt.date.min, dt.date(1, 2, 1), zone="Asia/Tokyo").code(-62135596800 + 40_000) == 0

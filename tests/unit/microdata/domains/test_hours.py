"""Hours and minutes of a zone's own clocks, by Python's calendar, on days of 23, 24 and 25 hours."""

from __future__ import annotations

import datetime as dt
from functools import cache
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.calendar.hours import Hours
from stream_anon.microdata.domains.calendar.offset_periods import stretches_of_zone
from stream_anon.microdata.domains.dates import MOST_HOURS, DateDomain
from tests.unit.microdata.domains.test_moments import ZONES

FIRST, LAST = dt.date(1971, 6, 1), dt.date(2013, 4, 5)
SPRING, AUTUMN = dt.date(2024, 3, 31), dt.date(2024, 10, 27)
_DAY = dt.timedelta(days=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
BERLIN = ZoneInfo("Europe/Berlin")
FINE = (Finest.HOUR, Finest.MINUTE)
fine = pytest.mark.parametrize("finest", FINE)


@cache
def _edges(zone: str) -> list[int]:
    """Return the seconds around each change of a zone's clocks."""
    found = stretches_of_zone(ZoneInfo(zone), FIRST, LAST)
    begins = [b.begin for a, b in pairwise(found) if a.offset != b.offset]
    return [begin + near for begin in begins for near in (-3600, -60, -1, 0, 59, 3599, 3600)]


@cache
def _domain(zone: str, finest: Finest) -> DateDomain:
    return DateDomain("epoch-s", FIRST, LAST, zone=zone, finest=finest)


def berlin(day: dt.date, finest: Finest, form: str = "epoch-s", **given: Any) -> DateDomain:
    return DateDomain(form, day - _DAY, day + _DAY, zone="Europe/Berlin", finest=finest, **given)


@fine
@pytest.mark.parametrize("zone", ZONES)
@given(data=st.data())
def test_a_moment_has_the_hour_and_minute_that_the_zones_calendar_says(
    zone: str, finest: Finest, data: st.DataObject
) -> None:
    domain = _domain(zone, finest)
    second = data.draw(st.sampled_from(_edges(zone) or [0]) | st.integers(60_000_000, 1_300_000_000))
    moment = (_EPOCH + dt.timedelta(seconds=second)).astimezone(ZoneInfo(zone))
    if not FIRST <= moment.date() <= LAST:
        with pytest.raises(Unfit):
            domain.code(second)
        return
    code = domain.code(second)
    published = str(domain.publish(code, code))
    name = f"{moment:%Y-%m-%dT%H:%M}" if finest is Finest.MINUTE else f"{moment:%Y-%m-%dT%H}"
    assert published in (name, name + moment.isoformat()[19:])
    assert domain.read(published) == (code, code)
    first, last = domain.ends(code, code)
    assert first <= moment <= last
    assert domain.code(first.timestamp()) == domain.code(last.timestamp()) == code
    assert domain.code(moment) == code
    day = domain.node_at(code, domain.height - 4)
    assert domain.publish(*day) == moment.date().isoformat()


@fine
@pytest.mark.parametrize(("day", "hours"), [(SPRING, 23), (AUTUMN, 25), (dt.date(2024, 5, 1), 24)])
def test_codes_grow_with_time_on_days_of_23_24_and_25_hours(finest: Finest, day: dt.date, hours: int) -> None:
    domain = berlin(day, finest)
    begin = int(dt.datetime.combine(day - _DAY, dt.time(), BERLIN).timestamp())
    end = int(dt.datetime.combine(day + 2 * _DAY, dt.time(), BERLIN).timestamp())
    cells = range(begin, end, 3600 if finest is Finest.HOUR else 60)
    # Every code is one cell of time, in order: none is left out, and none has two.
    assert [domain.code(second) for second in cells] == list(range(domain.size))
    low, high = domain.node_at(domain.code(begin + 86_400), domain.height - 4)
    assert domain.publish(low, high) == day.isoformat()
    assert high - low + 1 == hours * (1 if finest is Finest.HOUR else 60)
    names = [domain.publish(code, code) for code in range(domain.size)]
    assert len(set(names)) == domain.size


def test_the_hour_that_a_day_has_twice_is_two_hours_with_their_offsets() -> None:
    domain = berlin(AUTUMN, Finest.MINUTE, "iso8601")
    first, second = domain.code("2024-10-27T00:15:00Z"), domain.code("2024-10-27T01:15:00Z")
    assert domain.publish(first, first) == "2024-10-27T02:15+02:00"
    assert domain.publish(second, second) == "2024-10-27T02:15+01:00"
    assert second - first == 60
    assert domain.publish(*domain.node_at(first, 1)) == "2024-10-27T02+02:00"
    assert domain.publish(*domain.node(first, second)) == "2024-10-27"
    assert domain.code("2024-10-27T02:15") == first  # its clocks do not say which one
    assert domain.read("2024-10-27T02:15") is None
    assert domain.read("2024-10-27T03:15+01:00") is None
    assert domain.longest()[-1] in ("2024-10-27T02:00+02:00", "2024-10-27T02:00+01:00")


def test_an_hour_that_the_clocks_skip_is_published_of_nobody() -> None:
    domain = berlin(SPRING, Finest.HOUR, "iso8601")
    names = [domain.publish(code, code) for code in range(domain.size)]
    assert "2024-03-31T02" not in names
    assert domain.read("2024-03-31T02") is None
    assert names[domain.code("2024-03-31T02:30")] == "2024-03-31T03"


def test_without_a_zone_a_text_tells_its_own_time_of_day() -> None:
    domain = DateDomain("iso8601", AUTUMN, AUTUMN + _DAY, finest=Finest.MINUTE)
    for text in ("2024-10-27T02:30:00-11:00", "2024-10-27T02:30Z", "2024-10-27T02:30"):
        assert domain.publish(*[domain.code(text)] * 2) == "2024-10-27T02:30"
    assert domain.size == 2 * 24 * 60
    assert [end.isoformat() for end in domain.ends(0, 59)] == ["2024-10-27T00:00:00", "2024-10-27T00:59:59"]


def test_numbers_without_a_zone_are_hours_of_utc() -> None:
    domain = DateDomain("epoch-ms", AUTUMN, AUTUMN + _DAY, finest=Finest.HOUR)
    assert domain.publish(*[domain.code(1_729_994_400_000)] * 2) == "2024-10-27T02"
    assert domain.ends(2, 2)[0] == dt.datetime(2024, 10, 27, 2, tzinfo=dt.UTC)


@fine
def test_a_day_without_a_time_is_of_a_wrong_type(finest: Finest) -> None:
    domain = berlin(AUTUMN, finest, "iso8601")
    for value in ("2024-10-27", dt.date(2024, 10, 27)):
        with pytest.raises(Unfit) as caught:
            domain.code(value)
        assert caught.value.reason is Reason.WRONG_TYPE


def test_without_finest_nothing_changes() -> None:
    days = DateDomain("%Y-%m-%d", FIRST, LAST)
    assert days == DateDomain("%Y-%m-%d", FIRST, LAST, finest=Finest.DAY)
    assert days.height == 4
    assert days.outline()["levels"][0] == {"name": "day", "groups": days.size}
    assert days.walk().cell == 1


def test_hours_of_a_day_over_midnight_stay_together() -> None:
    # St John's set its clocks back at one minute past midnight, so that a day ended twice and another began twice.
    hours = Hours.of(ZoneInfo("America/St_Johns"), dt.date(2006, 10, 28), dt.date(2006, 10, 30))
    assert np.bincount(hours.day).tolist() == [25, 25, 24]
    assert (np.diff(hours.day) >= 0).all()
    assert ((hours.end - hours.begin) > 0).all()
    assert int((hours.end - hours.begin).sum()) == 73 * 3600


@pytest.mark.parametrize(
    ("form", "last", "finest", "key"),
    [
        ("epoch-d", dt.date(2024, 1, 9), Finest.HOUR, "date.finest"),
        ("%Y-%m-%d", dt.date(2024, 1, 9), Finest.HOUR, "date.format"),
        ("%Y-%m-%d %H", dt.date(2024, 1, 9), Finest.MINUTE, "date.format"),
        ("%Y-%m-%d %I:%M", dt.date(2024, 1, 9), Finest.MINUTE, "date.format"),
        ("iso8601", dt.date(2024, 1, 1) + _DAY * (MOST_HOURS // 24), Finest.MINUTE, "date.max"),
    ],
)
def test_hours_that_cannot_be_told_or_are_too_many_are_refused(
    form: str, last: dt.date, finest: Finest, key: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        DateDomain(form, dt.date(2024, 1, 1), last, finest=finest)
    assert caught.value.key == key


def test_hours_at_the_end_of_the_calendar_are_refused() -> None:
    with pytest.raises(SettingsError, match="for the years 1000 to 9998"):
        DateDomain("iso8601", dt.date(9999, 1, 1), dt.date.max, finest=Finest.HOUR)


def test_as_many_minutes_as_there_may_be_have_codes() -> None:
    last = dt.date(1950, 1, 1) + _DAY * (MOST_HOURS // 24 - 1)
    domain = DateDomain("iso8601", dt.date(1950, 1, 1), last, finest=Finest.MINUTE)
    assert domain.size == MOST_HOURS // 24 * 24 * 60 < 2**30
    code = domain.code(f"{last}T23:59:59")
    assert code == domain.size - 1
    assert domain.publish(code, code) == f"{last}T23:59"

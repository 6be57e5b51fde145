"""The kernel reads a text of ISO 8601 as `iso_moment` does, or leaves it alone."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.scanner.iso_texts import INSTANT, NO_MOMENT, OWN_CLOCK, iso_seconds
from stream_anon.microdata.domains.calendar.moments import iso_moment
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy

_days = st.sampled_from(
    ["2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0001-01-01", "0000-01-01"]
) | st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]", fullmatch=True)
_times = st.sampled_from(["", "T", " 24:00", "t23:59:60", "T10:11", "T10:11:12."]) | st.from_regex(
    r"[Tt ][0-2][0-9]:[0-6][0-9](:[0-6][0-9]([.,][0-9]{0,13})?)?", fullmatch=True
)
_offsets = st.sampled_from(["", "Z", "z", "+", "Z0"]) | st.from_regex(
    r"[+-][0-3][0-9](:?[0-6][0-9]?)?", fullmatch=True
)
texts = st.builds("{}{}{}".format, _days, _times, _offsets)


def _read(text: str, *, with_time: bool = False) -> tuple[int, int, int]:
    room = np.frombuffer(b'"' + text.encode() + b'"' + bytes(16), np.uint8)
    return iso_seconds(room, 1, 1 + len(text.encode()), with_time)


def _expected(text: str) -> tuple[int, int, int]:
    moment = iso_moment(text)
    if moment is None:
        return 0, 0, NO_MOMENT
    shown = moment.replace(tzinfo=None) - dt.datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock shows
    offset = moment.utcoffset()
    return (
        shown // dt.timedelta(seconds=1),
        0 if offset is None else offset // dt.timedelta(seconds=1),
        OWN_CLOCK if offset is None else INSTANT,
    )


@given(text=texts | st.text(max_size=30))
def test_a_text_is_the_moment_that_the_domain_reads_whatever_it_holds(text: str) -> None:
    if "\x00" not in text:
        assert _read(text) == _expected(text)


@given(day=st.dates())
def test_every_day_of_the_calendar_is_counted_right(day: dt.date) -> None:
    assert _read(day.isoformat()) == ((day - dt.date(1970, 1, 1)).days * 86_400, 0, OWN_CLOCK)


def test_a_day_alone_is_no_moment_where_the_time_of_day_counts() -> None:
    assert _read("2024-05-13", with_time=True)[2] == NO_MOMENT
    assert _read("2024-05-13T10:11", with_time=True)[2] == OWN_CLOCK


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
@pytest.mark.parametrize("finest", ["day", "hour", "minute"])
def test_no_moment_that_fits_is_left_to_the_reader_of_single_records(
    tmp_path: Path, zone: str, finest: str
) -> None:
    date = {"min": "2024-01-01", "max": "2024-12-31", "format": "iso8601", "finest": finest}
    attribute = {"role": "quasi-identifier", "date": date | ({"zone": zone} if zone else {})}
    policy = load_policy(write_policy(tmp_path, attributes={"when": attribute}))
    codec = JsonCodec(policy)
    rest = b'"person": "p", "age": 5, "home": {"city": "Oslo"}}'
    told = ["2024-10-27T02:30:00Z", "2024-10-27T02:30:00.5+02:00", "2024-10-27 02:30", "2024-03-31T02:30:00"]
    batch = codec.decode([b'{"when": "%s", ' % text.encode() + rest for text in told], 0, np.arange(len(told)))
    domain = next(a for a in policy.quasi_identifiers if a.name == "when")
    row = [a.name for a in policy.quasi_identifiers].index("when")
    assert batch.codes[row].tolist() == [domain.code(text) for text in told]
    assert codec.read_singly == 0

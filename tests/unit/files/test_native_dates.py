"""Dates and times that come as such mean the same whatever `format` says and whichever way they come in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.files.incoming import Incoming
from stream_anon.formats.tables.arrow.parquet_files import ParquetReader
from stream_anon.hosts.release_folder import ReleaseFolder
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

FORMATS = [
    "%Y-%m-%d", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M %z", "iso8601", "epoch-d", "epoch-s", "epoch-ms", "epoch-us",
]  # fmt: skip
EVENING = dt.datetime(2024, 5, 13, 22, 30)  # noqa: DTZ001 - without a zone on purpose
VALUES: dict[str, dt.date] = {
    "date": EVENING.date(),
    "naive": EVENING,
    "UTC": EVENING.replace(tzinfo=dt.UTC),
    "New York": EVENING.replace(tzinfo=ZoneInfo("America/New_York")),
}
Case = tuple[str, str, Finest]


def _domain(form: str, zone: str, finest: Finest) -> DateDomain:
    return DateDomain(form, dt.date(2024, 3, 1), dt.date(2025, 2, 1), zone=zone, finest=finest)


def _allowed() -> list[Case]:
    found = []
    for case in product(FORMATS, ("", "Europe/Berlin"), Finest):
        try:
            _domain(*case)
        except SettingsError:
            continue
        found.append(case)
    return found


def _policy(domain: DateDomain) -> Policy:
    return Policy((Identifier("id"), QuasiIdentifier("x", domain)), k=2, individual="id")


def _expected(value: dt.date, form: str, zone: str, finest: Finest) -> str | None:
    """Return what the page on frames says; None if the value is rejected."""
    if not isinstance(value, dt.datetime):
        return value.isoformat() if finest is Finest.DAY else None
    if value.tzinfo is not None and (zone or form.startswith("epoch")):
        value = value.astimezone(ZoneInfo(zone or "UTC"))
    return value.strftime({Finest.DAY: "%Y-%m-%d", Finest.HOUR: "%Y-%m-%dT%H"}.get(finest, "%Y-%m-%dT%H:%M"))


def _rows(value: object) -> list[dict[str, object]]:
    return [{"id": number, "x": value} for number in "ab"]


def _arrow(value: object, unit: str = "us") -> pa.Table:
    cells = pa.array([value, value])
    if pa.types.is_timestamp(cells.type):
        cells = cells.cast(pa.timestamp(unit, cells.type.tz))
    return pa.table({"id": ["a", "b"], "x": cells})


def _pandas(value: object, **given: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": ["a", "b"], "x": pd.Series([value, value], **given)})


def _parquet(policy: Policy, value: object, folder: Path) -> Iterable[CodedBatch]:
    pq.write_table(_arrow(value), folder / "in.parquet")
    return ParquetReader(str(folder / "in.parquet"), policy)


def _coming(records: Callable[[Any], Any]) -> Callable[[Policy, object, Path], Iterable[CodedBatch]]:
    return lambda policy, value, _: Incoming(policy).batches(records(value))


WAYS: dict[str, Callable[[Policy, object, Path], Iterable[CodedBatch]]] = {
    "dict": _coming(_rows),
    "arrow": _coming(_arrow),
    "arrow in seconds": _coming(lambda value: _arrow(value, "s")),
    "arrow in nanoseconds": _coming(lambda value: _arrow(value, "ns")),
    "arrow categories": _coming(
        lambda value: pa.table({"id": ["a", "b"], "x": _arrow(value)["x"].dictionary_encode()})
    ),
    "pandas": _coming(_pandas),
    "pandas of objects": _coming(lambda value: _pandas(value, dtype=object)),
    "polars": _coming(lambda value: pl.DataFrame({"id": ["a", "b"], "x": [value, value]})),
    "parquet": _parquet,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", VALUES)
def test_a_day_or_moment_is_the_same_one_in_every_format(kind: str, way: str, tmp_path: Path) -> None:
    for case in _allowed():
        domain = _domain(*case)
        (batch,) = WAYS[way](_policy(domain), VALUES[kind], tmp_path)
        expected = _expected(VALUES[kind], *case)
        if expected is None:
            assert [Reason(reason) for reason in batch.rejects.reasons] == [Reason.WRONG_TYPE] * 2, case
        else:
            assert [domain.publish(code, code) for code in batch.codes[0].tolist()] == [expected] * 2, case


@pytest.mark.parametrize("kind", VALUES)
def test_a_folder_of_releases_takes_days_and_moments_of_every_format(kind: str, tmp_path: Path) -> None:
    for number, case in enumerate(_allowed()):
        folder = ReleaseFolder(tmp_path / str(number), _policy(_domain(*case)), "a query")
        made = folder.release("one", _arrow(VALUES[kind]))
        assert made.released == (0 if _expected(VALUES[kind], *case) is None else 2), case


ZONES = ["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"]


@pytest.mark.parametrize("finest", Finest)
@pytest.mark.parametrize("zone", ZONES)
@given(data=st.data())
def test_moments_in_bulk_have_the_codes_of_single_ones(zone: str, finest: Finest, data: st.DataObject) -> None:
    domain = DateDomain("epoch-s", dt.date(2011, 1, 1), dt.date(2012, 12, 31), zone=zone, finest=finest)
    clocks = domain.clocks
    changes = [one.begin + one.offset for one in clocks.found] or [1325376000]
    near = st.builds(int.__add__, st.sampled_from(changes), st.integers(-9000, 9000))
    shown = data.draw(st.lists(near | st.integers(1293000000, 1357000000), min_size=1, max_size=20))

    def single(value: dt.datetime) -> int:
        (batch,) = Incoming(_policy(domain)).batches([{"id": "a", "x": value}])
        return int(batch.codes[0][0]) if len(batch) else -1

    naive = [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=second) for second in shown]  # noqa: DTZ001
    assert clocks.of_shown(np.array(shown)).tolist() == [single(value) for value in naive]
    instants = clocks.of_instants(np.array(shown))
    assert instants is not None
    assert instants.tolist() == [single(value.replace(tzinfo=dt.UTC)) for value in naive]


def test_moments_at_one_instant_by_clocks_of_their_own_are_told_apart() -> None:
    domain = _domain("iso8601", "", Finest.HOUR)
    utc = EVENING.replace(tzinfo=dt.UTC)
    values = [utc, utc.astimezone(ZoneInfo("Europe/Berlin"))]
    expected = ["2024-05-13T22", "2024-05-14T00"]
    frame = pd.DataFrame({"id": ["a", "b"], "x": pd.Series(values, dtype=object)})
    for records in (frame, [{"id": value.isoformat(), "x": value} for value in values]):
        (batch,) = Incoming(_policy(domain)).batches(records)
        assert [domain.publish(code, code) for code in batch.codes[0].tolist()] == expected

"""The law of ways in: the same rows have the same codes and rejects, whichever way they come."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_anon import Anonymizer
from stream_anon.files.incoming import Incoming
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.arrow.frames import batches_of
from stream_anon.formats.tables.arrow.parquet_files import ParquetReader
from stream_anon.formats.tables.csv_files import CsvReader
from stream_anon.formats.tables.json_lines import JsonLinesReader
from stream_anon.microdata.attributes import Identifier, Missing, PublishedForm, ScalarType, Sensitive, Unknown
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.families import label_of
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.sensitive_keys import sensitive_keys
from tests.conformance.domains import SPECIMENS

Values = Sequence[Any]
Outcome = int | Reason
Way = Callable[[Policy, Values, Path], Iterable[CodedBatch]]

_IN_64_BITS = 2**63


def _ids(values: Values) -> list[str]:
    return [f"p{number}" for number in range(len(values))]


def _rows(values: Values) -> list[dict[str, Any]]:
    return [{"id": own, "x": value} for own, value in zip(_ids(values), values, strict=True)]


def _lines(values: Values) -> list[bytes]:
    return [json.dumps(row).encode() for row in _rows(values)]


def _table(values: Values) -> pa.Table:
    return pa.table({"id": _ids(values), "x": pa.array(values)})


def _by_json_lines(policy: Policy, values: Values, _: Path) -> Iterable[CodedBatch]:
    return JsonLinesReader(io.BytesIO(b"".join(line + b"\n" for line in _lines(values))), codec_of(policy).decode)


def _by_csv(policy: Policy, values: Values, _: Path) -> Iterable[CodedBatch]:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["id", "x"])
    writer.writerows([row["id"], row["x"]] for row in _rows(values))
    return CsvReader(io.BytesIO(file.getvalue().encode()), policy)


def _by_parquet(policy: Policy, values: Values, folder: Path) -> Iterable[CodedBatch]:
    pq.write_table(_table(values), folder / "in.parquet")
    return ParquetReader(str(folder / "in.parquet"), policy)


def _coming(records: Callable[[Values], Any]) -> Way:
    return lambda policy, values, _: Incoming(policy).batches(records(values))


def _framed(frame: Callable[[Values], Any]) -> Way:
    return lambda policy, values, _: batches_of(frame(values), policy)


def _objects(values: Values) -> pd.DataFrame:
    return pd.DataFrame({"id": _ids(values), "x": pd.Series(values, dtype=object)})


def _pandas(values: Values) -> pd.DataFrame:
    return _table(values).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)  # floats skip whole numbers


@cache
def _database() -> Any:
    return duckdb.connect()


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    _database().close()
    _database.cache_clear()


def _relation(values: Values) -> Any:
    """Return a relation whose times have the zone of the values: DuckDB has one for all of a connection."""
    connection, table = _database().cursor(), _table(values)
    zone = getattr(table.schema.field("x").type, "tz", None)
    if zone is not None:
        connection.execute(f"SET TimeZone = '{zone}'")
    return connection.from_arrow(table)


BY_DICT = _coming(_rows)
TEXTS: dict[str, Way] = {"bytes": _coming(_lines), "json lines": _by_json_lines}
OBJECTS = _framed(_objects)
COLUMNS: dict[str, Way] = {
    "pyarrow": _framed(_table),
    "pyarrow in pieces": _framed(lambda values: _table(values).to_reader(max_chunksize=7)),
    "pandas": _framed(_pandas),
    "polars": _framed(lambda values: pl.from_arrow(_table(values))),
    "duckdb": _framed(_relation),
    "parquet": _by_parquet,
}


def _outcomes(batches: Iterable[CodedBatch], rows: int) -> list[Outcome]:
    """Return for each row its code, or why it was rejected."""
    found: dict[int, Outcome] = {}
    for batch in batches:
        found |= dict(zip(batch.offsets.tolist(), batch.codes[0].tolist(), strict=True))
        reasons = map(Reason, batch.rejects.reasons)
        found |= dict(zip(batch.rejects.offsets.tolist(), reasons, strict=True))
    first = min(found)  # files count lines
    assert sorted(found) == list(range(first, first + rows))
    return [found[place] for place in sorted(found)]


@cache
def _policy(name: str, unknown: Unknown = Unknown.REJECT, missing: Missing = Missing.LEAF) -> Policy:
    domain = SPECIMENS[name].domain
    publication = PublishedForm.TIGHT if domain.tight else PublishedForm.NODES
    own = QuasiIdentifier("x", domain, unknown=unknown, missing=missing, publication=publication)
    return Policy((Identifier("id"), own), k=2, individual="id")


POLICIES: dict[str, Callable[[str], Policy]] = {
    "leaves": lambda name: _policy(name, missing=Missing.LEAF, unknown=Unknown.ROOT),
    "rejects": lambda name: _policy(name, missing=Missing.REJECT, unknown=Unknown.REJECT),
}
settings = pytest.mark.parametrize("setting", POLICIES)
every = pytest.mark.parametrize("name", SPECIMENS)


def _values(name: str) -> list[Any]:
    specimen = SPECIMENS[name]
    spelt = [value for group in specimen.alike for value in group]
    return [*specimen.fitting, *specimen.outside, *specimen.wrong, *spelt, None]


def _of_type(values: Values, *kinds: type) -> list[Any]:
    return [value for value in values if type(value) in kinds]


def _typed(values: Values) -> Iterator[list[Any]]:
    """Yield the values that a column of one type can hold, with a missing one."""
    whole = [value for value in _of_type(values, int) if abs(value) < _IN_64_BITS]
    floats = [*_of_type(values, float), *(float(value) for value in whole if float(value) == value)]
    for own in (_of_type(values, str), whole, floats, _of_type(values, bool)):
        if own:
            yield [*own, None]


@settings
@every
def test_values_have_the_same_codes_and_rejects_by_every_way(name: str, setting: str, tmp_path: Path) -> None:
    policy, values = POLICIES[setting](name), _values(name)
    expected = _outcomes(BY_DICT(policy, values, tmp_path), len(values))
    for way, read in {**TEXTS, "pandas of objects": OBJECTS}.items():
        assert _outcomes(read(policy, values, tmp_path), len(values)) == expected, way
    for column in _typed(values):
        expected = _outcomes(BY_DICT(policy, column, tmp_path), len(column))
        for way, read in COLUMNS.items():
            assert _outcomes(read(policy, column, tmp_path), len(column)) == expected, way


@settings
@every
def test_cells_of_csv_have_the_codes_of_the_values_they_write(name: str, setting: str, tmp_path: Path) -> None:
    policy, specimen = POLICIES[setting](name), SPECIMENS[name]
    (own,) = policy.quasi_identifiers
    kinds = (str,) if own.text_type is ScalarType.STRING else (int, float)
    values = [value for value in _of_type([*specimen.fitting, *specimen.outside], *kinds) if value != ""]
    values.append(None)
    expected = _outcomes(BY_DICT(policy, values, tmp_path), len(values))
    assert _outcomes(_by_csv(policy, values, tmp_path), len(values)) == expected


def _moments(domain: DateDomain) -> Iterator[list[dt.date | None]]:
    """Yield columns of days, of times without a zone, and of times by the clocks of three zones."""
    draws = np.random.default_rng(3)
    first = dt.datetime.combine(domain.earliest, dt.time()) - dt.timedelta(days=1)
    seconds = int((domain.latest - domain.earliest).days + 3) * 86_400
    changes = [dt.datetime(2024, 3, 31, 2, 30), dt.datetime(2024, 10, 27, 2, 30), dt.datetime(2024, 4, 7, 1, 45)]  # noqa: DTZ001
    naive = [first + dt.timedelta(seconds=int(draws.integers(seconds)), microseconds=999_999) for _ in range(25)]
    yield [*sorted({moment.date() for moment in naive}), None]
    yield [*naive, *changes, None]
    for zone in ("UTC", "Europe/Berlin", "America/New_York"):
        yield [*(moment.replace(tzinfo=ZoneInfo(zone)) for moment in [*naive, *changes]), None]


@settings
@pytest.mark.parametrize("name", [name for name in SPECIMENS if SPECIMENS[name].domain.clocks is not None])
def test_days_and_times_that_come_as_such_have_the_same_codes(name: str, setting: str, tmp_path: Path) -> None:
    policy, domain = POLICIES[setting](name), SPECIMENS[name].domain
    assert isinstance(domain, DateDomain)
    fitting = 0
    for column in _moments(domain):
        expected = _outcomes(BY_DICT(policy, column, tmp_path), len(column))
        fitting += sum(not isinstance(own, Reason) and own < domain.size for own in expected)
        for way, read in {**COLUMNS, "pandas of objects": OBJECTS}.items():
            if way in ("pandas", "duckdb") and domain.latest.year > 2200:  # beyond nanoseconds; see the others
                continue
            assert _outcomes(read(policy, column, tmp_path), len(column)) == expected, way
    assert fitting > 30


def test_texts_that_count_as_numbers_do_so_by_every_way(tmp_path: Path) -> None:
    domain = SPECIMENS["numeric-tight"].domain
    own = QuasiIdentifier("x", domain, coerce=True, publication=PublishedForm.TIGHT)
    policy = Policy((Identifier("id"), own), k=2, individual="id")
    values = ["1.25", "1,25", " 2 ", "0.501", "1e0", "3", "x", "1.234,5", "true", None]
    expected = _outcomes(BY_DICT(policy, values, tmp_path), len(values))
    assert {Reason.WRONG_TYPE, Reason.OUT_OF_RANGE} < set(expected)
    for way, read in {**TEXTS, **COLUMNS, "csv": _by_csv, "pandas of objects": OBJECTS}.items():
        assert _outcomes(read(policy, values, tmp_path), len(values)) == expected, way


def test_lists_pass_alike_by_every_way(tmp_path: Path) -> None:
    attributes = (
        Identifier("id"),
        QuasiIdentifier("y", SPECIMENS["numeric-halved"].domain),
        Sensitive("x", type=ScalarType.STRING, many=True),
    )
    policy = Policy(attributes, k=2, individual="id", max_share=1.0)
    values = [["a", "b"], [], None, ["a"], ["a", "b"]]
    table = _table(values).append_column("y", pa.array([20] * len(values)))
    pq.write_table(table, tmp_path / "in.parquet")
    given: dict[str, Any] = {
        "dict": table.to_pylist(),
        "bytes": [json.dumps(row).encode() for row in table.to_pylist()],
        "pyarrow": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "duckdb": duckdb.connect().from_arrow(table),
        "parquet": pq.read_table(tmp_path / "in.parquet"),
    }
    for way, records in given.items():
        anonymizer = Anonymizer(policy, accept_risks=["rare-values"])  # of five records, each of another person
        (release,) = [*anonymizer.add(records), *anonymizer.close()]
        assert Counter(map(repr, values)) == Counter(repr(record["x"]) for record in release.records), way


@pytest.mark.parametrize("rest", [None, "the rest"], ids=["families", "with-a-rest"])
def test_families_are_published_alike_by_every_way(rest: str | None, tmp_path: Path) -> None:
    families = (("flu", "cold", 'a "cough"'), ("bröken", None), ("a\\b", "x\u2028"))
    attributes = (
        Identifier("id"),
        QuasiIdentifier("y", SPECIMENS["numeric-halved"].domain),
        Sensitive("x", families=families, rest=rest),
    )
    policy = Policy(attributes, k=2, individual="id", diversity={"x": Diversity(2)}, null_values=frozenset({"NA"}))
    values = ["flu", "cold", 'a "cough"', "other", "bröken", None, "a\\b", "x\u2028", "", "NA", "Flu", "flu "]
    table = _table(values).append_column("y", pa.array([20] * len(values)))
    rows = table.to_pylist()
    lines = [json.dumps(row, ensure_ascii=place % 2 == 0).encode() for place, row in enumerate(rows)]
    pq.write_table(table, tmp_path / "in.parquet")
    ways: dict[str, Iterable[CodedBatch]] = {
        "dict": Incoming(policy).batches(rows),
        "bytes": Incoming(policy).batches(lines),
        "json lines": JsonLinesReader(io.BytesIO(b"\n".join(lines)), codec_of(policy).decode),
        "pyarrow": batches_of(table, policy),
        "polars": batches_of(pl.from_arrow(table), policy),
        "parquet": ParquetReader(str(tmp_path / "in.parquet"), policy),
    }
    texts = {
        place: label_of(family) for family in families for place, value in enumerate(values) if value in family
    }
    texts[values.index("NA")] = label_of(families[1])
    if rest is not None:
        texts = dict.fromkeys(range(len(values)), rest) | texts
    for way, batches in ways.items():
        found: dict[int, str] = {}
        lost: dict[int, Reason] = {}
        for batch in batches:
            found |= dict(zip(batch.offsets.tolist(), [row[0] for row in batch.payload], strict=True))
            lost |= dict(zip(batch.rejects.offsets.tolist(), map(Reason, batch.rejects.reasons), strict=True))
            keys = dict(zip((row[0] for row in batch.payload), batch.sensitive[0].tolist(), strict=True))
            assert batch.sensitive[0].tolist() == sensitive_keys([row[0] for row in batch.payload]).tolist(), way
            assert len(set(keys.values())) == len(keys), way
        first = min([*found, *lost])  # files count lines
        assert {place - first: text for place, text in found.items()} == texts, way
        assert {place - first for place in lost} == set(range(len(values))) - set(texts), way
        assert set(lost.values()) == (set() if rest else {Reason.UNKNOWN_VALUE}), way


def test_a_missing_value_in_no_family_is_rejected_by_every_way(tmp_path: Path) -> None:
    attributes = (Identifier("id"), Sensitive("x", families=(("flu", "cold"),)))
    quasi = QuasiIdentifier("y", SPECIMENS["numeric-halved"].domain)
    policy = Policy((*attributes, quasi), k=2, individual="id")
    table = _table([None, "flu"]).append_column("y", pa.array([20, 20]))
    lines = [json.dumps(row).encode() for row in table.to_pylist()]
    for way, batches in {"bytes": Incoming(policy).batches(lines), "pyarrow": batches_of(table, policy)}.items():
        (batch,) = batches
        assert list(batch.payload) == [("cold|flu",)], way
        assert [Reason(reason) for reason in batch.rejects.reasons] == [Reason.MISSING], way

from __future__ import annotations

import csv
import datetime as dt
import gc
import json
import re
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon import Anonymizer, Policy, anonymize_frame, extras
from stream_anon.errors import InputError, Refused, SettingsError, SuppressionWarning
from stream_anon.files.job import FileJob
from stream_anon.files.neighbours import large_table
from stream_anon.microdata.choices.engine_choice import EngineChoice
from tests.support.adult import adult_policy
from tests.support.data import ROOT, shared_data
from tests.support.effort import examples
from tests.support.open_files import open_below
from tests.support.policies import write_document, write_json_lines

# In tables of a few rows every value is rare, and a field may come in none.
ABSENT = {"accept_missing": True}
SMALL = {"accept_linkable": True, **ABSENT}
EVERYTHING: dict[str, Any] = {
    "privacy": {"k": 2, "individual": "person"},
    "window": {"max_records": 40, "max_delay": "10s"},
    "engine": {"name": "mondrian", "seed": 7},
    "attributes": {
        "person": {"role": "identifier"},
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [10]}, **ABSENT},
        "height": {
            "role": "quasi-identifier",
            "numeric": {"min": 0, "max": 3, "step": 0.1, "decimals": 2},
            **ABSENT,
        },
        "born": {
            "role": "quasi-identifier",
            "date": {"min": "1990-01-01", "max": "2009-12-31", "format": "%d.%m.%Y"},
            **ABSENT,
        },
        "home.city": {"role": "quasi-identifier", "values": ["Oslo", "Bergen", "Rome"], **ABSENT},
        "rank": {"role": "quasi-identifier", "values": [1, 2, 3], "publish": "values", **ABSENT},
        "visits": {"role": "insensitive", "type": "integer", **SMALL},
        "weight": {"role": "insensitive", "type": "number", **SMALL},
        "smoker": {"role": "insensitive", "type": "boolean", **SMALL},
        "illness": {"role": "sensitive", **SMALL},
    },
}
STRUCT = pa.struct([("city", pa.string())])


def policy_of(folder: Path, **sections: dict[str, Any]) -> Policy:
    merged = {name: {**values, **sections.get(name, {})} for name, values in EVERYTHING.items()}
    return Policy.load(write_document(folder, sections | merged))


def records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    draws = np.random.default_rng(seed)

    def maybe(value: Any) -> Any:
        return None if draws.random() < 0.1 else value

    return [
        {
            "person": f"p{i // 2}",
            "age": maybe(int(draws.integers(0, 100))),
            "height": maybe(round(float(draws.random()) * 3, 2)),
            "born": maybe(dt.date(1990, 1, 1) + dt.timedelta(days=int(draws.integers(7000)))),
            "home": {"city": maybe(["Oslo", "Bergen", "Rome"][draws.integers(3)])},
            "rank": maybe(int(draws.integers(1, 4))),
            "visits": maybe(int(draws.integers(0, 9))),
            "weight": maybe(round(float(draws.random()) * 100, 1)),
            "smoker": maybe(bool(draws.integers(2))),
            "illness": maybe(["flu", "cold", "none"][draws.integers(3)]),
            "undeclared": f"secret-{i}",
        }
        for i in range(count)
    ]


def as_json(record: dict[str, Any]) -> dict[str, Any]:
    born = record["born"]
    return {**record, "born": born and born.strftime("%d.%m.%Y")}


def flat(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "home"} | {"home.city": record["home"]["city"]}


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(
        rows,
        schema=pa.schema(
            [
                ("person", pa.string()),
                ("age", pa.int16()),
                ("height", pa.float64()),
                ("born", pa.date32()),
                ("home", STRUCT),
                ("rank", pa.int8()),
                ("visits", pa.int64()),
                ("weight", pa.float64()),
                ("smoker", pa.bool_()),
                ("illness", pa.string()),
                ("undeclared", pa.string()),
            ]
        ),
    )


def duck(table: pa.Table) -> Any:
    return duckdb.connect().from_arrow(table)


FRAMES = {
    "pyarrow": table_of,
    "pandas": lambda rows: pd.DataFrame(map(flat, rows)),
    "pandas on arrow": lambda rows: table_of(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of objects": lambda rows: pd.DataFrame(map(flat, rows), dtype=object),
    "pandas with categories": lambda rows: (
        table_of(rows).to_pandas().astype({"illness": "category", "age": "category"})
    ),
    "polars": lambda rows: pl.from_arrow(table_of(rows)),
    "lazy polars": lambda rows: pl.from_arrow(table_of(rows)).lazy(),  # type: ignore[union-attr]
    "duckdb": lambda rows: duck(table_of(rows)),
    "narwhals": lambda rows: nw.from_native(table_of(rows)),
}


def rows_of(frame: Any) -> list[dict[str, Any]]:
    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    if isinstance(frame, pa.Table):
        return frame.to_pylist()
    known = nw.from_native(frame)
    eager = known.collect("pyarrow") if isinstance(known, nw.LazyFrame) else known
    return eager.to_arrow().to_pylist()


def bag(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(row) for row in rows)


def typed(record: dict[str, Any]) -> dict[str, Any]:
    """Return a released JSON record as the page on frames says that a row of a frame is."""

    def ends(value: Any, whole: tuple[Any, Any], read: Any = lambda value: (value, value)) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        low, high = (None, None) if value is None else whole if value == "*" else read(value)
        return {"min": low, "max": high}

    def days(text: str) -> tuple[dt.date, dt.date]:
        year = int(text[:4])
        first, last = 1, 12
        if "Q" in text:
            first = int(text[-1]) * 3 - 2
            last = first + 2
        elif len(text) > 4:
            first = last = int(text[5:7])
        if len(text) == 10:
            return dt.date.fromisoformat(text), dt.date.fromisoformat(text)
        after = dt.date(year + last // 12, last % 12 + 1, 1)
        return dt.date(year, first, 1), after - dt.timedelta(days=1)

    rank = record["rank"]
    return {
        "age": ends(record["age"], (0, 99)),
        "height": ends(record["height"], (0.0, 3.0)),
        "born": ends(record["born"], (dt.date(1990, 1, 1), dt.date(2009, 12, 31)), days),
        "home.city": record["home"]["city"],
        "rank": None if rank is None else [str(own) for own in (rank if isinstance(rank, list) else [rank])],
        "visits": record["visits"],
        "weight": None if record["weight"] is None else float(record["weight"]),
        "smoker": record["smoker"],
        "illness": record["illness"],
    }


def released_as_json(policy: Policy, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    anonymizer = Anonymizer(policy)
    lines = [json.dumps(as_json(row)).encode() for row in rows]
    releases = [*anonymizer.add(lines), *anonymizer.close()]
    return [record for release in releases for record in release.records]


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_any_kind_is_released_as_its_records_are_and_comes_back_in_kind(
    kind: str, tmp_path: Path
) -> None:
    policy, rows = policy_of(tmp_path), records(100)
    frame = FRAMES[kind](rows)
    released = anonymize_frame(frame, policy, by_arrival=True)
    assert type(released) is type(frame)
    expected = [typed(record) for record in released_as_json(policy, rows)]
    assert len(expected) > 80
    assert bag(rows_of(released)) == bag(expected)


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
@pytest.mark.parametrize("name", ["released", "table", "relation", "_"])
def test_what_a_duckdb_connection_calls_a_table_or_view_is_never_taken_for_what_is_released(
    kind: str, name: str, tmp_path: Path
) -> None:
    policy, rows = policy_of(tmp_path), records(100)
    rows[5]["age"] = 1000
    wanted, told = anonymize_frame(table_of(rows), policy, rejects="return")
    connection = duckdb.connect()
    connection.execute(f"CREATE {kind} \"{name}\" AS SELECT 'secret' AS name")
    released, rejected = anonymize_frame(connection.from_arrow(table_of(rows)), policy, rejects="return")
    assert bag(rows_of(released)) == bag(wanted.to_pylist())
    assert rows_of(rejected) == told.to_pylist()
    assert connection.table(name).fetchall() == [("secret",)]


def test_a_released_relation_joins_others_of_its_connection_and_outlives_its_table(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE illnesses AS SELECT 'flu' AS illness")
    released = anonymize_frame(connection.from_arrow(table_of(records(100))), policy_of(tmp_path))
    gc.collect()
    joined = released.join(connection.table("illnesses"), "illness")
    assert len(joined.fetchall()) == sum(row["illness"] == "flu" for row in rows_of(released)) > 0


@pytest.mark.parametrize("setting", ["python_enable_replacements", "enable_external_access"])
def test_a_duckdb_connection_that_reads_no_arrow_tables_is_refused(setting: str, tmp_path: Path) -> None:
    connection = duckdb.connect()
    relation = connection.from_arrow(table_of(records(50)))
    connection.execute(f"SET {setting} = false")
    connection.execute("CREATE TABLE released AS SELECT 'secret' AS name")
    with pytest.raises(InputError, match=setting):
        anonymize_frame(relation, policy_of(tmp_path))


def test_columns_that_duckdb_would_rename_are_refused(tmp_path: Path) -> None:
    more = {**EVERYTHING["attributes"], "AGE_MIN": {"role": "insensitive", "type": "integer"}}
    table = table_of(records(50)).append_column("AGE_MIN", pa.array([1] * 50))
    with pytest.raises(InputError, match="DuckDB renames columns"):
        anonymize_frame(duck(table), policy_of(tmp_path, attributes=more), flat=True)


def test_pandas_gets_one_type_for_each_column_whatever_is_in_it(tmp_path: Path) -> None:
    released = anonymize_frame(FRAMES["pandas"](records(100)), policy_of(tmp_path))
    types = {name: str(kind) for name, kind in released.dtypes.items()}
    assert types["visits"] == "Int64"
    assert types["smoker"] == "boolean"
    assert "struct<min: int64, max: int64>" in types["age"]
    assert "list<" in types["rank"]


def test_flat_columns_hold_the_ends_of_numbers_and_dates(tmp_path: Path) -> None:
    policy, rows = policy_of(tmp_path), table_of(records(100))
    structs, columns = anonymize_frame(rows, policy), anonymize_frame(rows, policy, flat=True)
    names = {f"{name}_{end}" for name in ("age", "height", "born") for end in ("min", "max")}
    assert names < set(columns.column_names)
    assert columns.schema.field("born_min").type == pa.date32()
    ends = Counter((age["min"], age["max"]) for age in structs["age"].to_pylist())
    assert Counter(zip(columns["age_min"].to_pylist(), columns["age_max"].to_pylist(), strict=True)) == ends


def test_flat_columns_may_not_take_the_name_of_another(tmp_path: Path) -> None:
    more = {**EVERYTHING["attributes"], "age_min": {"role": "insensitive", "type": "integer"}}
    with pytest.raises(SettingsError, match="one name"):
        anonymize_frame(table_of(records(10)), policy_of(tmp_path, attributes=more), flat=True)


def test_every_way_in_gives_the_same_release(tmp_path: Path) -> None:
    policy, rows = policy_of(tmp_path), records(200)
    rows[5]["home"] = {"city": "Atlantis"}
    rows[9]["person"] = None
    lines, cells, parquet = (tmp_path / f"in.{suffix}" for suffix in ("jsonl", "csv", "parquet"))
    write_json_lines(lines, [as_json(row) for row in rows])
    pq.write_table(table_of(rows), parquet, row_group_size=37)
    with cells.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(flat(rows[0])))
        writer.writeheader()
        writer.writerows(flat(as_json(row)) for row in rows)
    found = []
    for source in (lines, cells, parquet):
        told = tmp_path / f"{source.suffix[1:]}-rejects.jsonl"
        report = FileJob(policy, str(source), str(tmp_path / "out.jsonl"), rejects=told).run(lambda _: None)
        assert report.written
        first = 2 if source.suffix == ".csv" else 1
        faults = [json.loads(line) for line in told.read_text().splitlines()]
        assert [(f["line"] - first, f["reason"], f["attribute"]) for f in faults] == [
            (5, "unknown-value", "home.city"),
            (9, "no-individual", "person"),
        ]
        found.append(Counter((tmp_path / "out.jsonl").read_text().splitlines()))
    assert found[0] == found[1] == found[2]
    expected = [typed(json.loads(line)) for line in found[0].elements()]
    released, rejected = anonymize_frame(table_of(rows), policy, rejects="return")
    assert bag(released.to_pylist()) == bag(expected)
    assert rejected.to_pylist() == [
        {"row": 5, "reason": "unknown-value", "attribute": "home.city"},
        {"row": 9, "reason": "no-individual", "attribute": "person"},
    ]
    FileJob(policy, str(parquet), str(tmp_path / "out.parquet")).run(lambda _: None)
    assert bag(pq.read_table(tmp_path / "out.parquet").to_pylist()) == bag(expected)


VALUES = st.fixed_dictionaries(
    {
        "person": st.one_of(st.none(), st.text(max_size=3), st.just("p")),
        "age": st.one_of(st.none(), st.integers(-5, 120)),
        "height": st.one_of(
            st.none(), st.floats(allow_nan=False, width=32), st.decimals(0, 3, places=2).map(float)
        ),
        "born": st.one_of(st.none(), st.dates(dt.date(1980, 1, 1), dt.date(2020, 1, 1))),
        "home": st.fixed_dictionaries({"city": st.sampled_from([None, "Oslo", "Rome", "Atlantis"])}),
        "rank": st.one_of(st.none(), st.integers(0, 4)),
        "visits": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        "weight": st.one_of(st.none(), st.floats(allow_nan=False)),
        "smoker": st.one_of(st.none(), st.booleans()),
        "illness": st.one_of(st.none(), st.text(max_size=3)),
    }
)


@given(st.lists(VALUES, min_size=1, max_size=30), st.sampled_from(["pyarrow", "polars", "pandas of objects"]))
@settings(examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_frames_agree_with_records_of_any_values(tmp_path: Path, rows: list[dict[str, Any]], kind: str) -> None:
    policy = policy_of(tmp_path, privacy={"k": 2})
    anonymizer = Anonymizer(policy)
    releases = [*anonymizer.add(rows), *anonymizer.close()]
    expected = [typed(record) for release in releases for record in release.records]
    rejected = [(r.number, r.reason, r.attribute) for release in releases for r in release.rejected]
    table = table_of([{**row, "undeclared": ""} for row in rows])
    frame = {"pyarrow": lambda: table, "polars": lambda: pl.from_arrow(table)}.get(
        kind, lambda: FRAMES[kind](rows)
    )()
    released, told = anonymize_frame(frame, policy, rejects="return")
    assert bag(rows_of(released)) == bag(expected)
    assert [(row["row"], row["reason"], row["attribute"]) for row in rows_of(told)] == rejected


def coded(policy: Policy, name: str, value: Any) -> tuple[int, int]:
    """Return how many of two records with a value are released and rejected, as mappings and as pandas objects."""
    both = [{"person": person, name: value} for person in "ab"]
    anonymizer = Anonymizer(policy)
    releases = [*anonymizer.add(both), *anonymizer.close()]
    counts = (sum(map(len, releases)), sum(len(r.rejected) for r in releases))
    blank = dict.fromkeys((a.column for a in policy.attributes), pd.Series([None, None], dtype=object))
    cells = pd.Series([value, value], dtype=object)
    frame = pd.DataFrame({**blank, "person": ["a", "b"], name: cells})
    released, rejected = anonymize_frame(frame, policy, rejects="return")
    assert (len(released), len(rejected)) == counts
    if counts[0]:
        (record, _) = releases[0].records
        row = rows_of(released)[0][name]
        assert row == typed({**record})[name]
        assert [typed(r)[name] for r in releases[0].records] == releases[0].to_arrow()[name].to_pylist()
    return counts


NOTHING = [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "ns"), Decimal("NaN")]


@pytest.mark.parametrize("value", NOTHING, ids=[f"{type(v).__name__} {i}" for i, v in enumerate(NOTHING)])
@pytest.mark.parametrize("name", ["age", "height", "born", "visits", "weight", "smoker", "illness", "rank"])
def test_every_kind_of_nothing_is_a_missing_value(value: Any, name: str, tmp_path: Path) -> None:
    assert coded(policy_of(tmp_path), name, value) == (2, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", np.int8(30)),
        ("age", np.float64(30.0)),
        ("age", Decimal(30)),
        ("height", np.float32(1.85)),
        ("height", Decimal("1.85")),
        ("born", dt.date(1999, 5, 1)),
        ("born", dt.datetime(1999, 5, 1, 23, 59, tzinfo=dt.UTC)),
        ("born", pd.Timestamp("1999-05-01T12:00:00.123456789")),
        ("born", np.datetime64("1999-05-01")),
        ("born", "01.05.1999"),
        ("rank", np.uint16(2)),
        ("visits", np.int64(3)),
        ("smoker", np.bool_(True)),
        ("illness", UUID(int=5)),
        ("illness", dt.date(1999, 5, 1)),
        ("illness", np.str_("flu")),
        ("person", UUID(int=5)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scalars_of_numpy_pandas_and_the_standard_library_are_taken(name: str, value: Any, tmp_path: Path) -> None:
    if name == "person":
        # All records of one person are not enough: the ids were read, and are one.
        assert sum(map(len, Anonymizer(policy_of(tmp_path)).add([{"person": value}] * 3))) == 0
    else:
        assert coded(policy_of(tmp_path), name, value) == (2, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", "thirty"),
        ("age", float("inf")),
        ("born", 5),
        ("illness", b"flu"),
        ("illness", ["flu"]),
        ("age", True),
    ],
)
def test_what_json_would_not_take_is_rejected_and_not_dropped(name: str, value: Any, tmp_path: Path) -> None:
    assert coded(policy_of(tmp_path), name, value) == (0, 2)


def test_rejects_raise_without_a_value_in_the_message(tmp_path: Path) -> None:
    rows = records(50)
    rows[3]["home"] = {"city": "Atlantis"}
    with pytest.raises(
        InputError, match=r"1 of 50 rows do not fit the policy: unknown-value in home\.city 1"
    ) as told:
        anonymize_frame(table_of(rows), policy_of(tmp_path))
    assert "Atlantis" not in str(told.value)


def test_a_frame_without_a_declared_column_is_refused_by_name(tmp_path: Path) -> None:
    for frame in (table_of(records(5)).drop_columns("age"), pl.DataFrame({"person": ["a"]})):
        with pytest.raises(InputError, match="has no column 'age'"):
            anonymize_frame(frame, policy_of(tmp_path))


def test_a_field_that_stands_twice_is_refused(tmp_path: Path) -> None:
    table = table_of(records(5))
    with pytest.raises(InputError, match=r"has twice the column 'home\.city'"):
        anonymize_frame(table.append_column("home.city", pa.array(["Oslo"] * 5)), policy_of(tmp_path))
    with pytest.raises(InputError, match="two columns have one name"):
        anonymize_frame(table.append_column("age", pa.array([1] * 5)), policy_of(tmp_path))
    with pytest.raises(InputError, match="two columns have one name"):
        anonymize_frame(pd.DataFrame([[1, 2]], columns=["age", "age"]), policy_of(tmp_path))


def test_what_is_no_frame_and_no_records_is_refused(tmp_path: Path) -> None:
    policy = policy_of(tmp_path)
    with pytest.raises(TypeError, match="knows no frame"):
        anonymize_frame([1, 2], policy)
    with pytest.raises(TypeError, match="must be a mapping or JSON as bytes, not str"):
        list(Anonymizer(policy).add(["age"]))  # type: ignore[list-item]
    with pytest.raises(TypeError, match="several records"):
        list(Anonymizer(policy).add({"age": 1}))
    with pytest.raises(TypeError, match="knows no frame"):
        list(Anonymizer(policy).add(pd.Series([1])))


@pytest.mark.parametrize("kind", [*FRAMES, "reader", "batch"])
def test_the_anonymizer_takes_frames_and_gives_tables(kind: str, tmp_path: Path) -> None:
    policy, rows = policy_of(tmp_path), records(100)
    rows[60]["age"] = 1000
    table = table_of(rows)
    made = {
        "reader": lambda: table.to_reader(max_chunksize=33),
        "batch": lambda: table.combine_chunks().to_batches()[0],
    }
    anonymizer = Anonymizer(policy)
    releases = [*anonymizer.add(made[kind]() if kind in made else FRAMES[kind](rows)), *anonymizer.close()]
    tables = pa.concat_tables(release.to_arrow() for release in releases)
    assert [release.certificate[0]["in"] for release in releases] == [40, 41, 19]
    assert [(r.number, r.reason) for release in releases for r in release.rejected] == [(60, "out-of-range")]
    assert bag(tables.to_pylist()) == bag([typed(record) for release in releases for record in release.records])


def test_rows_are_numbered_on_over_frames_and_records(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, privacy={"individual": "every-record"})
    anonymizer, rows = Anonymizer(policy), records(30)
    rows[20]["age"] = 1000
    releases = [*anonymizer.add(table_of(rows[:15])), *anonymizer.add(rows[15:]), *anonymizer.close()]
    assert sum(map(len, releases)) == 29
    assert [r.number for release in releases for r in release.rejected] == [20]


def test_a_method_recodes_a_frame_as_one_table(tmp_path: Path) -> None:
    ranks = {"rank": {"role": "quasi-identifier", "values": [1, 2, 3]}}
    policy = policy_of(tmp_path, method={"name": "k-minimal", "max_suppressed": "5%"}, attributes=ranks)
    assert policy.method is not None
    table = table_of(records(300))
    released = anonymize_frame(table, policy)
    assert Counter(str(row) for row in released.select(["age", "home.city"]).to_pylist()).most_common()[-1][1] >= 2


def test_a_whole_number_beyond_64_bits_is_no_silent_change(tmp_path: Path) -> None:
    anonymizer = Anonymizer(policy_of(tmp_path))
    (release,) = [*anonymizer.add([{"person": p, "visits": 2**70} for p in "ab"]), *anonymizer.close()]
    assert release.records[0]["visits"] == 2**70
    with pytest.raises(InputError, match="visits: a value has more than 64 bits"):
        release.to_arrow()


def test_a_day_that_python_does_not_have_is_rejected(tmp_path: Path) -> None:
    table, policy = table_of(records(20)), policy_of(tmp_path)
    born = table["born"].to_pylist()
    for kind, far in ((pa.date32(), 10**8), (pa.timestamp("s"), 10**13), (pa.timestamp("ms", "UTC"), 10**17)):
        stored = pa.int32() if kind == pa.date32() else pa.int64()
        days = pa.concat_arrays([pa.array([far], stored).cast(kind), pa.array(born[1:], pa.date32()).cast(kind)])
        _, rejected = anonymize_frame(table.set_column(3, "born", days), policy, rejects="return")
        assert [(row["row"], row["attribute"]) for row in rejected.to_pylist()] == [(0, "born")]


def test_texts_that_mean_nothing_are_missing_in_frames_too(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, input={"null_values": ["n/a"]})
    rows = [{**row, "illness": "n/a", "home": {"city": "n/a"}} for row in records(20)]
    rows[4]["person"] = "n/a"
    for kind in ("pyarrow", "pandas of objects"):
        released, rejected = anonymize_frame(FRAMES[kind](rows), policy, rejects="return")
        found = rows_of(released)
        assert {(row["illness"], row["home.city"]) for row in found} == {(None, None)}
        assert [(row["row"], row["reason"]) for row in rows_of(rejected)] == [(4, "no-individual")]


@pytest.mark.parametrize("missing", ["pyarrow", "narwhals"])
def test_without_the_extra_it_is_said_what_to_install(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == missing else name)
    with pytest.raises(SettingsError, match=f"pip install {missing}"):
        anonymize_frame(table_of(records(5)), policy_of(tmp_path))
    with pytest.raises(SettingsError, match=f"pip install {missing}"):
        list(Anonymizer(policy_of(tmp_path)).add(table_of(records(5))))


def test_the_snippets_of_the_page_run(monkeypatch: pytest.MonkeyPatch) -> None:
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "guides" / "frames.md").read_text(), re.DOTALL)
    assert len(snippets) == 2
    monkeypatch.chdir(ROOT)
    printed: list[object] = []
    names: dict[str, Any] = {"print": lambda *values: printed.extend(values)}
    for snippet in snippets:
        exec(snippet, names)  # noqa: S102 - it is our own page
    assert len(names["released"]) > 3000
    assert 0 < len(names["rejected"]) < 50
    assert [value for value in printed if isinstance(value, int) and 10 <= value < 100]  # k of a window


def test_no_row_of_adult_vanishes_where_values_are_missing() -> None:
    frame = pd.read_csv(shared_data("arx-adult", "adult.csv"), sep=";")
    draws = np.random.default_rng(0)
    frame["age"] = frame["age"].astype(float)
    for name in ("age", "workclass", "salary-class"):
        frame.loc[draws.choice(len(frame), 35, replace=False), name] = np.nan
    missing = int(frame.isna().any(axis=1).sum())
    assert missing > 100
    policy = adult_policy(engine=EngineChoice(name="mondrian", seed=1))
    released, rejected = anonymize_frame(frame, policy, rejects="return")
    assert len(rejected) == 0
    anonymizer = Anonymizer(policy)
    releases = [*anonymizer.add(frame.to_dict("records")), *anonymizer.close()]
    assert not any(release.rejected for release in releases)
    assert sum(release.certificate[0]["in"] for release in releases) == len(frame)
    assert sum(map(len, releases)) == len(released)
    suppressed = sum(release.certificate[0]["suppressed"] for release in releases)
    assert len(released) + suppressed == len(frame)


def test_what_a_method_leaves_unprotected_is_a_warning_of_python(tmp_path: Path) -> None:
    shields = [{"attributes": ["age"], "k": 4}]
    policy = policy_of(
        tmp_path, privacy={"k": "none", "shields": shields}, method={"name": "iab", "most_expanded": 5}
    )
    with pytest.warns(UserWarning, match=r"privacy\.k is none"):
        anonymize_frame(pd.DataFrame(records(40)), policy)


def test_a_frame_that_a_condition_forbids_is_not_released_unless_somebody_accepts_it(tmp_path: Path) -> None:
    visits = {"role": "insensitive", "type": "integer"}
    policy = policy_of(tmp_path, attributes={**EVERYTHING["attributes"], "visits": visits})
    frame = table_of([{**row, "visits": place} for place, row in enumerate(records(60))])
    with pytest.raises(Refused, match=r"(?s)rare-values: .*visits: 60 of 60.*give accept_risks=..rare-values.."):
        anonymize_frame(frame, policy)
    assert len(anonymize_frame(frame, policy, accept_risks=["rare-values"])) == 60
    never = table_of([{**row, "visits": None} for row in records(60)])
    with pytest.raises(Refused, match=r"missing-field: attributes\.visits: none of 60 records"):
        anonymize_frame(never, policy, rejects="return")


def test_a_refusal_that_somebody_keeps_holds_no_file_with_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(large_table, "rows_that_fit", lambda *_: 40)
    monkeypatch.setattr(large_table, "_ENOUGH", 1)
    visits = {"role": "insensitive", "type": "integer"}
    policy = policy_of(tmp_path, attributes={**EVERYTHING["attributes"], "visits": visits})
    frame = table_of([{**row, "visits": place} for place, row in enumerate(records(100))])
    with pytest.raises(Refused, match="rare-values") as kept:
        anonymize_frame(frame, policy)
    assert kept.value.__traceback__ is not None
    assert (open_below(place), list(place.iterdir())) == (0, [])


def test_counts_come_with_the_rejects_and_the_pair_is_still_a_pair(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, window={"max_records": 1000, "max_records_per_individual": 1})
    rows = records(60)  # two of each person
    rows[3]["home"] = {"city": "Atlantis"}
    done = anonymize_frame(pl.from_arrow(table_of(rows)), policy, rejects="return")
    released, rejected = done
    assert (done.released is released, done.rejected is rejected, len(done)) == (True, True, 2)
    assert (len(released), len(rejected)) == (30, 1)
    report = done.report
    assert (report.records_in, report.released, dict(report.suppressed)) == (60, 30, {"over-limit": 29})
    assert dict(report.rejected) == {"unknown-value": 1}
    assert report.achieved_k is not None
    assert report.achieved_k >= 2


def test_many_rows_that_are_left_out_are_warned_of_where_the_counts_are_not_returned(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, window={"max_records": 1000, "max_records_per_individual": 1})
    words = r"30 of 60 rows \(50.0%\) are left out, over-limit 30. over-limit: .*max_records_per_individual"
    with pytest.warns(SuppressionWarning, match=words):
        anonymize_frame(table_of(records(60)), policy)

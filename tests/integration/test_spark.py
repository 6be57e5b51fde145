"""Releases of Spark, on Spark itself in one process: micro-batches that fail and come again, groups of a table."""

from __future__ import annotations

import base64
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_anon import Policy, anonymize_frame
from stream_anon.demo.clinic import visits
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.files.incoming import IncomingReader
from stream_anon.files.neighbours.line_ranges import LineRanges
from stream_anon.hosts import release_folder
from stream_anon.hosts.release_folder import ReleaseFolder, StoredRelease
from stream_anon.judging.one_table import whole
from stream_anon.microdata.batch import CodedBatch
from tests.support.data import ROOT, shared_data
from tests.support.meddling import ONE, OTHER, check_each_meddling_is_named
from tests.support.modules import module_of
from tests.support.policies import people, write_json_lines, write_policy
from tests.support.signing import secret_of
from tests.support.stored import as_a_file, audited, contents, rows_of, signers_of

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
sql, serializers = pytest.importorskip("pyspark.sql"), pytest.importorskip("pyspark.serializers")
spark_host = pytest.importorskip("stream_anon.hosts.spark")
dataframes, groups_of, ranges_of, columns_of = (
    importlib.import_module(f"stream_anon.hosts.spark.{name}")
    for name in ("dataframes", "groups", "range_tasks", "columns")
)

SCHEMA = "person string, age int, home struct<city: string>, visits int, illness string, undeclared string"
SEEDED: dict[str, Any] = {"engine": {"name": "mondrian", "seed": 1}, "window": {"max_records": 1000}}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        yield session
        session.stop()


_OLDEST = 1_700_000_000


class Query:
    """A streaming query over files of people, one a micro-batch."""

    def __init__(self, spark: Any, folder: Path, counts: tuple[int, ...] = (300, 200)) -> None:
        self.spark, self.folder = spark, folder
        self.policy_path = write_policy(folder, **SEEDED)
        self.policy = Policy.load(self.policy_path)
        self.source, self.released = folder / "in", folder / "released"
        self.key: Path | None = None
        self.source.mkdir()
        self.files = [self.source / f"{number}.json" for number in range(len(counts))]
        for number, (path, count) in enumerate(zip(self.files, counts, strict=True)):
            write_json_lines(path, people(count, number))

    def run(self, then: Callable[[StoredRelease, int], object] = lambda *_: None, checkpoint: str = "one") -> None:
        """Run until the input ends; `then` sees each release.

        Spark takes the oldest file first, and one with another time is another file to it. Files that are written
        at once may have the same time, so each gets one of its own.
        """
        for number, path in enumerate(self.files):
            os.utime(path, (_OLDEST + number, _OLDEST + number))
        release = spark_host.released_batches(self.policy, self.released, signing_key_file=self.key)
        stream = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(self.source))
        writer = stream.writeStream.foreachBatch(lambda frame, batch: then(release(frame, batch), batch))
        writer = writer.option("checkpointLocation", str(self.folder / checkpoint)).trigger(availableNow=True)
        query = writer.start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    @property
    def stored(self) -> list[str]:
        return sorted(path.name for path in self.released.glob("batch=*"))


def test_a_micro_batch_is_released_as_a_file_of_its_rows_is(spark: Any, tmp_path: Path) -> None:
    query, seen = Query(spark, tmp_path), {}
    query.run(lambda made, batch: seen.update({batch: made}))
    assert query.stored == ["batch=00000000", "batch=00000001"]
    for batch, source in enumerate(query.files):
        made, (expected, rows) = seen[batch], as_a_file(query.policy, source, tmp_path)
        assert made.records_in == expected.records_in
        assert made.report["classes"] == expected.classes > 1
        assert made.report["gcp"] == pytest.approx(expected.gcp)
        assert rows_of(made.records) == rows
        assert audited(query.policy_path, made)
    read = spark.read.parquet(str(query.released))
    assert read.columns == ["age", "home.city", "visits", "illness", "batch"]
    assert read.count() == sum(made.released for made in seen.values()) > 400


def test_a_micro_batch_that_comes_again_is_not_released_again(spark: Any, tmp_path: Path) -> None:
    query, seen = Query(spark, tmp_path), []

    def fail_once(made: StoredRelease, batch: int) -> None:
        seen.append(batch)
        if seen == [0, 1]:
            raise ConnectionError("after the release, and before Spark knows of it")

    with pytest.raises(Exception, match="before Spark knows"):
        query.run(fail_once)
    before = contents(query.released)
    assert query.stored == ["batch=00000000", "batch=00000001"]
    query.run(fail_once)
    assert seen == [0, 1, 1]
    assert contents(query.released) == before


def test_a_micro_batch_that_fails_in_the_middle_is_released_whole_and_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Query(spark, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(release_folder, "keep", _failing_for("batch=00000001"))
        with pytest.raises(Exception, match="cannot be written"):
            query.run()
    assert query.stored == ["batch=00000000"]
    assert not list((query.released / "_private" / "making").iterdir())
    query.run()
    assert query.stored == ["batch=00000000", "batch=00000001"]


def _failing_for(name: str) -> Callable[[Path], None]:
    whole = release_folder.keep

    def kept(path: Path) -> None:
        if name in str(path):
            raise OSError(28, "No space left on device")
        whole(path)

    return kept


def test_a_query_with_another_checkpoint_is_refused_the_folder(spark: Any, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)
    query.run()
    before = contents(query.released)
    with pytest.raises(Exception, match="another origin"):
        query.run(checkpoint="another")
    assert contents(query.released) == before


def test_a_source_that_gives_other_records_for_a_micro_batch_is_found_out(spark: Any, tmp_path: Path) -> None:
    query = Query(spark, tmp_path, (300,))

    def fail(made: StoredRelease, batch: int) -> None:
        raise ConnectionError("before Spark knows of it")

    with pytest.raises(Exception, match="before Spark knows"):
        query.run(fail)
    lines = query.files[0].read_text().splitlines(keepends=True)
    query.files[0].write_text("".join(lines[:-1]))
    with pytest.raises(Exception, match="another number of records"):
        query.run()


FAMILIES = {"privacy": {"sensitive": {"illness": {"invariant": 2, "families": [["flu", "cold"], ["gout", None]]}}}}
ILLNESSES = {"flu": "cold|flu", "cold": "cold|flu", "gout": "gout|null", None: "gout|null"}


def _ill(count: int, seed: int = 0) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return people, a ninth of whom have what no family lists, and what is shown of the others."""
    values = [*ILLNESSES, *ILLNESSES, "none"]
    own = [one | {"illness": values[place % len(values)]} for place, one in enumerate(people(count, seed))]
    return own, Counter(ILLNESSES[one["illness"]] for one in own if one["illness"] in ILLNESSES)


@pytest.mark.parametrize("groups", [1, 3])
def test_a_table_shows_families_and_rejects_a_value_in_none(spark: Any, tmp_path: Path, groups: int) -> None:
    path = write_policy(tmp_path, **SEEDED | FAMILIES)
    records, shown = _ill(450)
    frame = spark.read.schema(SCHEMA).json(str(write_json_lines(tmp_path / "in.jsonl", records)))
    made = spark_host.release_dataframe(frame, Policy.load(path), tmp_path / "released", groups=groups)
    assert sum((Counter(one.report["rejected"]) for one in made), Counter()) == {"unknown-value": 50}
    rows = spark.read.parquet(str(tmp_path / "released")).select("illness").collect()
    assert Counter(row.illness for row in rows) <= shown
    assert len(rows) > 350
    assert all(audited(path, one) for one in made)


def test_families_that_classes_keep_whole_are_dealt_by_chance_and_not_in_ranges(spark: Any, tmp_path: Path) -> None:
    own = FAMILIES["privacy"]["sensitive"]["illness"]
    path = write_policy(tmp_path, **SEEDED, privacy={"sensitive": {"illness": {**own, "publish": "value"}}})
    frame = spark.read.schema(SCHEMA).json(str(write_json_lines(tmp_path / "in.jsonl", _ill(900)[0])))
    made = spark_host.release_dataframe(frame, Policy.load(path), tmp_path / "released", groups=3)
    assert len(made) == 3
    for one in made:
        assert audited(path, one)
        shown: dict[str, set[str | None]] = {}
        for row in pq.ParquetFile(one.records).read().to_pylist():
            published = json.dumps([row[name] for name in row if name not in ("illness", "visits")])
            shown.setdefault(published, set()).add(row["illness"])
        for values in shown.values():
            assert all(values >= family or not values & family for family in ({"flu", "cold"}, {"gout", None}))


def test_a_micro_batch_shows_families_and_rejects_a_value_in_none(spark: Any, tmp_path: Path) -> None:
    query, seen = Query(spark, tmp_path), {}
    query.policy_path = write_policy(tmp_path, **SEEDED | FAMILIES)
    query.policy = Policy.load(query.policy_path)
    records = [_ill(count, number) for number, count in enumerate((300, 200))]
    for file, (own, _) in zip(query.files, records, strict=True):
        write_json_lines(file, own)
    query.run(lambda made, batch: seen.update({batch: made}))
    for batch, (own, shown) in enumerate(records):
        made = seen[batch]
        assert made.report["rejected"] == {"unknown-value": len(own) - shown.total()}
        released = Counter(pq.ParquetFile(made.records).read().column("illness").to_pylist())
        assert released <= shown
        assert released.total() > 0.8 * shown.total()
        assert audited(query.policy_path, made)


def test_a_micro_batch_outside_of_a_query_is_refused(spark: Any, tmp_path: Path) -> None:
    policy = Policy.load(write_policy(tmp_path, **SEEDED))
    with pytest.raises(SettingsError, match="of a streaming query"):
        spark_host.released_batches(policy, tmp_path / "released")(spark.range(3), 0)


def table_of(spark: Any, folder: Path, count: int = 400, each: int = 1) -> Any:
    """Return a DataFrame of people in one partition, in order."""
    path = write_json_lines(folder / "in.jsonl", people(count, each=each))
    return spark.read.schema(SCHEMA).json(str(path)).coalesce(1)


def test_a_table_in_one_group_is_released_as_its_frame_is(spark: Any, tmp_path: Path) -> None:
    path = write_policy(tmp_path, **SEEDED)
    policy, frame = Policy.load(path), table_of(spark, tmp_path)
    (made,) = spark_host.release_dataframe(frame, policy, tmp_path / "released")
    expected = anonymize_frame(frame.toArrow(), policy)
    assert rows_of(made.records) == Counter(map(repr, expected.to_pylist()))
    assert made.released == len(expected) > 350
    assert audited(path, made)


@pytest.mark.parametrize("dotted", [False, True], ids=["structs", "columns with dots"])
def test_each_group_is_a_release_of_its_own_and_holds_all_of_an_individual(
    spark: Any, tmp_path: Path, dotted: bool
) -> None:
    # Each of 300 people has two records, and one of them may be in a window: of two that met, one is suppressed.
    window = {"max_records": 10_000, "max_records_per_individual": 1}
    path = write_policy(tmp_path, **SEEDED | {"window": window})
    frame = table_of(spark, tmp_path, 600, each=2).repartition(5)
    if dotted:
        city = sql.functions.col("home.city").alias("home.city")
        frame = frame.select("person", "age", city, "visits", "illness", "undeclared")
    made = spark_host.release_dataframe(frame, Policy.load(path), tmp_path / "released", groups=3, by_chance=True)
    assert [one.private.name for one in made] == ["part=00000", "part=00001", "part=00002"]
    assert sum(one.records_in for one in made) == 600
    assert min(one.records_in for one in made) > 100
    assert sum(one.report["suppressed"]["over-limit"] for one in made) == 300
    assert all(audited(path, one) for one in made)
    assert spark.read.parquet(str(tmp_path / "released")).count() == sum(one.released for one in made)


def test_equal_records_go_to_one_group_where_each_is_a_person(spark: Any, tmp_path: Path) -> None:
    path = write_policy(tmp_path, **SEEDED, privacy={"individual": "every-record"})
    frame = table_of(spark, tmp_path)
    both = frame.union(frame)
    made = spark_host.release_dataframe(both, Policy.load(path), tmp_path / "released", groups=2, by_chance=True)
    assert [one.records_in % 2 for one in made] == [0, 0]
    assert all(audited(path, one) for one in made)


def test_the_number_of_a_group_tells_nothing_of_who_is_in_it(spark: Any, tmp_path: Path) -> None:
    # An outsider who knows an id and how Spark hashes finds no record's group; nor does he by dealing as we do.
    policy, frame = Policy.load(write_policy(tmp_path, **SEEDED)), table_of(spark, tmp_path)
    columns = columns_of.together(frame, policy)
    part = sql.functions.spark_partition_id().alias("part")
    guesses = [
        frame.repartition(8, *columns).select("visits", part).collect(),
        frame.repartition(8, groups_of.dealt_by(columns)).select("visits", part).collect(),
    ]
    dealt = frame.repartition(8, groups_of.dealt_by(columns))
    found = dealt.select("visits", part).collect()
    assert sorted(found) == sorted(dealt.select("visits", part).collect())  # computed again, it deals alike
    for guess in guesses:
        # Of 400 people an eighth are guessed by chance: 50, give or take 7.
        assert len(set(found) & set(guess)) < 100


def test_more_groups_than_people_leave_empty_releases(spark: Any, tmp_path: Path) -> None:
    policy, frame = Policy.load(write_policy(tmp_path, **SEEDED)), table_of(spark, tmp_path, 3)
    accepted = {"groups": 8, "accept_risks": ["rare-values"], "by_chance": True}
    made = spark_host.release_dataframe(frame, policy, tmp_path / "released", **accepted)
    assert len(made) == 8
    assert sum(one.records_in for one in made) == 3
    assert sum(one.released for one in made) == 0


def test_a_table_that_a_condition_forbids_leaves_no_folder_unless_somebody_accepts_it(
    spark: Any, tmp_path: Path
) -> None:
    path = write_policy(tmp_path, **SEEDED)
    policy, released = Policy.load(path), tmp_path / "released"
    rare = table_of(spark, tmp_path).withColumn("visits", sql.functions.monotonically_increasing_id())
    with pytest.raises(Refused, match=r"rare-values: attributes\.visits: 400 of 400 records"):
        spark_host.release_dataframe(rare, policy, released, groups=2)
    assert not list(tmp_path.glob("*released*"))
    made = spark_host.release_dataframe(rare, policy, released, groups=2, accept_risks=["rare-values"])
    assert sum(one.released for one in made) > 350
    assert all(one.report["accepted_risks"] == ["rare-values"] and audited(path, one) for one in made)


def test_each_part_is_judged_by_itself_if_the_sample_holds_fewer_people_than_k(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataframes, "sampled_by", lambda _: 2)
    policy = Policy.load(write_policy(tmp_path, **SEEDED))
    rare = table_of(spark, tmp_path).withColumn("visits", sql.functions.monotonically_increasing_id())
    with pytest.raises(Exception, match=r"rare-values: attributes\.visits"):
        spark_host.release_dataframe(rare, policy, tmp_path / "released", groups=2)
    assert not list(tmp_path.glob("*released*"))


def test_what_cannot_be_in_windows_of_neighbours_is_dealt_by_chance_with_values_that_are_rare_in_each_group(
    spark: Any, tmp_path: Path
) -> None:
    # 100 values of four people each: in four groups most of them are held by one or two people of a group.
    shields = {"privacy": {"shields": [{"attributes": ["age"], "k": 4}]}}
    policy, number = (
        Policy.load(write_policy(tmp_path, **SEEDED, **shields)),
        sql.functions.monotonically_increasing_id(),
    )
    frame = table_of(spark, tmp_path).withColumn("visits", number % 100)
    made = spark_host.release_dataframe(frame, policy, tmp_path / "released", groups=4)
    assert len(made) == 4
    assert sum(one.records_in for one in made) == 400


def test_a_query_whose_first_micro_batch_a_condition_forbids_ends_and_shows_nothing(
    spark: Any, tmp_path: Path
) -> None:
    query = Query(spark, tmp_path)
    write_json_lines(query.files[0], [{**one, "visits": place} for place, one in enumerate(people(300))])
    with pytest.raises(Exception, match="rare-values"):
        query.run()
    assert query.stored == []
    write_json_lines(query.files[0], people(300))
    write_json_lines(query.files[1], [{**one, "visits": place} for place, one in enumerate(people(200, 1))])
    query.run(checkpoint="one")
    assert query.stored == ["batch=00000000", "batch=00000001"]  # a later one does not stop it


def test_a_release_whose_day_has_passed_is_refused_in_the_driver_and_in_a_task(tmp_path: Path) -> None:
    policy, folder = (
        Policy.load(write_policy(tmp_path, release={"valid_until": "2020-01-31"})),
        tmp_path / "released",
    )
    untouched = SimpleNamespace()  # any look at it is an AttributeError
    with pytest.raises(Refused, match="release-expired"):
        spark_host.release_dataframe(untouched, policy, folder)
    with pytest.raises(Refused, match="release-expired"):
        spark_host.released_batches(policy, folder)
    assert not folder.exists()
    spark_host.released_batches(policy, folder, accept_risks=["release-expired"])
    with pytest.raises(Refused, match="release-expired"):
        ReleaseFolder(folder, policy, "a task").release("part=00000", people(60))


def test_a_table_is_released_once_and_as_a_whole(spark: Any, tmp_path: Path) -> None:
    policy, frame = Policy.load(write_policy(tmp_path, **SEEDED)), table_of(spark, tmp_path)
    released = tmp_path / "released"
    with pytest.raises(InputError, match="has no column 'person'"):
        spark_host.release_dataframe(frame.drop("person"), policy, released)
    with pytest.raises(Exception, match="has no column 'age'"):
        spark_host.release_dataframe(frame.drop("age"), policy, released)
    assert not list(tmp_path.glob("*released*"))
    spark_host.release_dataframe(frame, policy, released)
    before = contents(released)
    with pytest.raises(Refused, match="is there already"):
        spark_host.release_dataframe(frame, policy, released)
    assert contents(released) == before


def test_parts_that_the_driver_does_not_see_make_no_release(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, frame = Policy.load(write_policy(tmp_path, **SEEDED)), table_of(spark, tmp_path)
    monkeypatch.setattr(ReleaseFolder, "stored", lambda self, name: None)
    with pytest.raises(InputError, match="do all executors share the file system"):
        spark_host.release_dataframe(frame, policy, tmp_path / "released")
    assert not list(tmp_path.glob("*released*"))


def test_a_task_that_is_late_makes_no_folder_anew(tmp_path: Path) -> None:
    policy = Policy.load(write_policy(tmp_path, **SEEDED))
    late = groups_of.GroupTask(tmp_path / "gone" / "parts", policy, "origin", ["person"])
    with pytest.raises(InputError, match="is not there"):
        next(late(iter([])))
    assert not (tmp_path / "gone").exists()


def test_a_release_holds_no_undeclared_column_and_nobody_s_id(spark: Any, tmp_path: Path) -> None:
    policy = Policy.load(write_policy(tmp_path, **SEEDED))
    records = people(400)
    records[5]["age"] = 987_654_321
    write_json_lines(tmp_path / "in.jsonl", records)
    frame = spark.read.schema(SCHEMA).json(str(tmp_path / "in.jsonl"))
    (made,) = spark_host.release_dataframe(frame, policy, tmp_path / "released")
    assert pq.read_schema(made.records).names == ["age", "home.city", "visits", "illness"]
    assert made.report["rejected"] == {"out-of-range": 1}
    files = [path.read_bytes() for path in made.private.iterdir() if path.name != "released.parquet"]
    assert not any(b"secret-" in content or b'"p5"' in content or b"987654321" in content for content in files)


def test_the_examples_release_visits(spark: Any, tmp_path: Path) -> None:
    stream, batch = (module_of(ROOT / "examples" / "engines" / f"spark_{kind}.py") for kind in ("stream", "batch"))
    good = [json.loads(visit) for visit in visits(4200) if visit.endswith(b"}")][:4000]
    (tmp_path / "in").mkdir()
    for number in (0, 1):
        write_json_lines(tmp_path / "in" / f"{number}.json", good[number * 2000 :][:2000])
    stream.start(spark, str(tmp_path / "in"), str(tmp_path / "stream")).awaitTermination()
    found = _stored(tmp_path / "stream", Policy.load(stream.POLICY))
    assert [one.records.parent.name for one in found] == ["batch=00000000", "batch=00000001"]
    parts = batch.release(spark, str(tmp_path / "in"), str(tmp_path / "batch"), 2)
    assert all(audited(stream.POLICY, one) for one in found + parts)
    assert all(one.released > 1000 for one in found + parts)


def _stored(released: Path, policy: Policy) -> list[StoredRelease]:
    releases = ReleaseFolder(released, policy, (released / "_origin").read_text())
    made = (releases.stored(path.name) for path in sorted(released.glob("batch=*")))
    return [one for one in made if one is not None]


def test_a_driver_that_is_killed_goes_on_and_releases_nothing_twice(tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17")
    program = ROOT / "examples" / "engines" / "spark_stream.py"
    good = [json.loads(visit) for visit in visits(3200) if visit.endswith(b"}")][:3000]
    (tmp_path / "in").mkdir()
    for number in range(3):
        write_json_lines(tmp_path / "in" / f"{number}.json", good[number * 1000 :][:1000])
    released = tmp_path / "released"
    command = [sys.executable, str(program), str(tmp_path / "in"), str(released)]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    names = [f"batch={number:08d}" for number in range(3)]
    # A group of its own, so that the machine of Java dies with the driver.
    process = subprocess.Popen(command, start_new_session=True, **quiet)
    try:
        for _ in range(1200):
            if (released / names[0]).exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        assert process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
    before = _visible(released)
    assert before
    subprocess.run(command, check=True, timeout=300, **quiet)
    after = _visible(released)
    assert before.items() <= after.items()
    assert sorted({name.partition("/")[0] for name in after} - {"_origin"}) == names
    policy = program.with_name("policy.yaml")
    made = _stored(released, Policy.load(policy))
    assert [one.records_in for one in made] == [1000] * 3
    assert all(audited(policy, one) for one in made)


def _visible(folder: Path) -> dict[str, Any]:
    """Return what readers see."""
    return {name: content for name, content in contents(folder).items() if not name.startswith("_private")}


def test_by_a_key_the_same_rows_are_dealt_and_released_alike(spark: Any, tmp_path: Path) -> None:
    policy, frame = Policy.load(write_policy(tmp_path)), table_of(spark, tmp_path)
    found = []
    for number, given in enumerate((frame, frame.orderBy("visits"))):
        folder = tmp_path / str(number)
        made = spark_host.release_dataframe(given, policy, folder, groups=2, draws_key=b"k" * 32)
        found.append([rows_of(one.records) for one in made])
    assert found[0] == found[1]
    assert all(len(rows) > 0 for rows in found[0])


def many(spark: Any, folder: Path, count: int = 3000, each: int = 1, parts: int = 4) -> Any:
    """Return a DataFrame of people, whose `visits` number them."""
    records = [{**one, "visits": place} for place, one in enumerate(people(count, each=each))]
    frame = spark.read.schema(SCHEMA).json(str(write_json_lines(folder / "in.jsonl", records)))
    return frame.repartition(parts, "visits")


NUMBERED: dict[str, Any] = {
    "attributes": {"visits": {"role": "insensitive", "type": "integer", "accept_linkable": True}}
}


def test_ranges_are_one_release_in_which_limits_count_over_the_whole_table(spark: Any, tmp_path: Path) -> None:
    path = write_policy(tmp_path, **SEEDED | {"window": {"max_records_per_individual": 2}}, **NUMBERED)
    frame = many(spark, tmp_path, each=3)
    lost = frame.withColumn("age", sql.functions.expr("if(visits % 100 = 7, 1000, age)"))
    (made,) = spark_host.release_dataframe(
        lost, Policy.load(path), tmp_path / "released", groups=3, accept_risks=["rare-values"]
    )
    assert made.records.parent.name == "part=00000"
    assert made.report["rejected"] == {"out-of-range": 30}
    assert made.report["suppressed"]["over-limit"] == 1000 - 30
    assert (made.records_in, made.released) == (3000, 2000)
    assert made.private.joinpath("rejects.jsonl").read_bytes().count(b"\n") == 30
    assert audited(path, made)
    rows = pq.ParquetFile(made.records).read().to_pylist()
    assert max(Counter(row["visits"] // 3 for row in rows).values()) == 2
    assert len({row["visits"] for row in rows}) == 2000


def test_before_spark_4_1_too_a_table_in_ranges_loses_less_than_dealt_by_chance_and_stands_in_random_order(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for frames in (sql.classic.dataframe.DataFrame, sql.DataFrame):
        monkeypatch.delattr(frames, "repartitionById", raising=False)
    path = write_policy(tmp_path, **NUMBERED)
    policy, frame, found = Policy.load(path), many(spark, tmp_path), {}
    for by_chance in (False, True):
        made = spark_host.release_dataframe(
            frame, policy, tmp_path / str(by_chance), groups=6, by_chance=by_chance, accept_risks=["rare-values"]
        )
        assert all(audited(path, one) for one in made)
        found[by_chance] = sum(one.report["gcp"] * one.records_in for one in made) / 3000
    assert found[False] < 0.8 * found[True]
    rows = pq.ParquetFile(tmp_path / "False" / "part=00000" / "released.parquet").read().to_pylist()
    assert len({row["visits"] for row in rows}) == len(rows) > 2900
    middle = [(row["age"]["min"] + row["age"]["max"]) / 2 for row in rows]
    assert abs(np.corrcoef(np.arange(len(middle)), middle)[0, 1]) < 6 / len(middle) ** 0.5


def test_what_is_in_a_range_and_over_a_limit_does_not_depend_on_the_order_of_rows(
    spark: Any, tmp_path: Path
) -> None:
    policy = Policy.load(write_policy(tmp_path, window={"max_records_per_individual": 1}))
    # A person's first record differs from another of theirs in nothing but the sign of a zero.
    zero = sql.functions.expr("if(visits % 3 = 2, visits, 0) * if(visits % 3 = 1, -1.0D, 1.0D)")
    frame = many(spark, tmp_path, 900, each=3).withColumn("visits", zero)
    same = sql.Window.partitionBy("person")
    for name in ("age", "home", "illness"):
        frame = frame.withColumn(name, sql.functions.min(name).over(same))
    frame = columns_of.declared(frame.persist(), policy)
    ranges = LineRanges.of(policy, CodedBatch.concatenate(list(IncomingReader(policy, frame.toArrow()))), 3)
    assert len(ranges) == 3
    placed = [
        Counter(map(repr, ranges_of._placed(given, policy, ranges, (1, 2), "salt").collect()))
        for given in (
            frame.coalesce(1).sortWithinPartitions(sql.functions.col("visits").cast("string")),
            frame.coalesce(1).sortWithinPartitions(sql.functions.col("visits").cast("string").desc()),
        )
    ]
    assert placed[0] == placed[1]
    assert sum("over=True" in row for row in placed[0].elements()) == 600


def test_rows_of_which_another_column_is_null_are_not_hashed_alike(spark: Any) -> None:
    rows = spark.createDataFrame([(None, "x"), ("x", None), (None, None), ("x", "x")], "a string, b string")
    assert rows.select(ranges_of._chance(rows, "salt")[0]).distinct().count() == 4


@pytest.mark.parametrize(
    ("told", "cores"),
    [
        ({"spark.master": "local"}, 1),
        ({"spark.master": "local[3]", "spark.executor.cores": "9"}, 3),
        ({"spark.master": "local[3,5]"}, 3),
        ({"spark.master": "local[*]"}, None),
        ({"spark.master": "yarn", "spark.executor.cores": "9"}, 9),
        ({"spark.master": "spark://host:7077"}, None),
    ],
)
def test_the_cores_of_an_executor_are_those_that_spark_gives_it(told: dict[str, str], cores: int | None) -> None:
    assert columns_of.cores_of(SimpleNamespace(conf=told)) == cores


def test_a_range_has_the_share_of_the_memory_that_one_of_the_tasks_beside_it_may_take(spark: Any) -> None:
    cores = columns_of.cores_of(spark)

    def shares(pieces: Iterator[Any]) -> Iterator[Any]:
        list(pieces)
        yield pa.RecordBatch.from_pydict({"shares": [columns_of.tasks_at_once(cores)]})

    assert {row.shares for row in spark.range(2).mapInArrow(shares, "shares bigint").collect()} == {2}


def test_a_range_that_was_released_is_not_released_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges_of, "task_number", lambda: 4)
    monkeypatch.setattr(ranges_of, "tasks_at_once", lambda cores: cores)
    policy = Policy.load(write_policy(tmp_path))
    records = [{**one, "home.city": one["home"]["city"]} for one in people(200)]
    names = ["person", "age", "home.city", "visits", "illness"]
    columns = {f"c{place}": [one[name] for one in records] for place, name in enumerate(names)}
    piece = pa.RecordBatch.from_pydict({**columns, "over": [False] * 200})
    batch = CodedBatch.concatenate(list(IncomingReader(policy, piece.drop_columns(["over"]).rename_columns(names))))
    folder = tmp_path / "ranges"
    task = ranges_of._RangeTask(folder, whole(policy), names, LineRanges.of(policy, batch, 1), (1, 2), 1)
    with pytest.raises(InputError, match="is not there"):
        next(task(iter([piece])))
    folder.mkdir()
    with pytest.raises(ConnectionError):
        list(task(_lost(piece)))
    assert list(folder.iterdir()) == []
    assert [one.to_pylist() for one in task(iter([piece]))] == [[{"part": 4}]]
    before = contents(folder)
    assert list(before) != []
    list(task(iter([piece.slice(0, 100)])))
    assert contents(folder) == before


def _lost(piece: Any) -> Iterator[Any]:
    yield piece
    raise ConnectionError("an executor is gone")


def test_the_benchmark_of_ranges_runs(spark: Any, tmp_path: Path) -> None:
    data, program = shared_data("arx-adult"), module_of(ROOT / "benchmarks" / "spark_ranges.py")
    program.write_people(data, tmp_path / "in.csv", 3000)
    found = program.once(spark, tmp_path / "in.csv", data, tmp_path / "released", 4, by_chance=False)
    assert found["released"] == 3000
    assert 0 < found["loss"] < 0.5


# Signatures ------------------------------------------------------------------------------------------------------


def key_files(folder: Path) -> tuple[Path, Path]:
    """Return the file of a private key, and that of the public keys which an auditor has."""
    secret, public = folder / "sign.key", folder / "public.pem"
    secret.write_bytes(secret_of(1))
    public.write_bytes(ONE.public + OTHER.public)
    return secret, public


def test_micro_batches_are_signed_by_the_key_that_their_query_began_with(spark: Any, tmp_path: Path) -> None:
    query, seen = Query(spark, tmp_path), dict[int, StoredRelease]()
    query.key, public = key_files(tmp_path)

    def replace_key(made: StoredRelease, batch: int) -> None:
        first, seen[batch] = batch not in seen, made
        (tmp_path / "sign.key").write_bytes(secret_of(2))  # what is read is what lay there when the query began
        if batch == 1 and first:
            raise ConnectionError("after the release, and before Spark knows of it")

    with pytest.raises(Exception, match="before Spark knows"):
        query.run(replace_key)
    query.files.append(write_json_lines(query.source / "2.json", people(200, 2)))
    query.run(replace_key)
    found = {batch: signers_of(query.policy_path, made, public) for batch, made in seen.items()}
    assert found == {0: [ONE.name], 1: [ONE.name], 2: [OTHER.name]}
    one = seen[0]
    check_each_meddling_is_named(query.policy_path, one.records, one.certificates, tmp_path)


@pytest.mark.parametrize("by_chance", [False, True], ids=["ranges", "groups"])
def test_a_table_is_signed_by_a_key_that_no_task_is_given(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_chance: bool
) -> None:
    (secret, public), path, sent = key_files(tmp_path), write_policy(tmp_path), list[bytes]()
    pickled = serializers.CloudPickleSerializer.dumps

    def noted(self: Any, task: Any) -> bytes:
        sent.append(pickled(self, task))
        return sent[-1]

    monkeypatch.setattr(serializers.CloudPickleSerializer, "dumps", noted)
    made = spark_host.release_dataframe(
        table_of(spark, tmp_path, 2000),
        Policy.load(path),
        tmp_path / "released",
        groups=3,
        by_chance=by_chance,
        signing_key_file=secret,
    )
    assert len(made) == (3 if by_chance else 1)
    for one in made:
        assert signers_of(path, one, public) == [ONE.name]
    check_each_meddling_is_named(path, made[-1].records, made[-1].certificates, tmp_path)
    assert any(b"GroupTask" in task or b"_RangeTask" in task for task in sent)
    bare = b"".join(secret_of(1).splitlines()[1:-1])
    hidden = (bare, base64.b64decode(bare), bytes([1]) * 32, b"sign.key")
    assert not any(one in task for task in sent for one in hidden)


@pytest.mark.parametrize("content", [None, b"Mrs Smith, a secret of many bytes", ONE.public])
def test_a_key_that_is_none_is_refused_in_the_driver_before_a_row_is_looked_at(
    content: bytes | None, tmp_path: Path
) -> None:
    policy, folder, secret = Policy.load(write_policy(tmp_path)), tmp_path / "released", tmp_path / "sign.key"
    if content is not None:
        secret.write_bytes(content)
    untouched = SimpleNamespace()  # any look at it is an AttributeError
    for begin in (
        lambda: spark_host.release_dataframe(untouched, policy, folder, signing_key_file=secret),
        lambda: spark_host.released_batches(policy, folder, signing_key_file=str(secret)),
    ):
        with pytest.raises(SettingsError, match=r"key_file: (cannot be read|is no private key)") as told:
            begin()
        assert str(secret) in str(told.value)
        assert "Smith" not in str(told.value)
    assert not folder.exists()

"""Compare ranges of a line and groups by chance of a DataFrame in Spark, on a file of made-up people.

    python benchmarks/spark_ranges.py [--records 200000] [--groups 20] [--json FILE]

Prints information loss and the records that were released, of each way. Needs Java 17 and the extra `spark`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyspark.sql import SparkSession

from benchmarks.adult import DATA, adult_policy
from benchmarks.report import in_words, machine, write_json
from benchmarks.whole_tables import write_people
from stream_anon.hosts.spark import release_dataframe

WAYS = {"ranges": False, "by chance": True}


def once(spark: Any, source: Path, data: Path, folder: Path, groups: int, by_chance: bool) -> dict[str, float]:
    """Return what one way loses."""
    frame = spark.read.csv(str(source), header=True, inferSchema=True)
    policy = adult_policy(data, 10_000)
    made = release_dataframe(frame, policy, folder, groups=groups, by_chance=by_chance)
    records = sum(one.records_in for one in made)
    return {
        "loss": sum(one.report["gcp"] * one.records_in for one in made) / records,
        "released": sum(one.released for one in made),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not arguments.data.exists():
        print(f"{arguments.data}: is not there", file=sys.stderr)
        return 2
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    spark, found, about = builder.getOrCreate(), {}, machine()
    print(in_words(about))
    print(f"{arguments.records:,} records, k = 10, {arguments.groups} groups")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.csv"
        write_people(arguments.data, source, arguments.records)
        for way, by_chance in WAYS.items():
            released = Path(folder) / way.replace(" ", "-")
            one = found[way] = once(spark, source, arguments.data, released, arguments.groups, by_chance)
            print(f"{way:12}{one['loss']:8.4f}{one['released']:12,}")
    spark.stop()
    write_json(arguments.json, {"machine": about, "records": arguments.records, "ways": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A batch job of Spark that releases a table of visits in groups, each in a task of its own.

    pip install '.[spark]'                                      # in a clone; needs Java 17
    python examples/engines/spark_batch.py VISITS RELEASED 4    # JSON Lines in, a folder of Parquet out, groups

RELEASED appears when all groups are whole: RELEASED/part=NUMBER. Certificates stand in RELEASED/_private.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from stream_anon import Policy
from stream_anon.hosts.release_folder import StoredRelease
from stream_anon.hosts.spark import release_dataframe

POLICY = Path(__file__).with_name("policy.yaml")


def release(spark: SparkSession, visits: str, released: str, groups: int) -> list[StoredRelease]:
    """Release what lies in the file or folder `visits`."""
    return release_dataframe(spark.read.json(visits), Policy.load(POLICY), released, groups=groups)


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for one in release(SparkSession.builder.getOrCreate(), sys.argv[1], sys.argv[2], int(sys.argv[3])):
        print(one.records, one.records_in, one.released)

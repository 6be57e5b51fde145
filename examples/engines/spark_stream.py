"""A streaming query of Spark that releases each micro-batch of visits, k-anonymous.

    pip install '.[spark]'                                   # in a clone; needs Java 17
    python examples/engines/spark_stream.py VISITS RELEASED  # folders: JSON Lines in, Parquet out

Each micro-batch becomes RELEASED/batch=NUMBER, and its certificates stand in RELEASED/_private. Stop it and
start it again: it continues where it was, and releases nothing twice.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from stream_anon import Policy
from stream_anon.hosts.spark import released_batches

POLICY = Path(__file__).with_name("policy.yaml")
SCHEMA = """patient struct<id: string, age: int, sex: string, zip: string>,
            visit struct<date: string, department: string>, diagnosis string"""


def start(spark: SparkSession, visits: str, released: str) -> Any:
    """Start the query on what lies in the folder `visits`; return it."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(visits)
    release = released_batches(Policy.load(POLICY), released)
    writer = stream.writeStream.foreachBatch(release).option("checkpointLocation", f"{released}.checkpoint")
    return writer.trigger(availableNow=True).start()


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    start(SparkSession.builder.getOrCreate(), *sys.argv[1:3]).awaitTermination()

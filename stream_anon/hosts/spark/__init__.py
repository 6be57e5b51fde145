"""Releases of Spark: of each micro-batch of a stream, and of a DataFrame, as one table or in groups.

::

    policy = Policy.load("policy.yaml")
    spark.readStream.table("visits").writeStream.foreachBatch(released_batches(policy, "/data/released")).start()

Needs the extra `spark`. docs/guides/integrations.md says what holds and what does not.
"""

try:
    import pyspark as _pyspark  # noqa: F401 - imported here to tell users who lack it what to install
except ModuleNotFoundError as error:
    if error.name != "pyspark":
        raise
    text = "stream_anon.hosts.spark needs pyspark: pip install '.[spark]' in a clone"
    raise ImportError(text) from None

from stream_anon.hosts.spark.dataframes import release_dataframe
from stream_anon.hosts.spark.micro_batches import released_batches

__all__ = ["release_dataframe", "released_batches"]

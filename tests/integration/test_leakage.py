"""`stream-anon leakage` on the input topic of a settings file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from stream_anon.errors import InputError
from stream_anon.operations.leakage.leakage_study import LeakageRequest, study_leakage
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import read_table
from stream_anon.settings.policy_file import load_policy
from tests.support.apache_kafka import ApacheKafka
from tests.support.plain_kafka import admin_of, create_topics, fill
from tests.support.policies import people, write_policy

pytestmark = pytest.mark.kafka


async def _topics(address: str) -> set[str]:
    async with admin_of(address) as admin:
        return set(await admin.list_topics())


def test_a_sample_of_the_topic_is_ranked_and_a_missing_topic_is_not_created(
    kafka: ApacheKafka, unique: str, tmp_path: Path
) -> None:
    names = {"input": f"{unique}.in", "output": f"{unique}.out"}
    config = write_policy(
        tmp_path, kafka={"bootstrap_servers": kafka.address, "group": unique, "development": True, **names}
    )
    with pytest.raises(InputError, match="no such topic"):
        read_table(load_policy(config), SampleSource(None, config))
    assert f"{unique}.in" not in asyncio.run(_topics(kafka.address))
    values = [json.dumps(record).encode() for record in people(200)]
    asyncio.run(create_topics(kafka.address, [f"{unique}.in"]))
    asyncio.run(fill(kafka.address, f"{unique}.in", [*values, b"{"]))
    report = study_leakage(read_table(load_policy(config), SampleSource(None, config)), LeakageRequest())
    assert (report.source, report.individuals, report.rejected, report.whole) == (f"{unique}.in", 200, 1, False)
    assert [each.attributes for each in report.sets] == [("age",), ("home.city",), ("age", "home.city")]
    assert report.sets[1].bits == pytest.approx(2.0, abs=0.1)

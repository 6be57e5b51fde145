"""Workers as real processes on a real Kafka."""

from __future__ import annotations

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.service import Stage, WorkerProcess, check_published, make_records, produce, wait_until_accounted

pytestmark = pytest.mark.kafka


async def test_one_worker_loses_repeats_or_exposes_a_record(kafka: ApacheKafka, unique: str, tmp_path) -> None:
    stage = Stage(kafka, unique, tmp_path)
    await stage.create_topics()
    await produce(stage, make_records(2000, 1))
    with WorkerProcess(stage.config()) as worker:
        await produce(stage, make_records(500, 2, first=2000))
        published = await wait_until_accounted(stage, 2500)
        check_published(published, 2500)
        assert len(published.records) > 2000
        assert worker.get("/readyz")[0] == 200

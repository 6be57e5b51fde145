"""Records that fit the input and, once they are generalized, not the output; and batches that hold too much."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml
from aiokafka import AIOKafkaProducer

from tests.support.service import K, Stage, WorkerProcess, make_records, produce, wait_until_accounted

pytestmark = pytest.mark.kafka
LARGEST_INPUT = 1_048_510  # bytes of a value that a topic takes by default


def with_notes(stage: Stage) -> Path:
    """Return settings by which a text passes."""
    path = stage.config(window={"max_records": 43, "max_delay": "3s"})
    document = yaml.safe_load(path.read_text())
    document["attributes"]["note"] = {"role": "insensitive", "accept_linkable": True}
    path.write_text(yaml.safe_dump(document))
    return path


async def test_records_that_outgrow_the_output_are_dead_letters_and_later_ones_come_out(stage: Stage) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=stage.kafka.address, acks="all", max_request_size=2**21)
    await producer.start()
    try:
        for n in range(3):
            record = {"person": 10_000 + n, "age": 30 + n, "city": "Bonn", "serial": n, "note": ""}
            room = LARGEST_INPUT - len(json.dumps(record))
            value = json.dumps({**record, "note": "x" * room}).encode()
            assert len(value) == LARGEST_INPUT
            await producer.send_and_wait(stage.name, value, partition=0)
    finally:
        await producer.stop()
    await produce(stage, make_records(40, 1, first=3))
    with WorkerProcess(with_notes(stage)) as worker:
        published = await wait_until_accounted(stage, 43)
        letters = [(e["reason"], e["attribute"], e["partition"], e["offset"]) for e in published.dead_letters]
        assert sorted(letters) == [("too-large", None, 0, offset) for offset in range(3)]
        assert not worker.said("commit-uncertain"), "a record that does not fit was sent"
        await produce(stage, make_records(40, 2, first=43))
        published = await wait_until_accounted(stage, 83)
        assert worker.get("/readyz")[0] == 200
    counts = Counter(published.serials)
    assert set(counts) <= set(range(3, 83))
    assert max(counts.values()) == 1
    heads = [c for c in published.certificates if c["part"] == 1]
    assert all(c["in"] == c["released"] + c["suppressed"] + c["rejected"] for c in heads)
    assert sum(c["rejected"] for c in heads) == 3
    assert min(each["individuals"] for c in published.certificates for each in c["classes"]) >= K

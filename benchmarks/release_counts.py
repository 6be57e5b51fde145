"""Measure what counting releases of people costs: memory a person, time a record, and how long a start reads.

    python benchmarks/release_counts.py [--people 100000 1000000 10000000] [--read 1000000] [--json FILE]

In memory: bytes for each person who was released, at the most while the table grows and once it has; nanoseconds to
look a person up and to add one. On a real Kafka: an input of four partitions whose people were all released once,
in windows of 10,000, and the seconds until a worker that takes all four over knows their counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np
from aiokafka import AIOKafkaProducer

from benchmarks.on_kafka import Results, measured_on_kafka, parser_of
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.returns import KafkaReturns
from stream_anon.engine.release_counts import ReleaseCounts
from stream_anon.engine.returning import Returns, ReturnsKey
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.release import ReleasedPeople
from stream_anon.ports.release_history import entries_of
from tests.support.apache_kafka import ApacheKafka

KEY = ReturnsKey(b"a secret of a benchmark")
PERIOD, WINDOW, PARTITIONS = 30 * 86_400.0, 10_000, 4


def in_memory(people: int) -> dict[str, Any]:
    """Return what counts of so many people take."""
    counts = ReleaseCounts()
    counts.add(KEY.pseudonyms(np.arange(-WINDOW, 0)))  # compiled
    counts, held, adding = ReleaseCounts(), 0.0, 0.0
    for start in range(0, people, WINDOW):
        named = KEY.pseudonyms(np.arange(start, min(start + WINDOW, people)))
        before, begun = counts.held, time.perf_counter()
        counts.add(named)
        adding += time.perf_counter() - begun
        grown = counts.held > before
        if start + WINDOW >= 100_000:
            held = max(held, ((before if grown else 0) + counts.held) / len(counts))
    ids = np.random.default_rng(1).integers(0, people, 200_000)
    begun = time.perf_counter()
    counts.of(KEY.pseudonyms(ids))
    looked = time.perf_counter() - begun
    return {
        "people": people,
        "bytes_a_person": round(counts.held / people, 1),
        "most_bytes_a_person": round(max(held, counts.held / people), 1),
        "ns_to_look_up": round(looked / len(ids) * 1e9),
        "ns_to_add": round(adding / people * 1e9),
    }


async def reading(kafka: ApacheKafka, people: int) -> dict[str, Any]:
    """Return how long it takes to read the counts of so many people from a topic."""
    topic = "read.out.returns"
    await kafka.create_topic(topic, PARTITIONS)
    async with AIOKafkaProducer(bootstrap_servers=kafka.address) as producer:
        for number, start in enumerate(range(0, people, WINDOW)):
            named = np.sort(KEY.pseudonyms(np.arange(start, min(start + WINDOW, people))))
            for entry in entries_of(ReleasedPeople(int(time.time()), named), KEY.name):
                await producer.send(topic, entry, partition=number % PARTITIONS)
    returns = Returns(ReturnBound(10, PERIOD), KEY, time.time)
    places = [("read", partition) for partition in range(PARTITIONS)]
    begun = time.perf_counter()
    counts = {place: returns.empty() for place in places}
    await KafkaReturns(Connection(kafka.address, "g"), topic, KEY.name).read(
        places, lambda place, released: counts[place].take(released)
    )
    for (_, partition), own in counts.items():
        returns.open(partition, own)
    seconds = time.perf_counter() - begun
    assert returns.people == people, f"{returns.people} of {people} people were read"
    return {"people": people, "seconds_to_read": round(seconds, 2)}


async def run(given: argparse.Namespace, folder: Path) -> Results:
    results: Results = []
    for people in given.people:
        results.append(in_memory(people))
        print(json.dumps(results[-1]), flush=True)
    kafka = ApacheKafka(folder / "kafka")
    await asyncio.to_thread(kafka.__enter__)
    try:
        results.append(await reading(kafka, given.read))
        print(json.dumps(results[-1]), flush=True)
    finally:
        await asyncio.to_thread(kafka.kill)
    return results


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--read", type=int, default=1_000_000, help="people whose counts are read from a topic")
    return measured_on_kafka(parser, run)


if __name__ == "__main__":
    raise SystemExit(main())

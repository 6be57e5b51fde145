"""Produce made-up clinic visits at an even pace until stopped: something to watch the service with.

    python examples/producer.py --bootstrap-servers 127.0.0.1:9092 --topic clinic.visits --rate 300

A patient's visits go to one partition, as a producer with keys would send them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import zlib
from collections.abc import Iterator
from contextlib import suppress

from aiokafka import AIOKafkaProducer

from stream_anon.demo.clinic import visits

ROUND = 60_000  # visits until the same patients come again
TICK = 0.1  # seconds between two batches


def endless() -> Iterator[bytes]:
    """Yield visits for ever, other ones in each round."""
    seed = 0
    while True:
        yield from visits(ROUND, seed)
        seed += 1


def key_of(event: bytes) -> bytes:
    """Return what keeps a patient's visits together; a few visits are flawed on purpose and have no patient."""
    try:
        return str(json.loads(event)["patient"]["id"]).encode()
    except (ValueError, KeyError, TypeError):
        return b"nobody"


async def produce(servers: str, topic: str, rate: float, most: int | None) -> int:
    """Send `rate` visits a second until SIGTERM or SIGINT, or until `most` are out; return how many."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    producer = AIOKafkaProducer(bootstrap_servers=servers, acks="all", linger_ms=10)
    await producer.start()
    sent, owed = 0, 0.0
    try:
        partitions = len(await producer.partitions_for(topic))
        for event in endless():
            while owed < 1.0 and not stop.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), TICK)
                owed += rate * TICK
            if stop.is_set() or sent == most:
                break
            await producer.send(topic, event, partition=zlib.crc32(key_of(event)) % partitions)
            sent, owed = sent + 1, owed - 1.0
    finally:
        await producer.stop()
    return sent


def main() -> None:
    """Read the options, produce, and say how many visits went out."""
    options = argparse.ArgumentParser(description="Produce made-up clinic visits until stopped.")
    options.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    options.add_argument("--topic", default="clinic.visits")
    options.add_argument("--rate", type=float, default=300.0, help="visits a second")
    options.add_argument("--most", type=int, default=None, help="stop after so many")
    given = options.parse_args()
    sent = asyncio.run(produce(given.bootstrap_servers, given.topic, given.rate, given.most))
    print(f"{sent} visits sent")


if __name__ == "__main__":
    main()

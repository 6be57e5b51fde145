"""The measure of the service: bare aiokafka that passes records on exactly once and does nothing else.

    python benchmarks/pass_through.py BOOTSTRAP INPUT WINDOW

getmany, create_batch and send_batch, one transaction for each window; a window's count and ranges go to
INPUT.out.certificates, so that a reader sees it as it sees the service's.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

MAX_DELAY = 2.0


class PassThrough:
    """One consumer and one transactional producer."""

    def __init__(self, servers: str, topic: str, window: int) -> None:
        self._topic, self._window = topic, window
        self._consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=topic,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=200,
            session_timeout_ms=60_000,
        )
        self._producer = AIOKafkaProducer(
            bootstrap_servers=servers,
            transactional_id=f"{topic}-{time.monotonic_ns()}",
            acks="all",
            retry_backoff_ms=5,
            max_batch_size=512 * 1024,
            max_request_size=128 * 1024 * 1024,
        )

    async def run(self) -> None:
        """Pass records on until the process ends."""
        await self._consumer.start()
        await self._producer.start()
        count = len(await self._producer.partitions_for(f"{self._topic}.out"))
        print("ready", flush=True)
        while True:
            window: list[ConsumerRecord] = []
            opened = 0.0
            while len(window) < self._window and not (window and time.monotonic() - opened > MAX_DELAY):
                answer = await self._consumer.getmany(timeout_ms=200, max_records=self._window - len(window))
                opened = opened if window else time.monotonic()
                for records in answer.values():
                    window += records
            await self._publish(window, count)

    async def _publish(self, window: list[ConsumerRecord], count: int) -> None:
        ranges: dict[int, tuple[int, int]] = {}
        for record in window:
            start, _ = ranges.get(record.partition, (record.offset, 0))
            ranges[record.partition] = (start, record.offset + 1)
        async with self._producer.transaction():
            futures = []
            per = -(-len(window) // count)
            for partition in range(count):
                batch = self._producer.create_batch()
                for record in window[partition * per : (partition + 1) * per]:
                    if batch.append(key=None, value=record.value, timestamp=None) is None:
                        futures.append(await self._send(batch, partition))
                        batch = self._producer.create_batch()
                        batch.append(key=None, value=record.value, timestamp=None)
                if batch.record_count():
                    futures.append(await self._send(batch, partition))
            inputs = [{"partition": p, "start": a, "end": b} for p, (a, b) in ranges.items()]
            told = {"batch": "", "part": 1, "in": len(window), "inputs": inputs}
            note = json.dumps(told, separators=(",", ":")).encode()
            await self._producer.send_and_wait(f"{self._topic}.out.certificates", note, partition=0)
            await asyncio.gather(*futures)
            offsets = {TopicPartition(self._topic, p): end for p, (_, end) in ranges.items()}
            await self._producer.send_offsets_to_transaction(offsets, self._topic)

    async def _send(self, batch: object, partition: int) -> object:
        return await self._producer.send_batch(batch, f"{self._topic}.out", partition=partition)


async def main() -> None:
    await PassThrough(sys.argv[1], sys.argv[2], int(sys.argv[3])).run()


if __name__ == "__main__":
    asyncio.run(main())

"""What the ledger makes of records that are no entries: named, never skipped, and curable."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.connection import Connection
from stream_anon.adapters.kafka.ledger import KafkaLedger
from stream_anon.errors import BrokerError, TopicError

TOPIC = "out.ledger"
KEY = b'["people",1]'


class Log:
    """A consumer of one partition; `probe` of the same log."""

    def __init__(self, records: list[tuple[bytes | None, bytes | None]]) -> None:
        self.records = records
        self.read = 0
        self.error: Exception | None = None

    async def getmany(self, timeout_ms: int) -> dict[object, list[Any]]:
        await asyncio.sleep(0.001)
        if self.error is not None:
            raise self.error
        first, self.read = self.read, len(self.records)
        fresh = enumerate(self.records[first:], first)
        return {0: [SimpleNamespace(topic=TOPIC, partition=0, offset=i, key=k, value=v) for i, (k, v) in fresh]}

    async def end_offsets(self, places: object) -> dict[object, int]:
        return {0: len(self.records)}

    async def position(self, place: object) -> int:
        return self.read

    def assignment(self) -> set[int]:
        return {0}

    async def stop(self) -> None:
        await asyncio.sleep(0)


def follow(log: Log) -> KafkaLedger:
    ledger = KafkaLedger(Connection("127.0.0.1:9", "g"), TOPIC)
    consumer: Any = log
    ledger._consumer = ledger._probe = consumer
    ledger._follower = asyncio.create_task(ledger._follow(consumer))
    return ledger


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (KEY, b"not json"),
        (KEY, b"\xff"),
        (KEY, b"7"),
        (KEY, b'{"next":"7"}'),
        (KEY, b'{"next":-1}'),
        (KEY, b'{"next":true}'),
        (KEY, b"[]"),
        (b"people", b'{"next":7}'),
        (b'["people"]', b'{"next":7}'),
        (b'["people",-1]', b'{"next":7}'),
    ],
)
async def test_record_that_is_no_entry_is_skipped_or_not_named(key: bytes, value: bytes) -> None:
    good = (b'["people",0]', b'{"schema":1,"next":5}')
    log = Log([good, (key, value), good])
    ledger = follow(log)
    try:
        for _ in range(2):
            with pytest.raises(TopicError, match=r"^out\.ledger-0, offset 1: is no entry"):
                await ledger.caught_up()
        # The last word on a key counts.
        log.records.append((KEY, b'{"schema":1,"next":9}') if key == KEY else (key, None))
        expected = {("people", 0): 5, ("people", 1): 9} if key == KEY else {("people", 0): 5}
        assert await ledger.caught_up() == expected
    finally:
        await ledger.discard()


async def test_follower_that_ended_does_not_say_why() -> None:
    log = Log([])
    ledger = follow(log)
    try:
        assert await ledger.caught_up() == {}
        log.error = ConnectionResetError("words of a library")
        await asyncio.sleep(0.02)
        log.records.append((KEY, b'{"next":1}'))
        with pytest.raises(BrokerError, match=r"^following the ledger: ConnectionResetError$"):
            await ledger.caught_up()
    finally:
        await ledger.discard()

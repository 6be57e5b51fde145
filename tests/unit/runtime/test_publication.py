"""What is sent of a window beside its records: nothing that tells more than it must."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from stream_anon.runtime.publication import CHUNK
from tests.support.driver import Driver, people


async def test_output_partition_follows_the_input_or_the_order_of_arrival() -> None:
    async with Driver(window={"max_records": 5000}) as driver:
        driver.broker.send(people(5000), 0)
        await driver.settle()
        parcels = [p for p in driver.broker.committed if p.topic == "out"]
        assert len(parcels) == 5000 // CHUNK
        assert len(Counter(p.partition for p in parcels)) > 1
        order = [record["serial"] for record in driver.broker.records]
        assert sorted(order) == list(range(5000))
        neighbours = sum(abs(a - b) == 1 for a, b in pairwise(order))
        assert neighbours < 20, "shuffled records stand beside their neighbours"


async def test_two_workers_shuffle_alike() -> None:
    orders = []
    for _ in range(2):
        async with Driver(window={"max_records": 1000}) as driver:
            driver.broker.send(people(1000), 0)
            await driver.settle()
            orders.append([record["serial"] for record in driver.broker.records])
    assert orders[0] != orders[1], "the shuffle must not follow from the seed"

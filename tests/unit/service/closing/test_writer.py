"""What is sent of a window beside its records, and that it reveals no more than it must."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from stream_anon.ports import Parcel
from stream_anon.privacy.policy_document import PolicyDocument, join_document, read_document_part
from stream_anon.service.closing.writer import CHUNK, HOUR
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker


async def test_output_partitions_are_drawn_and_records_are_shuffled() -> None:
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


async def test_two_workers_with_one_seed_shuffle_differently() -> None:
    orders = []
    for _ in range(2):
        async with Driver(window={"max_records": 1000}) as driver:
            driver.broker.send(people(1000), 0)
            await driver.settle()
            orders.append([record["serial"] for record in driver.broker.records])
    assert orders[0] != orders[1], "the shuffle must not follow from the seed"


def _documents(broker: MemoryBroker) -> list[Parcel]:
    return [p for p in broker.committed if p.topic == "out.certificates" and "policy" in dict(p.headers)]


async def test_the_policy_document_goes_out_with_the_first_window_and_again_every_hour() -> None:
    async with Driver() as driver:
        counts = []
        for turn in range(4):
            driver.send(people(20, 20 * turn))
            await driver.settle()
            counts.append(len(_documents(driver.broker)))
            driver.clock.advance(HOUR if turn == 1 else 1)
        certificates, documents = driver.broker.certificates, _documents(driver.broker)
    assert len(certificates) == 4
    assert counts[0] == counts[1] == 1
    assert counts[3] == 2
    policy = driver.worker._parts.policy
    for parcel in documents:
        (part,) = parcel.values
        document = join_document([read_document_part(part or b"")])
        assert document == PolicyDocument.of(policy)
        assert parcel.headers == (("policy", document.promises.encode()),)
        assert {certificate["promises"] for certificate in certificates} == {document.promises}


async def test_each_worker_sends_the_policy_document_in_the_partition_of_its_first_certificate() -> None:
    broker = MemoryBroker()
    for number in range(2):
        async with Driver(broker, name=f"w{number}") as driver:
            driver.send(people(20, 20 * number))
            await driver.settle()
            await driver.stop()
    parcels = [p for p in broker.committed if p.topic == "out.certificates"]
    kinds = [name for parcel in parcels for name, _ in parcel.headers if name != "part"]
    assert kinds == ["policy", "batch"] * 2
    assert [p.partition for p in parcels[::2]] == [p.partition for p in parcels[1::2]]

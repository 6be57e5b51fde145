"""A service signs each part of what proves its windows, and sends the signature beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.writing.packed_batch import least_batch_bytes
from stream_anon.adapters.kafka.writing.shadow_producer import ShadowProducer
from stream_anon.audit.audit import Audit
from stream_anon.audit.verdict import Verdict
from stream_anon.ports import Parcel
from stream_anon.privacy.signing.signature import read_signature
from tests.support.driver import Driver, people
from tests.support.memory import OUTPUTS, MemoryBroker
from tests.support.signing import key_of, public_of, secret_of

KEY = key_of(1)


def _proof(broker: MemoryBroker) -> list[Parcel]:
    return [parcel for parcel in broker.committed if parcel.topic == "out.certificates"]


async def _published(folder: Path, windows: int = 3) -> tuple[MemoryBroker, Driver]:
    (folder / "key").write_bytes(secret_of(1))
    async with Driver(certificates={"sign": {"key_file": str(folder / "key")}}) as driver:
        for number in range(windows):
            driver.send(people(20, 20 * number))
            await driver.settle()
    return driver.broker, driver


def _verdict(broker: MemoryBroker, driver: Driver) -> Verdict:
    audit = Audit(driver.worker._parts.policy, public_keys=public_of(1))
    for parcel in broker.committed:
        headers: dict[str, Any] = dict(parcel.headers)
        batch = headers.get("batch", b"").decode()
        for value in parcel.values:
            if parcel.topic == "out.certificates":
                audit.add_part(value, batch, headers.get("signature"), parcel.partition, parcel.time)
    return audit.finish()


async def test_every_certificate_and_policy_document_of_a_service_is_signed(tmp_path: Path) -> None:
    broker, driver = await _published(tmp_path)
    parcels = _proof(broker)
    assert len(parcels) == 4
    for parcel in parcels:
        (part,), headers = parcel.values, dict(parcel.headers)
        assert part is not None
        assert public_of(1).holds(part, read_signature(headers["signature"]))
        assert list(headers) in (["policy", "signature"], ["batch", "part", "signature"])
    verdict = _verdict(broker, driver)
    assert verdict.counts.signed == 3
    assert [signer.key for signer in verdict.signers] == [KEY.name]
    assert all("signature" not in dict(p.headers) for p in broker.committed if p.topic != "out.certificates")


async def test_without_a_key_headers_are_what_they_were() -> None:
    async with Driver() as driver:
        driver.send(people(20))
        await driver.settle()
    names = [[name for name, _ in parcel.headers] for parcel in _proof(driver.broker)]
    assert names == [["policy"], ["batch", "part"]]


async def test_a_part_and_its_signature_fit_into_what_the_topic_takes(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(secret_of(1))
    broker = MemoryBroker()
    broker.largest["out.certificates"] = limit = 9_000
    sign = {"sign": {"key_file": str(tmp_path / "key")}}
    async with Driver(broker, certificates=sign, window={"max_records": 1500}) as driver:
        driver.send(people(1500))
        await driver.settle()
    document, *parts = _proof(broker)
    assert len(parts) > 1
    sizes = [least_batch_bytes(len(part.values[0] or b""), part.headers) for part in (document, *parts)]
    assert limit - 300 < max(sizes) <= limit


async def test_a_shadow_keeps_each_signature_behind_its_part() -> None:
    kept: list[bytes] = []
    producer = ShadowProducer(Connection("nowhere:9092", "g"), "c", OUTPUTS, kept.extend)
    parts = [Parcel("c", 0, [part], 0, (("batch", b"1"), ("signature", KEY.sign(part)))) for part in (b"a", b"b")]
    await producer.send([Parcel("out", 0, [b"a record"], 0), *parts])
    await producer.commit()
    assert kept == [b"a", KEY.sign(b"a"), b"b", KEY.sign(b"b")]

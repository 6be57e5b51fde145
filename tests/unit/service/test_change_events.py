"""A worker on a topic of change events: rows are released, everything else is counted by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_anon.service.events import WindowPublished
from tests.support.driver import Driver, people


def change(row: bytes, op: str = "c") -> bytes:
    """Return Debezium's event for a row."""
    return change_of(json.loads(row), op)


def change_of(value: dict[str, Any], op: str = "c") -> bytes:
    before, after = (value, None) if op == "d" else (None, value)
    source = {"connector": "postgresql", "table": "people"}
    return json.dumps({"before": before, "after": after, "source": source, "op": op}).encode()


def beside_rows() -> list[bytes | None]:
    """Return what a change stream holds beside rows: five events of four kinds."""
    deleted = change(people(1)[0], "d")
    truncated = b'{"op":"t","before":null,"after":null,"source":{"connector":"postgresql"}}'
    return [deleted, None, deleted, truncated, b'{"ts_ms":1700000000000}']


async def test_rows_after_changes_are_released_and_all_else_is_counted_by_name() -> None:
    async with Driver(kafka={"envelope": "debezium"}) as driver:
        rows = people(20)
        events = [change(row, "cru"[place % 3]) for place, row in enumerate(rows)]
        driver.send([*events[:10], *beside_rows(), b"{}", *events[10:]])
        await driver.settle()
        (certificate,) = driver.broker.certificates
        assert (certificate["in"], certificate["released"], certificate["rejected"]) == (26, 20, 1)
        assert certificate["ignored"] == {"deleted": 2, "tombstone": 1, "truncated": 1, "heartbeat": 1}
        assert certificate["rejected_by_reason"] == {"wrong-envelope": 1}
        (letters,) = (p for p in driver.broker.committed if p.topic == "out.dead-letters")
        assert [json.loads(letter or b"")["offset"] for letter in letters.values] == [15]
        told = driver.told(WindowPublished)[0]
        assert told.ignored == {"deleted": 2, "truncated": 1, "tombstone": 1, "heartbeat": 1}
        assert (told.rejected, told.faults) == ({"wrong-envelope": 1}, {("wrong-envelope", -1): 1})
        assert sorted(record["serial"] for record in driver.broker.records) == list(range(20))


async def test_rows_with_a_column_op_are_dead_letters_and_never_ignored() -> None:
    async with Driver(kafka={"envelope": "debezium", "updates": "skip"}) as driver:
        rows = [json.loads(row) | {"op": "dtmu"[place % 4]} for place, row in enumerate(people(20))]
        driver.send([json.dumps(row).encode() for row in rows])
        await driver.advance(11)
        (certificate,) = driver.broker.certificates
        assert certificate["rejected_by_reason"] == {"wrong-envelope": 20}
        assert certificate.get("ignored", {}) == {}


async def test_offsets_of_ignored_records_are_committed_and_no_dead_letter_is_written() -> None:
    async with Driver(kafka={"envelope": "debezium"}) as driver:
        driver.send(beside_rows())
        await driver.advance(11)
        (certificate,) = driver.broker.certificates
        assert (certificate["in"], certificate["released"], certificate["rejected"]) == (5, 0, 0)
        assert certificate["inputs"][0]["end"] == 5
        assert {p.topic for p in driver.broker.committed} == {"out.certificates", "ledger"}


@pytest.mark.parametrize(("updates", "released"), [("release", 20), ("skip", 10)])
async def test_updates_are_released_or_skipped_as_the_settings_say(updates: str, released: int) -> None:
    async with Driver(kafka={"envelope": "debezium", "updates": updates}) as driver:
        driver.send([change(row, "cu"[place % 2]) for place, row in enumerate(people(20))])
        await driver.advance(11)
        (certificate,) = driver.broker.certificates
        assert (certificate["in"], certificate["released"]) == (20, released)
        assert certificate.get("ignored", {}) == ({"update": 10} if updates == "skip" else {})


async def test_a_column_that_the_database_did_not_log_is_missing_and_never_published() -> None:
    rows = [json.loads(row) for row in people(20)]
    for row in rows[:5]:
        row["note"] = "__debezium_unavailable_value"
    note = {"note": {"role": "insensitive", "accept_linkable": True, "accept_missing": True}}
    async with Driver(kafka={"envelope": "debezium"}, attributes=note) as driver:
        driver.send([change(json.dumps(row).encode()) for row in rows])
        await driver.settle()
        assert {record["note"] for record in driver.broker.records} == {None}
        assert driver.broker.certificates[0]["missing"] == {"note": 20}


async def test_cloudevents_and_pairs_of_connect_are_read_too() -> None:
    for envelope, before in (
        ("cloudevents", b'{"specversion":"1.0","id":"1","source":"/","type":"t","data":'),
        ("connect", b'{"schema":{"type":"struct"},"payload":'),
    ):
        async with Driver(kafka={"envelope": envelope}) as driver:
            driver.send([before + row + b"}" for row in people(20)])
            await driver.settle()
            assert len(driver.broker.records) == 20

"""Learning schemas: what fails is told at once, what is doubted is asked twice, and memory is bounded."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stream_anon.errors import RegistryError
from stream_anon.formats.registry import asked_schemas as known
from stream_anon.formats.registry import memory, schema_learning
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas
from tests.support.registry.memory_registry import MemoryRegistry
from tests.unit.formats.registry.test_framed_texts import PERSON, V1, V2, _avro, _codec, _id, _outcome, _policy


@pytest.fixture(autouse=True)
def _short_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "DOUBTED", 0.02)
    monkeypatch.setattr(known, "HELD", 0.02)


async def test_silence_is_told_after_one_timeout_however_many_schemas_are_named(tmp_path: Path) -> None:
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, timeout=0.2)
        registry.speaking.clear()
        begun = time.monotonic()
        with pytest.raises(RegistryError, match=r"GET /schemas/ids/\d+: took too long"):
            await codec.learn([[_id(number) + b"x" for number in range(1, 401)]])
        assert time.monotonic() - begun < 8, "400 questions, 8 at a time, would take 10 s"
        registry.speaking.set()
    assert len(registry.asked) == 8


async def test_the_first_refusal_ends_all_questions_and_what_was_answered_before_is_kept(tmp_path: Path) -> None:
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        for number in range(1, 12):
            registry.add(V1, number)
        registry.faults[12] = web.Response(status=403)
        for _ in range(2):
            with pytest.raises(RegistryError, match=r"GET /schemas/ids/12: answered with status 403"):
                await codec.learn([[_id(number) + b"x" for number in range(1, 402)]])
        assert len(registry.asked) < 60
        assert "row" in _outcome(codec, [_avro(V1, PERSON, _id(number)) for number in range(1, 12)])


async def test_an_id_that_the_registry_learns_late_is_known_and_nothing_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "DOUBTED", 0.3)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        learning = asyncio.create_task(codec.learn([[_avro(V1, PERSON)]]))
        await asyncio.sleep(0.1)
        assert len(registry.asked) == 1
        registry.add(V1, 1)
        await learning
    assert _outcome(codec, [_avro(V1, PERSON)]) == ["row"]
    assert len(registry.asked) == 2


async def test_whoever_makes_ids_up_holds_records_up_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "DOUBTED", 0.05)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        registry.add(V1, 1)
        taken = []
        for number in range(2, 32):
            begun = time.monotonic()
            await codec.learn([[_avro(V1, PERSON), _id(number) + b"x"]])
            taken.append(time.monotonic() - begun)
            assert _outcome(codec, [_avro(V1, PERSON), _id(number) + b"x"]) == ["row", "unknown-schema"]
    assert sum(seconds >= 0.05 for seconds in taken[: known._HOLDS]) == known._HOLDS
    assert len(registry.asked) == 1 + 30 + known._HOLDS, "later ids are asked for once each"


async def test_ids_that_nobody_knows_are_told_a_few_by_name_and_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[UnknownSchemas]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, unheard=told.append)
        await codec.learn([[_id(number) + b"x" for number in range(1, 21)]])
        assert told == [UnknownSchemas(tuple("12345678"), 12)]
        await codec.learn([[_id(30) + b"x"]])
        assert len(told) == 1
        monkeypatch.setattr(known, "_UNKNOWN_EVERY", 0.0)
        await codec.learn([[_id(1) + b"x"]])
    assert told[1:] == [UnknownSchemas(("30",))]


async def test_schemas_beyond_the_room_are_told_as_changed_once_however_often_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_KEPT", 4 * memory._LEAST_KEPT)
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, noticed=told.append)
        for number in range(1, 9):
            registry.add(V2, number)
        for _ in range(3):
            for first in (1, 5):
                await codec.learn([[_id(number) + b"x" for number in range(first, first + 4)]])
    assert [change.schema for change in told] == [*"12345678"]


async def test_a_poll_that_names_more_than_there_is_room_for_reads_as_much_as_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_KEPT", 20_000)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        for number in (1, 2, 3):
            registry.add({**V1, "doc": "x" * 7_000}, number)
        values = [_avro(V1, PERSON, _id(number)) for number in (1, 2, 3)]
        await codec.learn([values])
        assert _outcome(codec, list(values)) == ["row", "row", "unknown-schema"]
        await codec.learn([values])
    assert len(registry.asked) == 3


async def test_schemas_are_parsed_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = 0, 0

    def counted(*given: Any) -> Any:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.01)
        at_once -= 1
        return schema_learning.learn(*given)

    monkeypatch.setattr(known, "learn", counted)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        for number in range(1, 9):
            registry.add(V1, number)
        await codec.learn([[_id(number) + b"x" for number in range(1, 9)]])
    assert most == 1

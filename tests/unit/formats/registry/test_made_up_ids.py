"""Floods of made-up ids: they cost few questions and little time, and shut out no schema. Time is made up too."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.errors import RegistryError
from stream_anon.formats.registry import asked_schemas as known
from stream_anon.formats.registry import budget, memory
from stream_anon.formats.registry.asked_schemas import Schemas
from stream_anon.formats.registry.framing import Framing, SchemaKey
from stream_anon.formats.registry.registered import RegisteredSchema
from stream_anon.formats.registry.schema_learning import BodyFormat, ParsedSchema
from stream_anon.formats.unwrapping import Unwrapped
from stream_anon.microdata.texts import Texts
from stream_anon.ports.schema_news import UnknownSchemas
from tests.support.skipping_loop import SkippingLoop

NEW = 500_000
"""The id of a schema that is registered while made-up ids come."""
HIGH, LOW = 1_000_000, 1
"""Where made-up ids begin: above the new schema, or below it."""


class _Registry:
    """Has some ids, and answers each question after so many seconds."""

    def __init__(self, *has: int, seconds: float = 0.001) -> None:
        self.has, self.asked, self._seconds = set(has), list[int | str](), seconds
        self.away = False

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Self]:
        yield self

    async def schema(self, number: int | str, *, alone: bool) -> RegisteredSchema | None:
        assert not alone
        await asyncio.sleep(self._seconds)
        if self.away:
            raise RegistryError("registry: away")
        self.asked.append(number)
        return RegisteredSchema("{}", "AVRO") if number in self.has else None


class _Reader:
    def unwrap(self, values: Texts) -> Unwrapped:
        return Unwrapped(values, np.zeros(len(values), np.int8))


class _Topic:
    """What one worker knows of schemas; reads polls of made-up ids, and of real ones among them."""

    def __init__(self, registry: _Registry, access: RegistryAccess | None = None) -> None:
        self.told, self.registry = list[UnknownSchemas](), registry
        form = BodyFormat("AVRO", lambda _: ParsedSchema(lambda _: (_Reader(), {})))
        access = access or RegistryAccess("http://127.0.0.1")
        self.schemas = Schemas(access, form, {}, unheard=self.told.append)
        self.schemas._registry = registry  # type: ignore[assignment]
        self.began = _now()

    async def read(self, ids: Iterable[int | str], times: int = 1) -> None:
        await self.schemas.learn({SchemaKey(number): times for number in ids})

    async def flood(self, seconds: float, first: int = HIGH) -> int:
        """Read 500 fresh ids every half second; return the first id that was not named."""
        end = _now() + seconds
        while _now() < end:
            await self.read(range(first, first + 500))
            first += 500
            await asyncio.sleep(0.5)
        return first

    def knows(self, number: int | str) -> bool:
        learned = self.schemas.reader(SchemaKey(number))
        return learned is not None and learned.reader is not None

    @property
    def budget(self) -> float:
        """Questions that the registry may have been asked so far."""
        elapsed = _now() - self.began
        return budget.MOST_SAVED + budget.A_SECOND * elapsed + known._HOLDS * known._MOST_DOUBTED


def _now() -> float:
    return asyncio.get_running_loop().time()


def _run(play: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await play()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(whole())


def test_three_thousand_made_up_ids_cost_no_more_questions_than_the_budget_has() -> None:
    async def play() -> None:
        topic = _Topic(_Registry())
        await topic.read(range(1, 3_001))
        assert _now() - topic.began < 6.5, "records wait once, for five seconds"
        assert (
            budget.MOST_SAVED < len(topic.registry.asked) <= topic.budget - (known._HOLDS - 1) * known._MOST_DOUBTED
        )
        await topic.flood(40)
        assert len(topic.registry.asked) <= topic.budget
        assert topic.told[0].unasked > 2_000

    _run(play)


@pytest.mark.parametrize("first", [HIGH, LOW])
def test_a_new_schema_in_the_midst_of_fresh_ids_loses_its_first_record_at_the_most(first: int) -> None:
    async def play() -> None:
        topic = _Topic(_Registry(NEW))
        later = await topic.flood(100, first)  # records wait for answers no more
        await topic.read([*range(later, later + 500), NEW])
        assert topic.knows(NEW) != topic.schemas.is_unasked(SchemaKey(NEW))
        later = await topic.flood(15, later + 500)
        await topic.read([*range(later, later + 500), NEW])
        assert topic.knows(NEW)
        assert topic.registry.asked.count(NEW) == 1

    _run(play)


def test_a_new_schema_of_two_records_in_a_poll_loses_none() -> None:
    async def play() -> None:
        topic = _Topic(_Registry(NEW))
        later = await topic.flood(70, LOW)
        await topic.schemas.learn({SchemaKey(NEW): 2} | {SchemaKey(one): 1 for one in range(later, later + 5_000)})
        assert topic.knows(NEW)

    _run(play)


def test_questions_are_left_for_an_id_that_two_records_named_however_often_fresh_ones_come() -> None:
    async def play() -> None:
        topic, ids = _Topic(_Registry(NEW)), itertools.count(HIGH)
        for _ in range(7):  # one after the other without a pause
            await topic.read([next(ids) for _ in range(1_000)])
        await topic.read([next(ids), NEW])
        assert topic.schemas.is_unasked(SchemaKey(NEW))
        await topic.read([next(ids), NEW])
        assert topic.knows(NEW)

    _run(play)


@pytest.mark.parametrize("ratio", [100, 1_000])
def test_whoever_repeats_made_up_ids_delays_a_new_schema_for_as_long_as_is_stated(ratio: int) -> None:
    """Made-up ids are named as often as the schema was by then, and once more: those pass before it."""

    async def play() -> None:
        topic, ids = _Topic(_Registry(NEW)), itertools.count(HIGH)
        await topic.flood(40, LOW)
        began, records, taken = _now(), 0, 0.0
        while not topic.knows(NEW) and taken <= ratio / 25 + 1:
            records += 1  # one of the schema a poll, of `ratio` others
            alike = [next(ids) for _ in range(ratio // (records + 1))]
            await topic.schemas.learn({SchemaKey(NEW): 1} | {SchemaKey(one): records + 1 for one in alike})
            taken = _now() - began
            await asyncio.sleep(0.2)
        assert topic.knows(NEW)
        assert len(topic.registry.asked) <= topic.budget

    _run(play)


def test_records_wait_for_a_small_part_of_the_time_whatever_is_named() -> None:
    async def play() -> None:
        topic, waited, ids = _Topic(_Registry()), 0.0, itertools.count(HIGH)
        while _now() - topic.began < 150:
            begun = _now()
            await topic.read([next(ids) for _ in range(500)])
            waited += _now() - begun
            await asyncio.sleep(1)
        asking = len(topic.registry.asked) / known._AT_ONCE * 0.001
        assert waited <= known._HOLDS * (known.HELD + 0.1) + asking + 1

    _run(play)


def test_a_slow_registry_is_not_asked_for_as_long_as_questions_come_back() -> None:
    async def play() -> None:
        topic = _Topic(_Registry(seconds=0.5))  # 16 answers a second
        await topic.read(range(1, 2_001))
        assert _now() - topic.began < 50

    _run(play)


@pytest.mark.parametrize("seconds", [0.1, 0.25, 0.5, 2.0])
def test_however_slow_a_registry_is_a_poll_of_made_up_ids_takes_about_a_second(seconds: float) -> None:
    async def play() -> None:
        topic = _Topic(_Registry(seconds=seconds))
        end, first, longest = _now() + 600, HIGH, list[float]()
        while _now() < end:
            begun = _now()
            await topic.read(range(first, first + 500))
            longest.append(_now() - begun)
            first += 500
        usual = sorted(longest)[: -2 * known._HOLDS]  # those that wait for second answers are few
        assert usual[-1] <= max(1.5, 2 * seconds)

    _run(play)


def test_real_schemas_cost_nothing_of_the_budget_however_many_are_new() -> None:
    async def play() -> None:
        topic = _Topic(_Registry(*range(1, 2_001)))
        await topic.flood(40)
        await topic.read(range(1, 2_001))
        assert all(map(topic.knows, range(1, 2_001)))
        assert _now() - topic.began < 80

    _run(play)


def test_what_the_registry_had_once_is_asked_for_whatever_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_KEPT", 2 * memory._LEAST_KEPT)

    async def play() -> None:
        topic = _Topic(_Registry(1, 2, 3))
        for number in (1, 2, 3):
            await topic.read([number])
        assert not topic.knows(1), "it was forgotten"
        await topic.read(range(HIGH, HIGH + 2_000), times=10)
        await topic.read([1, *range(HIGH, HIGH + 2_000)])
        assert topic.knows(1)

    _run(play)


def test_a_given_schema_is_learned_whatever_the_budget(tmp_path: Path) -> None:
    file = tmp_path / "given.avsc"
    file.write_text(json.dumps({"type": "string"}))

    async def play() -> None:
        access = RegistryAccess("http://127.0.0.1", schemas={str(NEW): file})
        topic = _Topic(_Registry(), access)
        await topic.read(range(HIGH, HIGH + 2_000), times=10)
        await topic.read([*range(HIGH, HIGH + 2_000), NEW])
        assert topic.knows(NEW)
        assert NEW not in topic.registry.asked

    _run(play)


def test_a_registry_that_is_away_costs_nothing_of_the_budget_and_makes_no_id_unknown() -> None:
    async def play() -> None:
        topic = _Topic(_Registry(*range(1, 301)))
        topic.registry.away = True
        for _ in range(40):
            with pytest.raises(RegistryError):
                await topic.read(range(1, 601))
        assert topic.schemas._memory._absent == {}
        assert topic.schemas._budget._left == budget.MOST_SAVED
        topic.registry.away = False
        await topic.read(range(1, 601))
        assert all(map(topic.knows, range(1, 301)))

    _run(play)


def test_an_id_is_found_a_minute_after_it_was_unknown_in_the_midst_of_a_flood() -> None:
    async def play() -> None:
        topic = _Topic(_Registry())
        await topic.read([NEW])
        topic.registry.has.add(NEW)
        later = await topic.flood(memory.ASKED_AGAIN - 1)
        await topic.read([NEW], times=2)
        assert not topic.knows(NEW)
        assert not topic.schemas.is_unasked(SchemaKey(NEW)), "it counts as unknown, and not as one to ask for"
        later = await topic.flood(2, later)
        await topic.read([*range(later, later + 500), NEW], times=2)
        await topic.read([NEW])
        assert topic.knows(NEW)

    _run(play)


def test_memory_is_bounded_whatever_ids_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_COUNTED", 700)
    monkeypatch.setattr(memory, "MOST_ABSENT", 400)
    monkeypatch.setattr(memory, "MOST_FORGOTTEN", 50)
    monkeypatch.setattr(memory, "MOST_KEPT", 2 * memory._LEAST_KEPT)
    monkeypatch.setattr(known, "_MOST_UNKNOWN", 600)

    async def play() -> None:
        topic = _Topic(_Registry(*range(1, 101)))
        for number in range(1, 101):
            await topic.read([number])
        await topic.flood(60)
        await topic.read(range(-5_000, 0))
        held = topic.schemas
        assert len(held._budget._records) <= 700
        assert len(held._memory._absent) == 400
        assert len(held._memory._forgotten) == 50
        assert len(held._unknown) <= 600

    _run(play)


def test_ids_that_nobody_is_asked_for_are_unknown_and_take_no_room_of_others() -> None:
    async def play() -> None:
        topic = _Topic(_Registry(), RegistryAccess("http://127.0.0.1", framing=Framing.GLUE))
        await topic.read(map(str, range(20_000)))
        assert (topic.registry.asked, topic.schemas._memory._absent) == ([], {})
        assert not topic.schemas.is_unasked(SchemaKey("5"))
        assert _now() == topic.began

    _run(play)

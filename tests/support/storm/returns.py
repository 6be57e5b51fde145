"""A bound on how often one person is released, and whether it held in a storm."""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiokafka import ConsumerRecord

from tests.support.service import Stage
from tests.support.storm.verdict import Topics, Verdict

_HEAD = struct.Struct(">B8sq")  # of an entry: its version, the name of a key, when its window was sealed
Counts = Mapping[tuple[str, int], int]
"""People by window and partition of the input."""


def bounded(stage: Stage, most: int) -> Stage:
    """Return a stage on which nobody is released more often, in a period that no storm outlasts."""
    (stage.folder / "returns.key").write_bytes(b"a secret of sixteen bytes or more")
    bound = {"returning": {"most": most, "period": "300d", "key_file": "returns.key"}}
    sections = {
        "privacy": {**stage.settings.get("privacy", {}), **bound},
        # Odd batches go to one partition, whose ever they are.
        "kafka": {**stage.settings.get("kafka", {}), "accept_risks": ["scattered-people"]},
    }
    return replace(stage, settings={**stage.settings, **sections})


async def noted(stage: Stage) -> Counts:
    """Return how many people the topic of returns names."""
    return people_noted(await stage.kafka.read_to_end(f"{stage.output}.returns"))


def people_noted(entries: Iterable[ConsumerRecord]) -> Counts:
    found: defaultdict[tuple[str, int], int] = defaultdict(int)
    for entry in entries:
        version, _, sealed = _HEAD.unpack_from(entry.value)
        assert (version, sealed > 1e9, entry.key) == (1, True, None)
        found[dict(entry.headers)["batch"].decode(), entry.partition] += (len(entry.value) - _HEAD.size) // 8
    return dict(found)


def people_released(released: Iterable[tuple[str, int, int]]) -> Counts:
    """Return how many people were released; of each record its window, the input's partition and its person."""
    return dict(Counter((batch, partition) for batch, partition, _ in set(released)))


def check_returns(
    verdict: Verdict, topics: Topics, entries: Iterable[ConsumerRecord], people: Sequence[int], most: int
) -> None:
    """Note who was released too often, and windows whose people are not those that were noted."""
    partition_of: dict[Any, int] = {
        json.loads(record.value)["serial"]: record.partition for life in topics.lives for record in life.given
    }
    released = set()
    for record in topics.output:
        serial = json.loads(record.value)["serial"]
        released.add((dict(record.headers)["batch"].decode(), partition_of[serial], people[serial]))
    often = Counter((partition, person) for _, partition, person in released)
    verdict.mismatch("a person released too often", sum(count > most for count in often.values()))
    counted, there = people_noted(entries), people_released(released)
    differ = sum(counted.get(place, 0) != there.get(place, 0) for place in counted.keys() | there.keys())
    verdict.mismatch("people of a window counted otherwise than released", differ)
    verdict.notes["people released as often as allowed"] = sum(count == most for count in often.values())

"""What holds for people who come back, in a storm: families of an illness, and a bound on their releases."""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from aiokafka import ConsumerRecord

from tests.support.service import Stage
from tests.support.storm.input import InputRecord
from tests.support.storm.verdict import Topics, Verdict

_HEAD = struct.Struct(">B8sq")  # of an entry: its version, the name of a key, when its window was sealed
FAMILIES = (("angina", "asthma", "flu"), ("cold", "cough", "stroke"))
ILLNESSES = tuple(sorted(value for family in FAMILIES for value in family))
Counts = Mapping[tuple[str, int], int]
"""People by window and partition of the input."""


def with_families(stage: Stage) -> Stage:
    """Return a stage on which an illness is published as its family."""
    families = {"illness": {"invariant": 3, "families": [list(family) for family in FAMILIES]}}
    privacy = {**stage.settings.get("privacy", {}), "sensitive": families}
    attributes = {"illness": {"role": "sensitive"}}
    return replace(stage, settings={**stage.settings, "privacy": privacy, "attributes": attributes})


def bounded(stage: Stage, most: int) -> Stage:
    """Return a stage on which nobody is released more often in 300 days."""
    (stage.folder / "returns.key").write_bytes(b"a secret of sixteen bytes or more")
    bound = {"returning": {"most": most, "period": "300d", "key_file": "returns.key"}}
    # Odd batches go to one partition, whose ever they are.
    kafka = {**stage.settings.get("kafka", {}), "accept_risks": ["scattered-people"]}
    privacy = {**stage.settings.get("privacy", {}), **bound}
    return replace(stage, settings={**stage.settings, "privacy": privacy, "kafka": kafka})


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


def check_families(verdict: Verdict, topics: Topics) -> None:
    """Note released records that do not show the family of their own illness; one in no family has none."""
    families = {value: "|".join(family) for family in FAMILIES for value in family}
    own = [json.loads(record.value) for record in _given(topics)]
    family_of = {value["serial"]: families.get(value["illness"]) for value in own}
    shown = [json.loads(record.value) for record in topics.output]
    others = sum(value["illness"] != family_of[value["serial"]] for value in shown)
    verdict.mismatch("an illness that is not shown as its family", others)
    verdict.notes["records with an illness in no family"] = sum(family is None for family in family_of.values())


def _given(topics: Topics) -> Iterable[ConsumerRecord | InputRecord]:
    return (record for life in topics.lives for record in life.given)


def check_returns(
    verdict: Verdict, topics: Topics, entries: Iterable[ConsumerRecord], people: Sequence[int], most: int
) -> None:
    """Note who was released too often, and windows whose people are not those that were noted."""
    partition_of = {json.loads(record.value)["serial"]: record.partition for record in _given(topics)}
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

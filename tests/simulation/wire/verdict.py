"""What a reader of committed records sees after a run, and whether any window is torn."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiokafka.record.memory_records import MemoryRecords

from tests.simulation.wire.model.broker import Cluster
from tests.simulation.wire.model.partition import Aborted
from tests.simulation.wire.worker import CERTIFICATES, LEDGER, OUTPUT

_ALL = 1 << 30


@dataclass
class Verdict:
    """What is wrong; all empty if nothing is.

    Parameters
    ----------
    twice
        Records that are visible twice, and in how many windows.
    lost
        Records that are not visible.
    torn
        Windows of which a part is visible, and which part.
    astray
        Partitions whose offsets do not stand where the ledger says.
    marked
        The ledger was marked as incomplete, which it never was.
    """

    twice: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    torn: dict[str, str] = field(default_factory=dict)
    astray: dict[str, str] = field(default_factory=dict)
    marked: bool = False

    def __bool__(self) -> bool:
        return bool(self.twice or self.lost or self.torn or self.astray or self.marked)


def judge(cluster: Cluster, ends: Mapping[int, int], group: str | None) -> Verdict:
    """Judge what is committed.

    Parameters
    ----------
    ends
        How many records each partition of the input has.
    group
        Whose offsets must stand where the ledger says; None if several groups share an output.
    """
    verdict = Verdict()
    released: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    for record in _committed(cluster, OUTPUT):
        released[dict(record.headers)["batch"].decode()][tuple(json.loads(record.value))] += 1
    told: dict[str, list[Any]] = defaultdict(list)
    for record in _committed(cluster, CERTIFICATES):
        document = json.loads(record.value)
        told[document["batch"]].append(document)
    noted: dict[str, list[tuple[int, int]]] = defaultdict(list)
    last: dict[int, int] = {}
    for record in _committed(cluster, LEDGER):
        (topic, number), entry = json.loads(record.key), json.loads(record.value)
        if topic == LEDGER:
            verdict.marked = True
            continue
        noted[entry["batch"]].append((number, entry["next"]))
        last[number] = entry["next"]
    for batch in sorted(released.keys() | told.keys() | noted.keys()):
        wrong = _torn(released[batch], told[batch], _entries_for(batch, told, noted))
        if wrong:
            verdict.torn[batch] = wrong
    copies = Counter[tuple[int, int]]()
    for records in released.values():
        copies.update(records)
    windows = Counter(record for records in released.values() for record in records)
    verdict.twice = {f"{n}@{o}": windows[n, o] for (n, o), count in sorted(copies.items()) if count > 1}
    verdict.lost = [f"{n}@{o}" for n, end in ends.items() for o in range(end) if (n, o) not in copies]
    offsets = cluster.group(group).offsets if group is not None else {}
    for (_, number), offset in sorted(offsets.items()):
        if offset != last.get(number, 0):
            verdict.astray[str(number)] = f"offset {offset}, ledger {last.get(number)}"
    return verdict


def _entries_for(
    batch: str, told: Mapping[str, list[Any]], noted: Mapping[str, list[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """Return the ends that the ledger has of a window: its own entries, or those of the last one of its bundle."""
    own, certificates = noted.get(batch, []), told.get(batch, [])
    if own or not certificates:
        return own
    ends, following = [tuple(end) for end in certificates[0]["ends"]], certificates[0]["following"]
    reached = dict(_entries_for(following, told, noted)) if following is not None else {}
    return [(n, end) for n, end in ends if reached.get(n, -1) >= end]


def _torn(records: Counter[tuple[int, int]], told: list[Any], noted: list[tuple[int, int]]) -> str:
    """Return which parts of a window do not fit each other; empty if it is whole."""
    if len(told) != 1:
        return f"{len(told)} certificates for {records.total()} records and {len(noted)} entries"
    wanted = Counter(tuple(serial) for serial in told[0]["records"])
    if records != wanted:
        return f"{records.total()} records, certified {wanted.total()}"
    if not {tuple(end) for end in told[0]["ends"]} <= set(noted):  # a bundle's hold those of its other windows too
        return f"{len(noted)} entries in the ledger, certified {len(told[0]['ends'])}"
    return ""


def _committed(cluster: Cluster, topic: str) -> list[Any]:
    found = []
    for number in range(cluster.topics[topic]):
        data, aborted = cluster.partitions[topic, number].read(0, _ALL, committed=True)
        found += committed_records(data, aborted)
    return found


def committed_records(data: bytes, aborted: list[Aborted]) -> list[Any]:
    """Return the records of batches that were read from the first offset on, without those of aborted ones."""
    waiting, gone, found = sorted(aborted, key=lambda a: a.first), set(), []
    records = MemoryRecords(data)
    while records.has_next():
        batch = records.next_batch()
        while waiting and waiting[0].first <= batch.base_offset:
            gone.add(waiting.pop(0).producer)
        if batch.is_control_batch:
            gone.discard(batch.producer_id)
        elif batch.producer_id not in gone:
            found += list(batch)
    return found

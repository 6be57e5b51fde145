"""What became of every record of the input, judged from output, certificates and dead letters alone."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from types import MappingProxyType
from typing import Any

from aiokafka import ConsumerRecord

from stream_anon.audit.audit import Audit
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.microdata.policy import Policy
from tests.support.service import K, Stage
from tests.support.storm.input import InputRecord, read_input

IN_NO_FAMILY = "unheard of"
Spot = tuple[int, int, int]
"""Life of the input, partition and offset."""


@dataclass
class Life:
    """The input from its creation to its deletion.

    Parameters
    ----------
    topic_id
        Kafka's; empty where the topic was never created anew.
    given
        Its records, read when nobody sent any more.
    ended
        Before the first window over the next life was closed, in seconds since the epoch.
    gone
        Records that retention deleted before they were released. They are not among `given`, and a range of a
        certificate may pass over them.
    """

    topic_id: str
    given: Sequence[ConsumerRecord | InputRecord]
    ended: float = inf
    gone: Sequence[InputRecord] = ()


@dataclass
class Verdict:
    """Figures of a storm. All but those of the first four must be 0.

    Parameters
    ----------
    accepted
        Records in the input topic.
    lost
        Accepted records of which nothing speaks; also acknowledged ones that are not in the input.
    gone
        Records that were deleted before they were released: by retention, or with their topic as the last ones of
        each partition.
    duplicated
        Releases and dead letters beyond a record's first, and records in the ranges of two certificates.
    under_k
        Classes with fewer than k distinct people.
    certificate_mismatches
        Gaps and overlaps between ranges, sums that disagree with the records, findings of the audit.
    """

    accepted: int = 0
    released: int = 0
    suppressed: int = 0
    dead_letters: int = 0
    lost: int = 0
    gone: int = 0
    duplicated: int = 0
    under_k: int = 0
    certificate_mismatches: int = 0
    windows: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.under_k or self.certificate_mismatches)

    def mismatch(self, what: str, count: int = 1) -> None:
        if count:
            self.certificate_mismatches += count
            self.notes[what] += count


@dataclass(frozen=True)
class Topics:
    """All committed records of the four topics; of the input those of all its lives."""

    lives: Sequence[Life]
    output: Sequence[ConsumerRecord]
    certificates: Sequence[ConsumerRecord]
    dead_letters: Sequence[ConsumerRecord]


async def read_topics(stage: Stage, before: Sequence[Life] = (), within: float = 120.0) -> Topics:
    """Return what the topics hold; `before` are the lives of the input before the present one."""
    given = await read_input(stage.kafka.address, stage.name)
    names = (".out.certificates", ".out", ".out.dead-letters")
    certificates, released, letters = [
        await stage.kafka.read_to_end(stage.name + name, within=within) for name in names
    ]
    lives = [*before, Life("", given.records)]
    lives = [
        replace(life, given=await asyncio.to_thread(_as_json, life.given, stage.decode_input)) for life in lives
    ]
    output = await asyncio.to_thread(_as_json, released, stage.decode)
    return Topics(lives, output, certificates, letters)


def _as_json(records: Sequence[Any], decode: Callable[[bytes], Any]) -> Sequence[Any]:
    """Return records of any format as the JSON that they mean."""
    if decode is json.loads:
        return records
    return [replace(record, value=json.dumps(decode(record.value)).encode()) for record in records]


def judge(
    topics: Topics,
    people: Sequence[int],
    acknowledged: set[int],
    policy: Policy,
    asked: Mapping[int, int] = MappingProxyType({0: K}),
) -> Verdict:
    """Return what became of every record.

    Parameters
    ----------
    people
        Whose record each serial number is.
    acknowledged
        Serial numbers that the broker said it has.
    asked
        The k of each revision of the policy.
    """
    given = {
        (number, record.partition, record.offset): json.loads(record.value)
        for number, life in enumerate(topics.lives)
        for record in life.given
    }
    verdict = Verdict(accepted=len(given))
    deleted = [json.loads(record.value) for life in topics.lives for record in life.gone]
    verdict.lost += len(acknowledged - {record["serial"] for record in [*given.values(), *deleted]})
    parts = [json.loads(record.value) for record in topics.certificates if "batch" in dict(record.headers)]
    firsts = [part for part in parts if part["part"] == 1]
    verdict.windows = len(firsts)
    covered = _check_ranges(verdict, firsts, given, topics.lives)
    _check_policies(verdict, firsts, asked, topics.lives)
    least = {certificate["batch"]: certificate["asked"]["k"] for certificate in firsts}
    released = _check_records(verdict, topics.output, people, least)
    rejected = _check_dead_letters(verdict, topics.dead_letters, given, topics.lives)
    _check_windows(verdict, firsts, given, covered, released, rejected)
    _audit(verdict, topics, policy)
    return verdict


def _check_ranges(
    verdict: Verdict, firsts: Sequence[Mapping[str, Any]], given: Mapping[Spot, Any], lives: Sequence[Life]
) -> dict[str, list[Spot]]:
    """Return the records in the ranges of each certificate."""
    ranges: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    covered: dict[str, list[Spot]] = defaultdict(list)
    times: Counter[Spot] = Counter()
    for certificate in firsts:
        for part in certificate["inputs"]:
            life, number = _life_of(part, lives), part["partition"]
            ranges[life, number].append((part["start"], part["end"]))
            spots = [(life, number, offset) for offset in range(part["start"], part["end"])]
            covered[certificate["batch"]] += [spot for spot in spots if spot in given]
            times.update(spots)
    for parts in ranges.values():
        parts.sort()
        if parts[0][0] != 0:
            verdict.mismatch("no range begins at 0")
        verdict.mismatch("a gap between ranges", sum(a[1] < b[0] for a, b in pairwise(parts)))
        verdict.mismatch("ranges overlap", sum(a[1] > b[0] for a, b in pairwise(parts)))
    open_spots = given.keys() - times.keys()
    ends = {place: parts[-1][1] for place, parts in ranges.items()}
    gone = {spot for spot in open_spots if spot[0] < len(lives) - 1 and spot[2] >= ends.get(spot[:2], 0)}
    verdict.gone = len(gone) + sum(len(life.gone) for life in lives)
    verdict.lost += len(open_spots - gone)
    verdict.duplicated += sum(count - 1 for spot, count in times.items() if count > 1 and spot in given)
    return covered


def _life_of(part: Mapping[str, Any], lives: Sequence[Life]) -> int:
    ids = [life.topic_id for life in lives]
    return ids.index(part["topic_id"]) if part["topic_id"] in ids else len(lives) - 1


def _check_policies(
    verdict: Verdict, firsts: Iterable[Mapping[str, Any]], asked: Mapping[int, int], lives: Sequence[Life]
) -> None:
    """Note windows that ask another k than their revision, and those of a revision below the one before them."""
    revisions: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for certificate in firsts:
        revision = certificate["revision"]
        verdict.mismatch("another k than the policy's", int(asked.get(revision) != certificate["asked"]["k"]))
        for part in certificate["inputs"]:
            revisions[_life_of(part, lives), part["partition"]].append((part["start"], revision))
    for parts in revisions.values():
        parts.sort()
        verdict.mismatch("an older policy came back", sum(a[1] > b[1] for a, b in pairwise(parts)))


def _check_records(
    verdict: Verdict, output: Iterable[ConsumerRecord], people: Sequence[int], least: Mapping[str, int]
) -> dict[str, set[int]]:
    """Return the serial numbers that each window released."""
    serials: Counter[int] = Counter()
    released: dict[str, set[int]] = defaultdict(set)
    classes: dict[tuple[str, str], set[int]] = defaultdict(set)
    for record in output:
        batch = dict(record.headers)["batch"].decode()
        value = json.loads(record.value)
        serial = value["serial"]
        serials[serial] += 1
        released[batch].add(serial)
        classes[batch, json.dumps([value["age"], value["city"]])].add(people[serial])
    verdict.released = serials.total()
    verdict.duplicated += serials.total() - len(serials)
    verdict.under_k = sum(len(members) < least.get(batch, K) for (batch, _), members in classes.items())
    return released


def _check_dead_letters(
    verdict: Verdict, letters: Iterable[ConsumerRecord], given: Mapping[Spot, Any], lives: Sequence[Life]
) -> set[Spot]:
    spots: Counter[Spot] = Counter()
    for record in letters:
        value = json.loads(record.value)
        life = sum(life.ended <= record.timestamp / 1000 for life in lives)
        spots[life, value["partition"], value["offset"]] += 1
    verdict.dead_letters = spots.total()
    verdict.duplicated += spots.total() - len(spots)
    verdict.mismatch("a dead letter of a good record", sum(_is_good(given.get(spot, {})) for spot in spots))
    return set(spots)


def _is_good(record: Mapping[str, Any]) -> bool:
    return not isinstance(record.get("age"), str) and record.get("illness") != IN_NO_FAMILY


def _check_windows(
    verdict: Verdict,
    firsts: Iterable[Mapping[str, Any]],
    given: Mapping[Spot, Any],
    covered: Mapping[str, Sequence[Spot]],
    released: Mapping[str, set[int]],
    rejected: set[Spot],
) -> None:
    batches = set()
    for certificate in firsts:
        batch = certificate["batch"]
        batches.add(batch)
        spots = covered.get(batch, [])
        out = released.get(batch, set())
        within = {given[spot]["serial"] for spot in spots}
        letters = sum(spot in rejected for spot in spots)
        verdict.suppressed += certificate["suppressed"]
        verdict.lost += max(len(within) - len(out) - certificate["suppressed"] - letters, 0)
        verdict.mismatch("records from outside of the window's ranges", len(out - within))
        verdict.mismatch("in is not what the ranges hold", int(certificate["in"] != len(within)))
        verdict.mismatch("released is not what is there", int(certificate["released"] != len(out)))
        verdict.mismatch("rejected is not what is there", int(certificate["rejected"] != letters))
    verdict.mismatch("records without a certificate", len(released.keys() - batches))


def _audit(verdict: Verdict, topics: Topics, policy: Policy) -> None:
    """Let the project's own audit read the same topics."""
    audit = Audit(policy)
    for part in topics.certificates:
        audit.add_part(part.value, dict(part.headers).get("batch", b"").decode())
    for record in topics.output:
        headers = dict(record.headers)
        bare = record.key is None and headers.keys() == {"batch"}
        audit.add_record(headers["batch"].decode(), decode_record(record.value), record.timestamp, bare=bare)
    for violation in audit.finish().violations:
        verdict.mismatch(f"audit: {violation.kind}", violation.count)

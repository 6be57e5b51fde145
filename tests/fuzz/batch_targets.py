"""Batches of Kafka records as a fetch brings them, against the specification of the format."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

import cramjam
from aiokafka import TopicPartition
from aiokafka.codec import lz4_decode, snappy_decode
from aiokafka.errors import CorruptRecordException
from aiokafka.record.util import calc_crc32c

from stream_anon.adapters.kafka.bulk import unpacking
from stream_anon.adapters.kafka.bulk.batch_head import HEAD, MARKERS, BatchHead
from stream_anon.adapters.kafka.bulk.batches import Fetched, UnreadableBatch
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.adapters.kafka.bulk.unread import Unread
from stream_anon.formats.registry.framing import Framing, headers_of
from stream_anon.ports.headers import NO_HEADERS, HeaderRule
from tests.fuzz import batch_inputs
from tests.fuzz.cases import Case, Fault, Kind, Limits
from tests.fuzz.poison import FILLS, poisoned
from tests.support.record_reference import Reference

RULES = (
    NO_HEADERS,
    headers_of(Framing.CONFLUENT),
    headers_of(Framing.CONFLUENT, messages=True),
    headers_of(Framing.APICURIO_GLOBAL, messages=True),
    headers_of(Framing.APICURIO_CONTENT),
)
_PLACE = TopicPartition("t", 0)
_MOST_VALUE = 1_000_000
_RECORDS = 4  # about so many are in a batch
_MOST_TAKES = 200  # of one batch
_UNPACK: Mapping[int, Callable[[bytes], bytes]] = {
    0: bytes,
    1: gzip.decompress,
    2: snappy_decode,
    3: lz4_decode,
    4: lambda packed: bytes(cramjam.zstd.decompress(packed)),
}
Found = tuple[int, int | None, bytes | None]
"""Offset, time, and value behind what headers put before it; None for a time that is not compared."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the specification says of a batch.

    Parameters
    ----------
    records
        Those before the first one that is not sound.
    sound
        Whether all of it is; if not, some of the records are given, and the batch is told.
    known
        Whether the specification says anything: not of streams that were changed and of headers that are not sound.
    after
        The offset behind it.
    """

    records: list[Found]
    sound: bool
    known: bool
    after: int


def wanted_of(batch: bytes, rule: HeaderRule, *, any_stream: bool = False) -> Wanted | None:
    """Return what a batch says; None if its head is none of the format.

    Parameters
    ----------
    any_stream
        Whether a stream that is compressed in another way than ours counts as known.
    """
    if len(batch) < HEAD:
        return None
    head = BatchHead.at(batch)
    if head.format != 2 or head.length != len(batch) - 12:
        return None
    after = head.next_offset
    if calc_crc32c(batch[21:]) != head.checksum:
        return Wanted([], sound=False, known=True, after=after)
    if head.attributes & MARKERS:
        return Wanted([], sound=True, known=False, after=after)
    codec, section = head.codec, batch[HEAD:]
    if codec not in _UNPACK or head.records < 0:
        return Wanted([], sound=False, known=head.records >= 0, after=after)  # no broker takes a count below 0
    try:
        plain = _UNPACK[codec](section)
    except Exception:  # noqa: BLE001 - libraries of four codecs
        plain = b""
    if codec and not any_stream and batch_inputs.PACKED[codec](plain) != section:
        return Wanted([], sound=False, known=False, after=after)
    found = list[Found]()
    try:
        for record in _records(plain, head, rule):
            found.append(record)
    except UnsoundError:
        return Wanted(found, sound=False, known=True, after=after)
    except _OddHeaders:
        return Wanted(found, sound=False, known=False, after=after)
    return Wanted(found, sound=True, known=True, after=after)


class _OddHeaders(Exception):  # noqa: N818 - it is an answer
    """Headers are not sound."""


def _records(plain: bytes, head: BatchHead, rule: HeaderRule) -> Iterator[Found]:
    reference = Reference(plain)
    for offset, moment_told, stop in reference.walk(head):
        value = reference.value(stop)
        lead = b"" if value is None or not rule.parts else rule.before(_held(reference, stop))
        reference.at = stop
        moment: int | None = moment_told
        if (fixed := head.fixed_time) is not None:
            moment = fixed if fixed >= 0 else None  # a broker sets it to its own clock
        yield offset, moment, None if value is None else lead + value


def _held(reference: Reference, stop: int) -> dict[bytes, bytes]:
    found = dict[bytes, bytes]()
    try:
        for _ in range(reference.number(32, stop)):
            name, value = reference.text(stop), reference.text(stop)
            if name is None:
                raise _OddHeaders
            found[name] = value or b""
    except UnsoundError:
        raise _OddHeaders from None
    return found


class BatchTarget:
    """Batches of one fetch; the setting is the number of the rule for headers."""

    def __init__(self, rules: Sequence[HeaderRule] = RULES) -> None:
        self._rules = rules

    def draw(self, draws: Random, count: int) -> Case:
        number = draws.randrange(len(self._rules))
        return Case(
            b"%d" % number, tuple(batch_inputs.batches(draws, max(count // _RECORDS, 1), self._rules[number]))
        )

    def check(self, case: Case, limits: Limits) -> None:
        rule = self._rules[int(case.setting)]
        batches = batch_inputs.moved([batch for batch in case.records if batch is not None])
        wanted = list[Wanted]()
        for number, batch in enumerate(batches):
            told = wanted_of(batch, rule)
            if told is None:  # what follows a head that is none is not told
                batches = batches[: number + 1]
                break
            wanted.append(told)
        # Where two end alike, or one without a sound head follows, an error does not say which it is about.
        ends = Counter(one.after for one in wanted)
        ends.update([one.after for one in wanted[-1:] if len(wanted) < len(batches)])
        wanted = [replace(one, known=one.known and ends[one.after] == 1) for one in wanted]
        fills = Random(len(batches)).sample(FILLS, 2)
        for fill, small in zip(fills, (False, True), strict=True):
            self._check_fetch(batches, wanted, rule, limits, fill=fill, in_pieces=small)

    def _check_fetch(
        self,
        batches: Sequence[bytes],
        wanted: Sequence[Wanted],
        rule: HeaderRule,
        limits: Limits,
        *,
        fill: int,
        in_pieces: bool,
    ) -> None:
        begun = time.process_time()
        with poisoned(fill), _read_in_pieces(in_pieces):
            found, told = _read(batches, wanted, rule)
        records = len(found) + sum(map(len, batches)) // 10
        if time.process_time() - begun > limits.seconds + limits.seconds_a_record * records:
            raise Fault(Kind.TIME)
        at = 0
        for one in wanted:
            own = list[Found]()
            while at < len(found) and found[at][0] < one.after:
                own.append(found[at])
                at += 1
            _check_batch(one, own, is_told=one.after in told)


def _check_batch(wanted: Wanted, found: Sequence[Found], *, is_told: bool) -> None:
    offsets = [offset for offset, _, _ in found]
    if offsets != sorted(set(offsets)):
        raise Fault(Kind.RANGE, "offsets")
    if not wanted.known:
        return
    of_reference = wanted.records if wanted.sound else wanted.records[: len(found)]
    if len(found) != len(of_reference):
        raise Fault(Kind.LOST, f"{len(found)} records, where the specification has {len(of_reference)}")
    for own, other in zip(found, of_reference, strict=True):
        if (own[0], own[2]) != (other[0], other[2]) or other[1] not in (None, own[1]):
            raise Fault(Kind.REFERENCE, "a record")
    if is_told == wanted.sound:
        raise Fault(Kind.REFERENCE, "told, though it is sound" if is_told else "not told, though it is not sound")


def _read(batches: Sequence[bytes], wanted: Sequence[Wanted], rule: HeaderRule) -> tuple[list[Found], set[int]]:
    """Return the records of a fetch, and the offsets at which reading went on after an error."""
    found, told, first = list[Found](), set[int](), 0
    begins = {one.after: number + 1 for number, one in enumerate(wanted)}
    start = 0
    while first < len(batches):
        budget = Budget(_MOST_VALUE)
        unread = Unread(
            _PLACE,
            Fetched(b"".join(batches[first:])),
            None,
            start,
            None,
            None,
            True,
            1,
            budget=budget,
            headers=rule,
        )
        try:
            for _ in range(_MOST_TAKES * len(batches)):
                if unread.exhausted:
                    return found, told
                budget.begin_poll()
                records = unread.take(None)
                if isinstance(records, Records):
                    found += zip(records.offsets.tolist(), records.times.tolist(), records.values, strict=True)
            raise Fault(Kind.TIME, "no end")
        except UnreadableBatch as error:
            following = begins.get(error.after, 0)
            if following <= first:
                if len(wanted) < len(batches):
                    return found, told  # the batch without a sound head
                raise Fault(Kind.RANGE, "reading goes on where no batch begins, or where it was") from None
            told.add(error.after)
            first, start = following, error.after
        except CorruptRecordException:  # of a batch of an older format
            return found, told
    return found, told


@contextmanager
def _read_in_pieces(small: bool) -> Iterator[None]:
    """Let even small batches be read as large ones are."""
    kept = unpacking.AT_ONE_GO, unpacking._FIRST
    if small:
        unpacking.AT_ONE_GO = unpacking._FIRST = 1
    try:
        yield
    finally:
        unpacking.AT_ONE_GO, unpacking._FIRST = kept

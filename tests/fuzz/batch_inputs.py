"""Batches of Kafka records that are wrong in many ways, most of them with a true checksum."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Mapping, Sequence
from random import Random

from aiokafka.record.util import calc_crc32c

from stream_anon.adapters.kafka.bulk.batch_head import HEAD, BatchHead
from stream_anon.ports.headers import HeaderRule
from tests.fuzz.mutations import mutated, odd_varint
from tests.support.hostile_batches import GZIP, MOST, PACK, Raw, batch_of, varint

PACKED: Mapping[int, Callable[[bytes], bytes]] = {**PACK, GZIP: lambda plain: gzip.compress(plain, mtime=0)}
"""What compresses, always to the same bytes."""
_SIZES = (0, 1, 3, -1, -2, 5, 8, 100, 10**6, MOST, -MOST - 1)
_TIMES = (0, 1, -1, 5, 2**62, 2**63 - 1, -(2**63))
_ATTRIBUTES = (0, 0, 0, 0, 8, 16, 24, 32, 48, 64, 128, -(2**15), 5, 6, 7)
WORDS = (b"\0", b"\1", b"\2", b"\x7f", b"\x80", b"\xff" * 5, b"\x80" * 5, b"\xff" * 10, b"\x80" * 9 + b"\1")


def batches(draws: Random, count: int, rule: HeaderRule) -> list[bytes]:
    """Return batches that begin at 0; now and then one without a sound head stands at the end."""
    found = [_batch(draws, rule) for _ in range(count)]
    if draws.random() < 0.3:
        found[-1] = mutated(found[-1], draws, found[:3], WORDS)
    return found


def _batch(draws: Random, rule: HeaderRule) -> bytes:
    odd = draws.choice((0, 0, 0.05, 0.3))  # of a record's parts
    records, place = list[Raw](), 0
    for _ in range(draws.choice((0, 1, 2, 3, 5, 8))):
        records.append(_record(draws, rule, place, odd))
        place += draws.choice((1, 1, 1, 2))
    codec = draws.choice((0, 0, 0, 0, 1, 2, 3, 4))
    last = place - 1 if draws.random() < 0.9 else draws.choice((-1, 0, place, place + 5, MOST, -(2**31)))
    count = (
        len(records) if draws.random() < 0.9 else draws.choice((0, -1, len(records) + 1, MOST, len(records) - 1))
    )
    tail = draws.randbytes(3) if draws.random() < 0.03 else b""
    whole = batch_of(
        records, codec=codec, packed=PACKED[codec], count=count, last=last, first_time=draws.choice(_TIMES),
        attributes=draws.choice(_ATTRIBUTES) if draws.random() < 0.2 else 0, tail=tail,
    )  # fmt: skip
    if draws.random() < 0.25:
        whole = whole[:HEAD] + mutated(whole[HEAD:], draws, [], WORDS)
    if draws.random() < 0.05:
        at = draws.randrange(21, HEAD)
        whole = whole[:at] + draws.randbytes(1) + whole[at + 1 :]
    return whole if draws.random() < 0.02 else sealed(whole)


def _record(draws: Random, rule: HeaderRule, place: int, odd: float) -> Raw:
    def is_odd() -> bool:
        return draws.random() < odd

    value = draws.choice((None, b"", b"v", b"value" * 3, draws.randbytes(30)))
    return Raw(
        value,
        delta=draws.choice((place - 1, place + 7, MOST, -1)) if is_odd() else place,
        delta_bytes=odd_varint(draws) if is_odd() else None,
        time=draws.choice(_TIMES),
        size=draws.choice(_SIZES) if is_odd() and is_odd() else None,
        value_size=draws.choice((odd_varint(draws), varint(draws.choice(_SIZES)))) if is_odd() else None,
        tail=b"" if is_odd() else _headers(draws, rule, is_odd),
    )


def _headers(draws: Random, rule: HeaderRule, is_odd: Callable[[], bool]) -> bytes:
    names = [b"other", b"", *rule.names, *rule.names, *(name[:-1] for name in rule.names)]
    count = draws.choice((0, 0, 0, 1, 2, 4))
    found = varint(draws.choice(_SIZES)) if is_odd() else varint(count)
    for _ in range(count):
        found += _sized(draws, draws.choice(names), is_odd)
        found += _sized(
            draws, draws.choice((None, b"", b"BINARY", bytes(5), draws.randbytes(8), bytes(17), b"x" * 30)), is_odd
        )
    return found


def _sized(draws: Random, text: bytes | None, is_odd: Callable[[], bool]) -> bytes:
    size = varint(-1 if text is None else len(text))
    return (draws.choice((odd_varint(draws), varint(draws.choice(_SIZES)))) if is_odd() else size) + (text or b"")


def sealed(batch: bytes, base: int = 0) -> bytes:
    """Return a batch at another place, with its true length and checksum."""
    data = bytearray(batch.ljust(HEAD, b"\0"))
    struct.pack_into(">qi", data, 0, base, len(data) - 12)
    data[16] = 2
    struct.pack_into(">I", data, 17, calc_crc32c(bytes(data[21:])))
    return bytes(data)


def moved(batches: Sequence[bytes]) -> list[bytes]:
    """Return batches as a broker keeps them, each behind the one before; checksums do not cover their places."""
    found, base = list[bytes](), 0
    for batch in batches:
        found.append(struct.pack(">q", base) + batch[8:])
        if len(batch) >= HEAD:
            base = BatchHead.at(found[-1]).next_offset
    return found

"""Batches of Kafka records made byte by byte, as no client makes them and as brokers take them nevertheless."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import cramjam
from aiokafka.codec import lz4_encode, snappy_encode, zstd_encode
from aiokafka.record.util import calc_crc32c

from stream_anon.adapters.kafka.bulk.batch_head import AFTER_LENGTH, ATTRIBUTES_AT, CHECKSUM_AT, HEAD, BatchHead

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
PACK: dict[int, Callable[[bytes], bytes]] = {
    NONE: bytes,
    GZIP: gzip.compress,
    SNAPPY: snappy_encode,
    LZ4: lz4_encode,
    ZSTD: zstd_encode,
}
MOST = 2**31 - 1


def varint(number: int, *, width: int = 0, beyond: int = 0) -> bytes:
    """Return a zigzag varint of at least `width` bytes, with further bits in the last one."""
    rest = (number << 1 ^ number >> 63) & (1 << 64) - 1
    out = bytearray()
    while rest > 127 or len(out) + 1 < width:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes(out) + bytes([rest | beyond])


@dataclass(frozen=True)
class Raw:
    """A record. What is None is as it should be."""

    value: bytes | None = b"value"
    delta: int | None = None
    time: int = 0
    size: int | None = None
    value_size: bytes | None = None
    delta_bytes: bytes | None = None
    time_bytes: bytes | None = None
    key_size: bytes | None = None
    tail: bytes = b"\0"  # the count of headers and these
    key: bytes | None = None

    def bytes_at(self, place: int) -> bytes:
        size = -1 if self.value is None else len(self.value)
        body = b"\0" + (varint(self.time) if self.time_bytes is None else self.time_bytes)
        body += (
            varint(place if self.delta is None else self.delta) if self.delta_bytes is None else self.delta_bytes
        )
        body += varint(-1 if self.key is None else len(self.key)) if self.key_size is None else self.key_size
        body += self.key or b""
        body += varint(size) if self.value_size is None else self.value_size
        body += (self.value or b"") + self.tail
        return varint(len(body) if self.size is None else self.size) + body


def batch_of(
    records: Sequence[Raw],
    *,
    base: int = 0,
    codec: int = NONE,
    count: int | None = None,
    last: int | None = None,
    first_time: int = 1_000,
    attributes: int = 0,
    tail: bytes = b"",
    packed: Callable[[bytes], bytes] | None = None,
) -> bytes:
    """Return a batch of format 2 with a true checksum.

    Parameters
    ----------
    count, last
        What the head says of them.
    tail
        Bytes behind the records, compressed with them.
    packed
        What compresses, where it is not `codec` itself.
    """
    plain = b"".join(record.bytes_at(place) for place, record in enumerate(records)) + tail
    section = (packed or PACK[codec])(plain)
    many = len(records)
    head = BatchHead(
        base_offset=base,
        length=HEAD - AFTER_LENGTH + len(section),
        attributes=codec | attributes,
        last_offset=many - 1 if last is None else last,
        first_time=first_time,
        largest_time=first_time,
        records=many if count is None else count,
    )
    return with_head(head.packed() + section)


def empty_members(count: int) -> bytes:
    """Return so many empty members of gzip."""
    return gzip.compress(b"", mtime=0) * count


def empty_frames(count: int) -> bytes:
    """Return so many empty frames of zstd."""
    return bytes(cramjam.zstd.compress(b"")) * count


def twice(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return what compresses the two halves one behind the other."""
    return lambda plain: pack(plain[: len(plain) // 2]) + pack(plain[len(plain) // 2 :])


def changed(pack: Callable[[bytes], bytes], cut: int, tail: bytes = b"") -> Callable[[bytes], bytes]:
    """Return what compresses, takes so many bytes away from the end, and puts others there."""

    def changing(plain: bytes) -> bytes:
        packed = pack(plain)
        return packed[: len(packed) - cut] + tail

    return changing


def behind(before: bytes, pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return what compresses, and puts other bytes before that."""
    return lambda plain: before + pack(plain)


def _wide(values: Sequence[bytes]) -> list[Raw]:
    """Return records with numbers of five bytes where one would do."""
    return [
        Raw(value, value_size=varint(len(value), width=5), delta_bytes=varint(place, width=5))
        for place, value in enumerate(values)
    ]


def _raw(values: Sequence[bytes], tail: bytes = b"\0") -> list[Raw]:
    return [Raw(value, tail=tail) for value in values]


_NO_TEXT = varint(1) + b"h" + varint(-1)
ODD: dict[str, Callable[[Sequence[bytes]], bytes]] = {
    "two streams of gzip": lambda values: batch_of(_raw(values), codec=GZIP, packed=twice(gzip.compress)),
    "two streams of zstd": lambda values: batch_of(_raw(values), codec=ZSTD, packed=twice(zstd_encode)),
    "empty members": lambda values: batch_of(
        _raw(values), codec=GZIP, packed=behind(empty_members(60), gzip.compress)
    ),
    "empty frames": lambda values: batch_of(_raw(values), codec=ZSTD, packed=behind(empty_frames(60), zstd_encode)),
    "wide numbers": lambda values: batch_of(_wide(values)),
    "packed wide numbers": lambda values: batch_of(_wide(values), codec=ZSTD),
    "a deletion horizon": lambda values: batch_of(_raw(values), attributes=64),
    "an unknown attribute": lambda values: batch_of(_raw(values), attributes=128),
    "a header without a value": lambda values: batch_of(_raw(values, varint(1) + _NO_TEXT)),
    "three hundred headers": lambda values: batch_of(_raw(values, varint(300) + _NO_TEXT * 300)),
}
"""Batches of any values that no client makes and every client reads."""

GOOD = [Raw(b"a"), Raw(b"b"), Raw(b"c")]


def _with_time(value: bytes, time: bytes) -> Raw:
    """Return a record at place 1 with the bytes of a time."""
    return Raw(value, time_bytes=time, delta=1)


def _raw_snappy(plain: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(plain))


def with_head(batch: bytes, **fields: int) -> bytes:
    """Return a batch with other fields of its head and a true checksum."""
    data = bytearray(BatchHead.at(batch)._replace(**fields).packed() + batch[HEAD:])
    struct.pack_into(">I", data, CHECKSUM_AT, calc_crc32c(bytes(data[ATTRIBUTES_AT:])))
    return bytes(data)


def _hostile() -> Iterator[tuple[str, bytes]]:
    """Yield names and batches: some are sound though odd, some are not, and a broker refuses some."""
    for delta in (7, 100, 2**20, MOST, -1, -7, 0, -(2**31)):
        yield f"delta {delta} first", batch_of([Raw(b"a", delta=delta), *GOOD[1:]])
        yield f"delta {delta} last", batch_of([*GOOD[:2], Raw(b"c", delta=delta)])
    yield "descending", batch_of([Raw(b"a", delta=2), Raw(b"b", delta=1), Raw(b"c", delta=0)])
    yield "all at one place", batch_of([Raw(b"a", delta=1), Raw(b"b", delta=1), Raw(b"c", delta=1)])
    for count, last in ((2, 2), (4, 3), (3, 5), (3, 0), (0, 2), (0, -1), (-1, 2), (1, MOST), (MOST, MOST - 1)):
        yield f"{count} records up to {last}", batch_of(GOOD, count=count, last=last)
    for codec, pack in PACK.items():
        yield f"junk behind the records of {codec}", batch_of(GOOD, codec=codec, tail=b"junk" * 5)
        yield f"junk behind the stream of {codec}", batch_of(GOOD, codec=codec, packed=changed(pack, 0, b"\1\2\3"))
        yield f"a cut stream of {codec}", batch_of(GOOD, codec=codec, packed=changed(pack, 3))
        yield f"a stream of {codec} in two", batch_of(GOOD, codec=codec, packed=twice(pack))
        yield f"a bad delta in {codec}", batch_of([Raw(b"a"), Raw(b"b", delta=9), Raw(b"c")], codec=codec)
    for beyond in (0x10, 0x70):
        name = f"bits {beyond} beyond 32"
        yield f"{name} of a place", batch_of([Raw(b"a"), Raw(b"b", delta_bytes=varint(1, width=5, beyond=beyond))])
        yield f"{name} of a length", batch_of([Raw(b"abc", value_size=varint(3, width=5, beyond=beyond))])
        yield f"{name}, packed", batch_of([Raw(b"abc", value_size=varint(3, width=5, beyond=beyond))], codec=GZIP)
    yield "six bytes of a length", batch_of([Raw(b"abc", value_size=varint(3, width=6))])
    for size in (0, 3, -1, 10**6, MOST):
        yield f"a record of {size} bytes", batch_of([Raw(b"a"), Raw(b"b", size=size), Raw(b"c")])
        yield f"a value of {size} bytes", batch_of([Raw(b"a"), Raw(b"b", value_size=varint(size)), Raw(b"c")])
    yield "a time that wraps", batch_of([Raw(b"a", time=2**62), Raw(b"b", time=-(2**63))], first_time=2**62)
    yield (
        "a packed time that wraps",
        batch_of([Raw(b"a", time=2**62), Raw(b"b", time=-(2**63))], first_time=2**62, codec=ZSTD),
    )
    yield "a header without a text", batch_of([Raw(b"a", tail=varint(1) + varint(1) + b"\xff" + varint(-1))])
    yield "headers that are not there", batch_of([Raw(b"a", tail=varint(9))])
    yield "a header of a negative name", batch_of([Raw(b"a", tail=varint(1) + varint(-5) + varint(1) + b"v")])
    yield "a marker of nobody", batch_of(GOOD, attributes=32)
    yield "of a transaction of nobody", batch_of(GOOD, attributes=16)
    yield "compression 7", batch_of(GOOD, attributes=7)
    yield "empty members", batch_of(GOOD, codec=GZIP, packed=behind(empty_members(9_000), gzip.compress))
    yield "empty frames", batch_of(GOOD, codec=ZSTD, packed=behind(empty_frames(9_000), zstd_encode))


def _of_odd_numbers() -> Iterator[tuple[str, bytes]]:
    """Yield batches whose records have numbers that are too wide, too large or below 0."""
    for beyond in (0, 0x10, 0x70):
        wide = varint(0, width=10, beyond=beyond)
        yield f"ten bytes of a time, bits {beyond}", batch_of([Raw(b"a"), _with_time(b"b", wide), Raw(b"c")])
    yield "eleven bytes of a time", batch_of([Raw(b"a"), _with_time(b"b", varint(0, width=11)), Raw(b"c")])
    yield "five bytes of all numbers", batch_of(_wide([b"a", b"b", b"c"]))
    yield "a number without an end", batch_of([Raw(b"a", tail=b"\x80" * 4)])
    for size in (-2, -100, -MOST - 1):
        yield f"a value of {size} bytes", batch_of([Raw(b"a"), Raw(b"", value_size=varint(size)), Raw(b"c")])
        yield f"a key of {size} bytes", batch_of([Raw(b"a"), Raw(b"b", key_size=varint(size)), Raw(b"c")])
    for size in (0, 3, MOST):
        yield f"a key of {size} bytes", batch_of([Raw(b"a"), Raw(b"b", key_size=varint(size)), Raw(b"c")])
    yield "a null value in the middle", batch_of([Raw(b"a"), Raw(None), Raw(b"c")])
    yield "only null values", batch_of([Raw(None)] * 3)
    yield "bytes behind the headers", batch_of([Raw(b"a", tail=b"\0junk"), Raw(b"b"), Raw(b"c")])
    for count in (-1, -MOST - 1, MOST, 200):
        yield f"{count} headers that are not there", batch_of([Raw(b"a", tail=varint(count)), Raw(b"b"), Raw(b"c")])
    yield "two thousand headers", batch_of([Raw(b"a", tail=varint(2_000) + _NO_TEXT * 2_000), Raw(b"b"), Raw(b"c")])
    yield "a header without a name", batch_of([Raw(b"a", tail=varint(1) + varint(-1) + varint(1) + b"v")])
    yield "a header of a long value", batch_of([Raw(b"a", tail=varint(1) + varint(1) + b"h" + varint(MOST) + b"v")])


def _of_odd_heads() -> Iterator[tuple[str, bytes]]:
    """Yield batches of sound records whose heads say what no client says."""
    for time in (-1, 0, MOST, 2**62, -(2**63)):
        yield f"{time} ms for the first time", batch_of(GOOD, first_time=time)
        yield f"{time} ms for the largest time", with_head(batch_of(GOOD), largest_time=time)
    yield "no records", batch_of([])
    yield "no records up to 5", batch_of([], last=5)
    for name in ("producer", "producer_epoch", "base_sequence"):
        for number in (0, 5, 32_767):
            yield f"{name} {number}", with_head(batch_of(GOOD), **{name: number})
    odd_producer = {"producer": 2**62, "producer_epoch": 5, "base_sequence": MOST}
    yield "producer, epoch and sequence", with_head(batch_of(GOOD), **odd_producer)
    yield "another leader's epoch", with_head(batch_of(GOOD), leader_epoch=7)
    yield "a wrong checksum", batch_of(GOOD)[:-1] + b"\x01"
    for attributes in (5, 6, 8, 24, 48, 64, 128, 256, 0x4000, -0x8000):
        yield f"attributes {attributes}", batch_of(GOOD, attributes=attributes)


def _of_odd_streams() -> Iterator[tuple[str, bytes]]:
    """Yield batches that are compressed in odd ways."""
    for codec in PACK:
        yield f"no stream of {codec}", batch_of(GOOD, codec=codec, packed=lambda plain: b"")
        yield f"plain bytes for {codec}", batch_of(GOOD, codec=codec, packed=bytes)
        yield f"no records of {codec}", batch_of([], codec=codec, last=2)
        yield f"a stream of {codec} with wide numbers", batch_of(_wide([b"a", b"b", b"c"]), codec=codec)
        yield f"null values of {codec}", batch_of([Raw(None)] * 3, codec=codec)
    yield "gzip said to be zstd", batch_of(GOOD, codec=ZSTD, packed=gzip.compress)
    yield "gzip in gzip", batch_of(GOOD, codec=GZIP, packed=lambda plain: gzip.compress(gzip.compress(plain)))
    yield "snappy without blocks of xerial", batch_of(GOOD, codec=SNAPPY, packed=_raw_snappy)


HOSTILE = dict((*_hostile(), *_of_odd_numbers(), *_of_odd_heads(), *_of_odd_streams()))
"""By names."""
UNREADABLE = ("delta 7 last", "delta 100 first", f"delta {MOST} last", "all at one place")
"""Names of those that a broker takes and that nobody can read."""

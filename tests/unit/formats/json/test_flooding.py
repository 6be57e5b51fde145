"""Values that a producer has chosen so that tables of them take a square of the time."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.attributes import Missing, Unknown
from stream_anon.microdata.batch import CodedBatch
from tests.support import hostile

COUNT = 10_000
# Python's hash of a positive integer is its remainder by this number. A table of n that collide takes n^2 steps.
FLOOD = [i * (2**61 - 1) for i in range(2, COUNT + 2)]
APART = [i * 2**61 + i for i in range(2, COUNT + 2)]


def decode(name: str, numbers: list[int]) -> tuple[CodedBatch, float]:
    codec = JsonCodec(hostile.plain_policy(Missing.LEAF, Unknown.ROOT))
    fields = {"id": 1, "count": 1}
    values = [str(fields | {name: number}).replace("'", '"').encode() for number in numbers]
    begun = process_time()
    batch = codec.decode(values, 0, np.arange(len(values)))
    return batch, process_time() - begun


@pytest.mark.parametrize("name", ["id", "count", "level"])
def test_integers_of_one_hash_take_no_longer_than_others(name: str) -> None:
    assert len(set(map(hash, FLOOD))) == 1
    decode(name, APART[:10])  # compiles
    usual = min(decode(name, APART)[1] for _ in range(3))
    assert min(decode(name, FLOOD)[1] for _ in range(3)) < 5 * usual + 0.1  # a table of one hash: 50 times


def test_different_integers_of_one_hash_have_different_keys() -> None:
    batch, _ = decode("count", FLOOD)
    assert len(set(batch.sensitive[2].tolist())) == COUNT
    batch, _ = decode("id", FLOOD)
    assert len(set(batch.individuals.tolist())) == COUNT

"""Sensitive numbers that readers see as one count as one, whichever reader coded them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stream_anon import Anonymizer, Policy
from stream_anon.formats.codecs import codec_of
from stream_anon.microdata.attributes import ScalarType, Sensitive
from stream_anon.microdata.sensitive_keys import criterion_keys
from tests.support.policies import write_policy

LARGE = [2**53, 2**53 + 1, float(2**53)]


def test_numbers_that_are_one_as_a_float_have_one_key_and_whole_numbers_keep_theirs() -> None:
    for ordered in (False, True):
        keys, _ = criterion_keys(Sensitive("x", ScalarType.NUMBER), [*LARGE, 1, 1.0, 10**400, None], ordered)
        assert len(set(keys.tolist())) == 4
    keys, _ = criterion_keys(Sensitive("x", ScalarType.INTEGER), [2**53, 2**53 + 1], False)
    assert len(set(keys.tolist())) == 2
    keys, sets = criterion_keys(Sensitive("x", ScalarType.NUMBER, many=True), [(2**53,), (2**53 + 1,)], False)
    assert len(set(keys.tolist())) == len(sets) == 1


@pytest.mark.parametrize("form", ["json", "records", "frame"])
def test_no_class_reaches_l_by_numbers_that_readers_see_as_one(tmp_path: Path, form: str) -> None:
    illness = {"role": "sensitive", "type": "number"}
    privacy = {"k": 4, "individual": "person", "sensitive": {"illness": {"distinct_l": 2}}}
    policy = Policy.load(write_policy(tmp_path, privacy=privacy, attributes={"illness": illness}))
    records = [
        {"person": f"p{n}", "age": 30, "home": {"city": "Oslo"}, "visits": 1, "illness": 2**53 + n % 2}
        for n in range(8)
    ]
    if form == "json":
        batch = codec_of(policy).decode([json.dumps(one).encode() for one in records], 0, np.arange(8))
        assert len(batch) == 8
        (keys,) = batch.sensitive
        assert len(set(keys.tolist())) == 1
        return
    anonymizer = Anonymizer(policy)
    given = records if form == "records" else pa.Table.from_pylist(records)
    releases = [*anonymizer.add(given), *anonymizer.close()]
    assert list(map(len, releases)) == [0]

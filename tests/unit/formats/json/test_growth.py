"""What is published may be longer than what was read: the bound that a broker's limit is compared with holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.library import Anonymizer, Policy
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.domains.families import Family, label_of
from tests.support.policies import write_policy


@pytest.mark.parametrize(
    "long",
    [pytest.param("x" * 900, id="long"), pytest.param('"' * 900, id="escaped"), pytest.param("é" * 900, id="wide")],
)
def test_a_family_may_be_much_longer_than_its_value(long: str, tmp_path: Path) -> None:
    plain = Policy.load(write_policy(tmp_path))
    families: tuple[Family, ...] = (("flu", long), ("cold", None))
    attributes = tuple(
        replace(attribute, families=families) if isinstance(attribute, Sensitive) else attribute
        for attribute in plain.attributes
    )
    policy = replace(plain, attributes=attributes)
    records = [
        {"person": f"p{i}", "age": 30, "home": {"city": "Oslo"}, "visits": 1, "illness": "flu"} for i in range(4)
    ]
    codec = JsonCodec(policy)
    texts = [json.dumps(record).encode() for record in records]
    assert [row[-1] for row in codec.decode(texts, 0, np.arange(4)).payload] == [label_of(families[0])] * 4
    anonymizer = Anonymizer(policy)
    (release,) = [*anonymizer.add(texts), *anonymizer.close()]
    written = [json.dumps(record, ensure_ascii=False).encode() for record in release.records]
    assert {record["illness"] for record in release.records} == {label_of(families[0])}
    assert max(map(len, written)) <= codec.most_released(max(map(len, texts)))

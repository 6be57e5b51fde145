"""Released lists and hours as Avro bodies, read by fastavro."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest

from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.settings.policy_file import load_policy
from tests.conformance.test_codecs import release_of
from tests.support.policies import write_document

RECORDS: list[dict[str, Any]] = [
    {"id": 1, "when": 1_714_550_400, "doses": [1, -0.0, 1e300], "rooms": [3, -4], "words": ["a", '"', "ü\n"]},
    {"id": 2, "when": 1_714_554_000, "doses": [], "rooms": None, "words": [], "asked": [True, False]},
    {"id": 3, "when": 1_730_000_000, "doses": [2.5] * 128, "rooms": [2**63 - 1, -(2**63)]},
    {"id": 4, "when": 1_720_000_000},
]
LISTS = {"doses": "number[]", "rooms": "integer[]", "words": "string[]", "asked": "boolean[]"}
shapes = pytest.mark.parametrize("shape", [Shape.TYPED, Shape.FLAT])


def policy_of(folder: Path, shape: Shape, zone: str = "Europe/Berlin") -> Policy:
    date = {"min": "2024-01-01", "max": "2024-12-31", "finest": "hour"}
    date |= {"format": "epoch-s", "zone": zone} if zone else {"format": "iso8601"}
    passing = {name: {"role": "insensitive", "type": kind, "accept_linkable": True} for name, kind in LISTS.items()}
    return load_policy(
        write_document(
            folder,
            {
                "privacy": {"k": 2, "individual": "id"},
                "window": {"max_records": 100},
                "output": {"shape": str(shape)},
                "attributes": {
                    "id": {"role": "identifier"},
                    "when": {"role": "quasi-identifier", "date": date},
                    **passing,
                },
            },
        )
    )


def decoded(policy: Policy, records: list[dict[str, Any]]) -> CodedBatch:
    return JsonCodec(policy).decode([json.dumps(one).encode() for one in records], 0, np.arange(len(records)))


def pairs(policy: Policy, records: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any], int]]:
    """Return for each released record its JSON, what fastavro reads of its body, and the body's bytes."""
    encoder = AvroEncoder(policy)
    batch = encoder.admitted(decoded(policy, records))
    release = release_of(policy, batch, 1)
    schema = fastavro.parse_schema(json.loads(encoder.schema))
    texts, bodies = JsonCodec(policy).encode(release), list(encoder.encode(release))
    assert len(texts) == len(bodies) > 0
    kept = {row: sum(len(json.dumps(value).encode()) for value in batch.payload[row]) for row in range(len(batch))}
    for row, body in zip(release.order.tolist(), bodies, strict=True):
        assert len(body or b"") <= encoder.most_around + kept[row]
    return [
        (json.loads(text), fastavro.schemaless_reader(io.BytesIO(body or b""), schema, None), len(body or b""))
        for text, body in zip(texts, bodies, strict=True)
    ]


@shapes
def test_lists_are_arrays_of_their_items(shape: Shape, tmp_path: Path) -> None:
    seen = 0
    for told, found, _ in pairs(policy_of(tmp_path, shape), RECORDS * 4):
        for name in LISTS:
            assert found[name] == told[name]
            seen += bool(told[name])
    assert seen > 4


@shapes
@pytest.mark.parametrize("zone", ["Europe/Berlin", ""])
def test_ends_of_hours_are_timestamps_of_the_same_moments(shape: Shape, zone: str, tmp_path: Path) -> None:
    records = [one if zone else one | {"when": f"2024-0{one['id']}-05T1{one['id']}:30"} for one in RECORDS]
    for told, found, _ in pairs(policy_of(tmp_path, shape, zone), records * 4):
        for end in ("min", "max"):
            text = told["when"][end] if shape is Shape.TYPED else told[f"when_{end}"]
            moment = found["when"][end] if shape is Shape.TYPED else found[f"when_{end}"]
            assert (moment.tzinfo is None) == (not zone)
            assert moment == type(moment).fromisoformat(text)


def test_a_list_with_a_number_that_avro_cannot_hold_is_rejected(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, Shape.FLAT)
    texts = [
        b'{"id": 1, "when": 1714550400, "rooms": [1, 9223372036854775808]}',
        b'{"id": 2, "when": 1714550400, "doses": [1' + b"0" * 310 + b"]}",
        b'{"id": 3, "when": 1714550400, "rooms": [1e3], "doses": [1e3]}',
    ]
    batch = AvroEncoder(policy).admitted(JsonCodec(policy).decode(texts, 0, np.arange(3)))
    assert batch.offsets.tolist() == [2]
    assert [policy.attributes[at].name for at in batch.rejects.attributes.tolist()] == ["rooms", "doses"]
    assert set(batch.rejects.reasons.tolist()) == {Reason.OUT_OF_RANGE}

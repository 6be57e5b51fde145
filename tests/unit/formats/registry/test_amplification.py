"""Schemas that anybody may register: a few bytes stand for no megabytes of text, and neighbours are read on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.formats.registry import framed_texts
from stream_anon.formats.registry.framing import Framing
from stream_anon.formats.writing import text_buffer
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec
from tests.support.avro_records import zigzag
from tests.support.registry.memory_registry import MemoryRegistry
from tests.support.traced import traced
from tests.unit.formats.registry.test_framed_texts import FIELDS, GUID, PERSON, V1, _avro, _codec, _id, _policy

LONG = "n" * 400
NULLS = {"type": "record", "name": "nulls", "fields": [{"name": LONG, "type": "null"}]}
NEIGHBOURS = 20


def _schema(**types: Any) -> dict[str, Any]:
    """Return the schema of visits with other types of some fields, behind a field that nobody reads."""
    fields = [{**field, "type": types.get(field["name"], field["type"])} for field in FIELDS]
    return {**V1, "fields": [{"name": "filler", "type": "string"}, *fields]}


HOSTILE = _schema(visits={"type": "array", "items": NULLS})


def _hostile(items: int, filler: int) -> bytes:
    """Return a body of `HOSTILE`."""
    person = b"\x02p" + b"\x02\x0a" + b"\x08Oslo"
    return zigzag(filler) + b"x" * filler + person + zigzag(items) + b"\0" + b"\0"


def _visit(number: int) -> bytes:
    return _avro(V1, PERSON | {"person": f"p{number}", "age": number % 90}, _id(1))


def _peak(work: Callable[[], CodedBatch]) -> tuple[CodedBatch, float]:
    """Return what is worked out, and the megabytes that it takes meanwhile."""
    with traced() as memory:
        return work(), memory()[1] / 2**20


def _decoded(codec: Codec, values: list[bytes | None]) -> CodedBatch:
    return codec.decode(values, 0, np.arange(len(values)))


def _rows(*batches: CodedBatch) -> list[tuple[Any, ...]]:
    """Return all that batches say of each record, by offset."""
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        columns = (batch.codes.T.tolist(), batch.sensitive.T.tolist(), batch.individuals.tolist())
        found += zip(batch.offsets.tolist(), *columns, batch.payload, strict=True)
        rejects = batch.rejects
        found += zip(rejects.offsets.tolist(), rejects.reasons.tolist(), rejects.attributes.tolist(), strict=True)
    return sorted(found)


async def _learned(
    policy: Policy, hostile: Sequence[dict[str, Any]], values: list[bytes | None], **given: Any
) -> Codec:
    """Return a codec that has learned `V1` as 1, and hostile schemas as the ids behind it."""
    async with MemoryRegistry() as registry:
        codec = _codec(policy, registry, most=1_048_576, **given)
        for number, schema in enumerate([V1, *hostile], start=1):
            registry.add(schema, number)
        await codec.learn([values])
    return codec


async def test_a_thousand_records_that_stand_for_two_gigabytes_are_dead_letters_and_their_neighbours_rows(
    tmp_path: Path,
) -> None:
    body = _id(2) + _hostile(items=2_400, filler=585)
    assert len(body) == 605
    values: list[bytes | None] = [body] * 1_000
    values[:: len(values) // NEIGHBOURS] = [_visit(number) for number in range(NEIGHBOURS)]
    codec = await _learned(_policy(tmp_path), [HOSTILE], values)
    batch, megabytes = _peak(lambda: _decoded(codec, values))
    assert megabytes < 200
    assert set(batch.rejects.reasons.tolist()) == {Reason.TOO_LARGE}
    assert batch.rejects.dead.offsets.tolist() == [i for i, value in enumerate(values) if value is body]
    alone = _decoded(codec, [value for value in values if value is not body])
    assert (batch.codes == alone.codes).all()
    assert (batch.sensitive == alone.sensitive).all()
    assert (batch.individuals == alone.individuals).all()
    assert list(batch.payload) == list(alone.payload)


@pytest.mark.parametrize("schemas", [1, 40])
async def test_records_within_the_bound_are_decoded_a_few_at_a_time(tmp_path: Path, schemas: int) -> None:
    """Each means less than 16 KiB of text, and all of them 95 MB."""
    values: list[bytes | None] = [
        _id(2 + number % schemas) + _hostile(items=38, filler=0) for number in range(6_000)
    ]
    values[::300] = [_visit(number) for number in range(NEIGHBOURS)]
    hostile = [{**HOSTILE, "doc": str(number)} for number in range(schemas)]
    codec = await _learned(_policy(tmp_path), hostile, values)
    batch, megabytes = _peak(lambda: _decoded(codec, values))
    assert megabytes < 150
    assert batch.offsets.tolist() == list(range(0, 6_000, 300))
    assert set(batch.rejects.reasons.tolist()) == {Reason.WRONG_TYPE}


async def test_packed_records_are_unpacked_a_few_at_a_time(tmp_path: Path) -> None:
    """A poll of small records that each hold a megabyte would take all memory at once."""
    file = tmp_path / "visit.avsc"
    file.write_text(json.dumps(V1))
    head = b"\3\5" + bytes.fromhex(GUID.replace("-", ""))
    values: list[bytes | None] = [head + zlib.compress(bytes(1_000_000))] * 250
    people = {17: PERSON, 77: PERSON | {"person": "q"}, 177: PERSON}
    for place, person in people.items():
        values[place] = head + zlib.compress(_avro(V1, person, b""))
    codec = await _learned(_policy(tmp_path), [], values, framing=Framing.GLUE, schemas={GUID: file})
    batch, megabytes = _peak(lambda: _decoded(codec, values))
    assert megabytes < 150
    assert batch.offsets.tolist() == list(people)
    assert len(set(batch.individuals.tolist())) == 2
    assert set(batch.rejects.reasons.tolist()) == {Reason.TOO_LARGE}


@pytest.mark.parametrize("form", ["avro", "glue"])
async def test_a_batch_that_is_decoded_in_pieces_says_what_its_records_say_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    policy = _policy(tmp_path)
    values: list[bytes | None] = [_visit(number) for number in range(200)]
    values[50], values[51], values[52], values[150] = None, _id(1) + b"broken", _id(9) + b"x", b""
    values[60:80] = [_id(2) + _hostile(items=38, filler=number) for number in range(20)]
    given: dict[str, Any] = {}
    if form == "glue":
        file = tmp_path / "visit.avsc"
        file.write_text(json.dumps(V1))
        given = {"framing": Framing.GLUE, "schemas": {GUID: file}}
        head = b"\3\5" + bytes.fromhex(GUID.replace("-", ""))
        values = [value and head + zlib.compress(value[5:]) for value in values]
    codec = await _learned(policy, [HOSTILE], values, **given)
    whole = _rows(_decoded(codec, values))
    for most in (0, 1_000, 20_000):
        for module in (text_buffer, framed_texts):
            monkeypatch.setattr(module, "MOST_TEXT", most)
        assert _rows(_decoded(codec, values)) == whole
        singly = [codec.decode([value], 0, np.array([offset])) for offset, value in enumerate(values)]
        assert _rows(*singly) == whole


async def test_the_texts_of_a_sample_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    values: list[bytes | None] = [_id(2) + _hostile(items=38, filler=0)] * 6_000
    codec = await _learned(_policy(tmp_path), [HOSTILE], values)

    def counted() -> CodedBatch:
        texts = codec.inner(values)
        for _ in range(2):  # they may be read again
            assert sum(text is not None for text in texts) == 6_000
        return CodedBatch.concatenate([_decoded(codec, [])])

    assert _peak(counted)[1] < 150

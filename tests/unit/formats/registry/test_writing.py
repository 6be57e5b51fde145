"""The schema of the output: registered or looked up before a record is written, and named before each."""

from __future__ import annotations

import io
import json
from pathlib import Path

import fastavro
import numpy as np
import pytest
from aiohttp import web

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.errors import Refused, RegistryError, SettingsError
from stream_anon.formats.codecs import RecordFormats, raise_if_schema_refused, topic_codec
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.registry.writing import Frame, OutputSchema, says_the_same
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import made_up_release
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.microdata.schemas.protobuf import protobuf_schema
from stream_anon.ports import Codec
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document, write_policy
from tests.support.registry.memory_registry import MemoryRegistry


def _codec(policy: Policy, registry: MemoryRegistry, form: str = "json-schema", *, register: bool = True) -> Codec:
    return topic_codec(policy, formats=_formats(registry, form, register=register))


def _formats(registry: MemoryRegistry, form: str, *, register: bool = True) -> RecordFormats:
    return RecordFormats("json", form, RegistryAccess(registry.url, timeout=2.0), "out-value", register)


async def test_each_record_is_written_behind_the_frame_of_the_registered_schema(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    plain = JsonCodec(policy)
    release = made_up_release(policy, [(3, "flu"), (None, "cold")])
    async with MemoryRegistry() as registry:
        registry.add("{}", 258, kind="JSON")
        codec = _codec(policy, registry)
        with pytest.raises(RegistryError):
            codec.encode(release)
        await codec.open()
        await codec.open()
        number = max(registry.schemas)
        assert json.loads(registry.schemas[number]["schema"]) == released_schema(policy)
        assert registry.subjects["out-value"] == [number]
        assert registry.asked == ["POST /subjects/out-value/versions"]
    frame = b"\0" + number.to_bytes(4, "big")
    written = [frame + record for record in plain.encode(release)]
    assert codec.encode(release) == list(codec.encode_in_bulk(release)) == written
    size = max(map(len, written))
    assert codec.larger_than(release, size).tolist() == []
    assert len(codec.larger_than(release, size - 1)) > 0
    assert codec.most_released(1000) == plain.most_released(1000) + 5


async def test_avro_is_written_behind_its_frame_and_read_back_by_the_registered_schema(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path, output={"shape": "flat"}))
    release = made_up_release(policy, [(3, "flu"), (None, "cold")])
    async with MemoryRegistry() as registry:
        codec = _codec(policy, registry, "avro")
        await codec.open()
        schema = fastavro.parse_schema(json.loads(registry.schemas[1]["schema"]))
    written = codec.encode(release)
    assert {record[:5] for record in written} == {b"\0\0\0\0\1"}
    read = [fastavro.schemaless_reader(io.BytesIO(record[5:]), schema, None) for record in written]
    assert read == [json.loads(record) for record in JsonCodec(policy).encode(release)]
    size = max(map(len, written))
    assert codec.larger_than(release, size).tolist() == []
    assert len(codec.larger_than(release, size - 1)) > 0
    huge = b'{"person": "p", "age": 3, "home": {"city": "Oslo"}, "visits": 9223372036854775808, "illness": "flu"}'
    batch = codec.decode([huge], 0, np.arange(1))
    assert (len(batch), len(batch.rejects)) == (0, 1)


@pytest.mark.parametrize("form", ["json-schema", "avro", "protobuf"])
async def test_the_bound_on_what_is_written_counts_a_family_that_is_longer_than_its_value(
    form: str, tmp_path: Path
) -> None:
    families = [["flu", "\u00e9\n" * 450], ["cold", None]]
    sensitive = {"illness": {"invariant": 2, "families": families}}
    policy = load_policy(write_policy(tmp_path, privacy={"sensitive": sensitive}, output={"shape": "flat"}))
    text = b'{"person":"p","age":3,"home":{"city":"Oslo"},"visits":3,"illness":"flu"}'
    async with MemoryRegistry() as registry:
        codec = _codec(policy, registry, form)
        await codec.open()
        batch = codec.decode([text, text], 0, np.arange(2))
        written = codec.encode(made_up_release(policy, batch.payload))
    assert min(map(len, written)) > 1_300
    assert max(map(len, written)) <= codec.most_released(len(text))


async def test_a_schema_that_may_not_be_registered_is_looked_up_by_what_it_says(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    schema = released_schema(policy)
    async with MemoryRegistry() as registry:
        with pytest.raises(RegistryError, match="has no schema yet"):
            await _codec(policy, registry, register=False).open()
        number = registry.add({**schema, "description": "another text"}, 7, "JSON", "out-value")
        codec = _codec(policy, registry, register=False)
        await codec.open()
        assert codec.encode(made_up_release(policy, [(3, "flu")] * 2))[0][:5] == b"\0" + number.to_bytes(4, "big")
        registry.add({**schema, "required": []}, 8, "JSON", "out-value")
        with pytest.raises(Refused, match="is not that of the output"):
            await _codec(policy, registry, register=False).open()
        assert not any("versions" in way for way in registry.asked if way.startswith("POST"))


def _with(tmp_path: Path, *names: str) -> Policy:
    more = {name: {"role": "quasi-identifier", "numeric": {"min": 0, "max": 9}} for name in names}
    document = {"privacy": {"k": 2, "individual": "every-record"}, "output": {"shape": "typed"}, "attributes": more}
    return load_policy(write_document(tmp_path, document))


async def test_protobuf_whose_numbers_stand_for_other_fields_is_refused_before_it_is_registered(
    tmp_path: Path,
) -> None:
    old, added, moved = (_with(tmp_path, *names) for names in (("a", "b"), ("a", "b", "c"), ("c", "a", "b", "d")))
    async with MemoryRegistry() as registry:
        for policy in (old, added, old):
            await raise_if_schema_refused(policy, _formats(registry, "protobuf"))
            await _codec(policy, registry, "protobuf").open()
        stated = "the number 1 stood for the field a and would stand for c. Put new attributes behind all others"
        with pytest.raises(Refused, match=stated):
            await _codec(moved, registry, "protobuf").open()
        with pytest.raises(Refused, match=stated):
            await raise_if_schema_refused(moved, _formats(registry, "protobuf"))
        known = len(registry.schemas)
        registry.add(protobuf_schema(moved), 99, "PROTOBUF", "out-value")  # an operator decides so
        await _codec(moved, registry, "protobuf").open()
        assert len(registry.schemas) == known + 1


async def test_the_numbers_of_what_is_no_protobuf_schema_are_not_compared(tmp_path: Path) -> None:
    async with MemoryRegistry() as registry:
        registry.add("nonsense", 7, "PROTOBUF", "out-value")
        await _codec(_with(tmp_path, "a"), registry, "protobuf").open()


def test_two_schemas_say_the_same_if_only_what_they_tell_people_differs() -> None:
    assert says_the_same('{"doc": "a", "type": "int"}', '{"type": "int", "doc": "b"}')
    assert not says_the_same('{"type": "int"}', '{"type": "long"}')
    assert not says_the_same('{"properties": {"title": {"type": "x"}}}', '{"properties": {"title": {"type": "y"}}}')
    assert says_the_same("// a\nmessage M { }", "message M {\n}  // b")
    assert not says_the_same("message M { }", "message N { }")


def test_avro_output_of_natural_records_is_refused_by_a_word_about_the_shape(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    formats = RecordFormats("json", "avro", RegistryAccess("http://127.0.0.1:1"))
    with pytest.raises(SettingsError, match="typed or flat"):
        topic_codec(policy, formats=formats)


async def test_json_topics_need_no_registry(tmp_path: Path) -> None:
    codec = topic_codec(load_policy(write_policy(tmp_path)))
    await codec.open()
    await codec.learn([[b"\0\0\0\0\7{}"]])
    batch = codec.decode([b"\0\0\0\0\7{}"], 0, np.arange(1))
    assert len(batch) == 0


@pytest.mark.parametrize("number", [-1, 2**31])
async def test_an_id_that_no_frame_can_hold_is_waited_for(number: int) -> None:
    async with MemoryRegistry() as registry:
        registry.fault = web.json_response({"id": number})
        frame = Frame(RegistryAccess(registry.url), OutputSchema("s", "{}", "JSON", register=True))
        with pytest.raises(RegistryError, match="no frame can hold"):
            await frame.open()


@pytest.mark.parametrize("form", ["avro", "protobuf"])
async def test_with_an_id_at_hand_nobody_is_asked_and_the_same_records_are_admitted(
    tmp_path: Path, form: str
) -> None:
    """A shadow must reject what the service would, and registers nothing."""
    policy = load_policy(write_policy(tmp_path, output={"shape": "flat"}))
    person = {"person": "p", "age": 5, "home": {"city": "Oslo"}, "visits": 2**64, "illness": "flu"}
    values: list[bytes | None] = [json.dumps(person).encode(), json.dumps(person | {"visits": 3}).encode()]
    async with MemoryRegistry() as registry:
        access = RegistryAccess(registry.url)
        service, shadow = (
            topic_codec(policy, formats=RecordFormats("json", form, access, "out-value", number=number))
            for number in (None, 0)
        )
        await shadow.open()
        assert registry.asked == []
    rejected = [codec.decode(values, 0, np.arange(2)).rejects.offsets.tolist() for codec in (service, shadow)]
    assert rejected == [[0], [0]]
    release = made_up_release(policy, [(3, "flu"), (None, "cold")])
    assert all(record.startswith(bytes(5)) for record in shadow.encode(release))

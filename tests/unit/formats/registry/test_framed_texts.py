"""Values that name their schemas: learned once, read by their own schema, rejected where nobody knows it."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.errors import RegistryError
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.formats.protobuf import proto_files
from stream_anon.formats.registry import asked_schemas as known
from stream_anon.formats.registry import budget, memory, schema_learning
from stream_anon.formats.registry.framing import Framing
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy
from tests.support.registry.memory_registry import MemoryRegistry

GUID = "89791762-2336-4186-9674-299b90a802e2"
HOME = {"type": "record", "name": "home", "fields": [{"name": "city", "type": "string"}]}
FIELDS: list[dict[str, Any]] = [
    {"name": "person", "type": "string"},
    {"name": "age", "type": ["null", "int"]},
    {"name": "home", "type": HOME},
    {"name": "visits", "type": "long"},
    {"name": "illness", "type": {"type": "enum", "name": "ill", "symbols": ["flu", "cold"]}},
]
V1 = {"type": "record", "name": "visit", "fields": FIELDS}
V2 = {"type": "record", "name": "visit", "fields": [f for f in FIELDS if f["name"] != "visits"]}
V3 = {"type": "record", "name": "visit", "fields": [*FIELDS[:3], {"name": "visits", "type": "string"}, FIELDS[4]]}
PERSON = {"person": "p", "age": 5, "home": {"city": "Oslo"}, "visits": 3, "illness": "flu"}


@pytest.fixture(autouse=True)
def _short_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "DOUBTED", 0.02)
    monkeypatch.setattr(known, "HELD", 0.02)


def _policy(folder: Path) -> Policy:
    return load_policy(write_policy(folder))


def _avro(schema: dict[str, Any], record: dict[str, Any], head: bytes = b"\0\0\0\0\1") -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return head + out.getvalue()


def _id(number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big")


def _codec(
    policy: Policy,
    registry: MemoryRegistry,
    form: str = "avro",
    noticed: Callable[[SchemaChange], None] = lambda _: None,
    most: int = 100_000,
    unheard: Callable[[UnknownSchemas], None] = lambda _: None,
    **given: Any,
) -> Codec:
    access = RegistryAccess(registry.url + given.pop("way", ""), **{"timeout": 2.0, **given})
    return topic_codec(policy, most, RecordFormats(form, "json", access), noticed, unheard)


def _outcome(codec: Codec, values: list[bytes | None]) -> list[str]:
    """Return for each value the reason of its rejection, or `row`."""
    batch = codec.decode(values, 0, np.arange(len(values)))
    found = ["row"] * len(values)
    for offset, reason in zip(batch.rejects.offsets.tolist(), batch.rejects.reasons.tolist(), strict=True):
        found[offset] = Reason(reason).label
    assert found.count("row") == len(batch)
    return found


async def test_each_record_is_read_by_the_schema_that_it_names_and_the_registry_is_asked_once(
    tmp_path: Path,
) -> None:
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        registry.add(V1, 1)
        registry.add(V2, 2, guid=GUID)
        values = [
            _avro(V1, PERSON),
            _avro(V2, PERSON, _id(2)),
            _avro(V2, PERSON, b"\1" + bytes.fromhex(GUID.replace("-", ""))),
            None,
            b"",
            b"{}",
            _id(9) + b"x",
            _id(1) + b"broken",
            _avro(V1, PERSON),
        ]
        await codec.learn([values])
        await codec.learn([values, values])
        batch = codec.decode(values, 0, np.arange(len(values)))
        passed = list(batch.payload)
    assert _outcome(codec, values) == [
        "row", "row", "row", "empty", "empty", "malformed", "unknown-schema", "malformed", "row",
    ]  # fmt: skip
    assert passed == [(3, "flu"), (None, "flu"), (None, "flu"), (3, "flu")]
    assert sorted(registry.asked) == [
        "GET /schemas/guids/" + GUID, "GET /schemas/ids/1", "GET /schemas/ids/2", "GET /schemas/ids/9",
        "GET /schemas/ids/9",
    ]  # fmt: skip


async def test_a_registry_that_is_away_is_an_error_and_what_was_learned_before_stays(tmp_path: Path) -> None:
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        registry.add(V1, 1)
        await codec.learn([[_avro(V1, PERSON)]])
        await registry.stop()
        with pytest.raises(RegistryError):
            await codec.learn([[_avro(V2, PERSON, _id(2)), _avro(V1, PERSON)]])
        await codec.learn([[_avro(V1, PERSON)]])
        assert _outcome(codec, [_avro(V1, PERSON)]) == ["row"]
        await registry.start()
        registry.add(V2, 2)
        await codec.learn([[_avro(V2, PERSON, _id(2))]])
        assert _outcome(codec, [_avro(V2, PERSON, _id(2))]) == ["row"]


async def test_an_id_that_the_registry_does_not_know_is_asked_for_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        value = _avro(V1, PERSON)
        for _ in range(3):
            await codec.learn([[value]])
        assert len(registry.asked) == 2
        assert _outcome(codec, [value]) == ["unknown-schema"]
        registry.add(V1, 1)
        monkeypatch.setattr(memory, "ASKED_AGAIN", 0.0)
        await codec.learn([[value]])
        assert _outcome(codec, [value]) == ["row"]


async def test_a_schema_that_cannot_be_read_rejects_its_records_and_is_told(tmp_path: Path) -> None:
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, noticed=told.append)
        registry.add("{", 1)
        registry.add({"type": "record"}, 2)
        registry.add({"type": "object"}, 3, kind="JSON")
        registry.add("[" * 50_000, 4)
        values = [_id(number) + b"x" for number in (1, 2, 3, 4)]
        await codec.learn([values])
    assert _outcome(codec, values) == ["unknown-schema"] * 4
    assert told == [SchemaChange(str(number), readable=False) for number in (1, 2, 3, 4)]


async def test_an_unreadable_schema_is_tried_again_after_a_while_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, noticed=told.append)
        registry.add("{", 1)
        value = _avro(V1, PERSON)
        for _ in range(3):
            await codec.learn([[value]])
        assert len(registry.asked) == 1
        monkeypatch.setattr(memory, "ASKED_AGAIN", 0.0)
        await codec.learn([[value]])
        assert told == [SchemaChange("1", readable=False)]
        registry.add(V1, 1)
        await codec.learn([[value]])
        assert _outcome(codec, [value]) == ["row"]
        asked = len(registry.asked)
        await codec.learn([[value]])
        assert len(registry.asked) == asked


async def test_declared_fields_that_vanish_appear_or_change_their_type_are_told_by_name(tmp_path: Path) -> None:
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, noticed=told.append)
        for number, schema in enumerate((V1, V2, V1, V3, {**V3, "doc": "the same"}), 1):
            registry.add(schema, number)
            await codec.learn([[_id(number) + b"x"]])
            await codec.learn([[_id(1) + b"x"]])
    assert told == [
        SchemaChange("2", lacking=("visits",), vanished=("visits",)),
        SchemaChange("3", appeared=("visits",)),
        SchemaChange("4", retyped=("visits",)),
    ]


async def test_json_bodies_are_read_behind_their_frames(tmp_path: Path) -> None:
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "json-schema", told.append)
        fields = {name: {"type": "string"} for name in ("person", "age", "illness")}
        registry.add({"type": "object", "properties": fields}, 1, kind="JSON")
        values = [_id(1) + json.dumps(PERSON).encode(), _id(1), _id(1) + b"[]", json.dumps(PERSON).encode()]
        await codec.learn([values])
    assert _outcome(codec, values) == ["row", "empty", "not-an-object", "malformed"]
    assert told == [SchemaChange("1", lacking=("home.city", "visits"))]


PROTO = """
syntax = "proto3";
message Other { string person = 1; }
message Visit {
  message Home { string city = 1; }
  string person = 1;
  optional int32 age = 2;
  Home home = 3;
  int64 visits = 4;
  string illness = 5;
}
"""
# person: "p", age: 5, home: {city: "Oslo"}, visits: 3, illness: "flu"
VISIT = b"\x0a\x01p\x10\x05\x1a\x06\x0a\x04Oslo\x20\x03\x2a\x03flu"


async def test_protobuf_is_read_by_the_message_that_the_frame_names(tmp_path: Path) -> None:
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "protobuf", told.append)
        registry.add(PROTO, 1, kind="PROTOBUF")
        values = [_id(1) + b"\2\2" + VISIT, _id(1) + b"\0" + VISIT, _id(1) + b"\2\x12" + VISIT, _id(1) + b"\7"]
        await codec.learn([values])
    assert _outcome(codec, values) == ["row", "row", "unknown-schema", "malformed"]
    others = ("age", "home.city", "illness", "visits")
    assert told == [
        SchemaChange("1", lacking=others),
        SchemaChange("1", appeared=others),
    ]


async def test_a_record_that_names_the_entry_of_a_map_as_its_message_is_a_reject(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    text = 'syntax = "proto2"; enum E { A = 0; } message M { map<string, E> m = 1; optional string person = 2; }'
    async with MemoryRegistry() as registry:
        registry.add(text, 1, kind="PROTOBUF")
        codec = _codec(policy, registry, "protobuf")
        values = [_id(1) + b"\4\0\0\x0a\1a\x10M", _id(1) + b"\0\x12\1p"]
        await codec.learn([values])
    assert _outcome(codec, values) == ["unknown-schema", "row"]


async def test_glue_and_apicurio_name_messages_each_in_its_own_way(tmp_path: Path) -> None:
    file = tmp_path / "visit.proto"
    file.write_text(PROTO.replace("Other", "Zoo"))
    key, number = b"\3\0" + bytes.fromhex(GUID.replace("-", "")), b"\0" + (1).to_bytes(8, "big")
    async with MemoryRegistry() as registry:
        glue = _codec(_policy(tmp_path), registry, "protobuf", framing=Framing.GLUE, schemas={GUID: file})
        values = [key + b"\0" + VISIT, key + b"\1" + b"\x0a\4Oslo", key + b"\2\x0a\1p", key + b"\3" + VISIT]
        await glue.learn([values])
        texts = list(glue.inner(values))
        assert _outcome(glue, values)[3] == "unknown-schema"
        assert json.loads(texts[0] or b"")["age"] == 5
        assert json.loads(texts[1] or b"") == {}  # Visit.Home has a city, and nothing that is declared
        assert json.loads(texts[2] or b"") == {"person": "p"}
        registry.add(PROTO, 1, kind="PROTOBUF")
        registry.tells_kinds = False  # as a real one
        apicurio = _codec(
            _policy(tmp_path), registry, "protobuf", way="/apis/ccompat/v7", framing=Framing.APICURIO_GLOBAL
        )
        values = [number + b"\7\n\5Visit" + VISIT, number + b"\6\n\4Home" + VISIT, number + b"\0" + VISIT]
        await apicurio.learn([values])
    assert _outcome(apicurio, values) == ["row", "unknown-schema", "malformed"]


async def test_a_schema_that_could_not_be_read_is_tried_again_later_and_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "protobuf", told.append)
        registry.add(PROTO, 1, kind="PROTOBUF")
        values = [_id(1) + b"\2\2" + VISIT]

        def no_process(*_: object, **__: object) -> None:
            raise BlockingIOError("no process can be started")

        with monkeypatch.context() as scarce:
            scarce.setattr("stream_anon.formats.protobuf.proto_files.subprocess.run", no_process)
            await codec.learn([values])
            assert _outcome(codec, values) == ["unknown-schema"]
            scarce.setattr(memory, "ASKED_AGAIN", 0.0)
            await codec.learn([values])
        await codec.learn([values])
        assert len(registry.asked) == 2, "it was asked for too soon"
        schema = registry.schemas.pop(1)
        with monkeypatch.context() as later:
            later.setattr(memory, "ASKED_AGAIN", 0.0)
            await codec.learn([values])
        await codec.learn([values])
        assert len(registry.asked) == 4, "what was deleted since is asked for at each poll"
        registry.schemas[1] = schema
        monkeypatch.setattr(memory, "ASKED_AGAIN", 0.0)
        await codec.learn([values])
    assert _outcome(codec, values) == ["row"]
    assert told == [SchemaChange("1", readable=False)]


async def test_a_first_message_that_no_record_names_is_no_schema_that_changed(tmp_path: Path) -> None:
    told = list[SchemaChange]()
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "protobuf", told.append)
        registry.add(PROTO, 1, kind="PROTOBUF")
        values = [_id(1) + b"\2\2" + VISIT, _id(1) + b"\2\x7f", _id(1) + b"\2\2" + VISIT]
        await codec.learn([values])
    assert _outcome(codec, values) == ["row", "malformed", "row"]
    assert told == []


async def test_places_without_a_message_neither_shut_out_others_nor_cost_anything_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, parsed = list[SchemaChange](), list[object]()
    monkeypatch.setattr(schema_learning, "MOST_MESSAGES", 3)
    _count_parsing(monkeypatch, parsed)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "protobuf", told.append)
        registry.add(PROTO, 1, kind="PROTOBUF")
        made_up = [_id(1) + bytes([2, place]) + b"x" for place in range(4, 128, 2)]
        made_up += [_id(1) + bytes([4, 2, place]) + b"x" for place in range(2, 128, 2)]
        for values in (made_up[:50], made_up[50:], made_up):
            await codec.learn([values])
            assert set(_outcome(codec, list(values))) == {"unknown-schema"}
        assert told == []
        assert len(registry.asked) == len(parsed) == 1
        values = [*made_up, _id(1) + b"\2\2" + VISIT]
        await codec.learn([values])
        assert len(registry.asked) == len(parsed) == 2
        await codec.learn([values])
    assert _outcome(codec, list(values)) == ["unknown-schema"] * len(made_up) + ["row"]
    assert len(registry.asked) == len(parsed) == 2


async def test_messages_of_one_schema_are_learned_with_one_question_and_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, parsed = list[SchemaChange](), list[object]()
    monkeypatch.setattr(schema_learning, "MOST_MESSAGES", 3)
    _count_parsing(monkeypatch, parsed)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "protobuf", told.append)
        others = "".join(f"message Other{n} {{ int32 age = 1; }}" for n in range(6))
        registry.add(PROTO + others, 1, kind="PROTOBUF")
        values = [_id(1) + bytes([2, 2 * place]) for place in range(2, 8)]
        await codec.learn([values])
        assert len(registry.asked) == len(parsed) == 1
        assert _outcome(codec, list(values)).count("unknown-schema") == 3
        values = [_id(1) + b"\2\2" + VISIT]
        await codec.learn([values])
    assert _outcome(codec, list(values)) == ["row"]


async def test_made_up_places_of_an_unreadable_schema_are_not_asked_for_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, parsed = list[SchemaChange](), list[object]()
    _count_parsing(monkeypatch, parsed)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "protobuf", told.append)
        registry.add("message {", 1, kind="PROTOBUF")
        for place in range(0, 40, 2):
            await codec.learn([[_id(1) + bytes([2, place])]])
        assert len(registry.asked) == len(parsed) == 1
        monkeypatch.setattr(memory, "MOST_KEPT", 0)
        await codec.learn([[_id(1) + b"\0", _id(2) + b"\0"]])
    assert len(registry.asked) == 3, "what is unreadable is forgotten although it is named"
    assert told == [SchemaChange("1", readable=False)]


def _count_parsing(monkeypatch: pytest.MonkeyPatch, parsed: list[object]) -> None:
    """Take note of each process in which a schema is parsed."""
    run = proto_files.subprocess.run

    def counted(*given: Any, **more: Any) -> Any:
        parsed.append(given)
        return run(*given, **more)

    monkeypatch.setattr(proto_files.subprocess, "run", counted)


async def test_apicurio_and_glue_frames_are_read(tmp_path: Path) -> None:
    file = tmp_path / "visit.avsc"
    file.write_text(json.dumps(V1))
    policy = _policy(tmp_path)
    async with MemoryRegistry() as registry:
        registry.add(V1, 5_000_000_000)
        codec = _codec(policy, registry, way="/apis/ccompat/v7", framing=Framing.APICURIO_GLOBAL)
        values = [_avro(V1, PERSON, b"\0" + (5_000_000_000).to_bytes(8, "big"))]
        await codec.learn([values])
        assert _outcome(codec, values) == ["row"]
        glue = _codec(policy, registry, framing=Framing.GLUE, schemas={GUID: file}, most=10_000)
        key, body = bytes.fromhex(GUID.replace("-", "")), _avro(V1, PERSON, b"")
        bomb = zlib.compress(b"\0" * 50_000_000)
        values = [
            b"\3\0" + key + body,
            b"\3\5" + key + zlib.compress(body),
            b"\3\5" + key + zlib.compress(body)[:-3],
            b"\3\5" + key + body,
            b"\3\5" + key + bomb[:9_000],
            b"\3\7" + key + body,
            b"\3\0" + key[::-1] + body,
        ]
        asked = len(registry.asked)
        await glue.learn([values])
        assert len(registry.asked) == asked
    assert _outcome(glue, values) == [
        "row", "row", "malformed", "malformed", "too-large", "malformed", "unknown-schema",
    ]  # fmt: skip


async def test_a_value_is_too_large_with_its_frame(tmp_path: Path) -> None:
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry, "json-schema", most=100)
        registry.add({}, 1, kind="JSON")
        body = json.dumps(PERSON).encode()
        values = [_id(1) + body.ljust(95), _id(1) + body.ljust(96)]
        await codec.learn([values])
    assert _outcome(codec, values) == ["row", "too-large"]


async def test_of_thousands_of_made_up_ids_few_are_asked_for_and_fewer_twice(tmp_path: Path) -> None:
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        values: list[bytes | None] = [_id(number) + b"x" for number in range(1, 1001)]
        await codec.learn([values])
        assert (
            budget.MOST_SAVED < len(registry.asked) <= budget.MOST_SAVED + known._MOST_DOUBTED + budget.A_SECOND * 4
        )
        assert len(registry.asked) - len(set(registry.asked)) == known._MOST_DOUBTED
        found = _outcome(codec, values)
        assert found.count("unknown-schema") == len(set(registry.asked))
        assert set(found) == {"unknown-schema", "unasked-schema"}
        registry.add(V1, 2_000)
        real = _avro(V1, PERSON, _id(2_000))
        await codec.learn([[_id(number) + b"x" for number in range(3_000, 4_000)] + [real, real]])
    assert _outcome(codec, [real]) == ["row"]


async def test_of_too_many_schemas_those_that_a_poll_does_not_name_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_KEPT", 3 * memory._LEAST_KEPT)
    async with MemoryRegistry() as registry:
        codec = _codec(_policy(tmp_path), registry)
        for number in range(1, 6):
            registry.add(V1, number)
        first = [_avro(V1, PERSON, _id(number)) for number in (1, 2, 3)]
        later = [_avro(V1, PERSON, _id(number)) for number in (3, 4)]
        await codec.learn([first])
        assert _outcome(codec, list(first)) == ["row"] * 3
        await codec.learn([later])
        assert _outcome(codec, list(later)) == ["row"] * 2
        assert _outcome(codec, list(first)) == ["unknown-schema", "row", "row"], "the one named longest ago stays"


@given(st.lists(st.one_of(st.none(), st.binary(max_size=40), st.binary(max_size=40).map(lambda b: _id(1) + b))))
def test_whatever_the_bytes_every_value_is_a_row_or_a_reject(values: list[bytes | None]) -> None:
    codec = _learned_once()
    assert len(_outcome(codec, values)) == len(values)


_ONCE: list[Codec] = []


def _learned_once() -> Codec:
    if not _ONCE:
        import asyncio
        import tempfile

        async def learned() -> Codec:
            with tempfile.TemporaryDirectory() as folder:
                policy = _policy(Path(folder))
            async with MemoryRegistry() as registry:
                codec = _codec(policy, registry)
                registry.add(V1, 1)
                await codec.learn([[_id(1) + b"x"]])
            return codec

        _ONCE.append(asyncio.run(learned()))
    return _ONCE[0]

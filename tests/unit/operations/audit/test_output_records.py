"""Records of an output topic are decoded by the schemas that they name, and state them for the audit to judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_anon.adapters.kafka.reading.topic_reader import CommittedRecord
from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.audit.formats.stated_schemas import StatingRecord
from stream_anon.audit.released_records import ReleasedRecordReader
from stream_anon.audit.verdict import Kind
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import made_up_release
from stream_anon.operations.audit.output_records import OutputDecoder, batch_of
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy
from tests.support.registry.memory_registry import MemoryRegistry

KINDS = {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}
formats = pytest.mark.parametrize("form", KINDS)


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return load_policy(write_policy(tmp_path, output={"shape": "flat"}))


def _of(registry: MemoryRegistry, form: str) -> RecordFormats:
    return RecordFormats("json", form, RegistryAccess(registry.url, timeout=2.0), "out-value")


def _another(form: str, text: str) -> str:
    """Return a schema by which the same bytes are read, and which holds a value of somebody."""
    if form == "protobuf":
        return text.replace("message", "enum Note { Mrs_Smith = 0; }\nmessage", 1)
    schema: dict[str, Any] = json.loads(text)
    return json.dumps(schema | {"note": "Mrs Smith"})


@formats
async def test_a_record_under_another_schema_is_accused_though_its_bytes_are_the_same(
    policy: Policy, form: str
) -> None:
    if form == "protobuf":
        pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    reader = ReleasedRecordReader(policy)
    async with MemoryRegistry() as registry:
        codec = topic_codec(policy, formats=_of(registry, form))
        await codec.open()
        (own,) = registry.subjects["out-value"]
        text = registry.schemas[own]["schema"]
        printed = text.replace("// ", "//  ") if form == "protobuf" else json.dumps(json.loads(text), indent=2)
        again, other = (registry.add(each, kind=KINDS[form]) for each in (printed, _another(form, text)))
        elsewhere = registry.add(text, kind="AVRO" if form != "avro" else "JSON")
        broken = registry.add("nonsense", kind=KINDS[form])
        records = codec.encode(made_up_release(policy, [(3, "flu"), (None, "cold")]))
        decoder = OutputDecoder(_of(registry, form))

        def under(number: int) -> list[bytes]:
            return [b"\0" + number.to_bytes(4, "big") + record[5:] for record in records]

        numbers = (own, again, other, elsewhere, broken, 999)
        await decoder.learn(value for number in numbers for value in under(number))
    told = {}
    for number in numbers:
        found = [decoder.decode(value) for value in under(number)]
        told[number] = [
            reader.opened(one)[1] if isinstance(one, StatingRecord) and one.fields else None for one in found
        ]
    right, wrong, none = ([each] * len(records) for each in ([], [(Kind.WRONG_SCHEMA, None)], None))
    assert told == {own: right, again: right, other: wrong, elsewhere: none, broken: none, 999: none}


async def test_records_of_json_are_decoded_without_a_registry() -> None:
    decoder = OutputDecoder(RecordFormats())
    await decoder.learn([b'{"a":1}', None])
    assert decoder.decode(b'{"a":1}') == {"a": 1}
    assert decoder.decode(None) is None


def test_a_header_without_a_value_or_twice_names_no_batch() -> None:
    for headers, batch in (
        ((("batch", b"one"),), "one"),
        ((("batch", None),), None),
        ((("batch", b"one"), ("batch", b"two")), None),
        ((), None),
    ):
        assert batch_of(CommittedRecord("out", 0, b"{}", headers, keyed=False, time=None)) == batch

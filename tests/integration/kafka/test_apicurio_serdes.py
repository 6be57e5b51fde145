"""A real Kafka and a real Apicurio: Apicurio's own serializers in Java write, with headers and without."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_anon.formats.registered_formats import described
from tests.support.registry import apicurio_serdes
from tests.support.registry.apicurio import Apicurio
from tests.support.registry.confluent import PROTOBUF_OF_PEOPLE, Confluent, avro_of_people, json_of_people
from tests.support.service import Stage, WorkerProcess, check_published, make_records, wait_until_accounted

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("closed_clients")]
# The message that is written is not the first of its schema.
PROTOBUF = PROTOBUF_OF_PEOPLE.replace("message Person", "message Other { string city = 2; }\nmessage Person")
KINDS = {"person": "long", "age": "int", "city": "string", "serial": "long"}


@pytest.fixture(scope="module", autouse=True)
def serializers() -> None:
    if reason := apicurio_serdes.missing_parts():
        pytest.skip(reason)


def _in_avro(record: bytes) -> bytes:
    """Return a record as Avro writes it in JSON, where a value of a union names its type."""
    return json.dumps({name: {KINDS[name]: value} for name, value in json.loads(record).items()}).encode()


def _schema(folder: Path, form: str) -> Path:
    file = folder / f"people.{form}"
    descriptor: Any = described(PROTOBUF).file
    match form:
        case "protobuf":
            file.write_bytes(descriptor.serialized_pb)
        case "avro":
            file.write_text(avro_of_people())
        case _:
            file.write_text(json_of_people())
    return file


@pytest.mark.parametrize(
    ("form", "headers"),
    [
        ("avro", True),
        ("protobuf", False),
        pytest.param("avro", False, marks=pytest.mark.soak),
        pytest.param("protobuf", True, marks=pytest.mark.soak),
        pytest.param("json-schema", True, marks=pytest.mark.soak),
        pytest.param("json-schema", False, marks=pytest.mark.soak),
    ],
)
async def test_what_apicurios_serializers_write_is_read(
    stage: Stage, registry: Apicurio, tmp_path: Path, form: str, headers: bool
) -> None:
    # By default ids stand in headers and are global.
    ways = {} if headers else {"headers.enabled": "false", "use-id": "contentId"}
    if form == "json-schema":  # of which nothing is registered by itself
        Confluent(registry.url, form).register(f"{stage.name}-value", json_of_people(), "JSON")
        ways["find-latest"] = "true"
    else:
        ways["auto-register"] = "true"
    url = registry.url.replace("/apis/ccompat/v7", "/apis/registry/v2")
    records = [_in_avro(record) if form == "avro" else record for record in make_records(600, 1)]
    schema = _schema(tmp_path, form)
    await apicurio_serdes.write(stage.kafka.address, stage.name, form, schema, records, {"url": url, **ways})
    framing = "apicurio-global" if headers else "apicurio-content"
    kafka = {"format": {"input": form, "output": "json"}, "registry": {"url": registry.url, "framing": framing}}
    staged = replace(stage, settings={"kafka": kafka})
    with WorkerProcess(staged.config()):
        published = await wait_until_accounted(staged, 600)
    check_published(published, 600)
    assert not published.dead_letters
    assert len(published.records) > 500
    assert all(record["city"] is not None for _, record in published.records)

"""A real Kafka and a real Apicurio: Confluent's own serializers write, its deserializers read what comes out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.conditions import Condition
from stream_anon.errors import Refused
from stream_anon.formats.codecs import topic_codec
from stream_anon.judging.findings import Severity
from stream_anon.microdata.schemas.protobuf import protobuf_schema
from stream_anon.operations.audit.auditing import audit_committed
from stream_anon.operations.check.checking import examine_deployment
from stream_anon.operations.starting.schema_findings import output_findings
from stream_anon.service.wiring.clients import formats_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.registry.apicurio import Apicurio
from tests.support.registry.confluent import PROTOBUF_OF_PEOPLE, Confluent, avro_of_people, json_of_people
from tests.support.service import (
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("closed_clients")]
OTHERS = {
    "avro": ("AVRO", '{"type": "record", "name": "r", "fields": [{"name": "city", "type": "long"}]}'),
    "json-schema": ("JSON", '{"type": "object", "properties": {"city": {"type": "boolean"}}}'),
    "protobuf": ("PROTOBUF", 'syntax = "proto3"; package stream_anon; message ReleasedRecord { bool city = 2; }'),
}
SCHEMAS = {"avro": avro_of_people(), "json-schema": json_of_people()}


def _staged(stage: Stage, registry: Apicurio, form: Any, reads: str = "json") -> Stage:
    settings = {
        "kafka": {"format": form, "registry": {"url": registry.url, "timeout": "2s"}},
        "output": {"shape": "typed"},
    }
    decode = json.loads if reads == "json" else Confluent(registry.url, reads).reader(stage.output)
    return replace(stage, settings=settings, decode=decode)


def _records(count: int, seed: int, first: int = 0) -> list[dict[str, Any]]:
    return [json.loads(text) for text in make_records(count, seed, first)]


async def _audited(config: Path) -> None:
    settings = load_settings(config)
    verdict = await audit_committed(kafka_of(settings), build_policy(settings, config))
    assert verdict.clean, [str(one.kind) for one in verdict.violations]
    assert verdict.counts.windows > 0


@pytest.mark.parametrize("form", ["avro", "json-schema"])
async def test_records_of_a_registry_go_through_and_the_audit_reads_them_as_others_do(
    stage: Stage, registry: Apicurio, form: str
) -> None:
    staged = _staged(stage, registry, form, form)
    write = Confluent(registry.url, form).writer(stage.name, SCHEMAS[form])
    await produce(staged, [write(record) for record in _records(1500, 1)])
    unknown = b"\0\0\xff\xff\xff" + b"x"
    with WorkerProcess(config := staged.config()) as worker:
        await worker.wait_for("ready")
        await produce(staged, [*(write(record) for record in _records(500, 2, 1500)), unknown, b"{}"])
        published = await wait_until_accounted(staged, 2002)
    check_published(published, 2002)
    assert len(published.records) > 1900
    assert sorted(letter["reason"] for letter in published.dead_letters) == ["malformed", "unknown-schema"]
    await _audited(config)


async def test_protobuf_goes_through_and_the_audit_reads_it_as_others_do(stage: Stage, registry: Apicurio) -> None:
    staged = _staged(stage, registry, "protobuf")
    confluent = Confluent(registry.url, "protobuf")
    write = confluent.protobuf_writer(stage.name, PROTOBUF_OF_PEOPLE)
    config = staged.config()
    schema = protobuf_schema(build_policy(load_settings(config), config))
    staged = replace(staged, decode=confluent.protobuf_reader(stage.output, schema))
    await produce(staged, [write(record) for record in _records(1500, 9)])
    with WorkerProcess(config):
        published = await wait_until_accounted(staged, 1500)
    check_published(published, 1500)
    assert len(published.records) > 1400
    await _audited(config)


async def test_a_registry_that_is_killed_in_the_middle_costs_no_record(stage: Stage, registry: Apicurio) -> None:
    staged = _staged(stage, registry, "avro", "avro")
    confluent = Confluent(registry.url, "avro")
    first = confluent.writer(stage.name, SCHEMAS["avro"])
    second = confluent.writer(stage.name, avro_of_people({"name": "note", "type": "string", "default": ""}))
    early = [first(record) for record in _records(1000, 3)]
    late = [second({**record, "note": "more"}) for record in _records(1000, 4, 1000)]
    await produce(staged, early)
    with WorkerProcess(config := staged.config()) as worker:
        await worker.wait_for("window-published")
        registry.kill()
        try:
            await produce(staged, late)
            away = await worker.wait_for("broker-away")
            assert away["doing"] == "asking-registry"
            assert worker.get("/readyz")[0] == 503
        finally:
            registry.start()
        published = await wait_until_accounted(staged, 2000)
        assert worker.get("/readyz")[0] == 200
    check_published(published, 2000)
    assert not published.dead_letters
    await _audited(config)


async def test_a_service_that_starts_without_its_registry_waits_for_it(stage: Stage, registry: Apicurio) -> None:
    staged = _staged(stage, registry, {"input": "json", "output": "avro"}, "avro")
    await produce(staged, make_records(500, 5))
    registry.kill()
    try:
        with WorkerProcess(staged.config()) as worker:
            away = await worker.wait_for("broker-away")
            assert "registry" in away["error"]
            await asyncio.sleep(1)
            assert worker.code is None
            registry.start()
            check_published(await wait_until_accounted(staged, 500), 500)
    finally:
        if not registry.is_running:
            registry.start()


async def test_check_says_what_framed_records_need_and_what_schemas_lack(stage: Stage, registry: Apicurio) -> None:
    confluent = Confluent(registry.url, "avro")
    fields = json.loads(SCHEMAS["avro"])["fields"]
    whole = confluent.writer(stage.name, SCHEMAS["avro"])
    await produce(stage, [whole(record) for record in _records(400, 6)])
    report = await examine_deployment(stage.config())
    assert any("set kafka.format" in finding.text for finding in report.findings)
    assert report.study is not None
    assert [reject.reason for reject in report.study.rejects] == ["registry-framed"]
    staged = _staged(stage, registry, "avro")
    report = await examine_deployment(staged.config())
    assert report.study is not None
    assert report.study.rejects == ()
    without = json.dumps({"type": "record", "name": "person", "fields": [f for f in fields if f["name"] != "city"]})
    partly = confluent.writer(stage.name, without)
    await produce(stage, [partly({k: v for k, v in r.items() if k != "city"}) for r in _records(100, 7)])
    report = await examine_deployment(staged.config())
    assert any("has no field for city" in finding.text for finding in report.findings)


async def test_workers_that_register_the_same_schema_at_once_all_learn_its_id(registry: Apicurio) -> None:
    client = RegistryAccess(registry.url)

    async def register(subject: str) -> int:
        async with client.session() as session:
            return await session.register(subject, avro_of_people(), "AVRO")

    for n in range(20):
        assert len(set(await asyncio.gather(*[register(f"at-once-{n}") for _ in range(3)]))) == 1


@pytest.mark.parametrize("form", ["avro", "json-schema", "protobuf"])
async def test_check_asks_whether_the_subject_would_take_the_schema_and_registers_nothing(
    stage: Stage, registry: Apicurio, form: str
) -> None:
    staged = _staged(stage, registry, {"input": "json", "output": form})
    config, confluent = staged.config(), Confluent(registry.url, "avro")
    policy, formats = build_policy(load_settings(config), config), formats_of(kafka_of(load_settings(config)))
    assert await output_findings(policy, formats) == []
    kind, other = OTHERS[form]
    subject = f"{stage.output}-value"
    confluent.register(subject, other, kind)
    assert await output_findings(policy, formats) == []  # this registry takes anything by default
    confluent.client.set_compatibility(subject, "BACKWARD_TRANSITIVE")
    (finding,) = await output_findings(policy, formats)
    assert confluent.client.get_versions(subject) == [1]
    assert (finding.severity, finding.condition) == (Severity.FORBIDS, Condition.OUTPUT_SCHEMA)
    with pytest.raises(Refused):
        await topic_codec(policy, formats=formats).open()
    confluent.client.set_compatibility(subject, "NONE")
    await topic_codec(policy, formats=formats).open()
    confluent.register(subject, other.replace("city", "town"), kind)
    confluent.client.set_compatibility(subject, "BACKWARD_TRANSITIVE")
    assert await output_findings(policy, formats) == []  # it is registered, and only not the newest
    await topic_codec(policy, formats=formats).open()


async def test_protobuf_whose_numbers_stood_for_other_fields_is_refused_whatever_the_registry_takes(
    stage: Stage, registry: Apicurio
) -> None:
    staged = _staged(stage, registry, {"input": "json", "output": "protobuf"})
    config, confluent = staged.config(), Confluent(registry.url, "avro")
    policy, formats = build_policy(load_settings(config), config), formats_of(kafka_of(load_settings(config)))
    kind, other = OTHERS["protobuf"]
    confluent.register(f"{stage.output}-value", other.replace("city", "town"), kind)
    (finding,) = await output_findings(policy, formats)
    assert (finding.severity, finding.condition) == (Severity.FORBIDS, Condition.OUTPUT_SCHEMA)
    with pytest.raises(Refused, match="the number 2 stood for the field town"):
        await topic_codec(policy, formats=formats).open()
    assert confluent.client.get_versions(f"{stage.output}-value") == [1]


async def test_a_subject_with_another_schema_is_refused_at_the_start_and_by_check(
    stage: Stage, registry: Apicurio
) -> None:
    staged = _staged(stage, registry, {"input": "json", "output": "avro"})
    Confluent(registry.url, "avro").register(f"{stage.output}-value", '{"type": "string"}')
    await produce(stage, make_records(300, 8))
    config = staged.config(
        kafka={**staged.settings["kafka"], "registry": {"url": registry.url, "register_schema": False}}
    )
    report = await examine_deployment(config)
    assert "output-schema" in [finding.condition for finding in report.findings]
    with WorkerProcess(config) as worker:
        assert await worker.ended(60) != 0
        assert "is not that of the output" in worker.said("failed")[0]["error"]

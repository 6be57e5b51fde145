"""What schemas say about a run: samples are read by those that their records name, and fields are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stream_anon.conditions import Condition
from stream_anon.errors import Refused, RegistryError
from stream_anon.formats.codecs import RecordFormats, raise_if_schema_refused, topic_codec
from stream_anon.judging.findings import Finding, Severity
from stream_anon.judging.sample_study import Sample, Study
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec
from stream_anon.ports.schema_news import SchemaChange
from stream_anon.service.wiring.clients import formats_of
from stream_anon.settings.sections.kafka_settings import KafkaSettings

LEARN_WITHIN = 60.0  # seconds
_PLACE = "kafka.format"


async def reader_of(policy: Policy, kafka: KafkaSettings, sample: Sample) -> tuple[Codec, Sequence[SchemaChange]]:
    """Return a codec that knows all schemas that a sample names, and what they tell. Raises RegistryError.

    It is for reading only, and rejects what the output's format could not hold, as a run does.
    """
    changes = list[SchemaChange]()
    codec = topic_codec(policy, kafka.max_record_bytes, formats_of(kafka), changes.append)
    try:
        async with asyncio.timeout(LEARN_WITHIN):
            await codec.learn([sample.values])
    except TimeoutError:
        raise RegistryError(f"registry: schemas are still asked for after {LEARN_WITHIN:.0f} s") from None
    return codec, changes


async def raise_if_registry_away(formats: RecordFormats) -> None:
    """Ask whether the registry answers, before samples are read that need it. Raises RegistryError.

    Not where files hold schemas: then it may not be needed.
    """
    if formats.names_schemas and formats.registry is not None and not formats.registry.schemas:
        async with formats.registry.session() as session:
            await session.raise_if_away()


def schema_findings(study: Study, changes: Sequence[SchemaChange]) -> list[Finding]:
    """Return the findings on the schemas of a sample's records."""
    found = []
    for change in changes:
        if not change.readable:
            text = f"the schema {change.schema} cannot be read: its records would become dead letters"
            found.append(Finding(Severity.WARNS, _PLACE, text))
        told = {
            "has no field for": change.lacking,
            "has anew": change.appeared,
            "has another type for": change.retyped,
        }
        found += [
            Finding(Severity.WARNS, _PLACE, f"the schema {change.schema} {what} {', '.join(names)}")
            for what, names in told.items()
            if names
        ]
    counts = {each.reason: each.records for each in study.rejects}
    framed, unknown = counts.get(Reason.REGISTRY_FRAMED.label), counts.get(Reason.UNKNOWN_SCHEMA.label)
    if framed:
        text = f"{framed:,} sampled records name a schema in a registry: set kafka.format and kafka.registry"
        found.append(Finding(Severity.WARNS, _PLACE, text))
    if unknown:
        text = f"{unknown:,} sampled records name a schema that the registry does not know, or that cannot be read"
        found.append(Finding(Severity.WARNS, "kafka.registry", text))
    return found


async def output_findings(policy: Policy, formats: RecordFormats) -> list[Finding]:
    """Return what keeps the output's schema from being registered, or from being found where it may not be.

    Nothing is registered by this.
    """
    try:
        await raise_if_schema_refused(policy, formats)
    except RegistryError as error:
        return [Finding(Severity.WARNS, "kafka.registry", str(error))]
    except Refused as error:
        return [Finding(Severity.FORBIDS, "kafka.registry", str(error), Condition.OUTPUT_SCHEMA)]
    return []

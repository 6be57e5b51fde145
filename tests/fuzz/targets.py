"""All targets by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz.avro_targets import AvroTarget
from tests.fuzz.batch_targets import BatchTarget
from tests.fuzz.cases import Target
from tests.fuzz.json_targets import EnvelopeTarget, JsonTarget
from tests.fuzz.protobuf_targets import ProtobufTarget
from tests.unit.adapters.envelopes.test_envelopes import WRAPPINGS

TARGETS: Mapping[str, Target] = {
    "json": JsonTarget(),
    **{name: EnvelopeTarget(name) for name in WRAPPINGS},
    "avro": AvroTarget(spoilt=False),
    "avro-schemas": AvroTarget(spoilt=True),
    "protobuf": ProtobufTarget(spoilt=False),
    "protobuf-schemas": ProtobufTarget(spoilt=True),
    "batches": BatchTarget(),
}

"""All targets by name."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.formats.registry.framing import Framing
from tests.fuzz.avro_targets import AvroTarget
from tests.fuzz.batch_targets import BatchTarget
from tests.fuzz.cases import Target
from tests.fuzz.frame_targets import FrameTarget
from tests.fuzz.json_targets import EnvelopeTarget, JsonTarget
from tests.fuzz.program_targets import AvroPrograms, ProtobufPrograms
from tests.fuzz.protobuf_targets import ProtobufTarget
from tests.fuzz.writing_targets import WritingTarget
from tests.unit.formats.envelopes.test_envelopes import WRAPPINGS

_FRAMINGS = (Framing.CONFLUENT, Framing.APICURIO_GLOBAL, Framing.GLUE)
TARGETS: Mapping[str, Target] = {
    "json": JsonTarget(),
    **{name: EnvelopeTarget(name) for name in WRAPPINGS},
    "avro": AvroTarget(spoilt=False),
    "avro-schemas": AvroTarget(spoilt=True),
    "protobuf": ProtobufTarget(spoilt=False),
    "protobuf-schemas": ProtobufTarget(spoilt=True),
    "avro-programs": AvroPrograms(),
    "protobuf-programs": ProtobufPrograms(),
    **{f"frames-{framing}": FrameTarget(framing) for framing in _FRAMINGS},
    "writing-avro": WritingTarget("avro"),
    "writing-protobuf": WritingTarget("protobuf"),
    "batches": BatchTarget(),
}

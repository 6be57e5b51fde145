"""Avro through the codec of a registry: by sound schemas, by others, and by programs that only look sound."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from stream_anon.formats.avro.walking import STEPS_A_BYTE
from stream_anon.formats.writing.fractions import FRACTION_BYTES
from stream_anon.microdata.batch import Reason
from tests.fuzz import avro_inputs, reading, schema_policy
from tests.fuzz.cases import Case, Limits
from tests.fuzz.mutations import mutated
from tests.support.avro_records import UNREADABLE, PlainReader, Unfit, named_types

FRAME = b"\0" + schema_policy.NUMBER.to_bytes(4, "big")
DRAWN = 8
"""One record of so many is written by the schema; the others are changed ones."""
CHECKED = 4
"""One of so many is compared with the reference, which takes longer than all else."""
_SOUND, _SPOILT = b"=", b"~"  # before a setting's schema: whether there is a reference


class AvroTarget:
    """Records of a schema: some that are drawn, and more that differ from these.

    Parameters
    ----------
    spoilt
        Whether the schema is one that no sound producer registers; what it means nobody says then.
    """

    def __init__(self, *, spoilt: bool) -> None:
        self._spoilt = spoilt

    def draw(self, draws: Random, count: int) -> Case:
        schema = avro_inputs.schema(draws)
        bodies = avro_inputs.Bodies(draws, named_types(schema), odd=draws.choice((0, 3, 20)))
        sound = [FRAME + bodies.body(schema) for _ in range(count // DRAWN + 1)]
        records = [framed(draws, sound) for _ in range(count - len(sound))]
        text = avro_inputs.spoilt(schema, draws) if self._spoilt else json.dumps(schema)
        return Case((_SPOILT if self._spoilt else _SOUND) + text.encode(), (*sound, *records))

    def check(self, case: Case, limits: Limits) -> None:
        reading.check(_reader(case.setting), case.records, limits)


def framed(draws: Random, sound: Sequence[bytes]) -> bytes | None:
    """Return a record that differs from sound ones, mostly behind its frame."""
    own, fate = draws.choice(sound), draws.random()
    if fate < 0.01:
        return draws.choice((None, b"", FRAME, FRAME[:-1], b"\0", b"\1" + bytes(17), bytes(schema_policy.MOST + 1)))
    if fate < 0.95:
        return FRAME + mutated(own[len(FRAME) :], draws, sound, avro_inputs.WORDS)
    return mutated(own, draws, sound, avro_inputs.WORDS)


@lru_cache(4)
def _reader(setting: bytes) -> reading.Reader:
    text, policy = setting[1:].decode(), schema_policy.policy()
    codec = schema_policy.codec_with("avro", text)
    if not setting.startswith(_SOUND):
        return reading.Reader(codec, policy, None)
    schema = json.loads(text)
    names = named_types(schema)
    return reading.Reader(
        codec,
        policy,
        lambda value: _meaning(schema, names, value),
        lambda reason, value: _may_differ(reason, value, schema),
        checked=CHECKED,
    )


def _meaning(schema: Any, names: dict[str, Any], value: bytes | None) -> Any:
    """Return what a framed body means by the plain reader of the tests, which is tested against fastavro."""
    if value is None or not value.startswith(FRAME) or value == FRAME:
        raise reading.NoRecord
    try:
        return as_json(PlainReader(value[len(FRAME) :], names).whole(schema))
    except Unfit:
        raise reading.NoRecord from None


def as_json(value: Any) -> Any:
    """Return a value as a reader of JSON has it; what JSON cannot say fits no attribute."""
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, bytes) or (isinstance(value, float | np.float32) and not math.isfinite(value)):
        return UNREADABLE
    if isinstance(value, np.float32):
        return float(str(value))
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    return value


def _may_differ(reason: Reason | None, value: bytes | None, schema: Any) -> bool:
    """Return whether we may reject what the plain reader reads.

    Values that take no byte are bounded: a body of many of them is too large, and so may be the text of a
    long body. A moment of one byte is a text of 26, so a body need not be long for that.
    """
    body = (value or b"")[len(FRAME) :]
    if reason is not Reason.TOO_LARGE:
        return False
    reader = PlainReader(body, named_types(schema))
    text = _most_text(reader.whole(schema))
    return schema_policy.is_long(value) or text > schema_policy.MOST or 4 * reader.values > STEPS_A_BYTE * len(body)


def _most_text(value: Any) -> int:
    """Return the bytes that a value takes as JSON, at most, with the room that is kept for each fraction."""
    kept = json.loads(json.dumps(as_json(value)), parse_float=lambda _: "9" * FRACTION_BYTES)
    return len(json.dumps(kept))

"""Read Avro bodies as the JSON that they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stream_anon.compiled import constant
from stream_anon.formats.avro.avro_schemas import parsed
from stream_anon.formats.avro.program import program_of
from stream_anon.formats.avro.walking import STACK, write_texts
from stream_anon.formats.unwrapping import Unwrapped
from stream_anon.formats.writing.numbers import SCRATCH
from stream_anon.formats.writing.text_buffer import TextLimits, free_text, written_texts
from stream_anon.microdata.texts import Texts


class AvroReader:
    """Reads the bodies of one writer schema, in a quarter of a microsecond a record; an `Unwrapper`.

    =======================================  =====================================================
    Avro                                     JSON
    =======================================  =====================================================
    union                                    the value alone, or null
    record, map                              object
    enum, uuid                               text
    float, double                            the shortest number that stands for it
    decimal                                  number, exact
    date, time-*                             ``"2024-05-13"``, ``"10:11:12.123"``
    timestamp-*, local-timestamp-*           ``"2024-05-13T10:11:12.123Z"``, the local one without ``Z``
    bytes, fixed, duration; no finite number what fits no attribute
    =======================================  =====================================================

    Nothing but the declared paths is written. A record is malformed if it breaks off, has bytes left over, or holds
    what its schema does not know. There is no reader's schema: a field that the writer lacks is missing.

    Parameters
    ----------
    schema
        The writer's, as JSON.
    paths
        The keys that lead to each field that is read; what lies under such a field is read too.
    most_bytes
        Bodies and texts of more bytes are too large, and so are texts that their body does not account for; see
        `text_buffer.free_text`.
    references
        The texts of other schemas whose types it names, by name, each behind those that it names itself.

    Attributes
    ----------
    name
        The full name of the schema's record; empty if it is of another type.

    Raises
    ------
    InputError
        If it is not an Avro schema.
    """

    def __init__(
        self,
        schema: str,
        paths: Sequence[tuple[str, ...]],
        most_bytes: int,
        references: Mapping[str, str] | None = None,
    ) -> None:
        found = parsed(schema, references or {})
        self.name = found.record_name
        self._program = program_of(found, paths)
        self._limits = TextLimits(constant(most_bytes), constant(free_text(paths)))

    def unwrap(self, values: Texts) -> Unwrapped:
        """Return the JSON of n bodies; see `formats.unwrapping.Unwrapper`."""
        program, limits, stack = self._program, self._limits, np.empty(STACK + SCRATCH, np.int64)
        return written_texts(
            values,
            values.stops == values.starts,
            program.texts,
            lambda bodies, out: write_texts(bodies, program, stack, out, limits),
        )

    def warm_up(self) -> None:
        """Compile every kernel that `unwrap` will call."""
        self.unwrap(Texts.of([b"\x00"]))

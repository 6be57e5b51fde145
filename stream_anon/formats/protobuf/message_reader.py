"""Read Protobuf bodies as the JSON that they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_anon.compiled import constant
from stream_anon.formats.protobuf.program import program_of
from stream_anon.formats.protobuf.scanning import PART_COLUMNS, Workspace
from stream_anon.formats.protobuf.walking import FRAME_COLUMNS, write_texts
from stream_anon.formats.unwrapping import Unwrapped
from stream_anon.formats.writing.numbers import SCRATCH
from stream_anon.formats.writing.text_buffer import MOST_LEVELS, TextLimits, free_text, written_texts
from stream_anon.microdata.texts import Texts


class MessageReader:
    """Reads the bodies of one message; an `Unwrapper`.

    ==========================================  ===============================================================
    Protobuf                                    JSON
    ==========================================  ===============================================================
    message, group, map; repeated               object; array
    enum                                        its name; the number where it has none
    float, double                               the shortest number that stands for it
    Timestamp, google.type.Date                 ``"2024-05-13T10:11:12.123Z"``, ``"2024-05-13"``
    Duration                                    ``"1.5s"``
    wrappers, Struct, Value, ListValue          the value alone
    Decimal of google.type and confluent.type   number, exact
    bytes; no finite number                     what fits no attribute
    ==========================================  ===============================================================

    Fields have the names that the schema gives them. Nothing but the declared paths is written. Other fields are
    skipped, as Protobuf skips what a schema does not know. A field that is not there is missing if the schema tells
    that from its default: one of proto2, or `optional`, or of a oneof, or a message. Otherwise it is its default:
    0, an empty text, false, or the first name of an enum.

    The last value of a field counts, and messages that occur several times are one, as Protobuf has it. A text is
    looked at only if it is read. Of a oneof the last member counts, and the others are not looked at. A number that
    an enum of proto2 does not know is not there.

    Parameters
    ----------
    message
        Its descriptor; see `schemas.message_of`.
    paths
        The names that lead to each field that is read; what lies under such a field is read too.
    most_bytes
        Bodies and texts of more bytes are too large, and so are texts that their body does not account for; see
        `text_buffer.free_text`.
    told
        See `program_of`.

    Raises
    ------
    InputError
        If too many fields are read; see `program.program_of`.
    """

    def __init__(
        self,
        message: Any,
        paths: Sequence[tuple[str, ...]],
        most_bytes: int,
        told: Sequence[tuple[str, ...]] = (),
    ) -> None:
        self._program = program_of(message, paths, told)
        self._limits = TextLimits(constant(most_bytes), constant(free_text(paths)))

    def unwrap(self, values: Texts) -> Unwrapped:
        """Return the JSON of n bodies; see `formats.unwrapping.Unwrapper`.

        A missing body has no text. One without a byte is a message without a field.
        """
        program, limits = self._program, self._limits
        longest = min(int((values.stops - values.starts).max(initial=0)), int(limits.most))
        work = Workspace(
            np.empty((MOST_LEVELS, FRAME_COLUMNS), np.int64),
            np.empty(2 * (MOST_LEVELS + 1) * program.most_fields, np.int64),
            np.empty((longest // 2 + 2, PART_COLUMNS), np.int64),
            np.empty(SCRATCH, np.int64),
        )
        return written_texts(
            values,
            np.zeros(len(values), np.bool_) if values.missing is None else values.missing.copy(),
            program.texts,
            lambda bodies, out: write_texts(bodies, program, work, out, limits),
        )

    def warm_up(self) -> None:
        """Compile every kernel that `unwrap` will call."""
        self.unwrap(Texts.of([b"\x0a"]))

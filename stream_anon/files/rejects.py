"""The records of a file that did not fit: where they stand, why, and how many there may be. Never their values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.microdata.batch import NO_ATTRIBUTE, Reason, Rejects
from stream_anon.microdata.bounds import RecordBound

Fault = tuple[str, str | None]
"""A reason, and the attribute at fault where there is one."""


MOST_REJECTED = RecordBound(0.05)
"""How many records of a file may be rejected where nobody says."""


def parse_most_rejected(text: str) -> RecordBound:
    """Return the bound that `5%` or `100` stands for; InputError for any other text."""
    bound = RecordBound.parse(text)
    if bound is None:
        raise InputError("--max-rejected: must be a share, such as 5%, or a number of records, such as 100")
    return bound


def faults_of(rejects: Rejects, attributes: Sequence[str]) -> list[Fault]:
    """Return the fault of each reject; `attributes` are the policy's, by name."""
    return [
        (Reason(reason).label, None if place == NO_ATTRIBUTE else attributes[place])
        for reason, place in zip(rejects.reasons.tolist(), rejects.attributes.tolist(), strict=True)
    ]


def in_words(faults: Counter[Fault]) -> str:
    """Return faults and how often each occurred, most frequent first."""
    return ", ".join(
        f"{reason}{f' in {attribute}' if attribute else ''} {count:,}"
        for (reason, attribute), count in faults.most_common()
    )


class RejectsWriter:
    """Write one reject a line as JSON: line in the input, reason, attribute.

    Parameters
    ----------
    file
        Opened for bytes.
    attributes
        The policy's, by name.
    """

    def __init__(self, file: BinaryIO, attributes: Sequence[str]) -> None:
        self._file = file
        self._attributes = attributes

    def write(self, rejects: Rejects, lines: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Write the rejects of a batch; `lines` tells the lines of offsets."""
        faults = faults_of(rejects, self._attributes)
        for line, (reason, attribute) in zip(lines(rejects.offsets).tolist(), faults, strict=True):
            told = {"line": line, "reason": reason, "attribute": attribute}
            self._file.write(json.dumps(told, ensure_ascii=False).encode() + b"\n")

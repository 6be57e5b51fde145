"""What the binary formats share when they write: encoders of bodies, and room and arguments for their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.writing.encoding import Part, Passing, ReleaseEncoder
from stream_anon.formats.writing.odd_values import odd_values, without_large_numbers
from stream_anon.formats.writing.passing import PassedTexts, Spans
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.keys import PADDING, padded_words, sealed
from stream_anon.microdata.policy import Policy


class BinaryEncoder(ReleaseEncoder):
    """Encodes releases of one policy as the bodies of a schema, without framing.

    Parameters
    ----------
    policy, parts, passing
        See `ReleaseEncoder`.
    schema
        The text of the schema of what is written; an attribute too.
    """

    def __init__(self, policy: Policy, schema: str, parts: Sequence[Part], passing: Passing) -> None:
        super().__init__(policy, parts, passing)
        self.schema = schema

    def admitted(self, batch: CodedBatch) -> CodedBatch:
        """Return a batch without records whose numbers 64 bits cannot hold: they are rejected as out of range.

        What is encoded must come from batches that were admitted.
        """
        return without_large_numbers(self._policy, batch)


def binary_values(
    texts: PassedTexts,
    kinds: NDArray[np.int64],
    most_bytes: int,
    odd_bytes: Callable[[int, Any], bytes],
    write: Callable[..., None],
) -> Spans:
    """Return the bytes of n rows of p passing values, given their JSON.

    Parameters
    ----------
    texts
        The JSON.
    kinds
        int64[p], `odd_values.kinds_of`.
    most_bytes
        The most bytes that any value takes beyond its JSON, or beyond what `odd_bytes` returns for it.
    odd_bytes
        Returns the bytes of a value that the kernel does not understand, given its place among the p and itself.
    write
        The format's kernel. Its arguments are, in this order:

        ==============================  =====================================================================
        ``text, words, ends, kinds``    the JSON and its words (`keys.padded_words`); see `odd_cells`
        ``odd, odd_words, odd_ends``    the values that were given to `odd_bytes`, in order, the words of all
                                        that it returned, and where the bytes of each end
        ``double, bits``                float64[1], and the same as int64[1]; written
        ``out, out_words``              the bytes of all values; written
        ``out_ends``                    int64[n * p + 1]: 0, then where each value ends; written
        ==============================  =====================================================================
    """
    cells, values = odd_values(texts, kinds)
    odd = [odd_bytes(cell % len(kinds), value) for cell, value in zip(cells.tolist(), values, strict=True)]
    ends = texts.ends.ravel()
    size = len(texts.text) + most_bytes * len(ends) + sum(map(len, odd)) + 2 * len(PADDING)
    out, out_ends = np.empty(size, np.uint8), np.zeros(len(ends) + 1, np.int64)
    double = np.empty(1, np.float64)
    # There are several words everywhere, and bytes that are only read are sealed: to the compiler other arrays are
    # of types that it was not warmed up for.
    write(
        sealed(texts.text),
        padded_words(texts.text.tobytes() + 2 * PADDING),
        ends,
        kinds,
        cells,
        padded_words(b"".join([*odd, 2 * PADDING])),
        np.cumsum([len(one) for one in odd], dtype=np.int64),
        double,
        double.view(np.int64),
        out,
        padded_words(out),
        out_ends,
    )
    return Spans(out[: out_ends[-1]], out_ends[1:].reshape(texts.ends.shape))

"""Levels: which node of its attribute's hierarchy each code becomes where whole attributes are recoded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import QuasiIdentifier


def nodes_at(attribute: QuasiIdentifier, codes: NDArray[np.int32], level: int) -> NDArray[np.int64]:
    """Return the bounds of each code's node of a level, int64[c, 2]; O(c + nodes x height).

    Parameters
    ----------
    codes
        int32[c], ascending, each once.
    """
    bounds = np.stack([codes, codes], axis=1).astype(np.int64)
    # Below the first level every known value is its own node.
    place = int(np.searchsorted(codes, attribute.missing_code)) if level == 0 < attribute.domain.height else 0
    # Below the root, missing and unknown values are no part of a known one's node.
    most = attribute.unknown_code if level >= attribute.domain.height else attribute.missing_code - 1
    while place < len(codes):
        node = attribute.node_at(int(codes[place]), level)
        end = max(place + 1, int(np.searchsorted(codes, min(node[1], most), side="right")))
        bounds[place:end] = node
        place = end
    return bounds

"""Publish given nodes: what a method chose for the cells of a class, which may lie above the least node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.generalization import GeneralizedClasses, Generalizer


def publish_nodes(
    generalizers: Sequence[Generalizer],
    attributes: Sequence[QuasiIdentifier],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> GeneralizedClasses:
    """Return the tuples published for c classes whose nodes are known; O(c log c) an attribute.

    Parameters
    ----------
    generalizers
        One for each attribute.
    attributes
        The quasi-identifiers. One that publishes sets publishes all values under its node.
    low, high
        int32[q, c], the bounds of the nodes.
    """
    lows, highs = np.empty_like(low), np.empty_like(high)
    labels, ncp = np.empty(low.shape, np.int64), np.empty(low.shape)
    values: list[Sequence[Published]] = []
    members: list[Sequence[tuple[int, ...]] | None] = []
    for j, (attribute, generalizer) in enumerate(zip(attributes, generalizers, strict=True)):
        generalizer.begin_window()
        sets = None
        if attribute.publication is PublishedForm.VALUES:
            sets = [tuple(range(a, b + 1)) for a, b in zip(low[j].tolist(), high[j].tolist(), strict=True)]
            places = generalizer.sets(sets)
        else:
            places = generalizer.intervals(low[j], high[j])
        lows[j], highs[j], labels[j], ncp[j] = generalizer.columns(places)
        values.append([generalizer.values[place] for place in places.tolist()])
        if sets is not None:
            pairs = zip(sets, values[j], strict=True)
            sets = [() if published == ROOT_LABEL else own for own, published in pairs]
        members.append(sets)
    return GeneralizedClasses(lows, highs, values, labels, ncp, members)

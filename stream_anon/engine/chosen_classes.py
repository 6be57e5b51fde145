"""Choose among classes: without those that may not be published, and none at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.release import SUPPRESSED
from stream_anon.privacy.generalization import GeneralizedClasses


def without(
    failing: NDArray[np.bool_], class_of_row: NDArray[np.int32], generalized: GeneralizedClasses
) -> tuple[NDArray[np.int32], GeneralizedClasses]:
    """Return the class of each row, and the classes, without those marked bool[c]."""
    kept = np.flatnonzero(~failing)
    return renumbered(class_of_row, kept, len(failing)), chosen(generalized, kept)


def renumbered(class_of_row: NDArray[np.int32], kept: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    """Return the class of each row once only some of `count` classes are kept, numbered in their order."""
    rank = np.full(count + 1, SUPPRESSED, np.int32)  # the last entry serves suppressed rows
    rank[kept] = np.arange(len(kept))
    return rank[class_of_row]


def chosen(generalized: GeneralizedClasses, kept: NDArray[np.int64]) -> GeneralizedClasses:
    """Return the classes of these numbers, in that order."""
    places = kept.tolist()
    return GeneralizedClasses(
        generalized.low[:, kept],
        generalized.high[:, kept],
        [[values[i] for i in places] for values in generalized.values],
        generalized.labels[:, kept],
        generalized.ncp[:, kept],
        [None if sets is None else [sets[i] for i in places] for sets in generalized.members],
    )


def no_classes(attributes: int) -> GeneralizedClasses:
    """Return no classes."""
    return GeneralizedClasses(
        np.empty((attributes, 0), np.int32),
        np.empty((attributes, 0), np.int32),
        [[] for _ in range(attributes)],
        np.empty((attributes, 0), np.int64),
        np.empty((attributes, 0)),
        [None] * attributes,
    )

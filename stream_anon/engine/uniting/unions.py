"""Publish several classes alike: what becomes of classes when some attributes of them get one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.chosen_classes import chosen, without
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import SUPPRESSED
from stream_anon.privacy.generalization import GeneralizedClasses, Generalizer, alike


@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """What became of the classes of a window.

    Parameters
    ----------
    class_of_row
        int32[n], `SUPPRESSED` for rows in none.
    generalized
        What is published of each of the c classes.
    united
        bool[c], whether it holds several of the classes before, or is compared with fewer rows than they were.
    gone
        Rows of classes that were taken away.
    """

    class_of_row: NDArray[np.int32]
    generalized: GeneralizedClasses
    united: NDArray[np.bool_]
    gone: int = 0

    def without(self, failing: NDArray[np.bool_]) -> Raised:
        """Return the classes without those marked bool[c]; the others are compared with fewer rows then."""
        left, generalized = without(failing, self.class_of_row, self.generalized)
        gone = int((self.class_of_row >= 0).sum() - (left >= 0).sum())
        return Raised(left, generalized, np.ones(int((~failing).sum()), np.bool_), self.gone + gone)


def published_alike(
    attributes: Sequence[QuasiIdentifier],
    generalizers: Sequence[Generalizer],
    before: Raised,
    classes: NDArray[np.int64],
    own: NDArray[np.int64],
    places: NDArray[np.int64],
    bounds: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> Raised:
    """Return the classes after some of them get the least nodes above the bounds of their unions.

    Parameters
    ----------
    attributes, generalizers
        The quasi-identifiers, and one that has met all classes for each.
    classes, own
        int64[m], which classes change, and the union that each is in.
    places
        int64[s], the attributes that change.
    bounds
        int32[unions, s] each, the least and greatest codes of unions. Where sets are published these do not count,
        but the sets of its classes.
    """
    generalized = before.generalized
    low, high = generalized.low.copy(), generalized.high.copy()
    labels, ncp = generalized.labels.copy(), generalized.ncp.copy()
    values, members = list(generalized.values), list(generalized.members)
    for column, j in enumerate(places.tolist()):
        generalizer, sets = generalizers[j], members[j]
        if sets is None:
            found = generalizer.intervals(bounds[0][own, column], bounds[1][own, column])
        else:
            joined = _unions(attributes[j], [sets[one] for one in classes.tolist()], own)
            found = generalizer.sets(joined)
        low[j, classes], high[j, classes], labels[j, classes], ncp[j, classes] = generalizer.columns(found)
        values[j] = list(values[j])
        for one, place in zip(classes.tolist(), found.tolist(), strict=True):
            values[j][one] = generalizer.values[place]
        if sets is not None:
            members[j] = _replaced(attributes[j], sets, classes, joined)
    raised = GeneralizedClasses(low, high, values, labels, ncp, members)
    first, place = alike(raised.labels)
    class_of_row = np.where(before.class_of_row >= 0, place[before.class_of_row], SUPPRESSED).astype(np.int32)
    united = (np.bincount(place) > 1) | (np.bincount(place, before.united) > 0)
    return Raised(class_of_row, chosen(raised, first), united, before.gone)


def tuples_of_pairs(
    generalizers: Sequence[Generalizer], generalized: GeneralizedClasses, pairs: NDArray[np.int64]
) -> GeneralizedClasses:
    """Return the nodes that would be published of pairs of classes alike, without their values.

    Parameters
    ----------
    generalized
        Of nodes alone, no sets.
    pairs
        int64[2, m], classes.
    """
    low, high = generalized.low[:, pairs].min(axis=1), generalized.high[:, pairs].max(axis=1)
    labels, ncp = np.empty(low.shape, np.int64), np.empty(low.shape)
    for j, generalizer in enumerate(generalizers):
        places = generalizer.intervals(low[j], high[j])
        low[j], high[j], labels[j], ncp[j] = generalizer.columns(places)
    return GeneralizedClasses(low, high, [[]] * len(low), labels, ncp, [None] * len(low))


def cells_of(
    attributes: Sequence[QuasiIdentifier], low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return numbers that tuples have in common that could be published alike without exceeding `max_level`.

    Parameters
    ----------
    low, high
        int32[g, s], the bounds of the tuples by these attributes.
    """
    columns = [
        _tops(attribute, low[:, column], high[:, column])
        for column, attribute in enumerate(attributes)
        if attribute.max_level is not None
    ]
    if not columns:
        return np.zeros(len(low), np.int64)
    return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _tops(attribute: QuasiIdentifier, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the first code of the highest node that may be published, -1 for what lies above it already."""
    level = attribute.max_level
    if level is None:
        raise ValueError("no level is the highest one")
    tops: dict[tuple[int, int], int] = {}
    for pair in set(zip(low.tolist(), high.tolist(), strict=True)):
        top = attribute.node_at(pair[0], level)
        tops[pair] = top[0] if top[0] <= pair[0] and pair[1] <= top[1] else -1
    return np.array([tops[pair] for pair in zip(low.tolist(), high.tolist(), strict=True)], np.int64)


def _unions(
    attribute: QuasiIdentifier, sets: Sequence[tuple[int, ...]], union: NDArray[np.int64]
) -> list[tuple[int, ...]]:
    """Return for each class the codes of all classes of its union; one that covers everything makes all of them."""
    every = (0, attribute.unknown_code)
    codes: dict[int, set[int]] = {}
    for own, number in zip(sets, union.tolist(), strict=True):
        codes.setdefault(number, set()).update(own or every)
    whole = {number: tuple(sorted(own)) for number, own in codes.items()}
    return [whole[number] for number in union.tolist()]


def _replaced(
    attribute: QuasiIdentifier,
    sets: Sequence[tuple[int, ...]],
    classes: NDArray[np.int64],
    joined: Sequence[tuple[int, ...]],
) -> list[tuple[int, ...]]:
    """Return the sets of all classes, with those of some replaced; what is published as "*" covers everything."""
    kept = list(sets)
    for one, codes in zip(classes.tolist(), joined, strict=True):
        kept[one] = () if attribute.publish_set(codes) == ROOT_LABEL else codes
    return kept

"""What releases of a table keep and lose: by measures that need no row of one to be found in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.distance import absolute_distance, every_level, prec, published_levels, relative_distance
from stream_anon.measures.information import dependence_kept, information_kept, label_information_kept
from stream_anon.measures.loss import average_class_size, classification_loss, conditional_entropy, discernibility
from stream_anon.measures.queries import query_error, random_range_counts
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.privacy.gcp import gcp
from stream_anon.recoding.lattice.attribute_levels import levels_of


@dataclass(frozen=True, slots=True)
class AttributeKept:
    """What is left of one attribute: the share of its information."""

    name: str
    information: float | None


@dataclass(frozen=True, slots=True)
class PairKept:
    """What is left of two attributes: the shares of their joint information, and of their mutual information."""

    names: tuple[str, str]
    information: float | None
    dependence: float | None


@dataclass(frozen=True, slots=True)
class LabelKept:
    """What is left of a label that is published as it is.

    Parameters
    ----------
    classification_loss
        Share of records, suppressed ones included, that have not their class's most frequent label.
    information
        Share of the information of single attributes on the label.
    pair_information
        The same of pairs of attributes.
    """

    classification_loss: float | None
    information: float | None
    pair_information: float | None


@dataclass(frozen=True, slots=True)
class Utility:
    """What one release keeps and loses.

    Parameters
    ----------
    classes
        Distinct published tuples of the whole file; a tuple of several windows is one class.
    conditional_entropy
        Bits that are unknown of each cell, summed.
    class_size
        Records per class over the policy's k; None without a class.
    dependence
        Mean, over pairs of attributes that depend on each other, of the share of their mutual information that is
        left; None without such a pair.
    query_error
        Mean relative error of random range counts; None if there are none.
    information
        Mean over attributes of the share of their information that is left.
    attributes, pairs
        What is left of each, in policy order.
    label
        None where no label was named.
    """

    source: str
    records: int
    suppressed: int
    classes: int
    absolute: float
    relative: float
    prec: float
    gcp: float | None
    conditional_entropy: float
    discernibility: int
    class_size: float | None
    dependence: float | None
    query_error: float | None
    information: float | None
    attributes: tuple[AttributeKept, ...]
    pairs: tuple[PairKept, ...]
    label: LabelKept | None = None


def study_utility(
    table: OriginalTable, released: Released, seed: int = 0, *, collapse_levels: bool = False
) -> Utility:
    """Return what a release of a table keeps and loses.

    Parameters
    ----------
    seed
        Of the random range counts: the same seed asks the same ones of every release.
    collapse_levels
        Whether distances and Prec count levels that part the table's values alike as one; otherwise they count the
        hierarchies as given.

    Raises
    ------
    InputError
        If the table was not read whole, or the release holds more records.
    """
    attributes, codes, boxes = table.policy.quasi_identifiers, table.population.codes, released.boxes
    suppressed = table.suppressed_in(released)
    levels, heights = _levels(table, released, collapse_levels=collapse_levels)
    ncp = _ncp(table, released)
    singles = tuple(
        AttributeKept(attribute.name, information_kept(codes, boxes, (place,), suppressed))
        for place, attribute in enumerate(attributes)
    )
    pairs = tuple(
        PairKept(
            (attributes[one].name, attributes[other].name),
            information_kept(codes, boxes, (one, other), suppressed),
            dependence_kept(codes, boxes, one, other),
        )
        for one, other in combinations(range(len(attributes)), 2)
    )
    queries = random_range_counts([attribute.domain.size for attribute in attributes], np.random.default_rng(seed))
    return Utility(
        released.source,
        released.records,
        suppressed,
        len(boxes),
        absolute_distance(levels, heights, boxes.records, suppressed),
        relative_distance(levels, heights, boxes.records, suppressed),
        prec(levels, heights, boxes.records, suppressed),
        gcp(ncp, boxes.records, suppressed),
        conditional_entropy(codes, boxes, suppressed),
        discernibility(boxes.records, suppressed),
        None if table.policy.k is None else average_class_size(boxes.records, table.policy.k),
        _mean([each.dependence for each in pairs]),
        query_error(codes, boxes, queries),
        _mean([each.information for each in singles]),
        singles,
        pairs,
        _of_label(table, released, suppressed),
    )


def _levels(
    table: OriginalTable, released: Released, *, collapse_levels: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the level of what each class publishes of each attribute, [q, c], and the attributes' heights, [q]."""
    boxes, attributes = released.boxes, table.policy.quasi_identifiers
    counted = [
        levels_of(attribute, codes).numbers if collapse_levels else every_level(attribute)
        for attribute, codes in zip(attributes, table.population.codes, strict=True)
    ]
    cells = zip(attributes, boxes.low, boxes.high, counted, strict=True)
    levels = np.array([published_levels(*each) for each in cells], np.int64).reshape(boxes.low.shape)
    return levels, np.array([len(own) - 1 for own in counted], np.int64)


def _ncp(table: OriginalTable, released: Released) -> NDArray[np.float64]:
    """Return the NCP of what each class publishes of each attribute; [q, c]."""
    boxes = released.boxes
    ncp = np.zeros(boxes.low.shape)
    for place, attribute in enumerate(table.policy.quasi_identifiers):
        sets = boxes.members.get(place) or [()] * len(boxes)
        bounds = zip(boxes.low[place].tolist(), boxes.high[place].tolist(), sets, strict=True)
        for number, (low, high, members) in enumerate(bounds):
            ncp[place, number] = attribute.ncp_set(members) if members else attribute.ncp(low, high)
    return ncp


def _of_label(table: OriginalTable, released: Released, suppressed: int) -> LabelKept | None:
    if table.labels is None or released.labels is None:
        return None
    codes = table.population.codes
    singles = [(place,) for place in range(len(codes))]
    single, pair = (
        label_information_kept(codes, table.labels, released.boxes, released.labels, attributes)
        for attributes in (singles, list(combinations(range(len(codes)), 2)))
    )
    return LabelKept(classification_loss(released.labels, suppressed), single, pair)


def _mean(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return float(np.mean(known)) if known else None

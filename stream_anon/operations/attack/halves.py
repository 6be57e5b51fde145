"""A trial: half of the people of a sample are released in memory, the others are the control group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.files.whole_table import anonymization_of
from stream_anon.measures.boxes import Boxes, Members, boxes_of_classes
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import MOST_STUDIED, OriginalTable, Released, table_of


def released_half(
    policy: Policy, source: SampleSource, draws: np.random.Generator
) -> tuple[OriginalTable, OriginalTable, Released]:
    """Return half of a sample's people, the other half, and what is released of the first as one table.

    Nothing is written. The rules of the service's `check` are not asked: what must not be released may be attacked.

    Raises
    ------
    InputError
        If there are no records that fit the policy, or too few people for two halves.
    """
    sample = source.read(policy, MOST_STUDIED)
    sample.require_records()
    people, number = np.unique(sample.batch.individuals, return_inverse=True)
    if len(people) < 2 * (policy.k or 1):
        raise InputError(f"{sample.source}: has too few people for a trial with half of them")
    chosen = (draws.permutation(len(people)) < len(people) // 2)[number]
    inside, outside = (sample.batch.take(np.flatnonzero(half)) for half in (chosen, ~chosen))
    tables = [table_of(policy, half, sample.source) for half in (inside, outside)]
    return tables[0], tables[1], _released(policy, inside, sample.source)


def _released(policy: Policy, batch: CodedBatch, source: str) -> Released:
    anonymization = anonymization_of(policy)
    certified = [*anonymization.add(batch), *anonymization.close()]
    releases = [part for one in certified for part in one.written()]
    boxes = _together([boxes_of_classes(policy.quasi_identifiers, release.classes) for release in releases], policy)
    starts = np.cumsum([0, *(len(release.classes) for release in releases)])
    classes = [_classes(release) + start for release, start in zip(releases, starts[:-1].tolist(), strict=True)]
    rows = [row for release in releases for row in taken(release.payload, release.order)]
    passed = {own.name: [row[place] for row in rows] for place, own in enumerate(policy.passed)}
    return Released(source, boxes, None, np.concatenate([np.empty(0, np.int64), *classes]), passed)


def _classes(release: Release) -> NDArray[np.int64]:
    return release.class_of_row[release.order].astype(np.int64)


def _together(parts: list[Boxes], policy: Policy) -> Boxes:
    """Return the classes of several windows as those of one; equal ones stay apart."""
    width = len(policy.quasi_identifiers)
    places = {place for part in parts for place in part.members}
    members: dict[int, Members] = {
        place: [one for part in parts for one in part.members.get(place, [()] * len(part))] for place in places
    }
    none = np.empty((width, 0), np.int32)
    return Boxes(
        np.concatenate([none, *(part.low for part in parts)], axis=1),
        np.concatenate([none, *(part.high for part in parts)], axis=1),
        np.concatenate([np.empty(0, np.int64), *(part.records for part in parts)]),
        members,
    )

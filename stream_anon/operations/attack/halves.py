"""A trial: half of the people of a sample are released in memory, the others are the control group."""

from __future__ import annotations

import numpy as np

from stream_anon.errors import InputError
from stream_anon.files.whole_table import anonymization_of
from stream_anon.measures.boxes import Boxes, Members, boxes_of_classes
from stream_anon.measures.grouping import by_appearance
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import Policy
from stream_anon.operations.attack.attacked_records import AttackedRecords
from stream_anon.operations.released_windows import ReleasedWindows, mean_loss
from stream_anon.operations.studied_records import Released
from stream_anon.privacy.certificate import read_part


def released_half(
    records: AttackedRecords, draws: np.random.Generator, *, by_arrival: bool = False
) -> tuple[AttackedRecords, AttackedRecords, Released]:
    """Return half of the people, the other half, and what is released of the first.

    Nothing is written. The rules of the service's `check` are not asked: what must not be released may be attacked.

    Parameters
    ----------
    by_arrival
        Whether a window closes whenever `window.max_records` have come; else all is one table.

    Raises
    ------
    InputError
        If there are too few people for two halves.
    SettingsError
        If such a policy is for a service alone, or needs a key of draws.
    """
    policy = records.policy
    number, people = by_appearance(records.batch.individuals)  # keys differ from run to run
    if people < 2 * (policy.k or 1):
        raise InputError(f"{records.source}: has too few people for a trial with half of them")
    chosen = (draws.permutation(people) < people // 2)[number]
    inside, outside = (records.take(np.flatnonzero(half)) for half in (chosen, ~chosen))
    return inside, outside, _released(policy, inside.batch, records.source, by_arrival=by_arrival)


def _released(policy: Policy, batch: CodedBatch, source: str, *, by_arrival: bool) -> Released:
    anonymization = anonymization_of(policy, by_arrival=by_arrival)
    certified = [*anonymization.add(batch), *anonymization.close()]
    parts = [list(one.written()) for one in certified]
    releases = [release for part in parts for release in part]
    boxes = _together([boxes_of_classes(policy.quasi_identifiers, release.classes) for release in releases], policy)
    starts = np.cumsum([0, *(len(release.classes) for release in releases)])
    classes = [
        release.class_of_row[release.order].astype(np.int64) + start
        for release, start in zip(releases, starts[:-1].tolist(), strict=True)
    ]
    rows = [row for release in releases for row in taken(release.payload, release.order)]
    passed = {own.name: [row[place] for row in rows] for place, own in enumerate(policy.passed)}
    windows = None
    if by_arrival:
        counts = [sum(len(release.classes) for release in part) for part in parts]
        ends = [max(stretch.end for stretch in one.release.ranges) for one in certified]
        windows = ReleasedWindows(np.repeat(np.arange(len(parts)), counts), np.array(ends, np.int64))
    none = np.empty(0, np.int64)
    people = np.concatenate([none, *(release.classes.individuals for release in releases)])
    loss = mean_loss(read_part(one.certificate[0]) for one in certified)
    return Released(source, boxes, None, np.concatenate([none, *classes]), passed, windows, people, loss)


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

"""Offsets of a mirrored partition: what was released is never read again, and little else is withheld."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.operations.ledger.mirrored_offsets import Aligned, Sync, aligned

SYNCS = [Sync(100, 90), Sync(150, 140), Sync(250, 240)]


@pytest.mark.parametrize(
    ("released", "expected"),
    [
        (100, Aligned(90, 90)),  # the record of a sync is the next one
        (101, Aligned(91, 91)),  # the record of a sync is the last one that was released
        (120, Aligned(140, 91)),  # between two syncs: at the later one
        (150, Aligned(140, 140)),
        (251, Aligned(241, 241)),
        (260, Aligned(300, 241)),  # behind the last sync: at the end
        (40, Aligned(90, 0)),  # before the first one that is known
    ],
)
def test_a_partition_goes_on_at_the_next_sync_and_says_what_is_withheld(released: int, expected: Aligned) -> None:
    assert aligned(released, SYNCS, 0, 300) == expected


def test_without_a_sync_a_partition_goes_on_at_its_end() -> None:
    assert aligned(7, [], 3, 20) == Aligned(20, 3)


def test_a_partition_goes_on_behind_what_the_mirror_copied_again() -> None:
    went_back = [Sync(0, 0), Sync(200, 200), Sync(150, 230), Sync(260, 340)]
    assert aligned(180, went_back, 0, 400).next == 340
    assert aligned(150, went_back, 0, 400).next == 230


def test_a_stretch_with_more_records_than_offsets_is_not_trusted_unless_the_mirror_is_exactly_once() -> None:
    syncs = [Sync(0, 0), Sync(200, 200), Sync(300, 350), Sync(400, 450)]
    assert aligned(200, syncs, 0, 500) == Aligned(350, 200)
    assert aligned(200, syncs, 0, 500, exactly_once=True) == Aligned(200, 200)


def test_syncs_of_a_topic_that_was_created_anew_are_not_believed() -> None:
    assert aligned(120, SYNCS, 0, 200) == Aligned(200, 0)
    assert aligned(120, [*SYNCS, Sync(110, 0), Sync(130, 20)], 0, 60) == Aligned(20, 1)


# The law: whatever the mirror did, nothing that was released is read again ---------------------------------------


@dataclass(frozen=True)
class Mirrored:
    """A partition of the new cluster: the upstream offset of each record (None is a marker), and the syncs."""

    copies: list[int | None]
    syncs: list[Sync]
    released: int


@st.composite
def _mirrored(draw: st.DrawFn, *, gaps: bool, markers: bool, restarts: int) -> Mirrored:
    """A mirror that starts again now and then from an earlier record.

    With gaps it syncs the first record after each start; without, one record of the last run and any others.
    """
    copies: list[int | None] = []
    syncs: list[Sync] = []
    upstream = draw(st.integers(0, 20))
    runs = draw(st.integers(1, 1 + restarts))
    for run in range(runs):
        if run:
            upstream = max(upstream - draw(st.integers(0, 12)), 0)
        length = draw(st.integers(1, 15))
        must = 0 if gaps else draw(st.integers(0, length - 1)) if run == runs - 1 else -1
        for n in range(length):
            if n == must or draw(st.booleans()):
                syncs.append(Sync(upstream, len(copies)))
            copies.append(upstream)
            upstream += 1 + (draw(st.integers(0, 5)) if gaps else 0)
            if markers and draw(st.booleans()):
                copies.append(None)
    return Mirrored(copies, syncs, draw(st.integers(0, upstream + 3)))


def _law(partition: Mirrored, *, dropped: int = 0, exactly_once: bool = False) -> None:
    syncs = partition.syncs[min(dropped, len(partition.syncs) - 1) :]  # compaction keeps the last one
    end = len(partition.copies)
    found = aligned(partition.released, syncs, 0, end, exactly_once=exactly_once)
    again = [at for at, its in enumerate(partition.copies) if its is not None and its < partition.released]
    assert not [at for at in again if at >= found.next], "a released record is read again"
    assert 0 <= found.next <= end
    if not dropped:
        withheld = {i for i in partition.copies[: found.next] if i is not None and i >= partition.released}
        assert len(withheld) <= found.withheld


@given(_mirrored(gaps=True, markers=False, restarts=0), st.integers(0, 30))
def test_nothing_released_is_read_again_across_gaps(partition: Mirrored, dropped: int) -> None:
    _law(partition)
    _law(partition, dropped=dropped)


@given(_mirrored(gaps=False, markers=False, restarts=4), st.integers(0, 30))
def test_nothing_released_is_read_again_where_the_mirror_started_again(partition: Mirrored, dropped: int) -> None:
    _law(partition)
    _law(partition, dropped=dropped)


@given(_mirrored(gaps=True, markers=True, restarts=0), st.booleans())
def test_nothing_released_is_read_again_beside_markers(partition: Mirrored, exactly_once: bool) -> None:
    _law(partition, exactly_once=exactly_once)

"""Where a mirrored partition goes on: the first offset from which on no record was released before.

A mirror copies records in order, but it skips offsets (markers of transactions, gaps of compaction), and after a
restart it may copy a stretch again. So an offset of the old cluster has no counterpart that could be computed.
What is known are syncs, pairs of offsets of one record in both clusters. Between syncs everything is rounded up:
records may be withheld, and none is released twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True, slots=True)
class Sync:
    """The offset of one record in the old cluster (`upstream`) and in the new one (`downstream`)."""

    upstream: int
    downstream: int


@dataclass(frozen=True, slots=True)
class Aligned:
    """Where a partition of the new cluster goes on.

    Parameters
    ----------
    next
        The next offset to release in the new cluster: no record from here on was released in the old one.
    begin
        Every record below was released in the old cluster. From here to `next` records may be withheld: they are
        released in neither cluster.
    """

    next: int
    begin: int

    @property
    def withheld(self) -> int:
        """Return an upper bound on the number of withheld records."""
        return self.next - self.begin


def aligned(released: int, syncs: Iterable[Sync], first: int, end: int, *, exactly_once: bool = False) -> Aligned:
    r"""Return where a partition continues if all records below `released` were released in the old cluster.

    ::

        upstream     100        150  released = 180         251
        sync          |          |           .               |
        downstream   100        150          .              251       end
                                  \--- withheld at most ----/ next

    Parameters
    ----------
    released
        The next offset to release in the old cluster.
    syncs
        In the order in which the mirror wrote them; the oldest ones may be gone.
    first, end
        The bounds of the partition in the new cluster. The mirror must not write there any more.
    exactly_once
        Whether the mirror copies each record once, in transactions: their markers take offsets, too.

    Notes
    -----
    Between two syncs there cannot be more records in the new cluster than offsets in the old one, unless the mirror
    has copied some of them again. Nothing is known of such a stretch, so `next` lies after it.
    """
    known = _of_this_topic(syncs)
    if any(sync.downstream >= end for sync in known):  # of another topic: this one has never been so long
        return Aligned(end, first)
    following = known[0].downstream if known else end
    for sync, after in zip_longest(known, known[1:]):
        copied_again = after is not None and _copied_again(sync, after, exactly_once=exactly_once)
        if sync.upstream == released - 1 and not copied_again:
            following = sync.downstream + 1
        elif sync.upstream < released or copied_again:
            following = end if after is None else after.downstream
    begin = max(_released_below(released, known, first, exactly_once=exactly_once), first)
    return Aligned(following, min(begin, following))


def _of_this_topic(syncs: Iterable[Sync]) -> list[Sync]:
    """Return the newest syncs whose downstream offsets rise: where one falls, the topic was created anew."""
    known: list[Sync] = []
    for sync in syncs:
        if known and sync.downstream <= known[-1].downstream:
            known.clear()
        known.append(sync)
    return known


def _copied_again(sync: Sync, after: Sync, *, exactly_once: bool) -> bool:
    """Return whether records may have been copied once more between two syncs."""
    offsets, records = after.upstream - sync.upstream, after.downstream - sync.downstream
    return offsets <= 0 or (records > offsets and not exactly_once)


def _released_below(released: int, known: Sequence[Sync], first: int, *, exactly_once: bool) -> int:
    """Return the downstream offset below which every record was released in the old cluster."""
    begin = first
    for n, sync in enumerate(known):
        if n and _copied_again(known[n - 1], sync, exactly_once=exactly_once):
            return begin
        if sync.upstream >= released:
            return sync.downstream if sync.upstream == released else begin
        begin = sync.downstream + 1
    return begin

"""Small tables with hierarchies of their own, and what their groups are when one counts them by hand."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from stream_anon.microdata.attributes import Unknown
from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels, levels_of
from stream_anon.recoding.lattice.lattice import Lattice
from stream_anon.recoding.lattice.rows import Rows


@dataclass(frozen=True)
class Table:
    """A table over hierarchies; the codes beyond a hierarchy's leaves are missing and unknown values."""

    attributes: tuple[QuasiIdentifier, ...]
    rows: Rows

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        return tuple(levels_of(own, codes) for own, codes in zip(self.attributes, self.rows.codes, strict=True))

    @property
    def lattice(self) -> Lattice:
        return Lattice(self.levels, self.rows)


def published(attribute: QuasiIdentifier, code: int, level: int) -> str | None:
    """Return the label that a value becomes on a level of its hierarchy, climbing from the leaf."""
    domain = attribute.domain
    assert isinstance(domain, CategoricalDomain)
    tree = domain.hierarchy
    if level >= tree.height or code == attribute.unknown_code:
        return "*"
    if code == attribute.missing_code:
        return None
    node = int(tree.leaves[code])
    while level and tree.depths[node] > tree.height - level:
        node = int(tree.parents[node])
    return tree.labels[node] if node else "*"


def counted(
    table: Table, levels: Sequence[AttributeLevels], vector: Sequence[int], rows: Rows | None = None
) -> list[tuple[int, int, int]]:
    """Return the groups of a node as (individuals, values of the poorest sensitive attribute, records)."""
    rows = table.rows if rows is None else rows
    groups: defaultdict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for row in range(len(rows)):
        cells = zip(table.attributes, levels, vector, rows.codes[:, row].tolist(), strict=True)
        groups[tuple(published(a, code, own.numbers[level]) for a, own, level, code in cells)].append(row)
    found = []
    for members in groups.values():
        people = {int(rows.individuals[row]) for row in members}
        values = [{int(column[row]) for row in members} - {MISSING_KEY} for column in rows.sensitive]
        found.append((len(people), min(map(len, values), default=0), len(members)))
    return found


def histogram(groups: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return groups as a histogram: records by (individuals, values), ascending."""
    records: defaultdict[tuple[int, int], int] = defaultdict(int)
    for size, values, count in groups:
        records[size, values] += count
    return sorted((size, values, count) for (size, values), count in records.items())


def too_small(groups: Sequence[tuple[int, int, int]], k: int, l: int = 1) -> int:  # noqa: E741
    """Return the records in groups that fall short."""
    return sum(count for size, values, count in groups if size < k or values < (l if l > 1 else 0))


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Return a tree of two to seven leaves and up to four levels, ragged or not."""
    leaves = draw(st.integers(2, 7))
    paths = [[f"v{leaf}"] for leaf in range(leaves)]
    heads = list(range(leaves))  # of the group that a leaf is in so far
    for level in range(draw(st.integers(0, 3))):
        cuts = draw(st.lists(st.booleans(), min_size=leaves, max_size=leaves))
        # A group ends where a cut stands, and never within a group of the level below.
        group, heads_above = 0, []
        for leaf in range(leaves):
            if leaf and cuts[leaf] and heads[leaf] != heads[leaf - 1]:
                group = leaf
            heads_above.append(group)
        for leaf in range(leaves):
            alone = heads_above.count(heads_above[leaf]) == heads.count(heads[leaf])
            if not (alone and draw(st.booleans())):  # a short branch leaves the level out
                paths[leaf].append(f"g{level}.{heads_above[leaf]}")
        heads = heads_above
    return Hierarchy.from_rows(_consistent([[*path, "*"] for path in paths]))


def _consistent(paths: list[list[str]]) -> list[list[str]]:
    """Let every label have one parent: that of its first path."""
    parents: dict[str, str] = {}
    for path in paths:
        for child, parent in pairwise(path):
            parents.setdefault(child, parent)
    made = []
    for path in paths:
        new = [path[0]]
        while new[-1] != "*":
            new.append(parents[new[-1]])
        made.append(new)
    return made


@st.composite
def tables(draw: st.DrawFn, most: int = 24) -> Table:
    """Return a table of one to three attributes and up to two sensitive columns; people have one row or several."""
    attributes = tuple(
        QuasiIdentifier(f"a{place}", CategoricalDomain(draw(hierarchies())), unknown=Unknown.ROOT)
        for place in range(draw(st.integers(1, 3)))
    )
    return draw(_rows(attributes, most))


def times(zone: str, finest: Finest, day: dt.date, days: int) -> DateDomain:
    """Return the hours or minutes of some days."""
    return DateDomain("iso8601", day, day + dt.timedelta(days=days), zone=zone, finest=finest)


@st.composite
def tables_of_times(draw: st.DrawFn, most: int = 24) -> Table:
    """Return a table with hours or minutes: near a change of clocks or of the year, or over months."""
    domain = times(
        draw(st.sampled_from(["", "Europe/Berlin", "Australia/Lord_Howe"])),
        draw(st.sampled_from([Finest.HOUR, Finest.MINUTE])),
        draw(st.sampled_from([dt.date(2024, 3, 30), dt.date(2024, 10, 5), dt.date(2023, 12, 30)])),
        draw(st.sampled_from([1, 3, 40])),
    )
    first = QuasiIdentifier("seen", domain, unknown=Unknown.ROOT)
    others = [
        QuasiIdentifier(f"a{place}", CategoricalDomain(draw(hierarchies())), unknown=Unknown.ROOT)
        for place in range(draw(st.integers(0, 1)))
    ]
    return draw(_rows((first, *others), most))


@st.composite
def _rows(draw: st.DrawFn, attributes: tuple[QuasiIdentifier, ...], most: int) -> Table:
    n = draw(st.integers(1, most))
    every = draw(st.booleans())
    sensitive = draw(st.integers(0, 2))
    seed = draw(st.integers(0, 2**32 - 1))
    draws = np.random.default_rng(seed)
    # Missing and unknown values are among the codes; a small range makes rows that are alike.
    codes = np.array([draws.integers(0, draws.integers(1, a.size + 1), n) for a in attributes], np.int32)
    people = np.arange(n) if every else draws.integers(0, max(n // 2, 1), n)
    values = draws.integers(0, 4, (sensitive, n))
    values[values == 3] = MISSING_KEY
    return Table(attributes, Rows(codes, people.astype(np.int64), values.astype(np.int64)))

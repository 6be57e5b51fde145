"""Hierarchies made by rule instead of by hand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from stream_anon.errors import HierarchyError
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL, Hierarchy


def balanced(values: Sequence[str], arity: int = 2, key: str = "hierarchy") -> Hierarchy:
    """Put `arity` neighbours of an ordered list under each node, level by level up to one root.

    A group is labelled by its ends, `first..last`.
    """
    if arity < 2:
        raise HierarchyError(key, "arity must be at least 2")
    paths = [[value] for value in values]
    width = arity
    while width < len(values):
        for start in range(0, len(values), width):
            members = paths[start : start + width]
            ends = f"{values[start]}..{values[start + len(members) - 1]}"
            for path in members:
                path.append(ends if len(members) > 1 else path[-1])
        width *= arity
    return Hierarchy.from_rows(([*path, ROOT_LABEL] for path in paths), key)


def equal_width(low: int, high: int, parts: int, arity: int = 2) -> tuple[int, ...]:
    """Return the widths of ranges that cut `low`..`high` into about `parts` equal ones, then ever wider.

    The answer suits `NumericDomain.levels`: each width is `arity` times the one before.
    """
    if parts < 1 or high <= low or arity < 2:
        raise ValueError("needs parts >= 1, low < high and arity >= 2")
    width = -(-(high - low + 1) // parts)
    widths = []
    while width <= high - low:
        widths.append(width)
        width *= arity
    return tuple(widths)


def equal_frequency(
    counts: Sequence[tuple[int, int]], parts: int, arity: int = 2, key: str = "hierarchy"
) -> Hierarchy:
    """Cut ordered (value, count) pairs into `parts` ranges of about equal count, then join `arity` at a time.

    Ranges are labelled `first-last` and never part equal values.
    """
    total = sum(count for _, count in counts)
    if parts < 1 or arity < 2 or total <= 0:
        raise HierarchyError(key, "needs parts >= 1, arity >= 2 and at least one value")
    bounds = [total * i / parts for i in range(1, parts)]
    part_of, seen = [], 0
    for _, count in counts:
        part_of.append(bisect_right(bounds, seen + count / 2))
        seen += count
    paths = [[str(value)] for value, _ in counts]
    groups = part_of
    while len(set(groups)) > 1:
        for group in sorted(set(groups)):
            members = [i for i, own in enumerate(groups) if own == group]
            label = f"{counts[members[0]][0]}-{counts[members[-1]][0]}"
            for i in members:
                paths[i].append(label if len(members) > 1 else paths[i][-1])
        ranks = {group: rank for rank, group in enumerate(sorted(set(groups)))}
        groups = [ranks[group] // arity for group in groups]
    return Hierarchy.from_rows(([*path, ROOT_LABEL] for path in paths), key)


def prefixes(values: Sequence[str], length: int, separator: str | None = None, key: str = "hierarchy") -> Hierarchy:
    """Put texts under their prefixes: of characters, or of words where a `separator` is given.

    Level i keeps `length` - i characters or words; level `length` is the root.
    """
    joint = separator or ""
    rows = []
    for value in values:
        words = value.split(separator) if separator is not None else list(value)
        if len(words) > length:
            raise HierarchyError(key, f"a value has more than {length} parts")
        path = [value]
        for level in range(1, length):
            kept = joint.join(words[: length - level])
            mark = kept if separator is not None else kept + "*" * (len(words) - len(words[: length - level]))
            path.append(mark)
        rows.append([*path, ROOT_LABEL])
    return Hierarchy.from_rows(rows, key)

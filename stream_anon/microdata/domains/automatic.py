"""Hierarchies made by rule instead of by hand."""

from __future__ import annotations

from collections.abc import Sequence

from stream_anon.errors import HierarchyError
from stream_anon.microdata.domains.hierarchy import MOST_LEVELS, ROOT_LABEL, Hierarchy

BETWEEN = ".."  # the ends of a range of categories


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
            ends = f"{values[start]}{BETWEEN}{values[start + len(members) - 1]}"
            for path in members:
                path.append(ends if len(members) > 1 else path[-1])
        width *= arity
    return Hierarchy.from_rows(([*path, ROOT_LABEL] for path in paths), key)


def equal_width(cells: int, parts: int, arity: int = 2) -> tuple[int, ...]:
    """Return the widths, in cells, of ranges that cut `cells` into about `parts` equal ones, then ever wider ones.

    Each width is `arity` times the one before; the widest is below `cells`.
    """
    if not 2 <= parts <= cells or arity < 2:
        raise ValueError("needs 2 <= parts <= cells and arity >= 2")
    width = -(-cells // parts)
    widths = []
    while width < cells:
        widths.append(width)
        width *= arity
    return tuple(widths)


def equal_frequency(counts: Sequence[int], fewest: Sequence[bool], parts: int) -> tuple[int, ...]:
    """Return the first cells of up to `parts` - 1 ranges that, with the one before them, hold about as many each.

    Parameters
    ----------
    counts
        How many values each cell holds, in order.
    fewest
        Whether enough people stand in a cell for a range to begin with it.
    parts
        How many ranges there should be; there are fewer where the values or the cells that may begin one are few.
    """
    total, below = sum(counts), 0
    shares = []  # values below each cell that may begin a range
    for cell, count in enumerate(counts):
        if cell and below and count and fewest[cell]:
            shares.append((below, cell))
        below += count
    cuts = {
        min(shares, key=lambda share: (abs(share[0] * parts - total * part), share[1]))[1]
        for part in range(1, parts)
        if shares
    }
    return tuple(sorted(cuts))


def word_prefixes(texts: Sequence[str], separator: str = " ", key: str = "hierarchy") -> Hierarchy:
    """Put texts under what they begin with: all but their last word, then one word fewer at each level.

    Level i keeps n - i words, where the longest text has n words; level n is the root. A shorter text waits.

    Raises
    ------
    HierarchyError
        If a text is what another one begins with, a text is empty, or one has more than 64 words.
    """
    longest = max((text.count(separator) + 1 for text in texts), default=1)
    if longest > MOST_LEVELS:
        raise HierarchyError(key, f"a text has more than {MOST_LEVELS} words")
    paths = []
    for text in texts:
        words = text.split(separator)
        kept = (separator.join(words[: longest - level]) for level in range(1, longest))
        paths.append([text, *kept, ROOT_LABEL])
    return Hierarchy.from_rows(paths, key)

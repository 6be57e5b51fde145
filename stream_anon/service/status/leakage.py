"""What quasi-identifiers of the last measured window leak, on the status page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Leakage = Mapping[str, Mapping[str, float]]
"""The shares `before` and `after` by attribute, the leakiest after the release first."""


def leakage_section(shares: Iterable[tuple[str, float, float]]) -> Leakage:
    """Return the section of the page; empty before a window was measured.

    Parameters
    ----------
    shares
        (attribute, before, after).
    """
    ordered = sorted(shares, key=lambda each: (-each[2], -each[1]))
    return {name: {"before": before, "after": after} for name, before, after in ordered}


def highest(sections: Sequence[Leakage]) -> Leakage:
    """Return the section of several workers: of each attribute the highest shares, as their metrics do."""
    names = dict.fromkeys(name for section in sections for name in section)
    found = {name: [section[name] for section in sections if name in section] for name in names}
    return leakage_section(
        (name, max(one["before"] for one in each), max(one["after"] for one in each))
        for name, each in found.items()
    )

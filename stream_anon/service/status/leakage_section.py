"""What quasi-identifiers of the last measured window leak, on the status page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Leakage = Mapping[str, Mapping[str, float | None]]
"""The shares `before`, None where it is not told, and `after`, by attribute; the leakiest release first."""


def leakage_section(shares: Iterable[tuple[str, float | None, float]]) -> Leakage:
    """Return the section of the page; empty before a window was measured.

    Parameters
    ----------
    shares
        (attribute, before, after).
    """
    ordered = sorted(shares, key=lambda each: (-each[2], -(each[1] or 0.0)))
    return {name: {"before": before, "after": after} for name, before, after in ordered}


def highest(sections: Sequence[Leakage]) -> Leakage:
    """Return the section of several workers: of each attribute the highest shares, as their metrics do."""
    names = dict.fromkeys(name for section in sections for name in section)
    found = {name: [section[name] for section in sections if name in section] for name in names}
    return leakage_section(
        (name, _most(each, "before"), _most(each, "after") or 0.0) for name, each in found.items()
    )


def _most(shares: Iterable[Mapping[str, float | None]], stage: str) -> float | None:
    return max((share for each in shares if (share := each[stage]) is not None), default=None)

"""Information loss over time, drawn by hand: a report needs one picture, and no library for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 600, 160
"""Of the picture, without its labels."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time: where it stands, and how high the loss is, in units of the picture; what it says."""

    left: float
    width: float
    height: float
    text: str


def loss_curve(over_time: Sequence[Mapping[str, Any]], seconds: int) -> tuple[Bar, ...]:
    """Return a bar for each stretch of time that has records, at its place between the first and the last.

    Parameters
    ----------
    over_time
        As in the document of a report.
    seconds
        How long a stretch is.
    """
    found = [(_seconds(one["from"]), one) for one in over_time if one["gcp"] is not None]
    if not found:
        return ()
    first, last = found[0][0], found[-1][0] + seconds
    scale = WIDTH / (last - first)
    return tuple(
        Bar(
            (start - first) * scale,
            max(1.0, seconds * scale - 1),
            HEIGHT * one["gcp"],
            f"{one['from']}: {one['gcp']:.3f}, {one['records']:,} records",
        )
        for start, one in found
    )


def _seconds(text: str) -> float:
    return dt.datetime.fromisoformat(text).timestamp()

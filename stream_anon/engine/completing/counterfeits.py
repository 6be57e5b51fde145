"""Counterfeits behind the rows of a window: how they come in, and how records of people are counted beside them.

Classes that are completed, and releases of a series, are made with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.chosen_classes import renumbered
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.payload import Payload
from stream_anon.microdata.release import Release, Suppression

NOBODY = -1
"""Stands for the offset of a counterfeit, which has none, and for its person."""


def with_counterfeits(
    window: SealedWindow, codes: NDArray[np.int32], sensitive: NDArray[np.int32], payload: Payload
) -> SealedWindow:
    """Return a window with counterfeits behind its rows, each with an individual of its own.

    Missing values are counted as before.

    Parameters
    ----------
    codes, sensitive
        int32[q, f] and int32[s, f], of the counterfeits.
    payload
        Of the window's rows, then of the counterfeits.
    """
    columns, made = window.columns, codes.shape[1]
    first = int(columns.individuals.max(initial=-1)) + 1
    extended = Columns(
        np.concatenate([columns.codes, codes], axis=1),
        np.concatenate([columns.individuals, np.arange(first, first + made, dtype=np.int32)]),
        np.concatenate([columns.sensitive, sensitive], axis=1),
        columns.sets,
    )
    return replace(
        window,
        columns=extended,
        payload=payload,
        stretches=np.concatenate([window.stretches, np.zeros(made, np.int32)]),
        offsets=np.concatenate([window.offsets, np.full(made, NOBODY, np.int64)]),
    )


def suppressed_of_people(
    suppressed: NDArray[np.bool_], reasons: Mapping[Suppression, int], over_limit: int
) -> dict[Suppression, int]:
    """Return how many records of people are suppressed, by reason.

    Parameters
    ----------
    suppressed
        bool[n], the rows of people that are not published.
    reasons
        What is known of them. The rest of them fell with their class, by the gate, or with the whole window.
    over_limit
        Records without a row.
    """
    found = {name: reasons.get(name, 0) for name in (Suppression.SHORTFALL, Suppression.UNPLACED)}
    whole = Suppression.MAX_SUPPRESSED if Suppression.MAX_SUPPRESSED in reasons else Suppression.GATE
    found[whole] = int(suppressed.sum()) - sum(found.values())
    found[Suppression.OVER_LIMIT] = over_limit
    return {reason: count for reason, count in found.items() if count}


def without_broken(release: Release, broken: NDArray[np.bool_]) -> Release:
    """Return a release without the classes that break what is promised, bool[c]: each is a bug, and is counted."""
    kept = np.flatnonzero(~broken)
    class_of_row = renumbered(release.class_of_row, kept, len(broken))
    return replace(
        release,
        classes=release.classes.take(kept),
        class_of_row=class_of_row,
        order=release.order[class_of_row[release.order] >= 0],
        gate_violations=release.gate_violations + int(broken.sum()),
    )

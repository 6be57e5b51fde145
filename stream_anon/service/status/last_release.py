"""The last released window on the status page: classes with sizes and labels, as its readers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.service.events import WindowPublished

MOST_CLASSES = 150  # drawn; a window can have thousands
LOSS_BINS = 10
SIZE_BINS = 9


def last_release(event: WindowPublished, attributes: Sequence[str], k: int) -> Mapping[str, object]:
    """Return the largest classes of a window, and the distribution of all its sizes and losses.

    Parameters
    ----------
    attributes
        Names of the quasi-identifiers, in the order of the event's columns.
    k
        The policy's k, from which on sizes are counted.
    """
    classes = event.classes
    losses = classes.ncp.mean(axis=0) if len(classes.ncp) else np.zeros(len(classes))
    largest = np.argsort(-classes.records, kind="stable")[:MOST_CLASSES].tolist()
    return {
        "batch": event.batch,
        "attributes": list(attributes),
        "classes": [
            {
                "records": int(classes.records[i]),
                "values": [column[i] for column in classes.values],
                "loss": round(float(losses[i]), 4),
            }
            for i in largest
        ],
        "attribute_losses": _attribute_losses(event, attributes),
        "more_classes": len(classes) - len(largest),
        "sizes": _sizes(classes.records, k),
        "losses": _losses(losses, classes.records),
    }


def _attribute_losses(event: WindowPublished, attributes: Sequence[str]) -> Mapping[str, float]:
    """Return the mean NCP of each quasi-identifier over released and suppressed records, which count 1."""
    suppressed = sum(event.suppressed.values())
    total = max(1, int(event.classes.records.sum()) + suppressed)
    sums = event.classes.ncp @ event.classes.records + suppressed
    return {name: round(lost / total, 4) for name, lost in zip(attributes, sums.tolist(), strict=False)}


def _sizes(records: NDArray[np.int64], k: int) -> list[Mapping[str, object]]:
    """Return how many classes have which size, in steps of a fifth of k; partitioners aim at k to 2k."""
    step = -(-k // 5)
    places = np.clip((records - k) // step, 0, SIZE_BINS)
    counts = np.bincount(places, minlength=SIZE_BINS + 1).tolist()
    return [
        {"from": k + i * step, "to": k + (i + 1) * step - 1 if i < SIZE_BINS else None, "classes": count}
        for i, count in enumerate(counts)
    ]


def _losses(losses: NDArray[np.float64], records: NDArray[np.int64]) -> list[Mapping[str, object]]:
    """Return how many records were published with a loss up to 0.1, up to 0.2, and so on."""
    places = np.clip(np.ceil(losses * LOSS_BINS).astype(np.int64) - 1, 0, LOSS_BINS - 1)
    counts = np.bincount(places, weights=records, minlength=LOSS_BINS).astype(np.int64).tolist()
    return [{"up_to": (i + 1) / LOSS_BINS, "records": count} for i, count in enumerate(counts)]

"""Closed sets of labels, bounds of histograms, and counters whose labels come from a closed set."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Counter

from stream_anon.errors import Cause
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.release import Suppression

OTHER = "other"  # stands for a label outside its set, which is a bug but must not make series grow without bound

SUPPRESSIONS = tuple(reason.value for reason in Suppression)
REJECTIONS = tuple(reason.label for reason in Reason if not reason.is_ignored)
IGNORED = tuple(reason.label for reason in Reason if reason.is_ignored)
OUTCOMES = ("committed", "repeated", "found-committed", "fenced", "lost", "refused")
ABANDONMENTS = ("stopping", "fenced", "lost", "refused", "missing-field", "failed")
STOPS = ("rewound", "recreated", "unbacked", "unrecorded", "lost-input", "unreadable")
NOT_READY = ("starting", "stopping", *(cause.value for cause in Cause))
ACTIVITIES = ("starting", "consuming", "taking-over", "publishing", "asking-registry")
THROTTLES = ("broker", "processor")
BUSY = ("decode", "window", "partition", "gate", "encode", "publish", "audit", "leakage")
CHANGES = ("assigned", "revoked")
SCHEMA_CHANGES = ("lacking", "vanished", "appeared", "retyped", "unreadable")
VERDICTS = ("passed", "failed", "skipped")

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 25, 30, 35, 45, 60, 90, 120, 300, 600, 1800, 3600)
WORK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
CLASS_SIZES = (2, 3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 200, 500, 1000, 10_000)
WINDOW_SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000)
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Family:
    """A counter with one label from a closed set; every series exists from the start."""

    def __init__(self, counter: Counter, labels: Iterable[str]) -> None:
        self._children = {label: counter.labels(label) for label in (*labels, OTHER)}

    def add(self, label: str, amount: float = 1) -> None:
        """Count; a label outside the set counts as `OTHER`."""
        self._children.get(label, self._children[OTHER]).inc(amount)

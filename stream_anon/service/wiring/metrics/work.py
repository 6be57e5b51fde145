"""Metrics of the work: how long its stages took."""

from __future__ import annotations

import math

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.service import events as e

BUSY = ("decode", "window", "partition", "gate", "encode", "publish", "audit", "leakage", "study")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
READING_STEP = 0.125  # seconds; a binary fraction, so that sums of it are exact


class WorkMetrics:
    """Measures each stage, and adds up the time that a worker was busy."""

    def __init__(self, declare: Declaring) -> None:
        self._stages = {
            stage: declare.histogram(f"{stage}_duration_seconds", text, SECONDS)
            for stage, text in (
                ("close", "Partitioning, generalizing and checking a window."),
                ("gate", "The gate's part of closing a window."),
                ("encode", "Writing a window's records, certificate and dead letters."),
                ("publish", "A window's share of its transaction, repeated attempts included."),
                ("commit", "Its share of offsets, fence and commit."),
                ("takeover", "From an assignment of partitions until their records are taken."),
                ("audit", "Auditing a published window again, beside the work."),
            )
        }
        self._busy = declare.family(
            "busy_seconds", "Time spent working, by stage; the rest of each second is to spare.", "stage", BUSY
        )
        self._share = declare.gauge(
            "busy_ratio",
            "Share of the last minute in which the worker read records, closed a window, or was paused because "
            "windows waited; NaN until it is known.",
        )
        self._share.set(math.nan)
        self._untold: dict[str, float] = {}  # seconds of reading, by stage

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of the time that was spent."""
        match event:
            case e.WindowProgress():
                self._share.set(math.nan if event.busy is None else event.busy)
            case e.RecordsConsumed():
                self._read("decode", event.decoding)
                self._read("window", event.adding)
            case e.WindowPublished():
                self._publish(event.durations)
            case e.WindowAudited(seconds=seconds) if seconds is not None:
                self._stages["audit"].observe(seconds)
                self._spend("audit", seconds)
            case e.WindowMeasured():
                self._spend("leakage", event.seconds)
            case e.WindowStudied():
                self._spend("study", event.seconds)
            case e.TakeoverDone():
                self._stages["takeover"].observe(event.seconds)

    def _publish(self, took: e.Durations) -> None:
        self._stages["close"].observe(took.release)
        self._stages["gate"].observe(took.gate)
        self._stages["encode"].observe(took.encode)
        self._stages["publish"].observe(took.publish)
        self._stages["commit"].observe(took.commit)
        self._spend("partition", took.release - took.gate)
        self._spend("gate", took.gate)
        self._spend("encode", took.encode)
        self._spend("publish", took.publish)

    def _spend(self, stage: str, seconds: float) -> None:
        self._busy.add(stage, max(0.0, seconds))

    def _read(self, stage: str, seconds: float) -> None:
        """Count time of reading in steps: that of one record would tell how it was read."""
        untold = self._untold.get(stage, 0.0) + max(0.0, seconds)
        told = untold // READING_STEP * READING_STEP
        self._busy.add(stage, told)
        self._untold[stage] = untold - told

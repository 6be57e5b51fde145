"""Metrics of windows: the open one, and how the others ended."""

from __future__ import annotations

import math

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.service import events as e

ABANDONMENTS = ("stopping", "fenced", "lost", "refused", "missing-field", "failed")
SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000)
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class WindowMetrics:
    """Shows count and age of the open window, nothing else of it, and counts those that have ended."""

    def __init__(self, declare: Declaring) -> None:
        self._open_records = declare.gauge(
            "window_records", "Records in the open window, also those not published."
        )
        self._open_age = declare.gauge(
            "window_oldest_age_seconds", "How long the open window's oldest record waits."
        )
        self._closing = declare.gauge("window_closing", "1 while a window is being closed and published.")
        self._paused = declare.gauge("consumer_paused", "1 while reading waits for the window being closed.")
        self._windows = declare.counter("windows_published", "Windows published and committed.")
        self._overdue = declare.counter("windows_overdue", "Windows that closed later than max_delay allows.")
        self._above_most = declare.counter(
            "windows_above_max_suppressed",
            "Windows that suppress more than max_suppressed, or were suppressed for it.",
        )
        self._abandoned = declare.family(
            "windows_abandoned", "Windows dropped unpublished, to be read again.", "reason", ABANDONMENTS
        )
        self._size = declare.histogram(
            "window_size_records", "Records of each published window, rejected ones included.", SIZES
        )
        self._fill = declare.histogram(
            "window_fill_ratio",
            "Admitted records of each published window, suppressed ones included, as a share of max_records.",
            RATIOS,
        )
        self._last = declare.gauge("last_release_timestamp_seconds", "When the last window was published.")
        self._max_delay = declare.gauge("policy_max_delay_seconds", "Age at which the policy closes a window.")
        self._max_records = declare.gauge("policy_max_records", "Records at which the policy closes a window.")
        self._bound_records = declare.gauge(
            "window_bound_records", "Records at which a window closes at the latest: the policy's number, or less."
        )
        self._bound_bytes = declare.gauge(
            "window_bound_bytes", "Bytes of what it holds at which a window closes at the latest."
        )
        self._smaller = declare.family(
            "windows_bounded_smaller",
            "Times that windows were made to close earlier, for want of time or memory.",
            "reason",
            ("time", "memory"),
        )
        self._holds = declare.gauge(
            "policy_holds", "1 where the policy lets a window wait beyond max_delay for more people."
        )
        self._target = declare.gauge(
            "policy_target_loss_ratio",
            "Loss at which windows close before max_delay; 0 where the policy names none.",
        )
        self._needed = declare.gauge(
            "window_target_records", "Records that a window needs for the target of loss; 0 before any is known."
        )
        self._by_delay = declare.gauge(
            "window_delay_records", "Records that come within max_delay, at the rate of the last window."
        )
        self._in_use = declare.gauge("window_limit_records", "Records at which the next windows close.")
        self._delay_limit, self._records_limit = 0.0, math.inf

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of windows."""
        match event:
            case e.WorkerStarted():
                self._delay_limit, self._records_limit = event.max_delay, event.max_records
                self._max_delay.set(event.max_delay)
                self._max_records.set(event.max_records)
                self._holds.set(event.holds)
                self._target.set(event.target_loss or 0.0)
                self._in_use.set(event.max_records)
            case e.SizesLearned():
                self._needed.set(event.needed)
                self._by_delay.set(event.by_delay)
                self._in_use.set(event.in_use)
            case e.WindowProgress():
                self._open_records.set(event.records)
                self._open_age.set(0.0 if event.opened is None else max(0.0, event.at - event.opened))
                self._closing.set(event.closing)
                self._paused.set(event.paused)
            case e.WindowsBounded():
                self._records_limit = event.records
                self._bound_records.set(event.records)
                self._bound_bytes.set(math.inf if event.memory is None else event.memory)
                if event.smaller:
                    self._smaller.add(event.reason)
            case e.WindowPublished():
                self._publish(event)
            case e.WindowAbandoned():
                self._abandoned.add(event.reason)
            case e.WindowWithheld():
                self._abandoned.add("missing-field")

    def _publish(self, event: e.WindowPublished) -> None:
        self._windows.inc()
        self._last.set(event.wall)
        self._size.observe(event.records_in)
        self._fill.observe(event.admitted / self._records_limit)
        self._above_most.inc(event.above_max_suppressed)
        # A tick may come some milliseconds late; a window counted here was held or could not be closed.
        self._overdue.inc(event.closed_at - event.opened_at > self._delay_limit * 1.05 + 0.05)

"""Metrics of delays: how long records waited until they were published."""

from __future__ import annotations

import numpy as np

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.service import events as e
from stream_anon.windowing.limits import time_to_close

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 25, 30, 35, 45, 60, 90, 120, 300, 600, 1800, 3600)


class DelayMetrics:
    """Counts records by their delay, and those that waited for longer than the budget."""

    def __init__(self, declare: Declaring) -> None:
        self._delay = declare.histogram(
            "delay_seconds", "From a record's arrival at the worker to its publication.", SECONDS
        )
        self._end_to_end = declare.histogram(
            "end_to_end_delay_seconds", "From a record's broker timestamp to its publication.", SECONDS
        )
        self._input_ahead = declare.gauge(
            "input_ahead_seconds",
            "By how much a record of the last window was dated ahead of this machine's time of day when the window "
            "was published; 0 if none was.",
        )
        self._budget = declare.gauge("policy_delay_budget_seconds", "Longest wait that counts as in time.")
        self._late = declare.counter(
            "records_over_delay_budget", "Records that waited longer than policy_delay_budget_seconds."
        )
        self._late_end_to_end = declare.counter(
            "records_over_end_to_end_budget",
            "Records published later than policy_delay_budget_seconds after their broker timestamp.",
        )
        self._in_time = _budget(0.0)

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of delays."""
        match event:
            case e.WorkerStarted():
                self._in_time = _budget(event.max_delay)
                self._budget.set(self._in_time)
            case e.WindowPublished():
                self._publish(event)

    def _publish(self, event: e.WindowPublished) -> None:
        arrivals = np.array(event.arrivals, np.float64).reshape(-1, 2)
        waits, records = event.at - arrivals[:, 0], arrivals[:, 1]
        end_to_end = event.wall - event.readings.times
        self._delay.observe(waits, records)
        self._end_to_end.observe(end_to_end)
        self._late.inc(float(records[waits > self._in_time].sum()))
        self._late_end_to_end.inc(int(np.count_nonzero(end_to_end > self._in_time)))
        self._input_ahead.set(max(0.0, -end_to_end.min(initial=0.0)))


def _budget(max_delay: float) -> float:
    """Return the longest wait in seconds that counts as in time: max_delay, and the time that a close may take."""
    return max_delay + time_to_close(max_delay)

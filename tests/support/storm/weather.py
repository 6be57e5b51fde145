"""What may happen to a line, each with how long it lasts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tests.support.storm.line import Line
from tests.support.storm.team import SESSION

Change = Callable[[Line, np.random.Generator], float]
"""Does something to a line and returns after how many seconds it is to be mended; 0 if there is nothing to mend."""


def cut(line: Line, draws: np.random.Generator) -> float:
    line.cut()
    return 0.0


def hold(line: Line, draws: np.random.Generator) -> float:
    line.hold()
    return float(draws.uniform(0.5, SESSION + 3))


def half_open(line: Line, draws: np.random.Generator) -> float:
    line.half_open()
    return float(draws.uniform(2, 6))


def latency(line: Line, draws: np.random.Generator) -> float:
    line.delay = float(draws.uniform(0.02, 0.2))
    return float(draws.uniform(2, 5))


def throttle(line: Line, draws: np.random.Generator) -> float:
    line.rate = float(draws.uniform(20_000, 100_000))
    return float(draws.uniform(2, 5))


CHANGES: Mapping[str, Change] = {
    "connections-cut": cut,
    "line-held": hold,
    "half-open": half_open,
    "latency": latency,
    "throttled": throttle,
}

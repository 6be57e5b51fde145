"""Measure what it costs to show live what windows leak: the share of the time, and the speed of the path beside it.

    python benchmarks/leakage.py [--records N] [--windows 10000 2000] [--repeats 5] [--json FILE]

The path is that of `path.py`, JSON in and JSON out, on one core. It runs by turns: without measurements; with
measurements in a thread that take at most the service's share of the time, but come as soon as that allows and not
once a minute; and with a measurement of every window. The service measures less than the second. `one` is what a
single measurement takes beside nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import statistics
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA, adult_events, adult_policy
from benchmarks.path import Run
from benchmarks.report import in_words, machine, on_one_core, write_json
from stream_anon.adapters.clock import SystemClock
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.engine.warming import warm_up
from stream_anon.measures.boxes import boxes_of_classes
from stream_anon.measures.window_leakage.after import shares_after
from stream_anon.measures.window_leakage.before import shares_before
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.service.closing.leaking import LEAST_SECONDS, SHARE
from stream_anon.service.closing.sampling import Sampler

WAYS = {"none": None, "within the share": SHARE, "every window": 1.0}


class Measured:
    """Measures windows as the service does, within a share of the time.

    Parameters
    ----------
    share
        None to measure nothing; with 1 no window is left out.
    """

    def __init__(self, policy: Policy, share: float | None) -> None:
        self._attributes, self._share = policy.quasi_identifiers, share
        self._sampler = Sampler(SystemClock(), share or 1.0)
        self.seconds: list[float] = []
        self.windows = 0

    def take(self, window: SealedWindow, release: Release) -> None:
        """Measure a window, or not."""
        self.windows += 1
        work = partial(self._measure, window, release)
        if self._share == 1.0:
            begun = perf_counter()
            work()
            self.seconds.append(perf_counter() - begun)
        elif self._share:
            self._sampler.offer(work, self._done)

    def _measure(self, window: SealedWindow, release: Release) -> bool:
        """Measure both, though the service looks at original records once an hour only."""
        shares_before(window.columns, window.policy.window.max_records, secrets.randbelow)
        shares_after(boxes_of_classes(self._attributes, release.classes))
        return True

    def _done(self, found: bool | None, seconds: float) -> None:
        assert found is not None, "the measurement broke off"
        self.seconds.append(seconds)

    async def end(self) -> None:
        """Return when nothing is measured any more."""
        await self._sampler.wait()


async def through(policy: Policy, events: list[bytes], share: float | None, seed: int) -> tuple[float, Measured]:
    """Put all events through the path; return the seconds it took, and what was measured."""
    measured = Measured(policy, share)
    run = Run(policy, seed, measured.take)
    begun = perf_counter()
    for _ in run.polls(events):
        await asyncio.sleep(0)
    await measured.end()
    return perf_counter() - begun, measured


def measure(policy: Policy, events: list[bytes], repeats: int) -> dict[str, Any]:
    """Return rates and shares of all runs of each way, which take turns."""
    warm_up(policy)
    asyncio.run(through(policy, events[: 2 * policy.window.max_records], 1.0, 0))
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    spent: dict[str, list[float]] = {way: [] for way in WAYS}
    looked: dict[str, list[int]] = {way: [] for way in WAYS}
    each: list[float] = []
    windows = 0
    for seed in range(repeats):
        for way, share in WAYS.items():
            took, measured = asyncio.run(through(policy, events, share, seed))
            rates[way].append(len(events) / took)
            spent[way].append(sum(measured.seconds) / took)
            looked[way].append(len(measured.seconds))
            each += measured.seconds if share == 1.0 else []
            windows = measured.windows
    one = statistics.median(each)
    return {
        "window": policy.window.max_records,
        "windows": windows,
        "one_ms": round(1000 * one, 2),
        "share_once_a_minute": one / LEAST_SECONDS,
        "ways": {
            way: {
                "rates": [round(rate) for rate in sorted(rates[way])],
                "share": round(statistics.median(spent[way]), 5),
                "measured": statistics.median(looked[way]),
            }
            for way in WAYS
        },
    }


def show(result: dict[str, Any]) -> None:
    """Print one table."""
    print(
        f"\n{result['windows']} windows of {result['window']}: one measurement takes {result['one_ms']} ms, once a "
        f"minute {result['share_once_a_minute']:.3%} of the time"
    )
    print(f"{'measurements':18}{'records/s':>12}{'share of time':>16}{'windows':>10}   least..greatest")
    for way, found in result["ways"].items():
        rates = found["rates"]
        print(
            f"{way:18}{statistics.median(rates):>12,.0f}{found['share']:>16.2%}{found['measured']:>10.0f}   "
            f"{rates[0]:,}..{rates[-1]:,}"
        )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=600_000)
    parser.add_argument("--windows", type=int, nargs="+", default=[10_000, 2_000])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of adult.csv and its hierarchies")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    if not (given.data / "adult.csv").exists():
        print("leakage.py needs adult.csv and its hierarchies: --data FOLDER", file=sys.stderr)
        return 2
    on_one_core()
    about = machine()
    print(in_words(about), "- one core, wall time")
    events = adult_events(given.data, given.records)
    results = []
    for window in given.windows:
        results.append(measure(adult_policy(given.data, window, given.k), events, given.repeats))
        show(results[-1])
    write_json(given.json, {"machine": about, "k": given.k, "share": SHARE, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

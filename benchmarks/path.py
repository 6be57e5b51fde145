"""Measure the whole path without a broker: JSON records in, JSON records of a release out.

    python benchmarks/path.py [--records N] [--windows 10000 1000] [--json FILE]

Prints records a second of each step and of the whole, the median and the spread of the runs, after
compilation and on one core. Each run begins with nothing learned: its first window closes while the order is
learned, which the service does once. `order learned` is the path from the end of that window on.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA, adult_events, adult_policy
from benchmarks.report import in_words, machine, on_one_core, write_json
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.engine.warming import warm_up
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.ports import Codec

POLL = 2000  # records a poll, so that batches do not end where windows do
LEARNED = "order learned"
STEPS = ("decode and code", "add", "partition", "generalize and gate", "write")


CLOCKS = {"wall": perf_counter, "cpu": process_time}
clock = perf_counter


class TimedPartitioner:
    """Passes a partitioner's answer on and keeps the time it took."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.seconds = 0.0

    def close(self, *arguments: Any) -> Any:
        """Return the inner partitioner's answer."""
        start = clock()
        clusters = self.inner.close(*arguments)
        self.seconds = clock() - start
        return clusters


class Run:
    """One pass of all events through a fresh engine.

    Parameters
    ----------
    released
        Is called with each window that was written.
    codec
        Of the events; that of JSON if it is None.
    """

    def __init__(
        self,
        policy: Policy,
        seed: int,
        released: Callable[[SealedWindow, Release], None] = lambda *_: None,
        codec: Codec | None = None,
    ) -> None:
        self._tell = released
        self.codec: Codec = JsonCodec(policy) if codec is None else codec
        self.engine = Engine(policy, draws=np.random.default_rng(seed))
        self.engine.open(0, 0)
        self.closer = Closer(policy)
        self.shuffle = np.random.default_rng(seed)
        self.spent = dict.fromkeys(STEPS, 0.0)
        self.released = self.suppressed = self.classes = self.bytes_out = 0
        self.loss = 0.0
        self.first_closed = 0.0

    def through(self, events: list[bytes]) -> tuple[float, float]:
        """Put all events through; return the seconds it took, and those from the end of the first window on."""
        begin = clock()
        for _ in self.polls(events):
            pass
        end = clock()
        return end - begin, end - self.first_closed

    def polls(self, events: list[bytes]) -> Iterator[None]:
        """Put all events through, and come back after each poll and at the end."""
        for first in range(0, len(events), POLL):
            start = clock()
            values = events[first : first + POLL]
            batch = self.codec.decode(values, 0, np.arange(first, first + len(values)))
            middle = clock()
            sealed = self.engine.add(batch, 0.0)
            self.spent["decode and code"] += middle - start
            self.spent["add"] += clock() - middle
            for window in sealed:
                self._close(window)
            yield
        rest = self.engine.seal(0.0)
        if rest is not None:
            self._close(rest)
        yield

    def _close(self, window: SealedWindow) -> None:
        partitioner = TimedPartitioner(window.partitioner)
        start = clock()
        release = self.closer.release(dataclasses.replace(window, partitioner=partitioner), self.shuffle)
        middle = clock()
        records = self.codec.encode_in_bulk(release)
        self.spent["write"] += clock() - middle
        self.first_closed = self.first_closed or clock()
        self.spent["partition"] += partitioner.seconds
        self.spent["generalize and gate"] += middle - start - partitioner.seconds
        assert len(records) == release.released
        self.released += release.released
        self.suppressed += sum(release.suppressed.values())
        self.classes += len(release.classes)
        self.bytes_out += records.size - records.gap * max(len(records) - 1, 0)
        self.loss += (release.gcp or 0.0) * release.records_in
        self._tell(window, release)


def measure(policy: Policy, events: list[bytes], repeats: int) -> dict[str, Any]:
    """Return rates of all runs and what came out of the last."""
    warm_up(policy)
    Run(policy, 0).through(events[: 2 * policy.window.max_records])
    rates: dict[str, list[float]] = {name: [] for name in (*STEPS, "whole path", LEARNED)}
    for seed in range(repeats):
        run = Run(policy, seed)
        whole, learned = run.through(events)
        rates["whole path"].append(len(events) / whole)
        after = len(events) - policy.window.max_records
        if after > 0:
            rates[LEARNED].append(after / learned)
        for name, seconds in run.spent.items():
            rates[name].append(len(events) / seconds)
    return {
        "window": policy.window.max_records,
        "records": len(events),
        "released": run.released,
        "suppressed": run.suppressed,
        "classes": run.classes,
        "gcp": round(run.loss / len(events), 4),
        "bytes_in": round(sum(map(len, events)) / len(events), 1),
        "bytes_out": round(run.bytes_out / max(run.released, 1), 1),
        "rates": {name: [round(rate) for rate in sorted(found)] for name, found in rates.items() if found},
        "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def show(result: dict[str, Any]) -> None:
    print(f"\nwindows of {result['window']}: {result['records']} records of {result['bytes_in']} bytes in, "
          f"{result['released']} of {result['bytes_out']} bytes out, {result['suppressed']} suppressed, "
          f"{result['classes']} classes, GCP {result['gcp']}")  # fmt: skip
    print(f"{'step':22}{'records/s':>12}{'us/record':>12}   least..greatest")
    for name, found in result["rates"].items():
        median = statistics.median(found)
        print(f"{name:22}{median:>12,.0f}{1e6 / median:>12.2f}   {found[0]:,}..{found[-1]:,}")
    print(f"peak RSS {result['peak_rss_mib']} MiB, the events themselves included")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--windows", type=int, nargs="+", default=[10_000, 1_000])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--engine", choices=("forest", "mondrian"), default="forest")
    parser.add_argument("--shape", choices=[shape.value for shape in Shape], default=Shape.NATURAL.value)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of adult.csv and its hierarchies")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu leaves out what other processes took")
    given = parser.parse_args()
    global clock  # noqa: PLW0603 - one clock for a whole run of the script
    clock = CLOCKS[given.clock]
    if not (given.data / "adult.csv").exists():
        print("path.py needs adult.csv and its hierarchies: --data FOLDER", file=sys.stderr)
        return 2
    on_one_core()
    about = machine()
    print(in_words(about), f"- one core, {given.clock} time")
    events = adult_events(given.data, given.records)
    rss = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(f"RSS with the events and before the path: {rss} MiB")
    results = []
    for window in given.windows:
        policy = adult_policy(given.data, window, given.k, given.engine)
        shaped = dataclasses.replace(policy, shape=Shape(given.shape))
        results.append(measure(shaped, events, given.repeats))
        show(results[-1])
    found = {
        "machine": about,
        "rss_before_mib": rss,
        "k": given.k,
        "engine": given.engine,
        "shape": given.shape,
        "clock": given.clock,
        "results": results,
    }
    write_json(given.json, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

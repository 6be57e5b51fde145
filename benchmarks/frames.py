"""Compare the ways in and out: a frame, a Parquet file, a CSV file and JSON Lines, with the same records.

    python benchmarks/frames.py [--records N] [--window 10000] [--repeats 3] [--json FILE]

Prints records a second to code the input, to write the output, and for all of it with the engine between, on one
core and after compilation, and what each is of the rate for JSON Lines.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.adult import DATA, adult_events, adult_policy
from benchmarks.report import machine, on_one_core, write_json
from stream_anon.files.anonymizing import Anonymization
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.arrow.frames import batches_of
from stream_anon.formats.tables.arrow.releases import ReleaseTables
from stream_anon.formats.tables.format_names import format_of
from stream_anon.formats.tables.new_files import NewFile
from stream_anon.formats.tables.record_files import open_reader, open_writer
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release

JSON_LINES = "JSON Lines"
STEPS = ("code", "write", "all")
Way = tuple[Callable[[], Iterator[CodedBatch]], Callable[[list[Release]], int]]


def ways(policy: Policy, events: list[bytes], folder: Path) -> dict[str, Way]:
    """Return how each way codes the events and writes releases; files are in a folder."""
    lines = folder / "in.jsonl"
    lines.write_bytes(b"\n".join(events))
    table = pa.Table.from_pylist([json.loads(event) for event in events])
    pyarrow.csv.write_csv(table, folder / "in.csv")
    pyarrow.parquet.write_table(table, folder / "in.parquet")

    def read(name: Path) -> Iterator[CodedBatch]:
        with closing(open_reader(str(name), policy, codec_of(policy).decode)) as reader:
            yield from reader

    def write(name: Path, releases: list[Release]) -> int:
        with NewFile(str(name)) as new:
            writer = open_writer(new, format_of(str(name)), policy, codec_of(policy).encode)
            with closing(writer):
                for release in releases:
                    writer.write(release)
            new.publish()
        return name.stat().st_size

    def frame(releases: list[Release]) -> int:
        tables = ReleaseTables(policy)
        return tables.joined(map(tables.table, releases)).nbytes

    suffixes = {JSON_LINES: "jsonl", "CSV": "csv", "Parquet": "parquet"}
    found: dict[str, Way] = {
        name: (
            lambda suffix=suffix: read(folder / f"in.{suffix}"),
            lambda releases, suffix=suffix: write(folder / f"out.{suffix}", releases),
        )
        for name, suffix in suffixes.items()
    }
    return {**found, "frame": (lambda: batches_of(table, policy), frame)}


def once(policy: Policy, way: Way) -> tuple[float, float, float, int]:
    """Return the seconds to code, to write and for all, and the records released."""
    code, write = way
    start = process_time()
    batches = list(code())
    coded = process_time()
    anonymization = Anonymization(policy)
    releases = [made.release for batch in batches for made in anonymization.add(batch)]
    releases += [made.release for made in anonymization.close()]
    closed = process_time()
    write(releases)
    end = process_time()
    return coded - start, end - closed, end - start, sum(release.released for release in releases)


def measure(policy: Policy, events: list[bytes], repeats: int) -> dict[str, Any]:
    """Return the median rates of each way; ways take turns, so that a slow minute meets all of them."""
    with tempfile.TemporaryDirectory() as folder:
        each = ways(policy, events, Path(folder))
        for way in each.values():
            once(policy, way)
        rates: dict[str, dict[str, list[float]]] = {name: {step: [] for step in STEPS} for name in each}
        for _ in range(repeats):
            for name, way in each.items():
                *seconds, released = once(policy, way)
                assert released > 0.9 * len(events)
                for step, spent in zip(STEPS, seconds, strict=True):
                    rates[name][step].append(len(events) / spent)
    return {name: {step: round(statistics.median(own[step])) for step in STEPS} for name, own in rates.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not arguments.data.exists():
        print(f"{arguments.data}: there is no Adult census", file=sys.stderr)
        return 1
    on_one_core()
    pa.set_cpu_count(1)
    policy = adult_policy(arguments.data, arguments.window)
    rates = measure(policy, adult_events(arguments.data, arguments.records), arguments.repeats)
    print(f"{arguments.records:,} records of the census, windows of {arguments.window:,}: records a second of CPU")
    print(f"{'way':12}" + "".join(f"{step:>12}{'ratio':>8}" for step in STEPS))
    for name, own in rates.items():
        ratios = (f"{own[step]:>12,}{own[step] / rates[JSON_LINES][step]:>8.2f}" for step in STEPS)
        print(f"{name:12}" + "".join(ratios))
    if arguments.json:
        write_json(arguments.json, {"machine": machine(), "window": arguments.window, "rates": rates})
    return 0


if __name__ == "__main__":
    sys.exit(main())

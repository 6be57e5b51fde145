"""What `max_level` and `min_level` cost on Adult: loss and suppressed records, beside limits no engine knows of.

    python benchmarks/limits.py [--data FOLDER] [--k 10] [--windows 1000 10000] [--rows 30162] [--json FILE]

The same windows are closed three times by each engine: without limits; with limits of which only the gate knows, so
that a class that needs more is suppressed; and as the service does it, where engines work within the nodes of the
highest levels. Full-domain recoding at the same levels stands beside them, other attributes at their roots. A
suppressed record counts 1 in the loss.

Lowest levels suppress nobody. The same windows are closed without them; with engines that take finer values for
cheaper, though they are not published; and as the service does it, where engines charge what is published.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA
from benchmarks.report import machine, on_one_core, write_json
from benchmarks.tables import Table, adult
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.partitioners import partitioners
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN, EngineChoice
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression

LIMITS: Mapping[str, Mapping[str, int]] = {
    "education 1": {"education": 1},
    "age 4, education 1": {"age": 4, "education": 1},
    "age 5, education 2, workclass 1": {"age": 5, "education": 2, "workclass": 1},
}
LOWEST: Mapping[str, Mapping[str, int]] = {
    "age 2, education 1, occupation 1": {"age": 2, "education": 1, "occupation": 1},
    "age 4, education 2, marital-status 1, workclass 1": {
        "age": 4,
        "education": 2,
        "marital-status": 1,
        "workclass": 1,
    },
    "education 2": {"education": 2},
    "age 3": {"age": 3},
}
ENGINES = ("forest", "mondrian")
MOST_OF_K_FOREST = 1_000  # rows of a window: it takes time with their square


def policy_of(
    table: Table,
    engine: str,
    k: int,
    rows: int,
    limits: Mapping[str, int],
    lowest: Mapping[str, int] = {},
) -> Policy:
    """Return a policy over a table; full-domain publishes attributes without a limit at their roots."""
    attributes = [
        replace(a, max_level=limits.get(a.name), min_level=lowest.get(a.name, 0)) for a in table.attributes
    ]
    if engine == FULL_DOMAIN:
        attributes = [a.at_level(a.domain.height if a.max_level is None else a.max_level) for a in attributes]
    window = WindowLimits(max_records=rows)
    return Policy(tuple(attributes), k, EVERY_RECORD, window=window, engine=EngineChoice(engine, seed=0))


def released(policy: Policy, table: Table, maker: Policy) -> tuple[list[Release], float]:
    """Return the releases of all whole windows, formed by the engine of `maker`, and CPU seconds a close."""
    n = len(table.rows)
    batch = CodedBatch(
        table.rows.codes,
        np.empty((0, n), np.int64),
        np.arange(n, dtype=np.int64),
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int64),
        [()] * n,
        Rejects.of([]),
    )
    draws = np.random.default_rng(0)
    engine = Engine(policy, draws=draws, partitioner=partitioners(maker, draws=draws))
    engine.open(0, 0)
    closer, windows = Closer(policy), engine.add(batch, 0.0)
    begun = time.process_time()
    releases = [closer.release(window, draws) for window in windows]
    return releases, (time.process_time() - begun) / len(windows)


def outcome(policy: Policy, table: Table, maker: Policy) -> dict[str, Any]:
    """Return loss and suppression over all whole windows, their classes formed by the engine of `maker`."""
    releases, _ = released(policy, table, maker)
    records = sum(release.records_in for release in releases)
    return {
        "gcp": float(np.mean([release.gcp for release in releases])),
        "suppressed": sum(r.suppressed.get(Suppression.MAX_LEVEL, 0) for r in releases) / records,
    }


def rows_of(table: Table, k: int, windows: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the report."""
    for size in windows:
        for name, limits in LIMITS.items():
            for engine in ENGINES:
                free, bound = (policy_of(table, engine, k, size, asked) for asked in ({}, limits))
                ways = {"no limit": (free, free), "gate alone": (bound, free), "within nodes": (bound, bound)}
                for way, (policy, maker) in ways.items():
                    yield {"window": size, "limits": name, "engine": engine, "way": way} | outcome(
                        policy, table, maker
                    )
            fixed = policy_of(table, FULL_DOMAIN, k, size, limits)
            yield {"window": size, "limits": name, "engine": FULL_DOMAIN, "way": "others at the root"} | outcome(
                fixed, table, fixed
            )
        for name, lowest in LOWEST.items():
            for engine in (*ENGINES, *(["k-forest"] if size <= MOST_OF_K_FOREST else [])):
                free, bound = (policy_of(table, engine, k, size, {}, asked) for asked in ({}, lowest))
                ways = {"no limit": (free, free), "finer charged": (bound, free), "as published": (bound, bound)}
                for way, (policy, maker) in ways.items():
                    yield {"window": size, "lowest": name, "engine": engine, "way": way} | outcome(
                        policy, table, maker
                    )


def main() -> None:
    """Print the table."""
    options = options_of(__doc__, k=10)
    on_one_core()
    table = table_of_nodes(options.data, options.rows)
    print(f"{'window':>7} {'limits':<60}{'engine':<13}{'way':<20}{'GCP':>8}{'suppressed':>12}")
    found = []
    for row in rows_of(table, options.k, options.windows):
        found.append(row)
        print(
            f"{row['window']:>7,} {_limits_of(row):<60}{row['engine']:<13}{row['way']:<20}{row['gcp']:>8.4f}"
            f"{row['suppressed']:>12.2%}",
            flush=True,
        )
    write_json(options.json, {"machine": machine(), "rows": found})


def options_of(description: str | None, **numbers: int) -> argparse.Namespace:
    """Return the options of a benchmark that closes windows of Adult, and those of its own with their defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA.parent)
    parser.add_argument("--windows", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--json", type=Path)
    for name, default in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    return parser.parse_args()


def _limits_of(row: Mapping[str, Any]) -> str:
    return f"at most {row['limits']}" if "limits" in row else f"at least {row['lowest']}"


def table_of_nodes(data: Path, rows: int | None) -> Table:
    """Return Adult, or its first rows, published as nodes of its hierarchies."""
    table = adult(data)
    nodes = tuple(of_nodes(attribute) for attribute in table.attributes)
    return replace(table, attributes=nodes, rows=table.rows.take(slice(rows)))


def of_nodes(attribute: QuasiIdentifier) -> QuasiIdentifier:
    """Return an attribute of which nodes are published, so that limits mean the same for every engine."""
    return replace(attribute.at_level(0), min_level=0, max_level=None)


if __name__ == "__main__":
    main()

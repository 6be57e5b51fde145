"""What shields cost on Adult: loss and time, beside no shield and beside the naive way.

    python benchmarks/shields.py [--data FOLDER] [--k 10] [--shield-k 50] [--windows 1000 10000] [--rows 30162]
        [--repeats 3] [--json FILE]

The same windows are closed with k alone, with shields that ask more of some attributes, and with what meets these
shields without any: the shields' k for all quasi-identifiers. `of naive` is the part of the loss that the naive way
adds that the shields add. A suppressed record counts 1 in the loss. The time is the CPU time of a close, the best
of some tries that take turns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.limits import options_of, policy_of, released, table_of_nodes
from benchmarks.report import machine, on_one_core, write_json
from benchmarks.tables import Table
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release

# What neighbours know of somebody, and what colleagues know.
SHIELDS: Mapping[str, Sequence[Sequence[str]]] = {
    "age, sex": [("age", "sex")],
    "education, occupation": [("education", "occupation")],
    "age, race, sex + education, occupation": [("age", "race", "sex"), ("education", "occupation")],
    "three each": [("age", "sex", "native-country"), ("education", "marital-status", "occupation")],
}
NONE, NAIVE = "no shield", "naive: k for all"
ENGINES = ("forest", "mondrian")


def ways(policy: Policy, k: int) -> Iterator[tuple[str, Policy]]:
    """Yield the policies that are compared, by name."""
    yield NONE, policy
    yield NAIVE, replace(policy, k=k)
    for name, sets in SHIELDS.items():
        yield name, replace(policy, shields=tuple(Shield(tuple(own), k) for own in sets))


def outcome(releases: Sequence[Release], seconds: float) -> dict[str, Any]:
    """Return loss, what shields reached at least, suppression and milliseconds a close."""
    records = sum(release.records_in for release in releases)
    assert not any(release.gate_violations for release in releases)
    return {
        "gcp": float(np.mean([release.gcp for release in releases])),
        "least": min((k for release in releases for k in release.achieved_shields), default=None),
        "suppressed": sum(sum(release.suppressed.values()) for release in releases) / records,
        "milliseconds": 1e3 * seconds,
    }


def rows_of(table: Table, k: int, larger: int, windows: Sequence[int], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the report."""
    for size in windows:
        for engine in ENGINES:
            found: dict[str, dict[str, Any]] = {}
            policy = policy_of(table, engine, k, size, {})
            released(replace(policy, shields=(Shield(("age",), larger),)), table, policy)  # kernels are compiled
            turns = [
                {name: released(own, table, own) for name, own in ways(policy, larger)} for _ in range(repeats)
            ]
            for name in turns[0]:
                found[name] = outcome(turns[0][name][0], min(turn[name][1] for turn in turns))
                added = found[name]["gcp"] - found[NONE]["gcp"]
                naive = found[NAIVE]["gcp"] - found[NONE]["gcp"] if NAIVE in found else None
                share = added / naive if naive else None
                yield {"window": size, "engine": engine, "way": name} | found[name] | {"of_naive": share}


def main() -> None:
    """Print the table."""
    options = options_of(__doc__, k=10, shield_k=50, repeats=3)
    on_one_core()
    table = table_of_nodes(options.data, options.rows)
    print(f"{'window':>7} {'engine':<10}{'way':<42}{'GCP':>8}{'of naive':>10}{'suppressed':>12}{'ms a close':>12}")
    found = []
    for row in rows_of(table, options.k, options.shield_k, options.windows, options.repeats):
        found.append(row)
        share = "" if row["of_naive"] is None else f"{row['of_naive']:.0%}"
        print(
            f"{row['window']:>7,} {row['engine']:<10}{row['way']:<42}{row['gcp']:>8.4f}{share:>10}"
            f"{row['suppressed']:>12.2%}{row['milliseconds']:>12.1f}",
            flush=True,
        )
    about = {"k": options.k, "shield_k": options.shield_k, "machine": machine()}
    write_json(options.json, {**about, "rows": found})


if __name__ == "__main__":
    main()

"""Run a seed again: `python -m tests.simulation.wire SEED [--level N] [--without FENCE...]`."""

from __future__ import annotations

import argparse
import sys

from tests.simulation.wire.storm import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--level", type=int, choices=(0, 1, 2), help="transaction.version; by default the seed's")
    parser.add_argument("--without", nargs="*", default=(), help="fences: once, epochs, group, ledger")
    given = parser.parse_args()
    level = given.seed % 3 if given.level is None else given.level
    found = run(given.seed, level, tuple(given.without))
    sys.stdout.write(f"{found}\n")
    sys.exit(bool(found.verdict))

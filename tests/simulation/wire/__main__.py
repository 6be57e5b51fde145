"""Run a seed again: `python -m tests.simulation.wire SEED [--level N] [--without FENCE...] [--verbose]`."""

from __future__ import annotations

import argparse
import sys

from tests.simulation.wire.storm import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--level", type=int, choices=(0, 1, 2), help="transaction.version; by default the seed's")
    parser.add_argument("--without", nargs="*", default=(), help="fences: once, epochs, group, ledger")
    parser.add_argument("--verbose", action="store_true", help="tell of each frame that arrives")
    given = parser.parse_args()
    found = run(given.seed, given.level, given.without, tells_frames=given.verbose)
    sys.stdout.write(f"{found}\n")
    sys.exit(bool(found.verdict))

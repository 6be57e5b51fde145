"""From the start of a process to the classes of its first window, with an empty and with a filled kernel cache.

One process after another on one core, each for one kind of constraint: `none` (each record a person's), `people`
(who return), `distinct-l` (two values of the salary class). The first run of a kind compiles into an empty folder,
the others find it filled. `cpu` is the child's processor time, `wall` depends on what else the machine does;
`window` is the processor time from a loaded program to the classes, without the start of Python and its imports.
`kernels` were compiled, and `pieces` that only kernels call: each counts once for each types of its arguments.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.report import machine, write_json

KINDS = ("none", "people", "distinct-l")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_CHILD = """
import dataclasses, sys, time
from pathlib import Path
from benchmarks.adult import adult_policy
from stream_anon.engine.warming import warm_up
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.policy import EVERY_RECORD
kind, data = sys.argv[1], Path(sys.argv[2])
policy = adult_policy(data / "arx-adult", 10_000)
if kind == "none":
    policy = dataclasses.replace(policy, individual=EVERY_RECORD)
if kind == "distinct-l":
    policy = dataclasses.replace(policy, diversity={"salary-class": Diversity(2)})
begin = time.process_time()
warm_up(policy)
print(time.process_time() - begin)
"""


def start(kind: str, data: Path, cache: Path) -> dict[str, float]:
    """Return the seconds of one start."""
    root = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules would be compiled at each start
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    command = [sys.executable, "-c", _CHILD, kind, str(data)]
    window = float(subprocess.run(command, check=True, env=environment, cwd=root, stdout=subprocess.PIPE).stdout)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": round(cpu, 2), "wall": round(wall, 2), "window": round(window, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--repeats", type=int, default=3, help="starts with a filled cache")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the tables")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    results = []
    for kind in given.kinds:
        with tempfile.TemporaryDirectory() as cache:
            empty = start(kind, given.data, Path(cache))
            filled = sorted(
                (start(kind, given.data, Path(cache)) for _ in range(given.repeats)), key=lambda one: one["cpu"]
            )[given.repeats // 2]
            pieces = sum(1 for _ in Path(cache).rglob("*.inner.*.nbc"))
            compiled = {"kernels": sum(1 for _ in Path(cache).rglob("*.nbc")) - pieces, "pieces": pieces}
        results.append({"kind": kind, "empty": empty, "filled": filled, **compiled})
        print(f"{kind:11} empty {empty}  filled {filled}  {compiled}", flush=True)
    write_json(given.json, {"machine": machine(), "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

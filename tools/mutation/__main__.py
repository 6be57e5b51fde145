"""Try mutants of the code that decides what is published: `python -m tools.mutation [FILE ...]`.

Exits with 1 if one survives that docs/project/mutation.md does not explain.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools.mutation.mutants import Mutant, mutants_of
from tools.mutation.trial import PROFILE, Trial

ROOMS = (
    "stream_anon/privacy",
    "stream_anon/audit",
    "stream_anon/engine/closing.py",
    "stream_anon/engine/chosen_classes.py",
    "stream_anon/engine/dealing.py",
    "stream_anon/engine/gating.py",
)
TESTS = (
    "tests/unit/privacy",
    "tests/unit/audit",
    "tests/unit/engine/test_closing.py",
    "tests/unit/engine/test_dealing.py",
    "tests/unit/engine/uniting",
    "tests/conformance/test_hostile_partitioners.py",
)
SLOW = "tests/unit/privacy/costs/test_cost.py::test_tables_of_a_thousand_values_are_built_fast"  # measures kernels
WARM = f"{TESTS[-1]}::test_exactly_what_keeps_every_promise_is_published[all criteria-a class an illness]"
PAGE = Path("docs/project/mutation.md")


def explained(page: str) -> set[str]:
    """Return the names of the survivors that the page explains: items that are code and nothing else."""
    lines = [line.strip() for line in page.splitlines()]
    return {line[3:-1] for line in lines if line.startswith("- `") and line.endswith("`")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("paths", nargs="*", default=ROOMS, help="files or folders; all rooms if none is named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tried at the same time")
    parser.add_argument("--part", default="1/1", help="i/n: each n-th mutant only, from the i-th on")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="the tests that judge")
    parser.add_argument("--again", type=Path, help="what an earlier run printed: only its survivors")
    chosen = parser.parse_args(arguments)
    files = [
        file
        for path in map(Path, chosen.paths)
        for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))
    ]
    part, parts = map(int, chosen.part.split("/"))
    mutants = [mutant for file in files for mutant in mutants_of(file)][part - 1 :: parts]
    if chosen.again:
        before = chosen.again.read_text(encoding="utf-8")
        mutants = [mutant for mutant in mutants if f"  {mutant.name}\n" in before]
    os.environ["HYPOTHESIS_PROFILE"] = PROFILE
    known = explained(PAGE.read_text(encoding="utf-8"))

    def told(mutant: Mutant, fate: str) -> None:
        if fate != "killed":
            word = "explained" if mutant.name in known else fate
            print(f"{word:10}{mutant.line:5}  {mutant.name}", flush=True)

    trial = Trial(mutants, told, chosen.jobs, WARM)
    quiet = [
        "-q",
        "--no-header",
        "--tb=native",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        "-m",
        "not slow and not soak",
    ]
    code = pytest.main([*quiet, f"--deselect={SLOW}", *chosen.tests], plugins=[trial])
    if len(trial.fates) < len(mutants):
        print(f"pytest stopped with {code!s}; {len(trial.fates)} of {len(mutants)} mutants were tried")
        return 2
    return _report(mutants, trial.fates, known)


def _report(mutants: Sequence[Mutant], fates: dict[str, str], known: set[str]) -> int:
    alive = [mutant for mutant in mutants if fates[mutant.name] != "killed" and mutant.name not in known]
    totals, killed, told = Counter[str](), Counter[str](), Counter[str]()
    for mutant in mutants:
        totals[mutant.path] += 1
        killed[mutant.path] += fates[mutant.name] == "killed"
        told[mutant.path] += fates[mutant.name] != "killed" and mutant.name in known
    print("\n| file | mutants | killed | explained | survived |\n| --- | ---: | ---: | ---: | ---: |")
    for path, total in totals.items():
        rest = total - killed[path] - told[path]
        print(f"| {path} | {total} | {killed[path]} | {told[path]} | {rest} |")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

"""Run the fuzzer: `python -m tests.fuzz [SEED] [--target NAME]... [--records N | --seconds S]`.

It prints what ran and how many records a second. For a finding it prints the seed, the target and the smallest
case, and exits with 1. The work is done in a process of its own, whose kernels check the bounds of their arrays and
are kept apart from all others; a crash of that process is a finding too.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.fuzz import kept
from tests.fuzz.cases import Limits, Target
from tests.fuzz.fuzzer import Tally, case_of, judged, run, warm_up

_ROOT = Path(__file__).parents[2]
KERNELS = _ROOT / "build" / "fuzz"
_SECONDS = 60.0
_TOLD_EVERY = 60.0  # seconds


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code."""
    options = _parsed(arguments)
    if options.note is None and not options.unchecked:
        return _in_a_process_of_its_own([options.seed, *arguments] if options.drawn else arguments)
    from tests.fuzz.targets import TARGETS

    if options.replay:
        name, case = kept.read(options.replay)
        fault = judged(TARGETS[name], case, Limits())
        print(f"{name}: {fault or 'no fault'}")
        return int(fault is not None)
    targets = {name: TARGETS[name] for name in options.target or TARGETS}
    if options.case is not None:
        return _one_case(targets, options.seed, options.case)
    note = (lambda _name, _number: None) if options.note is None else _writer(options.note, options.seed)
    return run_and_tell(targets, options.seed, options.records, options.seconds, note)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("seed", nargs="?", help="any word; drawn if there is none")
    parser.add_argument("--target", action="append", metavar="NAME", help="only this one; may be given again")
    parser.add_argument("--records", type=int, metavar="N", help="stop after so many")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help=f"stop after so long; {_SECONDS:g} if nothing is said"
    )
    parser.add_argument("--case", type=int, metavar="N", help="run but one case of each target")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run a kept finding")
    parser.add_argument("--unchecked", action="store_true", help="run here, with kernels as the service has them")
    parser.add_argument("--note", type=Path, help=argparse.SUPPRESS)  # where the process says what it begins
    options = parser.parse_args(arguments)
    options.drawn = options.seed is None
    options.seed = options.seed or secrets.token_hex(4)
    if options.records is None and options.seconds is None:
        options.seconds = _SECONDS
    return options


def _in_a_process_of_its_own(arguments: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "note"
        environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(KERNELS)}
        command = [sys.executable, "-m", "tests.fuzz", *arguments, "--note", str(note)]
        done = subprocess.run(command, env=environment, cwd=_ROOT, check=False)
        if done.returncode < 0 and note.exists():
            print(f"FINDING: signal {-done.returncode} ended the process in {note.read_text()}")
    return 1 if done.returncode < 0 else done.returncode


def _writer(file: Path, seed: str) -> Callable[[str, int], None]:
    def write(name: str, number: int) -> None:
        file.write_text(f"{name}: tests.fuzz {seed} --target {name} --case {number}")

    return write


def _one_case(targets: Mapping[str, Target], seed: str, number: int) -> int:
    faults = {
        name: judged(target, case_of(target, name, seed, number), Limits()) for name, target in targets.items()
    }
    for name, fault in faults.items():
        print(f"{name}: {fault or 'no fault'}")
    return int(any(faults.values()))


def run_and_tell(
    targets: Mapping[str, Target],
    seed: str,
    records: int | None,
    seconds: float | None,
    note: Callable[[str, int], None] = lambda _name, _number: None,
) -> int:
    """Run targets until so many records or seconds are over, and say what was found; return the exit code."""
    print(f"seed {seed}, {len(targets)} targets", flush=True)
    warm_up(targets)
    begun = told = time.monotonic()

    def goes_on(done: int) -> bool:
        nonlocal told
        now = time.monotonic()
        if now - told >= _TOLD_EVERY:
            told = now
            print(f"{now - begun:6.0f} s {done:12,} records", flush=True)
        return (records is None or done < records) and (seconds is None or now - begun < seconds)

    tallies = run(targets, seed, goes_on, note=note)
    for line in _table(tallies, time.monotonic() - begun):
        print(line)
    return int(any(tally.findings for tally in tallies.values()))


def _table(tallies: Mapping[str, Tally], seconds: float) -> list[str]:
    total = sum(tally.records for tally in tallies.values())
    lines = [f"{'target':20}{'cases':>8}{'records':>12}{'a processor second':>22}"]
    for name, tally in tallies.items():
        lines.append(f"{name:20}{tally.cases:8,}{tally.records:12,}{tally.records / tally.seconds:22,.0f}")
    lines.append(f"{'all':28}{total:12,}{total / seconds:22,.0f} a second")
    for finding in (finding for tally in tallies.values() for finding in tally.findings):
        lines += [
            f"FINDING in {finding.target}, seed {finding.seed}, case {finding.number}: {finding.fault}",
            kept.line_of(finding),
            f"To keep it, write that line to a file in {kept.FOLDER.relative_to(_ROOT)}.",
        ]
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run cases of targets by turns, and make a failing one small."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from tests.fuzz.cases import Case, Fault, Kind, Limits, Target

_T = TypeVar("_T")

AT_ONCE = 1_000
"""Records of a case."""
_MOST_TRIES = 400  # to make a failing case smaller
_KILOBYTE = 1_024  # getrusage counts in these


@dataclass(frozen=True, slots=True)
class Finding:
    """The smallest case that was found to fail.

    Parameters
    ----------
    number
        Which of the target's cases it was: with the seed it gives the whole case again.
    """

    target: str
    seed: str
    number: int
    fault: str
    case: Case


@dataclass(slots=True)
class Tally:
    """What was run of one target; seconds are the processor's."""

    cases: int = 0
    records: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)


def case_of(target: Target, name: str, seed: str, number: int, count: int = AT_ONCE) -> Case:
    """Return one of a target's cases; any of them is drawn without those before it."""
    return target.draw(Random(f"{seed}/{name}/{number}"), count)


def run(
    targets: Mapping[str, Target],
    seed: str,
    goes_on: Callable[[int], bool],
    limits: Limits = Limits(),  # noqa: B008 - it is frozen
    note: Callable[[str, int], None] = lambda _name, _number: None,
) -> dict[str, Tally]:
    """Run cases of all targets by turns; a target that has failed is left out from then on.

    Parameters
    ----------
    goes_on
        Is asked after each turn with the records that were run.
    note
        Is told of each case before it runs, so that a crash can be traced.
    """
    tallies = {name: Tally() for name in targets}
    for number, name in _turns(tallies):
        note(name, number)
        tally, begun = tallies[name], time.process_time()
        case = case_of(targets[name], name, seed, number)
        fault = judged(targets[name], case, limits)
        if fault is not None:
            small = smallest(targets[name], case, fault.kind, limits)
            again = judged(targets[name], small, limits) or fault
            tally.findings.append(Finding(name, seed, number, str(again), small))
        tally.cases += 1
        tally.records += len(case.records)
        tally.seconds += time.process_time() - begun
        if not goes_on(sum(each.records for each in tallies.values())):
            break
    return tallies


def _turns(tallies: Mapping[str, Tally]) -> Iterator[tuple[int, str]]:
    number = 0
    while open_ones := [name for name, tally in tallies.items() if not tally.findings]:
        yield from ((number, name) for name in open_ones)
        number += 1


def warm_up(targets: Mapping[str, Target]) -> None:
    """Let kernels be compiled before anything is timed."""
    for name, target in targets.items():
        judged(target, case_of(target, name, "warm", 0), Limits(seconds=math.inf))


def judged(target: Target, case: Case, limits: Limits) -> Fault | None:
    """Return why a case fails; None if it does not. What a target raises beside that is a fault too."""
    fault = _judged_once(target, case, limits)
    # The first time a kernel may have been compiled.
    return _judged_once(target, case, limits) if fault is not None and fault.kind is Kind.TIME else fault


def _judged_once(target: Target, case: Case, limits: Limits) -> Fault | None:
    try:
        target.check(case, limits)
    except Fault as fault:
        return fault
    except Exception as error:  # noqa: BLE001 - any exception is one
        return Fault(Kind.EXCEPTION, f"{type(error).__name__} {_place(error)}")
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KILOBYTE > limits.memory:
        return Fault(Kind.MEMORY)
    return None


def _place(error: BaseException) -> str:
    trace, found = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "stream_anon" in code.co_filename.rpartition("site-packages")[2]:
            found = f"in {code.co_qualname}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def smallest(target: Target, case: Case, kind: Kind, limits: Limits) -> Case:
    """Return a case with fewer and shorter records that fails alike; O(log n) tries for a single guilty record."""
    tries = 0

    def fails(records: list[bytes | None]) -> bool:
        nonlocal tries
        tries += 1
        fault = judged(target, Case(case.setting, tuple(records)), limits) if tries <= _MOST_TRIES else None
        return fault is not None and fault.kind is kind

    records = _without_parts(list(case.records), fails)
    for row, record in enumerate(records):
        if record:
            before, after = records[:row], records[row + 1 :]
            shorter = _without_parts(list(record), lambda some: fails([*before, bytes(some), *after]))  # noqa: B023
            records[row] = bytes(shorter)
    return Case(case.setting, tuple(records))


def _without_parts(parts: list[_T], fails: Callable[[list[_T]], bool]) -> list[_T]:
    """Return what is left when stretches that do not matter are taken away, halves first, single parts last."""
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            fewer = parts[:at] + parts[at + size :]
            if fails(fewer):
                parts = fewer
            else:
                at += size
        size //= 2
    return parts

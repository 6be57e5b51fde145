"""A pytest plugin that tries each mutant in a forked process, on the tests that run the changed line."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tools.mutation.mutants import Mutant
from tools.mutation.patching import interpret, put

PROFILE = "mutants"
_MOST_MEMORY = 8 << 30  # a mutant must not take the machine along
_LEAST_PATIENCE = 60.0  # seconds by the clock, for a mutant that waits
_LEAST_WORK = 3.0  # seconds of the processor for one test, for a mutant that goes round for ever

Lines = frozenset[tuple[str, int]]


@dataclass
class Trial:
    """Tries mutants instead of running the tests once.

    Parameters
    ----------
    mutants
        What to try.
    told
        Called with each mutant and its fate as soon as that is known.
    jobs
        Mutants tried at the same time.
    warm
        The name of a test that is run first, in this process, so that not each mutant loads the compiled kernels.
    """

    mutants: Sequence[Mutant]
    told: Callable[[Mutant, str], None]
    jobs: int = 1
    warm: str = ""
    fates: dict[str, str] = field(default_factory=dict)
    _kills: Counter[tuple[str, str]] = field(default_factory=Counter)  # by function and test

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Let laws stop at the first example against them: the shortest one is not asked for."""
        from hypothesis import HealthCheck, Phase, settings

        settings.register_profile(
            PROFILE,
            derandomize=True,
            deadline=None,
            max_examples=20,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests once, then each mutant's tests until one fails."""
        paths = sorted({mutant.path for mutant in self.mutants})
        # Kernels of other modules must be compiled, and kept on disk, before those that they call are interpreted.
        failed = _in_child(lambda: _failing(session.items), "a test")
        if failed:
            raise pytest.UsageError(f"the tests fail without a mutant: {failed}")
        baseline = _in_child(lambda: _baseline(session.items, paths), None)
        if not isinstance(baseline, dict):
            raise pytest.UsageError(f"the tests fail without a mutant: {baseline}")
        running: dict[int, tuple[Mutant, int, float]] = {}
        for item in session.items:
            if item.nodeid == self.warm:
                runtestprotocol(item, log=False, nextitem=None)
        gc.freeze()
        for mutant in self.mutants:
            if len(running) == self.jobs:
                self._settle(running)
            changed = {(mutant.path, line) for line in mutant.lines}
            chosen = [item for item in session.items if changed & baseline[item.nodeid][1]]
            chosen.sort(key=lambda item, m=mutant: self._price(m, item.nodeid, baseline[item.nodeid][0]))
            work = [_LEAST_WORK + 3 * baseline[item.nodeid][0] for item in chosen]
            reading, pid = _fork(lambda m=mutant, c=chosen, w=work: _fate(m, c, w))
            running[reading] = mutant, pid, time.monotonic() + _LEAST_PATIENCE + 10 * sum(work)
        while running:
            self._settle(running)
        return True

    def _price(self, mutant: Mutant, test: str, seconds: float) -> float:
        """Return what it costs to ask this test: little where it killed mutants of the same function."""
        kills = self._kills[f"{mutant.path}::{mutant.function}", test] + self._kills["", test] / 8
        return (seconds + 0.01) / (kills + 0.5)

    def _settle(self, running: dict[int, tuple[Mutant, int, float]]) -> None:
        """Wait until one mutant's fate is known."""
        while True:
            first = min(until for _, _, until in running.values())
            ready, _, _ = select.select(list(running), [], [], max(first - time.monotonic(), 0.0))
            late = [end for end, (_, _, until) in running.items() if until < time.monotonic()]
            for end in ready or late:
                mutant, pid, _ = running.pop(end)
                if end not in ready:
                    os.kill(pid, signal.SIGKILL)
                fate, by = _answer(end, pid) or ("killed", "")
                if fate == "killed":
                    self._kills[f"{mutant.path}::{mutant.function}", by] += 1
                    self._kills["", by] += 1
                self.fates[mutant.name] = fate
                self.told(mutant, fate)
            if ready or late:
                return


def _module(path: str) -> Any:
    return importlib.import_module(path.removesuffix(".py").replace("/", "."))


def _failing(items: Sequence[pytest.Item]) -> str:
    """Run the tests as they are; return the first that fails, nothing if none does."""
    for item, after in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=after)):
            return item.nodeid
    return ""


def _baseline(items: Sequence[pytest.Item], paths: Iterable[str]) -> Any:
    """Return the seconds of each test and what it runs of the modules; the first test that fails instead."""
    files = {_module(path).__file__: path for path in paths}
    for path in paths:
        interpret(_module(path))
    found: dict[str, tuple[float, Lines]] = {}
    whole: dict[CodeType, frozenset[int]] = {}
    for item, after in zip(items, [*items[1:], None], strict=True):
        seen: dict[CodeType, set[int]] = {}

        def line(frame: FrameType, event: str, _: object, seen: dict[CodeType, set[int]] = seen) -> Any:
            if event == "line":
                seen[frame.f_code].add(frame.f_lineno)
                # A kernel goes round millions of times: once all of it was seen, nobody looks any more.
                frame.f_trace_lines = not whole[frame.f_code] <= seen[frame.f_code]
            return line

        def call(
            frame: FrameType, _: str, __: object, seen: dict[CodeType, set[int]] = seen, line: Any = line
        ) -> Any:
            code = frame.f_code
            if code.co_filename not in files:
                return None
            if code not in whole:
                whole[code] = frozenset(number for _, _, number in code.co_lines() if number) - {
                    code.co_firstlineno
                }
            known = seen.setdefault(code, set())
            return None if known >= whole[code] and known else line

        begun = time.process_time()
        sys.settrace(call)
        reports = runtestprotocol(item, log=False, nextitem=after)
        sys.settrace(None)
        if any(report.failed for report in reports):
            return f"{item.nodeid}: {next(report.longreprtext for report in reports if report.failed)}"
        run = frozenset((files[code.co_filename], number) for code, lines in seen.items() for number in lines)
        found[item.nodeid] = time.process_time() - begun, run
    return found


def _fate(mutant: Mutant, items: Sequence[pytest.Item], work: Sequence[float]) -> tuple[str, str]:
    """Return what becomes of a mutant and the test that killed it; the process dies where a test works too long."""
    if not items:
        return "not run", ""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    try:
        put(_module(mutant.path), mutant.function, mutant.code)
    except (LookupError, ValueError) as error:
        return f"not put: {error}", ""
    for item, after, most in zip(items, [*items[1:], None], work, strict=True):
        signal.setitimer(signal.ITIMER_PROF, most)
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=after)):
            return "killed", item.nodeid
    return "survived", ""


def _fork(work: Callable[[], Any]) -> tuple[int, int]:
    """Do `work` in a child; return where its answer can be read, and its process id."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, pid
    with suppress(BaseException), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        answer = pickle.dumps(work())
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
    os._exit(0)


def _answer(reading: int, pid: int) -> Any:
    """Return what a child answered, nothing if it died."""
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(text) if text else None  # noqa: S301 - of our own child


def _in_child(work: Callable[[], Any], otherwise: Any) -> Any:
    answer = _answer(*_fork(work))
    return otherwise if answer is None else answer
